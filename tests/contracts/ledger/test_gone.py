"""Resources that exist no more: nothing of them stays in force, reserved, due or to be done."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.state import (
    ConcurrencyState,
    KnownModification,
    Step,
    broken_link,
    new_resource_state,
)
from headroom.ports import Intent
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, hold, intended

VOL = ref("vol-1")
UNTIL = NOW + timedelta(minutes=20)
LATER = UNTIL + timedelta(seconds=1)
HOUR = timedelta(hours=1)


def in_force(ledger: Any, increase: str, volume_id: str = "vol-1") -> None:
    decision = act(f"before-{volume_id}", volume_id, increase=increase)
    intended(ledger, decision, lease_until=UNTIL)
    append(ledger, decision, Step.APPLIED)
    append(ledger, decision, Step.RELIEVED)


@pytest.mark.parametrize(
    "steps", [(), (Step.UNKNOWN,), (Step.APPLIED,), (Step.ALREADY_THERE,)], ids=str
)
def test_a_chain_that_ends_with_its_resource_leaves_nothing(
    ledger: Any, steps: tuple[Step, ...]
) -> None:
    in_force(ledger, "30")
    in_force(ledger, "7", "vol-2")
    intent = intended(ledger, act(increase="50"), lease_until=UNTIL)
    for step in steps:
        append(ledger, act(), step, due_at=NOW + HOUR)
    append(ledger, act(), Step.GONE, intent=intent, due_at=NOW + HOUR)
    seen = ledger.resource_state(VOL, NOW)
    assert seen.open_chain is None
    assert seen.resource_increase_usd == Decimal(0)
    assert seen.account_increase_usd == Decimal(7)
    assert seen.failures_in_a_row == 0
    assert ledger.due(NOW + 9 * HOUR, 10) == ()
    assert broken_link(ledger.chain("d1")) is None
    assert isinstance(intended(ledger, act("d2"), lease_until=UNTIL), Intent)  # the lease is free


def gone(ledger: Any) -> list[str]:
    """Records that a resource exists no more."""
    found = ledger.record_summaries(since=NOW - HOUR, until=NOW + 99 * HOUR, oldest_first=True)
    return [each.resource for each in found if each.step is Step.GONE]


def test_what_headroom_changed_is_recorded_as_gone_once(ledger: Any) -> None:
    in_force(ledger, "-30")  # a saving
    ledger.decided(hold("h2", "vol-2"), due_at=None)
    for hours in (1, 2, 3):
        ledger.forget(VOL, at=NOW + hours * HOUR)
        ledger.forget(ref("vol-2"), at=NOW + hours * HOUR)
        ledger.forget(ref("vol-3"), at=NOW + hours * HOUR)
    assert gone(ledger) == [VOL.arn]
    ledger.decided(hold("h1", at=NOW + 4 * HOUR), due_at=None)  # it was there all the same
    ledger.forget(VOL, at=NOW + 5 * HOUR)
    assert gone(ledger) == [VOL.arn] * 2


def test_a_chain_that_ended_with_its_resource_is_the_record_of_it(ledger: Any) -> None:
    intent = intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED, due_at=NOW + HOUR)
    append(ledger, act(), Step.GONE, intent=intent)
    ledger.forget(VOL, at=NOW + HOUR)
    assert gone(ledger) == [VOL.arn]


def test_an_overtaken_chain_that_finds_it_gone_leaves_the_holder_its_own(ledger: Any) -> None:
    in_force(ledger, "30")
    intended(ledger, act("d0", increase="70"), lease_until=UNTIL)
    intended(ledger, act("d1", increase="50"), LATER, lease_until=LATER + HOUR)
    append(ledger, act("d0"), Step.GONE)
    seen = ledger.resource_state(VOL, NOW)
    assert seen.open_chain.decision_id == "d1"
    assert seen.account_increase_usd == Decimal(50)
    assert [d.due_at for d in ledger.due(LATER + HOUR, 10)] == [LATER + HOUR]
    append(ledger, act("d1"), Step.GONE)
    assert ledger.resource_state(VOL, NOW).account_increase_usd == Decimal(0)


def test_what_is_forgotten_is_neither_in_force_nor_due(ledger: Any) -> None:
    in_force(ledger, "30")
    in_force(ledger, "7", "vol-2")
    ledger.decided(hold("h1"), due_at=NOW)
    for _ in range(2):
        ledger.forget(VOL, at=NOW + HOUR)
        seen = ledger.resource_state(VOL, NOW)
        assert seen.resource_increase_usd == Decimal(0)
        assert seen.account_increase_usd == Decimal(7)
        assert ledger.due(NOW + 9 * HOUR, 10) == ()
    assert ledger.resource_state(VOL, NOW).last_decision_id == "h1"


def test_an_open_chain_is_not_forgotten(ledger: Any) -> None:
    in_force(ledger, "30")
    intent = intended(ledger, act(increase="20"), lease_until=UNTIL)
    ledger.forget(VOL, at=NOW)
    seen = ledger.resource_state(VOL, NOW)
    assert seen.open_chain.decision_id == "d1"
    assert seen.account_increase_usd == Decimal(20)
    assert [d.due_at for d in ledger.due(UNTIL, 10)] == [UNTIL]
    append(ledger, act(), Step.GONE, intent=intent)
    assert ledger.resource_state(VOL, NOW).account_increase_usd == Decimal(0)


def test_forgetting_frees_what_an_overtaken_chain_never_gave_back(ledger: Any) -> None:
    intended(ledger, act("d0", increase="70"), lease_until=UNTIL)
    intended(ledger, act("d1", increase="50"), LATER, lease_until=LATER + HOUR)
    append(ledger, act("d1"), Step.STALE)
    assert ledger.resource_state(VOL, NOW).account_increase_usd == Decimal(70)
    ledger.forget(VOL, at=LATER)
    assert ledger.resource_state(VOL, NOW).account_increase_usd == Decimal(0)
    append(ledger, act("d0"), Step.UNKNOWN)
    append(ledger, act("d0"), Step.GONE)  # its chain can still end, and adds nothing
    assert ledger.resource_state(VOL, NOW).account_increase_usd == Decimal(0)


def test_what_was_never_seen_is_forgotten_without_a_trace(ledger: Any) -> None:
    ledger.forget(VOL, at=NOW)
    assert ledger.resource_state(VOL, NOW) == new_resource_state()


def test_an_act_nobody_began_is_withdrawn_with_its_resource(ledger: Any) -> None:
    ledger.decided(act(), due_at=NOW)
    for _ in range(2):
        ledger.forget(VOL, at=NOW + HOUR)
        chain = ledger.chain("d1")
        assert [r.step for r in chain] == [Step.DECIDED, Step.WITHDRAWN]
        assert chain[-1].summary == "withdrawn before acting: the resource is gone"
        assert chain[-1].body == '{"detail":"the resource is gone","why":"gone"}'
        assert broken_link(chain) is None
    assert ledger.due(NOW + 9 * HOUR, 10) == ()


def test_another_resource_of_the_name_begins_with_nothing_of_the_old_one(ledger: Any) -> None:
    in_force(ledger, "30")
    in_force(ledger, "7", "vol-2")
    ledger.save_modifications(
        VOL, [KnownModification(started_at=NOW, by="other")], now=NOW, full_until=LATER
    )
    assert ledger.resource_state(VOL, NOW).enrolment_usd is not None
    for _ in range(2):
        ledger.forget(VOL, at=NOW + HOUR, another=True)
        seen = ledger.resource_state(VOL, NOW)
        others = {"account_increase_usd": Decimal(7), "last_decision_id": seen.last_decision_id}
        assert replace(seen, concurrency=ConcurrencyState()) == replace(
            new_resource_state(), **others
        )
    assert ledger.resource_state(ref("vol-2"), NOW).resource_increase_usd == Decimal(7)
