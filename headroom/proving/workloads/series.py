"""A load as arrays on a regular grid, for runs of hundreds of volume-days.

Rates are per second and even inside a step; an unmeasured step is NaN in all arrays and
has no demand.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from math import ceil, gcd, isfinite
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headroom.domain.catalog.ebs import MIB
from headroom.proving.inputs import BadInput
from headroom.proving.workloads.trace import TraceWorkload, read_trace
from headroom.proving.workloads.workload import minute_floor

IO_KIB = 16
"""Size of an operation where a trace knows only bytes, or only operations."""
LEAST_DAYS = 7
GP3_IOPS, GP3_BYTES = 3_000, 125 * MIB
"""What gp3 serves at its baseline, per second."""
PERCENTILE, MULTIPLE = 99, 2.0
"""`auto` brings this percentile of demand to this many times gp3's baseline."""
DAY_S = 86_400

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Totals:
    """Cumulative sums at the edges of the steps, from 0 at the start (bytes in MiB).

    What was not measured adds nothing.
    """

    edges: Floats
    """Seconds from the start."""
    ops: Floats
    ebs: Floats
    mib: Floats
    reads: Floats
    read_mib: Floats
    measured: Floats
    """Seconds that were measured."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadSeries:
    """A load on a regular grid that begins at a clock minute and covers whole minutes.

    Arrays have one value per step: `ops` and `ebs_ops` in operations/s (the application's, and
    counted per 256 KiB as SSD volumes do), `bytes` in bytes/s, `read_share` of `ops`;
    `read_bytes` in bytes/s, in proportion to the operations when it is not given.
    `step_s` divides 60 or is a multiple of it. Raises ValueError for arrays that do not fit.
    """

    name: str
    start: datetime
    step_s: int
    ops: Floats
    ebs_ops: Floats
    bytes: Floats
    read_share: Floats
    scale: float = 1.0
    trace_days: float = 0.0
    """Length of the trace itself, before it was repeated."""
    read_bytes: Floats = field(default_factory=lambda: np.empty(0))
    workers: Floats = field(default_factory=lambda: np.empty(0))
    """Workers of a pool per step; empty for an open load. `ops` is then its rate without limits."""
    think_s: float = 0.0
    totals: Totals = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or minute_floor(self.start) != self.start:
            raise ValueError(f"A load series begins at an aware clock minute, not at {self.start}.")
        if self.step_s <= 0 or (60 % self.step_s and self.step_s % 60):
            raise ValueError(f"step_s is {self.step_s}; it must divide 60 or be a multiple of it.")
        if not self.read_bytes.size:
            object.__setattr__(self, "read_bytes", self.bytes * self.read_share)
        steps = len(self.ops)
        whole = steps * self.step_s // 60 * 60 // self.step_s
        if not whole:
            raise ValueError("A load series lasts at least one minute.")
        names = ("ops", "ebs_ops", "bytes", "read_share", "read_bytes")
        for name in (*names, "workers") if self.pooled else names:
            values = np.asarray(getattr(self, name), dtype=np.float64)
            if values.shape != (steps,):
                raise ValueError(f"{name} has {values.shape} values for {steps} steps.")
            object.__setattr__(self, name, values[:whole])
        object.__setattr__(self, "totals", _totals(self))

    @property
    def pooled(self) -> bool:
        """Whether the load is that of a pool, which takes what it gets and leaves no backlog."""
        return bool(self.workers.size)

    @property
    def minutes(self) -> int:
        """Whole clock minutes of the series."""
        return len(self.ops) * self.step_s // 60

    def measured(self) -> Bools:
        """Whether each step was measured."""
        return ~np.isnan(self.ops)

    def scaled(self, factor: float) -> LoadSeries:
        """The same series with `factor` times the operations and bytes."""
        return replace(
            self,
            ops=self.ops * factor,
            ebs_ops=self.ebs_ops * factor,
            bytes=self.bytes * factor,
            read_bytes=self.read_bytes * factor,
            workers=self.workers * factor,
            scale=self.scale * factor,
        )


def read_load_series(path: Path, *, scale: Literal["1", "auto"]) -> LoadSeries:
    """The trace in `path` as a load series of at least 7 days; raises BadInput in one sentence.

    A shorter trace is repeated whole; `auto` is the constant of at least 1 that brings the 99th
    percentile of demand to twice what gp3's baseline serves. Begins at the clock minute that the
    trace begins in.
    """
    trace = read_trace(path, io_kib=IO_KIB)
    rows = _on_minutes(_rows(trace), trace.interval_s)
    step_s, columns = rows
    once = len(columns[0]) * step_s
    if once < 60:
        raise BadInput(f"{path.name} lasts {once} s; at least one minute is needed.")
    repeat = max(1, ceil(LEAST_DAYS * DAY_S / once - 1e-9))
    ops, ebs, size, read_share, read_bytes = (np.tile(column, repeat) for column in columns)
    load_series = LoadSeries(
        name=path.stem,
        start=minute_floor(trace.start),
        step_s=step_s,
        ops=ops,
        ebs_ops=ebs,
        bytes=size,
        read_share=read_share,
        read_bytes=read_bytes,
        trace_days=once / DAY_S,
    )
    return load_series if scale == "1" else load_series.scaled(auto_scale(load_series))


def auto_scale(load_series: LoadSeries) -> float:
    """The constant that `auto` multiplies the load by; 1 where there is next to no demand."""
    known = load_series.measured()
    demand = np.maximum(load_series.ebs_ops[known] / GP3_IOPS, load_series.bytes[known] / GP3_BYTES)
    level = float(np.percentile(demand, PERCENTILE)) if demand.size else 0.0
    factor = MULTIPLE / level if level > 0 else 1.0
    return max(1.0, factor) if isfinite(factor) else 1.0


Columns = tuple[Floats, Floats, Floats, Floats, Floats]


def _rows(trace: TraceWorkload) -> Columns:
    """Operations, EBS operations, bytes, share of reads and bytes read per second, per row."""
    count = round(trace.duration_s / trace.interval_s)
    columns = np.full((5, count), np.nan)
    for place, segment in enumerate(trace.segments(0.0, trace.duration_s)):
        if segment.load is None:
            continue
        rate, mix = segment.load.ops_per_s, segment.load.mix
        columns[:, place] = (
            rate, rate * mix.ssd_ops, rate * mix.bytes_per_op, mix.read_share,
            rate * mix.read_share * mix.read_bytes,
        )  # fmt: skip
    return tuple(columns)  # type: ignore[return-value]


def _on_minutes(columns: Columns, interval_s: float) -> tuple[int, Columns]:
    """The rows on a step that fits clock minutes, and that step in seconds."""
    whole = round(interval_s)
    if abs(interval_s - whole) < 1e-9 and whole > 0:
        step = whole if whole % 60 == 0 else gcd(whole, 60)
        times = whole // step
        return step, tuple(np.repeat(c, times) for c in columns)  # type: ignore[return-value]
    return 1, _by_the_second(columns, interval_s)


def _by_the_second(columns: Columns, interval_s: float) -> Columns:
    """Rows of an odd interval averaged over whole seconds; a second counts if half is known."""
    count = int(len(columns[0]) * interval_s + 1e-9)
    edges = np.arange(len(columns[0]) + 1) * interval_s
    seconds = np.arange(count + 1, dtype=np.float64)
    known = ~np.isnan(columns[0])

    def summed(values: Floats) -> Floats:
        total = np.concatenate(([0.0], np.cumsum(np.where(known, values, 0.0)) * interval_s))
        return np.diff(np.interp(seconds, edges, total))

    missing = summed(np.ones(len(known))) < 0.5
    ops, ebs, size, _, read_size = (summed(column) for column in columns)
    reads = summed(columns[0] * columns[3])
    share = np.divide(reads, ops, out=np.ones(count), where=ops > 0)
    found = (ops, ebs, size, share, read_size)
    return tuple(np.where(missing, np.nan, column) for column in found)  # type: ignore[return-value]


def _totals(load_series: LoadSeries) -> Totals:
    step = float(load_series.step_s)

    def summed(values: Floats) -> Floats:
        sums = np.empty(len(values) + 1)
        sums[0] = 0.0
        np.cumsum(np.nan_to_num(values) * step, out=sums[1:])
        return sums

    return Totals(
        edges=np.arange(len(load_series.ops) + 1, dtype=np.float64) * step,
        ops=summed(load_series.ops),
        ebs=summed(load_series.ebs_ops),
        mib=summed(load_series.bytes / MIB),
        reads=summed(load_series.ops * load_series.read_share),
        read_mib=summed(load_series.read_bytes / MIB),
        measured=summed(load_series.measured().astype(np.float64)),
    )
