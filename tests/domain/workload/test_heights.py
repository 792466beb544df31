"""How often due load is higher than the latest before it, and what a level above these then falls short of."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import ProfileHour
from headroom.domain.workload import HOURS, Level, Past, PresentLoad, demand_forecast
from headroom.domain.workload.rhythms.heights import NewHeights, at_a_time_of_day, new_heights
from tests.domain.earlier import CALM_HOUR, MONDAY, by_hour, hour_at

NINE = MONDAY + timedelta(days=8, hours=9)


def of(*loads: float) -> NewHeights | None:
    return new_heights({place * HOURS: (load, False) for place, load in enumerate(loads)})


@pytest.mark.parametrize(
    "loads",
    [
        (8, 8, 8, 8, 8, 8, 8, 8),
        (8, 9, 10),  # too few to say it
        (0, 0, 0, 0, 0),
        (7, 8, 7, 8, 7, 8, 7, 8),  # two heights that take turns
        (8, 8, 8, 16, 8, 8, 8, 8),  # another kind of load, which came once
        (2, 2.2, 2, 2.2, 2, 9, 9, 9, 9, 9),  # what was lower is another kind too
    ],
)
def test_loads_as_high_as_before_stay_so(loads: tuple[float, ...]) -> None:
    assert of(*loads) is None


@pytest.mark.parametrize(
    ("loads", "chance", "times"),
    [
        ((5.6, 5.9, 6.2, 6.5, 6.8, 7.1, 7.4, 7.7), 5 / 12, 1.04),  # grows each time
        ((8, 8, 8, 8, 8, 8, 8, 11, 8, 8, 8), 2 / 14, 1.27),  # once higher by more than a third
        ((7, 8.4, 7.6, 8.2, 7.1, 8.0, 7.3, 8.1), 1 / 12, 1.02),  # in any order, none was new
        ((*[7, 8.4, 7.6, 8.2, 7.1, 8.0, 7.3] * 8, 7, 8.4), 1 / 36, 1.025),  # nor in eight weeks
        ((5, 9, 6, 8, 5.5, 7, 6.5, 9.5), 2 / 12, 1.07),  # from just above half the highest on
    ],
)
def test_the_latest_loads_say_how_likely_a_higher_one_is(
    loads: tuple[float, ...], chance: float, times: float
) -> None:
    found = of(*loads)
    assert found
    assert found.chance == pytest.approx(chance, abs=0.01)
    assert exp(found.by) == pytest.approx(times, abs=0.01)


def test_a_load_after_one_that_a_limit_cut_is_not_known_to_be_higher() -> None:
    cut = [(6.0, True)] * 4 + [(8.0, False)] * 4
    assert new_heights(dict(enumerate(cut))) is None
    assert new_heights({place: (load, False) for place, (load, _) in enumerate(cut)})


def test_loads_at_two_times_of_the_day_are_not_compared_with_each_other() -> None:
    night = dict.fromkeys((2, 26, 51, 73, 98), (9.0, False))  # give or take an hour
    afternoon = dict.fromkeys((14, 38, 62, 86, 110), (7.5, False))
    found = at_a_time_of_day(dict(sorted((night | afternoon).items())))
    assert found == [night, afternoon]


@given(st.lists(st.floats(min_value=0.1, max_value=50), max_size=30), st.floats(1, 8))
def test_more_is_never_likelier(loads: list[float], times: float) -> None:
    if found := of(*loads):
        assert 0 < found.chance < 1
        assert found.by > 0
        assert found.chance_above(times * 1.1) <= found.chance_above(times) <= found.chance


# --- in the forecast


def days(*iops: float, busy: range = range(9, 17)) -> Past:
    """One load a day, each so high, and the hours of today until nine."""

    def one(load: float) -> list[ProfileHour | None]:
        return [hour_at(load) if hour in busy else CALM_HOUR for hour in range(HOURS)]

    return by_hour([*[hour for load in iops for hour in one(load)], *[CALM_HOUR] * 9])


def short(past: Past, *levels: float) -> tuple[list[float], list[float]]:
    """Minutes of shortfall from nine to ten, by level: where no raise can follow, and where one can."""
    found = demand_forecast(
        past,
        [Level(iops=iops, mibps=1e6, usd_per_hour=0.01) for iops in levels],
        NINE,
        PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,) * len(levels)),
    )
    return list(found.locked_minutes[0]), list(found.reacting_minutes[0])


WANDERS = (7_000, 7_700, 7_100, 8_200, 8_900, 8_100, 8_600, 7_800)


def test_a_load_that_wanders_may_exceed_a_level_that_served_all_of_it() -> None:
    (late,), (early,) = short(days(*WANDERS), 9_000)
    assert late > 2, "a raise that is in flight when it comes is too late"
    assert early < late / 2
    (steady,), _ = short(days(*[8_900] * 8), 9_000)
    assert steady < 0.5


def test_the_higher_a_level_is_above_it_the_less_it_falls_short() -> None:
    for found in short(days(*WANDERS), 8_000, 9_000, 9_500, 10_500, 13_000):
        assert all(less > more for less, more in pairwise(found))
    (far,), _ = short(days(*WANDERS), 13_000)
    assert far < 0.5


def test_what_is_said_to_be_relieved_is_load_that_was_measured() -> None:
    level = Level(iops=9_000, mibps=1e6, usd_per_hour=0.01)
    nothing = PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,))
    assert demand_forecast(days(*WANDERS), [level], NINE, nothing).seen_minutes == (0.0,)


def test_a_short_load_is_over_before_a_raise_could_help() -> None:
    quarters = [hour_at(load, busy_minutes=15, mean=load / 4) for load in WANDERS]
    past = by_hour(
        [
            *[one if hour == 9 else CALM_HOUR for one in quarters for hour in range(HOURS)],
            *[CALM_HOUR] * 9,
        ]
    )
    (late,), (early,) = short(past, 9_000)
    assert late == pytest.approx(early, abs=0.05)


def test_a_raise_to_a_ceiling_leaves_what_is_above_it_late() -> None:
    """No earlier raise serves more of it: none follows from there."""
    past = days(*WANDERS)
    level = Level(
        iops=9_000, mibps=1e6, usd_per_hour=0.01, reach=(9_000, 1e6), ceiling=(9_000, 1e6)
    )
    found = demand_forecast(
        past, [level], NINE, PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,))
    )
    assert found.reacting_minutes[0] == pytest.approx(found.locked_minutes[0], abs=0.1)


@pytest.mark.parametrize(
    "nothing", [{"peak_mibps": 0.0, "mean_mibps": 0.0}, {"peak_iops": 0.0, "mean_iops": 0.0}]
)
def test_what_was_not_measured_of_a_load_is_no_reason_to_fail(nothing: dict[str, float]) -> None:
    """Operations without bytes, or bytes without operations; and one hour that touched a limit unmeasured."""
    each = [hour_at(load)._replace(**nothing) for load in (0.0, *WANDERS[1:])]
    each[0] = each[0]._replace(touched_minutes=5)
    hours = [one if hour in range(9, 17) else CALM_HOUR for one in each for hour in range(HOURS)]
    past = by_hour([*hours, *[CALM_HOUR] * 9])
    (late,), (early,) = short(past, 9_000)
    assert 0 <= early <= late <= 60
