"""The few numbers that are read of storage to see whether it deserves a reconciliation."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import StrEnum


class Metric(StrEnum):
    """What a glance may read; CloudWatch bills each one."""

    IOPS_CHECK = "iops_check"
    THROUGHPUT_CHECK = "throughput_check"
    BALANCE = "balance"
    QUEUE = "queue"
    FREE = "free"
    """Free space; of databases only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What was published of storage lately, by default over the last half hour.

    None means that nothing was published, or that it was not read; it is never treated as zero.
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

    @property
    def silent(self) -> bool:
        """Whether nothing that was read had been published: a stopped instance publishes nothing."""
        return all(
            value is None
            for value in (
                self.iops_exceeded_minutes, self.throughput_exceeded_minutes,
                self.lowest_burst_balance_percent, self.longest_queue, self.lowest_free_gib,
            )
        )  # fmt: skip

    def only(self, metrics: frozenset[Metric]) -> Glance:
        """As if nothing but these metrics had been read."""
        iops, throughput = Metric.IOPS_CHECK in metrics, Metric.THROUGHPUT_CHECK in metrics
        return replace(
            self,
            iops_exceeded_minutes=self.iops_exceeded_minutes if iops else None,
            throughput_exceeded_minutes=self.throughput_exceeded_minutes if throughput else None,
            lowest_burst_balance_percent=self.lowest_burst_balance_percent
            if Metric.BALANCE in metrics
            else None,
            longest_queue=self.longest_queue if Metric.QUEUE in metrics else None,
            peak_iops=self.peak_iops if iops else None,
            peak_mibps=self.peak_mibps if throughput else None,
            slowest_ms=self.slowest_ms if iops else None,
            lowest_free_gib=self.lowest_free_gib if Metric.FREE in metrics else None,
            filled_gib=self.filled_gib if Metric.FREE in metrics else None,
        )

    def joined(self, rest: Glance) -> Glance:
        """This with what `rest` read in addition."""
        names = (each.name for each in fields(self))
        return Glance(**{
            name: getattr(self, name) if getattr(rest, name) is None else getattr(rest, name)
            for name in names
        })  # fmt: skip

    @property
    def pressed_minutes(self) -> int:
        """Minutes with more than the volume could take; one that exceeded both limits counts twice."""
        return (self.iops_exceeded_minutes or 0) + (self.throughput_exceeded_minutes or 0)
