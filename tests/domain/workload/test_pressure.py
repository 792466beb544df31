"""Pressure where no check is published: inferred from operations that wait, against the calm latency."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.catalog.ebs import HDD_IO_BYTES, capability
from headroom.domain.decision import Act, Decision, Escalate, decide
from headroom.domain.resources import Configuration, Observation, VolumeActivity, VolumeType
from headroom.domain.workload import Binding, Minute, minutes, recent_minutes
from tests.builders import NOW, activity, database_policy, decision_input, gp3, observation, volume
from tests.domain.databases import rds
from tests.domain.decision.test_rds_planning import starved
from tests.domain.earlier import changed, history

SMALL = gp3()
HDD = Configuration(volume_type=VolumeType.ST1, size_gib=2_000, iops=None, throughput_mibps=None)


def unchecked(
    iops: float, queue: float | None, *, calm_ms: float = 1.0, calm_minutes: int = 30,
    minutes: int = 30, latency_ms: float | None = None, io_kib: float = 16,
) -> VolumeActivity:  # fmt: skip
    """Calm minutes at 300 IOPS, then `iops` with `queue`, and no check."""
    waited = 1000 * queue / iops if queue is not None else latency_ms
    return activity(
        [300.0] * calm_minutes + [iops] * minutes,
        queue=[calm_ms * 0.3] * calm_minutes + [queue] * minutes,
        latency_ms=[calm_ms] * calm_minutes + [waited] * minutes,
        iops_check=None, mibps_check=None, io_kib=io_kib,
    )  # fmt: skip


def last(load: VolumeActivity, configuration: Configuration = SMALL) -> Minute:
    return minutes(load, capability(configuration))[-1]


@pytest.mark.parametrize(
    ("iops", "queue", "pressed", "why"),
    [
        (2_250, 400.0, True, "15 s of each minute at 9,000: 178 ms where 1 ms is usual"),
        (2_250, 30.0, True, "13 ms"),
        (2_250, 20.0, False, "9 ms are not much for a busy minute"),
        (2_250, 2.0, False, "as calm as ever"),
        (800, 200.0, True, "more than a quarter of the limit, all of it in a burst"),
        (600, 200.0, False, "too little for the limit to be to blame"),
        (2_950, 2.0, False, "the mean itself is at the limit, and as calm as ever: it just fits"),
        (2_950, 3.0, False, "1.02 ms where 1 ms is usual"),
        (2_950, 4.0, True, "1.36 ms: a pool would lose a quarter"),
        (3_000, 64.0, True, "a pool of 64"),
    ],
)
def test_operations_that_wait_below_the_limit_were_held_back_inside_the_minute(
    iops: float, queue: float, pressed: bool, why: str
) -> None:
    assert last(unchecked(iops, queue)).iops_pressed is pressed, why


@pytest.mark.parametrize(("calm_ms", "pressed"), [(1.0, True), (4.0, True), (12.0, False)])
def test_what_is_slow_depends_on_the_resources_own_calm_latency(
    calm_ms: float, pressed: bool
) -> None:
    """50 ms are slow where 4 ms are usual, and not where 12 are."""
    load = unchecked(2_000, 100.0, calm_ms=calm_ms)
    assert last(load).iops_pressed is pressed


@pytest.mark.parametrize("calm_minutes", [0, 9])
def test_without_enough_calm_minutes_an_ssds_usual_latency_counts(calm_minutes: int) -> None:
    for queue, pressed in ((30.0, True), (15.0, False)):
        load = unchecked(2_250, queue, calm_ms=12.0, calm_minutes=calm_minutes)
        assert last(load).iops_pressed is pressed


def test_without_calm_minutes_of_its_own_earlier_days_show_what_is_calm() -> None:
    """A load that just fits for hours is at its limit, and waits for nothing."""
    fits = unchecked(2_950, 2.0, calm_minutes=0, minutes=180)
    seen = observation(vol=volume(SMALL), activity=fits, history=None)
    assert all(m.iops_pressed for m in recent_minutes(seen))
    for earlier_ms, pressed in ((1.0, False), (0.4, True), (30.0, True)):
        earlier = history(
            lambda _: 600.0, days=2, check=None, latency_ms=lambda _, ms=earlier_ms: ms
        )
        found = recent_minutes(replace(seen, history=earlier))
        assert {m.iops_pressed for m in found} == {pressed}, earlier_ms


def test_what_waited_at_a_lower_limit_is_no_measure_of_a_higher_one() -> None:
    """A pool of 20 that never rests: 6.7 ms at 3,000 IOPS, 3.3 ms at 6,000, 1.7 ms at 12,000."""
    large = gp3(100, 12_000, 500)
    load = unchecked(12_000, 20.0, calm_minutes=0, minutes=180)
    raises = (
        changed(NOW - timedelta(days=3), SMALL, gp3(100, 6_000, 500)),
        changed(NOW - timedelta(days=1), gp3(100, 6_000, 500), large),
    )

    def rate(at: datetime) -> float:
        return (
            3_000.0
            if at < NOW - timedelta(days=3)
            else 6_000.0
            if at < NOW - timedelta(days=1)
            else 12_000.0
        )

    earlier = history(rate, days=6, check=None, latency_ms=lambda at: 20_000 / rate(at))
    seen = observation(vol=volume(large), activity=load, history=earlier)
    assert {m.iops_pressed for m in recent_minutes(seen, raises)} == {True}
    rested = history(lambda _: 600.0, days=2, check=None, latency_ms=lambda _: 1.6)
    found = recent_minutes(replace(seen, history=rested), raises)
    assert {m.iops_pressed for m in found} == {False}


@pytest.mark.parametrize("missing", ["read_iops", "latency_ms"])
def test_periods_of_which_something_is_missing_show_no_latency(missing: str) -> None:
    fits = unchecked(2_950, 2.0, calm_minutes=0, minutes=180)
    earlier = history(lambda _: 600.0, days=2, check=None, latency_ms=lambda _: 1.0)
    holed = replace(getattr(earlier, missing), values=(None,) * len(earlier.read_iops.values))
    seen = observation(
        vol=volume(SMALL), activity=fits, history=replace(earlier, **{missing: holed})
    )
    assert {m.iops_pressed for m in recent_minutes(seen)} == {True}


def test_a_load_that_always_waits_does_not_make_that_its_calm_latency() -> None:
    """8 s of each minute at 9,000 are a mean of 1,200: 24 s of each minute at the limit."""
    load = unchecked(1_200, 200.0, calm_minutes=0, minutes=180)
    assert all(m.iops_pressed for m in minutes(load, capability(SMALL)))


def test_a_disk_that_turns_is_slow_only_beyond_its_own_seeks() -> None:
    assert capability(HDD).io_bytes == HDD_IO_BYTES
    usual = unchecked(30, 1.2, io_kib=1024, calm_minutes=0)  # 40 ms
    assert not last(usual, HDD).pressed


def test_without_a_queue_the_latency_itself_counts() -> None:
    assert last(unchecked(2_000, None, latency_ms=60.0)).iops_pressed
    assert not last(unchecked(2_000, None, latency_ms=4.0)).iops_pressed
    assert not last(unchecked(2_000, None, latency_ms=None)).iops_pressed


def test_large_operations_that_wait_were_held_back_by_throughput() -> None:
    found = last(unchecked(400, 100.0, io_kib=256))  # 100 of 125 MiB/s
    assert (found.iops_pressed, found.mibps_pressed) == (False, True)


def test_a_check_is_believed_whatever_waits() -> None:
    load = unchecked(2_250, 400.0)
    clear = replace(load, iops_exceeded=activity([300.0] * 60).iops_exceeded)
    assert not last(clear).pressed


# --- what is decided about it


def bursts(configuration: Configuration, **limits: object) -> Decision:
    """A database of which 15 s of each minute come at three times 3,000, for three hours."""
    share = capability(configuration).sustained_iops / 3_000
    load = unchecked(2_250 * share, 400.0, calm_minutes=0, minutes=180)
    seen: Observation = replace(starved(configuration, 3_000), activity=load)
    return decide(decision_input(seen, rules=database_policy(**limits)))


def test_bursts_of_a_database_are_acted_on_where_that_takes_no_copy() -> None:
    decision = bursts(rds(VolumeType.GP3, 500))
    assert decision.diagnosis.binding is Binding.VOLUME_IOPS
    assert decision.demand.pressed_minutes == 180
    assert isinstance(decision.answer, Act)
    assert decision.answer.plan.capability.sustained_iops > 12_000


def test_bursts_of_a_database_are_reported_where_a_person_has_to_choose() -> None:
    decision = bursts(rds(VolumeType.GP3, 200))
    assert decision.demand.pressed_minutes == 180
    assert isinstance(decision.answer, Escalate)
    assert "full_copy" in decision.answer.cause
