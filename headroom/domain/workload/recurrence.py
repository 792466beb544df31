"""The earlier hours that each coming hour is like, by rhythms that are weighed by what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import dropwhile, pairwise
from typing import NamedTuple

from headroom.domain.state import HOUR, IOPS_SCALE, MIBPS_SCALE, ProfileHour, hour_of
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

NEVER_MEASURED = 3
"""Times that an hour was due, and never measured, after which it is taken for one without load."""
HIGHER_STEPS = 2
"""Steps of height between two kinds of episodes: one is about twice as high as the other."""
LEAST_EPISODES = 3
"""Episodes that make a kind."""


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


class _Higher(NamedTuple):
    """The busy hours of episodes that are much higher than all others, by number, and what is likely then."""

    numbers: frozenset[int]
    likely: Likely


class Recurrence:
    """The busy hours that each of the next hours is like, and the weight of load at any time.

    Load that never ends for a day has no rhythm of its own; what comes on top of it may have one. So for
    a level above such load only the hours with load near it count, or those that fall far short at it:
    those that a rhythm explains better. Where some episodes are much higher than all others, these have
    rhythms of their own, as far as one explains them: a month's end on top of working days.
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

    @classmethod
    def of(cls, past: Past, now: datetime) -> Recurrence:
        """Of the hours from that of `now` on."""
        return cls(past, (hour_of(now) - past.profile.start) // HOUR)

    def at(self, iops: float, mibps: float, shorts: Sequence[float]) -> Likely:
        """What the coming hours are like at a level.

        `shorts` are its minutes of shortfall by the number of the different busy hours.
        """
        if not self.endless:
            of_higher = self._of_higher
            if of_higher and _falls_short_by(of_higher.numbers, shorts):
                return of_higher.likely
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

    @cached_property
    def due_now(self) -> float:
        """How far earlier episodes say what load of about now is like, 0 to 1.

        All, where no rhythm explains when they came; nothing, where load comes when those that do say none.
        """
        likely = self._likely(self._all)[1]
        due = max(
            sum([weight for _, weight in hour[0]]) for hour in (likely.before, likely.coming[0])
        )
        explained = sum([rhythm.weight * (1.0 - rhythm.failed) for rhythm in self.believed])
        return min(1.0, due + 1.0 - explained)

    @property
    def by_level(self) -> bool:
        """Whether levels may have rhythms of their own."""
        return self.endless or self._of_higher is not None

    @cached_property
    def _of_higher(self) -> _Higher | None:
        """The episodes much higher than all others, and what is likely at a level that only they exceed.

        As far as no rhythm explains them, they come as all load does. None without such episodes.
        """
        begins = self._all.begins
        heights = {place: height.step for place, height in heights_of(self._past, begins).items()}
        steps = sorted(heights.values())
        gap, number = max(
            (
                (above - below, place)
                for place, (below, above) in enumerate(pairwise(steps), start=1)
            ),
            default=(0, 0),
        )
        if gap < HIGHER_STEPS or number < LEAST_EPISODES or len(steps) - number < LEAST_EPISODES:
            return None
        usual, numbers = steps[number - 1], self._past.numbered[1]
        above = [
            touched or Height.of(load, touched).step > usual
            for load, touched in map(_load_of, self._past.numbered[0])
        ]
        higher = [
            place
            for place, begin in begins.items()
            if heights[begin] > usual and above[numbers[place]]
        ]
        own = self._weighed(begins_among(higher))
        likely = _mixed(self._likely(own)[1], self._likely(self._all)[1], own.anyhow)
        return _Higher(frozenset(numbers[place] for place in higher), likely)

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


def _load_of(hour: ProfileHour) -> tuple[float, bool]:
    """The load of an hour on one scale, and whether it touched a limit: it may have been higher."""
    load = max(
        max(hour.peak_iops, hour.limit_iops) / IOPS_SCALE,
        max(hour.peak_mibps, hour.limit_mibps) / MIBPS_SCALE,
    )
    return load, hour.touched_minutes > 0


def heights_of(past: Past, begins: Mapping[int, int]) -> dict[int, Height]:
    """How high the load of each episode was, by the place where it began."""
    hours, numbers = past.numbered
    loads = list(map(_load_of, hours))
    most: dict[int, tuple[float, bool]] = {}
    for place, begin in begins.items():
        load = loads[numbers[place]]
        if begin not in most or load > most[begin]:
            most[begin] = load
    return {place: Height.of(load, touched) for place, (load, touched) in most.items()}


def _falls_short_by(numbers: Collection[int], shorts: Sequence[float]) -> bool:
    """Whether nearly all shortfall at a level is that of some hours, given by their number."""
    bar = HEAVY_SHARE * max(shorts, default=0.0)
    return bar > 0 and all(number in numbers for number, short in enumerate(shorts) if short >= bar)


def _mixed(one: Likely, other: Likely, share: float) -> Likely:
    """Both, the other with a share."""

    def mixed(first: Coming, second: Coming) -> Coming:
        (likes, doubt), (others, others_doubt) = first, second
        return (
            [
                *((place, weight * (1 - share)) for place, weight in likes),
                *((place, weight * share) for place, weight in others),
            ],
            doubt * (1 - share) + others_doubt * share,
        )

    return Likely(
        list(map(mixed, one.coming, other.coming)), mixed(one.before, other.before), other.strays
    )


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
        unmeasured, times = 0.0, 0
        past_likes = dropwhile(known.__le__, rhythm.hypothesis.like(place))  # the latest come first
        for weight, like in zip(BACK, past_likes, strict=False):
            if hours[like] is None:
                unmeasured, times = unmeasured + weight, times + 1
            else:
                total += weight
                if like in begins:
                    likes.append((like, weight))
        if (
            total == own_doubt
            and times >= NEVER_MEASURED
            and not any(hours[like] is not None for like in past_likes)
        ):
            total += unmeasured  # an instance that is off at these times
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
