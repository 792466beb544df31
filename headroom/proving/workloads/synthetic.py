"""Six synthetic loads of typical shapes, for comparisons without traces.

They are drawn from a fixed seed: the same on every machine. They are not measurements: base no
figure of merit on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

import numpy as np

from headroom.domain.catalog.ebs import SSD_IO_BYTES
from headroom.proving.workloads.series import Floats, LoadSeries

START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
STEP_S = 300
DAY = 86_400 // STEP_S
DAYS = 7


def _nightly_batch(rng: np.random.Generator) -> tuple[Floats, float]:
    """From about 01:00 two to three hours at some 6,500 IOPS, a few hundred otherwise."""
    load = rng.gamma(4, 60, DAYS * DAY)
    for day in range(DAYS):
        first = day * DAY + 12 + int(rng.integers(-2, 3))
        length = int(rng.integers(24, 37))
        load[first : first + length] = rng.normal(6_500, 500, length).clip(1_000)
    return load, 24.0


def _working_day(rng: np.random.Generator) -> tuple[Floats, float]:
    """08:00 to 18:00 on weekdays some 4,000 IOPS with a dip at noon, little otherwise."""
    hours = np.arange(DAYS * DAY) * STEP_S / 3_600
    of_day, weekday = hours % 24, (hours // 24) % 7 < 5
    busy = weekday & (of_day >= 8) & (of_day < 18)
    shape = np.where((of_day >= 12) & (of_day < 13), 0.6, 1.0)
    return np.where(busy, 4_000 * shape, 250.0) * rng.gamma(25, 1 / 25, DAYS * DAY), 16.0


def _random_spikes(rng: np.random.Generator) -> tuple[Floats, float]:
    """About two spikes a day at any hour: 10 to 90 minutes, 4,000 to some 12,000 IOPS."""
    load = rng.gamma(4, 100, DAYS * DAY)
    for first in np.flatnonzero(rng.random(DAYS * DAY) < 2 / DAY):
        length = int(rng.integers(2, 19))
        load[first : first + length] = min(12_000.0, 4_000 * (1 + rng.pareto(2.5)))
    return load, 20.0


def _idle(rng: np.random.Generator) -> tuple[Floats, float]:
    """Next to nothing, always."""
    return rng.gamma(1, 8, DAYS * DAY), 8.0


def _surge_then_idle(rng: np.random.Generator) -> tuple[Floats, float]:
    """Two days of large writes at some 220 MiB/s, then hardly anything."""
    load = rng.gamma(2, 10, DAYS * DAY)
    load[2 * DAY : 4 * DAY] = rng.normal(900, 60, 2 * DAY).clip(0)
    return load, 250.0


def _short_bursts(rng: np.random.Generator) -> tuple[Floats, float]:
    """Ten minutes at some 5,500 IOPS at the top of every hour."""
    load = rng.gamma(4, 75, DAYS * DAY)
    within = np.arange(DAYS * DAY) % (3_600 // STEP_S)
    burst = within < 2
    load[burst] = rng.normal(5_500, 400, int(burst.sum())).clip(0)
    return load, 16.0


_SHAPES: Mapping[str, Callable[[np.random.Generator], tuple[Floats, float]]] = MappingProxyType(
    {
        "sample-nightly-batch": _nightly_batch,
        "sample-working-day": _working_day,
        "sample-random-spikes": _random_spikes,
        "sample-idle": _idle,
        "sample-surge-then-idle": _surge_then_idle,
        "sample-short-bursts": _short_bursts,
    }
)
SAMPLES = tuple(_SHAPES)
"""Names of the synthetic loads."""


def sample_load_series(name: str) -> LoadSeries:
    """The synthetic load of that name, a week in steps of five minutes; KeyError if none is."""
    rng = np.random.default_rng(SAMPLES.index(name) + 1) if name in _SHAPES else None
    if rng is None:
        raise KeyError(name)
    ops, kib = _SHAPES[name](rng)
    size = ops * kib * 1024
    return LoadSeries(
        name=name,
        start=START,
        step_s=STEP_S,
        ops=ops,
        ebs_ops=ops * max(1.0, kib * 1024 / SSD_IO_BYTES),
        bytes=size,
        read_share=np.full(len(ops), 0.5),
        trace_days=float(DAYS),
    )
