"""Minutes of shortfall of an hour of the past, had a configuration served it."""

from __future__ import annotations

from math import inf, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import ProfileHour
from headroom.domain.workload import (
    Demand,
    Estimate,
    Level,
    LoadShape,
    backlog_minutes,
    short_minutes,
)
from headroom.domain.workload.short_minutes import (
    REACTION_MIN,
    Belief,
    late_minutes,
    minutes_to_react,
    waits_for_a_raise,
)
from tests.domain.earlier import CALM_HOUR, by_hour, hour_at

PLENTY = 1e7
RATES = st.floats(100, 20_000)
BELIEFS = st.builds(Belief, st.floats(0, 1), st.floats(0, 1))
NONE = Belief(0.0, 0.0)


@st.composite
def hours(draw: st.DrawFn) -> ProfileHour:
    """Any hour a digest may hold: its mean lies between what its busy minutes carry and its peak."""
    peak, busy = draw(RATES), draw(st.integers(1, 60))
    least = 0.7 * peak * busy / 60
    mean = draw(st.floats(least, peak))
    touched = draw(st.integers(0, 60))
    by_iops = draw(st.booleans())
    limit = draw(st.floats(0.8, 1.2)) * peak
    return ProfileHour(
        peak, peak / 64, mean, mean / 64, busy, touched,
        limit if touched and by_iops else 0.0, limit / 64 if touched and not by_iops else 0.0,
    )  # fmt: skip


@given(hours(), RATES, RATES, BELIEFS)
def test_an_hour_has_sixty_minutes(
    hour: ProfileHour, iops: float, mibps: float, belief: Belief
) -> None:
    assert 0.0 <= short_minutes(hour, iops, mibps, belief=belief) <= 60.0


@given(hours(), st.tuples(RATES, RATES), BELIEFS)
def test_more_iops_are_never_short_of_more(
    hour: ProfileHour, rates: tuple[float, float], belief: Belief
) -> None:
    low, high = sorted(rates)
    less = short_minutes(hour, low, PLENTY, belief=belief)
    assert short_minutes(hour, high, PLENTY, belief=belief) <= less + 1e-9


@given(hours(), st.tuples(RATES, RATES), BELIEFS)
def test_more_throughput_is_never_short_of_more(
    hour: ProfileHour, rates: tuple[float, float], belief: Belief
) -> None:
    low, high = (rate / 64 for rate in sorted(rates))
    less = short_minutes(hour, PLENTY, low, belief=belief)
    assert short_minutes(hour, PLENTY, high, belief=belief) <= less + 1e-9


@given(st.floats(1, 20_000), st.integers(1, 60), st.floats(0, 1))
def test_above_all_that_was_wanted_nothing_is_short(peak: float, busy: int, share: float) -> None:
    hour = hour_at(peak, busy_minutes=busy, mean=share * peak)
    assert short_minutes(hour, peak, PLENTY) == 0.0
    assert short_minutes(hour, PLENTY, peak / 64) == 0.0


@pytest.mark.parametrize(
    ("busy", "mean", "iops", "least", "most"),
    [
        (60, 9_000, 3_000, 58, 60),  # three times as much as is served: soon all of it is late
        (60, 9_000, 8_900, 0.1, 40),  # hardly more: the backlog grows slowly
        (60, 9_000, 9_000, 0, 0),
        (10, 1_500, 9_000, 0, 0),
        (10, 1_500, 3_000, 15, 30),  # ten minutes, and as long again to serve what waits
        (10, 1_500, 8_500, 0.01, 3),
        (1, 150, 3_000, 0.5, 6),
    ],
)
def test_shortfall_is_what_is_late_in_each_minute(
    busy: int, mean: float, iops: float, least: float, most: float
) -> None:
    hour = hour_at(9_000, busy_minutes=busy, mean=mean)
    assert least <= short_minutes(hour, iops, PLENTY) <= most


def test_a_backlog_is_served_the_sooner_the_less_else_there_is() -> None:
    quiet, busy = (hour_at(9_000, busy_minutes=10, mean=mean) for mean in (1_400, 3_000))
    assert short_minutes(quiet, 4_000, PLENTY) < short_minutes(busy, 4_000, PLENTY)


# --- a limit that was touched


TOUCHED = hour_at(3_000, mean=1_000, busy_minutes=10)._replace(touched_minutes=12, limit_iops=3_000)


@pytest.mark.parametrize("iops", [1_000, 2_999, 3_000])
def test_at_or_below_a_limit_that_was_touched_its_minutes_are_fact(iops: float) -> None:
    assert short_minutes(TOUCHED, iops, PLENTY, belief=NONE) >= 12


def test_above_it_demand_has_a_tail_that_is_believed_in_the_less_the_longer_it_ran_free() -> None:
    found = [short_minutes(TOUCHED, iops, PLENTY) for iops in (3_000, 4_500, 6_000, 12_000)]
    assert found == sorted(found, reverse=True)
    assert found[2] == pytest.approx(12 / 2**1.2)
    assert short_minutes(TOUCHED, 6_000, PLENTY, belief=Belief(0.25, 0.25)) == pytest.approx(
        3 / 2**1.2
    )
    assert short_minutes(TOUCHED, 6_000, PLENTY, belief=NONE) == 0.0


def test_bursts_far_above_the_mean_of_a_minute_are_late_for_a_part_of_it() -> None:
    """They touched 3,000 in hours of which no five minutes had more than 1,200."""
    inside = TOUCHED._replace(peak_iops=1_200.0, peak_mibps=20.0)
    assert 0 < short_minutes(inside, 3_000, PLENTY) < short_minutes(TOUCHED, 3_000, PLENTY) / 2


def test_of_a_burst_that_a_higher_limit_serves_sooner_less_is_late() -> None:
    inside = TOUCHED._replace(peak_iops=1_200.0, peak_mibps=20.0)
    found = [short_minutes(inside, iops, PLENTY) for iops in (2_000, 3_000, 4_500, 6_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1]  # what touched a limit is short of any lower one
    assert found[3] < found[1] / 10


def test_a_limit_that_the_same_hour_was_served_above_proves_nothing_of_it() -> None:
    raised = TOUCHED._replace(peak_iops=9_000.0)
    assert short_minutes(raised, 9_000, PLENTY) == 0.0


def test_throughput_that_was_touched_says_nothing_of_iops() -> None:
    hour = TOUCHED._replace(peak_iops=1_000.0, peak_mibps=125.0, limit_iops=0.0, limit_mibps=125.0)
    assert short_minutes(hour, 3_000, 1_000, belief=NONE) == 0.0
    assert short_minutes(hour, PLENTY, 125, belief=NONE) == 12


def test_more_of_a_load_needs_iops_and_throughput_in_the_same_proportion() -> None:
    """24 operations a MiB: 12,000 IOPS with 125 MiB/s serve no more than 3,000 do."""
    hour = TOUCHED._replace(peak_iops=3_000.0, peak_mibps=125.0, limit_iops=3_000.0)
    assert short_minutes(hour, 12_000, 125) == short_minutes(hour, 3_000, 125) == 12
    assert short_minutes(hour, 12_000, 250) == short_minutes(hour, 6_000, 1_000) < 12
    assert short_minutes(hour, 12_000, 500) < short_minutes(hour, 12_000, 250)


@pytest.mark.parametrize(
    ("lasting", "least", "most"),
    [
        (1, 18, 19),  # a hundredth is late by the end of each minute, and of the next one more
        (8, 53, 54),  # full after 100 minutes; what is late then is late for seven hours
        (24, 57, 59),
    ],
)
def test_what_is_a_hundredth_too_much_for_hours_in_a_row_is_short_in_most_of_them(
    lasting: int, least: float, most: float
) -> None:
    level = 9_000 / 1.01
    assert least <= short_minutes(hour_at(9_000), level, PLENTY, lasting=lasting) <= most


def test_hours_in_a_row_are_counted_by_the_episodes_in_which_they_were_busy() -> None:
    day = [*[CALM_HOUR] * 9, *[hour_at(9_000)] * 8, *[CALM_HOUR] * 7]
    past = by_hour([*day, *[CALM_HOUR] * 4, hour_at(9_000), *[CALM_HOUR] * 4, hour_at(5_000)])
    assert past.numbered[0] == (hour_at(9_000), hour_at(5_000))
    assert past.lasting == pytest.approx((65 / 9, 1.0))


@pytest.mark.parametrize(
    ("mean", "touched", "waits"),
    [(9_000, 60, 10.7), (7_600, 60, 10.7), (7_600, 0, 0.0), (4_000, 20, 0.0), (2_000, 60, 10.7)],
)
def test_a_load_at_a_limit_leaves_no_room_to_drain_what_waited_for_the_raise(
    mean: float, touched: int, waits: float
) -> None:
    """The first hour of a load that was raised for late has a mean below the limit that it touched then."""
    hour = ProfileHour(9_000.0, 70.0, mean, 60.0, 45, touched, 9_000.0 if touched else 0.0, 0.0)
    found = waits_for_a_raise(hour, (3_000.0, 125.0), (9_000.0, 500.0), 16.0)
    assert found == pytest.approx(waits, abs=0.1)


@pytest.mark.parametrize("iops", [3_100.0, 3_400.0, 3_500.0])
def test_a_reaction_to_a_small_overload_costs_what_waits_in_it(iops: float) -> None:
    """An hour that is as busy throughout is above its limit throughout."""
    steady = ProfileHour(iops, 1.0, iops, 1.0, 60, 0, 0.0, 0.0)
    excess = iops / 3_000 - 1
    found = minutes_to_react(steady, 3_000.0, 1e6, (12_000.0, 4e6))
    assert late_minutes(REACTION_MIN, excess) <= found < REACTION_MIN + 1


@pytest.mark.parametrize("now", [3_000.1, nextafter(3_000.1, inf)])
def test_what_waits_is_known_also_for_levels_that_differ_by_a_rounding(now: float) -> None:
    """One that serves hardly more than now leaves all of it waiting, and fails nobody."""
    demand = waiting(3_500.0)
    levels = [Level(iops, 1_000.0, 0.1) for iops in (now, nextafter(now, inf), 12_000.0)]
    drained = backlog_minutes(demand, (now, 1_000.0), levels, (1.0, 0.9, 0.1), 30.0)
    assert drained[0] == pytest.approx(drained[1], rel=0.2)
    assert drained[2] < drained[1]


@given(RATES, RATES, st.lists(st.tuples(RATES, st.floats(0, 1)), min_size=1), st.floats(0, 1_440))
def test_what_waits_takes_some_time_to_drain_at_any_level(
    likely: float, now: float, others: list[tuple[float, float]], lasts: float
) -> None:
    demand = waiting(likely)
    ranked = [(now, 1.0), *others]
    levels = [Level(iops, PLENTY, 0.1) for iops, _ in ranked]
    late = [share for _, share in ranked]
    drained = backlog_minutes(demand, (now, PLENTY), levels, late, lasts)
    assert all(0.0 <= minutes < inf for minutes in drained)


def waiting(likely: float) -> Demand:
    """A load of which operations wait."""
    return Demand(
        iops=estimate(likely), mibps=estimate(likely / 64), shape=LoadShape.CENSORED, tail=1.2,
        confidence=1.0, known_minutes=30, pressed_minutes=10, expected_starved_minutes=60.0,
        credits=None, peak_iops=likely, peak_mibps=likely / 64, clear_minutes=0, backlog_ops=60_000.0,
    )  # fmt: skip


def estimate(likely: float) -> Estimate:
    return Estimate(floor=likely, likely=likely, upper=4 * likely, censored=True)
