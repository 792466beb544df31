"""A volume's past as CloudWatch would publish it, from a run whose truth is known."""

from __future__ import annotations

import warnings

import numpy as np

from headroom.domain.resources import Configuration, Series, VolumeActivity
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import Floats, LoadSeries

STATISTICS = {"burst_balance_percent": "min", "iops_exceeded": "max", "throughput_exceeded": "max"}
NAMES = (
    "read_iops", "write_iops", "read_mibps", "write_mibps", "queue_length",
    "burst_balance_percent", "iops_exceeded", "throughput_exceeded",
)  # fmt: skip


def lived(load_series: LoadSeries, configuration: Configuration, **how: float) -> VectorizedVolume:
    """An unchanged volume after the whole load series."""
    volume = VectorizedVolume(load_series, configuration, **how)
    volume.run(load_series.minutes)
    return volume


def published(
    volume: VectorizedVolume, *, period_min: int = 1, checks: bool = True
) -> VolumeActivity:
    """What CloudWatch keeps of it at a period; without `checks` as of an instance before Nitro."""
    count = volume.load_series.minutes // period_min

    def series(name: str, values: Floats) -> Series:
        if name.endswith("exceeded") and not checks:
            values = np.full(len(values), np.nan)
        return Series(
            start=volume.load_series.start,
            period_s=60 * period_min,
            values=tuple(
                None if np.isnan(value) else value
                for value in _kept(values[: count * period_min], name, period_min).tolist()
            ),
        )

    found = {
        name: series(name, np.asarray(values, dtype=np.float64))
        for name, values in zip(NAMES, volume.published_series(), strict=False)
    }
    nothing = Series(
        start=volume.load_series.start, period_s=60 * period_min, values=(None,) * count
    )
    return VolumeActivity(**found, latency_ms=nothing)


def _kept(values: Floats, name: str, period_min: int) -> Floats:
    spans = values.reshape(-1, period_min)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a period without a value
        match STATISTICS.get(name):
            case "min":
                return np.nanmin(spans, axis=1)
            case "max":
                return np.nanmax(spans, axis=1)
            case _ if name == "queue_length":
                return np.nanmean(spans, axis=1)
        total = np.where(np.isnan(spans).all(axis=1), np.nan, np.nansum(spans, axis=1))
    return np.asarray(total / period_min)
