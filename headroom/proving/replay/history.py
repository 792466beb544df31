"""A volume's CloudWatch history in arrays: served load, and periods in which a limit held it back.

A period counts as held back when its Exceeded check says so; where no check was published, when
what was served touched the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

import numpy as np

from headroom.domain.catalog.ebs import HDD_IO_BYTES, MIB, capability
from headroom.domain.resources import (
    Configuration,
    InstanceActivity,
    Modification,
    Series,
    VolumeActivity,
)
from headroom.domain.workload import AT_LIMIT, EMPTY_PERCENT
from headroom.proving.workloads import Bools, Floats

LOW_PERCENT = 10.0
"""A bucket at or below this level, at baseline and at a limit, counts as empty: the metric lags."""
SUSTAINED = 0.9
"""A minute at this share of a limit that held it back counts as fully censored."""
SUSTAINED_LONGER = 0.99
"""The same for longer periods: one minute at the limit must not count as five."""

Parts = Sequence[tuple[VolumeActivity, InstanceActivity | None]]
"""Parts of the history, oldest first and adjacent, each with its own period."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HistoryPeriods:
    """One part of the past; arrays have a value per period, NaN where nothing was measured.

    Rates are operations/s and bytes/s. `utilisation` is the served share of the tighter limit in
    force. `held` are periods in which the volume's own limit held the load back, `held_all` those in
    which it did so all the time, `held_minutes` their minutes that are certain; all are zero where the
    instance was the limit (`by_instance`). `refuted` are periods whose checks exclude a limit,
    `unchecked` measured periods without a check.
    """

    start: datetime
    period_s: int
    reads: Floats
    writes: Floats
    read_bytes: Floats
    write_bytes: Floats
    utilisation: Floats
    held: Bools
    held_all: Bools
    held_minutes: Floats
    by_instance: Bools
    refuted: Bools
    unchecked: Bools

    @property
    def measured(self) -> Bools:
        """Whether each period was measured."""
        return ~np.isnan(self.reads)

    def since(self, instant: datetime) -> HistoryPeriods:
        """The periods that begin at or after `instant`."""
        skip = max(0, -int(-(instant - self.start).total_seconds() // self.period_s))
        arrays = [each.name for each in fields(self) if each.name not in ("start", "period_s")]
        return HistoryPeriods(
            start=self.start + timedelta(seconds=skip * self.period_s),
            period_s=self.period_s,
            **{name: getattr(self, name)[skip:] for name in arrays},
        )


def history_periods(
    parts: Parts, configuration: Configuration, modification: Modification | None
) -> Iterator[HistoryPeriods]:
    """Each part of the history in arrays, under the configuration in force at the time.

    AWS reports only the latest modification; before it, its origin is assumed to be in force.
    """
    for activity, instance in parts:
        yield _periods(activity, instance, configuration, modification)


def configuration_in_force(
    configuration: Configuration, modification: Modification | None, at: datetime
) -> Configuration:
    """The configuration at a past instant, as far as AWS reports it."""
    if modification is None or at >= modification.started_at:
        return configuration
    return modification.origin


def other_rates(
    activity: VolumeActivity, instance: InstanceActivity | None
) -> tuple[Floats, Floats]:
    """IOPS and MiB/s of the instance's other volumes per period; NaN where not measured."""
    if instance is None:
        nothing = np.full(len(activity.read_iops.values), np.nan)
        return nothing, nothing
    own_iops = series_array(activity.read_iops) + series_array(activity.write_iops)
    own_mibps = series_array(activity.read_mibps) + series_array(activity.write_mibps)
    return (
        np.maximum(0.0, series_array(instance.iops) - np.nan_to_num(own_iops)),
        np.maximum(0.0, series_array(instance.mibps) - np.nan_to_num(own_mibps)),
    )


def let_through(instance: InstanceActivity | None) -> Bools | None:
    """Periods in which the instance's own checks say that it limited nothing; None without any."""
    if instance is None:
        return None
    free: Bools = (series_array(instance.iops_exceeded) == 0) & (
        series_array(instance.throughput_exceeded) == 0
    )
    return free


def series_array(series: Series) -> Floats:
    """A series as an array, NaN where nothing was published."""
    return np.array(series.values, dtype=np.float64)


def _periods(
    activity: VolumeActivity,
    instance: InstanceActivity | None,
    configuration: Configuration,
    modification: Modification | None,
) -> HistoryPeriods:
    reads, writes = series_array(activity.read_iops), series_array(activity.write_iops)
    read_bytes, write_bytes = (
        np.where(ops == 0, 0.0, series_array(series) * MIB)
        for ops, series in ((reads, activity.read_mibps), (writes, activity.write_mibps))
    )
    unknown = np.isnan(reads + writes + read_bytes + write_bytes)
    for column in (reads, writes, read_bytes, write_bytes):
        column[unknown] = np.nan
    use = np.full(len(reads), np.nan)
    held = np.zeros(len(reads), dtype=np.bool_)
    period = timedelta(seconds=activity.read_iops.period_s)
    split = _split(activity.read_iops.start, period, len(reads), modification)
    for first, last in ((0, split), (split, len(reads))):
        if first < last:
            was = configuration_in_force(
                configuration, modification, activity.read_iops.start + first * period
            )
            served = (reads, writes, read_bytes, write_bytes)
            part = _Served(*(column[first:last] for column in served))
            use[first:last], held[first:last] = _utilisation(part, activity, was, first)
    checks = (series_array(activity.iops_exceeded), series_array(activity.throughput_exceeded))
    by_instance = _by_instance(instance, len(reads))
    held &= ~unknown & ~by_instance
    whole = activity.read_iops.period_s // 60
    checked = np.clip(np.fmax(np.fmax(*checks), 1.0), 1.0, whole)  # a count, or 1 for a maximum
    held_all = held & (use >= (SUSTAINED if whole == 1 else SUSTAINED_LONGER))
    return HistoryPeriods(
        start=activity.read_iops.start,
        period_s=activity.read_iops.period_s,
        reads=reads,
        writes=writes,
        read_bytes=read_bytes,
        write_bytes=write_bytes,
        utilisation=use,
        held=held,
        held_all=held_all,
        held_minutes=np.where(held_all, whole, np.where(held, checked, 0.0)),
        by_instance=by_instance & ~unknown,
        refuted=(checks[0] == 0) & (checks[1] == 0),
        unchecked=np.isnan(checks[0]) & np.isnan(checks[1]) & ~unknown,
    )


@dataclass(frozen=True, slots=True)
class _Served:
    reads: Floats
    writes: Floats
    read_bytes: Floats
    write_bytes: Floats

    def ebs_ops(self, io_bytes: int) -> Floats:
        """EBS operations/s: at least one per operation, one per `io_bytes` of larger ones."""
        return np.maximum(self.reads, self.read_bytes / io_bytes) + np.maximum(
            self.writes, self.write_bytes / io_bytes
        )


def _utilisation(
    served: _Served, activity: VolumeActivity, was: Configuration, first: int
) -> tuple[Floats, Bools]:
    """Share of the tighter limit that was served, and whether a limit held the load back."""
    can = capability(was)
    last = first + len(served.reads)
    ops = served.ebs_ops(can.io_bytes)
    mibps = (served.read_bytes + served.write_bytes) / MIB
    driven = ops if can.io_bytes == HDD_IO_BYTES else mibps
    balance = series_array(activity.burst_balance_percent)[first:last]
    checks = [
        series_array(series)[first:last]
        for series in (activity.iops_exceeded, activity.throughput_exceeded)
    ]
    shares, flags = [], []
    empty = np.zeros(len(ops), dtype=np.bool_)
    if can.iops_credits or can.mib_credits:
        empty = balance <= EMPTY_PERCENT
        at_base = (ops >= SUSTAINED * can.sustained_iops) | (
            driven >= SUSTAINED * can.sustained_mibps
        )
        flagged = (checks[0] >= 1) | (checks[1] >= 1)
        empty |= flagged & (balance <= LOW_PERCENT) & at_base
    for check, rate, base, burst in (
        (checks[0], ops, can.sustained_iops, can.burst_iops),
        (checks[1], driven, can.sustained_mibps, can.burst_mibps),
    ):
        share = rate / np.where(empty, base, burst)
        shares.append(share)
        flags.append(np.where(np.isnan(check), share >= AT_LIMIT, check >= 1))
    both = np.maximum(shares[0], shares[1])
    only_ops, only_bytes = flags[0] & ~flags[1], flags[1] & ~flags[0]
    return (
        np.where(only_ops, shares[0], np.where(only_bytes, shares[1], both)),
        flags[0] | flags[1],
    )


def _split(
    start: datetime, period: timedelta, count: int, modification: Modification | None
) -> int:
    """The first period under the modification's target."""
    if modification is None:
        return 0
    return min(count, max(0, -int((start - modification.started_at) // period)))


def _by_instance(instance: InstanceActivity | None, count: int) -> Bools:
    if instance is None:
        return np.zeros(count, dtype=np.bool_)
    return (series_array(instance.iops_exceeded) >= 1) | (
        series_array(instance.throughput_exceeded) >= 1
    )
