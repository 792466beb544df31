"""Reads of a batch made together, handed out in place of single reads; each is used once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from threading import Lock

from headroom.domain.resources import (
    Configuration,
    InstanceActivity,
    ResourceRef,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import Outcome
from headroom.ports import (
    FleetReads,
    Glance,
    GlanceRequest,
    Metrics,
    Ports,
    ReadFailed,
    Storage,
    StorageView,
)

Activity = tuple[VolumeActivity, InstanceActivity | None]


def with_batch_reads(
    ports: Ports, refs: Sequence[ResourceRef], now: datetime
) -> tuple[Ports, Mapping[str, StorageView]]:
    """Ports that have read these resources at `now` already, and their views by ARN.

    What could not be read together is read alone when it is asked for, and fails alone.
    """
    if ports.fleet is None or len(refs) < 2:
        return ports, {}
    views = _views(ports.fleet, refs)
    activities = _activities(ports.fleet, tuple(views.values()), now)
    storage = PrefetchedStorage(ports.storage, views)
    metrics = PrefetchedMetrics(ports.metrics, views, activities, now)
    return replace(ports, storage=storage, metrics=metrics), views


def _views(fleet: FleetReads, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
    try:
        return fleet.views(refs)
    except ReadFailed:
        return {}


def _activities(
    fleet: FleetReads, views: Sequence[StorageView], now: datetime
) -> Mapping[str, Activity]:
    try:
        return fleet.activities(views, now) if views else {}
    except ReadFailed:
        return {}


class PrefetchedStorage:
    """Storage whose first view of a resource was read with its batch; all else is read now.

    A change is never judged by a view of before it: reading a striped set drops what was read
    of the volumes beside it, and a second view is read anew.
    """

    def __init__(self, storage: Storage, views: Mapping[str, StorageView]) -> None:
        self._storage = storage
        self._views = dict(views)
        self._lock = Lock()

    def fleet(self) -> Iterator[StorageView]:
        """Read now."""
        return self._storage.fleet()

    def view(self, ref: ResourceRef) -> StorageView:
        """The view that was read with the batch, once."""
        with self._lock:
            found = self._views.pop(ref.arn, None)
        return self._storage.view(ref) if found is None else found

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Read now; the volumes of this instance are read anew afterwards."""
        with self._lock:
            for arn, view in list(self._views.items()):
                if instance_id in view.volume.instance_ids:
                    del self._views[arn]
        return self._storage.attached(instance_id)

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        """The change itself, which reads again right before."""
        return self._storage.apply(
            ref, expected=expected, seen=seen, target=target, decided_on=decided_on
        )


class PrefetchedMetrics:
    """Metrics whose recent activity was read with the batch; all else is read now."""

    def __init__(
        self, metrics: Metrics, views: Mapping[str, StorageView],
        activities: Mapping[str, Activity], now: datetime,
    ) -> None:  # fmt: skip
        self._metrics = metrics
        self._views = views
        self._activities = activities
        self._now = now

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """Read now."""
        return self._metrics.glance(views, now)

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """Read now."""
        return self._metrics.glances(asked, now)

    def activity(self, view: StorageView, now: datetime) -> Activity:
        """What was read with the batch, for the same view at the same instant."""
        arn = view.volume.ref.arn
        if now == self._now and view is self._views.get(arn) and arn in self._activities:
            return self._activities[arn]
        return self._metrics.activity(view, now)

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """Read now: two volumes' fourteen days fill a call."""
        return self._metrics.history(view, now)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Read now."""
        return self._metrics.older_history(view, now, since=since, until=until)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """Read now."""
        return self._metrics.contributors(alarm_name)
