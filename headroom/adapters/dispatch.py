"""One Storage and one Metrics over several kinds of storage, by the kind of what is asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from headroom.domain.resources import (
    Configuration,
    InstanceActivity,
    Kind,
    ResourceRef,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import Outcome, Refusal, declined
from headroom.ports import (
    Glance,
    GlanceRequest,
    Metrics,
    NotCovered,
    ReadFailed,
    ResourceGone,
    Storage,
    StorageView,
)

CLUSTER = "cluster:"
"""What the id of a cluster begins with until it is known whether it is Aurora's."""
NOT_COVERED = "storage of kind {} is not covered here"


class StorageByKind:
    """Storage of several kinds; a kind that does not answer never hides the others."""

    def __init__(self, storages: Mapping[Kind, Storage]) -> None:
        self._storages = storages

    def fleet(self) -> Iterator[StorageView]:
        """All of every kind, kind after kind; raises ReadFailed at the end if one of them failed."""
        failed: list[str] = []
        for kind, storage in self._storages.items():
            try:
                yield from storage.fleet()
            except ReadFailed as error:
                failed.append(f"{kind.value}: {error}")
            except Exception as error:  # a fault of ours in one kind hides no other either
                failed.append(f"{kind.value}: {type(error).__name__}: {error}")
        if failed:
            raise ReadFailed("; ".join(failed))

    def view(self, ref: ResourceRef) -> StorageView:
        """One resource of any kind; raises ResourceGone, and NotCovered for a kind that is left out.

        The ARN of a cluster does not distinguish Aurora from a Multi-AZ DB cluster: what is asked for as
        `cluster:NAME` is found as either, and the view says as which.
        """
        storage = self._storages.get(ref.kind)
        clusters = self._storages.get(Kind.AURORA)
        maybe = ref.kind is Kind.RDS and ref.resource_id.startswith(CLUSTER)
        try:
            if storage is None:
                raise NotCovered(NOT_COVERED.format(ref.kind.value))
            return storage.view(ref)
        except ResourceGone as gone:
            if clusters is None or not maybe or gone.another or gone.instead is not None:
                raise
        name = ref.resource_id.removeprefix(CLUSTER)
        return clusters.view(replace(ref, kind=Kind.AURORA, resource_id=name))

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """The volumes attached to an EC2 instance: only they can be of one set."""
        storage = self._storages.get(Kind.EBS)
        return () if storage is None else storage.attached(instance_id)

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
        decided_on: Volume | None = None,
    ) -> Outcome:
        """The one write, by the storage of that kind."""
        storage = self._storages.get(ref.kind)
        if storage is None:
            return declined(Refusal.UNSUPPORTED, NOT_COVERED.format(ref.kind.value))
        return storage.apply(
            ref, expected=expected, seen=seen, target=target, decided_on=decided_on
        )


class KindMetrics(Protocol):
    """Metrics of one kind of storage."""

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]: ...
    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]: ...
    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]: ...
    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None: ...
    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]: ...


class MetricsByKind:
    """Metrics of several kinds: those of volumes, which read alarms too, and those of others."""

    def __init__(self, of_volumes: Metrics, others: Mapping[Kind, KindMetrics]) -> None:
        self._of_volumes = of_volumes
        self._others = others

    def _of(self, view: StorageView) -> KindMetrics:
        return self._others.get(view.volume.ref.kind, self._of_volumes)

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for each; the views are of one kind, as a scan batches them.

        Raises ReadFailed, and ValueError for views of several kinds: their ids may be the same.
        """
        if len({view.volume.ref.kind for view in views}) > 1:
            raise ValueError("a glance is at storage of one kind")
        return self._of(views[0]).glance(views, now) if views else {}

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """The same of the metrics asked for."""
        if len({one.view.volume.ref.kind for one in asked}) > 1:
            raise ValueError("a glance is at storage of one kind")
        return self._of(asked[0].view).glances(asked, now) if asked else {}

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last hours, as its kind publishes them."""
        return self._of(view).activity(view, now)

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """Earlier days, as its kind publishes them."""
        return self._of(view).history(view, now)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Weeks and months ago, as its kind publishes them."""
        return self._of(view).older_history(view, now, since=since, until=until)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """What contributes to an alarm, of every kind that is covered here."""
        kinds = {Kind.EBS, *self._others}
        return tuple(r for r in self._of_volumes.contributors(alarm_name) if r.kind in kinds)
