"""Standings: what is known of a resource, from its records and from what was seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.state import KnownModification, Refusal, Refused, Step, new_resource_state
from headroom.domain.workload import Binding
from tests.builders import NOW, gp3, ref
from tests.contracts.decisions import ENROLMENT, act, append, escalate, hold, intended

VOL = ref("vol-1")
UNTIL = NOW + timedelta(minutes=20)
HOUR = timedelta(hours=1)


def known(by: str, ago: timedelta) -> KnownModification:
    return KnownModification(started_at=NOW - ago, by=by)


def test_what_was_never_seen_has_a_fresh_state(ledger: Any) -> None:
    assert ledger.resource_state(VOL, NOW) == new_resource_state()


def test_a_decision_moves_the_state(ledger: Any) -> None:
    ledger.decided(hold("h1"), due_at=None)
    seen = ledger.resource_state(VOL, NOW)
    assert seen.last_signature == hold("h1").signature
    assert seen.last_decision_id == "h1"
    assert seen.enrolment_usd == ENROLMENT


def test_the_price_at_enrolment_is_set_once(ledger: Any) -> None:
    ledger.decided(act("d0", enrolled=False), due_at=None)
    assert ledger.resource_state(VOL, NOW).enrolment_usd is None
    ledger.decided(replace(act("d1"), current_usd=None), due_at=None)
    assert ledger.resource_state(VOL, NOW).enrolment_usd is None
    ledger.decided(replace(act("d2"), current_usd=Decimal("8.123456789")), due_at=None)
    ledger.decided(replace(act("d3"), current_usd=Decimal(99)), due_at=None)
    assert ledger.resource_state(VOL, NOW).enrolment_usd == Decimal("8.123456789")


def test_escalated_causes_last_as_long_as_the_episode(ledger: Any) -> None:
    for number, cause in enumerate(["max_iops", "no_plan", "max_iops"]):
        ledger.decided(escalate(f"e{number}", cause), due_at=None)
    assert ledger.resource_state(VOL, NOW).escalated_causes == ("max_iops", "no_plan")
    ledger.decided(hold("h1"), due_at=None)
    assert ledger.resource_state(VOL, NOW).escalated_causes == ("max_iops", "no_plan")
    ledger.decided(hold("h2", binding=Binding.NOTHING), due_at=None)
    week = timedelta(days=7)
    assert ledger.resource_state(VOL, NOW + week).escalated_causes == ()


def test_what_only_the_owner_can_change_is_not_notified_again_within_a_week_unless_it_changes(
    ledger: Any,
) -> None:
    """Load that touches a limit for minutes every day is many episodes, and one message."""
    ledger.decided(escalate("e", "max_iops"), due_at=None)
    ledger.decided(hold("h", binding=Binding.NOTHING), due_at=None)
    almost = NOW + timedelta(days=6, hours=23)
    assert ledger.resource_state(VOL, almost).escalated_causes == ("max_iops",)
    assert ledger.resource_state(VOL, NOW + timedelta(days=7)).escalated_causes == ()
    ledger.decided(act("a"), due_at=None)
    ledger.decided(hold("h3", binding=Binding.NOTHING), due_at=None)
    assert ledger.resource_state(VOL, NOW).escalated_causes == ()


def refused(refusal: Refusal) -> dict[str, object]:
    return {"outcome": Refused(refusal=refusal, code="Code", message="no", retry_at=None)}


@pytest.mark.parametrize(
    ("steps", "body", "failures", "refused_at"),
    [
        ((Step.REFUSED,), refused(Refusal.DENIED), 1, True),
        ((Step.REFUSED,), refused(Refusal.SLOTS), 0, True),
        ((Step.REFUSED,), refused(Refusal.IN_FLIGHT), 0, True),
        ((Step.REFUSED,), refused(Refusal.THROTTLED), 0, True),
        ((Step.REFUSED,), {}, 1, True),
        ((Step.UNKNOWN, Step.NOT_APPLIED), {}, 1, True),
        ((Step.APPLIED, Step.FAILED), {}, 1, True),
        ((Step.STALE,), {}, 0, False),
        ((Step.APPLIED, Step.INEFFECTIVE), {}, 0, False),
    ],
)
def test_failures_in_a_row_are_what_time_does_not_clear(
    ledger: Any, steps: tuple[Step, ...], body: dict[str, object], failures: int, refused_at: bool
) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    for step in steps:
        append(ledger, act(), step, body=body)
    seen = ledger.resource_state(VOL, NOW)
    assert seen.failures_in_a_row == failures
    assert (seen.last_refusal_at == NOW) is refused_at


def test_failures_add_up_until_a_change_lands(ledger: Any) -> None:
    for number in range(3):
        decision = act(f"d{number}")
        intended(ledger, decision, lease_until=UNTIL)
        append(ledger, decision, Step.REFUSED, body=refused(Refusal.INVALID))
    assert ledger.resource_state(VOL, NOW).failures_in_a_row == 3
    intended(ledger, act("last"), lease_until=UNTIL)
    append(ledger, act("last"), Step.APPLIED)
    assert ledger.resource_state(VOL, NOW).failures_in_a_row == 3  # accepted is not landed
    append(ledger, act("last"), Step.RELIEVED)
    assert ledger.resource_state(VOL, NOW).failures_in_a_row == 0


def test_an_accepted_change_is_our_last_act_and_uses_a_slot(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    started = NOW + timedelta(seconds=3)
    mine = KnownModification(
        started_at=started, by="headroom", origin=gp3(), target=gp3(iops=4_000)
    )
    append(ledger, act(), Step.APPLIED, at=NOW + HOUR, body={"modification": mine})
    seen = ledger.resource_state(VOL, NOW)
    assert seen.last_act_at == NOW + HOUR
    assert seen.modifications == (mine,)
    assert seen.open_chain.since == NOW + HOUR


def test_a_start_found_out_later_replaces_the_one_in_the_record(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.UNKNOWN)
    body = {"modification": known("headroom", timedelta())}
    append(ledger, act(), Step.APPLIED, at=NOW + HOUR, body=body)
    assert ledger.resource_state(VOL, NOW).modifications == (known("headroom", timedelta()),)


def test_one_start_is_one_modification_whoever_reports_it(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED)
    ledger.save_modifications(VOL, [known("other", timedelta(milliseconds=400))], now=NOW)
    ledger.save_modifications(VOL, [known("headroom", timedelta())], now=NOW)
    assert ledger.resource_state(VOL, NOW).modifications == (known("headroom", timedelta()),)


def test_a_start_seen_before_we_knew_that_it_was_ours_becomes_ours(ledger: Any) -> None:
    ledger.save_modifications(VOL, [known("other", HOUR)], now=NOW)
    ledger.save_modifications(VOL, [known("headroom", HOUR)], now=NOW)
    assert ledger.resource_state(VOL, NOW).modifications == (known("headroom", HOUR),)


def test_modifications_are_reported_oldest_first_as_long_as_earlier_days_are_read(
    ledger: Any,
) -> None:
    kept = timedelta(days=15)
    starts = [known("other", HOUR), known("other", kept), known("other", kept - HOUR)]
    ledger.save_modifications(VOL, starts, now=NOW)
    ledger.save_modifications(VOL, [known("other", 2 * HOUR)], now=NOW)
    seen = ledger.resource_state(VOL, NOW).modifications
    assert seen == (known("other", kept - HOUR), known("other", 2 * HOUR), known("other", HOUR))
    assert len(ledger.resource_state(VOL, NOW + kept - 2 * HOUR).modifications) == 1
    later = ledger.resource_state(VOL, NOW + kept - HOUR)
    assert (later.modifications, later.earlier_modification) == ((), known("other", HOUR))
    ledger.save_modifications(VOL, [known("other", 3 * HOUR)], now=NOW + 9 * kept)
    assert ledger.resource_state(VOL, NOW + 9 * kept).earlier_modification == known("other", HOUR)


def test_what_a_refusal_taught_is_kept_until_the_next_lesson(ledger: Any) -> None:
    ledger.save_modifications(VOL, [], now=NOW, full_until=NOW + HOUR)
    ledger.save_modifications(VOL, [known("other", HOUR)], now=NOW)
    assert ledger.resource_state(VOL, NOW).slots_full_until == NOW + HOUR
    ledger.save_modifications(VOL, [], now=NOW, full_until=NOW + 2 * HOUR)
    assert ledger.resource_state(VOL, NOW).slots_full_until == NOW + 2 * HOUR


def test_what_a_refusal_taught_is_past_when_its_time_has_come(ledger: Any) -> None:
    ledger.save_modifications(VOL, [], now=NOW, full_until=NOW + HOUR)
    just_before = NOW + HOUR - timedelta(microseconds=1)
    assert ledger.resource_state(VOL, just_before).slots_full_until == NOW + HOUR
    assert ledger.resource_state(VOL, NOW + HOUR).slots_full_until is None


def test_a_refusal_shows_when_to_ask_again(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    body = refused(Refusal.REGION_QUOTA)
    append(ledger, act(), Step.REFUSED, body=body, due_at=NOW + HOUR)
    ledger.decided(hold("h1"), due_at=NOW)  # and nothing but time or a change ends that
    ledger.reconciled(VOL, at=NOW, due_at=None)
    just_before = NOW + HOUR - timedelta(microseconds=1)
    assert ledger.resource_state(VOL, just_before).retry_not_before == NOW + HOUR
    assert ledger.resource_state(VOL, NOW + HOUR).retry_not_before is None


@pytest.mark.parametrize("step", [Step.APPLIED, Step.ALREADY_THERE])
def test_a_change_that_was_accepted_ends_the_wait(ledger: Any, step: Step) -> None:
    intended(ledger, act("d0"), lease_until=UNTIL)
    append(ledger, act("d0"), Step.REFUSED, due_at=NOW + HOUR)
    intended(ledger, act("d1"), lease_until=UNTIL)
    assert ledger.resource_state(VOL, NOW).retry_not_before == NOW + HOUR
    append(ledger, act("d1"), step, due_at=NOW + 2 * HOUR)
    assert ledger.resource_state(VOL, NOW).retry_not_before is None


@pytest.mark.parametrize("step", [Step.STALE, Step.UNKNOWN])
def test_only_a_refusal_makes_a_wait(ledger: Any, step: Step) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), step, due_at=NOW + HOUR)
    assert ledger.resource_state(VOL, NOW).retry_not_before is None


def test_the_longest_overdue_come_first(ledger: Any) -> None:
    for number, minutes in enumerate([30, 10, 20, 61]):
        ledger.reconciled(ref(f"vol-{number}"), at=NOW, due_at=NOW + timedelta(minutes=minutes))
    due = ledger.due(NOW + HOUR, 10)
    assert [d.ref.resource_id for d in due] == ["vol-1", "vol-2", "vol-0"]
    assert [(d.due_at - NOW).seconds // 60 for d in due] == [10, 20, 30]
    assert [d.ref.resource_id for d in ledger.due(NOW + HOUR, 2)] == ["vol-1", "vol-2"]


def test_a_reconciliation_without_a_next_one_takes_a_resource_off_the_list(ledger: Any) -> None:
    ledger.decided(hold("h1"), due_at=NOW)
    assert [d.ref for d in ledger.due(NOW, 10)] == [VOL]
    ledger.reconciled(VOL, at=NOW, due_at=NOW + HOUR)
    assert ledger.due(NOW, 10) == ()
    ledger.reconciled(VOL, at=NOW, due_at=None)
    assert ledger.due(NOW + HOUR, 10) == ()


def test_an_open_chain_stays_due_until_it_ends(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED, due_at=NOW + HOUR)
    ledger.reconciled(VOL, at=NOW, due_at=None)
    ledger.decided(hold("h1"), due_at=NOW + 2 * HOUR)
    ledger.decided(hold("h2"), due_at=None)
    assert [d.due_at for d in ledger.due(NOW + HOUR, 10)] == [NOW + HOUR]
    append(ledger, act(), Step.RELIEVED)
    assert ledger.due(NOW + 9 * HOUR, 10) == ()


@pytest.mark.parametrize(
    ("reconciled_in", "asked_for", "due"),
    [
        (
            HOUR,
            3 * HOUR,
            3 * HOUR,
        ),  # the reconciliation that was due: verification is pending till then
        (HOUR, None, HOUR),
        (2 * HOUR, 2 * HOUR, 2 * HOUR),  # it could not be made: once more
        (HOUR / 2, 3 * HOUR, HOUR),  # another reconciliation, long before
        (HOUR / 2, HOUR / 2, HOUR / 2),  # sooner is always right
        (HOUR / 2, None, HOUR),
    ],
)
def test_an_open_chain_is_put_off_only_by_a_reconciliation_that_was_due(
    ledger: Any, reconciled_in: timedelta, asked_for: timedelta | None, due: timedelta
) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED, due_at=NOW + HOUR)
    next_reconcile_at = None if asked_for is None else NOW + asked_for
    ledger.reconciled(VOL, at=NOW + reconciled_in, due_at=next_reconcile_at)
    assert [d.due_at for d in ledger.due(NOW + 9 * HOUR, 10)] == [NOW + due]


def test_an_open_chain_that_is_not_due_at_all_takes_any_time(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED, due_at=None)
    ledger.reconciled(VOL, at=NOW, due_at=NOW + HOUR)
    assert [d.due_at for d in ledger.due(NOW + HOUR, 10)] == [NOW + HOUR]


def test_without_a_chain_a_reconciliation_puts_off_what_was_due(ledger: Any) -> None:
    ledger.decided(hold("h1"), due_at=NOW + HOUR)
    ledger.reconciled(VOL, at=NOW, due_at=NOW + 3 * HOUR)
    assert ledger.due(NOW + 2 * HOUR, 10) == ()
    assert [d.due_at for d in ledger.due(NOW + 3 * HOUR, 10)] == [NOW + 3 * HOUR]


def test_a_reconciliation_changes_nothing_else(ledger: Any) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    before = ledger.resource_state(VOL, NOW)
    ledger.reconciled(VOL, at=NOW + HOUR, due_at=NOW + HOUR)
    ledger.reconciled(VOL, at=NOW + HOUR, due_at=None)
    assert ledger.resource_state(VOL, NOW) == before
    append(ledger, act(), Step.APPLIED)  # and the chain goes on


def test_the_kill_switch_shows_in_every_state(ledger: Any) -> None:
    ledger.pause(NOW + HOUR, at=NOW, who="alice")
    assert ledger.resource_state(VOL, NOW).paused_until == NOW + HOUR
    assert ledger.resource_state(ref("vol-2"), NOW).paused_until == NOW + HOUR
