"""docs/events.md shows events as they are."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from headroom.adapters.events.bus import DETAIL_TYPES, detail_type, entry
from headroom.application.reporting.publishing import GIVE_UP, SILENT
from headroom.domain.ledger.publishing import FIRST, LEASE, OVERLAP
from headroom.domain.state import Step, seal
from headroom.ports import Recorded
from tests import ROOT
from tests.adapters.events.test_bus import as_received
from tests.adapters.notifications.test_topic import acting
from tests.builders import NOW, ref

PAGE = ROOT / "docs" / "events.md"
CHAIN = "4f2a91c07be35d68a1c4"
TEXT = PAGE.read_text(encoding="utf-8")


def example() -> str:
    """The event of a chain whose ids and hashes move with no release."""
    decision = replace(acting(), decision_id=CHAIN, policy_version="1db3a0cbb9e3ffe4")
    record = seal(
        decision_id=CHAIN, sequence=2, step=Step.APPLIED, resource=ref("vol-1").arn, at=NOW,
        outcome="applied", summary="AWS accepted the change", body="{}", previous_hash="7c" * 32,
    )  # fmt: skip
    text = json.dumps(as_received(entry(Recorded(record=record, decision=decision))), indent=2)
    return f"<!-- example -->\n```json\n{text}\n```\n<!-- end of example -->"


def test_the_example_is_an_event_that_is_published() -> None:
    found = re.search(r"<!-- example -->.*<!-- end of example -->", TEXT, re.DOTALL)
    assert found, "no example"
    assert found[0] == example(), "run `python -m tests.docs.test_events`"


def test_every_detail_type_is_in_the_table_with_its_steps() -> None:
    rows = dict(re.findall(r"^\| `(Headroom \w+)` \| (.*?) \|", TEXT, re.MULTILINE))
    assert set(rows) == set(DETAIL_TYPES)
    for step in set(Step) - SILENT - {Step.DECIDED}:
        row = rows[detail_type(step)]
        assert re.search(rf"\b{step.value}\b", row), step


def test_the_page_states_the_times_in_force() -> None:
    plain = " ".join(TEXT.split())
    assert f"lease of {LEASE.total_seconds() / 60:.0f} minutes" in plain
    assert f"the last {FIRST.total_seconds() / 3600:.0f} hours" in plain
    assert f"more than {OVERLAP.total_seconds() / 60:.0f} minutes behind" in plain
    assert f"every minute for {GIVE_UP.total_seconds() / 3600:.0f} hours" in plain


if __name__ == "__main__":  # write the page anew
    part = r"<!-- example -->.*<!-- end of example -->"
    PAGE.write_text(re.sub(part, lambda _: example(), TEXT, flags=re.DOTALL), encoding="utf-8")
