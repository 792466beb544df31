"""Load that the owner announced, by the hour, and what raises leave of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from math import inf
from typing import NamedTuple

from headroom.domain.policy import Occurrence
from headroom.domain.resources import InstanceLimits, VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, ProfileHour
from headroom.domain.workload.demand import Level
from headroom.domain.workload.history import Past, load_rates
from headroom.domain.workload.short_minutes import MOST_DRAINED_MIN, late_minutes

DRAINS_HOURS, EXPLAINED = 1, 1.1
"""How long after an event its backlog is served at least; how far above the announced load an hour may go, as
a factor."""
DAY_MIN = 24 * 60.0
INSTANCE_BURST_MIN = 30.0
"""An instance gives its maximum for this long at least. Source: EC2 user guide, EBS-optimized instance types."""
SMALL_IO_MIB = 1 / 64
"""16 KiB, as most databases read and write: the size of an operation before any was measured."""
Rates = tuple[float, float]
"""IOPS and MiB/s."""
UNLIMITED = inf, inf


class KnownLoad(NamedTuple):
    """Load that the owner announced: from when to when, and how much."""

    start: datetime
    end: datetime
    iops: float
    mibps: float
    name: str = ""
    due: datetime | None = None
    """When it really begins, where `start` is the last time before it that a change may start."""
    let_through: float = 1.0
    """The part of what was announced that the instance lets through: `iops` and `mibps` are that part."""
    bursts: Rates = (0.0, 0.0)
    """IOPS and MiB/s that the instance's bursts add to what it sustains, on average over the load."""

    @property
    def minutes(self) -> float:
        """How long it lasts, in minutes."""
        return (self.end - (self.due or self.start)).total_seconds() / 60

    def minutes_in(self, start: datetime, end: datetime) -> float:
        """Minutes of it in [start, end); of one that has to be raised for early, its own spread from then on.

        So what it is worth is compared with what it costs to hold the storage for as long.
        """
        late, spread = max(start, self.start), 1.0
        if self.due is not None and late < self.due:
            spread = (self.end - self.due) / (self.end - self.start)
        return spread * (min(end, self.end) - late).total_seconds() / 60

    def served(self, rates: Rates) -> float:
        """The part of it that rates serve; above 1 where they leave room."""
        iops, mibps = rates
        return min(
            iops / self.iops if self.iops else inf, mibps / self.mibps if self.mibps else inf
        )

    def share_late(self, rates: Rates) -> float:
        """The share of it that rates do not serve."""
        return 1.0 - min(1.0, self.served(rates))

    def late_at(self, level: Level) -> float:
        """The share of it that a level does not serve; for as long as it lasts, the instance may give more than always."""
        rates = level.iops, level.mibps
        if level.own is not None:
            iops, mibps = (
                min(own, sustained + burst)
                for own, sustained, burst in zip(level.own, rates, self.bursts, strict=True)
            )
            rates = iops, mibps
        return self.share_late(rates)


class HourOfLoad(NamedTuple):
    """What an hour has of a known load, which leaves a backlog where it is more than is served."""

    load: KnownLoad
    minutes: float
    begun: float
    """Minutes of it before this hour; below 0 where it is due later and has to be raised for now."""

    def shortfalls(
        self, level: Level, reaction_min: float, second_after_hours: float
    ) -> tuple[float, float]:
        """Minutes of shortfall at a level, until all is served: without a raise, and where raises follow at once.

        One raise leads as far as the level reaches and, once it has completed, a second to its ceiling: what is above
        them stays late, and so does what waits for the first until there is room to drain it.
        """
        share = self.load.late_at(level)
        late = self._late(share)
        if self._before_it:  # no change may start from this hour until the load
            return late, late
        reach, ceiling = level.reach or UNLIMITED, level.ceiling or UNLIMITED
        second = self.begun > 60 * second_after_hours
        left = self._late(self.load.share_late(ceiling if second else reach))
        if self.begun <= 0 and late:
            left += self._until_raised(min(reaction_min, self.minutes), share, reach)
        return late, left

    def _until_raised(self, before: float, share: float, reach: Rates) -> float:
        """Minutes of shortfall until a raise takes effect after `before` minutes, and what waited then is drained."""
        waits, served = before * share, self.load.served(reach)
        rest, room = max(0.0, self.load.minutes - before), max(0.0, served - 1.0)
        drained = waits / room if waits <= rest * room else rest + (waits - rest * room) / served
        return late_minutes(before, share) + min(MOST_DRAINED_MIN, drained)

    @property
    def _before_it(self) -> bool:
        """Whether this is an hour before the load that has a part of its minutes."""
        return self.begun < 0

    def _late(self, share: float) -> float:
        """The mean of two: what is not served waits for the next minutes and hours, or is never asked for.

        The second is a pool's load; it is also that of an announcement that is too high.
        """
        lasts = self.load.minutes
        if not share:
            return 0.0
        until_next_day = max(0.0, DAY_MIN - lasts) / lasts
        drained = self.minutes * min(share / (1.0 - share), until_next_day)
        if self._before_it:
            waits = late_minutes(lasts, share) * self.minutes / lasts
        else:
            waits = late_minutes(self.begun + self.minutes, share) - late_minutes(self.begun, share)
        return (self.minutes * share + waits + drained) / 2


def through_instance(
    load: KnownLoad, limits: InstanceLimits | None, *, mibps_announced: bool
) -> KnownLoad:
    """The part of an announced load that an instance lets through, with its bursts of half an hour.

    MiB/s that only follow from the size of earlier operations take no IOPS away that were announced.
    """
    if limits is None:
        return load
    part = min(1.0, INSTANCE_BURST_MIN / load.minutes)
    bursts = (
        part * (limits.maximum_iops - limits.baseline_iops),
        part * (limits.maximum_mibps - limits.baseline_mibps),
    )
    most = limits.baseline_iops + bursts[0], limits.baseline_mibps + bursts[1]
    if not mibps_announced:
        load = load._replace(mibps=min(load.mibps, most[1]))
    through = min(1.0, load.served(most))
    return load._replace(
        iops=through * load.iops, mibps=through * load.mibps, let_through=through, bursts=bursts
    )


def loads_at(known_loads: Sequence[KnownLoad], start: datetime) -> list[HourOfLoad]:
    """The known loads of the hour from `start` on."""
    end = start + HOUR
    return [
        HourOfLoad(
            load, load.minutes_in(start, end),
            (max(start, load.start) - (load.due or load.start)).total_seconds() / 60,
        )
        for load in known_loads
        if load.start < end and load.end > start
    ]  # fmt: skip


def explained_hours(past: Past, events: Sequence[Occurrence], at: datetime) -> set[int]:
    """The places of the busy hours that events before `at` explain, and of those that drain what waited."""
    found: set[int] = set()
    begin, busy = past.profile.start, past.busy
    for event in events:
        if not begin < event.end or not event.start < at:
            continue
        after = -((begin - event.end) // HOUR)
        for place in range((event.start - begin) // HOUR, after + DRAINS_HOURS):
            if place in busy and _explains(event, busy[place], past):
                found.add(place)
        place = after + DRAINS_HOURS
        while place - 1 in found and place in busy and busy[place].touched_minutes:
            if not _explains(event, busy[place], past):
                break
            found.add(place)
            place += 1
    return found


def hours_of(one: Occurrence, profile: LoadProfile) -> list[ProfileHour | None]:
    """The hours of a profile in which an event came; None for those not measured, or not in it."""
    begin, hours = profile.start, profile.hours
    places = range((one.start - begin) // HOUR, -((begin - one.end) // HOUR))
    return [hours[place] if 0 <= place < len(hours) else None for place in places]


def mib_per_op(past: Past, activity: VolumeActivity, times: Sequence[Occurrence]) -> float:
    """Mean MiB per operation of an event that came at `times`.

    As in the hours of these; before there are any, as in all that was measured: hours, else minutes.
    """
    during = [hour for one in times for hour in hours_of(one, past.profile)]
    iops, mibps = load_rates(activity)
    return _size(during) or _size(past.profile.known) or _size_of(mibps, iops) or SMALL_IO_MIB


def _size(hours: Iterable[ProfileHour | None]) -> float:
    known = [hour for hour in hours if hour is not None]
    return _size_of([hour.mean_mibps for hour in known], [hour.mean_iops for hour in known])


def _size_of(mibps: Sequence[float], iops: Sequence[float]) -> float:
    """MiB per operation; 0 without any."""
    ops = sum(iops)
    return sum(mibps) / ops if ops else 0.0


def _explains(event: Occurrence, hour: ProfileHour, past: Past) -> bool:
    """Whether the load of an hour was no more than what the owner announced.

    With MiB/s alone none was announced of so many operations that they are busy by themselves.
    """
    most_iops = EXPLAINED * event.iops if event.iops else past.least_iops
    return hour.peak_iops <= most_iops and (
        not event.mibps or hour.peak_mibps <= EXPLAINED * event.mibps
    )
