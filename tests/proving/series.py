"""Small load series for tests, and the same load for the exact physics."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from headroom.domain.catalog.ebs import SSD_IO_BYTES
from headroom.proving.workloads import Load, LoadSeries, Mix
from headroom.proving.workloads.workload import Segment

START = datetime(2026, 3, 2, 6, 0, tzinfo=UTC)


def load_series_of(
    iops: Sequence[float],
    *,
    step_s: int = 60,
    io_kib: float | Sequence[float] = 16.0,
    read_share: float | Sequence[float] = 0.5,
    start: datetime = START,
    service_ms: float | None = None,
    think_ms: float = 10.0,
) -> LoadSeries:
    """A load series; `iops` in operations/s, NaN where nothing was measured.

    With `service_ms` it is that of a pool that does `iops` when nothing limits it, else open.
    """
    ops = np.asarray(iops, dtype=np.float64)
    size = np.broadcast_to(np.asarray(io_kib, dtype=np.float64) * 1024, ops.shape)
    return LoadSeries(
        name="made",
        start=start,
        step_s=step_s,
        ops=ops,
        ebs_ops=ops * np.maximum(1.0, size / SSD_IO_BYTES),
        bytes=ops * size,
        read_share=np.where(np.isnan(ops), np.nan, np.broadcast_to(read_share, ops.shape)),
        workers=np.empty(0) if service_ms is None else ops * (service_ms + think_ms) / 1000,
        think_s=0.0 if service_ms is None else think_ms / 1000,
    )


class LoadSeriesWorkload:
    """A load series as a Workload, a segment per step."""

    def __init__(self, load_series: LoadSeries) -> None:
        self.start = load_series.start
        self.notes: tuple[str, ...] = ()
        self.duration_s = float(load_series.step_s * len(load_series.ops))
        self._step = load_series.step_s
        self._loads = [_load(load_series, i) for i in range(len(load_series.ops))]

    def segments(self, start_s: float, end_s: float) -> list[Segment]:
        """The steps between two instants, cut to them."""
        found = []
        for i in range(int(start_s // self._step), len(self._loads)):
            begin, end = max(start_s, i * self._step), min(end_s, (i + 1) * self._step)
            if begin >= end_s:
                break
            if end > begin:
                found.append(Segment(start_s=begin, end_s=end, load=self._loads[i]))
        return found

    def next_edge(self, second: float) -> float:
        """The end of the step in force."""
        return float((second // self._step + 1) * self._step)


def _load(load_series: LoadSeries, place: int) -> Load | None:
    rate = float(load_series.ops[place])
    if np.isnan(rate):
        return None
    size = float(load_series.bytes[place]) / rate if rate else 0.0
    mix = Mix(read_share=float(load_series.read_share[place]), read_bytes=size, write_bytes=size)
    if not load_series.pooled or not rate:
        return Load(ops_per_s=rate, mix=mix)
    workers, think_s = float(load_series.workers[place]), load_series.think_s
    return Load(
        ops_per_s=0.0, mix=mix, outstanding=workers, think_s=think_s,
        service_s=workers / rate - think_s,
    )  # fmt: skip
