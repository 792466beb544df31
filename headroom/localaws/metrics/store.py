"""Datapoints by metric and minute, each readable from the instant when CloudWatch would publish it."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

MINUTE_S = 60
DimensionSet = tuple[tuple[str, str], ...]
"""Dimensions sorted by name."""


@dataclass(frozen=True, slots=True)
class MetricKey:
    """The identity of a metric."""

    namespace: str
    name: str
    dimensions: DimensionSet

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Iterable[tuple[str, str]]) -> MetricKey:
        """The key with its dimensions in canonical order."""
        return cls(namespace, name, tuple(sorted(dimensions)))


@dataclass(slots=True)
class Cell:
    """One minute of one metric. `values` are (value, count) pairs, kept for percentiles."""

    sum: float
    samples: float
    minimum: float
    maximum: float
    visible_at: float
    values: list[tuple[float, float]] = field(default_factory=list)

    def add(self, other: Cell) -> None:
        """Merge another report of the same minute."""
        self.sum += other.sum
        self.samples += other.samples
        self.minimum = min(self.minimum, other.minimum)
        self.maximum = max(self.maximum, other.maximum)
        self.visible_at = max(self.visible_at, other.visible_at)
        self.values += other.values


class Series:
    """The minutes of one metric in order."""

    __slots__ = ("cells", "key", "minutes", "unit")

    def __init__(self, key: MetricKey, unit: str | None) -> None:
        self.key = key
        self.unit = unit
        self.minutes: list[int] = []
        self.cells: dict[int, Cell] = {}

    def put(self, minute: int, cell: Cell) -> None:
        """Add a report for a minute (epoch seconds, on the minute)."""
        present = self.cells.get(minute)
        if present is not None:
            present.add(cell)
            return
        self.cells[minute] = cell
        if self.minutes and minute < self.minutes[-1]:
            insort(self.minutes, minute)
        else:
            self.minutes.append(minute)

    def between(self, start: int, end: int, now: float) -> Iterator[tuple[int, Cell]]:
        """Minutes in [start, end) that can be read at `now`."""
        minutes, cells = self.minutes, self.cells
        for index in range(bisect_left(minutes, start), bisect_left(minutes, end)):
            cell = cells[minutes[index]]
            if cell.visible_at <= now:
                yield minutes[index], cell


class MetricStore:
    """All metrics of one account and Region."""

    def __init__(self) -> None:
        self._series: dict[MetricKey, Series] = {}
        self._by_name: dict[tuple[str, str], list[Series]] = {}
        self._lock = threading.RLock()

    def put(
        self,
        key: MetricKey,
        at: datetime,
        *,
        total: float,
        samples: float,
        minimum: float,
        maximum: float,
        values: Sequence[tuple[float, float]] = (),
        unit: str | None = None,
        visible_at: datetime | None = None,
    ) -> None:
        """Add one statistic set to the minute of `at`; readable at once unless `visible_at` says otherwise."""
        minute = int(at.timestamp()) // MINUTE_S * MINUTE_S
        readable = float("-inf") if visible_at is None else visible_at.timestamp()
        cell = Cell(total, samples, minimum, maximum, readable, list(values))
        with self._lock:
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = Series(key, unit)
                self._by_name.setdefault((key.namespace, key.name), []).append(series)
            series.put(minute, cell)

    def put_value(
        self, key: MetricKey, at: datetime, value: float, *, unit: str | None = None
    ) -> None:
        """Add one sample."""
        self.put(
            key, at, total=value, samples=1, minimum=value, maximum=value,
            values=[(value, 1)], unit=unit,
        )  # fmt: skip

    def series(self, key: MetricKey) -> Series | None:
        """The series with exactly these dimensions, or None."""
        return self._series.get(key)

    def named(self, namespace: str, name: str) -> tuple[Series, ...]:
        """Every series of a metric name, whatever its dimensions, in order of first report."""
        with self._lock:
            return tuple(self._by_name.get((namespace, name), ()))

    def all(self) -> tuple[Series, ...]:
        """Every series, in order of first report."""
        with self._lock:
            return tuple(self._series.values())


def epoch(instant: datetime) -> float:
    """Seconds since 1970; an instant without a zone is taken as UTC."""
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()


def instant(seconds: float) -> datetime:
    """The UTC instant of an epoch second."""
    return datetime.fromtimestamp(seconds, UTC)
