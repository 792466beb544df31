"""Synthetic loads of known rhythms, a second suite for comparisons beside recorded traces.

Each is drawn from a fixed seed of its own: the same on every machine. They show whether a rhythm is
foreseen and a one-off is not held for ever; base no figure of merit on them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import numpy as np

from headroom.domain.catalog.ebs import SSD_IO_BYTES
from headroom.proving.workloads.series import Bools, Floats, LoadSeries

START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
STEP_S = 300
DAY_S, HOUR_S = 86_400.0, 3_600.0
CALM = 250.0
SERVICE_S, THINK_S = 0.004, 0.010
"""Of the pools: what an operation takes without limits, and what its worker thinks before it."""

Rates = Callable[["Clock"], Floats]


class Clock:
    """The steps of a shape: seconds since its start, and a generator of its own."""

    def __init__(self, days: float, step_s: int, seed: int) -> None:
        self.at = np.arange(round(days * DAY_S / step_s)) * float(step_s)
        self.step_s = step_s
        self.random = np.random.default_rng(seed)

    @property
    def hour(self) -> Floats:
        """Hour of the day, fractions included."""
        return np.asarray(self.at % DAY_S / HOUR_S, dtype=np.float64)

    @property
    def day(self) -> Floats:
        """Whole days since the start; day 0 is a Monday."""
        return np.asarray(self.at // DAY_S, dtype=np.float64)

    def calm(self, iops: float = CALM) -> Floats:
        """A little load that varies."""
        return iops * self.random.gamma(16, 1 / 16, len(self.at))

    def with_load(self, busy: Bools, iops: float, calm: float = CALM) -> Floats:
        """Some `iops` while `busy`, a little load otherwise."""
        noise = self.random.gamma(100, 1 / 100, len(self.at))
        return np.where(busy, iops * noise, self.calm(calm))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a synthetic load is made: its rates, its length, and the type of volume it begins on."""

    rates: Rates
    days: float
    start: str = "gp3"
    step_s: int = STEP_S
    io_kib: float = 16.0
    pool: bool = False


def _nightly_ten_minutes(clock: Clock) -> Floats:
    """02:00 to 02:10 every night at 9,000 IOPS."""
    return clock.with_load((clock.hour >= 2) & (clock.hour < 2 + 1 / 6), 9_000)


def _nightly_batch(clock: Clock) -> Floats:
    """Every night 2.5 hours at 8,000 IOPS."""
    return clock.with_load((clock.hour >= 1) & (clock.hour < 3.5), 8_000)


def _sundays(clock: Clock) -> Floats:
    """Sundays 02:00 to 05:00 at 8,000 IOPS."""
    return clock.with_load((clock.day % 7 == 6) & (clock.hour >= 2) & (clock.hour < 5), 8_000)


def _nights_and_saturdays(clock: Clock) -> Floats:
    """Every night an hour at 5,000 IOPS; in the nights to Saturday from 01:00 five hours at 12,000."""
    night = clock.with_load((clock.hour >= 2) & (clock.hour < 3), 5_000)
    full = (clock.day % 7 == 5) & (clock.hour >= 1) & (clock.hour < 6)
    return np.maximum(night, clock.with_load(full, 12_000))


def _peaks_on_a_base(clock: Clock) -> Floats:
    """Some 4,000 IOPS at any hour; every day from 14:00 two hours at 9,000."""
    base = clock.with_load(clock.at >= 0, 4_000)
    return np.maximum(base, clock.with_load((clock.hour >= 14) & (clock.hour < 16), 9_000))


def _month_end(clock: Clock) -> Floats:
    """From 22:00 of each month's last day but one ten hours at 10,000 IOPS."""
    busy = np.zeros(len(clock.at), dtype=np.bool_)
    for month in range(2, 8):
        first = datetime(2026, month, 1, tzinfo=UTC) - timedelta(hours=26) - START
        begin = first.total_seconds()
        busy |= (clock.at >= begin) & (clock.at < begin + 10 * HOUR_S)
    return clock.with_load(busy, 10_000)


def _every_tenth_day(clock: Clock) -> Floats:
    """Every tenth day from 06:00 four hours at 7,000 IOPS."""
    return clock.with_load((clock.day % 10 == 3) & (clock.hour >= 6) & (clock.hour < 10), 7_000)


def _stops_for_good(clock: Clock) -> Floats:
    """9,000 IOPS for three days, then next to nothing."""
    return clock.with_load(clock.day < 3, 9_000, calm=50)


def _office_hours(clock: Clock) -> Floats:
    """Weekdays 08:00 to 18:00 some 5,000 IOPS with a dip at noon."""
    weekday = (clock.day % 7 < 5) & (clock.hour >= 8) & (clock.hour < 18)
    noon = np.where((clock.hour >= 12) & (clock.hour < 13), 0.6, 1.0)
    return np.where(weekday, 5_000 * noon, CALM) * clock.random.gamma(25, 1 / 25, len(clock.at))


def _quiet_then_batch(clock: Clock) -> Floats:
    """Three idle days, then an hour of 128 KiB reads that only a burst serves, twice."""
    busy = (clock.day >= 3) & (clock.hour >= 4) & (clock.hour < 5)
    return clock.with_load(busy, 1_700, calm=20)


def _hourly_bursts(clock: Clock) -> Floats:
    """Five minutes at 6,000 IOPS at the top of every hour."""
    return clock.with_load(clock.at % HOUR_S < 300, 6_000)


def _random_spikes(clock: Clock) -> Floats:
    """About one spike a day at any hour: 10 to 90 minutes, 4,000 to some 12,000 IOPS."""
    load = clock.calm()
    for first in np.flatnonzero(clock.random.random(len(load)) < clock.step_s / DAY_S):
        length = int(clock.random.integers(2, 19))
        load[first : first + length] = min(12_000.0, 4_000 * (1 + clock.random.pareto(2.5)))
    return load


def _growing(clock: Clock) -> Floats:
    """Daytime load that grows by 15 % a day, from 2,000 IOPS."""
    busy = (clock.hour >= 7) & (clock.hour < 21)
    return np.where(busy, 2_000 * 1.15**clock.day, CALM) * clock.random.gamma(
        100, 1 / 100, len(clock.at)
    )


def _sensor_gaps(clock: Clock) -> Floats:
    """Afternoons at 6,000 IOPS; every second day ten hours from midnight are not measured."""
    load = clock.with_load((clock.hour >= 14) & (clock.hour < 18), 6_000)
    load[(clock.day % 2 == 1) & (clock.hour < 10)] = np.nan
    return load


def _pool_by_day(clock: Clock) -> Floats:
    """A pool of 64 workers on weekdays 08:00 to 18:00, of 4 otherwise."""
    busy = (clock.day % 7 < 5) & (clock.hour >= 8) & (clock.hour < 18)
    return np.where(busy, 64.0, 4.0) / (SERVICE_S + THINK_S)


def _bursts_inside_minutes(clock: Clock) -> Floats:
    """15 seconds of every minute at 14,000 IOPS for six hours a day: 3,500 in the mean."""
    busy = (clock.hour >= 9) & (clock.hour < 15) & (clock.at % 60 < 15)
    return np.where(busy, 14_000.0, np.where((clock.hour >= 9) & (clock.hour < 15), 0.0, CALM))


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "nightly-ten-minutes": Shape(rates=_nightly_ten_minutes, days=21),
        "nightly-batch": Shape(rates=_nightly_batch, days=14),
        "sundays": Shape(rates=_sundays, days=42),
        "month-end": Shape(rates=_month_end, days=117),
        "every-tenth-day": Shape(rates=_every_tenth_day, days=45),
        "stops-for-good": Shape(rates=_stops_for_good, days=14),
        "office-hours": Shape(rates=_office_hours, days=21),
        "quiet-gp2-then-batch": Shape(rates=_quiet_then_batch, days=5, start="gp2", io_kib=128.0),
        "hourly-bursts": Shape(rates=_hourly_bursts, days=7),
        "random-spikes": Shape(rates=_random_spikes, days=14),
        "growing": Shape(rates=_growing, days=10),
        "sensor-gaps": Shape(rates=_sensor_gaps, days=14),
        "pool-by-day": Shape(rates=_pool_by_day, days=14, start="gp2", pool=True),
        "bursts-inside-minutes": Shape(rates=_bursts_inside_minutes, days=3, step_s=15),
        "nights-and-saturdays": Shape(rates=_nights_and_saturdays, days=42),
        "peaks-on-a-base": Shape(rates=_peaks_on_a_base, days=21),
    }
)
"""The suite, by the names of its loads."""


def shape_load_series(name: str) -> LoadSeries:
    """The synthetic load of that name; KeyError if none is."""
    shape = SHAPES[name]
    ops = shape.rates(Clock(shape.days, shape.step_s, seed=list(SHAPES).index(name) + 1))
    size = shape.io_kib * 1024
    return LoadSeries(
        name=name,
        start=START,
        step_s=shape.step_s,
        ops=ops,
        ebs_ops=ops * max(1.0, size / SSD_IO_BYTES),
        bytes=ops * size,
        read_share=np.where(np.isnan(ops), np.nan, 0.5),
        workers=ops * (SERVICE_S + THINK_S) if shape.pool else np.empty(0),
        think_s=THINK_S if shape.pool else 0.0,
        trace_days=shape.days,
    )
