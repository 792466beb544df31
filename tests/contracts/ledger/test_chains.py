"""Chains: recorded once, in a legal order, each record sealed to the one before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.state import GENESIS, NEXT, Step, broken_link
from headroom.ports import IllegalStep
from headroom.serialization import decision_to_json, stored
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, escalate, hold, intended

LEASE_UNTIL = NOW + timedelta(minutes=20)
PATHS: dict[Step, tuple[Step, ...]] = {
    Step.DECIDED: (),
    Step.WITHDRAWN: (Step.WITHDRAWN,),
    Step.INTENDED: (Step.INTENDED,),
    Step.APPLIED: (Step.INTENDED, Step.APPLIED),
    Step.ALREADY_THERE: (Step.INTENDED, Step.ALREADY_THERE),
    Step.REFUSED: (Step.INTENDED, Step.REFUSED),
    Step.STALE: (Step.INTENDED, Step.STALE),
    Step.UNKNOWN: (Step.INTENDED, Step.UNKNOWN),
    Step.NOT_APPLIED: (Step.INTENDED, Step.UNKNOWN, Step.NOT_APPLIED),
    Step.FAILED: (Step.INTENDED, Step.APPLIED, Step.FAILED),
    Step.RELIEVED: (Step.INTENDED, Step.APPLIED, Step.RELIEVED),
    Step.INEFFECTIVE: (Step.INTENDED, Step.ALREADY_THERE, Step.INEFFECTIVE),
    Step.DIVERGED: (Step.INTENDED, Step.UNKNOWN, Step.APPLIED, Step.DIVERGED),
    Step.GONE: (Step.INTENDED, Step.GONE),
    Step.RELEASED: (Step.INTENDED, Step.RELEASED),
}
"""A legal way to every step that a decision to act can come to."""


def walk(ledger: Any, path: tuple[Step, ...]) -> None:
    decision = act()
    ledger.decided(decision, due_at=None)
    for step in path:
        if step is Step.INTENDED:
            ledger.intend(decision, lease_until=LEASE_UNTIL, now=NOW)
        else:
            append(ledger, decision, step)


def test_a_decision_is_recorded_once(ledger: Any) -> None:
    assert ledger.decided(act(), due_at=None) is True
    assert ledger.decided(act(), due_at=LEASE_UNTIL) is False
    assert len(ledger.chain("d1")) == 1
    assert ledger.due(LEASE_UNTIL, 10) == ()


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [(act("x"), "act"), (hold("x"), "hold"), (escalate("x", "max_iops"), "escalate")],
)
def test_the_first_record_counts_as_its_answer(ledger: Any, decision: Any, outcome: str) -> None:
    ledger.decided(decision, due_at=None)
    (record,) = ledger.chain("x")
    assert (record.step, record.sequence, record.outcome) == (Step.DECIDED, 0, outcome)
    assert record.resource == ref("vol-1").arn
    assert record.previous_hash == GENESIS
    assert record.summary == decision.summary
    assert record.at == decision.at


def test_a_decision_reads_back_as_it_was_stored(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    assert ledger.decision("d1") == stored(act())
    assert decision_to_json(ledger.decision("d1")) == ledger.chain("d1")[0].body


def test_a_decision_nobody_made_cannot_be_read(ledger: Any) -> None:
    ledger.reject("e1", reason="no shape", excerpt="{}", at=NOW)
    for decision_id in ("nobody's", "event#e1"):
        with pytest.raises(LookupError):
            ledger.decision(decision_id)
    assert ledger.chain("nobody's") == ()


@pytest.mark.parametrize("last", list(PATHS))
def test_only_legal_steps_follow(ledger: Any, last: Step) -> None:
    walk(ledger, PATHS[last])
    before = ledger.chain("d1")
    assert [r.step for r in before] == [Step.DECIDED, *PATHS[last]]
    for step in set(Step) - NEXT.get(last, frozenset()) | {Step.INTENDED}:
        with pytest.raises(IllegalStep):
            append(ledger, act(), step)
    assert ledger.chain("d1") == before


@pytest.mark.parametrize("last", list(PATHS))
def test_every_chain_is_whole(ledger: Any, last: Step) -> None:
    walk(ledger, PATHS[last])
    chain = ledger.chain("d1")
    assert broken_link(chain) is None
    assert [r.sequence for r in chain] == list(range(len(chain)))
    assert chain[-1].outcome == ("act" if last is Step.DECIDED else last.value)


def test_an_appended_record_is_the_one_in_the_chain(ledger: Any) -> None:
    decision = act()
    intended(ledger, decision, lease_until=LEASE_UNTIL)
    record = append(ledger, decision, Step.APPLIED)
    assert ledger.chain("d1")[-1] == record
    assert record.body == '{"outcome":{"is":"applied","started_at":"2026-01-05T12:00:00Z"}}'
    assert record.summary == "it is applied"


def test_nothing_follows_a_chain_that_is_not_there(ledger: Any) -> None:
    with pytest.raises(IllegalStep):
        append(ledger, act(), Step.APPLIED)
    with pytest.raises(IllegalStep):
        ledger.intend(act(), lease_until=LEASE_UNTIL, now=NOW)


def test_a_chain_is_about_one_resource(ledger: Any) -> None:
    intended(ledger, act(), lease_until=LEASE_UNTIL)
    with pytest.raises(IllegalStep):
        append(ledger, act(volume_id="vol-2"), Step.APPLIED)


def test_a_record_takes_text_that_has_no_utf8(ledger: Any) -> None:
    decision = act()
    intended(ledger, decision, lease_until=LEASE_UNTIL)
    append(ledger, decision, Step.UNKNOWN, body={"detail": "half a pair \ud800, café"})
    chain = ledger.chain("d1")
    assert broken_link(chain) is None
    assert "caf\\u00e9" in chain[-1].body
