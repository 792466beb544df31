"""The earlier hours that each coming hour is like, by rhythms that are weighed by what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import dropwhile
from typing import NamedTuple

from headroom.domain.state import IOPS_SCALE, MIBPS_SCALE
from headroom.domain.workload.history import (
    ANY_TIME_HOURS,
    ENDLESS_HOURS,
    Coming,
    Past,
    begins_among,
    recent_hours,
)
from headroom.domain.workload.rhythms import BACK, DOUBT, SURE, Height, Rhythm, rhythms

HOURS = 24
LATE_HOURS = 2
"""How much later than usual load may begin."""
NOT_BEGUN = 0.2
"""Belief in the rest of an episode that has not begun by then."""
NEAR_SHARE = 0.7
"""Share of a level from which load comes near it: loads of one kind differ by less."""
HEAVY_SHARE = 0.25
"""Share of the most shortfall of any hour from which an hour counts as load of that kind."""


class _Weighed(NamedTuple):
    """Busy hours, each with the hour in which its episode began, and the rhythms of these."""

    begins: dict[int, int]
    believed: tuple[Rhythm, ...]
    anyhow: float


class Likely(NamedTuple):
    """The hours that the next hours, and the one before them, are like; and load beside any rhythm."""

    coming: list[Coming]
    before: Coming
    strays: Mapping[int, float]
    """How often an hour of the latest weeks was each of the busy hours that are in no episode."""


class Recurrence:
    """The busy hours that each of the next hours is like, and the weight of load at any time.

    Load that never ends for a day has no rhythm of its own; what comes on top of it may have one. So for
    a level above such load only the hours with load near it count, or those that fall far short at it:
    those that a rhythm explains better.
    """

    def __init__(self, past: Past, first: int) -> None:
        self._past, self._first = past, first
        self._measured = [hour is not None for hour in past.profile.hours[:first]]
        self._weighed_by: dict[tuple[int, ...], _Weighed] = {}
        self._all = self._weighed(past.begins)
        self.believed, self.anyhow = self._all.believed, self._all.anyhow
        self.endless = self._never_ends(past.begins)
        self._found: dict[tuple[int, ...], tuple[_Weighed, Likely]] = {}
        self._likely_by: dict[tuple[bool, ...], tuple[_Weighed, Likely] | None] = {}

    def at(self, iops: float, mibps: float, shorts: Sequence[float]) -> Likely:
        """What the coming hours are like at a level.

        `shorts` are its minutes of shortfall by the number of the different busy hours.
        """
        if not self.endless:
            return self._likely(self._all)[1]
        hours = self._past.numbered[0]
        most = max(shorts, default=0.0)
        near = [
            hour.peak_iops > NEAR_SHARE * iops
            or hour.peak_mibps > NEAR_SHARE * mibps
            or hour.touched_minutes > 0
            for hour in hours
        ]
        heavy = [0 < minutes >= HEAVY_SHARE * most for minutes in shorts]
        found = [one for one in map(self._likely_among, (tuple(near), tuple(heavy))) if one]
        if not found:
            return self._likely(self._all)[1]
        return min(found, key=lambda one: one[0].anyhow)[1]  # the one that a rhythm explains best

    def _likely_among(self, counts: tuple[bool, ...]) -> tuple[_Weighed, Likely] | None:
        """What the coming hours are like by the busy hours that count; None if these never end either.

        `counts` is by their number. Many levels share it.
        """
        if counts not in self._likely_by:
            numbers = self._past.numbered[1]
            begins = begins_among([place for place, number in numbers.items() if counts[number]])
            ends = begins and not self._never_ends(begins)
            self._likely_by[counts] = self._likely(self._weighed(begins)) if ends else None
        return self._likely_by[counts]

    def _likely(self, one: _Weighed) -> tuple[_Weighed, Likely]:
        begins, key = one.begins, tuple(one.begins)
        if key not in self._found:
            begun: dict[int, bool] = {}
            hours = [
                hours_like(self._past, begins, one.believed, one.anyhow, self._first + hour, begun)
                for hour in range(-1, HOURS)
            ]
            strays = {} if one is self._all else self._strays(begins)
            self._found[key] = one, Likely(hours[1:], hours[0], strays)
        return self._found[key]

    def _strays(self, begins: Mapping[int, int]) -> Mapping[int, float]:
        recent = recent_hours(self._past, self._first)
        times = Counter(
            number
            for place, number in self._past.numbered[1].items()
            if recent.since <= place < recent.until and place not in begins
        )
        return {number: count / max(1, recent.measured) for number, count in times.items()}

    def _never_ends(self, begins: Mapping[int, int]) -> bool:
        """Whether an episode of the latest weeks took a day and more on the mean."""
        recent = [begin for place, begin in begins.items() if place >= self._first - ANY_TIME_HOURS]
        return len(recent) >= ENDLESS_HOURS * max(1, len(set(recent)))

    def _weighed(self, begins: dict[int, int]) -> _Weighed:
        """The rhythms of the hours in which episodes began."""
        if (key := tuple(begins)) in self._weighed_by:
            return self._weighed_by[key]
        until = len(self._measured)
        onsets = [place for place, begin in begins.items() if place == begin and place < until]
        heights = heights_of(self._past, begins)
        believed, anyhow = rhythms(
            self._past.profile.start, onsets, [heights[place] for place in onsets], self._measured
        )
        self._weighed_by[key] = found = _Weighed(begins, believed, anyhow)
        return found


def heights_of(past: Past, begins: Mapping[int, int]) -> dict[int, Height]:
    """How high the load of each episode was, by the place where it began."""
    hours, numbers = past.numbered
    loads = [
        (
            max(
                max(hour.peak_iops, hour.limit_iops) / IOPS_SCALE,
                max(hour.peak_mibps, hour.limit_mibps) / MIBPS_SCALE,
            ),
            hour.touched_minutes > 0,
        )
        for hour in hours
    ]
    most: dict[int, tuple[float, bool]] = {}
    for place, begin in begins.items():
        load = loads[numbers[place]]
        if begin not in most or load > most[begin]:
            most[begin] = load
    return {place: Height.of(load, at_least=touched) for place, (load, touched) in most.items()}


def hours_like(
    past: Past, begins: Mapping[int, int], believed: Sequence[Rhythm], anyhow: float, place: int,
    begun: dict[int, bool],
) -> Coming:  # fmt: skip
    """The busy hours that a coming hour is like, with weights, and the weight of load at any time.

    `begins` names the busy hours that count, and where the episode of each began; `begun` keeps which
    episodes have begun again, by the place where each was due.
    """
    hours = past.profile.hours
    known = len(hours)
    found: dict[int, float] = {}
    doubt = anyhow
    for rhythm in believed:
        likes = []
        total = own_doubt = DOUBT * rhythm.failed
        past_likes = dropwhile(known.__le__, rhythm.hypothesis.like(place))  # the latest come first
        for weight, like in zip(BACK, past_likes, strict=False):
            if hours[like] is not None:
                total += weight
                if like in begins:
                    likes.append((like, weight))
        doubt += rhythm.weight * own_doubt / total
        for like, weight in likes:
            due = begins[like] + place - like
            if due not in begun:
                begun[due] = _has_begun(past, begins, due)
            if not begun[due]:
                weight *= NOT_BEGUN
            found[like] = found.get(like, 0.0) + SURE * rhythm.weight * weight / total
    return list(found.items()), doubt


def _has_begun(past: Past, begins: Mapping[int, int], due: int) -> bool:
    """Whether an episode that was due at a place began, or may yet, as far as that was measured."""
    hours, until = past.profile.hours, due + LATE_HOURS + 1
    return until > len(hours) or any(
        hours[place] is None or place in begins for place in range(due - 1, until)
    )
