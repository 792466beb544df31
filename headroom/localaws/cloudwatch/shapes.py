"""Between CloudWatch's API shapes and this endpoint's alarms and cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headroom.localaws.alarms import Alarm, Contributor
from headroom.localaws.metrics import Series, instant, periods, statistic

_SIMPLE = ("Sum", "Average", "Minimum", "Maximum", "SampleCount")


def dimensions_of(shape: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Dimensions as pairs."""
    return [(d["Name"], d["Value"]) for d in shape.get("Dimensions") or ()]


def statistic_sets(datum: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A datum's statistic set, or one made from its value or values."""
    given = datum.get("StatisticValues")
    if given:
        yield {
            "total": float(given["Sum"]), "samples": float(given["SampleCount"]),
            "minimum": float(given["Minimum"]), "maximum": float(given["Maximum"]),
        }  # fmt: skip
        return
    values = [float(v) for v in datum.get("Values") or ()]
    counts = [float(c) for c in datum.get("Counts") or [1.0] * len(values)]
    if datum.get("Value") is not None:
        values, counts = [float(datum["Value"])], [1.0]
    if values:
        yield {
            "total": sum(v * c for v, c in zip(values, counts, strict=True)),
            "samples": sum(counts), "minimum": min(values), "maximum": max(values),
            "values": list(zip(values, counts, strict=True)),
        }  # fmt: skip


def datapoint_shapes(
    series: Series | None, start: int, end: int, period: int, now: float, names: Sequence[str]
) -> list[dict[str, Any]]:
    """Datapoints of GetMetricStatistics; raises UnknownStatistic."""
    measures = {name: statistic(name) for name in names}
    if series is None:
        return []
    shapes = []
    for at, cell in sorted(periods(series, start, end, period, now, origin=start).items()):
        shape: dict[str, Any] = {"Timestamp": instant(at), "Unit": series.unit or "None"}
        for name, measure in measures.items():
            if name in _SIMPLE:
                shape[name] = measure(cell)
            else:
                shape.setdefault("ExtendedStatistics", {})[name] = measure(cell)
        shapes.append(shape)
    return shapes


def alarm_shape(alarm: Alarm) -> dict[str, Any]:
    """A MetricAlarm in the shape of DescribeAlarms."""
    request = {name: value for name, value in alarm.request.items() if name != "Tags"}
    shape = {
        **request,
        "AlarmArn": alarm.arn,
        "AlarmConfigurationUpdatedTimestamp": alarm.configured_at,
        "ActionsEnabled": alarm.actions_enabled,
        "OKActions": list(request.get("OKActions") or ()),
        "AlarmActions": list(request.get("AlarmActions") or ()),
        "InsufficientDataActions": list(request.get("InsufficientDataActions") or ()),
        "Dimensions": list(request.get("Dimensions") or ()),
        "StateValue": alarm.state.value.value,
        "StateReason": alarm.state.reason,
        "StateUpdatedTimestamp": alarm.state.at,
        "StateTransitionedTimestamp": alarm.transitioned_at,
    }
    if alarm.state.data is not None:
        shape["StateReasonData"] = alarm.state.data
    if alarm.state.evaluation_state is not None:
        shape["EvaluationState"] = alarm.state.evaluation_state
    return shape


def contributor_shape(contributor: Contributor) -> dict[str, Any]:
    """An AlarmContributor."""
    return {
        "ContributorId": contributor.id,
        "ContributorAttributes": dict(contributor.attributes),
        "StateReason": contributor.reason,
        "StateTransitionedTimestamp": contributor.since,
    }
