"""Reads of many resources at once: pages of every kind of storage, and batches of volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsFleet
from headroom.domain.resources import InstanceActivity, Kind, ResourceRef, VolumeActivity
from headroom.ports import FleetPage, Storage, StorageView


class AwsFleet:
    """The fleet of one account and Region.

    Volumes come in pages and batches. Databases and clusters are few: each kind is one page, and
    each of them is read alone.
    """

    def __init__(
        self, ebs: EbsFleet, metrics: CloudWatchMetrics, others: Mapping[Kind, Storage]
    ) -> None:
        self._ebs = ebs
        self._metrics = metrics
        self._others = others

    def kinds(self) -> tuple[str, ...]:
        """Every kind that the deployment covers."""
        return (Kind.EBS.value, *(kind.value for kind in self._others))

    def page(self, kind: str, cursor: str) -> FleetPage:
        """A page of volumes, or all of another kind; raises ReadFailed and CursorRejected."""
        if kind == Kind.EBS.value:
            return self._ebs.page(cursor)
        storage = self._others.get(Kind(kind))
        return FleetPage(views=() if storage is None else storage.fleet(), following=None)

    def views(self, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
        """Volumes by ARN; raises ReadFailed."""
        volumes = [ref for ref in refs if ref.kind is Kind.EBS]
        return self._ebs.views(volumes) if volumes else {}

    def activities(
        self, views: Sequence[StorageView], now: datetime
    ) -> Mapping[str, tuple[VolumeActivity, InstanceActivity | None]]:
        """The last hours of volumes by ARN; raises ReadFailed."""
        volumes = [view for view in views if view.volume.ref.kind is Kind.EBS]
        return self._metrics.activities(volumes, now) if volumes else {}
