"""Metrics Insights: one SELECT over all metrics of a name, grouped by dimensions.

Source: CloudWatch User Guide, "Metrics Insights query components and syntax" (checked 2026-10).
SCHEMA matches exactly the named set of dimensions; WHERE knows `=`, `!=` and AND.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headroom.localaws.metrics.expressions import BadExpression
from headroom.localaws.metrics.statistics import Points, merge, periods, points
from headroom.localaws.metrics.store import MetricKey, MetricStore

MOST_SERIES = 500
"""Time series that one query returns at most."""
_FUNCTIONS = {
    "AVG": "Average",
    "COUNT": "SampleCount",
    "MAX": "Maximum",
    "MIN": "Minimum",
    "SUM": "Sum",
}
_ORDERS: Mapping[str, Callable[[Points], float]] = {
    "AVG": lambda p: sum(p.values()) / len(p),
    "COUNT": lambda p: float(len(p)),
    "MAX": lambda p: max(p.values()),
    "MIN": lambda p: min(p.values()),
    "SUM": lambda p: sum(p.values()),
}
_NAME = r'(?:"[^"]+"|[A-Za-z_][\w./%-]*(?:\."[^"]+")?)'
_QUERY = re.compile(
    rf"""^\s*SELECT\s+(?P<function>AVG|COUNT|MAX|MIN|SUM)\s*\(\s*(?P<metric>{_NAME})\s*\)
    \s+FROM\s+(?:SCHEMA\s*\(\s*(?P<schema>[^)]+)\)|(?P<namespace>{_NAME}))
    (?:\s+WHERE\s+(?P<where>.+?))?
    (?:\s+GROUP\s+BY\s+(?P<group>{_NAME}(?:\s*,\s*{_NAME})*))?
    (?:\s+ORDER\s+BY\s+(?P<order>AVG|COUNT|MAX|MIN|SUM)\s*\(\s*\)(?:\s+(?P<direction>ASC|DESC))?)?
    (?:\s+LIMIT\s+(?P<limit>\d+))?\s*$""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_CONDITION = re.compile(
    rf"^\s*(?P<key>{_NAME})\s*(?P<sign>=|!=)\s*'(?P<value>[^']*)'\s*$", re.DOTALL
)

TagsOf = Callable[[str, Mapping[str, str]], Mapping[str, str]]
"""Tags of the resource that a namespace and dimensions belong to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A SELECT, understood. `schema` is None when any set of dimensions will do."""

    function: str
    metric: str
    namespace: str
    schema: frozenset[str] | None
    where: tuple[tuple[str, bool, str], ...]
    """Key, whether it must be equal, value; a key `tag.X` is a resource tag."""
    group_by: tuple[str, ...]
    order: str | None
    ascending: bool
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One returned time series and the values it is grouped by."""

    attributes: tuple[tuple[str, str], ...]
    points: Points

    @property
    def label(self) -> str:
        """The Label in GetMetricData."""
        return " ".join(value for _, value in self.attributes)


def is_insights_query(expression: str) -> bool:
    """Whether the expression is a Metrics Insights query rather than metric math."""
    return expression.lstrip().upper().startswith("SELECT")


def parse_insights_query(text: str) -> Query:
    """The query; raises BadExpression."""
    match = _QUERY.match(text)
    if match is None:
        raise BadExpression(f"Cannot read the Metrics Insights query {text!r}.")
    namespace, schema = match["namespace"], None
    if match["schema"]:
        names = [_unquote(part) for part in match["schema"].split(",")]
        namespace, schema = names[0], frozenset(names[1:])
    return Query(
        function=match["function"].upper(),
        metric=_unquote(match["metric"]),
        namespace=_unquote(namespace),
        schema=schema,
        where=tuple(_condition(part) for part in _conjuncts(match["where"])),
        group_by=tuple(_unquote(part) for part in (match["group"] or "").split(",") if part),
        order=match["order"].upper() if match["order"] else None,
        ascending=(match["direction"] or "ASC").upper() == "ASC",
        limit=min(int(match["limit"] or MOST_SERIES), MOST_SERIES),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class InsightsAnswer:
    """The series in order, and whether some were left out."""

    groups: tuple[Group, ...]
    partial: bool


def run_insights_query(
    query: Query, store: MetricStore, *, start: int, end: int, period: int, now: float, tags: TagsOf
) -> InsightsAnswer:
    """The groups' series over [start, end), ordered and limited as the query says."""
    matched: dict[tuple[tuple[str, str], ...], list[MetricKey]] = {}
    for series in store.named(query.namespace, query.metric):
        attributes = _attributes(query, series.key, tags)
        if attributes is not None:
            matched.setdefault(attributes, []).append(series.key)
    groups = []
    for attributes, keys in matched.items():
        cells = [
            periods(found, start, end, period, now)
            for key in keys
            if (found := store.series(key)) is not None
        ]
        merged = cells[0] if len(cells) == 1 else merge(cells)
        if merged:
            values = points(merged, _FUNCTIONS[query.function])
            groups.append(Group(attributes=attributes, points=values))
    if query.order is not None:
        by = _ORDERS[query.order]
        groups.sort(key=lambda g: (by(g.points) * (1 if query.ascending else -1), g.attributes))
    return InsightsAnswer(groups=tuple(groups[: query.limit]), partial=len(groups) > MOST_SERIES)


def _attributes(query: Query, key: MetricKey, tags: TagsOf) -> tuple[tuple[str, str], ...] | None:
    """The group a metric belongs to; None when the query does not select it."""
    dimensions = dict(key.dimensions)
    if query.schema is not None and dimensions.keys() != query.schema:
        return None
    tagged: Mapping[str, str] = {}
    if any(name.startswith("tag.") for name, *_ in query.where) or any(
        name.startswith("tag.") for name in query.group_by
    ):
        tagged = {f"tag.{k}": v for k, v in tags(key.namespace, dimensions).items()}
    for name, equal, value in query.where:
        found = tagged.get(name) if name.startswith("tag.") else dimensions.get(name)
        if (found == value) != equal:
            return None
    return tuple(
        (name, (tagged if name.startswith("tag.") else dimensions).get(name, "Other"))
        for name in query.group_by
    )


def _conjuncts(where: str | None) -> list[str]:
    return re.split(r"\s+AND\s+", where, flags=re.IGNORECASE) if where else []


def _condition(text: str) -> tuple[str, bool, str]:
    match = _CONDITION.match(text)
    if match is None:
        raise BadExpression(f"Cannot read the condition {text.strip()!r}.")
    return _unquote(match["key"]), match["sign"] == "=", match["value"]


def _unquote(name: str) -> str:
    name = name.strip()
    if name.startswith("tag.") and name[4:5] == '"':
        return "tag." + name[5:-1]
    return name[1:-1] if name.startswith('"') else name
