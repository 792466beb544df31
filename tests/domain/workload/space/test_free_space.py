"""When a database is full, and with what size it would not be, from what was free before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.policy import Limits
from headroom.domain.resources import Observation
from headroom.domain.state import KnownModification
from headroom.domain.workload import SpaceBasis, SpaceForecast, space_forecast
from tests.builders import NOW, observation, series
from tests.domain.databases import rds
from tests.domain.filling import GP3, Free, filling, steadily

LIMITS = Limits(grow_space=True)
DAY = 24.0


def seen(free: Free, **changes: object) -> SpaceForecast:
    found = space_forecast(filling(free=free, **changes), (), LIMITS)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_a_volume_has_no_free_space_that_anybody_publishes() -> None:
    assert space_forecast(observation(), (), LIMITS) is None


def test_a_database_that_fills_by_two_gib_a_day_grows_a_day_before_its_reserve_is_touched() -> None:
    found = seen(steadily(21.9, 2.0))
    assert found.short
    assert found.basis is SpaceBasis.EARLIER_DAYS
    assert found.fill_gib_per_day == pytest.approx(2.0, rel=0.05)
    # 178.1 used and 14 days of 2 GiB more are nine tenths of 229.
    assert found.needed_gib == pytest.approx(229, abs=1)
    assert found.full_at is not None
    assert found.full_at - NOW == pytest.approx(timedelta(days=10.95), abs=timedelta(hours=6))
    assert not seen(steadily(23.0, 2.0)).short


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("it stays as it is", lambda h: 60.0),
        ("it gets emptier", lambda h: 60.0 - h / 24),
        ("a load that ended days ago", lambda h: 60.0 if h < 100 else 120.0),
        ("files of half an hour every night", lambda h: 25.0 if h % DAY < 0.5 and h > 1 else 60.0),
        ("deleted and filled every day", lambda h: 40.0 + 2.0 * (h % DAY)),
        ("files that are gone again", lambda h: 5.0 if 0.5 < h < 1.2 else 60.0),
        ("a jump up that nobody knows of", lambda h: 60.0 if h < 48 else 30.0),
    ],
)
def test_enough_is_left_where(name: str, free: Free) -> None:
    found = seen(free)
    assert not found.short, found.explanation
    assert found.needed_gib == found.size_gib


def test_a_night_that_fills_more_than_is_left_is_seen_by_day() -> None:
    def free(hours: float) -> float:
        return 30.0 - (20.0 if 12 <= hours % DAY < 14 else 0.0)

    found = seen(free)
    assert found.short, found.explanation
    assert found.lowest_gib == pytest.approx(10.0, abs=0.5)


def test_less_than_the_reserve_for_an_hour_is_short_though_nothing_fills() -> None:
    found = seen(lambda _: 15.0)
    assert (found.short, found.basis, found.full_at) == (True, SpaceBasis.LEVEL, None)
    assert found.needed_gib == 206  # 185 used are nine tenths of it


def test_a_load_that_began_an_hour_ago_is_believed_for_seven_hours_once_full_is_near() -> None:
    def load(free_now: float) -> Free:
        return lambda h: free_now + 20.0 * min(h, 1.0)

    assert not seen(load(100.0)).short  # five hours to go: it may end by itself
    found = seen(load(36.0))
    assert (found.short, found.basis) == (True, SpaceBasis.SURGE)
    assert found.full_at is not None
    assert found.full_at - NOW == pytest.approx(timedelta(hours=1.8), abs=timedelta(minutes=5))
    assert found.needed_gib == pytest.approx((164 + 140) / 0.9, rel=0.02)


def test_one_hour_never_more_than_doubles_the_storage() -> None:
    found = seen(lambda h: 15.0 + 140.0 * min(h, 1.0))
    assert (found.basis, found.needed_gib) == (SpaceBasis.SURGE, 400)


def test_a_load_of_a_few_minutes_is_not_believed_and_said_to_be_unclear() -> None:
    found = seen(lambda h: 60.0 - max(0.0, (0.25 - h) * 200))
    assert (found.short, found.unclear) == (False, True)


def test_a_load_that_comes_every_night_and_goes_again_is_no_surge() -> None:
    def nightly(hours: float) -> float:
        into = (1.0 - hours) % DAY  # it began an hour ago, and on every day before
        return 70.0 - (15.0 * min(into, 2.0) if into < 3.0 else 0.0)

    found = seen(nightly)
    assert not found.short, found.explanation
    assert not found.unclear


def test_a_load_that_leaves_next_to_nothing_every_night_is_known_to_end() -> None:
    def nightly(hours: float) -> float:
        into = (1.0 - hours) % DAY
        return 45.0 - (20.0 * min(into, 2.0) if into < 3.0 else 0.0)

    little = replace(LIMITS, free_space_percent=1)
    found = space_forecast(filling(free=nightly), (), little)
    assert found is not None
    assert not found.short, found.explanation
    once = space_forecast(filling(free=lambda h: nightly(h) if h < 20 else 45.0), (), little)
    assert once is not None
    assert (once.short, once.basis) == (True, SpaceBasis.SURGE)


def test_what_is_low_but_getting_more_is_unclear() -> None:
    found = seen(lambda h: 15.0 - 8.0 * min(h, 1.0))
    assert (found.short, found.unclear) == (False, True)


def test_what_was_not_measured_lately_is_unclear_and_never_zero() -> None:
    quiet = filling(free=lambda h: None if h < 1.5 else 5.0)
    found = space_forecast(quiet, (), LIMITS)
    assert found is not None
    assert (found.short, found.unclear) == (False, True)
    nothing = filling(free=lambda _: None)
    assert space_forecast(nothing, (), LIMITS) is None


def grown(hours_ago: float, before: int, after: int, by: str = "headroom") -> KnownModification:
    return KnownModification(
        started_at=NOW - timedelta(hours=hours_ago), by=by, origin=rds(GP3, before),
        target=rds(GP3, after),
    )  # fmt: skip


def test_growth_does_not_hide_how_fast_it_fills() -> None:
    def free(hours: float) -> float:
        return 45.0 + 2.0 * hours / DAY - (40.0 if hours > 71.5 else 0.0)

    found = space_forecast(filling(rds(GP3, 240), free), (grown(72.0, 200, 240),), LIMITS)
    assert found is not None
    assert found.fill_gib_per_day == pytest.approx(2.0, rel=0.05)
    assert not found.short


def test_growth_by_others_is_dated_by_free_space_though_seen_a_day_late() -> None:
    def free(hours: float) -> float:
        return 45.0 + 2.0 * hours / DAY - (40.0 if hours > 71.5 else 0.0)

    late = (grown(50.0, 200, 240, "other"),)
    found = space_forecast(filling(rds(GP3, 240), free), late, LIMITS)
    assert found is not None
    assert (found.short, found.fill_gib_per_day) == (False, pytest.approx(2.0, rel=0.05))
    hidden = space_forecast(
        filling(rds(GP3, 260), steadily(8.0, 4.0)), (grown(1.0, 200, 260, "other"),), LIMITS
    )
    assert hidden is not None
    assert hidden.short  # what somebody else may have done is not counted on


@pytest.mark.parametrize("days", [0.27, 3.0])
@pytest.mark.parametrize("hours_ago", [0.2, 0.5, 3.0, 11.0])
def test_growth_by_others_that_does_not_show_is_no_load_that_fills_it(
    hours_ago: float, days: float
) -> None:
    """RDS autoscaling raises the size at once, and what is free an hour later: 39 GiB were not written."""
    found = space_forecast(
        filling(rds(GP3, 429), steadily(38.1, 7.2), days=days),
        (grown(hours_ago, 390, 429, "other"),),
        LIMITS,
    )
    assert found is not None
    assert found.fill_gib_per_day == pytest.approx(7.2, rel=0.05)
    assert found.full_at is None or found.full_at > NOW + timedelta(days=4)


def test_what_a_database_of_the_same_name_did_before_is_not_its_past() -> None:
    young = filling(free=lambda h: 60.0 if h < 30 else min(199.0, 45.0 + h / 2))
    made = replace(young.volume, created_at=NOW - timedelta(hours=30))
    found = space_forecast(replace(young, volume=made), (grown(100.0, 100, 200),), LIMITS)
    assert found is not None
    assert (found.short, found.fill_gib_per_day) == (False, 0.0)


@pytest.mark.parametrize("days", [1.0, 2.1, 2.9, 10.0])
@pytest.mark.parametrize("since_hours", [1.2, 5.0, 12.0, 23.0])
def test_more_free_than_there_is_was_of_other_storage_and_is_no_rise(
    days: float, since_hours: float
) -> None:
    # A blue/green switchover gave the name to a database of less storage, half of it used.
    switched = filling(free=lambda h: 300.0 if h > since_hours else 100.0, days=days)
    found = space_forecast(switched, (), LIMITS)
    assert found is not None
    assert (found.short, found.fill_gib_per_day, found.full_at) == (False, 0.0, None)


@pytest.mark.parametrize(
    ("hours", "short", "unclear"),
    [(1.0, False, False), (11.0, False, False), (13.0, False, True), (71.0, False, True),
     (73.0, True, False)],
)  # fmt: skip
def test_growth_that_does_not_show_counts_as_there_for_half_a_day_and_is_then_doubted(
    hours: float, short: bool, unclear: bool
) -> None:
    fast = steadily(8.0, 4.0)
    assert seen(fast).short
    found = space_forecast(filling(rds(GP3, 260), fast), (grown(hours, 200, 260),), LIMITS)
    assert found is not None
    assert (found.short, found.unclear) == (short, unclear)


def test_growth_of_a_database_seen_for_three_days_is_for_three_days() -> None:
    week, young = seen(steadily(21.0, 4.0)), seen(steadily(21.0, 4.0), days=3.1)
    assert week.needed_gib == pytest.approx((179 + 14 * 4) / 0.9, abs=2)
    assert young.needed_gib == pytest.approx((179 + 3.1 * 4) / 0.9, abs=2)


def test_a_young_database_is_foreseen_for_hours_and_grown_for_a_day() -> None:
    found = seen(steadily(24.0, 24.0), days=0.5)
    assert (found.short, found.basis) == (True, SpaceBasis.RECENT_HOURS)
    assert found.needed_gib == pytest.approx((176 + 24) / 0.9, abs=1)
    assert not seen(steadily(27.0, 24.0), days=0.5).short
    assert not seen(steadily(24.0, 24.0), days=0.2).short


@settings(max_examples=30, deadline=None)
@given(
    free=st.floats(0.0, 190.0), daily=st.floats(-5.0, 40.0), days=st.sampled_from([0.2, 1.0, 5.0]),
    percent=st.integers(1, 50), horizon=st.integers(2, 90),
)  # fmt: skip
def test_what_is_needed_leaves_the_reserve_and_is_never_less_than_there_is(
    free: float, daily: float, days: float, percent: int, horizon: int
) -> None:
    limits = replace(LIMITS, free_space_percent=percent, space_horizon_days=horizon)
    at: Observation = filling(free=lambda h: min(200.0, max(0.0, free + daily * h / 24)), days=days)
    found = space_forecast(at, (), limits)
    assert found is not None
    assert found.needed_gib >= found.size_gib
    assert found.short == (found.needed_gib > found.size_gib)
    if found.short:
        used = found.size_gib - found.free_gib
        assert used <= found.needed_gib * (1 - percent / 100) + 1


@settings(max_examples=40, deadline=None)
@given(
    minutes=st.lists(st.none() | st.floats(-10.0, 400.0), min_size=1, max_size=180),
    periods=st.lists(st.none() | st.floats(-10.0, 400.0), max_size=900),
    changes=st.lists(
        st.tuples(
            st.floats(0.0, 300.0), st.integers(1, 300), st.integers(1, 300),
            st.sampled_from(["headroom", "other"]),
        ),
        max_size=3,
    ),
)  # fmt: skip
def test_whatever_was_published_something_is_said_and_nothing_raises(
    minutes: list[float | None], periods: list[float | None],
    changes: list[tuple[float, int, int, str]],
) -> None:  # fmt: skip
    made = filling(days=2.0)
    assert made.history is not None
    observed = replace(
        made,
        activity=replace(made.activity, free_gib=series(minutes)),
        history=replace(made.history, free_gib=series(periods, period_s=300)),
    )
    known = tuple(grown(*change) for change in changes)
    found = space_forecast(observed, known, LIMITS)
    assert found is None or found.needed_gib >= found.size_gib
    assert found is None or found == space_forecast(observed, known, LIMITS)
