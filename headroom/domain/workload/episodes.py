"""The episodes of the past: hours in a row that fall short at a level, and what coming hours are like."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from headroom.domain.workload.history import HOLD_HOURS, Past
from headroom.domain.workload.rhythms import Coming

ANY_TIME_HOURS = 28 * 24
"""Hours from which the rate of load at any time is taken."""
QUIET_PRIOR = 12.0
"""Quiet hours that are assumed beside those measured."""
LATE_MEASURED_HOURS = 3
"""The present hour is not over, the forecast may begin with the next one, and metrics are late."""
ENDLESS_HOURS = 24
"""Load in each of so many hours in a row is under way until one has none; then as long again."""
ONSET, HELD, RAISED_AGAIN, REACTING = range(4)
"""Phases of an episode: its first hour, those that one raise serves, those that two do. From REACTING on, as
many minutes more of an hour pass before the raise that followed the onset has its effect."""
GOES_ON_MIN = 35
"""Busy minutes of the hour after an onset from which its load went on, and was not another."""


class Recent(NamedTuple):
    """The hours from which the rate of load at any time is taken."""

    since: int
    until: int
    measured: int


def recent_hours(past: Past, now: int) -> Recent:
    since = max(0, now - ANY_TIME_HOURS)
    hours = past.profile.hours[since:now]
    return Recent(since, now, len(hours) - hours.count(None))


class _ComingHour(NamedTuple):
    """What a coming hour is like: the earlier cases with their weights, and load at any time."""

    like: tuple[tuple[int, float], ...]
    under_way: float
    begins: float
    """Weights of load at any time, and of its onset in this hour."""
    busy: float

    @classmethod
    def of(
        cls, like: Sequence[tuple[int, float]], case_of: Mapping[int, int], under_way: float,
        begins: float,
    ) -> _ComingHour:  # fmt: skip
        """From earlier hours with their weights; those that do not fall short count for nothing."""
        cases: dict[int, float] = {}
        for place, weight in like:
            if (case := case_of.get(place)) is not None:
                cases[case] = cases.get(case, 0.0) + weight
        busy = sum(cases.values()) + under_way + begins * HOLD_HOURS
        return cls(tuple(cases.items()), under_way, begins, busy)


class Episodes(NamedTuple):
    """The hours of the past that fall short at a level, and the episodes they form.

    A case is a busy hour, by its number, in a phase of an episode: of the latest weeks, and those that
    coming hours are like. Levels at which the same hours fall short share it, and load that repeats has
    few cases.
    """

    cases: tuple[tuple[int, int], ...]
    recent: tuple[tuple[int, int], ...]
    """The cases of the latest weeks, and how many hours each."""
    onsets: int
    hours: int
    """Onsets of the latest weeks, and their hours that fall short."""
    coming: tuple[_ComingHour, ...]

    @classmethod
    def of(
        cls, past: Past, short: Sequence[bool], recent: Recent, coming: Sequence[Coming]
    ) -> Episodes:
        """The episodes of the busy hours that are `short`, by their number."""
        cases: dict[tuple[int, int], int] = {}
        case_of: dict[int, int] = {}
        times: dict[int, int] = {}
        onsets = run = 0
        last = recent.since - 1
        for place, number, phase in _phases(past, short, recent.since, recent.until):
            case_of[place] = case = cases.setdefault((number, phase), len(cases))
            times[case] = times.get(case, 0) + 1
            # an episode that was under way when these weeks began counts as one of them
            onsets += place != last + 1 or not run
            run = run + 1 if place == last + 1 else 1
            last = place
        if run < ENDLESS_HOURS or _has_ended(past, last, recent.until):
            run = 0
        likes = {place for like, _ in coming for place, _ in like}
        for earlier in likes - case_of.keys():
            until = min(earlier + 1, recent.until)
            for place, number, phase in _phases(past, short, earlier, until):
                case_of[place] = cases.setdefault((number, phase), len(cases))
        hours = sum(times.values())
        onset = min(1.0, onsets / (max(0.0, recent.measured - hours) + QUIET_PRIOR))
        lasts = max(1.0, hours / max(1, onsets))
        return cls(
            cases=tuple(cases), recent=tuple(times.items()), onsets=onsets, hours=hours,
            coming=tuple(
                _ComingHour.of(
                    like, case_of, doubt * max(min(1.0, onset * min(hour, lasts)), run / (run + hour)),
                    doubt * onset,
                )
                for hour, (like, doubt) in enumerate(coming, start=1)
            ),
        )  # fmt: skip

    def mean(self, minutes: Sequence[float], over: int) -> float:
        """Minutes by case, summed over the latest weeks, per one of `over`."""
        return sum([hours * minutes[case] for case, hours in self.recent]) / max(1, over)


def _phases(
    past: Past, short: Sequence[bool], since: int, until: int
) -> Iterator[tuple[int, int, int]]:
    """Place, number and phase of each hour of [since, until) that is short, in order of time.

    A raise that follows load which begins at the end of an hour takes effect in the next hour.
    """
    places, (hours, numbers) = past.places, past.numbered
    last, before, left = -2, 0, 0
    first, end = bisect_left(places, since - int(HOLD_HOURS) - 1), bisect_left(places, until)
    for place in places[first:end]:
        number = numbers[place]
        if short[number]:
            before = before + 1 if place - 1 == last else 0
            last = place
            phase = RAISED_AGAIN if before > HOLD_HOURS else HELD if before else ONSET
            busy = max(hours[number].busy_minutes, hours[number].touched_minutes)
            if phase == ONSET:
                left = ceil(past.reaction_min)
            elif phase == HELD and left > 0 and busy >= GOES_ON_MIN:
                phase = REACTING + left
            left -= busy
            if place >= since:
                yield place, number, phase


def _has_ended(past: Past, last: int, until: int) -> bool:
    """Whether an hour without load was measured after the last one with it, or nothing for long."""
    return until - last > LATE_MEASURED_HOURS or any(
        hour is not None for hour in past.profile.hours[last + 1 : until]
    )
