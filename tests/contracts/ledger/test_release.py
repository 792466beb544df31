"""A person ends an open change by hand: the resource is free, and nothing is forgotten of its price."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.state import KnownModification, Step, broken_link
from headroom.ports import AnswerRejected, IllegalStep, Intent
from tests.builders import NOW, REGION, ref
from tests.contracts.decisions import act, append, intended

UNTIL = NOW + timedelta(minutes=20)
VOL = ref("vol-1")


@pytest.mark.parametrize(
    "steps", [(), (Step.UNKNOWN,), (Step.APPLIED,), (Step.ALREADY_THERE,)], ids=str
)
def test_a_released_chain_frees_its_resource_and_stays_counted(
    ledger: Any, steps: tuple[Step, ...]
) -> None:
    late = intended(ledger, act(increase="50"), lease_until=UNTIL)
    for step in steps:
        append(ledger, act(), step)
    record = ledger.release("d1", at=UNTIL, who="somebody", reason="of another release")
    assert record.step is Step.RELEASED
    assert record.summary == "released by somebody: of another release"
    assert broken_link(ledger.chain("d1")) is None
    known = ledger.resource_state(VOL, UNTIL)
    assert known.open_chain is None
    assert known.resource_increase_usd == known.account_increase_usd == Decimal(50)
    assert known.concurrency.in_flight == ()
    assert [d.ref for d in ledger.due(UNTIL, 10)] == [VOL]
    again = act("d2", increase="60", at=UNTIL)
    assert ledger.decided(again, due_at=None)
    assert isinstance(
        ledger.intend(again, lease_until=UNTIL + timedelta(minutes=20), now=UNTIL), Intent
    )
    with pytest.raises(IllegalStep):
        append(ledger, act(increase="60"), Step.APPLIED, intent=late)


def test_a_change_that_shows_after_its_release_is_not_counted_as_the_owners(ledger: Any) -> None:
    """Nobody knew whether AWS had accepted it when a person ended it; it costs $48.28 a month more."""
    intended(ledger, act(increase="48.28"), lease_until=UNTIL)
    append(ledger, act(), Step.UNKNOWN)
    ledger.release("d1", at=UNTIL, who="somebody")
    plan = act(increase="48.28").answer.plan
    modification = KnownModification(
        started_at=NOW, by="other", origin=plan.origin, target=plan.target
    )  # fmt: skip
    ledger.save_modifications(VOL, [modification], now=UNTIL, prices=catalogue_prices(REGION))
    assert ledger.resource_state(VOL, UNTIL).account_increase_usd == Decimal("48.28")


def test_a_release_of_a_reduction_does_not_lower_what_counts(ledger: Any) -> None:
    before = act("d0", increase="80")
    intended(ledger, before, lease_until=UNTIL)
    append(ledger, before, Step.APPLIED)
    append(ledger, before, Step.RELIEVED)
    intended(ledger, act("d1", increase="20"), lease_until=UNTIL)
    ledger.release("d1", at=UNTIL, who="somebody")
    assert ledger.resource_state(VOL, UNTIL).account_increase_usd == Decimal(80)


def test_what_is_not_open_is_not_released(ledger: Any) -> None:
    assert ledger.release("d1", at=NOW, who="somebody").why == "unknown"
    intended(ledger, act(), lease_until=UNTIL)
    early = ledger.release("d1", at=NOW, who="somebody")
    assert isinstance(early, AnswerRejected)
    assert "may be making the change until" in early.detail
    append(ledger, act(), Step.REFUSED)
    assert ledger.release("d1", at=UNTIL, who="somebody").why == "not_open"
    assert [r.step for r in ledger.chain("d1")] == [Step.DECIDED, Step.INTENDED, Step.REFUSED]


def test_a_chain_is_released_once(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    assert not isinstance(ledger.release("d1", at=UNTIL, who="one"), AnswerRejected)
    assert ledger.release("d1", at=UNTIL, who="another").why == "not_open"
