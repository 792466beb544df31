"""One SSD volume under a load series, a month in milliseconds: equals VolumePhysics minute by minute.

Without another change the future is known, so time runs in long blocks; a change discards
everything after the instant at which it takes effect.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

import numpy as np

from headroom.domain.catalog.ebs import gp2_baseline
from headroom.domain.resources import Configuration, Modification, VolumeType
from headroom.proving.awsrules import FULL_COPY_DELAYS, DelayRanges, Delays, VolumeLifecycle
from headroom.proving.physics import volume_limits
from headroom.proving.vectorized.minutes import Minutes, measured_seconds, sum_minutes
from headroom.proving.vectorized.queue import ArrayQueue, Pieces, PoolQueue
from headroom.proving.workloads import Bools, Floats, LoadSeries

AGE = timedelta(days=365)
"""How long before the series the volume was created."""
BLOCK_MIN = 1_440
"""Minutes that run at once after a change; each further block is twice as long."""
DIGITS = 6
"""Decimals of published values: a limit that was reached reads as the limit."""
SSD = (VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2)


class VectorizedVolume:
    """One SSD volume, on an instance that never binds, under an open load or a pool.

    Arrays have one value per minute of the series; values from `minute` on are still in the
    future. Raises ValueError for other types of volumes.
    """

    def __init__(
        self,
        load_series: LoadSeries,
        configuration: Configuration,
        *,
        delays: Delays | DelayRanges | None = None,
        burst_balance_percent: float = 100.0,
    ) -> None:
        _refuse_hdd(configuration)
        self.load_series = load_series
        self.lifecycle = VolumeLifecycle(
            configuration,
            created_at=load_series.start - AGE,
            delays=delays or Delays(),
            copying=FULL_COPY_DELAYS,
        )
        self.minute = 0
        count = load_series.minutes
        seconds = measured_seconds(load_series)
        self.measured: Bools = seconds >= 30.0
        """Whether half of the minute was measured: only such a minute can be starved."""
        self.published: Bools = seconds >= 60.0 - 1e-6
        """Whether CloudWatch has a whole minute to publish."""
        self.served_iops: Floats = np.zeros(count)
        self.served_ebs_iops: Floats = np.zeros(count)
        self.served_mibps: Floats = np.zeros(count)
        self.served_read_iops: Floats = np.zeros(count)
        self.served_read_mibps: Floats = np.zeros(count)
        self.queue: Floats = np.zeros(count)
        self.backlog: Floats = np.zeros(count)
        self.iops_exceeded: Bools = np.zeros(count, dtype=np.bool_)
        self.throughput_exceeded: Bools = np.zeros(count, dtype=np.bool_)
        self.starved: Bools = np.zeros(count, dtype=np.bool_)
        self.shortfall: Floats = np.zeros(count)
        """Share of the minute's load that was not served by its end, 0 to 1."""
        self.balance_percent: Floats = np.full(count, np.nan)
        """Level of the bucket at the minute's end; NaN without a bucket."""
        self._bursts: Bools = np.full(count, _has_balance(configuration))
        self._published: tuple[Floats, ...] = tuple(np.full(count, np.nan) for _ in range(10))
        self.limit_iops: Floats = np.zeros(count)
        """EBS operations/s that the volume sustains or bursts to at the minute's end."""
        self._fluid = (PoolQueue if load_series.pooled else ArrayQueue)(load_series)
        self._plan: list[tuple[float, Configuration]] = []
        self._known = 0
        self._block = BLOCK_MIN
        self._pieces: Pieces | None = None
        self._type = configuration.volume_type
        self._limits = volume_limits(configuration)
        self._fluid.limits = self._limits
        self._fluid.level = self._limits.credits * burst_balance_percent / 100

    @property
    def now(self) -> datetime:
        """The end of the last minute that has passed."""
        return self.load_series.start + timedelta(minutes=self.minute)

    def run(self, until: int) -> None:
        """Let time pass up to minute `until` of the series."""
        if not self.minute <= until <= self.load_series.minutes:
            raise ValueError(
                f"minute {until} is not in {self.minute} to {self.load_series.minutes}."
            )
        self.run_ahead(until)
        self.minute = until

    def run_ahead(self, until: int) -> None:
        """Fill the arrays up to minute `until`, as they will be without another change."""
        until = min(until, self.load_series.minutes)
        while self._known < until:
            self._extend(min(self.load_series.minutes, max(until, self._known + self._block)))

    def modify(self, target: Configuration) -> Modification:
        """Ask AWS for `target` now; raises ModificationRefused and changes nothing then."""
        _refuse_hdd(target)
        change = self.lifecycle.change_to(self.now, target)
        delays = self.lifecycle.delays_at(self.now)
        effect = 60.0 * self.minute + delays.effect.total_seconds()
        described = self.minute + -(-int(delays.modifying.total_seconds()) // 60)
        self._bursts[described:] = _has_balance(change.target)
        self._publish_balance(described, self._known)
        self._plan.append((effect, change.target))
        self._discard(effect)
        self._block = BLOCK_MIN
        return change

    def published_series(self) -> tuple[Floats, ...]:
        """Published values per minute, NaN where CloudWatch publishes nothing.

        In this order: read and write IOPS, read and write MiB/s, queue length, BurstBalance in
        percent, both Exceeded checks, IOPS and MiB/s of both directions.
        """
        return self._published

    def _discard(self, instant: float) -> None:
        """Discard what was run after `instant`, a second of the series."""
        pieces = self._pieces
        if pieces is None or self._fluid.at <= instant:
            return
        kept = pieces.until(instant)
        self._fluid.back(pieces, instant, self._limits.credits)
        self._pieces = kept if len(kept.bound) else None
        self._known = int(instant // 60)

    def _extend(self, last: int) -> None:
        """Run up to minute `last` and add up the minutes from the last known one on.

        What is ahead of `minute` stays: a change may go back to any instant of it.
        """
        end, first = 60.0 * last, self._known
        kept = None if self._pieces is None else self._pieces.since(60.0 * self.minute)
        if kept is not None and not len(kept.bound):
            kept = None
        while self._fluid.at < end:
            effect, target = self._plan[0] if self._plan else (float("inf"), None)
            if target is not None and effect <= self._fluid.at:
                self._plan.pop(0)
                kept, first = self._closed(kept, first)
                self._put_in_force(target)
                continue
            pieces = self._fluid.run(min(end, effect))
            kept = pieces if kept is None else kept.then(pieces)
        if kept is not None:
            self._sum(kept, first, last)
        self._pieces, self._known = kept, last
        self._block *= 2

    def _closed(self, kept: Pieces | None, first: int) -> tuple[Pieces | None, int]:
        """Sum the whole minutes before a change; the rest of the last minute stays."""
        if kept is None:
            return None, first
        last = int(self._fluid.at // 60)
        if last > first:
            self._sum(kept, first, last)
            kept = kept.since(60.0 * last)
        return (kept if len(kept.bound) else None), last

    def _put_in_force(self, configuration: Configuration) -> None:
        """Limits of `configuration` from now on; a bucket keeps its credits while the type stays."""
        limits, level = volume_limits(configuration), self._fluid.level
        if not self._limits.credits or self._type is not configuration.volume_type:
            level = limits.credits
        self._limits, self._type = limits, configuration.volume_type
        self._fluid.limits, self._fluid.level = limits, min(limits.credits, level)

    def _sum(self, pieces: Pieces, first: int, last: int) -> None:
        """Add up minutes `first` to `last` under the limits now in force."""
        limits, pieces = self._limits, pieces.since(60.0 * first)
        found = sum_minutes(self.load_series, pieces, first, last, limits.credits)
        place = slice(first, last)
        for array, values in (
            (self.served_iops, found.served_ops),
            (self.served_ebs_iops, found.served_ebs),
            (self.served_mibps, found.served_mib),
            (self.served_read_iops, found.served_reads),
            (self.served_read_mibps, found.served_read_mib),
        ):
            np.divide(values, 60.0, out=array[place])
        self._set_queue(found, place)
        self._publish(first, last)

    def _set_queue(self, found: Minutes, place: slice) -> None:
        limits = self._limits
        self.queue[place] = found.queue
        self.backlog[place] = found.backlog
        self.iops_exceeded[place] = found.iops_exceeded
        self.throughput_exceeded[place] = found.throughput_exceeded
        self.starved[place] = found.starved & self.measured[place]
        self.shortfall[place] = np.where(self.measured[place], found.shortfall, 0.0)
        if limits.credits:
            self.balance_percent[place] = 100 * found.level / limits.credits
            self.limit_iops[place] = np.where(found.level > 0, limits.burst_ops, limits.base_ops)
        else:
            self.balance_percent[place] = np.nan
            self.limit_iops[place] = limits.base_ops

    def _publish(self, first: int, last: int) -> None:
        """Publish those of minutes `first` to `last` that were measured whole."""
        place = slice(first, last)
        missing = ~self.published[place]
        iops, mibps = self.served_iops[place], self.served_mibps[place]
        reads, read_mibps = self.served_read_iops[place], self.served_read_mibps[place]
        values = (
            reads, iops - reads, read_mibps, mibps - read_mibps, self.queue[place], None,
            self.iops_exceeded[place], self.throughput_exceeded[place], iops, mibps,
        )  # fmt: skip
        for array, value in zip(self._published, values, strict=True):
            if value is not None:
                np.round(value, DIGITS, out=array[place])
                array[place][missing] = np.nan
        self._publish_balance(first, last)

    def _publish_balance(self, first: int, last: int) -> None:
        """BurstBalance is published while the volume is busy and is described as one that bursts."""
        place = slice(first, max(first, last))
        there = self._bursts[place] & (self._published[8][place] > 0)
        balance = np.round(self.balance_percent[place], DIGITS)
        self._published[5][place] = np.where(there, balance, np.nan)


class StaticPain(NamedTuple):
    """Per minute, whether it is starved and its shortfall."""

    starved: Bools
    shortfall: Floats


def pain_if_static(load_series: LoadSeries, configuration: Configuration) -> StaticPain:
    """The minutes of a load series with `configuration` in force from minute 0 on."""
    volume = VectorizedVolume(load_series, configuration)
    volume.run(load_series.minutes)
    return StaticPain(volume.starved, volume.shortfall)


def _refuse_hdd(configuration: Configuration) -> None:
    if configuration.volume_type not in SSD:
        raise ValueError(f"{configuration.volume_type} is no SSD type.")


def _has_balance(configuration: Configuration) -> bool:
    gp2 = configuration.volume_type is VolumeType.GP2
    return gp2 and gp2_baseline(configuration.size_gib) < 3000
