"""The oracle against every schedule there is on small clocks, and its bound under all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.awsrules import DelayRanges, Delays
from headroom.proving.oracle import Foresight
from headroom.proving.oracle.case import Schedule
from headroom.proving.oracle.foresight import OracleResult
from headroom.proving.trials import (
    DRAWN_DELAYS,
    STARTS,
    Conditions,
    TrialRun,
    avoidable,
    ceiling,
    run_schedule,
    score_usd,
)
from headroom.proving.vectorized import pain_if_static
from headroom.proving.workloads import LoadSeries
from tests.proving.series import load_series_of


def oracle(
    load_series: LoadSeries,
    start: Configuration,
    conditions: Conditions,
    incumbents: Sequence[Schedule] = (),
) -> OracleResult:
    return Foresight(load_series).oracle(start, conditions, incumbents)


def gp3(iops: int, mibps: int = 125) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=400, iops=iops, throughput_mibps=mibps
    )


def bursts(hours: float, *at: tuple[float, float, float], base: float = 500.0) -> LoadSeries:
    """`base` IOPS, and for each of `at` (hour, minutes, IOPS) a burst."""
    ops = np.full(round(hours * 60), base)
    for hour, minutes, rate in at:
        ops[round(hour * 60) : round(hour * 60 + minutes)] = rate
    return load_series_of(ops.tolist())


def scored(
    load_series: LoadSeries, start: Configuration, schedule: Schedule, conditions: Conditions
) -> TrialRun:
    return run_schedule(load_series, start, schedule, conditions)


def feasible(
    start: Configuration, minutes: Sequence[int], levels: Sequence[Configuration], most: int
) -> Iterator[Schedule]:
    """All schedules of up to `most` changes that leave flights and slots alone."""

    def further(done: Schedule) -> Iterator[Schedule]:
        yield done
        if len(done) == most:
            return
        for minute in minutes:
            if done and minute < done[-1][0] + 120:
                continue
            if len(done) >= 3 and minute < done[-3][0] + 1440:
                continue
            for level in levels:
                if level != (done[-1][1] if done else start):
                    yield from further((*done, (minute, level)))

    return further(())


@dataclass(frozen=True, eq=False)
class Clock:
    """A load, and when it may be changed to which levels, at most so often."""

    load_series: LoadSeries
    minutes: Sequence[int]
    levels: Sequence[Configuration]
    most: int
    start: Configuration = STARTS["gp3"]

    def best(self, conditions: Conditions) -> float:
        """What the best of all schedules scores; refused ones score as what is left."""
        return min(usd + conditions.value_usd * minutes for usd, minutes in all_runs(self))


@cache
def all_runs(clock: Clock) -> list[tuple[float, float]]:
    """Dollars and avoidable minutes of every schedule. A preset changes their value, no run."""
    load_series, start, conditions = clock.load_series, clock.start, Conditions()
    unavoidable = pain_if_static(load_series, ceiling(conditions, start)).shortfall
    schedules = feasible(start, clock.minutes, clock.levels, clock.most)
    runs = (scored(load_series, start, schedule, conditions) for schedule in schedules)
    return [(run.storage_usd, avoidable(run.shortfall, unavoidable)) for run in runs]


SMALL = {
    "one burst": Clock(
        bursts(10, (4, 60, 6_000)), range(110, 480, 60), [gp3(3_000), gp3(6_000)], 3
    ),
    "a burst that leaves a backlog": Clock(
        bursts(8, (1, 30, 9_000), base=1_500), range(0, 300, 30), [gp3(3_000), gp3(9_000)], 2
    ),
    "late from the first minute on": Clock(
        bursts(6, (0, 90, 8_000)), range(0, 240, 60), [gp3(3_000), gp3(8_000), gp3(12_000)], 3
    ),
    "throughput that needs two steps": Clock(
        load_series_of([50.0] * 300 + [800.0] * 60 + [50.0] * 240, io_kib=1_024),
        range(50, 420, 60),
        [gp3(3_000), gp3(3_200, 250), gp3(4_000, 800)],
        3,
    ),
    "more bursts than slots": Clock(
        bursts(30, *((hour, 40, 7_000) for hour in (3, 8, 13, 18, 24, 29))),
        range(170, 1_800, 300),
        [gp3(3_000), gp3(7_000)],
        4,
    ),
}


@pytest.mark.parametrize("preset", ["performance", "balanced", "thrift"])
@pytest.mark.parametrize("case", list(SMALL))
def test_no_schedule_on_a_small_clock_scores_less_than_the_oracle(case: str, preset: str) -> None:
    clock, conditions = SMALL[case], Conditions(preset=preset)
    found = oracle(clock.load_series, clock.start, conditions)
    assert found.score <= clock.best(conditions) + 1e-9
    assert found.bound <= found.score


def clock_every(
    minutes: int, load_series: LoadSeries, start: str = "gp3", most: int = 4
) -> Clock:  # fmt: skip
    times, levels = range(0, load_series.minutes, minutes), [gp3(3_000), gp3(7_500)]
    return Clock(load_series, times, levels, most, STARTS[start])


CLOCKS = {
    "a burst that leaves a backlog": clock_every(40, bursts(8, (1, 30, 9_000), base=1_500)),
    "late from the first minute on": clock_every(40, bursts(8, (0, 90, 8_000))),
    "more bursts than slots": clock_every(
        120, bursts(26, *((hour, 40, 7_000) for hour in (3, 8, 13, 18, 24)))
    ),
    "credits that run out": clock_every(
        120, bursts(14, (1, 300, 2_900), (9, 200, 3_000)), "gp2"
    ),
    "a costly start": clock_every(60, bursts(10, (4, 100, 9_000)), "io1", 3),
}  # fmt: skip


@pytest.mark.parametrize("preset", ["performance", "balanced", "thrift"])
@pytest.mark.parametrize("case", list(CLOCKS))
def test_the_search_finds_the_best_of_all_schedules_on_a_clock(case: str, preset: str) -> None:
    clock, conditions = CLOCKS[case], Conditions(preset=preset)
    load_series, start = clock.load_series, clock.start
    found = Foresight(load_series).case(start, conditions)
    cost, schedule = found.best_of(clock.minutes, clock.levels)
    unavoidable = pain_if_static(load_series, ceiling(conditions, start)).shortfall
    run = scored(load_series, start, schedule, conditions)
    assert cost == pytest.approx(score_usd(run, unavoidable, conditions), abs=1e-9)
    assert cost == pytest.approx(clock.best(conditions), abs=1e-9)


@pytest.mark.parametrize("start", ["gp2", "io1"])
def test_no_schedule_from_another_type_scores_less_than_the_oracle(start: str) -> None:
    load_series = bursts(40, *((hour, 600, 2_900) for hour in (2, 26)), base=200)
    conditions = Conditions(preset="balanced")
    found = oracle(load_series, STARTS[start], conditions)
    levels = [gp3(3_000), gp3(4_000)]
    clock = Clock(load_series, range(0, 2_400, 240), levels, 2, STARTS[start])
    assert found.bound <= found.score <= clock.best(conditions) + 1e-9


@st.composite
def loads(draw: st.DrawFn) -> LoadSeries:
    step = draw(st.sampled_from([15, 60, 300]))
    rate = st.sampled_from([0.0, 400.0, 2_900.0, 3_500.0, 5_000.0, 9_000.0, 15_000.0, 30_000.0])
    pieces = draw(st.lists(st.tuples(rate, st.integers(1, 90)), min_size=1, max_size=14))
    rates = [r for r, minutes in pieces for _ in range(max(1, minutes * 60 // step))]
    count = -(-len(rates) // 20) * 20
    return load_series_of(
        [rates[i % len(rates)] for i in range(count)],
        step_s=step,
        io_kib=draw(st.sampled_from([8.0, 16.0, 64.0])),
        service_ms=draw(st.sampled_from([None, None, None, 4.0])),
    )


LEVELS = st.builds(
    gp3,
    st.sampled_from([3_000, 3_500, 5_000, 9_000, 12_000, 16_000]),
    st.sampled_from([125, 200, 400, 750]),
)


@settings(max_examples=15, deadline=None)
@given(
    load_series=loads(),
    start=st.sampled_from(sorted(STARTS)),
    preset=st.sampled_from(["performance", "balanced", "thrift"]),
    wishes=st.lists(st.tuples(st.integers(0, 1_500), LEVELS), max_size=5),
    delays=st.sampled_from([Delays(), DRAWN_DELAYS]),
)
def test_no_schedule_whatever_scores_less_than_the_bound(
    load_series: LoadSeries,
    start: str,
    preset: str,
    wishes: list[tuple[int, Configuration]],
    delays: Delays | DelayRanges,
) -> None:
    conditions = Conditions(preset=preset, delays=delays)
    unavoidable = pain_if_static(load_series, ceiling(conditions, STARTS[start])).shortfall
    found = oracle(load_series, STARTS[start], conditions)
    run = scored(load_series, STARTS[start], tuple(wishes), conditions)
    assert score_usd(run, unavoidable, conditions) >= found.bound - 1e-6
    again = scored(load_series, STARTS[start], found.schedule, conditions)
    assert score_usd(again, unavoidable, conditions) == pytest.approx(found.score)
    assert (again.held, again.aws_refusals, again.guardrail_violations) == (0, 0, 0)


@settings(max_examples=10, deadline=None)
@given(load_series=loads(), wishes=st.lists(st.tuples(st.integers(0, 900), LEVELS), max_size=4))
def test_the_oracle_is_never_worse_than_an_incumbent(
    load_series: LoadSeries, wishes: list[tuple[int, Configuration]]
) -> None:
    conditions = Conditions(preset="balanced")
    unavoidable = pain_if_static(load_series, ceiling(conditions, STARTS["gp3"])).shortfall
    schedule = tuple(sorted(wishes, key=lambda wish: wish[0]))
    run = scored(load_series, STARTS["gp3"], schedule, conditions)
    found = oracle(load_series, STARTS["gp3"], conditions, incumbents=[schedule])
    assert found.score <= score_usd(run, unavoidable, conditions) + 1e-9


def test_a_volume_that_never_starves_is_left_alone_and_that_is_proven() -> None:
    found = oracle(bursts(20, base=2_000), STARTS["gp3"], Conditions())
    assert found.schedule == ()
    assert found.exact


def test_an_unneeded_io1_volume_is_changed_in_the_first_minute() -> None:
    found = oracle(bursts(48, base=500), STARTS["io1"], Conditions())
    assert found.schedule == ((0, gp3(3_000)),)
    assert found.exact


def test_a_burst_shorter_than_a_flight_is_paid_for_exactly_one_flight() -> None:
    found = oracle(bursts(24, (10, 60, 6_000)), STARTS["gp3"], Conditions())
    (first, up), (second, down) = found.schedule
    assert (up, down, second - first) == (gp3(6_000), gp3(3_000), 120)
    assert 530 <= first <= 590, "in effect from before the burst until after it"
    assert found.score == pytest.approx(32 * 1_440 / 43_800 + 15 * 120 / 43_800)
    assert found.exact


def test_what_is_lowered_serves_ten_minutes_more_for_nothing() -> None:
    found = oracle(bursts(24, (10, 240, 6_000)), STARTS["gp3"], Conditions())
    assert found.schedule == ((590, gp3(6_000)), (830, gp3(3_000)))
    assert not found.run.starved.any()


def test_a_fourth_burst_in_a_day_finds_no_slot() -> None:
    load_series = bursts(24, *((hour, 30, 6_000) for hour in (2, 8, 14, 20)))
    found = oracle(load_series, STARTS["gp3"], Conditions(preset="performance"))
    starts = [minute for minute, _ in found.schedule]
    assert all(b - a >= 1_440 for a, b in zip(starts, starts[3:], strict=False))
    assert not found.run.starved.any()
    paid = 1_440 * 32 + 15 * (750 + 250)
    assert found.score == pytest.approx(paid / 43_800)


def test_minutes_that_nothing_could_save_cost_nothing() -> None:
    found = oracle(bursts(24, (10, 1, 400_000)), STARTS["gp3"], Conditions(preset="thrift"))
    unavoidable = pain_if_static(
        spike := bursts(24, (10, 1, 400_000)), gp3(16_000, 1_000)
    ).shortfall
    assert unavoidable.max() == 1
    run = scored(spike, STARTS["gp3"], found.schedule, Conditions(preset="thrift"))
    counted = np.maximum(0.0, run.shortfall - unavoidable).sum()
    assert found.score == pytest.approx(run.storage_usd + 0.01 * counted)


def test_the_result_for_a_start_does_not_depend_on_earlier_starts() -> None:
    load_series = bursts(30, (3, 60, 6_000), (12, 30, 9_000), (20, 60, 5_000))
    foresight = Foresight(load_series)
    first = foresight.oracle(STARTS["gp3"], Conditions())
    foresight.oracle(STARTS["gp2"], Conditions(preset="thrift"))
    again = foresight.oracle(STARTS["gp3"], Conditions())
    assert again.score <= first.score * 1.01
    assert again.bound <= again.score
    assert max(first.bound, again.bound) <= min(first.score, again.score)


def test_with_drawn_delays_it_is_in_time_for_a_burst_that_it_knows() -> None:
    conditions = Conditions(delays=DRAWN_DELAYS)
    found = oracle(bursts(30, (10, 60, 6_000), (20, 60, 6_000)), STARTS["gp3"], conditions)
    assert not found.run.starved.any()
    assert [target.iops for _, target in found.schedule][-1] == 3_000
    assert found.bound <= found.score
    assert (found.run.held, found.run.aws_refusals) == (0, 0)
