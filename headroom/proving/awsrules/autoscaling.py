"""RDS's own storage autoscaling, and what happens to a database without free space.

Source: RDS User Guide, "Managing capacity automatically with Amazon RDS storage autoscaling"
(checked 2026-11).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

from headroom.domain.catalog.rds import at_size
from headroom.domain.resources import Configuration

LOW_SHARE = 0.10
"""Free space at or below this share of the allocated is low."""
LOW_FOR = timedelta(minutes=5)
_LEAST_GIB = 10
_AHEAD_HOURS = 7
GIB = 1_024**3


def autoscaled_size(size_gib: int, *, most_gib: int, gib_per_hour: float = 0.0) -> int | None:
    """The size autoscaling goes to, or None if that is above `most_gib`.

    Adds the largest of 10 GiB, a tenth, and seven hours of growth at the rate of the last hour.
    """
    more = max(_LEAST_GIB, ceil(size_gib / 10), ceil(gib_per_hour * _AHEAD_HOURS))
    size = size_gib + more
    return size if size <= most_gib else None


def autoscaled_iops(storage: Configuration, size_gib: int) -> int | None:
    """The IOPS that it has at the larger size: gp3 of several volumes must have some, that of one has none."""
    grown = at_size(
        storage, storage.volume_type, size_gib,
        iops=storage.iops or 0, mibps=storage.throughput_mibps or 0,
    )  # fmt: skip
    return storage.iops if grown is None else grown.iops


class FreeSpace:
    """Free space by the minute, and since when it is low."""

    def __init__(self) -> None:
        self._low_since: datetime | None = None
        self._reported_low = False
        self.full = False

    def see(self, now: datetime, free_gib: float, size_gib: int) -> tuple[str, ...]:
        """Update with the free space of a minute; returns the ids of the events that RDS sends."""
        low = free_gib <= LOW_SHARE * size_gib
        self._low_since = (self._low_since or now) if low else None
        events: list[str] = []
        if low and not self._reported_low:
            events.append("RDS-EVENT-0089")
        self._reported_low = low
        full = free_gib <= 0
        if full and not self.full:
            events += ["RDS-EVENT-0221", "RDS-EVENT-0007"]
        self.full = full
        return tuple(events)

    def needs_autoscaling(self, now: datetime) -> bool:
        """Whether space has been low long enough for autoscaling."""
        return self._low_since is not None and now - self._low_since >= LOW_FOR
