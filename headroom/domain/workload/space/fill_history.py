"""How full a database's storage was, hour by hour and minute by minute, and how fast it fills.

Free space alone misleads: it jumps when storage grows. So everything here is used space in GiB: the
size at that time less what was free. Slopes are medians over all pairs of points (Theil-Sen):
so no single load, delete or temporary file moves them much.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from operator import itemgetter
from statistics import median, median_low

from headroom.domain.resources import Series
from headroom.domain.state import KnownModification

HOUR_S = 3_600
DAY_HOURS = 24
LEAST_TOPS = 4
SEEN_WITHIN = timedelta(hours=12)
"""How long after its start a growth may take to show in what is free."""
SEEN_LATE = timedelta(hours=26)
"""How long before its observation an external change may have happened: observations can be a day apart."""
BEFORE = timedelta(minutes=10)
OTHERS = "other"
SHOWS = 0.5
"""Least share of the added GiB for a single rise of free space to count as the growth."""

Point = tuple[datetime, float]
began: Callable[[Point], datetime] = itemgetter(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Storage that grew by `added_gib`; `landed_at` is None while free space does not show it.

    `shown` is whether it ever did, as far as that was measured.
    """

    started_at: datetime
    added_gib: int
    landed_at: datetime | None
    shown: bool = True


def growths(
    modifications: Iterable[KnownModification], free: Sequence[Point], until: datetime
) -> tuple[Growth, ...]:
    """Known growths, oldest first, each with when free space rose."""
    found = []
    for change in modifications:
        if change.origin is None or change.target is None or change.started_at > until:
            continue
        added = change.target.size_gib - change.origin.size_gib
        if added > 0:
            ours = change.by != OTHERS
            found.append(
                _ours(free, change.started_at, added, until)
                if ours
                else _external(free, change.started_at, added)
            )
    return tuple(sorted(found, key=lambda one: one.started_at))


def _ours(free: Sequence[Point], started_at: datetime, added: int, until: datetime) -> Growth:
    """A growth by Headroom, landed when free space shows it, or given up after SEEN_WITHIN."""
    if not free or free[0][0] > started_at + SEEN_WITHIN:
        return Growth(started_at=started_at, added_gib=added, landed_at=started_at)
    shown_at = _appeared_at(free, started_at - BEFORE, started_at + SEEN_WITHIN, added)
    if shown_at is not None:
        return Growth(started_at=started_at, added_gib=added, landed_at=shown_at)
    late = started_at + SEEN_WITHIN
    return Growth(
        started_at=started_at, added_gib=added, landed_at=late if until > late else None,
        shown=False,
    )  # fmt: skip


def _external(free: Sequence[Point], seen_at: datetime, added: int) -> Growth:
    """A growth by somebody else, which may have landed a day before it was observed.

    What never shows in what is free is no rise of what is used: it counts as there, and in use, all along.
    """
    shown_at = _appeared_at(free, seen_at - SEEN_LATE, seen_at + SEEN_WITHIN, added)
    if shown_at is None:
        shown_at = free[0][0] if free else seen_at
    return Growth(started_at=seen_at, added_gib=added, landed_at=shown_at)


def _appeared_at(
    free: Sequence[Point], since: datetime, until: datetime, added: int
) -> datetime | None:
    """When free space rose the most, if the rise is large enough for a growth of `added` GiB."""
    near = [p for p in free if since <= p[0] <= until]
    rises = [(after[1] - before[1], after[0]) for before, after in pairwise(near)]
    most = max(rises, default=None)
    return most[1] if most is not None and most[0] >= SHOWS * added else None


def used(free: Sequence[Point], size_gib: int, grown: Sequence[Growth]) -> tuple[Point, ...]:
    """What was used at each point: the size in effect then less what was free."""
    if not grown:
        return tuple([(at, size_gib - gib) for at, gib in free])
    return tuple(
        [
            (
                at,
                size_gib
                - sum([g.added_gib for g in grown if g.landed_at is None or g.landed_at > at])
                - gib,
            )
            for at, gib in free
        ]
    )


def merge_series(history: Series | None, recent: Series | None) -> tuple[Point, ...]:
    """All points of both, oldest first; where they overlap the finer one counts."""
    fine = () if recent is None else tuple(recent.points())
    coarse = () if history is None else tuple(history.points())
    if not fine:
        return coarse
    return coarse[: bisect_left(coarse, fine[0][0], key=began)] + fine


def by_hour(points: Iterable[Point], now: datetime) -> dict[int, float]:
    """The most that was used in each hour before `now`; hour 1 is the latest, hours without data
    are left out."""
    found: dict[int, float] = {}
    for at, gib in points:
        hour = int((now - at).total_seconds() // HOUR_S) + 1
        if hour >= 1:
            found[hour] = max(found.get(hour, gib), gib)
    return found


def slope(points: Sequence[Point]) -> float | None:
    """GiB per hour, the lower median over all pairs; None with fewer than three points."""
    if len(points) < 3:
        return None
    slopes = [
        (later - earlier) / (seconds / HOUR_S)
        for i, (begin, earlier) in enumerate(points)
        for end, later in points[i + 1 :]
        if (seconds := (end - begin).total_seconds()) > 0
    ]
    return median_low(slopes) if slopes else None


def thinned(points: Sequence[Point], every: timedelta) -> tuple[Point, ...]:
    """Medians over stretches of `every`, each at the middle instant of what was measured in it."""
    if not points:
        return ()
    groups: dict[int, list[Point]] = {}
    for at, gib in points:
        groups.setdefault(int((at - points[0][0]) / every), []).append((at, gib))
    return tuple(
        (group[len(group) // 2][0], median(gib for _, gib in group)) for group in groups.values()
    )


def daily_slope(hours: Mapping[int, float], now: datetime) -> float | None:
    """GiB per day over the days before; None where no hour was measured on two days running.

    Of their highest hours where there are four whole days; of fewer, in which one odd day would
    count for too much, the lower median of what every hour had more than a day before.
    """
    days: dict[int, list[float]] = {}
    for hour, gib in hours.items():
        days.setdefault((hour - 1) // DAY_HOURS, []).append(gib)
    tops = [
        (now - timedelta(days=day), max(values))
        for day, values in sorted(days.items(), reverse=True)
        if len(values) >= DAY_HOURS * 3 // 4
    ]
    if len(tops) >= LEAST_TOPS:
        found = slope(tops)
        return None if found is None else found * DAY_HOURS
    more = [
        gib - hours[hour + DAY_HOURS] for hour, gib in hours.items() if hour + DAY_HOURS in hours
    ]
    return median_low(more) if more else None


def rises(hours: Mapping[int, float], over: int) -> tuple[float, ...]:
    """By how much it filled in the `over` hours after this hour of each earlier day, at its highest.

    One for each day of which this hour and most of those after it were measured; never negative.
    """
    found = []
    for day in range(1, 15):
        here = day * DAY_HOURS + 1
        after = [hours[h] for h in range(here - over, here) if h in hours]
        if here in hours and len(after) >= (3 * over + 3) // 4:
            found.append(max(0.0, max(after) - hours[here]))
    return tuple(found)


def paces(hours: Mapping[int, float]) -> tuple[float, ...]:
    """GiB per hour of the fastest hour about this one, of each earlier day; never negative."""
    found = []
    for day in range(1, 15):
        here = day * DAY_HOURS + 1
        about = (here - 1, here, here + 1)
        steps = [hours[h] - hours[h + 1] for h in about if h in hours and h + 1 in hours]
        if steps:
            found.append(max(0.0, *steps))
    return tuple(found)


def fastest_day(hours: Mapping[int, float]) -> float:
    """The most GiB that it filled by within any 24 hours; never negative."""
    return max(
        (
            gib - hours[before]
            for hour, gib in hours.items()
            for before in range(hour, hour + DAY_HOURS + 1)
            if before in hours
        ),
        default=0.0,
    )
