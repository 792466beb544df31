"""Load that grows from day to day, or from week to week."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.state import LoadProfile, ProfileHour
from headroom.domain.workload import grown, growth_of
from headroom.domain.workload.growth import MOST, RULES, Growth
from tests.domain.earlier import CALM_HOUR, MONDAY, hour_at

DAILY, WEEKLY = RULES


def days(peaks: Sequence[float | None], *, touched: Sequence[int] = ()) -> LoadProfile:
    """Days with eight hours of load at their peak; None where a day was not measured."""
    hours: list[ProfileHour | None] = []
    for number, peak in enumerate(peaks):
        if peak is None:
            hours += [None] * 24
            continue
        busy = hour_at(peak)
        if number in touched:
            busy = busy._replace(touched_minutes=60, limit_iops=peak, limit_mibps=1_000.0)
        hours += [*[CALM_HOUR] * 9, *[busy] * 8, *[CALM_HOUR] * 7]
    return LoadProfile(start=MONDAY, hours=tuple(hours))


def steadily(growth: float, count: int, first: float = 2_000.0) -> list[float]:
    return [first * growth**day for day in range(count)]


def weeks(peak: Callable[[int], float], count: int) -> LoadProfile:
    """Weeks with load on working days only, not the same on each."""
    return days([
        peak(day // 7) * (0.9, 1.0, 0.85, 0.95, 0.8)[day % 7] if day % 7 < 5 else 300.0
        for day in range(7 * count)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        pytest.param(days(steadily(1.05, 10)), Growth(1.05, 24), id="each day"),
        pytest.param(days(steadily(1.05, 6)), Growth(1.05, 24), id="from the sixth day on"),
        pytest.param(days(steadily(1.05, 5)), None, id="five days"),
        pytest.param(days(steadily(1.01, 10)), None, id="the margin is enough for it"),
        pytest.param(days(steadily(2.0, 8)), Growth(MOST, 24), id="believed so far only"),
        pytest.param(days(steadily(0.95, 10)), None, id="it falls"),
        pytest.param(days([2_000.0] * 10), None, id="level"),
        pytest.param(days([*[2_000.0] * 5, *[4_000.0] * 3]), None, id="one step up"),
        pytest.param(
            days([500.0, 520.0, *steadily(1.15, 4)]), Growth(1.15, 24), id="four days after a step"
        ),
        pytest.param(
            days([500.0, 520.0, 530.0, *steadily(1.15, 3)]), None, id="three days after one"
        ),
        pytest.param(days([*steadily(1.05, 5), 5_000.0]), Growth(1.05, 24), id="before a step"),
        pytest.param(
            days([2_000.0, 2_050.0, 2_100.0, 6_400.0, 6_500.0, 6_700.0]),
            None,
            id="one step up among small rises",
        ),
        pytest.param(days([*steadily(1.05, 8), 2_814.2, 2_814.2]), None, id="it has stopped"),
        pytest.param(weeks(lambda _: 3_000.0, 10), None, id="the same every week"),
        pytest.param(weeks(lambda week: 2_000 * 1.1**week, 5), Growth(1.1, 168), id="each week"),
        pytest.param(weeks(lambda week: 2_000 * 1.1**week, 4), None, id="four weeks"),
        pytest.param(LoadProfile(start=MONDAY, hours=()), None, id="nothing measured"),
        pytest.param(days([0.0] * 10), None, id="no load"),
    ],
)
def test_steady_growth_is_told_from_load_that_only_varies(
    profile: LoadProfile, expected: Growth | None
) -> None:
    found = growth_of(profile)
    if expected is None or found is None:
        assert found == expected
    else:
        assert found.factor == pytest.approx(expected.factor)
        assert found.hours == expected.hours


def test_days_at_a_limit_are_left_out_because_their_load_is_not_known() -> None:
    true = steadily(1.05, 9)
    cut = [min(peak, 2_700.0) for peak in true[:-1]] + [true[-1]]
    touched = [day for day, peak in enumerate(true[:-1]) if peak > 2_700]
    assert touched
    found = growth_of(days(cut, touched=touched))
    assert found is not None
    assert found.factor == pytest.approx(1.05)


def test_a_day_at_a_limit_counts_if_its_load_was_seen_above_that_limit_after_a_raise() -> None:
    """Four mornings began at a limit, and the rest of the day was seen freely."""
    profile = days(steadily(1.05, 7))
    hours = list(profile.hours)
    for day in range(2, 6):
        place = 24 * day + 9
        hour = hours[place]
        assert hour is not None
        hours[place] = hour._replace(touched_minutes=15, limit_iops=0.9 * hour.peak_iops)
    found = growth_of(LoadProfile(start=MONDAY, hours=tuple(hours)))
    assert found is not None
    assert found.factor == pytest.approx(1.05)


def test_a_day_that_was_not_measured_ends_what_is_known() -> None:
    peaks: list[float | None] = [*steadily(1.05, 10)]
    peaks[-4] = None
    assert growth_of(days(peaks)) is None


@pytest.mark.parametrize(("rule", "share"), [(DAILY, 120), (WEEKLY, 120)])
def test_peaks_in_random_order_rarely_look_like_growth(
    rule: tuple[int, int, int], share: int
) -> None:
    """All orders of so many different peaks."""
    hours, count, _ = rule
    every, passed = 0, 0
    for order in permutations(range(count)):
        every += 1
        peaks = [2_000 * 1.03**place for place in order]
        profile = LoadProfile(
            start=MONDAY,
            hours=tuple(hour_at(peak) for peak in peaks for _ in range(hours)),
        )  # fmt: skip
        found = growth_of(profile)
        passed += found is not None and found.hours == hours
    assert passed == every // share


def test_growth_shows_through_some_noise() -> None:
    draw = Random(7)
    found = [
        growth_of(days([peak * draw.gauss(1, 0.03) for peak in steadily(1.05, 10)]))
        for _ in range(100)
    ]
    factors = [growth.factor for growth in found if growth is not None]
    assert len(factors) >= 60
    assert sum(1.04 < factor < 1.09 for factor in factors) >= 0.9 * len(factors)


@settings(max_examples=60, deadline=None)
@given(
    peaks=st.lists(st.floats(100, 20_000), min_size=6, max_size=12),
    times=st.floats(0.1, 10),
)
def test_growth_does_not_depend_on_the_size_of_the_load(peaks: list[float], times: float) -> None:
    one, other = growth_of(days(peaks)), growth_of(days([peak * times for peak in peaks]))
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.factor == pytest.approx(other.factor)


def test_each_hour_is_expected_as_large_as_it_would_be_in_the_coming_day() -> None:
    profile = days(steadily(1.05, 10))
    growth = growth_of(profile)
    assert growth is not None
    busy = grown(profile, growth).hours[9::24]
    coming = 2_000 * 1.05**10
    assert [hour.peak_iops for hour in busy[-6:] if hour] == pytest.approx([coming] * 6)
    assert [hour.peak_iops for hour in busy[:4] if hour] == pytest.approx(
        [2_000 * 1.05 ** (day + 6) for day in range(4)]
    )
    assert all(hour is not None and hour.peak_mibps == hour.peak_iops / 64 for hour in busy)


def test_an_hour_at_a_limit_and_one_not_measured_stay_as_they_were() -> None:
    peaks: list[float | None] = [*steadily(1.05, 8)]
    profile = days([None, *peaks], touched=[4])
    after = grown(profile, Growth(1.05, 24))
    assert after.hours[:24] == (None,) * 24
    assert after.hours[4 * 24 + 9] == profile.hours[4 * 24 + 9]


def test_no_load_from_before_a_fall_is_expected_higher_than_the_coming_one() -> None:
    """A queue that fills for ten days, and is emptied: the tenth day does not grow for six more."""
    peaks = [*steadily(1.1, 10), *steadily(1.1, 7)]
    profile = days(peaks)
    growth = growth_of(profile)
    assert growth is not None
    coming = 2_000 * 1.1**7
    busy = [hour.peak_iops for hour in grown(profile, growth).hours[9::24] if hour]
    assert busy[-6:] == pytest.approx([coming] * 6)
    assert busy[:10] == pytest.approx([max(coming, peak) for peak in peaks[:10]], rel=0.12)
    assert max(busy) == max(peaks)


@pytest.mark.parametrize(
    ("count", "grows"),
    [
        pytest.param(9, True, id="below the height of the fall"),
        pytest.param(10, False, id="as far as the last time"),
        pytest.param(11, True, id="farther than the last time"),
    ],
)
def test_growth_that_fell_before_is_expected_to_go_as_far_again(count: int, grows: bool) -> None:
    found = growth_of(days([*steadily(1.12, 10), *steadily(1.12, count)]))
    assert (found is not None) is grows


def test_an_idle_day_long_ago_ends_no_growth() -> None:
    peaks = steadily(1.05, 20)
    peaks[8] = 300.0
    growth = growth_of(days(peaks))
    assert growth is not None
    assert growth.factor == pytest.approx(1.05)


def test_a_load_far_above_the_one_that_grows_stays_as_it_was() -> None:
    """Sundays at 8,000 IOPS grow no faster because idle days between them do."""
    idle = [400.0 * 1.2**day for day in range(6)]
    profile = days([8_000.0, *idle])
    growth = growth_of(profile)
    assert growth is not None
    after = grown(profile, growth)
    assert after.hours[9] == profile.hours[9]
    assert after.hours[-15] != profile.hours[-15]


@pytest.mark.parametrize(
    ("growth", "words"),
    [(Growth(1.052, 24), "5 % more each day"), (Growth(1.1, 168), "10 % more each week")],
)
def test_growth_in_words(growth: Growth, words: str) -> None:
    assert str(growth) == words
