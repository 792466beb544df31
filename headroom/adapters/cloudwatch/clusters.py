"""What CloudWatch has published about an Aurora cluster: sixteen days by five minutes, and a longer past
of its billed I/O by the hour, in one GetMetricData call each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.metric_data import Query, Statistic, Window, read, window
from headroom.domain.resources import (
    AuroraActivity,
    AuroraCluster,
    InstanceActivity,
    Series,
    VolumeActivity,
)
from headroom.domain.workload import LOOKBACK_WINDOW, PAST_WINDOW
from headroom.ports import Glance, GlanceRequest, StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

NAMESPACE = "AWS/RDS"
PERIOD_S = 300
SPAN = LOOKBACK_WINDOW + timedelta(days=1)
"""Whole days within LOOK_BACK, and the rest of the first one."""
HOUR_S = 3600
"""Five-minute counts are kept for 63 days, their sums by the hour for 455."""


_CLUSTER_METRICS: tuple[tuple[str, Statistic], ...] = (
    ("VolumeReadIOPs", "Sum"),
    ("VolumeWriteIOPs", "Sum"),
    ("VolumeBytesUsed", "Average"),
)


class CloudWatchAuroraMetrics:
    """Metrics of Aurora clusters. A scan of the fleet asks for none: fourteen days change slowly."""

    def __init__(self, client: CloudWatchClient) -> None:
        self._client = client

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """Nothing: clusters are reconciled once a day whatever their load."""
        return {}

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """Nothing, likewise."""
        return {}

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """Never: a cluster has nothing that a volume does; see `of_cluster`."""
        raise ValueError(f"{view.volume.ref.resource_id} is a cluster, whose days are read instead")

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """None, likewise."""
        return None

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Nothing, likewise."""
        return ()

    def of_cluster(self, cluster: AuroraCluster, now: datetime) -> AuroraActivity:
        """Its billed I/O, size, ACUs and commit latency until `now`; raises ReadFailed.

        Six metrics and one for each serverless member: reading it daily costs about 0.2 cents a
        month for a cluster ($0.01 per 1,000 metrics).
        """
        span = window(now, length=SPAN, period_s=PERIOD_S)
        found = read(self._client, queries(cluster), span)
        hours = window(now, length=PAST_WINDOW + timedelta(days=1), period_s=HOUR_S)
        billed = read(self._client, billed_queries(cluster), hours)
        return replace(
            activity_of(cluster, found, span), hourly_ios=_summed(tuple(billed.values()), hours)
        )


def queries(cluster: AuroraCluster) -> tuple[Query, ...]:
    """What is asked of a cluster; billed I/O are counts of five minutes, so they are summed."""
    of = tuple(_of_cluster(cluster, name, statistic) for name, statistic in _CLUSTER_METRICS)
    commits = () if cluster.writer is None else (_of_member(cluster.writer, "CommitLatency"),)
    acus = tuple(
        _of_member(one, "ServerlessDatabaseCapacity") for one in cluster.serverless_members
    )
    return (*of, *commits, *acus)


def billed_queries(cluster: AuroraCluster) -> tuple[Query, ...]:
    """What is asked of a cluster by the hour: billed reads and writes."""
    return tuple(
        _of_cluster(cluster, name, statistic)
        for name, statistic in _CLUSTER_METRICS
        if statistic == "Sum"
    )


def activity_of(
    cluster: AuroraCluster, found: Mapping[Query, Series], span: Window
) -> AuroraActivity:
    """The series as the domain has them; nothing missing is zero."""

    def of(query: Query) -> Series:
        return found.get(query, span.nothing())

    reads, writes, used = (
        of(_of_cluster(cluster, name, statistic)) for name, statistic in _CLUSTER_METRICS
    )
    commits = (
        span.nothing()
        if cluster.writer is None
        else of(_of_member(cluster.writer, "CommitLatency"))
    )
    acus = [of(_of_member(one, "ServerlessDatabaseCapacity")) for one in cluster.serverless_members]
    return AuroraActivity(
        read_ios=reads,
        write_ios=writes,
        bytes_used=used,
        acus=_summed([_since_it_exists(one) for one in acus], span),
        commit_latency_ms=commits,
    )


def _since_it_exists(acus: Series) -> Series:
    """The ACUs of a member; before its first point as many as on the mean since: it is billed from now on.

    Nothing is known of one that has published for less than an hour.
    """
    known = acus.known()
    if len(known) < HOUR_S // PERIOD_S:
        return acus
    first = next(place for place, value in enumerate(acus.values) if value is not None)
    before = (sum(known) / len(known),) * first
    return replace(acus, values=(*before, *acus.values[first:]))


def _summed(parts: Sequence[Series], span: Window) -> Series:
    """The sum of all parts, which is None where one of them published nothing."""
    if not parts:
        return Series(start=span.start, period_s=span.period_s, values=())
    columns = zip(*(part.values for part in parts), strict=True)
    sums: list[float | None] = []
    for column in columns:
        known = [value for value in column if value is not None]
        sums.append(sum(known) if len(known) == len(column) else None)
    return Series(start=span.start, period_s=span.period_s, values=tuple(sums))


def _of_cluster(cluster: AuroraCluster, metric: str, statistic: Statistic) -> Query:
    name = cluster.ref.resource_id
    return Query(
        namespace=NAMESPACE, metric=metric, dimensions=(("DBClusterIdentifier", name),),
        statistic=statistic,
    )  # fmt: skip


def _of_member(name: str, metric: str) -> Query:
    return Query(
        namespace=NAMESPACE, metric=metric, dimensions=(("DBInstanceIdentifier", name),),
        statistic="Average",
    )  # fmt: skip
