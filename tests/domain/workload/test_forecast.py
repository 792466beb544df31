"""The hours to come: the shortfall of each level of performance in them, and what raises would cost."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.state import ProfileHour
from headroom.domain.workload import (
    HOURS,
    Forecast,
    KnownLoad,
    Level,
    Past,
    PresentLoad,
    demand_forecast,
    short_minutes,
)
from headroom.domain.workload.coming_day import LOCKED_TIMES, NEW_MIN
from tests.builders import NOW, gp3
from tests.domain.earlier import (
    CALM_HOUR,
    MONDAY,
    Load,
    by_hour,
    changed,
    history,
    hour_at,
    nightly,
    past_of,
)

SHORT = 8_900.0
"""Just below what `nightly` wants: hardly a backlog that outlasts it."""


def level(iops: float, usd_per_hour: float | None = None, **more: object) -> Level:
    """A level with throughput to spare: IOPS alone decide."""
    price = iops / 1e5 if usd_per_hour is None else usd_per_hour
    return Level(iops=iops, mibps=1e6, usd_per_hour=price, **more)  # type: ignore[arg-type]


def nothing_now(count: int) -> PresentLoad:
    return PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,) * count)


def ahead(
    past: Past, *levels: float, now: datetime = NOW, present: PresentLoad | None = None,
    known: Sequence[KnownLoad] = (),
) -> Forecast:  # fmt: skip
    chosen = [level(iops) for iops in levels]
    return demand_forecast(past, chosen, now, present or nothing_now(len(levels)), known)


def hours_of(seen: Forecast, place: int = 0) -> list[float]:
    """Shortfall in minutes of a level in each hour from now while no raise can follow."""
    return [row[place] for row in seen.locked_minutes]


def without_unseen(seen: Forecast, place: int = 0) -> list[float]:
    """The same, less what was never seen and comes at any hour alike."""
    minutes = hours_of(seen, place)
    return [m - (sum(minutes) - seen.seen_minutes[place]) / HOURS for m in minutes]


# --- more performance never falls short of more


def large_operations(iops: float) -> ProfileHour:
    """An hour of operations of 256 KiB."""
    return hour_at(iops)._replace(peak_mibps=iops / 4, mean_mibps=iops / 4)


@st.composite
def pasts(draw: st.DrawFn) -> Past:
    """Ten days of hours: calm or above 3,000 IOPS throughout, busy, at a limit, or not measured."""
    kinds: list[ProfileHour | None] = [
        None, CALM_HOUR, hour_at(3_500), hour_at(6_000, busy_minutes=10, mean=2_000),
        hour_at(12_000),
        hour_at(3_000)._replace(touched_minutes=30, limit_iops=3_000.0),
        hour_at(1_200)._replace(touched_minutes=5, limit_iops=6_000.0),
        hour_at(6_600)._replace(touched_minutes=60, limit_iops=6_600.0),
        hour_at(8_000)._replace(touched_minutes=40, limit_mibps=125.0),
        large_operations(1_600), large_operations(500)._replace(touched_minutes=50, limit_mibps=125.0),
    ]  # fmt: skip
    hours: list[ProfileHour | None] = [draw(st.sampled_from([CALM_HOUR, hour_at(4_000)]))] * 240
    for place in draw(st.lists(st.integers(0, 239), max_size=60)):
        hours[place] = draw(st.sampled_from(kinds))
    return by_hour(hours)


LEVELS = st.lists(st.integers(500, 20_000).map(float), min_size=2, max_size=6, unique=True)
MIBPS = st.sampled_from([125.0, 130.0, 156.0, 188.0, 250.0, 1_000.0])


@settings(max_examples=300, deadline=None)
@given(past=pasts(), levels=LEVELS, data=st.data())
def test_more_performance_never_falls_short_of_more(
    past: Past, levels: list[float], data: st.DataObject
) -> None:
    """Over the day as a whole: how long load lasts is forecast for each level by itself."""
    every = st.lists(MIBPS, min_size=len(levels), max_size=len(levels))
    chosen = [
        Level(iops=iops, mibps=mibps, usd_per_hour=0.1)
        for iops, mibps in zip(sorted(levels), sorted(data.draw(every)), strict=True)
    ]
    found = demand_forecast(past, chosen, past.profile.end, nothing_now(len(levels)))
    whole_day = [sum(row[place] for row in found.locked_minutes) for place in range(len(levels))]
    for minutes in (found.seen_minutes, whole_day):
        for less, more in pairwise(minutes):
            assert more <= less + 1e-6


@settings(max_examples=60, deadline=None)
@given(past=pasts(), levels=LEVELS)
def test_no_shortfall_is_negative_or_more_than_the_hour_and_the_unseen(
    past: Past, levels: list[float]
) -> None:
    found = ahead(past, *levels, now=past.profile.end)
    for locked, reacting, usd in zip(
        found.locked_minutes, found.reacting_minutes, found.reaction_usd, strict=True
    ):
        assert all(0 <= minutes <= 60 + NEW_MIN * LOCKED_TIMES for minutes in locked)
        assert all(minutes >= 0 for minutes in reacting)
        assert all(price >= 0 for price in usd)


@settings(max_examples=100, deadline=None)
@given(past=pasts(), levels=LEVELS)
def test_where_a_raise_can_follow_no_more_starves_than_where_none_can(
    past: Past, levels: list[float]
) -> None:
    found = ahead(past, *levels, now=past.profile.end)
    for locked, reacting in zip(found.locked_minutes, found.reacting_minutes, strict=True):
        assert all(r <= k + 1e-9 for r, k in zip(reacting, locked, strict=True))


# --- load on top of load that never ends


def on_top(peak: Load, *, days: int = 28, base: float = 4_000) -> Past:
    """A base that varies by a tenth, and higher load where `peak` says so."""
    draw = random.Random(5)
    found: list[ProfileHour | None] = []
    for place in range(days * 24):
        more = peak(MONDAY + timedelta(hours=place))
        found.append(hour_at(more or base * draw.uniform(0.9, 1.1)))
    return by_hour(found)


@pytest.mark.parametrize("iops", [4_500.0, 6_000.0, 8_500.0])
def test_a_daily_load_on_top_of_a_base_is_foreseen_at_its_hours(iops: float) -> None:
    past = on_top(lambda at: 9_000.0 if at.hour in (14, 15) else 0.0)
    minutes = hours_of(ahead(past, iops, now=past.profile.end))
    full = short_minutes(hour_at(9_000), iops, 1e6)
    assert min(minutes[14], minutes[15]) > 0.8 * full
    assert max(minutes[:13] + minutes[17:]) < 0.1 * full


def test_a_weekly_load_on_top_of_a_base_is_foreseen_and_the_base_at_any_hour() -> None:
    past = on_top(lambda at: 12_000.0 if at.weekday() == 6 and at.hour in (2, 3) else 0.0, days=48)
    seen = ahead(past, 3_500.0, 4_380.0, 6_000.0, now=past.profile.end)  # a Sunday, at midnight
    base, near, above = (hours_of(seen, place) for place in range(3))
    assert min(base) > 30
    assert min(above[2], above[3]) > 30 > 10 * max(above[6:])
    stray = (near[12] - above[12]) / short_minutes(hour_at(4_390), 4_380, 1e6)
    assert 0.005 < stray < 1, "hours of the base just above a level come at any hour"


# --- what was never seen


def test_above_all_that_was_seen_only_the_unseen_is_left() -> None:
    seen = ahead(past_of(history(nightly, days=5)), 9_000.0 * 1.5)
    assert seen.seen_minutes == (0.0,)
    (minutes,) = {round(m, 9) for m in hours_of(seen)}
    assert minutes > 0
    assert {round(r[0], 9) for r in seen.reacting_minutes} == {round(minutes / LOCKED_TIMES, 9)}
    assert {usd for row in seen.reaction_usd for usd in row} == {0.0}


def test_the_unseen_shrinks_with_distance_and_with_every_day_that_was_seen() -> None:
    by_distance = ahead(past_of(history(nightly, days=3)), 10_000.0, 12_000.0, 16_000.0)
    assert hours_of(by_distance, 0) > hours_of(by_distance, 1) > hours_of(by_distance, 2)
    by_days = [
        hours_of(ahead(past_of(history(nightly, days=days)), 12_000.0))[0] for days in (1, 3, 9)
    ]
    assert by_days[0] > by_days[1] > by_days[2] > 0


def test_what_an_owner_bought_is_evidence_of_load_until_many_days_say_otherwise() -> None:
    def minutes(days: float, unproven: float) -> float:
        past = past_of(history(lambda _: 300.0, days=days))
        levels = [level(3_000.0, unproven=unproven)]
        return sum(hours_of(demand_forecast(past, levels, NOW, nothing_now(1))))

    assert minutes(5, 1.0) > 2 * minutes(5, 0.25) > 2 * minutes(5, 0.0)
    assert minutes(1, 1.0) > 2 * minutes(5, 1.0) > 2 * minutes(30, 1.0)


# --- when it comes again


def test_a_load_of_every_night_is_foreseen_at_its_hour_and_at_no_other() -> None:
    """Now is noon: two o'clock is fourteen hours ahead."""
    seen = ahead(past_of(history(nightly, days=5)), 3_000.0)
    minutes = without_unseen(seen)
    assert minutes[14] > 45
    assert max(minutes[:13] + minutes[17:]) < 1
    assert seen.basis.startswith("daily")


def test_it_is_forecast_from_where_the_day_is_now() -> None:
    for earlier in (1, 5, 9):
        now = NOW - timedelta(hours=earlier)
        found = past_of(history(nightly, days=5, end=now))
        minutes = without_unseen(ahead(found, SHORT, now=now))
        assert minutes.index(max(minutes)) == (14 + earlier) % 24


def test_five_nights_are_surer_than_three_and_three_than_one() -> None:
    peaks = [
        max(without_unseen(ahead(past_of(history(nightly, days=days)), 3_000.0)))
        for days in (1, 3, 5)
    ]
    assert peaks[0] < peaks[1] < peaks[2]


def scattered(seed: int = 7, days: int = 12) -> Load:
    """One hour of load a day, at an hour of no rhythm."""
    draw = random.Random(seed)
    hours = [draw.randrange(24) for _ in range(days + 1)]
    chosen = {(NOW - timedelta(days=d)).date(): hours[d] for d in range(days + 1)}
    return lambda at: 9_000.0 if at.hour == chosen[at.date()] else 300.0


@pytest.mark.parametrize("seed", range(4))
def test_a_load_of_no_rhythm_is_expected_at_any_hour_as_often_as_it_came(seed: int) -> None:
    minutes = without_unseen(ahead(past_of(history(scattered(seed), days=12)), 3_000.0))
    assert min(minutes) > 0.5
    assert max(minutes) < 20
    assert 25 < sum(minutes) < 130


@pytest.mark.parametrize("load", [nightly, scattered()])
def test_a_day_ahead_holds_about_as_much_as_the_days_before_held(load: Load) -> None:
    seen = ahead(past_of(history(load, days=12)), 3_000.0)
    assert 25 < seen.seen_minutes[0] < 130


@pytest.mark.parametrize("gap", [None, 50, 300])
@pytest.mark.parametrize("days", [5, 27, 28, 29, 40, 300])
def test_load_of_every_hour_is_expected_in_every_hour_for_as_many_weeks_as_it_goes_on(
    days: int, gap: int | None
) -> None:
    """Ten minutes at the top of each hour are one episode, which began before any of the latest weeks."""
    hours: list[ProfileHour | None] = [hour_at(7_000, busy_minutes=10, mean=1_400)] * (days * 24)
    if gap is not None and gap < len(hours):
        hours[-gap] = CALM_HOUR
    past = by_hour(hours)
    each = hours_of(ahead(past, 3_000.0, now=past.profile.end + timedelta(minutes=15)))
    assert min(each) > 0.8 * max(each) > 10
    stopped = by_hour([*hours, CALM_HOUR])
    after = hours_of(ahead(stopped, 3_000.0, now=stopped.profile.end + timedelta(minutes=15)))
    assert after[0] < (each[0] / 2 if gap is None else each[0])


def test_load_stays_as_long_as_it_did_before() -> None:
    """Four hours of load at times of no rhythm: once it may have begun, it may still be there."""
    draw = random.Random(3)
    begins = [day * 24 + draw.randrange(20) for day in range(12)]
    hours = [hour_at(9_000) if any(0 <= p - b < 4 for b in begins) else CALM_HOUR
             for p in range(12 * 24)]  # fmt: skip
    past = by_hour(hours)
    minutes = without_unseen(ahead(past, 3_000.0, now=past.profile.end))
    assert 3 * 60 / 4 < sum(minutes) < 2 * 240
    assert minutes[0] < minutes[3] + 5


# --- the present


def test_what_is_there_now_falls_short_of_the_levels_that_fail_it_as_long_as_it_lasts() -> None:
    lasting = tuple(max(0.0, 60.0 - 10 * hour) for hour in range(HOURS))
    present = PresentLoad(minutes=lasting, shortfall_share=(1.0, 0.25, 0.0))
    found = past_of(history(lambda _: 300.0, days=3))
    seen = ahead(found, 3_000.0, 6_000.0, 9_000.0, present=present)
    assert seen.seen_minutes == pytest.approx((sum(lasting), sum(lasting) / 4, 0.0))
    assert [row[0] - row[2] for row in seen.locked_minutes][:3] == pytest.approx(
        [60, 50, 40], abs=0.5
    )


def test_what_is_there_now_and_what_earlier_days_say_is_not_counted_twice() -> None:
    found = past_of(history(lambda _: 9_000.0, days=5))
    present = PresentLoad(minutes=(60.0,) * HOURS, shortfall_share=(1.0,))
    without, with_it = ahead(found, 3_000.0), ahead(found, 3_000.0, present=present)
    assert without.seen_minutes[0] <= with_it.seen_minutes[0] <= 60 * HOURS


# --- what the owner announced


MONTH_END = KnownLoad(
    start=NOW + timedelta(hours=6, minutes=30), end=NOW + timedelta(hours=9), iops=12_000, mibps=200
)


def late_at_month_end(level: float, announced: float) -> float:
    """Minutes of shortfall until all is served: half as if each minute's rest waited, half as if nobody asked again."""
    waits = shortfall = 0.0
    for minute in range(24 * 60):
        due = announced if minute < 150 else 1e-9
        waits = max(0.0, waits + due - level)
        shortfall += min(1.0, waits / due)
    return (shortfall + 150 * max(0.0, 1 - level / announced)) / 2


@pytest.mark.parametrize("iops", [3_000.0, 9_000.0, 11_400.0, 12_000.0])
def test_what_waits_behind_a_known_load_falls_short_too(iops: float) -> None:
    past = past_of(history(lambda _: 300.0, days=30))
    found = without_unseen(ahead(past, iops, known=[MONTH_END]))
    assert sum(found) == pytest.approx(late_at_month_end(iops, 12_000.0), abs=2)
    assert sum(found[:6]) + sum(found[9:]) < 0.001


def test_a_known_load_is_one_of_throughput_too() -> None:
    past = past_of(history(lambda _: 300.0, days=30))
    narrow = Level(iops=16_000, mibps=125, usd_per_hour=0.1)  # of 200 MiB/s
    found = demand_forecast(past, [narrow], NOW, nothing_now(1), [MONTH_END])
    assert found.seen_minutes[0] == pytest.approx(late_at_month_end(125.0, 200.0), abs=2)


def test_known_loads_of_other_days_are_not_of_this_one() -> None:
    past = past_of(history(lambda _: 300.0, days=30))
    later = MONTH_END._replace(start=NOW + timedelta(hours=25), end=NOW + timedelta(hours=30))
    over = MONTH_END._replace(start=NOW - timedelta(hours=5), end=NOW)
    assert ahead(past, 3_000.0, known=[later, over]).seen_minutes == (0.0,)


# --- raises that would follow


def test_load_longer_than_a_reaction_starves_no_longer_than_one_and_is_paid_for() -> None:
    def load(at: datetime) -> float:
        return 9_000.0 if 2 <= at.hour < 8 else 300.0

    found = past_of(history(load, days=5))
    levels = [level(3_000.0, 0.01), level(16_000.0, 0.06)]
    seen = demand_forecast(found, levels, NOW, nothing_now(2))
    reacting = sum(row[0] for row in seen.reacting_minutes)
    assert reacting < 0.4 * sum(hours_of(seen))
    usd = sum(row[0] for row in seen.reaction_usd)
    assert 0.05 * 5 < usd < 0.05 * 12


def test_a_raise_is_paid_for_as_long_as_what_it_is_for() -> None:
    def usd(hours: int) -> float:
        def load(at: datetime) -> float:
            return 9_000.0 if 2 <= at.hour < 2 + hours else 300.0

        found = past_of(history(load, days=5))
        levels = [level(SHORT, 0.01), level(12_000.0, 0.06)]
        seen = demand_forecast(found, levels, NOW, nothing_now(2))
        return sum(row[0] for row in seen.reaction_usd)

    one, two, four = usd(1), usd(2), usd(4)
    assert two > 1.2 * one
    assert four - two == pytest.approx(2 * (two - one), rel=0.2)


def test_a_burst_shorter_than_a_reaction_is_over_before_a_raise_could_help() -> None:
    def load(at: datetime) -> float:
        return 9_000.0 if at.hour == 2 and at.minute < 10 else 300.0

    seen = ahead(past_of(history(load, days=5)), 7_000.0, 12_000.0)
    reacting = sum(row[0] for row in seen.reacting_minutes)
    assert sum(hours_of(seen)) > 2 * seen.seen_minutes[1]
    assert reacting >= 0.9 * seen.seen_minutes[0] > 1


def test_what_a_raise_within_reach_cannot_serve_stays_late() -> None:
    """From 3,000 one step leads to 12,000; the load is 24,000 for six hours."""
    past = by_hour(
        [hour_at(24_000) if 2 <= place % 24 < 8 else CALM_HOUR for place in range(10 * 24)]
    )
    one, two = (12_000.0, 1e6), (48_000.0, 1e6)
    found = (
        demand_forecast(
            past, [level(3_000.0, reach=reach, ceiling=ceiling)], past.profile.end, nothing_now(1)
        ).reacting_minutes
        for reach, ceiling in ((one, one), (one, two), (two, two))
    )
    once, twice, far = (sum(row[0] for row in hours[:8]) for hours in found)
    assert once > 200
    assert far < 150
    assert far + 60 < twice < once - 60, "a second raise serves the rest once the first has landed"


# --- bursts that a check shows


def bursts(clear_days: float) -> Past:
    """A minute a day over three days touches 3,000; then the volume is raised to 6,000."""
    raised = NOW - timedelta(days=clear_days)
    small, large = gp3(400, 3_000, 125), gp3(400, 6_000, 250)

    def check(at: datetime) -> float:
        return 1.0 if at < raised and at.hour == 2 and at.minute == 0 else 0.0

    metrics = history(lambda _: 1_200.0, days=clear_days + 3, check=check)
    return past_of(metrics, large, known=(changed(raised, small, large),) if clear_days else ())


def test_one_minute_a_day_is_no_more_than_one_minute_a_day_though_it_is_kept_by_five() -> None:
    metrics = history(
        lambda _: 1_200.0, days=5,
        check=lambda at: 1.0 if at.hour == 2 and at.minute == 0 else 0.0,
    )  # fmt: skip
    seen = ahead(past_of(metrics, gp3(400, 3_000, 125)), 2_999.0)
    assert 0.1 < seen.seen_minutes[0] < 1.5


def test_bursts_above_a_limit_count_less_with_every_day_that_runs_clear_above_it() -> None:
    shares = []
    for days in (0.5, 1.5, 3.0):  # half a day and a whole one end after the same burst
        low, high = ahead(bursts(days), 2_999.0, 5_500.0).seen_minutes
        shares.append(high / low)
    assert 1 > shares[0] > shares[1] > shares[2] > 0


def test_load_below_the_limit_that_was_touched_proves_nothing_whatever_the_other_limit_is() -> None:
    """Six nights of 6,000 IOPS, then one above 6,600: 94 MiB/s of 125 is a larger share, but no proof."""
    week = [hour_at(6_000) if at % 24 in (1, 2) else CALM_HOUR for at in range(6 * 24)]
    last = [CALM_HOUR] * 24
    last[1:4] = [hour_at(6_600)._replace(touched_minutes=60, limit_iops=6_600.0)] * 3
    past = by_hour(week + last)
    tight, wide = (Level(iops=16_000, mibps=mibps, usd_per_hour=0.1) for mibps in (125, 250))
    found = demand_forecast(past, [tight, wide], past.profile.end, nothing_now(2))
    assert found.seen_minutes[0] > 1.5 * found.seen_minutes[1] > 0


def test_bursts_at_the_limit_they_touched_are_fact() -> None:
    seen = ahead(bursts(3.0), 2_999.0, 3_000.0)
    assert seen.seen_minutes[1] == pytest.approx(seen.seen_minutes[0], rel=0.01)


def test_years_of_a_load_far_above_a_level_are_no_number_too_large() -> None:
    """A volume of which its instance leaves hardly anything, known for more than a year."""
    past = past_of(history(lambda _: 16_000.0, days=2))
    old = replace(past, known=400 * 24)
    tiny = Level(iops=1.0, mibps=0.1, usd_per_hour=0.1)
    found = demand_forecast(old, [tiny], NOW, nothing_now(1))
    assert found.seen_minutes[0] > 0


def test_hours_that_were_not_measured_are_no_quiet_hours() -> None:
    """Ten busy hours a day for two weeks, then ten days without a measurement."""
    busy = lambda at: 9_000.0 if at.hour < 10 else 300.0  # noqa: E731
    at_once = past_of(history(busy, days=14, end=NOW))
    gap = past_of(history(lambda at: busy(at) if at < NOW - timedelta(days=10) else None, days=24))
    less, more = (
        sum(row[0] for row in ahead(one, 3_000.0).locked_minutes) for one in (gap, at_once)
    )
    assert less > 0.3 * more


# --- the present hour, whose rest a schedule of whole hours leaves out


@pytest.mark.parametrize(("rest", "at_least", "at_most"), [(0.0, 0, 0), (0.5, 20, 30), (0.1, 4, 6)])
def test_the_rest_of_the_present_hour_brings_its_share_of_the_load_that_is_due(
    rest: float, at_least: float, at_most: float
) -> None:
    """Nine thousand for an hour from two o'clock on; the schedule begins at three."""
    past = past_of(history(nightly, days=9.2))
    three = NOW.replace(hour=3) + timedelta(days=1)
    found = demand_forecast(past, [level(3_000), level(12_000)], three, nothing_now(2), rest=rest)
    assert at_least <= found.rest_minutes[0] <= at_most
    assert found.rest_minutes[1] == 0
