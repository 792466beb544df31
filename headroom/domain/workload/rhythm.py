"""Rhythms: competing hypotheses about when load comes again, weighted by how well each predicted the past.

At any time, daily, on working days, weekly, on a day of the month or before its end, and every k
hours or days. Each hypothesis says which earlier hours a coming hour is like; its weight follows
from the likelihood that it gave to the onsets of load, each forecast from the hours before it only.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

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


UNKNOWN, QUIET, NEAR = range(3)
"""What is known of an hour: nothing, no onset, or an onset in it or in the hour before or after."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A rhythm: its name in words, and the earlier hours that are like an hour, the latest first."""

    name: str
    like: Callable[[int], Iterable[int]]
    ahead: tuple[int, ...]
    """How much later the next hour like an hour may be, ascending."""
    since: int
    """The first hour that may have one like it."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A hypothesis and how far it is believed, 0 to 1."""

    hypothesis: Hypothesis
    weight: float
    failed: float
    """Share of its expectations that failed, and of onsets that it did not expect; 1 while it has none."""


def rhythms(
    start: datetime, onsets: Sequence[int], measured: Sequence[bool]
) -> tuple[tuple[Rhythm, ...], float]:
    """The hypotheses with their weights, and the weight of load at any time. All sum to 1.

    `onsets` are the hours in which load began, `measured` is by the hour from `start` on.
    """
    if not onsets:
        return (), 1.0
    months = _months_of(start, len(measured))
    hypotheses = [
        Hypothesis("daily", _every(DAY), (DAY,), DAY),
        Hypothesis("on working days", _working_days(start), (DAY, 3 * DAY, 6 * DAY), DAY),
        Hypothesis("weekly", _every(WEEK), (WEEK,), WEEK),
        Hypothesis(
            "on a day of the month", _monthly(months, from_end=False), _MONTH, SHORTEST_MONTH
        ),
        Hypothesis(
            "before the end of the month", _monthly(months, from_end=True), _MONTH, SHORTEST_MONTH
        ),
        *_periods(onsets),
    ]
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


class _Trial(NamedTuple):
    """An hour in which a hypothesis can fail: the chance of an onset at any time, and what came."""

    hour: int
    at_any_time: float
    came: bool
    """Whether load began in it or an hour before or after."""
    began: bool
    log_anyhow: float
    """Log likelihood of what came, for load at any time."""


def _log_likelihoods(
    hypotheses: Sequence[Hypothesis], onsets: Sequence[int], measured: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """Of load at any time first, then of each hypothesis; and the share of each that failed.

    Compared over the hours that any of them singles out: the onsets, and the hours in which one
    expected an onset. In all others they say the same.
    """
    near = {hour + off for hour in onsets for off in (-1, 0, 1)}
    seen = [QUIET if known else UNKNOWN for known in measured]
    for hour in near:
        if 0 <= hour < len(seen) and seen[hour]:
            seen[hour] = NEAR
    begins = set(onsets)
    trials = []
    for hour in sorted(_singled_out(hypotheses, onsets[-ONSETS:], len(measured))):
        if measured[hour]:
            anyhow = (bisect_left(onsets, hour) + 0.5) / (max(hour, 1) + DAY)
            chance, came = min(SURE, 3 * anyhow), hour in near
            log_anyhow = log(chance if came else 1 - chance)
            trials.append(_Trial(hour, chance, came, hour in begins, log_anyhow))
    anyhow_score = 0.0
    for trial in trials:
        anyhow_score += trial.log_anyhow
    scored = [_scored(one, trials, seen) for one in hypotheses]
    return [anyhow_score, *(score for score, _ in scored)], [failed for _, failed in scored]


def _scored(
    hypothesis: Hypothesis, trials: Sequence[_Trial], seen: Sequence[int]
) -> tuple[float, float]:
    """The log likelihood of what came by one hypothesis, and the share of it that failed."""
    score, tried, failed, since, like = 0.0, 0, 0, hypothesis.since, hypothesis.like
    for hour, at_any_time, came, began, log_anyhow in trials:
        if hour < since:
            score += log_anyhow
            continue
        least = weighed = DOUBT * at_any_time
        total = DOUBT
        for weight, earlier in zip(BACK, like(hour), strict=False):
            if what := seen[earlier]:
                total += weight
                if what == NEAR:
                    weighed += weight
        if total == DOUBT:
            score += log_anyhow
            continue
        chance = weighed / total
        chance = SURE if chance > SURE else 1 - SURE if chance < 1 - SURE else chance
        expected = 2 * (weighed - least) > total - DOUBT
        if expected or began:
            tried += 1
            failed += expected != came
        score += log(chance if came else 1 - chance)
    return score, (failed + 2) / (tried + 2)


def _singled_out(hypotheses: Sequence[Hypothesis], latest: Sequence[int], count: int) -> set[int]:
    """The latest onsets, and the hours before `count` that resemble one."""
    hours = set(latest)
    for one in hypotheses:
        hours.update(step for hour in latest if (step := _forward(one, hour, count)) is not None)
        missed = _forward(one, latest[-1], count)
        while missed is not None:  # and every time since then: a rhythm that ended is given up
            hours.add(missed)
            missed = _forward(one, missed, count)
    return hours


def _forward(hypothesis: Hypothesis, hour: int, count: int) -> int | None:
    """The hour after `hour` that the hypothesis would call like it; None where none is known."""
    regular = len(hypothesis.ahead) == 1
    for ahead in hypothesis.ahead:
        if (later := hour + ahead) >= count:
            return None
        if regular or next(iter(hypothesis.like(later)), None) == hour:
            return later
    return None


_MONTH = tuple(DAY * days for days in (28, 29, 30, 31))


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


def _months_of(start: datetime, count: int) -> tuple[list[int], list[int]]:
    """The first hour of each month, from that of `start` to the one after `count` hours; their days."""
    begins, days = [-DAY * (start.day - 1) - start.hour], []
    year, month = start.year, start.month
    while True:
        days.append(monthrange(year, month)[1])
        if begins[-1] > count:
            return begins, days
        begins.append(begins[-1] + DAY * days[-1])
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)


def _monthly(
    months: tuple[list[int], list[int]], *, from_end: bool
) -> Callable[[int], Iterator[int]]:
    """The same hour of the same day of earlier months, counted from their begin or their end."""
    begins, days = months

    def like(hour: int) -> Iterator[int]:
        if hour < SHORTEST_MONTH:
            return
        this = bisect_right(begins, hour) - 1
        day, of_day = divmod(hour - begins[this], DAY)
        for month in range(this - 1, -1, -1):
            same = days[month] - days[this] + day if from_end else day
            if 0 <= same < days[month]:
                if (earlier := begins[month] + DAY * same + of_day) < 0:
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
        yield Hypothesis(f"every {days} days", _every(days * DAY), (days * DAY,), days * DAY)
    short = [gap for gap in gaps if 1 < gap <= LONGEST_HOURS]
    alike = {gap: [g for g in short if abs(g - gap) <= 1] for gap in short}
    usual = max(alike.values(), key=len, default=[])
    if len(usual) >= SAME_GAPS and (period := sum(usual) / len(usual)) % DAY:
        named = round(period, 1)
        yield Hypothesis(f"every {named:g} hours", _every(period), (round(named),), round(period))


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
