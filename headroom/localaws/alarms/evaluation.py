"""How datapoints become a state: M out of N, and how missing data is treated.

Source: CloudWatch User Guide, "Configuring how CloudWatch alarms treat missing data" with its
tables (checked 2026-10). The evaluation range is longer than EvaluationPeriods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

EXTRA_PERIODS = 2
"""Periods in the evaluation range beyond EvaluationPeriods (5 for 3 in AWS's tables)."""


class State(StrEnum):
    """States of an alarm."""

    OK = "OK"
    ALARM = "ALARM"
    INSUFFICIENT_DATA = "INSUFFICIENT_DATA"


class MissingData(StrEnum):
    """How a missing datapoint is treated."""

    MISSING = "missing"
    IGNORE = "ignore"
    BREACHING = "breaching"
    NOT_BREACHING = "notBreaching"


COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}
WORDS: Mapping[str, str] = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The comparison of an alarm: M out of N periods of `period` seconds."""

    comparison: str
    threshold: float
    evaluation_periods: int
    datapoints_to_alarm: int
    period: int
    missing: MissingData

    @property
    def range_periods(self) -> int:
        """Periods in the evaluation range."""
        return self.evaluation_periods + EXTRA_PERIODS

    def breaches(self, value: float) -> bool:
        """Whether one datapoint breaches."""
        return COMPARISONS[self.comparison](value, self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """A state and the datapoints that made it: (period start, value), newest first."""

    state: State
    evaluated: tuple[tuple[int, float], ...]
    filled: int
    """Periods without data that were counted as the rule says."""


def evaluate(rule: Rule, points: Mapping[int, float], last: int, before: State) -> Evaluation:
    """The state by the evaluation range that ends with the period starting at `last`."""
    starts = range(last, last - rule.range_periods * rule.period, -rule.period)
    real = [(at, points[at]) for at in starts if at in points]
    if len(real) >= rule.evaluation_periods:
        used = tuple(real[: rule.evaluation_periods])
        breaching = sum(rule.breaches(value) for _, value in used)
        state = State.ALARM if breaching >= rule.datapoints_to_alarm else State.OK
        return Evaluation(state=state, evaluated=used, filled=0)
    filled = rule.evaluation_periods - len(real)
    state = _with_gaps(rule, [points.get(at) for at in starts], filled, before)
    return Evaluation(state=state, evaluated=tuple(real), filled=filled)


def _with_gaps(rule: Rule, newest: Sequence[float | None], filled: int, before: State) -> State:
    """The state when fewer datapoints than EvaluationPeriods are there; newest first."""
    breaching = sum(value is not None and rule.breaches(value) for value in newest)
    good = sum(value is not None for value in newest) - breaching
    if rule.missing is MissingData.BREACHING:
        breaching += filled
        return State.ALARM if breaching >= rule.datapoints_to_alarm else State.OK
    if rule.missing is MissingData.NOT_BREACHING:
        return State.ALARM if breaching >= rule.datapoints_to_alarm else State.OK
    if breaching >= rule.datapoints_to_alarm:
        return State.ALARM
    if good:
        return State.OK
    if rule.missing is MissingData.IGNORE:
        return before
    # Only breaching points or none: ALARM once the oldest of them is M periods old.
    oldest = max((i for i, value in enumerate(newest, start=1) if value is not None), default=0)
    return State.ALARM if oldest >= rule.datapoints_to_alarm else State.INSUFFICIENT_DATA
