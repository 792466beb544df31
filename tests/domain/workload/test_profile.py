"""Hours of the past, digested from what CloudWatch published."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headroom.domain.resources import VolumeActivity
from headroom.domain.state import (
    HOUR,
    IOPS_LEVELS,
    MIBPS_LEVELS,
    KnownModification,
    LimitHistory,
    LoadProfile,
    ProfileHour,
    hour_of,
    on_scale,
)
from headroom.domain.workload import digest_of
from tests.builders import NOW, activity, gp2, gp3
from tests.domain.earlier import BIG, changed, history, seen_over

SMALL = gp3(400, 3_000, 125)
END = hour_of(NOW)


def digest(
    metrics: VolumeActivity,
    configuration: object = SMALL,
    known: tuple[KnownModification, ...] = (),
) -> LoadProfile:
    seen = seen_over(metrics, configuration)  # type: ignore[arg-type]
    return digest_of(metrics, LimitHistory(seen, known))


def an_hour(*loads: float | None, **more: object) -> ProfileHour | None:
    """One hour whose twelve periods repeat `loads`."""
    repeated = (loads * 12)[:12]
    metrics = history(
        lambda at: repeated[at.minute // 5], days=1 / 24, end=END, **more  # type: ignore[arg-type]
    )  # fmt: skip
    (found,) = digest(metrics).hours
    return found


def iops(rate: float) -> float:
    return on_scale(rate, IOPS_LEVELS)


def test_an_hour_has_its_highest_five_minutes_and_its_mean() -> None:
    found = an_hour(*[600.0] * 10, 2_400.0, 1_800.0)
    assert found is not None
    assert (found.peak_iops, found.mean_iops) == (iops(2_400), iops(850))
    assert found.peak_mibps == on_scale(2_400 / 64, MIBPS_LEVELS)
    assert found.mean_mibps == on_scale(850 / 64, MIBPS_LEVELS)
    assert found.busy_minutes == 10
    assert (found.touched_minutes, found.limit_iops, found.limit_mibps) == (0, 0.0, 0.0)
    assert found.coarse is False


def test_large_operations_count_for_as_many_as_an_ssd_volume_makes_of_them() -> None:
    found = an_hour(20.0, io_kib=4096)
    assert found is not None
    assert (found.peak_iops, found.peak_mibps) == (iops(320), on_scale(80, MIBPS_LEVELS))


@pytest.mark.parametrize(
    ("check", "configuration", "limits"),
    [
        (0.0, SMALL, (0, 0.0, 0.0)),
        (2.0, SMALL, (24, 3_000.0, 0.0)),
        (2.0, BIG, (24, 16_000.0, 0.0)),
        (5.0, SMALL, (60, 3_000.0, 0.0)),
    ],
)
def test_a_check_names_the_limit_in_force(
    check: float, configuration: object, limits: tuple[int, float, float]
) -> None:
    metrics = history(lambda _: 1_000.0, days=1 / 24, end=END, check=check)
    (found,) = digest(metrics, configuration).hours
    assert found is not None
    assert (found.touched_minutes, found.limit_iops, found.limit_mibps) == limits


def test_without_checks_a_mean_at_the_limit_touches_it() -> None:
    """As of a database, which publishes none."""
    found = an_hour(*[2_980.0] * 3, 600.0, 600.0, 600.0, check=None)
    assert found is not None
    assert (found.touched_minutes, found.limit_iops) == (30, 3_000.0)


def test_throughput_at_its_limit_is_distinguished_from_iops() -> None:
    found = an_hour(900.0, io_kib=140, check=None)  # 123 of 125 MiB/s
    assert found is not None
    assert (found.touched_minutes, found.limit_iops, found.limit_mibps) == (60, 0.0, 125.0)


def test_an_empty_bucket_is_the_limit_it_leaves() -> None:
    metrics = history(lambda _: 300.0, days=1 / 24, end=END, check=5.0, balance=0.0)
    (found,) = digest(metrics, gp2(100)).hours
    assert found is not None
    assert found.limit_iops == 300.0


def test_an_hour_of_which_little_was_published_is_not_measured() -> None:
    assert an_hour(*[None] * 7, 600.0, 600.0, 600.0, 600.0, 600.0) is None
    assert an_hour(*[None] * 6, *[600.0] * 6) is not None


def test_only_whole_hours_count() -> None:
    metrics = history(lambda _: 500.0, days=0.25, end=END + timedelta(minutes=25))
    found = digest(metrics)
    assert (found.start, found.end) == (END - 5 * HOUR, END)


def test_hourly_data_is_coarse_and_its_mean_is_the_peak() -> None:
    made = activity([700.0, 2_950.0], end=END, period_s=3600, iops_check=[0.0, 45.0])
    calm, busy = digest(made).hours
    assert calm == ProfileHour(
        iops(700), on_scale(700 / 64, MIBPS_LEVELS), iops(700), on_scale(700 / 64, MIBPS_LEVELS),
        60, 0, 0.0, 0.0, True,
    )  # fmt: skip
    assert busy is not None
    assert (busy.touched_minutes, busy.limit_iops, busy.coarse) == (45, 3_000.0, True)


@pytest.mark.parametrize(
    ("changed_days_ago", "hour_days_ago", "limit"),
    [
        (2, 1, 16_000.0),
        (2, 3, 3_000.0),  # before the change: its origin, since nothing is forgotten yet
        (2, 20, 896.418),  # an earlier change may have been forgotten: at least what was served
        (20, 30, 896.418),
        (20, 19, 16_000.0),
        (None, 30, 16_000.0),  # never modified
    ],
)
def test_a_limit_that_is_not_known_for_certain_is_what_was_served(
    changed_days_ago: int | None, hour_days_ago: int, limit: float
) -> None:
    when = END - timedelta(days=hour_days_ago)
    metrics = history(lambda _: 900.0, days=1 / 24, end=when + HOUR, check=5.0)
    known = (
        ()
        if changed_days_ago is None
        else (changed(NOW - timedelta(days=changed_days_ago), SMALL, BIG),)
    )
    (found,) = digest(metrics, BIG, known).hours
    assert found is not None
    assert found.limit_iops == limit


def test_no_history_gives_no_hours() -> None:
    metrics = history(lambda _: None, days=1, end=END)
    assert set(digest(metrics).hours) == {None}
    nothing = replace(
        metrics,
        **{
            name: replace(getattr(metrics, name), start=datetime(2026, 1, 1, tzinfo=UTC), values=())
            for name in ("read_iops", "write_iops", "read_mibps", "write_mibps", "iops_exceeded",
                         "throughput_exceeded", "burst_balance_percent")
        },
    )  # fmt: skip
    assert digest(nothing).hours == ()


def test_the_busiest_minute_of_five_is_the_peak_where_no_limit_was_touched() -> None:
    def spike(at: datetime) -> float:
        return 8_000.0 if at.minute == 20 else 500.0

    metrics = history(lambda _: 500.0, days=1 / 24, end=END, busiest=spike)
    (free,) = digest(metrics, BIG).hours
    assert free is not None
    assert (free.peak_iops, free.mean_iops) == (iops(8_000), iops(500))
    assert free.busy_minutes == 1
    touched = history(lambda _: 500.0, days=1 / 24, end=END, busiest=spike, check=1.0)
    (held_back,) = digest(touched, BIG).hours
    assert held_back is not None
    assert held_back.peak_iops == iops(500)  # the limit says it, or an earlier backlog


def test_a_backlog_that_is_served_at_a_raised_limit_is_no_demand() -> None:
    """Half an hour at 3,000, then raised: ten minutes at 12,000 until the backlog is gone."""
    start, large = END - HOUR, gp3(400, 12_000, 500)
    raised = start + timedelta(minutes=30)

    def load(at: datetime) -> float:
        if start <= at < raised:
            return 3_000.0
        return 12_000.0 if raised <= at < raised + timedelta(minutes=10) else 300.0

    metrics = history(load, days=2, end=END, check=lambda at: 0.0 if load(at) == 300 else 5.0)
    found = digest(metrics, large, (changed(raised, SMALL, large),)).hours[-1]
    assert found is not None
    arrived = (30 * 3_000 + 10 * 12_000) / 40
    assert found.limit_iops == 3_000
    assert found.touched_minutes == 30
    assert arrived <= found.peak_iops <= 1.25 * arrived


@pytest.mark.parametrize("since_hours", [0, 1, 5, 30])
def test_an_extension_holds_what_the_whole_would(since_hours: int) -> None:
    metrics = history(
        lambda at: 300.0 + 100 * at.hour, days=1, end=END + timedelta(minutes=35),
        check=lambda at: float(at.hour == 3),
    )  # fmt: skip
    seen = seen_over(metrics, SMALL)
    whole = digest_of(metrics, LimitHistory(seen, ()))
    begin = END - since_hours * HOUR
    part = digest_of(metrics, LimitHistory(seen, ()), since=begin)
    assert part.start == max(begin, whole.start)
    assert part.hours == whole.hours[len(whole.hours) - len(part.hours) :]
    assert part.end == whole.end
