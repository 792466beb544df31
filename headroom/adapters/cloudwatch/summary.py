"""What stood out of volumes in some days: five metrics each, one datapoint a day.

Source of the metrics: EBS User Guide, "CloudWatch metrics for EBS" (2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.ebs_queries import summary_queries
from headroom.adapters.cloudwatch.metric_data import Query, Window, read, window
from headroom.ports import StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_KIB_PER_MIB = 1024


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
    end = window(now, length=timedelta(hours=1), period_s=3_600).end
    span = Window(start=end - timedelta(days=days), period_s=86_400, periods=days)
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
