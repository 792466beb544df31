"""The earlier hours that each coming hour is like, by rhythms that are weighed by what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache, cached_property
from itertools import pairwise
from math import exp
from typing import NamedTuple

from headroom.domain.state import HOUR, IOPS_SCALE, MIBPS_SCALE, ProfileHour, hour_of
from headroom.domain.workload.episodes import ANY_TIME_HOURS, ENDLESS_HOURS, recent_hours
from headroom.domain.workload.history import Past, begins_among
from headroom.domain.workload.rhythms import (
    OF_A_KIND,
    Coming,
    Height,
    NewHeights,
    Rhythm,
    at_a_time_of_day,
    highest,
    hours_like,
    load_of,
    new_heights,
    rhythms,
)
from headroom.domain.workload.short_minutes import short_minutes, shows_a_raise

HOURS = 24
HEAVY_SHARE = 0.25
"""Share of the most shortfall of any hour from which an hour counts as load of that kind."""
HIGHER_STEPS = 2
"""Steps of height between two kinds of episodes: one is about twice as high as the other."""
LEAST_EPISODES = 3
"""Episodes that make a kind."""
NOTHING = 0.0, 0.0, 0.0


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


class IfHigher(NamedTuple):
    """What load brings that is higher than the latest of its kind, by hour, from the one before the coming on.

    `due` is how likely load of that kind comes; `late` and `early` are its minutes of shortfall at a
    level that it exceeds, while no raise can follow, and while one can at once.
    """

    heights: NewHeights
    iops: float
    mibps: float
    """The highest of that latest load."""
    due: Sequence[float]
    late: Sequence[float]
    early: Sequence[float]

    def chance_above(self, iops: float, mibps: float) -> float:
        """The probability that due load is so high that it exceeds a level."""
        return self.heights.chance_above(
            min(iops / max(1.0, self.iops), mibps / max(0.01, self.mibps))
        )


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
            return self._usual
        hours = self._past.numbered[0]
        most = max(shorts, default=0.0)
        near = [
            hour.peak_iops > OF_A_KIND * iops
            or hour.peak_mibps > OF_A_KIND * mibps
            or hour.touched_minutes > 0
            for hour in hours
        ]
        heavy = [0 < minutes >= HEAVY_SHARE * most for minutes in shorts]
        found = [one for one in map(self._likely_among, (tuple(near), tuple(heavy))) if one]
        if not found:
            return self._usual
        return min(found, key=lambda one: one[0].anyhow)[1]  # the one that a rhythm explains best

    @cached_property
    def _usual(self) -> Likely:
        """What the coming hours are like by all busy hours."""
        return self._likely(self._all)[1]

    @cached_property
    def due_now(self) -> float:
        """How far earlier episodes say what load of about now is like, 0 to 1.

        All, where no rhythm explains when they came; nothing, where load comes when those that do say none.
        """
        likely = self._usual
        due = max(
            sum([weight for _, weight in hour[0]]) for hour in (likely.before, likely.coming[0])
        )
        explained = sum([rhythm.weight * (1.0 - rhythm.failed) for rhythm in self.believed])
        return min(1.0, due + 1.0 - explained)

    @cached_property
    def if_higher(self) -> list[IfHigher]:
        """What levels fall short of, beside load as high as earlier ones, by the time of the day."""
        hours, numbers = self._past.numbered
        begins, loads = self._all.begins, list(map(_usual_load_of, hours))
        groups = at_a_time_of_day(highest(begins, numbers, loads))
        return [
            self._if_higher(heights, group, loads)
            for group in groups
            if (heights := new_heights(group))
        ]

    def _if_higher(
        self, heights: NewHeights, group: Collection[int], loads: Sequence[tuple[float, bool]]
    ) -> IfHigher:
        """Of the episodes that began at the places of `group`."""
        hours, numbers = self._past.numbered
        begins = self._all.begins
        latest = {
            numbers[place]
            for place, begin in begins.items()
            if begin >= heights.since and begin in group
        }
        times = exp(heights.by)

        @cache
        def short(number: int, onset: bool) -> tuple[float, float, float]:
            if loads[number][0] < heights.least:
                return NOTHING
            hour = hours[number]
            late = short_minutes(
                hour, (hour.peak_iops or 1) / times, (hour.peak_mibps or 1) / times
            )
            early = late * min(1.0, self._past.reaction_min / max(1, hour.busy_minutes))
            return 1.0, late, early if onset else 0.0

        found = []
        likely = self._usual
        for like, _ in (likely.before, *likely.coming):
            each = [
                (weight, *short(numbers[place], begins[place] == place))
                for place, weight in like
                if begins[place] in group
            ]
            found.append([sum([one[0] * one[which] for one in each]) for which in (1, 2, 3)])
        shares = [
            (hours[number], loads[number][0] / (load_of(hours[number])[0] or 1.0))
            for number in latest
        ]
        return IfHigher(
            heights,
            max([hour.peak_iops * share for hour, share in shares]),
            max([hour.peak_mibps * share for hour, share in shares]),
            *zip(*found, strict=True),
        )

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
            for load, touched in map(load_of, self._past.numbered[0])
        ]
        higher = [
            place
            for place, begin in begins.items()
            if heights[begin] > usual and above[numbers[place]]
        ]
        own = self._weighed(begins_among(higher))
        likely = _mixed(self._likely(own)[1], self._usual, own.anyhow)
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
                hours_like(
                    self._past.profile.hours,
                    begins,
                    one.believed,
                    one.anyhow,
                    self._first + hour,
                    begun,
                )
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


def _usual_load_of(hour: ProfileHour) -> tuple[float, bool]:
    """`load_of` without what waited at a limit and was drained: the load that was due in its busy minutes."""
    peak = max(hour.peak_iops / IOPS_SCALE, hour.peak_mibps / MIBPS_SCALE)
    if not hour.touched_minutes:
        return peak, False
    mean = max(hour.mean_iops / IOPS_SCALE, hour.mean_mibps / MIBPS_SCALE)
    due = 60 * mean / max(1, hour.busy_minutes, hour.touched_minutes)
    return min(peak, due), not shows_a_raise(hour)


def heights_of(past: Past, begins: Mapping[int, int]) -> dict[int, Height]:
    """How high the load of each episode was, by the place where it began."""
    hours, numbers = past.numbered
    most = highest(begins, numbers, list(map(load_of, hours)))
    return {place: Height.of(*load) for place, load in most.items()}


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
