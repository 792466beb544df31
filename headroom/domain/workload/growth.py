"""Load that grows steadily from day to day, or from week to week."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf, log
from typing import NamedTuple

from headroom.domain.state import LoadProfile, ProfileHour


class _Rule(NamedTuple):
    """How many periods of so many hours show growth: of each two the later is higher, but for `exceptions`."""

    hours: int
    periods: int
    exceptions: int


RULES = (_Rule(24, 6, 1), _Rule(7 * 24, 5, 0))
"""Six or five peaks in random order pass in one case of 120."""
LEAST = 1.015
"""Below this growth per period, the margin above measured load is enough for days."""
MOST = 1.25
"""Growth per period that is believed at most."""
STEADY = 0.4
"""Share of the growth, by its logarithm, that must remain without its largest rise: one step is no growth."""
LEAST_PEAKS = 4
"""Peaks after a step, or before it, that show growth by themselves."""
MOST_PERIODS = 6
"""Load from before them is taken to have grown for that long only."""
ANOTHER = 1.5
"""Load above so many times the highest that shows growth is another one."""
MEASURED = 0.9
"""Share of a period's hours that must be measured."""


class Growth(NamedTuple):
    """How many times as large the load is in each period of `hours`."""

    factor: float
    hours: int
    most_iops: float = inf
    """The highest peak of the periods that show it."""

    def __str__(self) -> str:
        """As in "5 % more each day"."""
        return f"{100 * (self.factor - 1):.0f} % more each {'day' if self.hours == 24 else 'week'}"


def growth_of(profile: LoadProfile) -> Growth | None:
    """The growth of the highest load of the latest days, or of weeks; None where it is not steady.

    Of all pairs (Theil and Sen's slopes) three of four grow less: too little is dearer than too much.
    """
    for hours, periods, exceptions in RULES:
        peaks = _peaks(profile, hours, periods, exceptions)
        if len(peaks) < periods or not (peaks := _without_a_step(peaks)):
            continue
        rises = sorted(
            (later / earlier) ** (1 / (before - age))
            for (age, later), (before, earlier) in combinations(peaks, 2)
        )
        factor = min(MOST, rises[3 * len(rises) // 4])
        if rises[exceptions if len(peaks) == periods else 0] > 1.0 and factor >= LEAST:
            return Growth(factor, hours, max(peak for _, peak in peaks))
    return None


def _without_a_step(peaks: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The peaks after the largest rise, or else before it, where that is most of the growth; none if they are few."""
    rises = [
        log(later / earlier) / (before - age) for (age, later), (before, earlier) in pairwise(peaks)
    ]
    step = rises.index(max(rises)) + 1
    if sum(rises) - max(rises) >= STEADY * sum(rises):
        return peaks
    parts = peaks[:step], peaks[step:]
    return next((part for part in parts if len(part) >= LEAST_PEAKS), [])


def grown(profile: LoadProfile, growth: Growth) -> LoadProfile:
    """The profile with the load that each hour of its latest periods would have in the coming one.

    Load far above what grew is another one, and stays as it was.
    """
    last = len(profile.hours) - 1
    times = [growth.factor**periods for periods in range(MOST_PERIODS + 1)]
    return LoadProfile(
        start=profile.start,
        hours=tuple(
            None
            if hour is None
            else hour
            if hour.peak_iops > growth.most_iops * ANOTHER
            else _times(hour, times[min(MOST_PERIODS, 1 + (last - place) // growth.hours)])
            for place, hour in enumerate(profile.hours)
        ),
    )


def _peaks(
    profile: LoadProfile, hours: int, periods: int, exceptions: int
) -> list[tuple[int, float]]:
    """How many periods ago, and the highest operations/s; the latest periods first.

    Periods that touched a limit are left out, because their load is not known, unless it was seen above
    that limit, after a raise. Ends early where more than `exceptions` pairs do not rise.
    """
    found: list[tuple[int, float]] = []
    not_higher = 0
    for age in range(1, min(2 * periods, len(profile.hours) // hours) + 1):
        if len(found) == periods:
            break
        end = len(profile.hours) - (age - 1) * hours
        part = profile.hours[end - hours : end]
        if hours - part.count(None) < MEASURED * hours:
            break
        known = [hour for hour in part if hour is not None]
        free = [hour for hour in known if not hour.touched_minutes]
        peak = max([hour.peak_iops for hour in free], default=0.0)
        if not peak or _held_back(known, free):
            continue
        not_higher += sum([later <= peak for _, later in found])
        if not_higher > exceptions:
            break
        found.append((age, peak))
    return found


def _held_back(known: list[ProfileHour], free: list[ProfileHour]) -> bool:
    """Whether hours touched a limit that none of the free ones exceeds."""
    iops = max([hour.limit_iops for hour in known])
    mibps = max([hour.limit_mibps for hour in known])
    return (iops > 0 and max([hour.peak_iops for hour in free]) <= iops) or (
        mibps > 0 and max([hour.peak_mibps for hour in free]) <= mibps
    )


def _times(hour: ProfileHour, factor: float) -> ProfileHour:
    """The hour with so many times the load; one that touched a limit as it was."""
    if hour.touched_minutes:
        return hour
    return hour._replace(
        peak_iops=hour.peak_iops * factor, peak_mibps=hour.peak_mibps * factor,
        mean_iops=hour.mean_iops * factor, mean_mibps=hour.mean_mibps * factor,
    )  # fmt: skip
