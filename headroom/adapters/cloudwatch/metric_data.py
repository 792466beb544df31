"""GetMetricData: many series in few calls, each on a regular grid with its holes left open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from headroom.adapters.errors import reading
from headroom.domain.resources import Series
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

QUERIES_PER_CALL = 500
"""Source: CloudWatch API reference, GetMetricData (2026-09)."""
BATCH_LIMIT = 8
"""Calls in flight: below the 10 connections of a client, and with half an hour of minutes a call
well below the 180,000 datapoints a second that CloudWatch answers (CloudWatch quotas, 2026-09)."""

Dimensions = tuple[tuple[str, str], ...]
Statistic = Literal["Sum", "Average", "Minimum", "Maximum"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One statistic of one metric; `dimensions` must be the exact set it is published under."""

    namespace: str
    metric: str
    dimensions: Dimensions
    statistic: Statistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A grid of `periods` periods from `start`, which lies on a whole period since the epoch."""

    start: datetime
    period_s: int
    periods: int

    @property
    def end(self) -> datetime:
        """Where the last period ends."""
        return self.start + timedelta(seconds=self.period_s * self.periods)

    def nothing(self) -> Series:
        """A series of this grid for which nothing was published."""
        return Series(start=self.start, period_s=self.period_s, values=(None,) * self.periods)


def window(now: datetime, *, length: timedelta, period_s: int) -> Window:
    """The grid of whole periods that cover `length` and have all ended by `now`."""
    last = int(now.timestamp()) // period_s * period_s
    periods = int(length.total_seconds()) // period_s
    start = datetime.fromtimestamp(last - periods * period_s, UTC)
    return Window(start=start, period_s=period_s, periods=periods)


def read(client: CloudWatchClient, queries: Iterable[Query], span: Window) -> dict[Query, Series]:
    """A series for every query, all on the grid of `span`; what was not published is None.

    Up to 8 calls run at once: clients are thread-safe. Raises ReadFailed when CloudWatch does not
    answer, or not completely.
    """
    wanted = tuple(dict.fromkeys(queries))
    calls = [wanted[i : i + QUERIES_PER_CALL] for i in range(0, len(wanted), QUERIES_PER_CALL)]

    def answer(call: Sequence[Query]) -> list[Series]:
        grid = _Grid(span)
        return [grid.series(*points) for points in _points(client, call, span)]

    if len(calls) <= 1:
        answers = [answer(call) for call in calls]
    else:
        with ThreadPoolExecutor(max_workers=min(BATCH_LIMIT, len(calls))) as pool:
            answers = list(pool.map(answer, calls))
    return dict(zip(wanted, (series for found in answers for series in found), strict=True))


def _points(
    client: CloudWatchClient, queries: Sequence[Query], span: Window
) -> list[tuple[list[datetime], list[float]]]:
    """Instants and values of every query in any order, from as many pages as there are."""
    asked: dict[str, Any] = {
        "MetricDataQueries": [_asked(f"q{i}", q, span.period_s) for i, q in enumerate(queries)],
        "StartTime": span.start,
        "EndTime": span.end,
        "ScanBy": "TimestampAscending",
    }
    points: list[tuple[list[datetime], list[float]]] = [([], []) for _ in queries]
    status = ["never answered"] * len(queries)
    with reading("GetMetricData"):
        while True:
            page = client.get_metric_data(**asked)
            if page.get("Messages"):
                raise ReadFailed(f"GetMetricData: {page['Messages'][0]}")
            for result in page["MetricDataResults"]:
                number = int(result["Id"][1:])
                status[number] = result.get("StatusCode", "Complete")
                instants, values = points[number]
                instants += result["Timestamps"]
                values += result["Values"]
                if len(instants) != len(values):
                    raise ReadFailed(
                        f"GetMetricData: {len(instants)} instants, {len(values)} values"
                    )
            if not page.get("NextToken"):
                break
            asked["NextToken"] = page["NextToken"]
    for query, last in zip(queries, status, strict=True):
        if last != "Complete":  # PartialData is no answer once there are no more pages
            raise ReadFailed(f"GetMetricData: {query.metric} is {last}")
    return points


def _asked(query_id: str, query: Query, period_s: int) -> dict[str, object]:
    return {
        "Id": query_id,
        "MetricStat": {
            "Metric": {
                "Namespace": query.namespace,
                "MetricName": query.metric,
                "Dimensions": [{"Name": name, "Value": value} for name, value in query.dimensions],
            },
            "Period": period_s,
            "Stat": query.statistic,
        },
        "ReturnData": True,
    }


class _Grid:
    """Puts the series of one call on the grid of `span`. Most of them have the same instants."""

    def __init__(self, span: Window) -> None:
        self._span = span
        self._instants: list[datetime] = []
        self._places: list[int] = []
        self._gapless = False
        """Whether the places follow one another and all lie on the grid."""

    def series(self, instants: list[datetime], found: list[float]) -> Series:
        """The points as a series; what is no number, or lies outside, is left out."""
        span = self._span
        values: list[float | None] = [None] * span.periods
        if instants != self._instants:
            self._place(instants)
        places = self._places
        if self._gapless and len(found) == len(places) and all(map(isfinite, found)):
            values[places[0] : places[0] + len(places)] = map(float, found)
        else:
            for place, value in zip(places, found, strict=True):
                if 0 <= place < span.periods and isfinite(value):
                    values[place] = float(value)
        return Series(start=span.start, period_s=span.period_s, values=tuple(values))

    def _place(self, instants: list[datetime]) -> None:
        start, period_s = self._span.start, self._span.period_s
        self._instants = instants
        self._places = [int((at - start).total_seconds() // period_s) for at in instants]
        first = self._places[0] if instants else 0
        follow = range(first, first + len(instants))
        self._gapless = (
            bool(instants) and first >= 0 and follow.stop <= self._span.periods
            and self._places == list(follow)
        )  # fmt: skip
