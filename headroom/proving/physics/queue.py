"""A volume and its instance as an exact fluid queue: from one event to the next, no time step.

Operations flow in at a constant rate, wait in the order they came, and flow out at the rate of
the tightest limit. Between two events (a bucket runs empty, a backlog ends, a load changes)
everything is linear, so nothing is lost to a step size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from headroom.domain.catalog.ebs import HDD_IO_BYTES, MIB, capability
from headroom.domain.resources import Configuration, InstanceLimits
from headroom.proving.physics.fairness import Rates, fair_left
from headroom.proving.workloads import Load, Mix

VOLUME_IOPS, VOLUME_BYTES, INSTANCE_IOPS, INSTANCE_BYTES = 1, 2, 4, 8
"""Flags for the limits that bind in a `Piece`."""
INSTANCE_BURST_S = 30 * 60
"""An instance sustains its maximum for 30 minutes from a full balance."""
ABOVE = 1 + 1e-12
"""Rates this close to a limit are at it, not above it."""
NEAR = 1 + 1e-9
INSTANT_S = 1e-6
"""Anything shorter counts as zero: a year into a load, its clock cannot resolve less."""
NO_OPS = 1e-7
"""A backlog of fewer operations counts as empty."""


class Bucket:
    """Credits that refill at a base rate and are spent at what is driven above it.

    An empty bucket allows the base rate: whatever is earned then is spent in the same instant,
    which is the limit that ever finer time steps approach.
    """

    __slots__ = ("capacity", "level", "lowest")

    def __init__(self, capacity: float, level: float | None = None) -> None:
        self.capacity = capacity
        self.level = capacity if level is None else min(level, capacity)
        self.lowest = self.level

    def allowed(self, base: float, peak: float) -> float:
        """The rate that may be driven now."""
        return peak if self.level > 0 else base

    def until_empty(self, base: float, used: float) -> float:
        """Seconds until the level reaches zero at `used`; infinite if it does not fall."""
        return self.level / (used - base) if used > base and self.level > 0 else inf

    def spend(self, base: float, used: float, seconds: float) -> None:
        """Let `seconds` pass at `used`."""
        level = min(self.capacity, self.level + (base - used) * seconds)
        self.level = level if level > 1e-9 * self.capacity else 0.0
        self.lowest = min(self.lowest, self.level)

    @property
    def percent(self) -> float:
        """Level in percent of the capacity; 100 where there is no bucket at all."""
        return 100 * self.level / self.capacity if self.capacity else 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeLimits:
    """Limits of a configuration in EBS operations per second and bytes per second."""

    base_ops: float
    burst_ops: float
    burst_bytes: float
    credits: float
    hdd: bool


def volume_limits(configuration: Configuration) -> VolumeLimits:
    """The limits that the catalogue documents for `configuration`."""
    can = capability(configuration)
    return VolumeLimits(
        base_ops=can.sustained_iops,
        burst_ops=can.burst_iops,
        burst_bytes=can.burst_mibps * MIB,
        credits=can.iops_credits or can.mib_credits,
        hdd=can.io_bytes == HDD_IO_BYTES,
    )


class InstanceShare:
    """What an instance leaves for one volume: the load of its other volumes comes first.

    Volumes `beside` it share the rest with it; they want these operations and bytes per second.
    """

    def __init__(self, limits: InstanceLimits, *, other_iops: float, other_mibps: float) -> None:
        self._ops = (float(limits.baseline_iops), float(limits.maximum_iops))
        self._bytes = (limits.baseline_mibps * MIB, limits.maximum_mibps * MIB)
        self.set_others(other_iops, other_mibps)
        self.beside: tuple[Rates, ...] = ()
        self.iops = Bucket(INSTANCE_BURST_S * (self._ops[1] - self._ops[0]))
        self.bytes = Bucket(INSTANCE_BURST_S * (self._bytes[1] - self._bytes[0]))

    def set_others(self, iops: float, mibps: float) -> None:
        """Let the other volumes ask for these rates from now on."""
        self._other = (iops, mibps * MIB)

    def shared(self) -> Rates:
        """Operations and bytes per second that are left now for all that share them."""
        return (
            max(0.0, self.iops.allowed(*self._ops) - self._other[0]),
            max(0.0, self.bytes.allowed(*self._bytes) - self._other[1]),
        )

    def left(self) -> Rates:
        """Operations and bytes per second that are left now for this volume."""
        ops, size = self.shared()
        if not self.beside:
            return ops, size
        return (
            fair_left(ops, (want for want, _ in self.beside)),
            fair_left(size, (want for _, want in self.beside)),
        )

    def until_empty(self, ops: float, size: float) -> float:
        """Seconds until one of the two balances is used up at these rates."""
        used_ops, used_bytes = self._with_others(ops, size)
        return min(
            self.iops.until_empty(self._ops[0], used_ops),
            self.bytes.until_empty(self._bytes[0], used_bytes),
        )

    def spend(self, ops: float, size: float, seconds: float) -> None:
        """Let `seconds` pass at these rates."""
        used_ops, used_bytes = self._with_others(ops, size)
        self.iops.spend(self._ops[0], used_ops, seconds)
        self.bytes.spend(self._bytes[0], used_bytes, seconds)

    def _with_others(self, ops: float, size: float) -> Rates:
        ops += min(self._other[0], self.iops.allowed(*self._ops))
        size += min(self._other[1], self.bytes.allowed(*self._bytes))
        if self.beside:
            wants = [sum(want) for want in zip(*self.beside, strict=True)]
            ops += max(0.0, min(wants[0], self.iops.allowed(*self._ops) - ops))
            size += max(0.0, min(wants[1], self.bytes.allowed(*self._bytes) - size))
        return ops, size


class Piece(NamedTuple):
    """A stretch between two events: rates in operations per second, waits in seconds.

    `bound` holds the flags of the limits that held the load back.
    """

    start: float
    end: float
    backlog_start: float
    backlog_end: float
    offered: float
    served: float
    mix: Mix
    wait_start: float
    wait_end: float
    bound: int
    load: Load

    @property
    def pooled(self) -> bool:
        """Whether a pool was served; its workers wait while an earlier backlog is worked off."""
        return self.load.outstanding > 0 and not self.backlog_start


class _Batch:
    """Operations that came at one rate and wait: the oldest of them came at `since`."""

    __slots__ = ("load", "ops", "since")

    def __init__(self, load: Load, since: float) -> None:
        self.load, self.ops, self.since = load, 0.0, since


class _Held:
    """Workers of a pool that waited for an earlier backlog: `ops` operations took `wait_s` longer."""

    __slots__ = ("load", "ops", "wait_s")

    def __init__(self, load: Load) -> None:
        self.load, self.ops, self.wait_s = load, load.outstanding, 0.0


class VolumeQueue:
    """One fluid queue; `volume` None means a volume that is never the limit."""

    def __init__(self, instance: InstanceShare | None) -> None:
        self.instance = instance
        self.volume: VolumeLimits | None = None
        self.credits = Bucket(0.0)
        self.backlog = 0.0
        self._queue: deque[_Batch] = deque()
        self._held: _Held | None = None

    @property
    def held_ops(self) -> float:
        """Operations to come that workers asked for behind an earlier backlog."""
        return 0.0 if self._held is None else self._held.ops

    def waiting(self) -> Rates:
        """EBS operations and bytes that wait now."""
        return (
            sum(batch.ops * batch.load.mix.ssd_ops for batch in self._queue),
            sum(batch.ops * batch.load.mix.bytes_per_op for batch in self._queue),
        )

    def count_from(self, seconds: float) -> None:
        """Count time from `seconds` later on."""
        for batch in self._queue:
            batch.since -= seconds

    def run(self, start: float, end: float, load: Load) -> Iterator[Piece]:
        """Pass from `start` to `end` (seconds) under one load and one configuration."""
        now = start
        if self._held is not None and self._held.load is not load:
            self._held = None
        while end - now > 1e-9:
            pooled = load.outstanding and not self.backlog  # workers wait behind what came earlier
            piece = self._pooled(now, end, load) if pooled else self._open(now, end, load)
            now = piece.end
            yield piece

    def _pooled(self, now: float, end: float, load: Load) -> Piece:
        mix, wanted = load.mix, load.free_rate
        cap, bound = self._tightest(mix)
        served = min(wanted, cap)
        held = self._held
        lasts = held.ops / served if held is not None and served > 0 else inf
        until = self._pass(now, min(end, now + lasts), mix, served)
        latency = load.outstanding / served - load.think_s if served > 0 else 0.0
        if held is not None:
            latency += held.wait_s
            held.ops -= served * (until - now)
            if until - now >= lasts - INSTANT_S:
                self._held = None
        return Piece(
            now, until, 0.0, 0.0, served, served, mix, latency, latency,
            bound if wanted > cap * ABOVE else 0, load,
        )  # fmt: skip

    def _open(self, now: float, end: float, load: Load) -> Piece:
        before = self.backlog
        mix = self._queue[0].load.mix if before else load.mix
        cap, bound = self._tightest(mix)
        offered = load.ops_per_s
        if not before and offered <= cap * ABOVE:
            until = self._pass(now, end, mix, offered)
            return Piece(now, until, 0.0, 0.0, offered, offered, mix, 0.0, 0.0, 0, load)
        tail = self._joining(now, load)
        head = self._queue[0]
        net = cap - (offered if head is tail else 0.0)
        lasts = head.ops / net if net > 0 else inf
        until = self._pass(now, min(end, now + lasts), mix, cap)
        seconds, served = until - now, cap * (until - now)
        wait = now - head.since
        since = head.since + served / head.load.ops_per_s
        if tail is not None:
            tail.ops += offered * seconds
        head.ops = head.ops - served if seconds < lasts - INSTANT_S else 0.0
        head.since = since
        self._settle(tail, before + offered * seconds - served)
        if load.outstanding:
            self._held = self._held or _Held(load)
            self._held.wait_s += seconds
        return Piece(
            now, until, before, self.backlog, offered, cap, mix, wait, until - since, bound, load
        )

    def _joining(self, now: float, load: Load) -> _Batch | None:
        """The batch that new operations join, None when none come."""
        if not load.ops_per_s:
            return None
        tail = self._queue[-1] if self._queue else None
        if (
            tail is None
            or tail.load is not load
            or (abs(tail.since + tail.ops / load.ops_per_s - now) > 1e-6)
        ):
            tail = _Batch(load, now)
            self._queue.append(tail)
        return tail

    def _settle(self, tail: _Batch | None, backlog: float) -> None:
        queue = self._queue
        while queue and queue[0] is not tail and queue[0].ops <= NO_OPS:
            queue.popleft()
        self.backlog = queue[0].ops if len(queue) == 1 else backlog
        if self.backlog <= NO_OPS or not queue:
            queue.clear()
            self.backlog = 0.0

    def _tightest(self, mix: Mix) -> tuple[float, int]:
        """The rate (operations/s) that the limits allow for `mix`, and which of them set it."""
        size = mix.bytes_per_op or 1e-9
        limits = [inf, inf, inf, inf]
        volume = self.volume
        if volume is not None:
            cost = mix.hdd_ops if volume.hdd else mix.ssd_ops
            limits[0] = self.credits.allowed(volume.base_ops, volume.burst_ops) / (cost or 1e-9)
            limits[1] = volume.burst_bytes / size
            if volume.hdd and size >= cost * HDD_IO_BYTES / NEAR:
                limits[1], limits[0] = limits[0], inf  # whole MiBs: only throughput is counted
        if self.instance is not None:
            ops, rate = self.instance.left()
            limits[2], limits[3] = ops / (mix.ssd_ops or 1e-9), rate / size
        cap = min(limits)
        return cap, sum(1 << i for i, limit in enumerate(limits) if limit <= cap * NEAR)

    def _pass(self, now: float, end: float, mix: Mix, served: float) -> float:
        """Let time pass at `served` until `end` or until a bucket runs empty; returns that instant."""
        seconds = end - now
        volume, instance = self.volume, self.instance
        used = 0.0
        if volume is not None and volume.credits:
            used = served * (mix.hdd_ops if volume.hdd else mix.ssd_ops)
            seconds = min(seconds, self.credits.until_empty(volume.base_ops, used))
        if instance is not None:
            ops, size = served * mix.ssd_ops, served * mix.bytes_per_op
            seconds = min(seconds, instance.until_empty(ops, size))
            instance.spend(ops, size, seconds)
        if volume is not None and volume.credits:
            self.credits.spend(volume.base_ops, used, seconds)
        return end if seconds >= end - now else now + seconds
