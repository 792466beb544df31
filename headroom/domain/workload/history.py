"""Load by the period, as CloudWatch measured it; the busy hours of the past, and their episodes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from math import ceil
from operator import attrgetter
from statistics import median
from typing import NamedTuple

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES
from headroom.domain.resources import VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, ProfileHour, hour_of
from headroom.domain.workload.growth import Growth
from headroom.domain.workload.rhythms import Coming
from headroom.domain.workload.short_minutes import REACTION_MIN, shows_a_raise

OPS_PER_MIB = MIB / SSD_IO_BYTES
SHARES = (0.25, 0.5, 0.75, 0.88, 0.94, 0.97, 0.985, 0.9925, 0.9965, 0.9985, 1.0)
ABOVE_ALL = (1.0, 1.25, 1.5, 2.0, 4.0)
"""Factors above the highest measured demand."""
HOLD_HOURS = 2.0
"""A raise cannot be given back sooner: the modification is still in flight."""
RECENT_HOURS = 14 * 24
ANY_TIME_HOURS = 28 * 24
"""Hours from which the rate of load at any time is taken."""
QUIET_PRIOR = 12.0
"""Quiet hours that are assumed beside those measured."""
LATE_MEASURED_HOURS = 3
"""The present hour is not over, the forecast may begin with the next one, and metrics are late."""
_touched_minutes = attrgetter("touched_minutes")


def measured_periods(history: VolumeActivity) -> tuple[bool, ...]:
    """Whether each period was measured."""
    return tuple(
        r is not None or w is not None
        for r, w in zip(history.read_iops.values, history.write_iops.values, strict=True)
    )


def checked_days(history: VolumeActivity) -> float | None:
    """Days in which an Exceeded check was published; None where none ever was.

    Checks are published under the pair of instance and volume: days on another instance do not show
    bursts inside a minute.
    """
    by_iops, by_mibps = history.iops_exceeded.values, history.throughput_exceeded.values
    found = len(by_iops)
    if not (_is_whole(by_iops) or _is_whole(by_mibps)):
        checks = zip(by_iops, by_mibps, strict=True)
        found -= [mibps for iops, mibps in checks if iops is None].count(None)
    return found * history.read_iops.period_s / 86_400 if found else None


def _is_whole(values: Sequence[float | None]) -> bool:
    """Whether nothing is missing: numbers can be added up, which is the fastest way to see it."""
    try:
        sum(values)  # type: ignore[arg-type]  # None is refused
    except TypeError:
        return False
    return True


def load_rates(history: VolumeActivity) -> tuple[list[float], list[float]]:
    """Means of each period in SSD operations/s and MiB/s, 0 where nothing is known."""
    mibps = [
        (r or 0.0) + (w or 0.0)
        for r, w in zip(history.read_mibps.values, history.write_mibps.values, strict=True)
    ]
    iops = [
        max((r or 0.0) + (w or 0.0), m * OPS_PER_MIB)
        for r, w, m in zip(history.read_iops.values, history.write_iops.values, mibps, strict=True)
    ]
    return iops, mibps


@dataclass(frozen=True)
class Past:
    """The profile as the forecast reads it, with the hours that are busy at the least level."""

    profile: LoadProfile
    known: int
    """Hours that were measured."""
    busy: Mapping[int, ProfileHour]
    """Hours with load above the least that any plan leaves, by their place."""
    most_iops: float
    most_mibps: float
    least_iops: float = 0.0
    """Load up to which an hour is not busy."""
    growth: Growth | None = None
    """The growth that the profile includes already."""

    @property
    def days(self) -> float:
        """Days that were measured."""
        return self.known / 24

    @cached_property
    def numbered(self) -> tuple[tuple[ProfileHour, ...], dict[int, int]]:
        """The different busy hours, and by place which of them it is: periodic load repeats few."""
        numbers: dict[ProfileHour, int] = {}
        by_place = {
            place: numbers.setdefault(hour, len(numbers)) for place, hour in self.busy.items()
        }
        return tuple(numbers), by_place

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The places of the busy hours, in order of time."""
        return tuple(self.busy)

    @cached_property
    def times(self) -> Counter[int]:
        """How many busy hours are alike, by their number and in its order."""
        return Counter(self.numbered[1].values())

    @cached_property
    def begins(self) -> dict[int, int]:
        """For each busy hour the place where its episode began."""
        return begins_among(self.busy)

    @cached_property
    def reaction_min(self) -> float:
        """Minutes at a limit before a raise took effect, in the median of the hours that show it.

        Metrics of a database are read later, and AWS takes minutes to hours; never less than `REACTION_MIN`.
        Only where load began in that hour: a second raise waits until AWS has completed the first.
        """
        took = [
            hour.touched_minutes
            for place, hour in self.busy.items()
            if self.begins[place] == place and shows_a_raise(hour)
        ]
        return max(REACTION_MIN, min(60.0, median(took))) if took else REACTION_MIN

    @cached_property
    def lasting(self) -> tuple[float, ...]:
        """By number of the busy hour: how many hours in a row were busy with it, in the mean."""
        hours, by_place = self.numbered
        long = Counter(self.begins.values())
        total = [0.0] * len(hours)
        for number, begin in zip(by_place.values(), self.begins.values(), strict=True):
            total[number] += long[begin]
        return tuple([total[number] / times for number, times in self.times.items()])

    def recent_days(self, now: datetime) -> float:
        """Days that were measured in the last two weeks: what is older proves nothing of today."""
        since = max(0, (hour_of(now) - self.profile.start) // HOUR - RECENT_HOURS)
        hours = self.profile.hours[since:]
        return (len(hours) - hours.count(None)) / 24


def begins_among(places: Iterable[int]) -> dict[int, int]:
    """For each of the places, which are in order of time, the first one of those in a row with it."""
    found: dict[int, int] = {}
    for place in places:
        found[place] = found.get(place - 1, place)
    return found


def past_of(
    profile: LoadProfile, *, least_iops: float, least_mibps: float, growth: Growth | None = None
) -> Past:
    """The past, in which hours below `least_iops` and `least_mibps` are not busy."""
    most_iops, most_mibps = profile.peaks
    above = most_iops > least_iops or most_mibps > least_mibps
    busy: dict[int, ProfileHour] = {}
    if above or any(map(_touched_minutes, profile.known)):
        busy = {
            place: hour
            for place, hour in enumerate(profile.hours)  # its peaks, and minutes at a limit
            if hour is not None and (hour[0] > least_iops or hour[1] > least_mibps or hour[5])
        }
    return Past(
        profile=profile,
        known=len(profile.known),
        busy=busy,
        most_iops=most_iops,
        most_mibps=most_mibps,
        least_iops=least_iops,
        growth=growth,
    )  # fmt: skip


class Recent(NamedTuple):
    """The hours from which the rate of load at any time is taken."""

    since: int
    until: int
    measured: int


def recent_hours(past: Past, now: int) -> Recent:
    since = max(0, now - ANY_TIME_HOURS)
    hours = past.profile.hours[since:now]
    return Recent(since, now, len(hours) - hours.count(None))


ENDLESS_HOURS = 24
"""Load in each of so many hours in a row is under way until one has none; then as long again."""
ONSET, HELD, RAISED_AGAIN = range(3)
"""Phases of an episode: its first hour, those that one raise serves, those that two do."""


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
            onsets += phase == ONSET or not run
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
    """Place, number and phase of each hour of [since, until) that is short, in order of time."""
    places, numbers = past.places, past.numbered[1]
    last, before = -2, 0
    first, end = bisect_left(places, since - int(HOLD_HOURS) - 1), bisect_left(places, until)
    for place in places[first:end]:
        number = numbers[place]
        if short[number]:
            before = before + 1 if place - 1 == last else 0
            last = place
            if place >= since:
                phase = RAISED_AGAIN if before > HOLD_HOURS else HELD if before else ONSET
                yield place, number, phase


def _has_ended(past: Past, last: int, until: int) -> bool:
    """Whether an hour without load was measured after the last one with it, or nothing for long."""
    return until - last > LATE_MEASURED_HOURS or any(
        hour is not None for hour in past.profile.hours[last + 1 : until]
    )


def demand_levels(
    past: Past, usd: Callable[[float, float], float]
) -> tuple[tuple[float, float], ...]:
    """IOPS and MiB/s that would have been enough for increasing shares of the busy hours.

    From zero to more than was ever measured; `usd` orders levels by price.
    """
    found = {(0.0, 0.0)}
    most_iops, most_mibps = past.most_iops, past.most_mibps
    wanted = [
        (max(hour.peak_iops, hour.limit_iops), max(hour.peak_mibps, hour.limit_mibps))
        for hour in past.numbered[0]
    ]
    times = past.times
    by_price = sorted((usd(*rates), *rates, times[number]) for number, rates in enumerate(wanted))
    if by_price:
        iops = list(accumulate((i for _, i, _, _ in by_price), max))
        mibps = list(accumulate((m for _, _, m, _ in by_price), max))
        most_iops, most_mibps = max(most_iops, iops[-1]), max(most_mibps, mibps[-1])
        upto = list(accumulate(count for _, _, _, count in by_price))
        for share in SHARES:
            place = bisect_right(upto, max(0, ceil(share * upto[-1]) - 1))
            found.add((iops[place], mibps[place]))
    for factor in ABOVE_ALL:
        found.add((most_iops * factor, most_mibps))
        found.add((most_iops, most_mibps * factor))
        found.add((most_iops * factor, most_mibps * factor))
    return tuple(sorted(found))
