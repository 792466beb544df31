"""An Aurora cluster's recorded by days: what both modes would have cost, and what Headroom would do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.catalog.aurora import AuroraPrices, aurora_prices
from headroom.domain.policy import Limits, Mode
from headroom.domain.resources import AuroraActivity, AuroraCluster, Goal, Series, StorageMode
from headroom.proving.replay import NotReplayed, replay_cluster
from tests.builders import NOW
from tests.domain.clusters import cluster

PRICES = aurora_prices("us-east-1")
LIMITS = Limits(mode=Mode.AUTO)
PER_DAY = 288
MIDNIGHT = NOW.replace(hour=0)


def recorded(
    millions_a_day: list[float | None], *, gib: float | None = 100.0, hours_before: int = 0
) -> AuroraActivity:
    """Days that end at midnight, some hours of the day before them first."""
    per_period = [n for day in millions_a_day for n in [day] * PER_DAY]
    values = [*([5.0] * 12 * hours_before), *per_period]
    start = MIDNIGHT - timedelta(days=len(millions_a_day), hours=hours_before)

    def series(scale: float) -> Series:
        each = tuple(None if n is None else n * 1e6 / PER_DAY * scale for n in values)
        return Series(start=start, period_s=300, values=each)

    flat = Series(start=start, period_s=300, values=(gib and gib * 1024**3,) * len(values))
    nothing = Series(start=start, period_s=300, values=())
    return AuroraActivity(
        read_ios=series(0.6), write_ios=series(0.4), bytes_used=flat, acus=nothing,
        commit_latency_ms=nothing,
    )  # fmt: skip


def of_today(**changes: object) -> AuroraCluster:
    return replace(cluster(), **changes)  # type: ignore[arg-type]


def test_a_cluster_that_bills_much_io_would_have_switched_once_fourteen_days_were_known() -> None:
    found = replay_cluster(of_today(), recorded([100.0] * 40), LIMITS, PRICES).result
    (change,) = found.changes
    assert change.target is StorageMode.IO_OPTIMIZED
    assert change.at - found.scenario.start == pytest.approx(
        timedelta(days=14), abs=timedelta(days=1)
    )
    assert found.paid_in_optimized_usd < found.paid_usd < found.paid_in_standard_usd
    assert found.refusals == 0


def test_one_that_bills_little_would_have_stayed_and_paid_the_same() -> None:
    found = replay_cluster(of_today(), recorded([5.0] * 30), LIMITS, PRICES).result
    assert found.changes == ()
    assert found.paid_usd == found.paid_in_standard_usd < found.paid_in_optimized_usd


def test_only_whole_days_count_whenever_the_history_begins() -> None:
    whole, cut = (
        replay_cluster(of_today(), recorded([20.0] * 20, hours_before=hours), LIMITS, PRICES).result
        for hours in (0, 7)
    )
    assert cut.scenario.start == whole.scenario.start
    assert (cut.scenario.days, cut.paid_usd) == (whole.scenario.days, whole.paid_usd) == (
        20, whole.paid_usd,
    )  # fmt: skip


def test_slow_commits_of_some_hours_a_day_are_seen_as_they_were() -> None:
    """Three hours of 50 ms a night: neither their mean nor their median is slow."""
    days = recorded([20.0] * 30)
    night = (50.0,) * 36 + (2.0,) * 252
    commits = replace(days.read_ios, values=night * 30)
    speed = replace(
        LIMITS, aurora_goal=Goal.PERFORMANCE, aurora_slow_commit_ms=10.0,
        price_increase_usd=Decimal(500),
    )  # fmt: skip
    slow = replay_cluster(of_today(), replace(days, commit_latency_ms=commits), speed, PRICES)
    assert [change.reason for change in slow.result.changes] == ["slow_commits"]
    two = replace(commits, values=((50.0,) * 6 + (2.0,) * 282) * 30)  # half an hour is no slow day
    fast = replay_cluster(of_today(), replace(days, commit_latency_ms=two), speed, PRICES)
    assert fast.result.changes == ()


def test_when_aws_allows_the_next_change_holds_in_a_replay_too() -> None:
    shut = of_today(next_allowed_at=NOW + timedelta(days=10))
    assert replay_cluster(shut, recorded([100.0] * 40), LIMITS, PRICES).result.changes == ()


NO_PRICES: AuroraPrices = replace(PRICES, hour={})


@pytest.mark.parametrize(
    ("days", "gib", "prices", "why"),
    [
        ([20.0] * 14, 100.0, PRICES, "only 14 whole days of it are in this time"),
        ([None] * 30, 100.0, PRICES, "no billed I/O of it was published in this time"),
        ([20.0] * 30, None, PRICES, "its size was not published"),
        ([20.0] * 30, 100.0, NO_PRICES, "no price of db."),
    ],
)
def test_a_cluster_that_cannot_be_replayed_says_why(
    days: list[float | None], gib: float | None, prices: AuroraPrices, why: str
) -> None:
    with pytest.raises(NotReplayed, match=why):
        replay_cluster(of_today(), recorded(days, gib=gib), LIMITS, prices)


@pytest.mark.parametrize(
    ("unknown", "why"),
    [
        ({"reserved": None}, "its reservations are not known"),
        ({"engine": "aurora-mysql", "engine_version": "8.0.mysql_aurora.3.05.2"}, "parallel query is not known"),
    ],
)  # fmt: skip
def test_what_blocks_a_change_when_it_is_not_known_is_not_replayed_as_if_it_were_nothing(
    unknown: dict[str, object], why: str
) -> None:
    with pytest.raises(NotReplayed, match=why):
        replay_cluster(of_today(**unknown), recorded([90.0] * 31), LIMITS, PRICES)
