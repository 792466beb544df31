"""Which minutes touched a limit of the volume: the smallest estimator, under all others."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headroom.domain.catalogue import HDD_IO_BYTES, MIB, Capability
from headroom.domain.observation import Series, VolumeActivity

AT_LIMIT = 0.97
"""Share of a limit that counts as touching it where AWS publishes no Exceeded check."""
EMPTY_PERCENT = 1.0
"""A bucket at or below this is taken for empty: the limit in force is the sustained one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """One measured minute: EBS operations/s, MiB/s, queue, and whether a volume limit bound."""

    at: datetime
    iops: float
    mibps: float
    queue: float | None
    latency_ms: float | None
    iops_pressed: bool
    mibps_pressed: bool
    iops_limit: float
    mibps_limit: float
    checked: bool
    """Whether AWS published an Exceeded check for this minute."""

    @property
    def pressed(self) -> bool:
        """Whether any limit of the volume bound."""
        return self.iops_pressed or self.mibps_pressed


def minutes(activity: VolumeActivity, can: Capability) -> tuple[Minute, ...]:
    """The minutes that were measured, oldest first; a minute without I/O metrics is left out."""
    found = []
    for i, (reads, writes) in enumerate(
        zip(activity.read_iops.values, activity.write_iops.values, strict=True)
    ):
        if reads is None and writes is None:
            continue
        mibps = _at(activity.read_mibps, i) + _at(activity.write_mibps, i)
        iops = max((reads or 0.0) + (writes or 0.0), mibps * MIB / can.io_bytes)
        empty = _empty(activity.burst_balance_percent.values[i], can)
        iops_limit = can.sustained_iops if empty else can.burst_iops
        mibps_limit = can.sustained_mibps if empty else can.burst_mibps
        driven = iops if can.io_bytes == HDD_IO_BYTES else mibps
        found.append(
            Minute(
                at=activity.read_iops.start + timedelta(seconds=i * activity.read_iops.period_s),
                iops=iops,
                mibps=mibps,
                queue=activity.queue_length.values[i],
                latency_ms=activity.latency_ms.values[i],
                iops_pressed=_pressed(activity.iops_exceeded.values[i], iops, iops_limit),
                mibps_pressed=_pressed(activity.throughput_exceeded.values[i], driven, mibps_limit),
                iops_limit=iops_limit,
                mibps_limit=mibps_limit,
                checked=activity.iops_exceeded.values[i] is not None
                or activity.throughput_exceeded.values[i] is not None,
            )
        )  # fmt: skip
    return tuple(found)


def _at(series: Series, i: int) -> float:
    return series.values[i] or 0.0


def _empty(balance_percent: float | None, can: Capability) -> bool:
    bucket = can.iops_credits or can.mib_credits
    return bool(bucket) and balance_percent is not None and balance_percent <= EMPTY_PERCENT


def _pressed(check: float | None, served: float, limit: float) -> bool:
    # The check looks inside the minute, an average does not: it wins wherever there is one.
    if check is not None:
        return check >= 1
    return served >= AT_LIMIT * limit


def clear_run(seen: tuple[Minute, ...]) -> int:
    """How many of the newest minutes in a row were not pressed."""
    run = 0
    for minute in reversed(seen):
        if minute.pressed:
            break
        run += 1
    return run


def episode(seen: tuple[Minute, ...], *, gap_minutes: int = 4) -> tuple[Minute, ...]:
    """The present run of pressure, oldest first; gaps of up to `gap_minutes` belong to it.

    Empty when more than `gap_minutes` of the newest minutes are clear.
    """
    first = len(seen)
    clear = 0
    for i in range(len(seen) - 1, -1, -1):
        if seen[i].pressed:
            first, clear = i, 0
        else:
            clear += 1
            if clear > gap_minutes:
                break
    return seen[first:]
