"""Load that the owner announced, by the hour, and what raises leave of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from headroom.domain.policy import Occurrence
from headroom.domain.resources import VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, ProfileHour, hour_of
from headroom.domain.workload.history import HOLD_HOURS, Past, load_rates

DRAINS_HOURS, EXPLAINED = 1, 1.1
"""How long after an event its backlog is served at least; how far above the announced load an hour may go, as
a factor."""
SMALL_IO_MIB = 1 / 64
"""16 KiB, as most databases read and write: the size of an operation before any was measured."""
Rates = tuple[float, float]
"""IOPS and MiB/s."""


class KnownLoad(NamedTuple):
    """Load that the owner announced: from when to when, and how much."""

    start: datetime
    end: datetime
    iops: float
    mibps: float
    name: str = ""
    due: datetime | None = None
    """When it really begins, where `start` is the last time before it that a change may start."""

    def minutes_in(self, start: datetime, end: datetime) -> float:
        """Minutes of it in [start, end); of one that has to be raised for early, its own spread from then on.

        So what it is worth is compared with what it costs to hold the storage for as long.
        """
        late, spread = max(start, self.start), 1.0
        if self.due is not None and late < self.due:
            spread = (self.end - self.due) / (self.end - self.start)
        return spread * (min(end, self.end) - late).total_seconds() / 60

    def share_late(self, rates: Rates) -> float:
        """The share of it that rates do not serve."""
        iops, mibps = rates
        served = min(
            iops / self.iops if self.iops else 1.0, mibps / self.mibps if self.mibps else 1.0
        )
        return 1.0 - min(1.0, served)


class HourOfLoad(NamedTuple):
    """What an hour has of a known load."""

    load: KnownLoad
    minutes: float
    hours_since: int
    """Whole hours since the one in which it begins."""

    def shortfalls(
        self, rates: Rates, reach: Rates, ceiling: Rates, reaction_min: float
    ) -> tuple[float, float]:
        """Minutes of shortfall at `rates`: without a raise, and where raises follow at once.

        One raise leads to `reach` and, once it has completed, a second to `ceiling`: what is above
        them stays late.
        """
        late = self.minutes * self.load.share_late(rates)
        left = self.minutes * self.load.share_late(
            ceiling if self.hours_since > HOLD_HOURS else reach
        )
        reacting = min(late, reaction_min) if self.hours_since <= 0 else 0.0
        return late, min(late, left + reacting)


def loads_at(known_loads: Sequence[KnownLoad], start: datetime) -> list[HourOfLoad]:
    """The known loads of the hour from `start` on."""
    end = start + HOUR
    return [
        HourOfLoad(load, load.minutes_in(start, end), (start - hour_of(load.start)) // HOUR)
        for load in known_loads
        if load.start < end and load.end > start
    ]


def explained_hours(past: Past, events: Sequence[Occurrence], at: datetime) -> set[int]:
    """The places of the busy hours that events before `at` explain, and of those that drain what waited."""
    found: set[int] = set()
    begin, busy = past.profile.start, past.busy
    for event in events:
        if not begin < event.end or not event.start < at:
            continue
        after = -((begin - event.end) // HOUR)
        for place in range((event.start - begin) // HOUR, after + DRAINS_HOURS):
            if place in busy and _explains(event, busy[place]):
                found.add(place)
        place = after + DRAINS_HOURS
        while place - 1 in found and place in busy and busy[place].touched_minutes:
            if not _explains(event, busy[place]):
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


def _explains(event: Occurrence, hour: ProfileHour) -> bool:
    """Whether the load of an hour was no more than what the owner announced."""
    return (not event.iops or hour.peak_iops <= EXPLAINED * event.iops) and (
        not event.mibps or hour.peak_mibps <= EXPLAINED * event.mibps
    )
