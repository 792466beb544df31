"""How far each rhythm is believed: by the likelihood that it gave to the onsets of load.

Each onset is forecast from the hours before it only; load at any time competes with the rhythms.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import exp, log
from typing import NamedTuple

from headroom.domain.workload.rhythms.hypotheses import DAY, ONSETS, Hypothesis, hypotheses

AT_ANY_TIME = "at any time"
BACK = (1.0, 0.8, 0.65, 0.5, 0.4, 0.3)
"""Weights of the earlier hours that a hypothesis compares with, the latest first."""
DOUBT = 0.5
"""Weight of the rate at any time beside them."""
PRIORS = {
    AT_ANY_TIME: 1.0, "daily": 1.0, "on working days": 0.4, "weekly": 0.6,
    "on a day of the month": 0.3, "before the end of the month": 0.3, "every k hours": 0.3,
    "every k days": 0.3, "on a weekday of the month": 0.1, "on the last such weekday of the month": 0.1,
    "on a working day of the month": 0.1, "on a working day before the end of the month": 0.1,
}  # fmt: skip
SURE = 0.97
"""No hypothesis is ever surer than this that load comes."""


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
    start: datetime, onsets: Sequence[int], measured: Sequence[bool]
) -> tuple[tuple[Rhythm, ...], float]:
    """The hypotheses with their weights, and the weight of load at any time. All sum to 1.

    `onsets` are the hours in which load began, `measured` is by the hour from `start` on.
    """
    if not onsets:
        return (), 1.0
    found = hypotheses(start, onsets, len(measured))
    scores, failed = _log_likelihoods(found, onsets, measured)
    best = max(*scores, scores[0])
    odds = [
        PRIORS[AT_ANY_TIME if i == 0 else _family(found[i - 1].name)] * exp(score - best)
        for i, score in enumerate(scores)
    ]
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
    came: bool
    """Whether load began in it or an hour before or after."""
    began: bool
    log_anyhow: float
    """Log likelihood of what came, for load at any time."""


def _log_likelihoods(
    candidates: Sequence[Hypothesis], onsets: Sequence[int], measured: Sequence[bool]
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
    for hour in sorted(_singled_out(candidates, onsets[-ONSETS:], len(measured))):
        if measured[hour]:
            anyhow = (bisect_left(onsets, hour) + 0.5) / (max(hour, 1) + DAY)
            chance, came = min(SURE, 3 * anyhow), hour in near
            log_anyhow = log(chance if came else 1 - chance)
            trials.append(_Trial(hour, chance, came, hour in begins, log_anyhow))
    anyhow_score = 0.0
    for trial in trials:
        anyhow_score += trial.log_anyhow
    scored = [_scored(one, trials, seen) for one in candidates]
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
