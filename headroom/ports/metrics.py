"""What CloudWatch has published of a volume, its instance and the fleet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.resources import InstanceActivity, ResourceRef, VolumeActivity
from headroom.ports.storage import StorageView


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The few numbers that a fleet scan reads per volume, over the last half hour.

    None means that nothing was published; it is never treated as zero.
    """

    iops_exceeded_minutes: int | None
    throughput_exceeded_minutes: int | None
    lowest_burst_balance_percent: float | None
    longest_queue: float | None
    peak_iops: float | None = None
    """Busiest minute's operations/s; read only where AWS publishes no Exceeded check."""
    peak_mibps: float | None = None
    slowest_ms: float | None = None
    """Highest mean latency of a busy minute, calculated from queue and operations by Little's law;
    for databases only, for which AWS publishes no Exceeded check."""
    lowest_free_gib: float | None = None
    """Least free space of a database; None for a volume, which does not report it."""
    filled_gib: float | None = None
    """Decrease of the free space over that time."""


class Metrics(Protocol):
    """Reads what CloudWatch has published until `now`."""

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by resource id, in batches of 500 metrics a call."""

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Rates, checks and credits that are kept of the time between, oldest first.

        In periods of an hour until 63 days ago, then of five minutes. Raises ReadFailed.
        """

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """Volumes that contribute to this alarm's ALARM state right now."""
