"""Periods of the past at a limit, read by the limits that were then in force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.resources import Configuration, VolumeActivity, VolumeType
from headroom.domain.state import KnownModification, LimitHistory, LoadProfile, ProfileHour
from headroom.domain.workload import digest_of
from headroom.domain.workload.history import load_rates
from headroom.domain.workload.pressed_periods import (
    PressedPeriod,
    belief_above_limits,
    busiest_minutes,
    pressed_periods,
    with_hidden_bursts,
)
from tests.builders import (
    NOW,
    activity,
    gp2,
    gp3,
    instance,
    io,
    modification,
    observation,
    series,
    volume,
)
from tests.domain.earlier import BIG, by_hour, changed, history, hour_at, seen_over

SMALL = gp3(400, 3_000, 125)
NIGHT = (NOW - timedelta(days=2)).replace(hour=2)
"""Two nights before now, two o'clock."""


def spike(
    high: float, *, when: datetime = NIGHT, minutes: float = 5, idle: float = 300.0
) -> Callable[[datetime], float]:
    """`high` from `when` on for so many minutes, `idle` before and after."""
    until = when + timedelta(minutes=minutes)
    return lambda instant: high if when <= instant < until else idle


def pressed(
    metrics: VolumeActivity, configuration: Configuration = BIG, *,
    known: tuple[KnownModification, ...] = (), **changes: object,
) -> list[PressedPeriod]:  # fmt: skip
    limits = LimitHistory(seen_over(metrics, configuration, **changes), known)
    iops, mibps = load_rates(metrics)
    busiest = (
        busiest_minutes(metrics.busiest_iops, iops),
        busiest_minutes(metrics.busiest_mibps, mibps),
    )
    return pressed_periods(metrics, limits, iops, mibps, busiest)


# --- which limit was touched


@pytest.mark.parametrize("of_iops", [True, False])
def test_the_check_that_was_exceeded_names_the_limit_whatever_was_served(of_iops: bool) -> None:
    """Small sequential operations, which EBS merges, are above the IOPS when MiB/s hold them back."""
    metrics = history(spike(5_000.0), days=4, check=spike(1.0, idle=0.0))
    exceeded = metrics.iops_exceeded
    never = replace(exceeded, values=tuple(0.0 for _ in exceeded.values))
    metrics = replace(
        metrics,
        iops_exceeded=exceeded if of_iops else never,
        throughput_exceeded=never if of_iops else exceeded,
    )
    (found,) = pressed(metrics, SMALL)
    assert found.touched_iops == of_iops


# --- which limits were in force


@pytest.mark.parametrize(
    ("known", "limit"),
    [
        ((), 16_000.0),  # nothing else known: as it is today
        ((changed(NOW - timedelta(days=1), SMALL, BIG),), 3_000.0),
        ((changed(NOW - timedelta(days=3), SMALL, BIG),), 16_000.0),
        (
            (
                changed(NOW - timedelta(days=5), BIG, gp3(400, 6_000, 250)),
                changed(NOW - timedelta(days=1), gp3(400, 6_000, 250), BIG),
            ),
            6_000.0,
        ),
        # Of a change nobody knows the target of, nothing follows.
        ((KnownModification(started_at=NOW - timedelta(days=1), by="other"),), 16_000.0),
    ],
)
def test_a_touched_limit_is_the_one_that_was_in_force_then(
    known: tuple[KnownModification, ...], limit: float
) -> None:
    (found,) = pressed(history(spike(1_500.0), days=4, check=spike(1.0, idle=0.0)), known=known)
    assert (found.iops_limit, found.touched_iops, found.iops) == (limit, True, 1_500.0)


def test_the_latest_change_at_aws_counts_though_the_ledger_lacks_it() -> None:
    metrics = history(spike(1_500.0), days=4, check=spike(1.0, idle=0.0))
    latest = modification(BIG, origin=SMALL, started_at=NOW - timedelta(days=1))
    (found,) = pressed(metrics, modification=latest)
    assert found.iops_limit == 3_000
    same = (changed(latest.started_at, SMALL, BIG),)
    assert pressed(metrics, known=same, modification=latest) == [found]


def test_an_empty_bucket_lowers_the_limit_to_what_is_sustained() -> None:
    load = spike(1_200.0, minutes=60)
    empty = pressed(history(load, days=3, check=None, balance=0.0), gp2(400))
    assert {(p.iops_limit, p.pressed) for p in empty} == {(1_200.0, 5.0)}
    assert len(empty) == 12
    assert pressed(history(load, days=3, check=None, balance=90.0), gp2(400)) == []


@pytest.mark.parametrize(
    ("minutes_after", "served", "limit"),
    [
        (10, 2_950.0, 3_000.0),  # still held back by the old limit
        (10, 4_000.0, 12_000.0),  # more than the old one let through: the new one is in force
        (90, 2_000.0, 12_000.0),  # long landed
    ],
)
def test_while_a_change_lands_what_was_served_shows_which_limit_was_in_force(
    minutes_after: int, served: float, limit: float
) -> None:
    large = gp3(400, 12_000, 500)
    raised = NIGHT - timedelta(minutes=minutes_after)
    metrics = history(spike(served), days=4, check=spike(2.0, idle=0.0))
    (found,) = pressed(metrics, large, known=(changed(raised, SMALL, large),))
    assert found.iops_limit == limit


# --- minutes


@pytest.mark.parametrize("minutes", [1.0, 2.0, 4.0, 5.0, 7.0])
def test_a_check_counts_the_minutes_of_its_period_it_was_set_in(minutes: float) -> None:
    metrics = history(spike(1_500.0), days=3, check=spike(minutes, idle=0.0))
    assert [p.pressed for p in pressed(metrics, SMALL)] == [min(minutes, 5.0)]


@pytest.mark.parametrize(("iops", "count"), [(2_980.0, 12), (2_920.0, 12), (2_600.0, 0)])
def test_where_no_check_is_published_a_mean_at_the_limit_is_pressure_for_the_whole_period(
    iops: float, count: int
) -> None:
    found = pressed(history(spike(iops, minutes=60), days=3, check=None), SMALL)
    assert [p.pressed for p in found] == [5.0] * count


@pytest.mark.parametrize(("at_the_limit_ms", "count"), [(1.1, 0), (1.4, 12)])
def test_a_mean_at_the_limit_with_the_latency_of_calm_is_a_load_that_just_fits(
    at_the_limit_ms: float, count: int
) -> None:
    """By the latency of all that is read, also where only the latest hour is digested."""
    load = spike(2_980.0, minutes=60)
    metrics = history(
        load, days=3, check=None, end=NIGHT + timedelta(hours=1),
        latency_ms=lambda at: at_the_limit_ms if load(at) == 2_980.0 else 1.0,
    )  # fmt: skip
    assert len(pressed(metrics, SMALL)) == count
    limits = LimitHistory(seen_over(metrics, SMALL), ())
    (hour,) = digest_of(metrics, limits, since=NIGHT).hours
    assert hour is not None
    assert (hour.touched_minutes > 0) is (count > 0)


def test_without_a_check_a_load_with_a_tenth_to_spare_is_free_if_its_busiest_minute_is() -> None:
    spare = 3_000 / 1.1
    load = spike(spare, minutes=60)
    assert pressed(history(load, days=3, check=None), SMALL) == []
    busy = history(load, days=3, check=None, busiest=spike(2_990.0, minutes=60))
    assert [p.pressed for p in pressed(busy, SMALL)] == [5.0] * 12


def test_large_operations_touch_the_limit_of_throughput() -> None:
    (found,) = pressed(history(spike(490.0), days=3, check=None, io_kib=256), SMALL)
    assert (found.touched_iops, found.mibps_limit) == (False, 125.0)


def test_a_grid_of_minutes_is_read_as_one() -> None:
    metrics = activity([300.0] * 1400 + [9_000.0] * 40, iops_check=[0.0] * 1400 + [1.0] * 40)
    found = pressed(metrics, gp3(400, 9_000, 500))
    assert [(p.place, p.pressed) for p in found] == [(place, 1.0) for place in range(1400, 1440)]


def test_the_busiest_minute_is_no_less_than_the_mean() -> None:
    read = series([None, 500.0, 900.0])
    assert busiest_minutes(read, [100.0, 800.0, 300.0]) == [100.0, 800.0, 900.0]
    assert busiest_minutes(None, [100.0, 800.0]) == [100.0, 800.0]


@pytest.mark.parametrize(
    "configuration", [SMALL, BIG, io(VolumeType.IO1, 400, 4_000), gp2(400), gp2(2_000)], ids=str
)
@settings(max_examples=30, deadline=None)
@given(
    hours=st.lists(st.one_of(st.none(), st.floats(0, 20_000)), min_size=24, max_size=24),
    check=st.sampled_from([None, 0.0, 1.0, 5.0]),
)
def test_pressed_periods_are_in_order_measured_and_no_longer_than_they_are(
    configuration: Configuration, hours: list[float | None], check: float | None
) -> None:
    metrics = history(lambda i: hours[i.hour], days=1, check=check)
    found = pressed(metrics, configuration)
    assert [p.place for p in found] == sorted({p.place for p in found})
    for period in found:
        assert metrics.read_iops.values[period.place] is not None
        assert 0 < period.pressed <= 5
        assert period.busiest_iops >= period.iops
        assert period.busiest_mibps >= period.mibps
    if check == 0.0:
        assert found == []


# --- bursts inside its minutes, where no check is published


def test_operations_that_wait_far_below_the_limit_of_the_means_were_held_back_by_it() -> None:
    """As of RDS. Their usual latency is that of the periods far below every limit."""
    metrics = history(spike(2_000.0, idle=300.0), days=3, check=None)
    at = [rate * 2 == 2_000.0 for rate in metrics.read_iops.values]
    assert sum(at) == 1

    def waiting(milliseconds: float) -> VolumeActivity:
        latencies = [milliseconds if busy else 1.0 for busy in at]
        return replace(metrics, latency_ms=series(latencies, end=NOW, period_s=300))

    (found,) = pressed(waiting(40.0), SMALL)
    assert (found.iops, found.iops_limit, found.touched_iops) == (2_000.0, 3_000.0, True)
    assert pressed(waiting(8.0), SMALL) == []
    assert pressed(waiting(40.0), gp3(400, 16_000, 500)) == []  # an eighth of it: another cause


def test_what_an_instance_holds_back_is_not_blamed_on_a_volume_with_more() -> None:
    metrics = history(spike(2_000.0, idle=300.0), days=3, check=None)
    latencies = [40.0 if rate * 2 == 2_000.0 else 1.0 for rate in metrics.read_iops.values]
    metrics = replace(metrics, latency_ms=series(latencies, end=NOW, period_s=300))
    assert pressed(metrics, SMALL, instance=instance(baseline_iops=3_500))
    assert pressed(metrics, SMALL, instance=instance(baseline_iops=2_500)) == []


# --- hours that a raise hides


def hour_of_load(mean: float, *, touched: int = 0, limit: float = 0.0) -> ProfileHour:
    return ProfileHour(mean, mean / 64, mean, mean / 64, 60, touched, limit, 0.0)


def profile_of(*hours: ProfileHour | None) -> LoadProfile:
    return LoadProfile(start=NOW.replace(minute=0) - timedelta(hours=len(hours)), hours=hours)


def limits_raised(hours_ago: float) -> LimitHistory:
    """3,000 IOPS until then, 16,000 since."""
    seen = observation(vol=volume(BIG))
    return LimitHistory(seen, (changed(NOW - timedelta(hours=hours_ago), SMALL, BIG),))


def test_an_hour_under_a_larger_limit_has_the_bursts_that_one_of_the_same_load_showed() -> None:
    shown = hour_of_load(2_000, touched=25, limit=3_000)
    found = with_hidden_bursts(
        profile_of(shown, hour_of_load(2_100), hour_of_load(900), None), limits_raised(3.6)
    )
    assert found.hours[0] == shown
    assert found.hours[1] == hour_of_load(2_100, touched=60, limit=3_000)
    assert found.hours[2:] == (hour_of_load(900), None)  # another load, and nothing measured


@pytest.mark.parametrize(
    ("shown", "raised_ago"),
    [
        (hour_of_load(2_000, touched=25, limit=3_000), 0.1),  # the same limit showed none
        (hour_of_load(2_000, touched=2, limit=3_000), 3.6),  # a blip
        (hour_of_load(2_900, touched=60, limit=3_000), 3.6),  # the mean itself was at the limit
    ],
    ids=["under the same limit", "a blip", "no bursts"],
)
def test_no_hour_is_given_bursts_that_nothing_shows(shown: ProfileHour, raised_ago: float) -> None:
    profile = profile_of(shown, hour_of_load(shown.mean_iops), None)
    assert with_hidden_bursts(profile, limits_raised(raised_ago)) == profile


@pytest.mark.parametrize("hours", [10, 100])
def test_every_hour_that_was_served_above_an_old_limit_disproves_what_it_may_have_hidden(
    hours: int,
) -> None:
    """gp2 of 33 GiB was at its 100 IOPS for two days; gp3 serves 1,000, which keeps it busy in no hour."""
    held = ProfileHour(100.0, 1.6, 100.0, 1.6, 60, 60, 100.0, 0.0)
    freely = hour_at(1_000, busy_minutes=20, mean=300)
    assert belief_above_limits(by_hour([held] * 48), 0.0).iops == 1
    assert belief_above_limits(by_hour([held] * 48 + [freely] * hours), 0.0).iops < 1 / hours
