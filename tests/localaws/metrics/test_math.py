"""Metric math and Metrics Insights over a store, without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.localaws.metrics import BadExpression, MetricKey, MetricStore, QuerySet
from headroom.localaws.metrics.statistics import percentile
from headroom.localaws.metrics.store import Cell

T0 = datetime(2026, 1, 5, tzinfo=UTC)


def store_with(**series: list[float | None]) -> MetricStore:
    """Metrics NS/<name> with dimension id=<name>, one sample a minute, None for no datapoint."""
    store = MetricStore()
    for name, values in series.items():
        key = MetricKey.of("NS", "m", [("id", name)])
        for minute, value in enumerate(values):
            if value is not None:
                store.put_value(key, T0 + timedelta(minutes=minute), value)
    return store


def stat(name: str, which: str = "Sum", period: int = 60) -> dict[str, Any]:
    metric = {"Namespace": "NS", "MetricName": "m", "Dimensions": [{"Name": "id", "Value": name}]}
    return {"Id": name, "MetricStat": {"Metric": metric, "Period": period, "Stat": which}}


def run(store: MetricStore, *queries: dict[str, Any], minutes: int = 3) -> list[dict[int, float]]:
    start = int(T0.timestamp())
    asked = QuerySet(
        store, queries, start, start + 60 * minutes, start + 86_400, lambda *_: {"team": "x"}
    )
    return [
        {(at - start) // 60: value for at, value in result.points.items()}
        for result in asked.results(queries[-1])
    ]


def expression(text: str, **more: Any) -> dict[str, Any]:
    return {"Id": "e", "Expression": text, **more}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b", {0: 11, 1: 22}),
        ("a + b * 2", {0: 21, 1: 42}),
        ("(a + b) * 2", {0: 22, 1: 44}),
        ("-a + 1", {0: 0, 1: -1, 2: -2}),
        ("2 ^ a", {0: 2, 1: 4, 2: 8}),
        ("a / PERIOD(a)", {0: 1 / 60, 1: 2 / 60, 2: 3 / 60}),
        ("SUM([a, b])", {0: 11, 1: 22, 2: 3}),
        ("MAX(METRICS())", {0: 10, 1: 20, 2: 3}),
        ("AVG([a, b])", {0: 5.5, 1: 11, 2: 3}),
        ("SUM(a)", {0: 6, 1: 6, 2: 6}),
        ("IF(a > 1, a, 0)", {0: 0, 1: 2, 2: 3}),
        ("IF(a > 1 AND b > 1, 1, 0)", {0: 0, 1: 1}),
        ("FILL(b, 0)", {0: 10, 1: 20, 2: 0}),
        ("FILL(b, REPEAT)", {0: 10, 1: 20, 2: 20}),
        ("a / (a - a)", {}),
    ],
)
def test_an_expression_comes_to_what_cloudwatch_documents(
    text: str, expected: dict[int, float]
) -> None:
    store = store_with(a=[1, 2, 3], b=[10, 20, None])
    assert run(store, stat("a"), stat("b"), expression(text)) == [pytest.approx(expected)]


@pytest.mark.parametrize(
    "text", ["a +", "NOPE(a)", "a b", "c + 1", "e + 1", "SEARCH('{NS} x', 'Sum')", "a $ b", "IF(a)"]
)
def test_what_is_not_metric_math_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        run(store_with(a=[1]), stat("a"), expression(text))


def test_periods_merge_minutes_and_keep_extremes() -> None:
    store = store_with(a=[1, 2, 3, 4, 5, 6])
    for which, expected in (
        ("Sum", {0: 15, 5: 6}), ("Average", {0: 3, 5: 6}), ("Minimum", {0: 1, 5: 6}),
        ("Maximum", {0: 5, 5: 6}), ("SampleCount", {0: 5, 5: 1}), ("p50", {0: 3, 5: 6}),
    ):  # fmt: skip
        assert run(store, stat("a", which, 300), minutes=10) == [expected], which


def test_a_datapoint_is_not_read_before_it_is_visible() -> None:
    store, key = MetricStore(), MetricKey.of("NS", "m", [("id", "a")])
    store.put(
        key, T0, total=1, samples=1, minimum=1, maximum=1, visible_at=T0 + timedelta(minutes=3)
    )
    start = int(T0.timestamp())
    for later, expected in ((179, {}), (180, {start: 1.0})):
        queries = [stat("a")]
        asked = QuerySet(store, queries, start, start + 60, start + later, lambda *_: {})
        assert asked.results(queries[0])[0].points == expected


def insights_store() -> MetricStore:
    store = MetricStore()
    for volume, values in {"v1": [0, 1], "v2": [5, 5], "v3": [2, 9]}.items():
        pair = [("VolumeId", volume), ("InstanceId", "i1" if volume != "v3" else "i2")]
        for minute, value in enumerate(values):
            at = T0 + timedelta(minutes=minute)
            store.put_value(MetricKey.of("AWS/EBS", "Check", pair), at, value)
            store.put_value(MetricKey.of("AWS/EBS", "Check", pair[:1]), at, 100)
    return store


SCHEMA = 'FROM SCHEMA("AWS/EBS", InstanceId, VolumeId)'


@pytest.mark.parametrize(
    ("rest", "labels"),
    [
        ("GROUP BY VolumeId ORDER BY MAX() DESC", ["v3", "v2", "v1"]),
        ("GROUP BY VolumeId ORDER BY SUM() ASC", ["v1", "v2", "v3"]),
        ("GROUP BY VolumeId ORDER BY MAX() DESC LIMIT 1", ["v3"]),
        ("WHERE InstanceId = 'i1' GROUP BY VolumeId ORDER BY MAX() DESC", ["v2", "v1"]),
        ("WHERE InstanceId != 'i1' GROUP BY VolumeId ORDER BY MAX() DESC", ["v3"]),
        ("WHERE tag.team = 'x' AND VolumeId = 'v1' GROUP BY VolumeId ORDER BY MAX() DESC", ["v1"]),
        ("WHERE tag.team = 'y' GROUP BY VolumeId ORDER BY MAX() DESC", []),
        ("GROUP BY InstanceId ORDER BY MAX() DESC", ["i2", "i1"]),
    ],
)
def test_a_grouped_query_returns_its_groups_in_order(rest: str, labels: list[str]) -> None:
    query = expression(f'SELECT MAX("Check") {SCHEMA} {rest}', Period=60)
    start = int(T0.timestamp())
    asked = QuerySet(
        insights_store(), [query], start, start + 120, start + 999, lambda *_: {"team": "x"}
    )
    assert [result.label for result in asked.results(query)] == labels


def test_schema_matches_exactly_that_set_of_dimensions() -> None:
    query = expression('SELECT MAX("Check") FROM SCHEMA("AWS/EBS", VolumeId)', Period=60)
    assert run(insights_store(), query) == [{0: 100, 1: 100}]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_percentile_is_never_lower(values: list[float], a: float, b: float) -> None:
    cell = Cell(sum(values), len(values), min(values), max(values), 0, [(v, 1.0) for v in values])
    low, high = sorted((a, b))
    assert cell.minimum <= percentile(cell, low) <= percentile(cell, high) <= cell.maximum
