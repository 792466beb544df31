"""Limits at an instant: which limits of a volume were in force, by the known modifications."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from headroom.domain.catalog.ebs import HDD_IO_BYTES, SSD_IO_BYTES, capability
from headroom.domain.resources import Configuration, Observation
from headroom.domain.state.profile import HOUR, LoadProfile, ProfileHour
from headroom.domain.state.resource_state import MODIFICATION_RETENTION, WINDOW, KnownModification

LANDING_S = 3_600.0
"""How long after its start a change may be landing; the load then shows which limit binds."""
DAY_S, LEAST_MIBPS, MERGED_PER_MIB = 86_400.0, 125.0, 4.0
STILL_BELOW = 1.02
A_DAY_H, A_WEEK_H = 24, 7 * 24
LARGE_MIB = 0.2
"""MiB per SSD operation of large or merged ones."""
LIKE_IT = 1.05
"""Load of up to so many times what was served is like it: a profile's scale has steps of 2 %."""
ABOVE = 1.02
"""Operations this far above every limit of the time prove that they were merged."""


class LimitHistory:
    """Which limits were in force when, as far as modifications are known."""

    def __init__(self, observation: Observation, known: Sequence[KnownModification]) -> None:
        changes = [(m.started_at, m.origin, m.target) for m in known]
        latest = observation.modification
        if latest is not None and all(
            abs((at - latest.started_at).total_seconds()) > 1 for at, _, _ in changes
        ):
            changes.append((latest.started_at, latest.origin, latest.target))
        dated = sorted((at.timestamp(), origin, to) for at, origin, to in changes if to is not None)
        first = next((origin for _, origin, _ in dated if origin is not None), None)
        self._starts = [at for at, _, _ in dated]
        self._can = [capability(first or observation.volume.configuration)]
        self._can += [capability(to) for _, _, to in dated if to is not None]
        self.database = observation.volume.configuration.database is not None
        self._fewest = min(c.burst_iops for c in self._can)
        instance = observation.instance
        self._instance = None if instance is None else instance.limits
        self.certain_from = float("-inf")
        """Earlier (POSIX timestamp) a modification may have been forgotten."""
        if self._starts:
            remembered = (observation.at - MODIFICATION_RETENTION).timestamp()
            self.certain_from = min(self._starts[0], remembered)

    @property
    def ssd(self) -> bool:
        """Whether all configurations are SSDs."""
        return all(can.io_bytes == SSD_IO_BYTES for can in self._can)

    def before_instance(self, limit: float, *, of_iops: bool) -> bool:
        """Whether a limit of IOPS, else of MiB/s, binds before the instance does, where that one is known."""
        limits = self._instance
        if limits is None:
            return True
        return limit <= (limits.baseline_iops if of_iops else limits.baseline_mibps)

    @property
    def lowest(self) -> tuple[float, float]:
        """The lowest sustained IOPS and MiB/s of all configurations."""
        return min(c.sustained_iops for c in self._can), min(c.sustained_mibps for c in self._can)

    def at(self, at: float, took: tuple[float, float], *, empty: bool) -> tuple[float, float]:
        """IOPS and MiB/s that were possible at a POSIX timestamp; with an empty bucket if `empty`.

        While a change lands, the lower of both limits, unless more was served than one of them permits.
        IOPS and throughput of a change take effect together.
        """
        number = bisect_right(self._starts, at)
        now = self._of(number, empty)
        if not number or at - self._starts[number - 1] >= LANDING_S:
            return now
        before = self._of(number - 1, empty)
        if permits(now, took) != permits(before, took):
            return now if permits(now, took) else before
        choose = min if permits(now, took) else max
        return choose(before[0], now[0]), choose(before[1], now[1])

    def counted(self, at: float, iops: float, mibps: float) -> float:
        """The operations that EBS counted at a POSIX timestamp: merged ones where more were served than possible.

        Small sequential ones were merged then to 256 KiB. Earlier than a day before the first known change
        it may have been another configuration: then only where the MiB/s need what this one has beyond gp3's
        least, and no more.
        """
        if iops <= ABOVE * self._fewest:
            return iops
        number = bisect_right(self._starts, at)
        around = self._can[max(0, number - 1) : number + 2]
        if not self._starts or at < self._starts[0] - DAY_S:
            around = self._can[:1]
            if not ABOVE * LEAST_MIBPS < mibps <= ABOVE * around[0].burst_mibps:
                return iops
        most = max(can.burst_iops for can in around)
        ssd = all(can.io_bytes == SSD_IO_BYTES for can in around)
        return MERGED_PER_MIB * mibps if ssd and iops > ABOVE * most else iops

    def _of(self, number: int, empty: bool) -> tuple[float, float]:
        can = self._can[number]
        if empty:
            return can.sustained_iops, can.sustained_mibps
        return can.burst_iops, can.burst_mibps


def permits(limits: tuple[float, float], took: tuple[float, float]) -> bool:
    """Whether these limits let `took` through."""
    return took[0] <= limits[0] * STILL_BELOW and took[1] <= limits[1] * STILL_BELOW


class ServedByHdd(NamedTuple):
    """The owner's HDD configuration that Headroom changed, and the most that it served without touching a limit."""

    configuration: Configuration
    iops: float
    """SSD operations/s, of which it counts several as one if they are large or sequential."""
    mibps: float


def served_by_hdd(
    known: Sequence[KnownModification], chosen: Configuration | None, profile: LoadProfile,
    at: datetime,
) -> ServedByHdd | None:  # fmt: skip
    """What an HDD type that the owner chose served, until a day before it was left for another type.

    Of large operations only: of others each costs a MiB, merged or not. None without a day of it in the time of which
    all changes are known; nor if a day of the last week took more than any day then, which credits may have served,
    or more operations that are not large than the type sustains.
    """
    if chosen is None or capability(chosen).io_bytes != HDD_IO_BYTES:
        return None
    since, left = at - MODIFICATION_RETENTION, None
    for change in known:
        if change.origin is None or change.target is None:
            continue
        was, then = change.origin.volume_type, change.target.volume_type
        if was is chosen.volume_type is not then:
            left = change.started_at
        elif then is chosen.volume_type is not was:
            since, left = change.started_at, None
    if left is None:
        return None
    first, last = (max(0, -((profile.start - one) // HOUR)) for one in (since, left - WINDOW))
    before, lately = profile.hours[first:last], profile.hours[-A_WEEK_H:]
    most = capability(chosen).sustained_iops
    if sum(hour is not None for hour in before) < A_DAY_H or any(
        hour is not None and hour.peak_iops > most and not _is_large(hour) for hour in lately
    ):
        return None
    if max(_days(lately)) > LIKE_IT * max(_days(before)):
        return None
    served = [h for h in before if h is not None and not h.touched_minutes and _is_large(h)]
    if not served:
        return None
    iops, mibps = max(h.peak_iops for h in served), max(h.peak_mibps for h in served)
    return ServedByHdd(chosen, LIKE_IT * iops, LIKE_IT * mibps)


def _is_large(hour: ProfileHour) -> bool:
    return hour.peak_mibps >= LARGE_MIB * hour.peak_iops


def _days(hours: Sequence[ProfileHour | None]) -> list[float]:
    """The load of every 24 hours in a row, in MiB/s times hours."""
    sums = [0.0, *accumulate(0.0 if hour is None else hour.mean_mibps for hour in hours)]
    return [sums[n] - sums[max(0, n - A_DAY_H)] for n in range(1, len(sums))]
