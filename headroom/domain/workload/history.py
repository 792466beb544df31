"""Load by the period, as CloudWatch measured it; the busy hours of the past, and their episodes."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from math import ceil
from operator import attrgetter
from statistics import median

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES
from headroom.domain.resources import VolumeActivity
from headroom.domain.state import HOUR, LoadProfile, ProfileHour, hour_of
from headroom.domain.workload.growth import Growth
from headroom.domain.workload.short_minutes import REACTION_MIN, shows_a_raise

OPS_PER_MIB = MIB / SSD_IO_BYTES
SHARES = (0.25, 0.5, 0.75, 0.88, 0.94, 0.97, 0.985, 0.9925, 0.9965, 0.9985, 1.0)
ABOVE_ALL = (1.0, 1.25, 1.5, 2.0, 4.0)
"""Factors above the highest measured demand."""
HOLD_HOURS = 2.0
"""A raise cannot be given back sooner: the modification is still in flight."""
RECENT_HOURS = 14 * 24
_touched_minutes = attrgetter("touched_minutes")


def measured_periods(history: VolumeActivity, *, database: bool) -> tuple[bool, ...]:
    """Whether each period was measured: reads and writes both, where a direction without operations is published as 0.

    That is of databases, and of volumes on Nitro instances: from the first period on whose checks are published. On
    Xen instances a direction is published only while it has operations. Source: EBS User Guide, CloudWatch metrics
    (2026-09).
    """
    reads, writes = history.read_iops.values, history.write_iops.values
    checks = zip(history.iops_exceeded.values, history.throughput_exceeded.values, strict=True)
    nitro = (
        0 if database
        else next((n for n, both in enumerate(checks) if both != (None, None)), len(reads))
    )  # fmt: skip
    either = [
        r is not None or w is not None for r, w in zip(reads[:nitro], writes[:nitro], strict=True)
    ]
    both = [
        r is not None and w is not None for r, w in zip(reads[nitro:], writes[nitro:], strict=True)
    ]
    return (*either, *both)


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
