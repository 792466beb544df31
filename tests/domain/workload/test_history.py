"""Load by the period, and the levels of demand that are worth weighing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.state import ProfileHour
from headroom.domain.workload import demand_levels
from headroom.domain.workload.history import load_rates, measured_periods
from headroom.domain.workload.short_minutes import REACTION_MIN
from tests.builders import NOW, observation, series
from tests.domain.earlier import CALM_HOUR, by_hour, history, hour_at, nightly, past_of, past_seen


def usd(iops: float, mibps: float) -> float:
    return 0.005 * iops + 0.04 * mibps


def test_without_a_history_nothing_is_known() -> None:
    found = past_seen(observation())
    assert (found.known, found.days, found.busy, found.most_iops) == (0, 0.0, {}, 0.0)


def test_load_that_ran_free_is_what_was_wanted() -> None:
    found = past_of(history(nightly, days=3))
    assert found.days == pytest.approx(3)
    assert len(found.busy) == 3
    assert found.most_iops == pytest.approx(9_000, rel=0.01)
    assert {(hour.touched_minutes, hour.limit_iops) for hour in found.busy.values()} == {(0, 0.0)}


def test_hours_below_what_every_volume_has_are_not_busy() -> None:
    assert past_of(history(lambda _: 2_900.0, days=1)).busy == {}


def test_hours_that_were_not_measured_are_neither_known_nor_busy_nor_idle() -> None:
    yesterday = NOW - timedelta(days=1)
    half = past_of(history(lambda at: None if at < yesterday else 9_000.0, days=4))
    assert half.days == pytest.approx(1)
    assert len(half.busy) == 24
    metrics = history(lambda at: None if at < yesterday else 9_000.0, days=4)
    assert measured_periods(metrics, database=False) == (False,) * 3 * 288 + (True,) * 288


@pytest.mark.parametrize(
    ("database", "nitro", "measured"),
    [(False, False, True), (False, True, False), (True, False, False)],
)
def test_half_a_period_is_measured_only_where_a_direction_at_rest_is_not_published(
    database: bool, nitro: bool, measured: bool
) -> None:
    metrics = history(lambda _: 9_000.0, days=2)
    silent = series([None] * len(metrics.read_iops.values), period_s=300)
    metrics = replace(metrics, write_iops=silent, write_mibps=silent)
    if not nitro:
        metrics = replace(metrics, iops_exceeded=silent, throughput_exceeded=silent)
    assert set(measured_periods(metrics, database=database)) == {measured}


def test_days_on_a_xen_instance_stay_measured_after_a_move_to_nitro() -> None:
    metrics = history(lambda _: 9_000.0, days=2)
    before = [None] * 288
    moved = {
        name: replace(
            getattr(metrics, name), values=(*before, *getattr(metrics, name).values[288:])
        )
        for name in ("read_iops", "iops_exceeded", "throughput_exceeded")
    }
    assert all(measured_periods(replace(metrics, **moved), database=False))


@pytest.mark.parametrize(
    ("io_kib", "iops", "mibps"), [(16, 100, 1.5625), (256, 100, 25), (4_096, 1_600, 400)]
)
def test_large_operations_count_for_as_many_as_an_ssd_volume_makes_of_them(
    io_kib: float, iops: float, mibps: float
) -> None:
    found = load_rates(history(lambda _: 100.0, days=1 / 24, io_kib=io_kib))
    assert found == ([pytest.approx(iops)] * 12, [pytest.approx(mibps)] * 12)


@settings(max_examples=40, deadline=None)
@given(
    hours=st.lists(
        st.sampled_from([300.0, 2_900.0, 4_000.0, 7_000.0, 11_000.0]), min_size=24, max_size=24
    )
)
def test_the_levels_go_from_nothing_to_more_than_was_ever_seen(hours: list[float]) -> None:
    found = past_of(history(lambda i: hours[i.hour], days=2))
    levels = demand_levels(found, usd)
    assert levels[0] == (0.0, 0.0)
    assert any(i > found.most_iops and m > found.most_mibps for i, m in levels)
    assert (found.most_iops, found.most_mibps) in levels
    busy = found.busy.values()
    enough = [sum(h.peak_iops <= i and h.peak_mibps <= m for h in busy) for i, m in levels]
    assert max(enough) == len(found.busy)
    assert len(levels) == len(set(levels))


def test_a_limit_that_was_touched_is_a_level_of_its_own() -> None:
    """Bursts at 6,000 in hours of no more than 1,200."""
    touched = hour_at(1_200)._replace(touched_minutes=5, limit_iops=6_000.0)
    levels = demand_levels(by_hour([hour_at(300)] * 30 + [touched]), usd)
    assert {iops for iops, _ in levels} >= {6_000.0, 7_500.0, 12_000.0}


def test_a_level_that_is_enough_for_most_hours_stands_beside_the_one_for_all() -> None:
    past = by_hour([hour_at(4_000)] * 90 + [hour_at(9_000)] * 9 + [hour_at(15_000)])
    assert {iops for iops, _ in demand_levels(past, usd)} >= {4_000.0, 9_000.0, 15_000.0}


def raised(minutes: int, *, at: float = 3_000.0) -> ProfileHour:
    """An hour that was at a limit for so many minutes, until a raise."""
    return hour_at(9_000)._replace(touched_minutes=minutes, limit_iops=at)


HELD = hour_at(3_000)._replace(touched_minutes=20, limit_iops=3_000.0)


@pytest.mark.parametrize(
    ("hours", "minutes"),
    [
        ([], REACTION_MIN),
        ([hour_at(9_000)], REACTION_MIN),
        ([raised(5)], REACTION_MIN),
        ([raised(25)], 25),
        ([raised(25), CALM_HOUR, raised(35), CALM_HOUR, raised(50)], 35),
        ([HELD], REACTION_MIN),  # no raise is seen
        ([HELD, raised(15)], REACTION_MIN),  # it may be the second that is seen
        ([HELD, raised(55)], REACTION_MIN),
    ],
)
def test_how_long_a_raise_takes_is_read_from_the_hours_that_show_one(
    hours: list[ProfileHour], minutes: float
) -> None:
    assert by_hour(hours).reaction_min == minutes
