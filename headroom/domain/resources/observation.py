"""An observation at one instant: missing data is explicit and never zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headroom.domain.resources.later_names import LATER
from headroom.domain.resources.volumes import Instance, Modification, ValidStorage, Volume


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A metric on a regular grid: `values[i]` covers [start + i*period, start + (i+1)*period).

    None means that nothing was published for that period.
    """

    start: datetime
    period_s: int
    values: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if self.start.tzinfo is None:
            raise ValueError("Series.start has no time zone; pass an aware instant.")
        if self.period_s <= 0:
            raise ValueError(f"Series.period_s is {self.period_s}; it must be positive.")

    @property
    def end(self) -> datetime:
        """The instant where the last period ends."""
        return self.start + timedelta(seconds=self.period_s * len(self.values))

    def points(self) -> Iterator[tuple[datetime, float]]:
        """The periods that have a value, oldest first, as (start of period, value)."""
        start, step = self.start, timedelta(seconds=self.period_s)
        for i, value in enumerate(self.values):
            if value is not None:
                yield start + i * step, value

    def known(self) -> tuple[float, ...]:
        """The published values, oldest first."""
        return tuple([v for v in self.values if v is not None])

    def last(self) -> float | None:
        """The newest published value, None if there is none."""
        return next((v for v in reversed(self.values) if v is not None), None)

    def since(self, instant: datetime) -> Series:
        """The periods that start at or after `instant`."""
        skip = max(0, -int(-(instant - self.start).total_seconds() // self.period_s))
        return Series(
            start=self.start + timedelta(seconds=skip * self.period_s),
            period_s=self.period_s,
            values=self.values[skip:],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeActivity:
    """What a volume did, per period. All series share one grid.

    Rates are per second (CloudWatch Sum divided by the period); `*_exceeded` are 0 or 1 in periods
    of a minute, and in longer ones the number of minutes in which the check was 1.
    """

    read_iops: Series
    write_iops: Series
    read_mibps: Series
    write_mibps: Series
    queue_length: Series
    latency_ms: Series
    """Mean time per operation."""
    burst_balance_percent: Series
    iops_exceeded: Series
    throughput_exceeded: Series
    busiest_iops: Series | None = None
    """In periods longer than a minute: operations/s of the busiest one; None when not read."""
    busiest_mibps: Series | None = None
    free_gib: Series | None = field(default=None, metadata=LATER)
    """Lowest free space of a database's storage, or of the one file system of a volume; None where
    it is not published."""
    stalled: Series | None = field(default=None, metadata=LATER)
    """1 in minutes in which the volume completed no I/O that was waiting, else 0; None where it is
    not published: databases, volumes of instances that are not Nitro, and earlier days."""
    file_system_gib: Series | None = field(default=None, metadata=LATER)
    """Size of a volume's one file system; None for a database, which has none of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceActivity:
    """What all EBS volumes of an instance did together; balances come every 5 minutes."""

    iops: Series
    mibps: Series
    iops_exceeded: Series
    throughput_exceeded: Series
    io_balance_percent: Series
    byte_balance_percent: Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that a decision about one volume may use, read before it is made."""

    at: datetime
    volume: Volume
    modification: Modification | None
    """The latest modification, None when the volume was never modified."""
    activity: VolumeActivity
    """The last hours at one-minute periods."""
    history: VolumeActivity | None
    """Earlier days at five-minute periods; None when not read or not published."""
    instance: Instance | None
    instance_activity: InstanceActivity | None
    valid: tuple[ValidStorage, ...] = field(default=(), metadata=LATER)
    """The storage settings that AWS reports as valid for a database; empty if not queried."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("Observation.at has no time zone; pass an aware instant.")
