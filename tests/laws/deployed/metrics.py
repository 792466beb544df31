"""CloudWatch behind the wire: what an account's storage publishes, on the grid that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

LATE = timedelta(minutes=2)
"""How long after its minute a value can be read."""
Measured = Callable[[Mapping[str, str], str, datetime], float | None]
"""A metric of a minute by its dimensions and name; sums are of 60 seconds."""


def metric_data(
    asked: Mapping[str, Any], now: datetime, first: datetime, measured: Measured
) -> Mapping[str, Any]:
    """The answer of GetMetricData; of a longer period its first minute stands for all."""
    start = max(datetime.fromtimestamp(asked["StartTime"], UTC), first)
    end = min(datetime.fromtimestamp(asked["EndTime"], UTC), now - LATE)
    results = []
    for query in asked["MetricDataQueries"]:
        stat = query["MetricStat"]
        period = timedelta(seconds=stat["Period"])
        at = datetime.fromtimestamp(-(-start.timestamp() // stat["Period"]) * stat["Period"], UTC)
        metric, times, values = stat["Metric"], [], []
        dimensions = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
        scale = stat["Period"] / 60 if stat["Stat"] == "Sum" else 1.0
        while at + period <= end:
            value = measured(dimensions, metric["MetricName"], at)
            if value is not None:
                times.append(at.timestamp())
                values.append(value * scale)
            at += period
        results.append({"Id": query["Id"], "Label": "", "Timestamps": times, "Values": values,
                        "StatusCode": "Complete"})  # fmt: skip
    return {"MetricDataResults": results}
