"""The physics of one EBS volume: limits, credits, backlog and the instance, minute by minute.

Source: EBS User Guide, "General Purpose SSD volumes", "HDD volumes", "I/O characteristics",
"EBS-optimized instances" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from headroom.domain.catalog.ebs import HDD_IO_BYTES, MIB, SSD_IO_BYTES
from headroom.domain.resources import Configuration
from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.physics.attachment import Attachment
from headroom.proving.physics.fairness import Rates, within
from headroom.proving.physics.minute_facts import (
    MinuteFacts,
    MinuteTally,
    delayed_by_volume,
    shortfall,
)
from headroom.proving.physics.other_load import OtherLoad
from headroom.proving.physics.queue import (
    INSTANCE_BYTES,
    INSTANCE_IOPS,
    VOLUME_BYTES,
    VOLUME_IOPS,
    Bucket,
    InstanceShare,
    Piece,
    VolumeLimits,
    VolumeQueue,
    volume_limits,
)
from headroom.proving.workloads import IDLE, Load, Workload

QUEUE_LIMIT = 1024
"""The most waiting operations that a device reports; more of a backlog stays invisible."""
SERVICE_S = {False: 0.0005, True: 0.008}
"""Time of one operation on an SSD (False) or HDD (True) volume at rest."""
MINUTE = timedelta(minutes=1)
MINUTE_S = 60.0
Stretch = tuple[float, float, Load | None, Configuration]
"""From when to when, in seconds of the workload, under which load and configuration in force."""


class _Steady(NamedTuple):
    """A minute of one load and one configuration that left queues and buckets as they were."""

    configuration: Configuration
    facts: MinuteFacts
    until_s: float
    """Where the load ends, in seconds of the workload."""


class VolumePhysics:
    """One volume under one workload; keeps credits, backlog and balances between minutes.

    `burst_balance_percent` is the bucket's level at the start. With `idle_outside` the time
    before and after the workload is idle; else it was not measured.
    """

    def __init__(
        self,
        workload: Workload,
        *,
        burst_balance_percent: float = 100,
        queue_limit: int = QUEUE_LIMIT,
        attachment: Attachment | None = None,
        idle_outside: bool = False,
    ) -> None:
        self.workload = workload
        self.attachment = attachment
        self.repeats = False
        """Whether the latest minute was as the one before it."""
        self._queue_limit = queue_limit
        self._idle_outside = idle_outside
        self._first_percent = burst_balance_percent
        self._configuration: Configuration | None = None
        self._steady: _Steady | None = None
        self._limits: VolumeLimits
        self._station = VolumeQueue(attachment.share() if attachment else None)
        free = attachment.share() if attachment else None
        self._free = None if free is None else VolumeQueue(free)

    @property
    def _others(self) -> OtherLoad | None:
        return None if self.attachment is None else self.attachment.others

    @property
    def backlog(self) -> float:
        """Operations in the queue now."""
        return self._station.backlog

    def attach_to(self, attachment: Attachment) -> None:
        """Attach the volume to another instance with full balances; the queue stays."""
        self.attachment, self._steady = attachment, None
        self._station.instance = attachment.share()
        free = attachment.share()
        if free is None:
            self._free = None
        elif self._free is None:
            self._free = VolumeQueue(free)
        else:
            self._free.instance = free

    def go_on_with(self, workload: Workload, burst_balance_percent: float | None = None) -> None:
        """Come under another workload, which starts where this one ends; the queue and balances stay.

        The bucket's level becomes `burst_balance_percent` unless that is None.
        """
        later = (workload.start - self.workload.start).total_seconds()
        for queue in (self._station, self._free):
            if queue is not None:
                queue.count_from(later)
        self.workload, self._steady = workload, None
        if burst_balance_percent is not None:
            bucket = self._station.credits
            bucket.level = bucket.capacity * burst_balance_percent / 100
            self._first_percent = burst_balance_percent

    @property
    def share(self) -> InstanceShare | None:
        """What its instance leaves for it; None if that never binds."""
        return self._station.instance

    def asks(self, start: datetime, lifecycle: VolumeLifecycle) -> Rates:
        """What it would take in the clock minute from `start` on if it had its instance alone."""
        self._settle(lifecycle.effective(start))
        ops, size = self._station.waiting()
        for begin, end, load, _ in self._stretches(start, lifecycle):
            if load is not None:
                came = (load.free_rate or load.ops_per_s) * (end - begin)
                ops, size = ops + came * load.mix.ssd_ops, size + came * load.mix.bytes_per_op
        units, reach = self._reach()
        most = inf if self._limits.hdd else units, reach
        return within((ops / MINUTE_S, size / MINUTE_S), most)

    def stand_beside(self, wants: tuple[Rates, ...], levels: Rates) -> None:
        """Share the instance with volumes that want these rates, its balances at `levels`."""
        share = self._station.instance
        if share is None or (share.beside, share.iops.level, share.bytes.level) == (wants, *levels):
            return
        self._steady, share.beside = None, wants
        share.iops.level, share.bytes.level = levels
        if self._free is not None and self._free.instance is not None:
            self._free.instance.beside = wants

    def minute(self, start: datetime, lifecycle: VolumeLifecycle) -> MinuteFacts:
        """Advance over the clock minute that begins at `start`; minutes come in order."""
        configuration = lifecycle.effective(start)
        self._settle(configuration)
        self._share_instance(start)
        before = self._steady
        self.repeats = before is not None and self._goes_on(before, start, configuration, lifecycle)
        if before is not None and self.repeats:
            return MinuteFacts._make((start, *before.facts[1:]))
        stretches = self._stretches(start, lifecycle)
        state = self._state()
        facts = self._minute(start, stretches)
        queues = [queue for queue in (self._station, self._free) if queue is not None]
        rests = self._state() == state and not any(queue.backlog for queue in queues)
        self._steady = None
        if rests and _whole(stretches):
            until_s = self.workload.next_edge((start - self.workload.start).total_seconds())
            self._steady = _Steady(configuration, facts, until_s)
        return facts

    def _goes_on(
        self, before: _Steady, start: datetime, configuration: Configuration,
        lifecycle: VolumeLifecycle,
    ) -> bool:  # fmt: skip
        """Whether neither the load nor the configuration of the minute before ends in this one."""
        if self._others is not None or configuration is not before.configuration:
            return False
        if (start - self.workload.start).total_seconds() + MINUTE_S > before.until_s:
            return False
        change = lifecycle.next_change(start)
        return change is None or change - start >= MINUTE

    def _state(self) -> list[float]:
        """All that one minute hands on to the next."""
        found = []
        for queue in (self._station, self._free):
            if queue is not None:
                found += [queue.backlog, queue.held_ops, queue.credits.level]
                if queue.instance is not None:
                    found += [queue.instance.iops.level, queue.instance.bytes.level]
        return found

    def _minute(self, start: datetime, stretches: Sequence[Stretch]) -> MinuteFacts:
        tally = MinuteTally(self._queue_limit)
        backlog = self._station.backlog
        ahead = self._free.backlog if self._free else 0.0
        real: list[Piece] = []
        free: list[Piece] = []
        inside = measured = 0.0
        for begin, end, load, configuration in stretches:
            self._settle(configuration)
            credits = self._station.credits
            credits.lowest = credits.level
            inside += end - begin
            measured += end - begin if load is not None else 0.0
            pieces = list(self._station.run(begin, end, load or IDLE))
            tally.see_balance(credits)
            hdd = self._limits.hdd
            for piece in pieces:
                tally.add(piece, hdd=hdd, service_s=SERVICE_S[hdd], measured=load is not None)
            real += pieces
            if self._free is not None:
                free += self._free.run(begin, end, load or IDLE)
        behind = max(0.0, backlog - ahead)
        delayed = delayed_by_volume(
            real, free if self._free else None, already=behind if behind > 1e-6 else 0.0
        )
        left = self._station.backlog - (self._free.backlog if self._free else 0.0)
        missed = shortfall(
            real, free if self._free else None, arrived=tally.offered, backlog=max(0.0, left)
        )
        spans = inside, measured
        facts = self._facts(start, tally, spans, due=backlog + tally.offered, delayed=delayed)
        return facts if facts.unknown or not missed else facts._replace(shortfall=missed)

    def _share_instance(self, minute: datetime) -> None:
        """Give the other volumes of the instance what they ask for in this minute."""
        if self._others is None or self.attachment is None:
            return
        for queue in (self._station, self._free):
            if queue is not None and queue.instance is not None:
                queue.instance.set_others(*self.attachment.other_load(minute))

    def _stretches(self, start: datetime, lifecycle: VolumeLifecycle) -> list[Stretch]:
        """The minute cut where the load or the configuration in force changes."""
        zero = (start - self.workload.start).total_seconds()
        loads = self._loads(zero, zero + 60)
        configuration, change = lifecycle.effective(start), lifecycle.next_change(start)
        cuts: list[Stretch] = []
        until = zero + 60 if change is None else zero + (change - start).total_seconds()
        for begin, end, load in loads:
            while begin < end:
                while change is not None and until <= begin:
                    configuration, change = (
                        lifecycle.effective(change),
                        lifecycle.next_change(change),
                    )
                    until = zero + 60 if change is None else zero + (change - start).total_seconds()
                stop = end if change is None else min(end, until)
                cuts.append((begin, stop, load, configuration))
                begin = stop
        return cuts

    def _loads(self, begin: float, end: float) -> list[tuple[float, float, Load | None]]:
        """Stretches of load in [begin, end), None where nothing was measured.

        Time outside the workload is idle, or does not exist.
        """
        outside = IDLE if self._idle_outside else None
        if not self._idle_outside:
            begin, end = max(begin, 0.0), min(end, self.workload.duration_s)
        loads: list[tuple[float, float, Load | None]] = []
        now = begin
        for segment in self.workload.segments(begin, end):
            if segment.start_s > now:
                loads.append((now, segment.start_s, outside))
            loads.append((segment.start_s, segment.end_s, segment.load))
            now = segment.end_s
        if now < end:
            loads.append((now, end, outside))
        return loads

    def _settle(self, configuration: Configuration) -> None:
        """Put `configuration` in force; a bucket keeps its credits while the type stays."""
        if configuration is self._configuration or configuration == self._configuration:
            return
        limits = volume_limits(configuration)
        old, station = self._configuration, self._station
        if old is None:
            level = limits.credits * self._first_percent / 100
        elif old.volume_type is configuration.volume_type and station.credits.capacity:
            level = station.credits.level
        else:
            level = limits.credits
        station.credits = Bucket(limits.credits, level)
        station.volume = self._limits = limits
        self._configuration = configuration

    def _reach(self) -> Rates:
        """Operations in the volume's own units and bytes per second that it gives now."""
        limits = self._limits
        units = self._station.credits.allowed(limits.base_ops, limits.burst_ops)
        if not limits.credits:
            return units, limits.burst_bytes
        unit = HDD_IO_BYTES if limits.hdd else SSD_IO_BYTES
        return units, min(limits.burst_bytes, units * unit)

    def _facts(
        self,
        start: datetime,
        tally: MinuteTally,
        spans: tuple[float, float],
        *,
        due: float,
        delayed: float,
    ) -> MinuteFacts:
        limits, credits, share = self._limits, self._station.credits, self._station.instance
        units, reach = self._reach()
        return MinuteFacts(
            start=start,
            inside_s=spans[0],
            measured_s=spans[1],
            offered_ops=tally.offered,
            offered_ebs_ops=tally.offered_ebs,
            offered_bytes=tally.offered_bytes,
            served_ops=tally.served,
            served_read_ops=tally.total.read_ops,
            served_write_ops=tally.total.write_ops,
            served_read_bytes=tally.total.read_bytes,
            served_write_bytes=tally.total.write_bytes,
            served_measured=tally.measured,
            ebs_ops=tally.ebs_ops,
            queue_seen_avg=tally.queue_seconds / 60,
            backlog_end=self._station.backlog,
            latencies=tuple(tally.latencies),
            iops_exceeded=tally.exceeded(VOLUME_IOPS),
            throughput_exceeded=tally.exceeded(VOLUME_BYTES),
            instance_iops_exceeded=tally.exceeded(INSTANCE_IOPS),
            instance_throughput_exceeded=tally.exceeded(INSTANCE_BYTES),
            idle_s=tally.idle_s,
            burst_balance_percent=credits.percent if limits.credits else None,
            lowest_burst_balance_percent=tally.lowest_balance,
            instance_io_balance_percent=share.iops.percent if share else None,
            instance_byte_balance_percent=share.bytes.percent if share else None,
            limit_iops=units,
            limit_mibps=reach / MIB,
            due_ops=due,
            delayed_ops=min(due, delayed),
        )


def _whole(stretches: Sequence[Stretch]) -> bool:
    """Whether one load and one configuration last for the whole minute."""
    return len(stretches) == 1 and stretches[0][1] - stretches[0][0] == MINUTE_S
