"""What CloudWatch still keeps of the past of storage, at the finest period it keeps it at.

Retention: 1-minute datapoints 15 days, 5-minute 63 days, 1-hour 455 days. Source: CloudWatch User
Guide, "Metrics retention" (2026-09). Reads with GetMetricData only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.ebs_metrics import instance_activity, volume_activity
from headroom.adapters.cloudwatch.ebs_queries import instance_queries, volume_queries
from headroom.adapters.cloudwatch.metric_data import QUERIES_PER_CALL, Query, Window, read
from headroom.adapters.cloudwatch.rds_metrics import storage_activity, storage_queries
from headroom.domain.resources import InstanceActivity, Kind, Series, VolumeActivity
from headroom.ports import StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

LONGEST_DAYS = 455
"""The past beyond is not kept at any period."""
KEPT = ((timedelta(days=15), 60), (timedelta(days=63), 300), (None, 3_600))
"""How far back which period (seconds) is asked for, finest first."""
LEEWAY = timedelta(hours=1)
"""The oldest hour of a period may go while it is read; the next longer period covers it."""
DATAPOINTS_PER_PAGE = 100_800
"""Source: CloudWatch API reference, GetMetricData (2026-09)."""

Past = tuple[tuple[VolumeActivity, InstanceActivity | None], ...]
"""A volume's past in parts, oldest first, each at its own period; as Metrics.activity returns it."""


class CloudWatchHistory:
    """The past of volumes and databases of one account and Region."""

    def __init__(self, client: CloudWatchClient) -> None:
        self._client = client

    def read(self, views: Sequence[StorageView], now: datetime, days: float) -> Mapping[str, Past]:
        """The last `days` days of each volume, by volume id; raises ReadFailed.

        Instances come with their Exceeded checks and with what all their volumes did together.
        """
        found: dict[str, list[tuple[VolumeActivity, InstanceActivity | None]]] = {
            view.volume.ref.resource_id: [] for view in views
        }
        for span in windows(now, days):
            queries = [query for view in views for query in _queries(view, span.period_s)]
            series = read(self._client, queries, span)
            for view in views:
                found[view.volume.ref.resource_id].append(_part(view, series, span))
        return {name: tuple(parts) for name, parts in found.items()}


def windows(now: datetime, days: float) -> tuple[Window, ...]:
    """The grids that cover the last `days` days, oldest first, each where its period is kept.

    They join without a gap or an overlap; the last one ends with the last whole minute.
    """
    end = _floor(now, 60)
    return _grids(end, end - timedelta(days=days), end, KEPT)


def older_windows(now: datetime, since: datetime, until: datetime) -> tuple[Window, ...]:
    """The same for the time between, in periods of five minutes and of an hour."""
    return _grids(_floor(now, 60), _ceiling(since, 3_600), _ceiling(until, 3_600), KEPT[1:])


def _grids(
    end: datetime,
    start: datetime,
    until: datetime,
    retention: Sequence[tuple[timedelta | None, int]],
) -> tuple[Window, ...]:
    spans: list[Window] = []
    for kept, period_s in retention:
        begin = start if kept is None else max(start, _ceiling(end - kept + LEEWAY, 3_600))
        if begin >= until:
            continue
        begin = _floor(begin, period_s)
        periods = int((until - begin).total_seconds()) // period_s
        if periods:
            spans.append(Window(start=begin, period_s=period_s, periods=periods))
            until = begin
    return tuple(reversed(spans))


def batches(
    views: Sequence[StorageView], now: datetime, days: float
) -> Iterator[tuple[StorageView, ...]]:
    """`views` in groups that one call of GetMetricData can answer, at least one volume each."""
    spans = windows(now, days)
    longest = max((span.periods for span in spans), default=1)
    coarsest = max((span.period_s for span in spans), default=60)
    group: list[StorageView] = []
    asked: set[Query] = set()
    for view in views:
        queries = set(_queries(view, coarsest))
        count = len(asked | queries)
        if group and (count > QUERIES_PER_CALL or count * longest > DATAPOINTS_PER_PAGE):
            yield tuple(group)
            group, asked = [], set()
        group.append(view)
        asked |= queries
    if group:
        yield tuple(group)


def _part(
    view: StorageView, series: Mapping[Query, Series], span: Window
) -> tuple[VolumeActivity, InstanceActivity | None]:
    if view.volume.ref.kind is Kind.RDS:  # which publishes no check, of its instance either
        return storage_activity(view.volume, series, span), None
    of_instance = (
        None
        if view.instance is None
        else instance_activity(view.instance, series, span, slow={}, slow_span=span)
    )
    return volume_activity(view.volume, series, span), of_instance


def _queries(view: StorageView, period_s: int) -> tuple[Query, ...]:
    if view.volume.ref.kind is Kind.RDS:
        return storage_queries(view.volume, period_s)
    own = volume_queries(view.volume, period_s)
    of_instance = () if view.instance is None else instance_queries(view.instance)
    return tuple(dict.fromkeys((*own, *of_instance)))


def _floor(instant: datetime, period_s: int) -> datetime:
    return datetime.fromtimestamp(instant.timestamp() // period_s * period_s, UTC)


def _ceiling(instant: datetime, period_s: int) -> datetime:
    return datetime.fromtimestamp(-(-instant.timestamp() // period_s) * period_s, UTC)
