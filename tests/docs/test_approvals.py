"""docs/operate/approvals.md says what the code does, and the rights it names are those the commands take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.main import run
from headroom.domain.decision.rollback import EXEMPT_GUARDRAILS
from headroom.domain.guardrails import GUARDRAILS
from headroom.domain.policy import Limits
from headroom.domain.state import (
    AUTO_ROLLBACK_INTERVAL,
    DAY,
    MAX_UNANSWERED,
    QUIET_AFTER_REJECTION,
    QUIET_AFTER_ROLLBACK,
    ROLLBACK_TTL,
)
from tests.cli.commands.test_pause import HERE, ledger
from tests.cli.commands.test_requests import ask, changed, needing
from tests.docs.test_pause import allowed, called

TEXT = (Path(__file__).parents[2] / "docs" / "operate" / "approvals.md").read_text(encoding="utf-8")

__all__ = ["called", "changed", "ledger"]


def test_the_page_states_the_times_in_force() -> None:
    hours = Limits().approval_expires_minutes / 60
    assert f"after `approval_expires` ({hours:.0f} hours)" in TEXT
    assert DAY == QUIET_AFTER_REJECTION == QUIET_AFTER_ROLLBACK == ROLLBACK_TTL
    assert "| rejected | for 24 hours." in TEXT
    assert "leaves the volume unchanged for 24 hours" in TEXT
    assert "blocked temporarily waits up to 24 hours" in TEXT
    assert f"a second time within {AUTO_ROLLBACK_INTERVAL.days} days" in TEXT
    assert MAX_UNANSWERED == 3
    assert "Three requests for one volume" in TEXT


def test_the_page_names_the_guardrails_that_a_rollback_ignores() -> None:
    (row,) = [line for line in TEXT.splitlines() if line.startswith("| policy, pause")]
    named = set(re.findall(r"`([a-z_]+)`", row.split("|")[2]))
    assert named == {g.value for g in EXEMPT_GUARDRAILS}
    assert set(EXEMPT_GUARDRAILS) < {g for g, _ in GUARDRAILS}


def test_the_rights_to_stop_everything_are_enough_to_answer(
    ledger: DynamoLedger, called: set[tuple[str, str]]
) -> None:
    ask(ledger, needing("d1"))
    ask(ledger, needing("d2", "vol-0abc2"))
    called.clear()
    for words in (["approvals"], ["approve", "d1"], ["reject", "d2"]):
        assert run([*words, *HERE]) == 0
    rights = allowed()
    tables = {
        "records": rights["table/HeadroomState-Records*"],
        "state": rights["table/HeadroomState-State*"],
    }
    for action, table in called:
        if table:
            assert action in tables[table], (action, table)
        else:
            assert action in {
                "cloudformation:DescribeStacks", "sts:GetCallerIdentity", "lambda:Invoke",
            }  # fmt: skip


def test_what_a_rollback_reads_beside_the_tables_is_named(
    changed: tuple[DynamoLedger, str], called: set[tuple[str, str]]
) -> None:
    called.clear()
    assert run(["rollback", "d1", *HERE]) == 0
    reads = {action for action, table in called if action.startswith("ec2:")}
    assert reads
    assert all(f"`{action}`" in TEXT for action in reads)
    assert not any(action in ("ec2:ModifyVolume", "ec2:CreateTags") for action in reads)


@pytest.mark.parametrize("word", ["approve", "reject", "rollback"])
def test_every_command_on_the_page_exists(word: str) -> None:
    assert re.search(rf"^headroom {word} [0-9a-f]{{20}} .*--region", TEXT, re.MULTILINE)
