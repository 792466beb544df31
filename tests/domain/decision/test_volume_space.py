"""A volume whose file system fills, where the agent on its instance publishes what is free."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    Hold,
    Ineffective,
    Reason,
    assess,
    decide,
    space_check,
)
from headroom.domain.policy import Mode
from headroom.domain.resources import (
    Configuration,
    ModificationState,
    Observation,
    Volume,
    VolumeType,
)
from headroom.domain.state import KnownModification
from headroom.domain.workload import SpaceBasis, spans
from headroom.serialization import decision_from_json, decision_to_json
from tests.builders import (
    NOW,
    activity,
    decision_input,
    gp2,
    gp3,
    instance,
    io,
    modification,
    observation,
    policy,
    resource_state,
    volume,
)
from tests.domain.filling import Free, free_series, steadily

GROW = {"mode": Mode.AUTO, "grow_space": True}


def disk(
    configuration: Configuration | None = None, free: Free | None = None, *,
    file_system_gib: float | None = None, **changes: object,
) -> Observation:  # fmt: skip
    """A quiet volume of 200 GiB of gp3 with one file system, seen for ten days."""
    configuration = configuration or gp3(200)
    free = free or steadily(20.5, 2.0)
    size = configuration.size_gib * 0.99 if file_system_gib is None else file_system_gib
    recent = activity([100.0] * 180, iops_check=0, mibps_check=0)
    past = activity([100.0] * 2880, iops_check=0, mibps_check=0, period_s=300)
    load, history = (
        replace(
            each,
            free_gib=free_series(free, period_s=period_s, count=count),
            file_system_gib=free_series(lambda _: size, period_s=period_s, count=count),
        )
        for each, period_s, count in ((recent, 60, 180), (past, 300, 2880))
    )
    vol: Volume = volume(configuration)
    return observation(load, vol, instance=instance(), history=history, **changes)


def decided(
    seen: Observation, known: tuple[KnownModification, ...] = (), **limits: object
) -> Decision:
    stand = resource_state(modifications=known)
    return decide(decision_input(seen, rules=policy(**{**GROW, **limits}), stand=stand))


def test_a_volume_whose_file_system_fills_grows_for_the_horizon_and_keeps_the_rest() -> None:
    decision = decided(disk())
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.reason is Reason.LOW_FREE_SPACE
    plan = decision.answer.plan
    assert plan.target == gp3(231)
    assert plan.only_for_space
    assert not plan.reversible
    assert "20.5 of 200 GiB are free" in decision.summary
    kept = decision_from_json(decision_to_json(decision))
    assert (kept.space, kept.answer) == (decision.space, decision.answer)


def test_without_the_owners_word_no_volume_grows() -> None:
    far = decided(disk(), grow_space=False)
    assert isinstance(far.answer, Hold)
    near = decided(disk(free=steadily(4.0, 2.0)), grow_space=False)
    assert isinstance(near.answer, Escalate), near.summary
    assert near.answer.cause == "space_growth"
    assert "grow_space is not set" in near.answer.remedy


def test_a_volume_of_which_nothing_is_published_is_never_grown_for_space() -> None:
    seen = disk(free=steadily(1.0, 2.0))
    silent = replace(
        seen, activity=replace(seen.activity, free_gib=None, file_system_gib=None), history=None
    )
    decision = decided(silent)
    assert decision.space is None
    assert isinstance(decision.answer, Hold)
    assert space_check(decision) == NOW + timedelta(days=1)  # somebody may configure the agent
    assert space_check(decided(silent, grow_space=False)) is None


@pytest.mark.parametrize(
    ("free", "within"),
    [
        (lambda _: 150.0, timedelta(hours=6)),  # no scan reads it
        (steadily(40.5, 19.0), timedelta(hours=2)),
        (lambda h: 150.0 - max(0.0, (0.25 - h) * 500), timedelta(minutes=10)),
    ],
)
def test_a_volume_that_may_grow_is_reconciled_as_soon_as_its_forecast_takes(
    free: Free, within: timedelta
) -> None:
    decision = decided(disk(free=free))
    assert isinstance(decision.answer, Hold), decision.summary
    at = space_check(decision)
    assert at is not None
    assert NOW < at <= NOW + within


@pytest.mark.parametrize(
    ("configuration", "limits", "target"),
    [
        (gp3(200), {"max_size_gib": 225}, gp3(225)),  # as much as the limits let
        (gp2(200), {}, gp2(231)),
        (io(VolumeType.IO1, 200, 900), {"types": (VolumeType.IO1,)}, io(VolumeType.IO1, 231, 900)),
        (io(VolumeType.IO2, 200, 900), {}, io(VolumeType.IO2, 231, 900)),
    ],
)
def test_each_type_grows_within_the_owners_limits(
    configuration: Configuration, limits: dict[str, object], target: Configuration
) -> None:
    decision = decided(disk(configuration), **limits)
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.plan.target == target


def test_a_volume_grows_by_a_tenth_at_least_or_its_owner_hears_why_not() -> None:
    small = disk(gp3(200), lambda _: 19.0)  # just below the reserve, and it does not fill
    decision = decided(small)
    assert isinstance(decision.answer, Act), decision.summary
    assert decision.answer.plan.target.size_gib == 220
    tiny = decided(disk(gp3(8), lambda _: 0.7))
    assert isinstance(tiny.answer, Act), tiny.summary
    assert tiny.answer.plan.target.size_gib == 10
    capped = decided(small, max_size_gib=210)
    assert isinstance(capped.answer, Escalate), capped.summary
    assert "max_size" in capped.answer.cause


def test_the_largest_a_type_takes_is_not_exceeded() -> None:
    decision = decided(disk(gp2(16_000), steadily(100.0, 50.0)), price_increase_usd=10_000)
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_no_plan"
    assert "no size that AWS takes" in decision.answer.remedy


def grown_to(size: int) -> dict[str, object]:
    return {"modification": modification(gp3(size), origin=gp3(200))}


def test_a_volume_larger_than_its_file_system_is_not_grown_again() -> None:
    full: Free = steadily(2.0, 2.0)
    seen = disk(gp3(231), full, file_system_gib=198.0, **grown_to(231))
    for known in ((), (KnownModification(
        started_at=NOW - timedelta(hours=3), by="1" * 20, origin=gp3(200), target=gp3(231)
    ),)):  # fmt: skip
        decision = decided(seen, known)
        assert decision.space is not None
        assert decision.space.basis is SpaceBasis.FILE_SYSTEM
        assert not decision.space.eased  # so its owner is notified once
        assert isinstance(decision.answer, Escalate), decision.summary
        assert decision.answer.cause == "space_file_system"
        assert "198.0 of 231 GiB" in decision.summary
    silent = decided(seen, grow_space=False)
    assert isinstance(silent.answer, Hold)


@pytest.mark.parametrize(
    ("state", "hours"), [(ModificationState.OPTIMIZING, 9.0), (ModificationState.COMPLETED, 1.5)]
)
def test_a_file_system_that_may_still_be_extended_is_no_news(
    state: ModificationState, hours: float
) -> None:
    change = modification(
        gp3(231), origin=gp3(200), state=state, started_at=NOW - timedelta(hours=hours)
    )
    seen = disk(gp3(231), steadily(2.0, 2.0), file_system_gib=198.0, modification=change)
    decision = decided(seen)
    assert isinstance(decision.answer, Hold), decision.summary
    assert decision.answer.reason is Reason.FREE_SPACE_UNCERTAIN
    again = space_check(decision)
    assert again is not None
    assert again > NOW + timedelta(hours=2)


@pytest.mark.parametrize("size", [1, 2, 8, 19, 20, 40, 200, 1_000, 14_000])
def test_no_growth_is_so_small_that_nobody_sees_whether_its_file_system_followed(size: int) -> None:
    full = disk(gp3(size), lambda _: 0.05 * size, file_system_gib=size * 0.999)
    decision = decided(full, price_increase_usd=10_000)
    assert isinstance(decision.answer, Act), decision.summary
    assert not spans(size * 0.999, decision.answer.plan.target.size_gib)


@pytest.mark.parametrize(
    ("size", "file_system_gib", "whole"),
    [(8, 6.8, True), (8, 5.9, False), (1000, 984.0, True), (1000, 949.0, False)],
)
def test_metadata_and_boot_partitions_are_no_missing_space(
    size: int, file_system_gib: float, whole: bool
) -> None:
    decision = decided(disk(gp3(size), lambda _: size / 2, file_system_gib=file_system_gib))
    assert decision.space is not None
    assert (decision.space.basis is not SpaceBasis.FILE_SYSTEM) is whole


@pytest.mark.parametrize(
    ("free", "target"),
    [
        (lambda h: 47.0 + 5.0 * h, None),  # as every morning, before it is deleted at noon
        (lambda h: 25.0 + 1.0 * h, None),
        (lambda h: 19.0 + 0.5 * max(0.0, h - 1), gp3(220)),  # less than the reserve for an hour
        (lambda h: 30.0 + 20.0 * min(h, 1.0), gp3(344)),  # full within two hours
    ],
)
def test_the_hours_since_an_agent_began_to_measure_are_not_taken_for_the_days_to_come(
    free: Free, target: Configuration | None
) -> None:
    decision = decided(disk(free=lambda h: free(h) if h <= 8 else None))
    assert isinstance(decision.answer, Act) is (target is not None), decision.summary
    assert decision.plan is None or decision.plan.target == target
    if target is None:
        assert decision.space is not None
        assert "less than two days were measured" in decision.space.explanation


def test_a_full_drive_whose_size_nobody_measures_is_never_grown() -> None:
    """Of Windows the size is unknown below 1 % free: growth that no file system followed would repeat."""
    full = disk(gp3(222), lambda _: 0.5)
    system = full.activity.file_system_gib
    assert system is not None
    blank = replace(system, values=(None,) * len(system.values))
    unmeasured = replace(full, activity=replace(full.activity, file_system_gib=blank))
    grew = KnownModification(
        started_at=NOW - timedelta(days=4), by="1" * 20, origin=gp3(200), target=gp3(222)
    )
    decision = decided(unmeasured, (grew,))
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_unclear"
    assert "size of its file system was not measured" in decision.summary


def test_a_file_system_larger_than_the_volume_is_not_the_volumes() -> None:
    """An agent that was not started again after volumes were swapped publishes one's as the other's."""
    decision = decided(disk(free=lambda _: 4.0, file_system_gib=500.0))
    assert isinstance(decision.answer, Escalate), decision.summary
    assert decision.answer.cause == "space_unclear"
    assert "500.0 GiB, more than the volume's 200" in decision.summary


def test_growth_that_no_file_system_shows_says_what_to_do() -> None:
    act = decided(disk()).answer
    assert isinstance(act, Act)
    applied = NOW - timedelta(hours=1)
    change = modification(act.plan.target, origin=act.plan.origin, started_at=applied)
    seen = disk(act.plan.target, file_system_gib=198.0, modification=change)
    verified = assess(seen, act.plan, applied)
    assert isinstance(verified, Ineffective)
    assert "extend the partition and the file system" in verified.cause


def test_load_does_not_wait_for_a_file_system_that_cannot_follow() -> None:
    """Pressed and filling at once: growth waits, with its load's plan or without, and IOPS are bought."""
    quiet = disk()
    load = replace(
        activity(
            [1500.0] * 120 + [3000.0] * 60, queue=[1.0] * 120 + [900.0 + 3 * i for i in range(60)],
            iops_check=[0.0] * 120 + [1.0] * 60,
        ),
        free_gib=quiet.activity.free_gib, file_system_gib=quiet.activity.file_system_gib,
    )  # fmt: skip
    seen = replace(quiet, activity=load)
    answers = {}
    for hours in (0, 6):
        until = NOW + timedelta(hours=hours) if hours else None
        stand = resource_state(growth_not_before=until)
        answers[hours] = decide(decision_input(seen, rules=policy(**GROW), stand=stand)).answer
    together, alone = answers[0], answers[6]
    assert isinstance(together, Act)
    assert together.plan.growth is not None
    assert isinstance(alone, Act)
    assert alone.plan.growth is None
    assert alone.plan.target.size_gib == 200
    assert (alone.plan.target.iops or 0) > 3000


def test_a_quiet_volume_waits_until_its_file_system_is_asked_again() -> None:
    until = NOW + timedelta(hours=6)
    stand = resource_state(growth_not_before=until)
    found = decide(decision_input(disk(), rules=policy(**GROW), stand=stand)).answer
    assert isinstance(found, Hold)
    assert (found.reason, found.until) == (Reason.BLOCKED_TEMPORARILY, until)
