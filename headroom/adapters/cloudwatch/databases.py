"""What CloudWatch has published about databases and their instances, read with GetMetricData."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from headroom.adapters.cloudwatch.history import older_windows
from headroom.adapters.cloudwatch.metric_data import Query, read, read_most, window
from headroom.adapters.cloudwatch.metrics import ACTIVITY, GLANCE, HISTORY
from headroom.adapters.cloudwatch.past import PastReads
from headroom.adapters.cloudwatch.rds_metrics import (
    NOTHING,
    PerVolume,
    balance_queries,
    glance_of,
    glance_queries,
    instance_activity,
    instance_queries,
    members,
    per_volume,
    profile_queries,
    several_volumes,
    storage_activity,
    storage_queries,
)
from headroom.adapters.errors import reading
from headroom.domain.resources import InstanceActivity, Series, Volume, VolumeActivity
from headroom.ports import Glance, GlanceRequest, ReadFailed, StorageView

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

LISTED_FOR = timedelta(hours=1)
"""How long a list of the metrics of single volumes counts."""
_log = logging.getLogger(__name__)


class CloudWatchRdsMetrics:
    """Metrics of databases. `glance` is how far a Glance looks back, in whole minutes."""

    def __init__(self, client: CloudWatchClient, *, glance: timedelta = GLANCE) -> None:
        self._client = client
        self._glance = glance
        self._past = PastReads()
        self._listed: tuple[datetime, PerVolume] | None = None

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance at the last half hour of every database, by resource id; raises ReadFailed.

        Six metrics of each instance, seven on gp2, three times that of a cluster: a scan every 15
        minutes costs $175 a month per 1,000 gp3 databases, $204 per 1,000 on gp2 (2,920 scans,
        $0.01 per 1,000 metrics).
        """
        return self.glances(
            [GlanceRequest(view=view, metrics=None, back=self._glance) for view in views], now
        )

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """The same with only the metrics asked for, one call for each time that they look back.

        Without those of which CloudWatch does not answer every metric.
        """
        seen: dict[str, Glance] = {}
        for back in dict.fromkeys(one.back for one in asked):
            same = {one.view.volume: one.metrics for one in asked if one.back == back}
            span = window(now, length=back, period_s=60)
            volumes = self._volumes_for_glances(same, now)
            mine = {
                one: tuple(glance_queries(one, wanted, volumes)) for one, wanted in same.items()
            }
            found = read_most(self._client, chain(*mine.values()), span)
            seen |= {
                one.ref.resource_id: glance_of(one, found, span, volumes)
                for one, own in mine.items()
                if found.keys() >= set(own)
            }
        return seen

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods; raises ReadFailed.

        The instance's activity is that of the storage, with its balances on a grid of their own.
        """
        _member_of(view)
        span = window(now, length=ACTIVITY, period_s=60)
        volumes = self._volumes([view.volume], now)
        queries = (*storage_queries(view.volume, volumes=volumes), *instance_queries(view.volume))
        found = _own_activity(read(self._client, queries, span), view.volume)
        own = storage_activity(view.volume, found, span, volumes)
        if view.instance is None:
            return own, None
        slow_span = window(now, length=ACTIVITY, period_s=300)
        slow = read(self._client, balance_queries(view.volume, view.instance), slow_span)
        slow = _own_activity(slow, view.volume)
        return own, instance_activity(view.volume, own, found, span, slow, slow_span)

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published.

        What this process read of them in the last hours is not read again. Raises ReadFailed.
        """
        _member_of(view)
        span = window(now, length=HISTORY, period_s=300)
        volumes = self._volumes([view.volume], now)
        queries = storage_queries(view.volume, span.period_s, volumes)
        found = self._past.read(partial(read, self._client), queries, span)
        found = _own_activity(found, view.volume)
        if not any(series.known() for series in found.values()):
            return None
        return storage_activity(view.volume, found, span, volumes)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Hours, then five minutes of the time between, in one call each; raises ReadFailed.

        Both of 400 days are 8 to 10 metrics of a member, $0.0001.
        """
        _member_of(view)
        volume = view.volume
        volumes = self._volumes([volume], now)
        queries = profile_queries(volume, volumes)
        return tuple(
            storage_activity(
                volume, _own_activity(read(self._client, queries, span), volume), span, volumes
            )
            for span in older_windows(now, since, until)
        )

    def _volumes(self, volumes: Iterable[Volume], now: datetime) -> PerVolume:
        """What CloudWatch lists of single volumes, where one of `volumes` is one of several; raises ReadFailed."""
        if not any(map(several_volumes, volumes)):
            return NOTHING
        listed = self._listed  # another thread may replace it meanwhile
        if listed is None or not timedelta(0) <= now - listed[0] < LISTED_FOR:
            self._listed = listed = now, _list(self._client)
        return listed[1]

    def _volumes_for_glances(self, volumes: Iterable[Volume], now: datetime) -> PerVolume:
        """The same; a list that cannot be read is empty: the databases of one volume are glanced at all the same."""
        try:
            return self._volumes(volumes, now)
        except ReadFailed as failed:
            _log.warning("metrics of additional storage volumes are not known: %s", failed)
            return NOTHING


def unmeasured(client: CloudWatchClient, volumes: Iterable[Volume]) -> tuple[Volume, ...]:
    """Those that are one of several of their instance and have no listed metrics of their own; raises ReadFailed."""
    several = tuple(filter(several_volumes, volumes))
    listed = _list(client) if several else NOTHING
    return tuple(volume for volume in several if not storage_queries(volume, volumes=listed))


def _list(client: CloudWatchClient) -> PerVolume:
    with reading("ListMetrics of RDS volumes"):
        pages = client.get_paginator("list_metrics").paginate(
            Namespace="AWS/RDS", MetricName="ReadIOPS", Dimensions=[{"Name": "VolumeName"}]
        )
        return per_volume(each["Dimensions"] for page in pages for each in page["Metrics"])  # type: ignore[misc]


def _own_activity(found: Mapping[Query, Series], volume: Volume) -> dict[Query, Series]:
    """What was published since the database has its name: before, another one may have had it."""
    return {query: _from(series, volume.created_at) for query, series in found.items()}


def _from(series: Series, begin: datetime) -> Series:
    skip = max(0, -int(-(begin - series.start).total_seconds() // series.period_s))
    if not skip:
        return series
    nothing = (None,) * min(skip, len(series.values))
    return replace(series, values=nothing + series.values[skip:])


def _member_of(view: StorageView) -> None:
    if not members(view.volume):
        raise ReadFailed(f"{view.volume.ref.resource_id} names no DB instance to measure")
