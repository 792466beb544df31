"""The profile of a resource's past: an hourly digest of at most 400 days.

Rates lie on a scale in steps of 2 % around what gp3 includes, so that the ledger stores them
exactly in ten bits and the same past gives the same profile on every machine.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from typing import NamedTuple

from headroom.domain.resources import big_endian

HOUR = timedelta(hours=1)
MOST_HOURS = 400 * 24
IOPS_SCALE, MIBPS_SCALE = 3_000.0, 125.0
"""The middle of the scale of IOPS and of MiB/s."""
STEPS = 512
"""Steps below and above the middle."""
STEP = 1.02
SIGNIFICANT = 6
"""Digits of a rate: more than the scale needs, fewer than two machines could differ in."""


def _scale(middle: float) -> tuple[float, ...]:
    steps = (middle * STEP**n for n in range(1 - STEPS, STEPS))
    return (0.0, *(float(f"{rate:.{SIGNIFICANT}g}") for rate in steps))


IOPS_LEVELS, MIBPS_LEVELS = _scale(IOPS_SCALE), _scale(MIBPS_SCALE)
"""All rates that a profile can hold: 0, then 0.12 to 74 million IOPS, 0.005 to 3 million MiB/s."""


class ProfileHour(NamedTuple):
    """One hour: rates in SSD operations/s (256 KiB each) and in MiB/s, durations in minutes."""

    peak_iops: float
    """Highest 5-minute mean; of a `coarse` hour its mean."""
    peak_mibps: float
    mean_iops: float
    mean_mibps: float
    busy_minutes: int
    """Minutes at 70 % of the peak or more, by IOPS/3000 or MiB/s/125, whichever is larger."""
    touched_minutes: int
    """Minutes that touched a limit."""
    limit_iops: float
    """The highest IOPS limit that was touched, 0 if none: demand was at least that."""
    limit_mibps: float
    coarse: bool = False
    """Whether only the mean of the hour was published."""


_peak_iops, _peak_mibps = attrgetter("peak_iops"), attrgetter("peak_mibps")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSummary:
    """Which profile a decision used: its first hour, number of hours, and SHA-256 in hex."""

    start: datetime
    hours: int
    measured: int
    """Hours that were measured."""
    sha256: str


@dataclass(frozen=True, kw_only=True)
class LoadProfile:
    """Hours from `start` on, oldest first; None where not enough of an hour was measured."""

    start: datetime
    """A whole hour in UTC."""
    hours: tuple[ProfileHour | None, ...]

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.start.timestamp() % 3600:
            raise ValueError(f"a profile begins with a whole hour, not at {self.start!r}")
        if len(self.hours) > MOST_HOURS:
            raise ValueError(f"a profile has at most {MOST_HOURS} hours, not {len(self.hours)}")

    @property
    def end(self) -> datetime:
        """Where the last hour ends."""
        return self.start + len(self.hours) * HOUR

    def since(self, instant: datetime) -> LoadProfile:
        """The hours that begin at or after `instant`; they begin at its hour's end if there are none."""
        skip = min(len(self.hours), max(0, -((self.start - instant) // HOUR)))
        return LoadProfile(start=self.start + skip * HOUR, hours=self.hours[skip:])

    @cached_property
    def known(self) -> tuple[ProfileHour, ...]:
        """The hours that were measured, oldest first."""
        return tuple(filter(None, self.hours))

    @cached_property
    def peaks(self) -> tuple[float, float]:
        """Highest operations/s and MiB/s of any hour; 0 where none was measured."""
        return (
            max(map(_peak_iops, self.known), default=0.0),
            max(map(_peak_mibps, self.known), default=0.0),
        )

    @property
    def summary_for_digest(self) -> ProfileSummary:
        """What stands for it in the id of a decision."""
        return self.summary

    @cached_property
    def summary(self) -> ProfileSummary:
        """What a record keeps of it."""
        text = sha256(bytes([hour is not None for hour in self.hours]))
        for column in zip(*self.known, strict=True):
            text.update(big_endian(column))
        return ProfileSummary(
            start=self.start, hours=len(self.hours), measured=len(self.known),
            sha256=text.hexdigest(),
        )  # fmt: skip


def merged(profile: LoadProfile | None, newer: LoadProfile) -> LoadProfile:
    """Both profiles as one: the measured hours of `newer` win, the oldest of too many hours go."""
    if profile is None:
        profile = LoadProfile(start=newer.start, hours=())
    end = max(profile.end, newer.end)
    start = max(min(profile.start, newer.start), end - MOST_HOURS * HOUR)
    hours: list[ProfileHour | None] = [None] * ((end - start) // HOUR)
    for part in (profile, newer):
        first = (part.start - start) // HOUR
        for place, hour in enumerate(part.hours, first):
            if hour is not None and place >= 0:
                hours[place] = hour
    skip = next((place for place, hour in enumerate(hours) if hour is not None), len(hours))
    return LoadProfile(start=start + skip * HOUR, hours=tuple(hours[skip:]))


def on_scale(rate: float, levels: tuple[float, ...]) -> float:
    """The nearest rate of a profile's scale."""
    return levels[level_of(rate, levels)]


def level_of(rate: float, levels: tuple[float, ...]) -> int:
    """The number of the nearest rate of a profile's scale."""
    above = bisect_left(levels, rate)
    if not above:
        return 0
    if above == len(levels):
        return above - 1
    return above if levels[above] - rate < rate - levels[above - 1] else above - 1


def hour_of(instant: datetime) -> datetime:
    """The whole hour in UTC that `instant` lies in."""
    return instant.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
