"""What stood out of storage in some days: few metrics each, one datapoint a day.

Source of the metrics: EBS User Guide, "CloudWatch metrics for EBS"; RDS User Guide, "Amazon CloudWatch metrics for
Amazon RDS" (2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.ebs_queries import summary_queries
from headroom.adapters.cloudwatch.metric_data import Query, Window, read, window
from headroom.adapters.cloudwatch.rds_metrics import summary_queries as database_queries
from headroom.ports import StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_KIB_PER_MIB = 1024
_GIB, _MIB = 1024**3, 1024**2


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSummary:
    """The extremes of a volume's days; None for what was not published."""

    exceeded_minutes: int | None
    """Minutes in which an Exceeded check of the volume was 1; the larger of the two."""
    lowest_burst_balance_percent: float | None
    busiest_iops: float | None
    """Operations/s of the busiest minute; published for volumes of Nitro instances alone."""
    busiest_mibps: float | None


def summaries(
    client: CloudWatchClient, views: Sequence[StorageView], now: datetime, *, days: int
) -> Mapping[str, LoadSummary]:
    """The summary of the last `days` days of every volume, by volume id; raises ReadFailed.

    At most five metrics of an attached volume, none of a detached one.
    """
    span = _whole_days(now, days)
    asked = {view.volume.ref.resource_id: summary_queries(view.volume) for view in views}
    found = read(client, (q for queries in asked.values() for q in queries.values()), span)

    def summary(queries: Mapping[str, Query]) -> LoadSummary:
        known = {name: found[query].known() for name, query in queries.items()}
        checks = [
            known[name] for name in ("iops_exceeded", "throughput_exceeded") if known.get(name)
        ]
        kib = max(known.get("busiest_kib", ()), default=None)
        return LoadSummary(
            exceeded_minutes=max((int(sum(each)) for each in checks), default=None),
            lowest_burst_balance_percent=min(known.get("burst_balance", ()), default=None),
            busiest_iops=max(known.get("busiest_iops", ()), default=None),
            busiest_mibps=None if kib is None else kib / _KIB_PER_MIB,
        )

    return {name: summary(queries) for name, queries in asked.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSummary:
    """The extremes of a database's days, of its busiest member; None for what was not published."""

    busiest_iops: float | None
    """At most: the busiest minutes of reads and of writes need not be the same."""
    busiest_mibps: float | None
    """Likewise."""
    longest_queue: float | None
    lowest_burst_balance_percent: float | None
    free_gib: tuple[float, ...]
    """The lowest of each day on which it was published, the oldest first."""


def database_summaries(
    client: CloudWatchClient, views: Sequence[StorageView], now: datetime, *, days: int
) -> Mapping[str, DatabaseSummary]:
    """The summary of the last `days` days of every database, by resource id; raises ReadFailed.

    At most seven metrics of each member.
    """
    asked = {view.volume.ref.resource_id: database_queries(view.volume) for view in views}
    every = (q for members in asked.values() for one in members for q in one.values())
    found = read(client, every, _whole_days(now, days))

    def summary(members: Sequence[Mapping[str, Query]]) -> DatabaseSummary:
        known = [{name: found[q].known() for name, q in one.items()} for one in members]

        def most(*names: str) -> float | None:
            sums = (sum(max(one[n]) for n in names) for one in known if all(one[n] for n in names))
            return max(sums, default=None)

        bytes_a_second = most("ReadThroughput", "WriteThroughput")
        balances = (value for one in known for value in one.get("BurstBalance", ()))
        free = zip(*(one["FreeStorageSpace"] for one in known), strict=False)
        return DatabaseSummary(
            busiest_iops=most("ReadIOPS", "WriteIOPS"),
            busiest_mibps=None if bytes_a_second is None else bytes_a_second / _MIB,
            longest_queue=most("DiskQueueDepth"),
            lowest_burst_balance_percent=min(balances, default=None),
            free_gib=tuple(min(day) / _GIB for day in free),
        )

    return {name: summary(members) for name, members in asked.items()}


def _whole_days(now: datetime, days: int) -> Window:
    end = window(now, length=timedelta(hours=1), period_s=3_600).end
    return Window(start=end - timedelta(days=days), period_s=86_400, periods=days)
