"""The hours to come: what each level of performance would starve in them."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.workload import (
    HOURS,
    Forecast,
    Level,
    LoadHistory,
    PresentLoad,
    demand_forecast,
)
from headroom.domain.workload.forecast import NEW_LOCKED_MIN, NEW_MIN, REACTION_MIN
from tests.builders import NOW, gp3
from tests.domain.earlier import BIG, Load, changed, history, nightly, past_of

IDLE = PresentLoad(minutes=(0.0,) * HOURS, shortfall_probability=(0.0,) * 9)


def level(iops: float, usd_per_hour: float | None = None) -> Level:
    """A level with throughput to spare: IOPS alone decide."""
    price = iops / 1e5 if usd_per_hour is None else usd_per_hour
    return Level(iops=iops, mibps=1e6, usd_per_hour=price)


def ahead(
    found: LoadHistory, *levels: float, now: datetime = NOW, present: PresentLoad = IDLE
) -> Forecast:
    return demand_forecast(found, [level(iops) for iops in levels], now, present)


def hours_of(seen: Forecast, place: int = 0) -> list[float]:
    """Minutes that a level starves in each hour from now while no raise can follow."""
    return [row[place] for row in seen.locked_minutes]


def without_unseen(seen: Forecast, place: int = 0) -> list[float]:
    """The same, less what was never seen and comes at any hour alike."""
    minutes = hours_of(seen, place)
    return [m - (sum(minutes) - seen.seen_minutes[place]) / HOURS for m in minutes]


# --- more performance never starves more


HOURLY = st.lists(
    st.one_of(st.none(), st.sampled_from([200.0, 2_500.0, 3_500.0, 6_000.0, 12_000.0])),
    min_size=72, max_size=72,
)  # fmt: skip
LEVELS = st.lists(st.integers(500, 20_000).map(float), min_size=2, max_size=6, unique=True)


@settings(max_examples=60, deadline=None)
@given(hours=HOURLY, levels=LEVELS)
def test_more_performance_never_starves_more_minutes(
    hours: list[float | None], levels: list[float]
) -> None:
    """Over the day as a whole: which hours a load keeps to is told for each level by itself."""
    begin = NOW - timedelta(hours=len(hours))

    def load(at: datetime) -> float | None:
        return hours[int((at - begin).total_seconds() // 3600)]

    levels = sorted(levels)
    seen = ahead(past_of(history(load, days=3)), *levels)
    whole_day = [sum(row[place] for row in seen.locked_minutes) for place in range(len(levels))]
    for minutes in (seen.seen_minutes, whole_day):
        for less, more in pairwise(minutes):
            assert more <= less + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    touched=st.lists(st.tuples(st.integers(0, 71), st.integers(1, 5)), min_size=1, max_size=8),
    levels=LEVELS, clear=st.integers(0, 3), high=st.sampled_from([4_000, 8_000, 16_000]),
)  # fmt: skip
def test_more_performance_never_starves_more_where_bursts_touched_a_limit(
    touched: list[tuple[int, int]], levels: list[float], clear: int, high: int
) -> None:
    """Bursts at 3,000 seen only by the check, then days that ran clear under a higher limit."""
    begin, raised = NOW - timedelta(days=3 + clear), NOW - timedelta(days=clear)
    small, large = gp3(400, 3_000, 125), gp3(400, high, 1_000)

    def check(at: datetime) -> float:
        hour = int((at - begin).total_seconds() // 3600)
        return float(dict(touched).get(hour, 0)) if at < raised and at.minute < 5 else 0.0

    told = history(lambda _: 1_200.0, days=3 + clear, check=check)
    found = past_of(told, large, known=(changed(raised, small, large),))
    seen = ahead(found, *sorted(levels))
    for row in (*seen.locked_minutes, seen.seen_minutes):
        for less, more in pairwise(row):
            assert more <= less + 1e-9


@settings(max_examples=40, deadline=None)
@given(hours=HOURLY, levels=LEVELS)
def test_where_a_raise_can_follow_no_more_starves_than_where_none_can(
    hours: list[float | None], levels: list[float]
) -> None:
    begin = NOW - timedelta(hours=len(hours))
    found = past_of(history(lambda at: hours[int((at - begin).total_seconds() // 3600)], days=3))
    seen = ahead(found, *levels)
    for locked, reacting, usd in zip(
        seen.locked_minutes, seen.reacting_minutes, seen.reaction_usd, strict=True
    ):
        assert all(r <= k + 1e-9 for r, k in zip(reacting, locked, strict=True))
        assert all(u >= 0 for u in usd)


# --- what was never seen


def test_above_all_that_was_seen_only_the_unseen_is_left() -> None:
    seen = ahead(past_of(history(nightly, days=5)), 9_000.0 * 1.5)
    assert seen.seen_minutes == (0.0,)
    (minutes,) = {round(m, 9) for m in hours_of(seen)}
    assert minutes > 0
    assert {round(r[0], 9) for r in seen.reacting_minutes} == {
        round(minutes * NEW_MIN / NEW_LOCKED_MIN, 9)
    }
    assert {usd for row in seen.reaction_usd for usd in row} == {0.0}


def test_the_unseen_shrinks_with_distance_and_with_every_day_that_was_seen() -> None:
    by_distance = ahead(past_of(history(nightly, days=3)), 10_000.0, 12_000.0, 16_000.0)
    assert hours_of(by_distance, 0) > hours_of(by_distance, 1) > hours_of(by_distance, 2)
    by_days = [
        hours_of(ahead(past_of(history(nightly, days=days)), 12_000.0))[0] for days in (1, 3, 9)
    ]
    assert by_days[0] > by_days[1] > by_days[2] > 0


# --- when it comes again


SHORT = 8_900.0
"""Just below what `nightly` wants: hardly a backlog that outlasts it."""


def test_a_load_of_every_night_is_expected_at_night_and_not_at_noon() -> None:
    """Now is noon: two o'clock is fourteen hours ahead, and it may come half an hour off."""
    minutes = without_unseen(ahead(past_of(history(nightly, days=5)), SHORT))
    night = sum(minutes[13:16])
    assert night > 0.75 * sum(minutes)
    assert minutes[14] > 10 * max(minutes[:12])
    assert minutes[14] > 10 * max(minutes[17:])


def test_it_is_told_from_where_the_day_is_now() -> None:
    for earlier in (1, 5, 9):
        now = NOW - timedelta(hours=earlier)
        found = past_of(history(nightly, days=5, end=now))
        minutes = without_unseen(ahead(found, SHORT, now=now))
        two_o_clock = (14 + earlier) % 24
        assert minutes.index(max(minutes)) in (two_o_clock - 1, two_o_clock)


def test_five_nights_are_surer_than_two_and_two_than_one() -> None:
    peaks = [
        max(without_unseen(ahead(past_of(history(nightly, days=days)), 3_000.0)))
        for days in (1, 2, 5)
    ]
    assert peaks[0] < peaks[1] < peaks[2]


def test_the_same_weekday_of_last_week_says_more_than_the_day_before_it() -> None:
    """A load of one day in fourteen: a week after it more is expected than eight days after it."""

    def expected(days_ago: int) -> float:
        night = (NOW - timedelta(days=days_ago)).date()
        found = past_of(
            history(
                lambda at: 9_000.0 if at.date() == night and at.hour == 14 else 300.0, days=13.9
            )
        )
        return without_unseen(ahead(found, SHORT))[1]

    assert expected(7) > 1.2 * expected(8)
    assert expected(7) > 1.2 * expected(6)
    assert expected(2) > expected(3) > expected(5)


def scattered(seed: int = 7, days: int = 8) -> Load:
    """One hour of load a day, at hours that are no neighbours of each other's."""
    hours = list(range(0, 24, 3))
    random.Random(seed).shuffle(hours)
    chosen = {(NOW - timedelta(days=d)).date(): hours[d % len(hours)] for d in range(days + 1)}
    return lambda at: 9_000.0 if at.hour == chosen[at.date()] else 300.0


def test_a_load_of_no_hour_is_expected_at_any_hour() -> None:
    minutes = without_unseen(ahead(past_of(history(scattered(), days=8)), 3_000.0))
    assert min(minutes) > 0.2 * max(minutes)
    nightly_minutes = without_unseen(ahead(past_of(history(nightly, days=8)), 3_000.0))
    assert min(nightly_minutes) < 0.05 * max(nightly_minutes)


@pytest.mark.parametrize("load", [nightly, scattered()])
def test_a_day_ahead_holds_about_as_much_as_the_days_before_held(load: Load) -> None:
    """An hour a day; at most twice that, for it may come half an hour earlier or later."""
    seen = ahead(past_of(history(load, days=8)), SHORT)
    assert 50 < seen.seen_minutes[0] < 130


def test_days_that_were_not_measured_are_no_days_without_load() -> None:
    """Two nights known, of two days or of six: idle days make a third night less likely."""

    def minutes(load: Callable[[datetime], float | None]) -> float:
        seen = ahead(past_of(history(load, days=6)), 3_000.0)
        return sum(without_unseen(seen)[13:16])

    recent = NOW - timedelta(days=2)
    missing = minutes(lambda at: nightly(at) if at > recent else None)
    idle = minutes(lambda at: nightly(at) if at > recent else 300.0)
    every_night = minutes(nightly)
    only_two = sum(without_unseen(ahead(past_of(history(nightly, days=2)), 3_000.0))[13:16])
    assert missing == pytest.approx(only_two, rel=0.02)
    assert idle < missing < every_night


def test_a_load_like_the_present_one_tells_what_followed_it_at_other_times() -> None:
    """Four thousand for an hour, then nine thousand for one, at no hour of the day in particular."""
    first = {NOW.date() - timedelta(days=d): h for d, h in zip(range(1, 7), (1, 9, 17, 4, 12, 20), strict=True)}  # fmt: skip

    def load(at: datetime) -> float:
        hour = first.get(at.date())
        if hour is None or at.hour not in (hour, hour + 1):
            return 300.0
        return 4_000.0 if at.hour == hour else 9_000.0

    found = past_of(history(load, days=6.5))
    present = PresentLoad(minutes=(0.0,) * HOURS, shortfall_probability=(0.0,), iops=4_000.0)
    calm, begun = ahead(found, 6_000.0), ahead(found, 6_000.0, present=present)
    assert hours_of(begun)[0] > 3 * hours_of(calm)[0]
    assert hours_of(begun)[12] == pytest.approx(hours_of(calm)[12])


# --- the present


def test_what_is_there_now_starves_the_levels_that_fail_it_as_long_as_it_lasts() -> None:
    lasting = tuple(max(0.0, 60.0 - 10 * hour) for hour in range(HOURS))
    present = PresentLoad(minutes=lasting, shortfall_probability=(1.0, 0.25, 0.0))
    found = past_of(history(lambda _: 300.0, days=3))
    seen = ahead(found, 3_000.0, 6_000.0, 9_000.0, present=present)
    assert seen.seen_minutes == pytest.approx((sum(lasting), sum(lasting) / 4, 0.0))
    assert [row[0] - row[2] for row in seen.locked_minutes][:3] == pytest.approx(
        [60, 50, 40], abs=0.5
    )


def test_what_is_there_now_and_what_earlier_days_say_is_not_counted_twice() -> None:
    found = past_of(history(lambda _: 9_000.0, days=5))
    present = PresentLoad(minutes=(60.0,) * HOURS, shortfall_probability=(1.0,))
    without, with_it = ahead(found, SHORT), ahead(found, SHORT, present=present)
    assert without.seen_minutes[0] >= 60 * HOURS
    assert with_it.seen_minutes[0] == pytest.approx(without.seen_minutes[0], rel=0.01)


# --- raises that would follow


def test_a_load_longer_than_a_reaction_starves_no_longer_than_one_and_is_paid_for() -> None:
    found = past_of(history(nightly, days=5))
    seen = demand_forecast(found, [level(3_000.0, 0.01), level(12_000.0, 0.06)], NOW, IDLE)
    reacting = sum(row[0] for row in seen.reacting_minutes)
    assert reacting < 3 * REACTION_MIN
    assert reacting < 0.5 * sum(hours_of(seen))
    usd = sum(row[0] for row in seen.reaction_usd)
    assert 0.05 * 1 < usd < 0.05 * 12


def test_a_raise_is_paid_for_as_long_as_what_it_is_for_and_once_for_being_in_flight() -> None:
    def usd(hours: int) -> float:
        def load(at: datetime) -> float:
            return 9_000.0 if 2 <= at.hour < 2 + hours else 300.0

        found = past_of(history(load, days=5))
        seen = demand_forecast(found, [level(SHORT, 0.01), level(12_000.0, 0.06)], NOW, IDLE)
        return sum(row[0] for row in seen.reaction_usd)

    one, two, four = usd(1), usd(2), usd(4)
    assert two > 1.2 * one
    assert four - two == pytest.approx(2 * (two - one), rel=0.2)


def test_a_burst_shorter_than_a_reaction_is_over_before_a_raise_could_help() -> None:
    def load(at: datetime) -> float:
        return 9_000.0 if at.hour == 2 and at.minute < 10 else 300.0

    seen = ahead(past_of(history(load, days=5)), SHORT, 12_000.0)
    assert sum(row[0] for row in seen.reaction_usd) == 0
    assert sum(row[0] for row in seen.reacting_minutes) >= 0.9 * 10


def test_a_backlog_is_served_after_the_load_is_over() -> None:
    """Half an hour of 9,000 at a level of 4,500 takes an hour to serve."""

    def load(at: datetime) -> float:
        return 9_000.0 if at.hour == 2 and at.minute < 30 else 0.0

    short, half, enough = ahead(
        past_of(history(load, days=5)), SHORT, 4_500.0, 9_000.0
    ).seen_minutes
    assert half == pytest.approx(2 * short, rel=0.15)
    assert enough == 0


# --- bursts that a check told of


def bursts(clear_days: float) -> LoadHistory:
    """A minute a day over three days touches 3,000; then the volume is raised to 6,000."""
    raised = NOW - timedelta(days=clear_days)
    small, large = gp3(400, 3_000, 125), gp3(400, 6_000, 250)

    def check(at: datetime) -> float:
        return 1.0 if at < raised and at.hour == 2 and at.minute == 0 else 0.0

    told = history(lambda _: 1_200.0, days=clear_days + 3, check=check)
    return past_of(told, large, known=(changed(raised, small, large),) if clear_days else ())


def test_one_minute_a_day_is_one_minute_a_day_though_it_is_kept_by_five() -> None:
    raised = NOW  # still small
    told = history(
        lambda _: 1_200.0, days=5,
        check=lambda at: 1.0 if at < raised and at.hour == 2 and at.minute == 0 else 0.0,
    )  # fmt: skip
    seen = ahead(past_of(told, gp3(400, 3_000, 125)), 2_999.0)
    assert 0.5 < seen.seen_minutes[0] < 2.5


def test_bursts_above_a_limit_are_believed_in_less_with_every_day_that_runs_clear_above_it() -> (
    None
):
    shares = []
    for days in (0.5, 1.0, 3.0):
        low, high = ahead(bursts(days), 2_999.0, 5_500.0).seen_minutes
        shares.append(high / low)
    assert 1 > shares[0] > shares[1] > shares[2] > 0


def test_bursts_at_the_limit_they_touched_are_fact() -> None:
    seen = ahead(bursts(3.0), 2_999.0, 3_000.0)
    assert seen.seen_minutes[1] == pytest.approx(seen.seen_minutes[0], rel=0.01)


def test_nothing_is_ever_negative_or_more_than_an_hour_holds_by_much() -> None:
    found = past_of(history(lambda _: 14_000.0, days=3), BIG)
    for row in ahead(found, 1_000.0, 3_000.0, 8_000.0).locked_minutes:
        assert all(0 <= m <= 60 * 1.1 + NEW_LOCKED_MIN for m in row)
