"""Rhythms: competing hypotheses about when load comes again, weighed by how well each foretold the past.

At any time, daily, on working days, weekly, on a day of the month or before its end, and every k
hours or days. Each hypothesis says which earlier hours a coming hour is like; its weight follows
from the likelihood that it gave to the onsets of load, each foretold from the hours before it only.
"""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import exp, log

from headroom.domain.state import HOUR

DAY, WEEK, SHORTEST_MONTH = 24, 168, 28 * 24
"""In hours."""
AT_ANY_TIME = "at any time"
BACK = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3)
"""Weights of the earlier hours that a hypothesis compares with, the latest first."""
DOUBT = 0.5
"""Weight of the rate at any time beside them."""
PRIORS = {
    AT_ANY_TIME: 1.0, "daily": 1.0, "on working days": 0.4, "weekly": 0.6,
    "on a day of the month": 0.3, "before the end of the month": 0.3, "every k hours": 0.3,
    "every k days": 0.3,
}  # fmt: skip
SURE = 0.97
"""No hypothesis is ever surer than this that load comes."""
ONSETS = 48
"""The latest onsets of load that are gone through."""
LONGEST_HOURS = 72
"""Longest period that is counted in hours and not in days."""
SAME_GAPS = 2
"""Equal gaps between onsets that make a period a hypothesis."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A rhythm: its name in words, and the earlier hours that are like an hour, the latest first."""

    name: str
    like: Callable[[int], Iterator[int]]


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A hypothesis and how far it is believed, 0 to 1."""

    hypothesis: Hypothesis
    weight: float
    failed: float
    """Share of its expectations that failed, and of onsets that it did not expect; 1 while it has none."""


def rhythms(
    start: datetime, busy: Sequence[bool], measured: Sequence[bool]
) -> tuple[tuple[Rhythm, ...], float]:
    """The hypotheses with their weights, and the weight of load at any time. All sum to 1.

    `busy` and `measured` are hours from `start` on.
    """
    onsets = [
        hour for hour, is_busy in enumerate(busy) if is_busy and not (hour and busy[hour - 1])
    ]
    hypotheses = [
        Hypothesis("daily", lambda hour: iter(range(hour - DAY, -1, -DAY))),
        Hypothesis("on working days", _working_days(start)),
        Hypothesis("weekly", lambda hour: iter(range(hour - WEEK, -1, -WEEK))),
        Hypothesis("on a day of the month", _months(start, from_end=False)),
        Hypothesis("before the end of the month", _months(start, from_end=True)),
        *_periods(onsets),
    ]
    if not onsets:
        return (), 1.0
    scores, failed = _log_likelihoods(hypotheses, onsets, measured)
    best = max(*scores, scores[0])
    odds = [
        PRIORS[AT_ANY_TIME if i == 0 else _family(hypotheses[i - 1].name)] * exp(score - best)
        for i, score in enumerate(scores)
    ]
    total = sum(odds)
    found = tuple(
        Rhythm(hypothesis, odd / total, share)
        for hypothesis, odd, share in zip(hypotheses, odds[1:], failed, strict=True)
        if odd / total > 0.01
    )
    return found, 1.0 - sum(rhythm.weight for rhythm in found)


def _family(name: str) -> str:
    return f"every k {name.rsplit(' ', 1)[1]}" if name.startswith("every") else name


def _log_likelihoods(
    hypotheses: Sequence[Hypothesis], onsets: Sequence[int], measured: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """Of load at any time first, then of each hypothesis; and the share of each that failed.

    Compared over the hours that any of them singles out: the onsets, and the hours in which one
    expected an onset. In all others they say the same.
    """
    latest = onsets[-ONSETS:]
    begins = set(onsets)
    near = {hour + off for hour in onsets for off in (-1, 0, 1)}
    # Hours that resemble an onset, found by going forward the way `like` goes back.
    hours = set(latest)
    count = len(measured)
    for one in hypotheses:
        for hour in latest:
            step = _forward(one, hour, count)
            if step is not None:
                hours.add(step)
        missed = latest[-1]  # and every time since then: a rhythm that ended is given up
        while (step := _forward(one, missed, count)) is not None:
            hours.add(step)
            missed = step
    scores = [0.0] * (len(hypotheses) + 1)
    tried, failed = [0] * len(hypotheses), [0] * len(hypotheses)
    known = 0
    passed = 0
    onset_places = sorted(begins)
    for hour in sorted(hours):
        if hour >= count or not measured[hour]:
            continue
        while passed < len(onset_places) and onset_places[passed] < hour:
            passed += 1
        known = max(hour, 1)
        anyhow = (passed + 0.5) / (known + DAY)
        came = any(hour + off in begins for off in (-1, 0, 1))
        scores[0] += log(min(SURE, 3 * anyhow) if came else 1 - min(SURE, 3 * anyhow))
        for i, one in enumerate(hypotheses, start=1):
            foretold = min(SURE, 3 * anyhow)
            weighed, total = DOUBT * foretold, DOUBT
            for weight, like in zip(BACK, one.like(hour), strict=False):
                if measured[like]:
                    weighed += weight * (like in near)
                    total += weight
            chance = min(SURE, max(1 - SURE, weighed / total)) if total > DOUBT else foretold
            scores[i] += log(chance if came else 1 - chance)
            expected = 2 * (weighed - DOUBT * foretold) > total - DOUBT
            if total > DOUBT and (expected or hour in begins):
                tried[i - 1] += 1
                failed[i - 1] += expected != came
    return scores, [(f + 2) / (t + 2) for t, f in zip(tried, failed, strict=True)]


def _forward(hypothesis: Hypothesis, hour: int, count: int) -> int | None:
    """The hour after `hour` that the hypothesis would call like it; None where none is known."""
    for ahead in _STEPS.get(hypothesis.name, ()):
        if hour + ahead < count and next(hypothesis.like(hour + ahead), None) == hour:
            return hour + ahead
    if hypothesis.name.startswith("every"):
        number, unit = hypothesis.name.split(" ")[1:]
        ahead = round(float(number) * (DAY if unit == "days" else 1))
        return hour + ahead if hour + ahead < count else None
    return None


_MONTH = tuple(DAY * days for days in (28, 29, 30, 31))
_STEPS = {
    "daily": (DAY,), "on working days": (DAY, 3 * DAY, 6 * DAY), "weekly": (WEEK,),
    "on a day of the month": _MONTH, "before the end of the month": _MONTH,
}  # fmt: skip


def _working_days(start: datetime) -> Callable[[int], Iterator[int]]:
    first, offset = start.weekday(), start.hour

    def like(hour: int) -> Iterator[int]:
        working = (first + (hour + offset) // DAY) % 7 < 5
        for earlier in range(hour - DAY, -1, -DAY):
            if ((first + (earlier + offset) // DAY) % 7 < 5) == working:
                yield earlier

    return like


def _months(start: datetime, *, from_end: bool) -> Callable[[int], Iterator[int]]:
    """The same hour of the same day of earlier months, counted from their begin or their end."""

    def like(hour: int) -> Iterator[int]:
        if hour < SHORTEST_MONTH:
            return
        at = start + hour * HOUR
        year, month = at.year, at.month
        to_end = monthrange(year, month)[1] - at.day
        while True:
            year, month = (year, month - 1) if month > 1 else (year - 1, 12)
            days = monthrange(year, month)[1]
            day = days - to_end if from_end else at.day
            if not 1 <= day <= days:
                if (start.year, start.month) > (year, month):
                    return
                continue
            earlier = (at.replace(day=1, year=year, month=month) - start) // HOUR + (day - 1) * DAY
            if earlier < 0:
                return
            yield earlier

    return like


def _periods(onsets: Sequence[int]) -> Iterator[Hypothesis]:
    """The period in hours and in days that most gaps between onsets have, if several have it."""
    gaps = [after - before for before, after in pairwise(onsets[-ONSETS:])]
    by_day = Counter(round(gap / DAY) for gap in gaps if gap > DAY)
    days, times = max(
        ((d, n) for d, n in by_day.items() if d > 1 and d != 7),
        key=lambda item: (item[1], -item[0]), default=(0, 0),
    )  # fmt: skip
    if times >= SAME_GAPS:
        yield Hypothesis(f"every {days} days", _every(days * DAY))
    short = [gap for gap in gaps if 1 < gap <= LONGEST_HOURS]
    alike = {gap: [g for g in short if abs(g - gap) <= 1] for gap in short}
    usual = max(alike.values(), key=len, default=[])
    if len(usual) >= SAME_GAPS and (period := sum(usual) / len(usual)) % DAY:
        yield Hypothesis(f"every {round(period, 1):g} hours", _every(period))


def _every(hours: float) -> Callable[[int], Iterator[int]]:
    """Earlier hours a whole number of periods ago; a period may be no whole number of hours."""

    def like(hour: int) -> Iterator[int]:
        times = 1
        while (earlier := hour - round(times * hours)) >= 0:
            yield earlier
            times += 1

    return like
