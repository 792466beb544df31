"""When load comes again: each rhythm is believed from its third time on, and given up when it stops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import log
from random import Random
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.state import HOUR, ProfileHour
from headroom.domain.workload import HOURS, Level, PresentLoad, demand_forecast
from headroom.domain.workload.rhythms import Height, Rhythm, rhythms
from headroom.domain.workload.rhythms.hypotheses import hypotheses
from tests.domain.earlier import CALM_HOUR, MONDAY, by_hour, hour_at

On = Callable[[datetime], bool]
YEAR = 400 * 24
LEVEL = Level(iops=3_000.0, mibps=1e6, usd_per_hour=0.01)
ONE_HEIGHT = Height(2, at_least=False)
NONE_NOW = PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,))


def days_since(at: datetime, start: datetime = MONDAY) -> int:
    return (at - start) // timedelta(days=1)


def last_of_month(at: datetime) -> bool:
    return (at + timedelta(days=1)).day == 1


def working_days(at: datetime) -> int:
    """How many working days of its month have begun by then; 0 on others."""
    days = [at - timedelta(days=before) for before in range(at.day)]
    return sum(day.weekday() < 5 for day in days) if at.weekday() < 5 else 0


def later_working_days(at: datetime) -> int:
    days = [at + timedelta(days=after) for after in range(1, 31)]
    return sum(day.weekday() < 5 for day in days if day.month == at.month)


RHYTHMS: dict[str, On] = {
    "daily": lambda at: at.hour == 2,
    "on working days": lambda at: at.hour == 9 and at.weekday() < 5,
    "weekly": lambda at: at.hour == 2 and at.weekday() == 6,
    "on a day of the month": lambda at: at.hour == 2 and at.day == 15,
    "before the end of the month": lambda at: at.hour == 22 and last_of_month(at),
    "on a weekday of the month": lambda at: at.hour == 2 and at.weekday() == 0 and at.day <= 7,
    "on the last such weekday of the month": lambda at: (
        at.hour == 20 and at.weekday() == 4 and (at + timedelta(days=7)).month != at.month
    ),
    "on a working day of the month": lambda at: at.hour == 5 and working_days(at) == 3,
    "on a working day before the end of the month": lambda at: (
        at.hour == 18 and at.weekday() < 5 and not later_working_days(at)
    ),
    "every 10 days": lambda at: at.hour == 3 and days_since(at) % 10 == 4,
    "every 5 hours": lambda at: (at - MONDAY) // HOUR % 5 == 2,
}


def hours_of(on: On, start: datetime = MONDAY) -> list[int]:
    """The hours from `start` on in which the load comes."""
    return [place for place in range(YEAR) if on(start + place * HOUR)]


def chances(busy: Sequence[bool], start: datetime = MONDAY) -> list[float]:
    """The probability of load in each of the hours that follow, what was never seen left aside."""
    past = by_hour([hour_at(9_000) if one else CALM_HOUR for one in busy], start)
    found = demand_forecast(past, [LEVEL], past.profile.end, NONE_NOW)
    minutes = [row[0] for row in found.locked_minutes]
    unseen = (sum(minutes) - found.seen_minutes[0]) / HOURS
    return [(one - unseen) / 60 for one in minutes]


def chance_at(on: On, place: int, *, start: datetime = MONDAY, stops_after: int = YEAR) -> float:
    """The probability that load comes at `place`, forecast in the hour before."""
    busy = [on(start + one * HOUR) and one <= stops_after for one in range(place)]
    return chances(busy, start)[0]


def onsets_of(busy: Sequence[bool]) -> list[int]:
    return [hour for hour, is_busy in enumerate(busy) if is_busy and not (hour and busy[hour - 1])]


def believed(on: On, count: int) -> tuple[Rhythm, ...]:
    busy = [on(MONDAY + place * HOUR) for place in range(count)]
    onsets = onsets_of(busy)
    return rhythms(MONDAY, onsets, [ONE_HEIGHT] * len(onsets), [True] * count)[0]


@pytest.mark.parametrize(("name", "on"), RHYTHMS.items(), ids=RHYTHMS)
def test_each_rhythm_is_believed_from_the_third_time_on(name: str, on: On) -> None:
    times = hours_of(on)
    first, third, sixth = (chance_at(on, times[count]) for count in (1, 3, 6))
    assert first < 0.5 < third < sixth
    assert sixth > 0.8
    likeliest = max(believed(on, times[8]), key=lambda rhythm: rhythm.weight)
    assert likeliest.hypothesis.name == name


@pytest.mark.parametrize(("name", "on"), RHYTHMS.items(), ids=RHYTHMS)
def test_no_load_is_expected_where_the_rhythm_says_none(name: str, on: On) -> None:
    next_time = hours_of(on)[6]
    busy = [on(MONDAY + place * HOUR) for place in range(next_time)]
    for ahead, chance in enumerate(chances(busy)):
        comes = on(MONDAY + (next_time + ahead) * HOUR)
        assert chance > 0.7 if comes else chance < 0.1


@pytest.mark.parametrize(("name", "on"), RHYTHMS.items(), ids=RHYTHMS)
def test_a_rhythm_that_stops_is_given_up_after_a_few_misses(name: str, on: On) -> None:
    times = hours_of(on)
    missed = [chance_at(on, times[4 + misses], stops_after=times[3]) for misses in (0, 1, 3, 6)]
    assert missed[0] > 0.7
    assert missed[1] < 0.9 * missed[0]
    assert missed[2] < 0.5
    assert missed[3] < 0.06


@pytest.mark.parametrize(("name", "on"), RHYTHMS.items(), ids=RHYTHMS)
def test_one_miss_is_no_end(name: str, on: On) -> None:
    times = hours_of(on)
    left_out = times[7]
    missed = chance_at(lambda at: on(at) and at != MONDAY + left_out * HOUR, times[9])
    assert missed > 0.5


SEVERAL: dict[str, On] = {
    "every 10 days": lambda at: at.hour == 2 and days_since(at) % 10 in (3, 4),
    "every 8 days": lambda at: at.hour == 6 and days_since(at) % 8 < 4,
    "every 14 days": lambda at: at.hour == 18 and days_since(at) % 14 in (4, 5),
    "every 3 days": lambda at: at.hour == (2, 10, 18)[days_since(at) % 3],
}
"""Load that comes several times in each turn."""


@pytest.mark.parametrize(("name", "on"), SEVERAL.items(), ids=SEVERAL)
def test_a_turn_in_which_load_comes_several_times_is_learned(name: str, on: On) -> None:
    """The gaps between one time and the next say nothing of it."""
    turn = int(name.split()[1])
    since = 4 * turn * 24
    assert max(believed(on, since), key=lambda one: one.weight).hypothesis.name == name
    hour = next(place for place in hours_of(on) if place >= since) % 24
    for place in range(since + hour, since + 24 * turn, 24):
        chance = chance_at(on, place)
        assert chance > 0.7 if on(MONDAY + place * HOUR) else chance < 0.3, place


def test_a_period_that_days_or_weeks_explain_is_none_of_its_own() -> None:
    for on in (RHYTHMS["daily"], RHYTHMS["on working days"], RHYTHMS["weekly"]):
        onsets = hours_of(on)[:40]
        names = [one.name for one in hypotheses(MONDAY, onsets, onsets[-1] + 1)]
        assert not [name for name in names if name.startswith("every")]


def test_nights_drawn_by_lot_seldom_have_a_period() -> None:
    """Of all days between two of them, some are the most frequent by chance."""
    draw = Random(3)
    found = 0
    for _ in range(50):
        onsets = [24 * day + 2 for day in range(50) if draw.random() < 0.5]
        names = [one.name for one in hypotheses(MONDAY, onsets, 50 * 24)]
        found += any(name.startswith("every") and name.endswith("days") for name in names)
    assert found < 12


@pytest.mark.parametrize(("share", "most"), [(0.4, 0.65), (0.5, 0.75)])
def test_load_that_comes_by_chance_is_expected_as_often_as_it_came(
    share: float, most: float
) -> None:
    """A streak of such nights is no rhythm: the log score of weeks, not of days."""
    scores = []
    for seed in range(4):
        chance = Random(seed)
        came = [chance.random() < share for _ in range(60)]

        def on(at: datetime, came: list[bool] = came) -> bool:
            return at.hour == 2 and came[(at - MONDAY).days]

        for night in range(40, 60):
            expected = min(0.99, max(0.01, chance_at(on, night * 24 + 2)))
            scores.append(log(expected if came[night] else 1 - expected))
    assert -fmean(scores) < most


@pytest.mark.parametrize("seed", range(3))
def test_load_by_chance_that_stays_away_for_longer_than_ever_has_ended(seed: int) -> None:
    """Twenty-eight turns fade slowly: a raise each night for ten nights after the last one."""
    chance = Random(seed)
    came = [chance.random() < 0.4 for _ in range(40)] + [False] * 40
    last = max(night for night, on in enumerate(came) if on)
    nights = [night for night, on in enumerate(came) if on]
    longest = max(after - before for before, after in pairwise(nights))

    def on(at: datetime) -> bool:
        return at.hour == 2 and came[(at - MONDAY).days]

    ended = last + longest + longest // 2 + 1
    assert chance_at(on, 24 * last + 26) > 0.2
    assert chance_at(on, 24 * ended + 26) < 0.1


CHANGES: dict[str, tuple[On, On, int]] = {
    "weekly, then daily": (
        lambda at: at.hour == 2 and at.weekday() == 2,
        lambda at: at.hour == 2,
        6,
    ),
    "daily, then weekly": (
        lambda at: at.hour == 2,
        lambda at: at.hour == 2 and at.weekday() == 2,
        4,
    ),
    "from day to night": (lambda at: at.hour == 14, lambda at: at.hour == 2, 4),
}
"""From when on it comes at other times, and how often it must have come then to be expected."""


@pytest.mark.parametrize(("on", "then", "turns"), CHANGES.values(), ids=CHANGES)
def test_a_rhythm_that_changes_after_months_is_followed_within_turns(
    on: On, then: On, turns: int
) -> None:
    changed = MONDAY + timedelta(days=84)

    def both(at: datetime) -> bool:
        return on(at) if at < changed else then(at)

    times = [place for place in hours_of(then) if MONDAY + place * HOUR >= changed]
    assert chance_at(both, times[turns]) > 0.5
    week = range(times[turns + 1], times[turns + 1] + 7 * 24, 5)
    wrong = [chance_at(both, place) for place in week if not both(MONDAY + place * HOUR)]
    assert max(wrong) < 0.5


HIGHER: dict[str, On] = {
    "Sundays": lambda at: at.weekday() == 6,
    "the first of the month": lambda at: at.day == 1,
}


@pytest.mark.parametrize("on", HIGHER.values(), ids=HIGHER)
@pytest.mark.parametrize("limit", [0.0, 8_000.0], ids=["as it is", "at a limit"])
def test_a_higher_load_on_some_nights_is_not_taken_for_that_of_every_night(
    on: On, limit: float
) -> None:
    """A level of 6,000 IOPS serves all other nights."""
    level = Level(iops=6_000.0, mibps=1e6, usd_per_hour=0.01)
    high = hour_at(limit or 12_000)._replace(limit_iops=limit, touched_minutes=60 if limit else 0)

    def hour(at: datetime) -> ProfileHour:
        if at.hour not in (2, 3):
            return CALM_HOUR
        return high if on(at) else hour_at(3_500)

    def chance_of_more(place: int) -> float:
        past = by_hour([hour(MONDAY + one * HOUR) for one in range(place)])
        found = demand_forecast(past, [level], past.profile.end, NONE_NOW)
        return found.locked_minutes[0][0] / 60

    times = hours_of(lambda at: on(at) and at.hour == 2)
    third, seventh = chance_of_more(times[3]), chance_of_more(times[7])
    assert 0.25 < third < seventh
    assert seventh > 0.6
    assert chance_of_more(times[7] - 24) < 0.1
    assert chance_of_more(times[7] + 24) < 0.2


def test_a_load_of_no_rhythm_is_expected_at_any_hour_as_often_as_it_came() -> None:
    """About once in two days, at hours that no rhythm has."""
    places = {37 * n + (n * n * 29) % 31 for n in range(1, 40)}
    found = chances([place in places for place in range(37 * 40)])
    assert max(found) < 0.2
    assert 0.2 < sum(found) < 2.0


def test_only_the_onsets_of_load_show_a_rhythm() -> None:
    """Six hours every night are one time a night, forecast as one."""
    found = chances([MONDAY.hour <= place % 24 < 6 for place in range(10 * 24)])
    assert min(found[:6]) > 0.7
    assert max(found[7:]) < 0.1


def test_what_was_not_measured_is_neither_a_time_nor_a_miss() -> None:
    """Every night at two for ten days, of which the last three were not measured."""
    on = RHYTHMS["daily"]

    def chance(of_the_rest: Callable[[int], bool | None]) -> float:
        hours = [on(MONDAY + p * HOUR) if p < 7 * 24 else of_the_rest(p) for p in range(242)]
        past = by_hour([None if h is None else hour_at(9_000) if h else CALM_HOUR for h in hours])
        row = demand_forecast(past, [LEVEL], past.profile.end, NONE_NOW).locked_minutes[0]
        return row[0] / 60

    known, gap, quiet = (
        chance(lambda p: p % 24 == 2),
        chance(lambda _: None),
        chance(lambda _: False),
    )
    assert quiet < 0.5 < gap
    assert gap == pytest.approx(known, abs=0.2)


# --- the calendar


@pytest.mark.parametrize(
    ("start", "on", "comes", "comes_not"),
    [
        # The 31st is not in every month: its months are compared with each other.
        ((2026, 1), lambda at: at.day == 31, (2026, 8, 31), (2026, 6, 30)),
        ((2026, 1), lambda at: at.day == 30, (2026, 5, 30), (2026, 5, 31)),
        ((2025, 10), lambda at: at.day == 30, (2026, 3, 30), (2026, 2, 28)),
        # The last day, whatever its number: also of February, of a leap year or not.
        ((2025, 10), last_of_month, (2026, 2, 28), (2026, 2, 27)),
        ((2027, 10), last_of_month, (2028, 2, 29), (2028, 2, 28)),
        ((2025, 11), last_of_month, (2026, 3, 31), (2026, 3, 28)),
        # Three days before the end is the 28th, 27th or 25th.
        ((2025, 10), lambda at: last_of_month(at + timedelta(days=3)), (2026, 2, 25), (2026, 2, 28)),
        # Over the turn of the year.
        ((2025, 10), lambda at: at.day == 1, (2026, 1, 1), (2025, 12, 31)),
        ((2025, 9), last_of_month, (2025, 12, 31), (2025, 12, 30)),
        ((2025, 9), lambda at: at.day == 15, (2026, 1, 15), (2026, 1, 16)),
    ],
)  # fmt: skip
def test_months_have_their_own_lengths(
    start: tuple[int, int], on: On, comes: tuple[int, int, int], comes_not: tuple[int, int, int]
) -> None:
    begin = datetime(*start, 1, tzinfo=UTC)

    def nights(at: datetime) -> bool:
        return at.hour == 1 and on(at)

    def chance(day: tuple[int, int, int]) -> float:
        place = (datetime(*day, 1, tzinfo=UTC) - begin) // HOUR
        return chance_at(nights, place, start=begin)

    assert chance(comes) > 0.6
    assert chance(comes_not) < 0.1


@settings(max_examples=25, deadline=None)
@given(
    begin=st.integers(0, 6 * 366 * 24).map(lambda hour: datetime(2023, 1, 1, tzinfo=UTC) + hour * HOUR),
    places=st.lists(st.integers(0, 60 * 24 - 1), max_size=30),
    unmeasured=st.sets(st.integers(0, 60 * 24 - 1), max_size=200),
)  # fmt: skip
def test_beliefs_sum_to_one_and_only_hours_that_were_measured_before_count(
    begin: datetime, places: list[int], unmeasured: set[int]
) -> None:
    measured = [place not in unmeasured for place in range(60 * 24)]
    busy = [place in places and measured[place] for place in range(60 * 24)]
    onsets = onsets_of(busy)
    heights = [Height(place % 9, at_least=place % 5 == 0) for place in onsets]
    found, anyhow = rhythms(begin, onsets, heights, measured)
    assert 0 <= anyhow <= 1
    assert sum(rhythm.weight for rhythm in found) + anyhow == pytest.approx(1)
    for rhythm in found:
        likes = list(rhythm.hypothesis.like(60 * 24))
        assert likes == sorted(likes, reverse=True)
        assert all(0 <= like < 60 * 24 for like in likes)


MONTH_ENDS = tuple(datetime(2026, month, day, 9, tzinfo=UTC) for month, day in
                   ((1, 31), (2, 28), (3, 31), (4, 30)))  # fmt: skip
WEEKDAYS, BIG = hour_at(5_200), hour_at(13_500)


def office(until: datetime) -> list[ProfileHour]:
    """5,200 IOPS in office hours, and 13,500 on the last day of a month."""
    found = []
    for place in range((until - MONDAY) // HOUR):
        at = MONDAY + place * HOUR
        busy = at.hour in range(9, 17)
        found.append(
            BIG if busy and last_of_month(at)
            else WEEKDAYS if busy and at.weekday() < 5
            else CALM_HOUR
        )  # fmt: skip
    return found


def short_at(iops: float, until: datetime) -> float:
    """Minutes of shortfall that are foreseen for the hour from `until` on."""
    level = Level(iops=iops, mibps=1e6, usd_per_hour=0.01)
    found = demand_forecast(by_hour(office(until)), [level], until, NONE_NOW)
    return found.locked_minutes[0][0]


def test_what_comes_on_top_of_another_load_has_a_rhythm_of_its_own() -> None:
    """The month's end is foreseen the fourth time, and neither weeks nor working days after it are."""
    fourth = MONTH_ENDS[3]
    assert short_at(6_000, fourth) > 20
    for days_after in (1, 7, 14):
        later = MONTH_ENDS[2] + timedelta(days=days_after)
        assert short_at(6_000, later) < 3, later
        assert (short_at(3_000, later) > 30) is (later.weekday() < 5), "the usual load goes on"


def test_a_lower_level_is_never_expected_to_fall_short_of_less() -> None:
    levels = [Level(iops=iops, mibps=1e6, usd_per_hour=0.01) for iops in (3_000, 6_000, 12_000)]
    found = demand_forecast(
        by_hour(office(MONTH_ENDS[3])), levels, MONTH_ENDS[3],
        PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,) * 3),
    )  # fmt: skip
    for late, early in zip(found.locked_minutes, found.reacting_minutes, strict=True):
        assert late[0] >= late[1] >= late[2]
        assert early[0] >= early[1] >= early[2]


@pytest.mark.parametrize(
    ("days", "expects"),
    [pytest.param(3, False, id="three nights"), pytest.param(2, True, id="two nights")],
)
def test_hours_that_were_never_measured_are_taken_for_ones_without_load(
    days: int, expects: bool
) -> None:
    """The instance is off from 17:00 to 09:00, and its load goes on until it is."""
    hours = [hour_at(9_000) if place % 24 in range(9, 17) else None for place in range(24 * days)]
    past = by_hour([*hours, *[None] * 9, *[hour_at(9_000)] * 8])
    found = demand_forecast(past, [LEVEL], past.profile.end, NONE_NOW)
    night = [row[0] for row in found.locked_minutes[4:14]]
    assert (max(night) > 30) is expects
