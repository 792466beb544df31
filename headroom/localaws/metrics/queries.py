"""GetMetricData: a set of queries that may refer to each other, answered together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headroom.localaws.metrics.arithmetic import Frame, Value, as_series, evaluate
from headroom.localaws.metrics.expressions import BadExpression
from headroom.localaws.metrics.insights import (
    Group,
    InsightsAnswer,
    TagsOf,
    is_insights_query,
    parse_insights_query,
    run_insights_query,
)
from headroom.localaws.metrics.statistics import Points, periods, points, statistic
from headroom.localaws.metrics.store import MetricKey, MetricStore

DEFAULT_PERIOD = 300
"""Period of a query without any, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One series of an answer."""

    id: str
    label: str
    points: Points
    attributes: tuple[tuple[str, str], ...] = ()
    partial: bool = False


@dataclass(slots=True)
class QuerySet:
    """Queries as in the API (`Id`, `MetricStat` or `Expression`, `Period`, `Label`) over a window.

    `start` and `end` are epoch seconds; nothing that is not visible at `now` is read.
    """

    store: MetricStore
    queries: Sequence[Mapping[str, Any]]
    start: int
    end: int
    now: float
    tags: TagsOf
    _known: dict[str, Value] = field(default_factory=dict)
    _groups: dict[str, InsightsAnswer] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)

    def results(self, query: Mapping[str, Any]) -> list[Result]:
        """The series of one of the queries; raises BadExpression."""
        name, label = str(query["Id"]), query.get("Label")
        value = self._value(name)
        answer = self._groups.get(name)
        if answer is not None:
            return [self._grouped(name, label, group, answer.partial) for group in answer.groups]
        series = as_series(value, self._grid(self._period(query)))
        default = self._default_label(query)
        return [Result(id=name, label=label or default, points=one) for one in series]

    def _grouped(self, name: str, label: str | None, group: Group, partial: bool) -> Result:
        return Result(
            id=name, label=" ".join(filter(None, (label, group.label))) or name,
            points=group.points, attributes=group.attributes, partial=partial,
        )  # fmt: skip

    def _value(self, name: str) -> Value:
        if name in self._known:
            return self._known[name]
        query = next((q for q in self.queries if q["Id"] == name), None)
        if query is None:
            raise BadExpression(f"No query has the id {name!r}.")
        if name in self._open:
            raise BadExpression(f"Query {name!r} refers to itself.")
        self._open.add(name)
        value = self._known[name] = self._computed(query)
        self._open.discard(name)
        return value

    def _computed(self, query: Mapping[str, Any]) -> Value:
        period = self._period(query)
        expression = query.get("Expression")
        if expression is None:
            return self._stat(query["MetricStat"], period)
        if is_insights_query(expression):
            answer = self._groups[str(query["Id"])] = run_insights_query(
                parse_insights_query(expression), self.store, start=self._floor(period),
                end=self.end, period=period, now=self.now, tags=self.tags,
            )  # fmt: skip
            return [group.points for group in answer.groups]
        frame = Frame(
            values=self._value, metrics=self._metrics, grid=self._grid(period), period=period
        )
        return evaluate(expression, frame)

    def _stat(self, stat: Mapping[str, Any], period: int) -> Points:
        metric = stat["Metric"]
        statistic(stat["Stat"])  # refused even where there is no data
        key = MetricKey.of(
            metric["Namespace"],
            metric["MetricName"],
            ((d["Name"], d["Value"]) for d in metric.get("Dimensions") or ()),
        )
        series = self.store.series(key)
        if series is None or (stat.get("Unit") and series.unit not in (None, stat["Unit"])):
            return {}
        cells = periods(series, self._floor(period), self.end, period, self.now)
        return points(cells, stat["Stat"])

    def _metrics(self, contains: str | None) -> list[Points]:
        return [
            one
            for query in self.queries
            if query.get("MetricStat") and (contains is None or contains in query["Id"])
            for one in as_series(self._value(query["Id"]), ())
        ]

    def _period(self, query: Mapping[str, Any]) -> int:
        """The query's own period, else the shortest of the metrics in the request."""
        own = (query.get("MetricStat") or {}).get("Period") or query.get("Period")
        if own:
            return int(own)
        periods_of_metrics = [
            int(q["MetricStat"]["Period"]) for q in self.queries if q.get("MetricStat")
        ]
        return min(periods_of_metrics, default=DEFAULT_PERIOD)

    def _floor(self, period: int) -> int:
        return self.start - self.start % period

    def _grid(self, period: int) -> range:
        return range(self._floor(period), self.end, period)

    @staticmethod
    def _default_label(query: Mapping[str, Any]) -> str:
        stat = query.get("MetricStat")
        return str(stat["Metric"]["MetricName"] if stat else query["Id"])
