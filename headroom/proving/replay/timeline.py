"""A volume minute by minute during a playback, for plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.resources import Configuration
from headroom.domain.state import Record
from headroom.proving.simulation import Result
from headroom.proving.vectorized import VectorizedVolume
from headroom.proving.workloads import Bools, Floats, LoadSeries


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlaybackTimeline:
    """One value per minute from `start` on, NaN where nothing was measured, and the records.

    Operations are EBS operations/s, throughput MiB/s, the balance percent, price USD a month.
    """

    start: datetime
    offered_iops: Floats
    served_iops: Floats
    limit_iops: Floats
    offered_mibps: Floats
    served_mibps: Floats
    limit_mibps: Floats
    balance_percent: Floats
    queue: Floats
    usd_per_month: Floats
    starved: Bools
    records: tuple[Record, ...]


def timeline_of_series(
    load_series: LoadSeries,
    start: Configuration,
    changes: Sequence[tuple[int, Configuration]],
    prices: PriceTable,
    *,
    since: int,
    balance_percent: float,
    records: tuple[Record, ...],
) -> PlaybackTimeline:
    """A load series under `changes` (minute, target), from minute `since` on."""
    volume = VectorizedVolume(load_series, start, burst_balance_percent=balance_percent)
    usd = np.full(load_series.minutes, float(prices.monthly(start)))
    mibps = np.full(load_series.minutes, capability(start).burst_mibps)
    for minute, target in changes:
        volume.run(minute)
        change = volume.modify(target)
        effect = volume.lifecycle.delays_at(change.started_at).effect // timedelta(minutes=1)
        usd[minute:] = float(prices.monthly(target))
        mibps[minute + effect :] = capability(target).burst_mibps
    volume.run(load_series.minutes)
    measured = volume.measured[since:]

    def known(values: Floats) -> Floats:
        return np.where(measured, values[since:], np.nan)

    return PlaybackTimeline(
        start=load_series.start + timedelta(minutes=since),
        offered_iops=known(_by_minute(load_series, load_series.totals.ebs)),
        served_iops=known(volume.served_ebs_iops),
        limit_iops=volume.limit_iops[since:],
        offered_mibps=known(_by_minute(load_series, load_series.totals.mib)),
        served_mibps=known(volume.served_mibps),
        limit_mibps=mibps[since:],
        balance_percent=volume.balance_percent[since:],
        queue=known(volume.queue),
        usd_per_month=usd[since:],
        starved=volume.starved[since:],
        records=records,
    )


def timeline_of_result(result: Result) -> PlaybackTimeline:
    """An exact simulation."""
    facts = [minute.facts for minute in result.minutes]

    def column(values: Sequence[float | None]) -> Floats:
        return np.array(values, dtype=np.float64)

    def known(values: Sequence[float]) -> Floats:
        unknown = np.array([f.unknown for f in facts], dtype=np.bool_)
        return np.where(unknown, np.nan, column(values))

    return PlaybackTimeline(
        start=facts[0].start,
        offered_iops=known([f.offered_ebs_ops / 60 for f in facts]),
        served_iops=known([f.ebs_iops for f in facts]),
        limit_iops=column([f.limit_iops for f in facts]),
        offered_mibps=known([f.offered_bytes / 60 / MIB for f in facts]),
        served_mibps=known(
            [(f.served_read_bytes + f.served_write_bytes) / 60 / MIB for f in facts]
        ),
        limit_mibps=column([f.limit_mibps for f in facts]),
        balance_percent=column([f.burst_balance_percent for f in facts]),
        queue=known([f.queue_seen_avg for f in facts]),
        usd_per_month=column([float(minute.usd_per_month) for minute in result.minutes]),
        starved=np.array([f.starved for f in facts], dtype=np.bool_),
        records=result.records,
    )


def _by_minute(load_series: LoadSeries, total: Floats) -> Floats:
    edges = np.arange(load_series.minutes + 1) * 60.0
    rates: Floats = np.diff(np.interp(edges, load_series.totals.edges, total)) / 60
    return rates
