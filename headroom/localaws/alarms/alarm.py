"""One alarm: its configuration as PutMetricAlarm took it, and its state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headroom.localaws.alarms.evaluation import COMPARISONS, MissingData, Rule, State
from headroom.localaws.metrics import BadExpression, is_insights_query, parse, parse_insights_query

INITIAL_REASON = "Unchecked: Initial alarm creation"
MOST_METRICS = 10
"""Metrics in one metric-math alarm."""


class AlarmInvalid(ValueError):
    """PutMetricAlarm refuses the configuration; the message says why."""


@dataclass(slots=True)
class AlarmState:
    """A state with its reason; `data` is a JSON text or None."""

    value: State
    reason: str
    data: str | None
    at: datetime
    evaluation_state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributor:
    """One series of a grouped query that is in ALARM."""

    id: str
    attributes: tuple[tuple[str, str], ...]
    reason: str
    since: datetime


@dataclass(slots=True)
class Alarm:
    """`request` holds the fields of PutMetricAlarm under their API names."""

    request: Mapping[str, Any]
    arn: str
    state: AlarmState
    configured_at: datetime
    transitioned_at: datetime
    contributors: dict[str, Contributor] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """AlarmName."""
        return str(self.request["AlarmName"])

    @property
    def actions_enabled(self) -> bool:
        """Whether actions are executed; events are sent regardless."""
        return bool(self.request.get("ActionsEnabled", True))

    @property
    def queries(self) -> Sequence[Mapping[str, Any]]:
        """The queries to answer; a single-metric alarm has one, named m1."""
        metrics = self.request.get("Metrics")
        if metrics:
            return [dict(q) for q in metrics]
        stat = {
            "Metric": {
                "Namespace": self.request["Namespace"],
                "MetricName": self.request["MetricName"],
                "Dimensions": self.request.get("Dimensions") or [],
            },
            "Period": self.period,
            "Stat": self.request.get("Statistic") or self.request.get("ExtendedStatistic"),
        }
        return [{"Id": "m1", "MetricStat": stat, "ReturnData": True}]

    @property
    def watched(self) -> Mapping[str, Any]:
        """The one query whose result is compared with the threshold."""
        return next(q for q in self.queries if q.get("ReturnData", True))

    @property
    def grouped(self) -> bool:
        """Whether several series are evaluated, each as a contributor."""
        expression = self.watched.get("Expression")
        return bool(
            expression
            and is_insights_query(expression)
            and parse_insights_query(expression).group_by
        )

    @property
    def period(self) -> int:
        """Seconds of one datapoint."""
        return _period(self.request)

    @property
    def rule(self) -> Rule:
        """The comparison."""
        n = int(self.request["EvaluationPeriods"])
        return Rule(
            comparison=self.request["ComparisonOperator"],
            threshold=float(self.request["Threshold"]),
            evaluation_periods=n,
            datapoints_to_alarm=int(self.request.get("DatapointsToAlarm") or n),
            period=self.period,
            missing=MissingData(self.request.get("TreatMissingData") or "missing"),
        )


def contributor_id(attributes: tuple[tuple[str, str], ...]) -> str:
    """Sixteen hexadecimal digits that name a contributor by its attributes."""
    return hashlib.sha256(json.dumps(attributes).encode()).hexdigest()[:16]


SHORT_PERIODS = (10, 20, 30)
"""Seconds; every other period is a multiple of 60."""


def check(request: Mapping[str, Any]) -> None:
    """Raise AlarmInvalid unless this endpoint can evaluate such an alarm."""
    for name in ("AlarmName", "ComparisonOperator", "EvaluationPeriods", "Threshold"):
        if request.get(name) is None:
            raise AlarmInvalid(f"The parameter {name} is required.")
    if request["ComparisonOperator"] not in COMPARISONS:
        raise AlarmInvalid(
            f"ComparisonOperator {request['ComparisonOperator']} is not supported by this endpoint."
        )
    if bool(request.get("MetricName")) == bool(request.get("Metrics")):
        raise AlarmInvalid("Exactly one of MetricName and Metrics must be given.")
    if request.get("TreatMissingData") not in (None, *(m.value for m in MissingData)):
        raise AlarmInvalid(f"TreatMissingData {request['TreatMissingData']} is not known.")
    for period in _periods(request):
        if period not in SHORT_PERIODS and (period < 60 or period % 60):
            raise AlarmInvalid(f"Period must be 10, 20, 30 or a multiple of 60; it is {period}.")
    m, n = request.get("DatapointsToAlarm"), int(request["EvaluationPeriods"])
    if m is not None and not 1 <= int(m) <= n:
        raise AlarmInvalid("DatapointsToAlarm must be between 1 and EvaluationPeriods.")
    if _period(request) * n > (86_400 if _period(request) < 3_600 else 7 * 86_400):
        raise AlarmInvalid("Metrics cannot be checked across more than a day or a week.")
    if request.get("Metrics"):
        _check_queries(request["Metrics"])
    elif not (request.get("Statistic") or request.get("ExtendedStatistic")):
        raise AlarmInvalid("Statistic or ExtendedStatistic is required.")


def _check_queries(queries: Sequence[Mapping[str, Any]]) -> None:
    returned = [q for q in queries if q.get("ReturnData", True)]
    if len(returned) != 1:
        raise AlarmInvalid("Exactly one element of Metrics must return data.")
    if sum(1 for q in queries if q.get("MetricStat")) > MOST_METRICS:
        raise AlarmInvalid(f"An alarm can use at most {MOST_METRICS} metrics.")
    for query in queries:
        expression = query.get("Expression")
        if not expression:
            continue
        try:
            if not is_insights_query(expression):
                parse(expression)
                continue
            select = parse_insights_query(expression)
        except BadExpression as error:
            raise AlarmInvalid(str(error)) from error
        if select.group_by and select.order is None:
            raise AlarmInvalid("A grouped query in an alarm needs ORDER BY.")


def _period(request: Mapping[str, Any]) -> int:
    return min(_periods(request), default=60)


def _periods(request: Mapping[str, Any]) -> list[int]:
    if request.get("Period") is not None:
        return [int(request["Period"])]
    return [
        int(value)
        for query in request.get("Metrics") or ()
        if (value := (query.get("MetricStat") or {}).get("Period") or query.get("Period"))
    ]
