"""The hypotheses about when load comes again: which earlier hours a coming hour is like.

At any time is none of them. Daily, on working days, weekly, every k hours or days, as ever or of late; by the calendar's
months: on a day or a working day of the month, from its beginning or end, or on its n-th or last Monday.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import combinations, pairwise
from operator import attrgetter
from typing import NamedTuple

from headroom.domain.workload.rhythms.heights import BACK

DAY, WEEK, SHORTEST_MONTH = 24, 168, 28 * 24
"""In hours."""
WEEKDAYS, SATURDAY = 7, 5
ONSETS = 48
"""The latest onsets of load that are gone through."""
RARE_DAYS = 4
"""Days from one onset to the next, in the mean, from which on a month's weekdays and working days count."""
LONGEST_HOURS = 72
"""Longest period that is counted in hours and not in days."""
LATELY = BACK[0], 0.4
"""Weights of the latest two earlier hours alone: a rhythm that has just changed."""
_FADING = [0.96**turn for turn in range(28)]
FOR_WEEKS = tuple(sum(BACK) / sum(_FADING) * weight for weight in _FADING)
"""Weights by which weeks count as much as BACK does: load that comes on some days and not on others, without a rhythm."""
LEAST_ONSETS = 6
"""Onsets from which on that is tried."""
STAYS_AWAY = 1.5
"""How many times as long as between any two onsets load may stay away before such load is taken to have ended."""
SAME_GAPS = 2
"""Equal gaps between onsets, or times that load came again after so many days, that make a period a hypothesis."""
COMES_AGAIN = 0.75
"""Share of the times when it may have come again after so many days that make a period: fewer do by chance."""
WITH_ITS_OWN = 1, 7
"""Periods of days that are hypotheses anyway."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A rhythm: its name in words, and the earlier hours that are like an hour, the latest first."""

    name: str
    like: Callable[[int], Iterable[int]]
    ahead: tuple[int, ...]
    """How much later the next hour like an hour may be, ascending."""
    since: int
    """The first hour that may have one like it."""
    back: Sequence[float] = BACK
    """Weights of the earlier hours, the latest first."""


def hypotheses(start: datetime, onsets: Sequence[int], count: int) -> list[Hypothesis]:
    """All that are worth considering, for `onsets` among `count` hours from `start` on."""
    return [
        Hypothesis("daily", _every(DAY), (DAY,), DAY),
        Hypothesis("on working days", _working_days(start), (DAY, 3 * DAY, 6 * DAY), DAY),
        Hypothesis("weekly", _every(WEEK), (WEEK,), WEEK),
        *_for_weeks(onsets, count),
        Hypothesis("daily of late", _every(DAY), (DAY,), DAY, LATELY),
        Hypothesis("weekly of late", _every(WEEK), (WEEK,), WEEK, LATELY),
        *_by_calendar(start, onsets, count),
        *_periods(onsets),
    ]


def _for_weeks(onsets: Sequence[int], count: int) -> Iterator[Hypothesis]:
    """How often load came at this time of the day, once it came often enough to say, until it stays away for longer than ever."""
    longest = max([after - before for before, after in pairwise(onsets[-ONSETS:])], default=0)
    if len(onsets) >= LEAST_ONSETS and count - onsets[-1] <= STAYS_AWAY * longest:
        yield Hypothesis("daily for weeks", _every(DAY), (DAY,), DAY, FOR_WEEKS)


_MONTH = tuple(DAY * days for days in range(28, 32))
_FOUR_OR_FIVE_WEEKS = 4 * WEEK, 5 * WEEK
_ABOUT_A_MONTH = tuple(DAY * days for days in range(26, 36))
_BEGINS = attrgetter("begins")


_DAYS_BACK = 3, 1, 1, 1, 1, 6, 1
"""From each day of the week, Monday first, to the one before it that is a working day too, or none too."""


def _working_days(start: datetime) -> Callable[[int], Iterator[int]]:
    first, offset = start.weekday(), start.hour

    def like(hour: int) -> Iterator[int]:
        day = (first + (hour + offset) // DAY) % 7
        while (hour := hour - DAY * _DAYS_BACK[day]) >= 0:
            yield hour
            day = (day - _DAYS_BACK[day]) % 7

    return like


class _Month(NamedTuple):
    """Its first hour, counted like all others; its days; and the day of the week it begins with."""

    begins: int
    days: int
    first: int


def _months_of(start: datetime, count: int) -> list[_Month]:
    """The months from that of `start` to the one after `count` hours."""
    begins, found = -DAY * (start.day - 1) - start.hour, []
    year, month = start.year, start.month
    while True:
        first, days = monthrange(year, month)
        found.append(_Month(begins, days, first))
        if begins > count:
            return found
        begins += DAY * days
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


_SameDay = Callable[[int, _Month, _Month], int | None]
"""The day of a month, from 0, that is like a day of another one; None if none is."""


def _from_begin(day: int, this: _Month, then: _Month) -> int | None:
    return day


def _from_end(day: int, this: _Month, then: _Month) -> int | None:
    return then.days - this.days + day


def _weekday(day: int, this: _Month, then: _Month) -> int | None:
    """The first Monday is like the first Monday."""
    return (this.first + day - then.first) % WEEKDAYS + day // WEEKDAYS * WEEKDAYS


def _last_weekday(day: int, this: _Month, then: _Month) -> int | None:
    if day < this.days - WEEKDAYS:
        return None
    last = then.days - 1
    return last - (then.first + last - this.first - day) % WEEKDAYS


def _working_day(day: int, this: _Month, then: _Month) -> int | None:
    """The third working day is like the third."""
    return _same_place(day, _works(this.first, this.days), _works(then.first, then.days))


def _working_day_from_end(day: int, this: _Month, then: _Month) -> int | None:
    return _same_place(
        day, _works(this.first, this.days)[::-1], _works(then.first, then.days)[::-1]
    )


def _same_place(day: int, these: Sequence[int], those: Sequence[int]) -> int | None:
    """The day at the same place of another month's; None if it is none of these, or there are too few."""
    place = these.index(day) if day in these else len(those)
    return those[place] if place < len(those) else None


@cache
def _works(first: int, days: int) -> tuple[int, ...]:
    """The working days of a month of so many days that begins with this day of the week."""
    return tuple(day for day in range(days) if (first + day) % WEEKDAYS < SATURDAY)


def _monthly(months: Sequence[_Month], same: _SameDay) -> Callable[[int], Iterator[int]]:
    """The same hour of the like day of earlier months."""

    def like(hour: int) -> Iterator[int]:
        if hour < SHORTEST_MONTH:
            return
        number = bisect_right(months, hour, key=_BEGINS) - 1
        this = months[number]
        day, of_day = divmod(hour - this.begins, DAY)
        for then in reversed(months[:number]):
            like_day = same(day, this, then)
            if like_day is not None and 0 <= like_day < then.days:
                if (earlier := then.begins + DAY * like_day + of_day) < 0:
                    return
                yield earlier

    return like


def _by_calendar(start: datetime, onsets: Sequence[int], count: int) -> Iterator[Hypothesis]:
    """Rhythms that follow the calendar's months; those of few days only for load that is rare enough."""
    months = _months_of(start, count)
    yield Hypothesis("on a day of the month", _monthly(months, _from_begin), _MONTH, SHORTEST_MONTH)
    yield Hypothesis(
        "before the end of the month", _monthly(months, _from_end), _MONTH, SHORTEST_MONTH
    )
    latest = onsets[-ONSETS:]
    if count <= SHORTEST_MONTH or (count - latest[0]) < RARE_DAYS * DAY * len(latest):
        return
    yield Hypothesis(
        "on a weekday of the month", _monthly(months, _weekday), _FOUR_OR_FIVE_WEEKS, SHORTEST_MONTH
    )
    yield Hypothesis(
        "on the last such weekday of the month", _monthly(months, _last_weekday),
        _FOUR_OR_FIVE_WEEKS, SHORTEST_MONTH,
    )  # fmt: skip
    yield Hypothesis(
        "on a working day of the month", _monthly(months, _working_day), _ABOUT_A_MONTH,
        SHORTEST_MONTH,
    )  # fmt: skip
    yield Hypothesis(
        "on a working day before the end of the month", _monthly(months, _working_day_from_end),
        _ABOUT_A_MONTH, SHORTEST_MONTH,
    )  # fmt: skip


def _periods(onsets: Sequence[int]) -> Iterator[Hypothesis]:
    """The period in days after which load comes again, and the one in hours that most gaps between onsets have."""
    latest = onsets[-ONSETS:]
    if (days := _period_of_days(latest)) not in WITH_ITS_OWN:
        yield Hypothesis(f"every {days} days", _every(days * DAY), (days * DAY,), days * DAY)
    gaps = [after - before for before, after in pairwise(latest)]
    short = [gap for gap in gaps if 1 < gap <= LONGEST_HOURS]
    alike = {gap: [g for g in short if abs(g - gap) <= 1] for gap in short}
    usual = max(alike.values(), key=len, default=[])
    if len(usual) >= SAME_GAPS and (period := sum(usual) / len(usual)) % DAY:
        named = round(period, 1)
        yield Hypothesis(f"every {named:g} hours", _every(period), (round(named),), round(period))


def _period_of_days(onsets: Sequence[int]) -> int:
    """After how many days load came again most often, and most reliably; 1 where it did so rarely.

    Not only gaps count: load of two nights every ten days begins one day after the last time, or nine, but each
    time ten days after it began before.
    """
    again = Counter[int]()
    for hours, times in Counter(
        after - before for before, after in combinations(onsets, 2)
    ).items():
        days = (hours + 1) // DAY
        if hours >= DAY - 1 and abs(hours - days * DAY) <= 1:
            again[days] += times

    def times_of(days: int) -> tuple[int, int]:
        """How often load came again after so many days, and how often it may have."""
        return again[days], len(onsets) - bisect_left(onsets, onsets[0] + days * DAY - 1)

    def explained(days: int) -> tuple[float, int]:
        came, may = times_of(days)
        return came * came / may, -days

    best = max(
        (days for days, times in again.items() if times >= SAME_GAPS), key=explained, default=1
    )
    came, may = times_of(best)
    return best if came >= COMES_AGAIN * may else 1


def _every(hours: float) -> Callable[[int], Iterable[int]]:
    """Earlier hours a whole number of periods ago; a period may be no whole number of hours."""
    if hours == (step := int(hours)):
        return lambda hour: range(hour - step, -1, -step)

    def like(hour: int) -> Iterator[int]:
        times = 1
        while (earlier := hour - round(times * hours)) >= 0:
            yield earlier
            times += 1

    return like
