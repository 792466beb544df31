"""The true facts of one clock minute, published or not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import add
from typing import NamedTuple

from headroom.proving.physics.queue import (
    INSTANCE_BYTES,
    INSTANCE_IOPS,
    VOLUME_BYTES,
    VOLUME_IOPS,
    Bucket,
    Piece,
)

ENOUGH_S = 1 - 1e-6
"""A limit that bound for this long inside a minute sets the minute's Exceeded check."""
STARVED_SHARE = 0.01
NONE_MISSED = 1e-6
"""Share of a minute's operations that counts as rounding."""


class Waits(NamedTuple):
    """`ops` operations whose latencies lie evenly between two values, in milliseconds."""

    ops: float
    low_ms: float
    high_ms: float


class Served(NamedTuple):
    """Operations and bytes that were served."""

    read_ops: float = 0.0
    write_ops: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0


class MinuteFacts(NamedTuple):
    """One clock minute of a volume. Counts are totals over the minute, waits in milliseconds.

    Operations are the application's; `ebs_ops` counts as EBS does (256 KiB SSD, 1 MiB HDD).
    `*_exceeded` are 1 when the limit held the load back for at least a second; balances and
    limits are those at the minute's end, balances None where there is no bucket. A tuple: a simulation makes one a
    minute.
    """

    start: datetime
    inside_s: float
    """Seconds of the minute between the workload's start and end."""
    measured_s: float
    """Seconds of them that the workload measured."""
    offered_ops: float
    offered_ebs_ops: float
    offered_bytes: float
    served_ops: float
    served_read_ops: float
    served_write_ops: float
    served_read_bytes: float
    served_write_bytes: float
    served_measured: Served
    """What of it was served in the measured seconds."""
    ebs_ops: float
    queue_seen_avg: float
    """Mean VolumeQueueLength: the device reports at most its queue limit."""
    backlog_end: float
    latencies: tuple[Waits, ...]
    iops_exceeded: int
    throughput_exceeded: int
    instance_iops_exceeded: int
    instance_throughput_exceeded: int
    idle_s: float
    burst_balance_percent: float | None
    lowest_burst_balance_percent: float | None
    """Lowest of the minute, its start included."""
    instance_io_balance_percent: float | None
    instance_byte_balance_percent: float | None
    limit_iops: float
    limit_mibps: float
    due_ops: float
    """Arrivals plus the backlog at the minute's start."""
    delayed_ops: float
    """Those of them that wait longer because of the volume."""
    shortfall: float = 0.0
    """Share of the minute's load that was not served by its end because of the volume, 0 to 1."""

    @property
    def unknown(self) -> bool:
        """Whether less than half of what the workload had of the minute was measured."""
        return self.measured_s < self.inside_s / 2 or not self.inside_s

    @property
    def published(self) -> bool:
        """Whether CloudWatch would have a whole minute to publish."""
        return self.measured_s >= 60 - 1e-6

    @property
    def starved(self) -> bool:
        """Whether over 1 % of the operations due waited longer because of the volume."""
        return not self.unknown and self.delayed_ops > STARVED_SHARE * self.due_ops

    @property
    def ebs_iops(self) -> float:
        """EBS operations per second over the minute."""
        return self.ebs_ops / 60

    @property
    def latency_ms_avg(self) -> float | None:
        """Mean latency of the operations served, None when there were none."""
        ops = sum(w.ops for w in self.latencies)
        if not ops:
            return None
        return sum(w.ops * (w.low_ms + w.high_ms) / 2 for w in self.latencies) / ops


class MinuteTally:
    """Sums the pieces of one minute."""

    def __init__(self, queue_limit: float) -> None:
        self._queue_limit = queue_limit
        self.offered = self.offered_ebs = self.offered_bytes = 0.0
        self.served = self.ebs_ops = self.idle_s = 0.0
        self.total = self.measured = Served()
        self.queue_seconds = 0.0
        self.lowest_balance: float | None = None
        """Lowest level of the volume's bucket, in percent; None without one."""
        self.latencies: list[Waits] = []
        self._bound_s = dict.fromkeys(_FLAGS, 0.0)

    def add(self, piece: Piece, *, hdd: bool, service_s: float, measured: bool = True) -> None:
        """Count one piece; `service_s` is what an operation takes on a volume at rest."""
        seconds, mix = piece.end - piece.start, piece.mix
        served = piece.served * seconds
        offered, asked = piece.offered * seconds, piece.load.mix
        self.offered += offered
        self.offered_ebs += offered * (asked.hdd_ops if hdd else asked.ssd_ops)
        self.offered_bytes += offered * asked.bytes_per_op
        if piece.bound:
            for flag in _FLAGS:
                if piece.bound & flag:
                    self._bound_s[flag] += seconds
        if piece.pooled:
            asking = piece.load.outstanding - piece.served * piece.load.think_s
            self.queue_seconds += min(self._queue_limit, asking) * seconds
            service_s = 0.0
        elif served or piece.backlog_start or piece.backlog_end:
            in_service = piece.served * service_s + piece.load.outstanding
            self.queue_seconds += self._mean_reported(piece, in_service) * seconds
        if not served:
            self.idle_s += 0.0 if piece.backlog_start or piece.backlog_end else seconds
            return
        reads = served * mix.read_share
        writes = served - reads
        counts = Served(reads, writes, reads * mix.read_bytes, writes * mix.write_bytes)
        self.total = _sum(self.total, counts) if self.served else counts
        self.served += served
        if measured:
            self.measured = _sum(self.measured, counts)
        self.ebs_ops += served * (mix.hdd_ops if hdd else mix.ssd_ops)
        self._wait(
            served, 1000 * (piece.wait_start + service_s), 1000 * (piece.wait_end + service_s)
        )

    def see_balance(self, bucket: Bucket) -> None:
        """Count the lowest level of the volume's bucket in a stretch of the minute."""
        if bucket.capacity:
            percent = 100 * bucket.lowest / bucket.capacity
            known = self.lowest_balance
            self.lowest_balance = percent if known is None else min(known, percent)

    def exceeded(self, flag: int) -> int:
        """1 when the limit behind `flag` bound for at least a second, else 0."""
        return int(self._bound_s[flag] >= ENOUGH_S)

    def _wait(self, ops: float, first: float, last: float) -> None:
        low, high = min(first, last), max(first, last)
        newest = self.latencies[-1] if self.latencies else None
        if newest is not None and newest.low_ms == newest.high_ms == low == high:
            self.latencies[-1] = Waits(newest.ops + ops, low, high)
        else:
            self.latencies.append(Waits(ops, low, high))

    def _mean_reported(self, piece: Piece, in_service: float) -> float:
        """Mean queue length of the device over the piece: backlog and service, up to the limit."""
        low, high = sorted((piece.backlog_start + in_service, piece.backlog_end + in_service))
        limit = self._queue_limit
        if high <= limit:
            return (low + high) / 2
        if low >= limit:
            return limit
        below = (limit - low) / (high - low)
        return below * (low + limit) / 2 + (1 - below) * limit


def _sum(one: Served, other: Served) -> Served:
    return Served._make(map(add, one, other))


_FLAGS = (VOLUME_IOPS, VOLUME_BYTES, INSTANCE_IOPS, INSTANCE_BYTES)


def shortfall(
    real: Sequence[Piece], free: Sequence[Piece] | None, *, arrived: float, backlog: float
) -> float:
    """What came in a minute and was not served by its end because of the volume, 0 to 1.

    Of an open load: the `backlog` that the volume caused, over what `arrived` in the minute. Of a
    pool: the operations it lost, over those it does with a volume that is never the limit. `free`
    is the minute with such a volume; None where the instance never binds.
    """
    if free is None and not backlog and not any(p.load.outstanding for p in real):
        return 0.0  # as in nearly every minute of an open load
    done = sum((p.end - p.start) * p.served for p in real if p.pooled)
    if free is None:
        could = sum((p.end - p.start) * p.load.free_rate for p in real)
    else:
        could = sum((p.end - p.start) * p.served for p in free if p.pooled)
    missed = backlog + max(0.0, could - done)
    asked = arrived - done + could
    if missed <= NONE_MISSED * max(1.0, asked):
        return 0.0
    return min(1.0, missed / asked) if asked > 0 else 1.0


def delayed_by_volume(
    real: Sequence[Piece], free: Sequence[Piece] | None, *, already: float
) -> float:
    """Operations due in the minute that wait longer because of the volume.

    `free` is the same minute with a volume that is never the limit, None when nothing but the
    volume ever limits; `already` is how far the real queue was behind the free one before.
    An operation is counted once the free queue would have served it while the real one is behind.
    """
    if free is None:
        return already + sum((p.end - p.start) * p.offered for p in real if p.bound)
    total, i, j = already, 0, 0
    while i < len(real) and j < len(free):
        a, b = real[i], free[j]
        start, end = max(a.start, b.start), min(a.end, b.end)
        if end > start:
            total += b.served * (end - start) * _share_behind(a, b, start, end)
        if a.end <= b.end:
            i += 1
        if b.end <= a.end:
            j += 1
    return total


def _share_behind(real: Piece, free: Piece, start: float, end: float) -> float:
    """Share of [start, end) in which the real queue is behind the free one."""
    if real.load.outstanding:
        if not real.pooled:
            return 1.0
        share = real.served / free.served if free.served else 1.0
        return share if share < 1 - 1e-9 else 0.0
    first = _backlog_at(real, start) - _backlog_at(free, start)
    last = _backlog_at(real, end) - _backlog_at(free, end)
    noise = 1e-6 + 1e-9 * max(real.backlog_start, real.backlog_end)
    if first <= noise and last <= noise:
        return 0.0
    if first > noise > last and last < -noise:
        return first / (first - last)
    return 1.0


def _backlog_at(piece: Piece, instant: float) -> float:
    length = piece.end - piece.start
    if length <= 0:
        return piece.backlog_end
    share = (instant - piece.start) / length
    return piece.backlog_start + share * (piece.backlog_end - piece.backlog_start)
