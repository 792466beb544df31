"""Replays an Aurora cluster's recorded days: what each storage mode would have cost.

Billed I/O is the same in either mode, so it is used as recorded. Members, reservations and size are
those of today, or their mean over the recorded days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headroom.domain.catalog.aurora import AuroraPrices, bills
from headroom.domain.policy import Limits
from headroom.domain.resources import AuroraActivity, AuroraCluster, PriceUnknown, Series
from headroom.domain.workload import DAYS, GIB
from headroom.proving.replay.volume import NotReplayed
from headroom.proving.scenarios import AuroraScenario, cluster_usage
from headroom.proving.simulation import AuroraResult, simulate_aurora
from headroom.proving.workloads import TraceRow, TraceWorkload

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCluster:
    """A replayed cluster: `result` starts with its first whole day, as if it were enrolled."""

    cluster: AuroraCluster
    result: AuroraResult


def replay_cluster(
    cluster: AuroraCluster, activity: AuroraActivity, limits: Limits, prices: AuroraPrices
) -> ReplayedCluster:
    """The whole UTC days of `activity` under `limits`, from the mode that it has today.

    The first days are the history of the first decision. Raises NotReplayed.
    """
    ios = _ios(activity)
    start, days = _whole_days(activity.read_ios.start, activity.read_ios.period_s, len(ios))
    skip = int((start - activity.read_ios.start).total_seconds()) // activity.read_ios.period_s
    rows = ios[skip:]
    if days <= DAYS:
        raise NotReplayed(
            f"only {max(0, days)} whole days of it are in this time, the first {DAYS} are history"
        )
    if all(count is None for count in rows):
        raise NotReplayed("no billed I/O of it was published in this time")
    if cluster.reserved is None:
        raise NotReplayed(
            "its reservations are not known, without which nothing is changed: allow "
            "rds:DescribeReservedDBInstances"
        )
    if cluster.parallel_query is None and cluster.engine == "aurora-mysql":
        raise NotReplayed(
            "whether it uses parallel query is not known, without which nothing is changed: allow "
            "rds:DescribeDBClusterParameters"
        )
    scenario = AuroraScenario(
        name=cluster.ref.resource_id, start=start, days=days, engine=cluster.engine,
        engine_version=cluster.engine_version, mode=cluster.mode,
        next_allowed_at=cluster.next_allowed_at, members=cluster.members,
        reserved=cluster.reserved, acus=_mean(activity.acus.known()) or 0.0,
        storage_gib=_size(activity), steady_ios=None, trace=_trace(rows, start),
        commit_latency_ms=None, commits=_values(activity.commit_latency_ms, start),
        parallel_query=bool(cluster.parallel_query), region=cluster.ref.region, prices=prices,
        published_when_optimized=True, limits=limits,
    )  # fmt: skip
    try:
        bills(cluster_usage(scenario, 0.0), prices)
    except (PriceUnknown, ValueError) as problem:
        raise NotReplayed(str(problem)) from None
    return ReplayedCluster(cluster=cluster, result=simulate_aurora(scenario))


def _ios(activity: AuroraActivity) -> list[float | None]:
    """Billed I/O of each period; None unless both directions were published."""
    pairs = zip(activity.read_ios.values, activity.write_ios.values, strict=True)
    return [None if r is None or w is None else r + w for r, w in pairs]


def _whole_days(start: datetime, period_s: int, count: int) -> tuple[datetime, int]:
    """The first midnight in UTC at or after `start`, and how many whole days follow it."""
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    first = midnight if midnight == start else midnight + DAY
    return first, (start + timedelta(seconds=period_s * count) - first) // DAY


def _trace(ios: Sequence[float | None], start: datetime) -> TraceWorkload:
    rows: list[TraceRow | None] = [None if n is None else (n, 0.0, n, 0.0) for n in ios]
    return TraceWorkload(rows, interval_s=300, start=start)


def _size(activity: AuroraActivity) -> float:
    used = activity.bytes_used.last()
    if used is None:
        raise NotReplayed("its size was not published in this time")
    return used / GIB


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _values(series: Series, start: datetime) -> tuple[float | None, ...]:
    """Those from `start` on."""
    return series.values[(start - series.start) // timedelta(seconds=series.period_s) :]


__all__ = ["ReplayedCluster", "replay_cluster"]
