"""How far each rhythm is believed: by the likelihood that it gave to the onsets of load, and its height.

Each onset is forecast from the hours before it only; load at any time competes with the rhythms. Without
heights a weekly load above a nightly one would pass for the nightly one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, log
from typing import NamedTuple

from headroom.domain.workload.rhythms.heights import Height
from headroom.domain.workload.rhythms.hypotheses import DAY, ONSETS, Hypothesis, hypotheses

AT_ANY_TIME = "at any time"
DOUBT = 0.5
"""Weight of the rate at any time beside them."""
PRIORS = {
    AT_ANY_TIME: 1.0, "daily": 1.0, "on working days": 0.4, "weekly": 0.6,
    "daily for weeks": 0.5, "daily of late": 0.2, "weekly of late": 0.2,
    "on a day of the month": 0.3, "before the end of the month": 0.3, "every k hours": 0.3,
    "every k days": 0.3, "on a weekday of the month": 0.1, "on the last such weekday of the month": 0.1,
    "on a working day of the month": 0.1, "on a working day before the end of the month": 0.1,
}  # fmt: skip
SURE = 0.97
"""No hypothesis is ever surer than this that load comes."""
UNTRIED = 0.03
"""Odds to the best one with which a hypothesis begins, at least, once it has something to compare with."""
RETURNS = 0.003
"""Odds to the best one below which no hypothesis ever falls: rhythms change. Both are times its prior."""
HEIGHT_DOUBT = 1.0
"""Weight of the heights of all earlier load beside those that a hypothesis compares with."""


NO_HEIGHT: frozenset[Height] = frozenset()
UNKNOWN, QUIET, NEAR = range(3)
"""What is known of an hour: nothing, no onset, or an onset in it or in the hour before or after."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """A hypothesis and how far it is believed, 0 to 1."""

    hypothesis: Hypothesis
    weight: float
    failed: float
    """Share of its expectations that failed, and of onsets that it did not expect; 1 while it has none."""


def rhythms(
    start: datetime, onsets: Sequence[int], heights: Sequence[Height], measured: Sequence[bool]
) -> tuple[tuple[Rhythm, ...], float]:
    """The hypotheses with their weights, and the weight of load at any time. All sum to 1.

    `onsets` are the hours in which load began, `heights` is how high it rose, `measured` is by the
    hour from `start` on.
    """
    if not onsets:
        return (), 1.0
    found = hypotheses(start, onsets, len(measured))
    scores, failed = _log_odds(found, onsets, heights, measured)
    best = max(scores)
    odds = [exp(score - best) for score in scores]
    total = sum(odds)
    believed = tuple(
        Rhythm(hypothesis, odd / total, share)
        for hypothesis, odd, share in zip(found, odds[1:], failed, strict=True)
        if odd / total > 0.01
    )
    return believed, 1.0 - sum(rhythm.weight for rhythm in believed)


def _family(name: str) -> str:
    return f"every k {name.rsplit(' ', 1)[1]}" if name.startswith("every") else name


class _Trial(NamedTuple):
    """An hour in which a hypothesis can fail: the chance of an onset at any time, and what came."""

    hour: int
    at_any_time: float
    began: bool
    log_anyhow: float
    """Log likelihood of what came, for load at any time."""
    as_high: frozenset[Height]
    """Heights like that of the load that began in it or an hour before or after; empty if none did."""
    usual: float
    """Share of all earlier load that was as high."""


def _log_odds(
    candidates: Sequence[Hypothesis], onsets: Sequence[int], heights: Sequence[Height],
    measured: Sequence[bool],
) -> tuple[list[float], list[float]]:  # fmt: skip
    """Of load at any time first, then of each hypothesis; and the share of each that failed.

    Compared over the hours that any of them singles out: the onsets, and the hours in which one
    expected an onset. In all others they say the same.
    """
    near = {  # the onset itself comes last
        hour + off: height
        for off in (-1, 1, 0)
        for hour, height in zip(onsets, heights, strict=True)
    }
    seen = [QUIET if known else UNKNOWN for known in measured]
    for hour in near:
        if 0 <= hour < len(seen) and seen[hour]:
            seen[hour] = NEAR
    begins, kinds = set(onsets), set(heights)
    alike = {one: frozenset(other for other in kinds if one.like(other)) for one in kinds}
    trials, earlier, counted = [], Counter[Height](), 0
    for hour in sorted(_singled_out(candidates, onsets[-ONSETS:], len(measured))):
        if measured[hour]:
            anyhow = (bisect_left(onsets, hour) + 0.5) / (max(hour, 1) + DAY)
            chance, as_high, usual = min(SURE, 3 * anyhow), NO_HEIGHT, 1.0
            likelihood = 1 - chance
            if hour in near:
                until, as_high = bisect_left(onsets, hour - 1), alike[near[hour]]
                earlier.update(heights[counted:until])
                counted = until
                usual = (sum([earlier[one] for one in as_high]) + 1) / (until + 2)
                likelihood = chance * usual
            trials.append(_Trial(hour, chance, hour in begins, log(likelihood), as_high, usual))
    judged = [_judged(one, trials, seen, near) for one in candidates]
    odds = _compared(
        [PRIORS[AT_ANY_TIME], *(PRIORS[_family(one.name)] for one in candidates)],
        [[trial.log_anyhow for trial in trials], *(logs for logs, _, _ in judged)],
        [0, *(first for _, first, _ in judged)],
    )
    return odds, [failed for _, _, failed in judged]


def _compared(
    priors: Sequence[float], logs: Sequence[Sequence[float]], firsts: Sequence[int]
) -> list[float]:
    """Log odds by the log likelihoods of each trial, and by the first trial that each says anything of.

    Until then it says what load at any time does. A rhythm may change at any trial: one that was wrong for
    months is believed again after some that only it explains.
    """
    odds = [log(prior) for prior in priors]
    begin = [log(UNTRIED * prior) for prior in priors]
    least = [log(RETURNS * prior) for prior in priors]
    for number, trial in enumerate(zip(*logs, strict=True)):
        best = max(odds)
        odds = [
            (one if one >= (other := best + (new if number == first else low)) else other)
            + likelihood
            for one, new, low, first, likelihood in zip(
                odds, begin, least, firsts, trial, strict=True
            )
        ]
    return odds


def _judged(
    hypothesis: Hypothesis, trials: Sequence[_Trial], seen: Sequence[int],
    heights: Mapping[int, Height],
) -> tuple[list[float], int, float]:  # fmt: skip
    """The log likelihood of what came in each trial by one hypothesis.

    Second, the first trial that it has anything to compare with; third, the share of it that failed.
    """
    found: list[float] = []
    tried, failed, since = 0, 0, hypothesis.since
    like, back = hypothesis.like, hypothesis.back
    first = len(trials)
    for number, (hour, at_any_time, began, log_anyhow, as_high, usual) in enumerate(trials):
        if hour < since:
            found.append(log_anyhow)
            continue
        least = weighed = DOUBT * at_any_time
        total, alike = DOUBT, HEIGHT_DOUBT * usual
        for weight, earlier in zip(back, like(hour), strict=False):
            if what := seen[earlier]:
                total += weight
                if what == NEAR:
                    weighed += weight
                    if as_high and heights[earlier] in as_high:
                        alike += weight
        if total == DOUBT:
            found.append(log_anyhow)
            continue
        if number < first:
            first = number
        chance = weighed / total
        chance = SURE if chance > SURE else 1 - SURE if chance < 1 - SURE else chance
        came, expected = bool(as_high), 2 * (weighed - least) > total - DOUBT
        if expected or began:
            tried += 1
            failed += expected != came
        likelihood = chance * alike / (weighed - least + HEIGHT_DOUBT) if came else 1 - chance
        found.append(log(likelihood))
    return found, first, (failed + 2) / (tried + 2)


def _singled_out(candidates: Sequence[Hypothesis], latest: Sequence[int], count: int) -> set[int]:
    """The latest onsets, and the hours before `count` that resemble one."""
    hours = set(latest)
    for one in candidates:
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
