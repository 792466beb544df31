"""The published metrics of a VectorizedVolume, added many minutes at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from headroom.domain.resources import InstanceActivity, VolumeActivity
from headroom.ports import Glance
from headroom.proving.metrics import (
    BUSIEST,
    GLANCE_MIN,
    INSTANCE_SERIES,
    RATES,
    SLOW_MIN,
    VOLUME_SERIES,
    PublishedVolume,
    minute_number,
)
from headroom.proving.vectorized.volume import VectorizedVolume
from headroom.proving.workloads import Bools, Floats

Column = list[float | None]
NOTHING_PUBLISHED = Glance(
    iops_exceeded_minutes=None,
    throughput_exceeded_minutes=None,
    lowest_burst_balance_percent=None,
    longest_queue=None,
)


class VectorizedMetrics(PublishedVolume):
    """The datapoints of a VectorizedVolume on an instance that never binds and has no other volume."""

    def __init__(self, volume: VectorizedVolume, *, delay: timedelta) -> None:
        super().__init__(delay=delay, other_iops=0.0, other_mibps=0.0)
        self._source = volume
        self._first = minute_number(volume.load_series.start)
        self._filled = 0
        self._periods = 0

    def publish(self) -> None:
        """Add the minutes that have passed."""
        first, last = self._filled, self._source.minute
        if last == first:
            return
        series = self._series(first, last)
        self._volume.extend(
            self._first + first, {name: _column(values) for name, values in series.items()}
        )
        there = np.where(self._source.published[first:last], 0.0, np.nan)
        checks, nothing = _column(there), [None] * (last - first)
        self._instance.extend(
            self._first + first,
            {name: checks if "exceeded" in name else list(nothing) for name in INSTANCE_SERIES},
        )
        self._filled = last
        self._catch_up_slowly()

    def activity(self, now: datetime) -> tuple[VolumeActivity, InstanceActivity]:
        """The last three hours at one-minute periods; balances at five."""
        self.publish()
        return super().activity(now)

    def history(self, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""
        self.publish()
        return super().history(now)

    def older_history(
        self, now: datetime, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Hours until 63 days before `now`, then five minutes of the time between."""
        self.publish()
        return super().older_history(now, since, until)

    def glance(self, now: datetime, minutes: int = GLANCE_MIN) -> Glance:
        """Summary of the last half hour; such an instance always publishes the checks."""
        first = minute_number(now) - minutes - self._first
        last = self.visible(now) - self._first
        place = slice(max(0, first), max(0, last))
        queue, balance, iops, throughput = (
            self._source.published_series()[column][place] for column in (4, 5, 6, 7)
        )
        known = queue == queue
        if not known.any():
            return NOTHING_PUBLISHED
        balances = balance[balance == balance]
        return Glance(
            iops_exceeded_minutes=int(iops[known].sum()),
            throughput_exceeded_minutes=int(throughput[known].sum()),
            lowest_burst_balance_percent=float(balances.min()) if balances.size else None,
            longest_queue=float(queue[known].max()),
        )

    def _catch_up_slowly(self) -> None:
        """Add the five-minute clock periods that have ended."""
        before = self._first % SLOW_MIN
        over = (before + self._filled) // SLOW_MIN
        if over == self._periods:
            return
        begin, end = SLOW_MIN * self._periods - before, SLOW_MIN * over - before
        series = self._series(max(begin, 0), end)
        padded = {
            name: np.concatenate((np.full(max(-begin, 0), np.nan), values)).reshape(-1, SLOW_MIN)
            for name, values in series.items()
        }
        number = self._first // SLOW_MIN + self._periods
        self._slow.extend(number, {n: _column(values) for n, values in _slow(padded).items()})
        self._periods = over

    def _series(self, first: int, last: int) -> dict[str, Floats]:
        """The volume's series over minutes `first` to `last`."""
        minutes = [array[first:last] for array in self._source.published_series()]
        reads, writes, read_mibps, write_mibps, queue, balance, iops, throughput, both, _ = minutes
        latency, waiting = np.full(last - first, np.nan), self._source.queue[first:last]
        served = self._source.served_iops[first:last]
        np.divide(1000 * waiting, served, out=latency, where=both > 0)
        columns = (
            reads, writes, read_mibps, write_mibps, queue, latency, balance, iops, throughput
        )  # fmt: skip
        return dict(zip(VOLUME_SERIES, columns, strict=True))


def _slow(minutes: dict[str, Floats]) -> dict[str, Floats]:
    """Values of five-minute periods from rows of five minutes, as CloudWatch aggregates them."""
    found: dict[str, Floats] = {}
    for name, rows in minutes.items():
        known = ~np.isnan(rows)
        none = ~known.any(axis=1)
        if name in RATES:
            values = np.where(known, rows, 0.0).sum(axis=1) / SLOW_MIN
        elif name == "burst_balance_percent":
            values = np.where(known, rows, np.inf).min(axis=1)
        elif name == "queue_length":
            values = np.where(known, rows, 0.0).sum(axis=1) / np.maximum(1, known.sum(axis=1))
        elif name == "latency_ms":
            values, none = _weighted(minutes, rows, known)
        else:
            values = np.where(known, rows, 0.0).sum(axis=1)
        values[none] = np.nan
        found[name] = values
    for name, reads, writes in zip(BUSIEST, RATES[::2], RATES[1::2], strict=True):
        both = np.nan_to_num(minutes[reads]) + np.nan_to_num(minutes[writes])
        checked = ~np.isnan(minutes["iops_exceeded"])
        most = np.where(checked, both, -np.inf).max(axis=1)
        found[name] = np.where(np.isinf(most), np.nan, most)
    return found


def _weighted(minutes: dict[str, Floats], rows: Floats, known: Bools) -> tuple[Floats, Bools]:
    """Mean latency by operations, and where there were none."""
    ops = np.nan_to_num(minutes["read_iops"]) + np.nan_to_num(minutes["write_iops"])
    weights = np.where(known, ops, 0.0)
    total = weights.sum(axis=1)
    waited = (np.where(known, rows, 0.0) * weights).sum(axis=1)
    return waited / np.where(total > 0, total, 1.0), total <= 0


def _column(values: Floats) -> Column:
    """A list with None for NaN."""
    found: Column = values.tolist()
    if np.isnan(values).any():
        return [None if v != v else v for v in found]
    return found
