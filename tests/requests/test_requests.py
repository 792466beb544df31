"""What is read as a request, and that everything else is refused in one sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import Step
from headroom.proving.memory import InMemoryLedger
from headroom.requests import InvalidRequest, Request, Status, Verb, parse_request
from headroom.requests.requests import execute_request
from tests.builders import ACCOUNT, NOW, REGION
from tests.contracts.decisions import append
from tests.contracts.ledger.test_requests import ask, asked_of, needing

DAY = timedelta(days=1)


def parsed(text: str) -> Request:
    return parse_request(text, state_table="state", account_id=ACCOUNT, region=REGION)


def text(verb: str, **fields: Any) -> str:
    return json.dumps({"verb": verb, "state_table": "state", "reason": "", **fields})


def test_each_verb_is_read_with_what_it_takes() -> None:
    for verb in (Verb.APPROVE, Verb.REJECT, Verb.ROLLBACK):
        assert parsed(text(verb, decision_id="1a2b")) == Request(verb=verb, decision_id="1a2b")
    assert parsed(text("resume")) == Request(verb=Verb.RESUME)
    assert parsed(text("pause", seconds=None)).pause_for is None
    assert parsed(text("pause", seconds=7_776_000)).pause_for == timedelta(days=90)
    assert parsed(text("close_breaker", resource=None)).ref is None
    ref = parsed(text("close_breaker", resource={"kind": "ebs", "resource_id": "vol-1"})).ref
    assert ref is not None
    assert ref.arn == f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/vol-1"
    additional = {"kind": "rds", "resource_id": "orders/rdsdbdata2"}
    ref = parsed(text("close_breaker", resource=additional)).ref
    assert ref is not None
    assert ref.resource_id == "orders/rdsdbdata2"


@pytest.mark.parametrize(
    "bad",
    [
        "", "pause", "\ud800", "[]", text("resume") + " " * 4_096, text("resume").replace('""', '"\u00e9"'), "null", "{}", "[" * 4_000, "1" * 4_097,
        text("spend"), text("pause"), text("resume", who="boss"), text("resume", at="2026-01-01"),
        text("resume", state_table="another"), text("resume", reason=1),
        text("resume", reason="x" * 501), text("pause", seconds=0), text("pause", seconds=-1),
        text("pause", seconds=7_776_001), text("pause", seconds=True), text("pause", seconds=1.5),
        text("approve", decision_id=1), text("approve", decision_id="a b"),
        text("approve", decision_id="x" * 129), text("close_breaker", resource="vol-1"),
        text("publish_policy", sha256="0" * 63), text("publish_policy", sha256=1),
        text("close_breaker", resource={"kind": "ebs", "resource_id": "vol-1/../x"}),
        text("close_breaker", resource={"kind": [], "resource_id": "vol-1"}),
        text("close_breaker", resource={"kind": "s3", "resource_id": "vol-1"}),
        json.dumps({"verb": [], "state_table": "state", "reason": ""}),
    ],
)  # fmt: skip
def test_anything_else_is_refused_in_one_sentence(bad: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parsed(bad)
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize(
    ("verb", "fields", "status", "said"),
    [
        ("approve", {"decision_id": "d9"}, Status.REFUSED, "no such decision"),
        ("reject", {"decision_id": "d9"}, Status.REFUSED, "no such decision"),
        ("rollback", {"decision_id": "d9"}, Status.REFUSED, "no such decision"),
        ("release", {"decision_id": "d9"}, Status.REFUSED, "no such decision"),
        ("resume", {}, Status.NOTHING, "nothing was paused"),
        ("close_breaker", {"resource": None}, Status.NOTHING, "was not open"),
        ("publish_policy", {"sha256": ""}, Status.REFUSED, "Only a hub"),
    ],
)
def test_what_changes_nothing_says_so_and_leaves_no_record(
    verb: str, fields: dict[str, Any], status: Status, said: str
) -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    answer = execute_request(
        ledger, parsed(text(verb, **fields)), at=NOW, who="alice", of_hub=lambda who: False
    )
    assert answer.status is status
    assert said in answer.detail
    assert [*ledger.record_summaries(since=NOW - DAY, until=NOW + DAY)] == []


def test_a_reason_is_one_line_of_plain_text() -> None:
    assert parsed(text("resume", reason="all\n is \t well \udcff\x1b[2J")).reason == (
        "all is well ??[2J"
    )  # fmt: skip


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)),
       st.sampled_from([*Verb, "other"]))  # fmt: skip
def test_no_value_anywhere_breaks_the_reading(value: Any, verb: str) -> None:
    for name in ("verb", "state_table", "reason", "decision_id", "seconds", "resource"):
        fields = {"verb": verb, "state_table": "state", "reason": "", name: value}
        with suppress(InvalidRequest):
            parsed(json.dumps(fields))


def test_who_answers_an_old_request_hears_which_one_it_was() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    ask(ledger, needing())
    append(ledger, needing(), Step.EXPIRED, at=NOW + DAY / 3)
    later = needing("d2", at=NOW + DAY / 2)
    ledger.decided(later, due_at=None)
    again = replace(asked_of(later), requested_at=later.at, expires=NOW + DAY)
    append(ledger, later, Step.AWAITING, at=later.at, body={"asked": again})
    answer = execute_request(
        ledger, parsed(text("approve", decision_id="d1")), at=later.at, who="alice",
        of_hub=lambda who: False,
    )  # fmt: skip
    assert answer.detail == "recorded: approved by alice, of d2, which replaced d1"
    assert ledger.chain("d2")[-1].step is Step.APPROVED
