"""GetMetricData: many series in few calls, each on a regular grid with its holes left open."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from typing import TYPE_CHECKING, Any, Literal

from headroom.adapters.errors import reading
from headroom.domain.resources import Series
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

_log = logging.getLogger(__name__)

QUERIES_PER_CALL = 500
"""Source: CloudWatch API reference, GetMetricData (2026-09)."""
MOST_PAGES = 1_000
"""Of one call, of 100,800 datapoints each: months of all metrics of 500 resources have less."""
MOST_MISSING, FEW_MISSING = 0.1, 5
"""Share of the queries for many resources, or number, up to which the answers to the others are used."""
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
    found, missing = _read(client, queries, span)
    if missing:
        query, status = next(iter(missing.items()))
        raise ReadFailed(f"GetMetricData: {query.metric} is {status}")
    return found


def read_most(
    client: CloudWatchClient, queries: Iterable[Query], span: Window
) -> dict[Query, Series]:
    """The same for many resources at once: without the few that CloudWatch does not answer; raises ReadFailed for many.

    It answers each query with a status of its own: one that fails says nothing of the others.
    """
    found, missing = _read(client, queries, span)
    if len(missing) > max(FEW_MISSING, MOST_MISSING * (len(found) + len(missing))):
        query, status = next(iter(missing.items()))
        raise ReadFailed(
            f"GetMetricData: {query.metric} is {status}, and {len(missing) - 1} others are not answered"
        )
    for query, status in missing.items():
        _log.warning("GetMetricData: %s of %s is %s", query.metric, dict(query.dimensions), status)
    return found


def _read(
    client: CloudWatchClient, queries: Iterable[Query], span: Window
) -> tuple[dict[Query, Series], dict[Query, str]]:
    """What was answered, and the status of what was not, although it was asked for twice."""
    wanted = tuple(dict.fromkeys(queries))
    calls = [wanted[i : i + QUERIES_PER_CALL] for i in range(0, len(wanted), QUERIES_PER_CALL)]

    def answer(call: Sequence[Query]) -> tuple[dict[Query, Series], dict[Query, str]]:
        grid = _Grid(span)
        points, missing = _points(client, call, span)
        if missing and points:
            with suppress(ReadFailed):  # what was answered is used all the same
                again, missing = _points(client, tuple(missing), span)
                points |= again
        return {query: grid.series(*found) for query, found in points.items()}, missing

    if len(calls) <= 1:
        answers = [answer(call) for call in calls]
    else:
        with ThreadPoolExecutor(max_workers=min(BATCH_LIMIT, len(calls))) as pool:
            answers = list(pool.map(answer, calls))
    found: dict[Query, Series] = {}
    missing: dict[Query, str] = {}
    for series, status in answers:
        found |= series
        missing |= status
    return found, missing


def _points(
    client: CloudWatchClient, queries: Sequence[Query], span: Window
) -> tuple[dict[Query, tuple[list[datetime], list[float]]], dict[Query, str]]:
    """Instants and values of every query that is answered, from as many pages as there are; the status of the others."""
    asked: dict[str, Any] = {
        "MetricDataQueries": [_asked(f"q{i}", q, span.period_s) for i, q in enumerate(queries)],
        "StartTime": span.start,
        "EndTime": span.end,
        "ScanBy": "TimestampAscending",
    }
    points: list[tuple[list[datetime], list[float]]] = [([], []) for _ in queries]
    status = ["never answered"] * len(queries)
    with reading("GetMetricData"):
        for _ in range(MOST_PAGES):
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
        else:  # a token may come again for ever
            raise ReadFailed(f"GetMetricData: more than {MOST_PAGES} pages")
    # PartialData is no answer once there are no more pages.
    complete = [last == "Complete" for last in status]
    return (
        {query: each for query, each, done in zip(queries, points, complete, strict=True) if done},
        {
            query: last
            for query, last, done in zip(queries, status, complete, strict=True)
            if not done
        },
    )


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


def _plausible(value: float) -> bool:
    return 0 <= value < inf


class _Grid:
    """Puts the series of one call on the grid of `span`. Most of them have the same instants."""

    def __init__(self, span: Window) -> None:
        self._span = span
        self._instants: list[datetime] = []
        self._places: list[int] = []
        self._gapless = False
        """Whether the places follow one another and all lie on the grid."""

    def series(self, instants: list[datetime], found: list[float]) -> Series:
        """The points as a series; what is no number, is below 0, or lies outside is left out."""
        span = self._span
        values: list[float | None] = [None] * span.periods
        if instants != self._instants:
            self._place(instants)
        places = self._places
        if self._gapless and len(found) == len(places) and all(map(_plausible, found)):
            values[places[0] : places[0] + len(places)] = map(float, found)
        else:
            for place, value in zip(places, found, strict=True):
                if 0 <= place < span.periods and _plausible(value):
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
