"""Load that grows steadily from day to day, or from week to week."""

from __future__ import annotations

from collections.abc import Sequence
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
FALL = 1.5
"""A period whose highest load is so many times that of a later one ends an earlier growth."""
PASSED = 1.1
"""Growth that has come so many times as far as it did before a fall may go on."""


class Growth(NamedTuple):
    """How many times as large the load is in each period of `hours`."""

    factor: float
    hours: int
    most_iops: float = inf
    """The highest peak of the periods that show it."""
    until_iops: float = inf
    """No hour is expected higher; the highest peak of the coming period where load fell before."""

    def __str__(self) -> str:
        """As in "5 % more each day"."""
        return f"{100 * (self.factor - 1):.0f} % more each {'day' if self.hours == 24 else 'week'}"


def growth_of(profile: LoadProfile) -> Growth | None:
    """The growth of the highest load of the latest days, or of weeks; None where it is not steady.

    Of all pairs (Theil and Sen's slopes) three of four grow less: too little is dearer than too much. Growth
    that has come as far as earlier growth, which ended in a fall, is taken to end there too.
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
            most, fell = max(peak for _, peak in peaks), _before_a_fall(profile, hours)
            if fell / factor < most <= fell * PASSED:
                return None
            return Growth(factor, hours, most, factor * most if fell else inf)
    return None


def _before_a_fall(profile: LoadProfile, hours: int) -> float:
    """The highest load before the highest one of a period last fell; 0 where it never did."""
    lowest = inf
    for end in range(len(profile.hours), hours - 1, -hours):
        peak = _highest(profile.hours[end - hours : end])
        if peak > FALL * lowest:
            return _highest(profile.hours[:end])
        lowest = min(lowest, peak or inf)
    return 0.0


def _highest(hours: Sequence[ProfileHour | None]) -> float:
    return max([hour.peak_iops for hour in hours if hour is not None], default=0.0)


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

    Load far above what grew is another one, and stays as it was. Where load fell before, none grows beyond the
    highest of the coming period: that of an earlier run of growth would.
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
            else _times(
                hour,
                min(
                    times[min(MOST_PERIODS, 1 + (last - place) // growth.hours)],
                    max(1.0, growth.until_iops / max(1.0, hour.peak_iops)),
                ),
            )
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
