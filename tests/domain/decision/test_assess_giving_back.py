"""What became of a change that lowered something: nothing missed, or too much given back."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import (
    Ineffective,
    Pending,
    ReducedTooFar,
    ReductionConfirmed,
    Relieved,
    Untested,
    Verification,
    assess,
)
from headroom.domain.decision.action import VERIFICATION_TIMEOUT
from headroom.domain.decision.assess import (
    REDUCED_TOO_FAR_MINUTES,
    REDUCTION_CONFIRMED_MINUTES,
)
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration, ModificationState, Observation, VolumeType
from tests.builders import NOW, activity, gp2, gp3, io, modification, observation, volume

APPLIED = NOW - timedelta(minutes=60)
HIGH, LOW = gp3(100, 9_000, 500), gp3(100, 4_000, 200)


def plan(origin: Configuration = HIGH, target: Configuration = LOW) -> Plan:
    return Plan(
        origin=origin, target=target, why="", demand_iops=0, demand_mibps=0, meets_need=True,
        capability=capability(target), monthly_usd=Decimal(1), price_change_usd=Decimal(-1),
        time_to_effect=timedelta(minutes=30), reversible=True, relieved_minutes_per_day=0.0,
        value_usd_per_day=1.0, capped_from=None,
    )  # fmt: skip


def after(
    iops_check: list[float],
    *,
    iops: float = 500.0,
    taken: Plan | None = None,
    mibps_check: float = 0.0,
    state: ModificationState = ModificationState.OPTIMIZING,
    minutes_ago: float = 60,
) -> Observation:
    """An hour before the change and one after it, of which `iops_check` gives the newest."""
    taken = taken or plan()
    checks = [0.0] * (120 - len(iops_check)) + iops_check
    load = activity([iops] * 120, iops_check=checks, mibps_check=[0.0] * 118 + [mibps_check] * 2)
    started = NOW - timedelta(minutes=minutes_ago)
    change = modification(taken.target, origin=taken.origin, state=state, started_at=started)
    return observation(load, volume(taken.target), modification=change)


def verify(seen: Observation, taken: Plan | None = None) -> Verification:
    return assess(seen, taken or plan(), APPLIED)


def test_what_was_given_back_is_not_missed_after_a_quarter_of_an_hour_without_pressure() -> None:
    assessed = verify(after([0.0] * 60))
    assert isinstance(assessed, ReductionConfirmed)
    assert "without pressure at up to 500 IOPS" in assessed.detail


def test_a_lowering_waits_longer_for_its_proof_than_a_raise() -> None:
    at = APPLIED + timedelta(minutes=17)  # 12 minutes count: the first five say nothing
    load = activity([3_950.0] * 120, end=at)
    lowered = modification(LOW, origin=HIGH, started_at=APPLIED, state=ModificationState.OPTIMIZING)
    seen = observation(load, volume(LOW), modification=lowered, at=at)
    assessed = assess(seen, plan(), APPLIED)
    assert isinstance(assessed, Pending)
    assert assessed.next_reconcile_at == at + timedelta(minutes=5)
    raised = modification(HIGH, origin=LOW, started_at=APPLIED, state=ModificationState.OPTIMIZING)
    seen = observation(load, volume(HIGH), modification=raised, at=at)
    assert isinstance(assess(seen, plan(LOW, HIGH), APPLIED), Relieved)


def test_the_next_reconciliation_is_when_the_proof_could_be_complete() -> None:
    at = APPLIED + timedelta(minutes=8)
    change = modification(LOW, origin=HIGH, started_at=APPLIED, state=ModificationState.OPTIMIZING)
    seen = observation(activity([500.0] * 60, end=at), volume(LOW), modification=change, at=at)
    assessed = assess(seen, plan(), APPLIED)
    assert isinstance(assessed, Pending)
    assert assessed.next_reconcile_at == at + timedelta(minutes=REDUCTION_CONFIRMED_MINUTES - 3)


@pytest.mark.parametrize("pressed", range(5))
def test_two_minutes_at_a_limit_that_was_lowered_are_too_much_given_back(pressed: int) -> None:
    assessed = verify(after([0.0] * 10 + [1.0] * pressed, iops=3_900.0 if pressed else 500.0))
    assert isinstance(assessed, ReducedTooFar) == (pressed >= REDUCED_TOO_FAR_MINUTES)


@pytest.mark.parametrize("state", [ModificationState.OPTIMIZING, ModificationState.COMPLETED])
def test_too_much_is_reported_with_both_limits_whether_aws_is_done_or_not(
    state: ModificationState,
) -> None:
    assessed = verify(after([1.0] * 3, state=state))
    assert assessed == ReducedTooFar(cause="3 minutes at the limit of 4000 IOPS, lowered from 9000")


def test_pressure_that_follows_a_raise_needs_longer_than_that_to_be_called_a_failure() -> None:
    up = plan(LOW, HIGH)
    for pressed, expected in ((9, Pending), (10, Ineffective)):
        seen = after([1.0] * pressed, taken=up, iops=8_900.0, state=ModificationState.COMPLETED,
                     minutes_ago=120)  # fmt: skip
        assert isinstance(assess(seen, up, NOW - timedelta(minutes=120)), expected)


def test_pressure_at_a_limit_that_was_left_alone_is_no_fault_of_giving_back() -> None:
    """It ends the chain all the same: an open chain would keep the need from being decided on."""
    only_iops = plan(gp3(100, 9_000, 200), LOW)
    assessed = verify(after([0.0] * 20, taken=only_iops, mibps_check=1.0), only_iops)
    assert isinstance(assessed, ReductionConfirmed)
    assert "a limit it did not lower" in assessed.detail
    both = plan()
    assert isinstance(verify(after([0.0] * 20, taken=both, mibps_check=1.0), both), ReducedTooFar)


def test_leaving_a_burst_behind_is_giving_back_what_the_burst_reached() -> None:
    """gp2 of 200 GiB sustains 128 MiB/s and bursts to 250; gp3 with 128 has that much at any time."""
    convert = plan(gp2(200), gp3(200, 3_000, 128))
    assessed = verify(after([0.0] * 20, taken=convert, mibps_check=1.0), convert)
    assert assessed == ReducedTooFar(cause="2 minutes at the limit of 128 MiB/s, lowered from 250")
    busy = after([0.0] * 60, taken=convert, iops=600.0)
    assert isinstance(verify(busy, convert), Relieved)
    idle = after([0.0] * 60, taken=convert, state=ModificationState.COMPLETED)
    assert isinstance(verify(idle, convert), Untested)


def test_the_same_for_less_misses_nothing() -> None:
    same = plan(io(VolumeType.IO1, 400, 3_000), gp3(400, 3_000, 500))
    assert isinstance(verify(after([0.0] * 60, taken=same), same), ReductionConfirmed)


def test_silence_after_a_lowering_proves_nothing_until_it_is_given_up() -> None:
    for since, expected in ((timedelta(hours=2), Pending), (VERIFICATION_TIMEOUT, Pending),
                            (VERIFICATION_TIMEOUT + timedelta(minutes=1), Untested)):  # fmt: skip
        change = modification(LOW, origin=HIGH, started_at=NOW - since)
        silent = observation(activity([None] * 120), volume(LOW), modification=change)
        assessed = assess(silent, plan(), NOW - since)
        assert isinstance(assessed, expected)
        if isinstance(assessed, Untested):
            assert assessed.detail.startswith("nothing was measured in the last 2 h")


def test_load_served_before_the_lower_limit_took_hold_is_no_pressure() -> None:
    """Where AWS publishes no check: 8,000 IOPS before a limit of 4,000 came into force are served."""
    load = activity([8_000.0] * 110 + [500.0] * 10, iops_check=None, mibps_check=None)
    change = modification(LOW, origin=HIGH, started_at=APPLIED, ended_at=NOW - timedelta(minutes=8))
    seen = observation(load, volume(LOW), modification=change)
    assert not isinstance(assess(seen, plan(), APPLIED), ReducedTooFar)


@pytest.mark.parametrize(("minutes", "expected"), [(12, Pending), (20, Relieved)])
def test_a_change_that_raises_one_thing_and_lowers_another_takes_as_long_as_a_lowering(
    minutes: int, expected: type
) -> None:
    convert, at = plan(gp2(200), gp3(200, 3_000, 128)), APPLIED + timedelta(minutes=5 + minutes)
    change = modification(
        convert.target, origin=convert.origin, started_at=APPLIED,
        state=ModificationState.OPTIMIZING,
    )  # fmt: skip
    seen = observation(
        activity([600.0] * 120, end=at), volume(convert.target), modification=change, at=at
    )
    assert isinstance(assess(seen, convert, APPLIED), expected)
