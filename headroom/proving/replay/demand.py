"""Reconstructs the load behind a volume's history: the demand, from what was served.

Served load at a limit is censored. Nothing is invented: every operation of the history is kept, in
its order. Where a limit held the load back all the time, the same operations are assumed to have
arrived faster (their front much faster, the rest by the engine's own estimate) and then to have ended.
Where only a check saw a burst inside a period, part of the period is put just above the limit. So an
unchanged volume shows the starvation that AWS measured, and a faster one finishes sooner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from statistics import median

import numpy as np

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES, capability
from headroom.domain.resources import (
    InstanceLimits,
    Modification,
    Observation,
    Series,
    Volume,
    VolumeActivity,
)
from headroom.domain.workload import estimate
from headroom.proving.replay.history import (
    HistoryPeriods,
    Parts,
    configuration_in_force,
    history_periods,
    let_through,
    other_rates,
)
from headroom.proving.replay.time_shift import TimeShift, spans, time_shifted
from headroom.proving.workloads import Bools, Floats, LoadSeries

MILDEST = 1.05
"""Least demand of a censored load, relative to the limit."""
HASTIEST = 1.75
"""Most pace that is assumed for a censored load, except for its front."""
FRONT, FRONT_PACE = 0.15, 4.0
"""Share of a censored run that arrived first and much faster: storage load comes in bursts, and a demand
of several times the limit would starve a faster volume too. The pace is the largest step of
the default policy. These three were chosen on six recorded loads and checked on seven others, with
configurations of 1.5 to 5 times the limit (docs/operate/replay.md)."""
FINE_S, COARSE_S = 10, 60
"""Steps of the reconstructed load, with bursts inside the minute and without."""
FINE_DAYS = 105
"""A longer history is reconstructed in minutes: bursts inside a period are only counted."""
BURST_S = 10
"""Assumed length of a burst that one check of a period saw."""
SEEN_BY_ENGINE = 180
"""Periods that the engine's estimate uses."""
SEEN_FREE = 60
"""Periods before a bucket ran dry that show the unlimited load."""
ESTIMATED_RUNS = 30
"""Number of the longest runs that are estimated one by one; the others take their median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCoverage:
    """How much of a history is known, and how well. Counts are minutes."""

    start: datetime
    minutes: int
    measured: int
    held: int
    """Minutes in which a limit of the volume held the load back, as AWS measured it."""
    by_instance: int
    """Minutes in which the instance was the limit: nothing is reconstructed there."""
    unchecked: int
    """Measured, but AWS published no Exceeded check: what touched a limit counts as held back."""
    not_rebuilt: int
    """Of `held`: bursts too short to be reconstructed from averages."""
    periods_s: tuple[int, ...]
    """The periods of the history, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReconstructedLoad:
    """A load reconstructed from history, and its coverage."""

    load_series: LoadSeries
    since_minute: int
    """The begin of the replay; the engine knows earlier days as history."""
    balance_percent: float
    """BurstBalance at the begin of the history; 100 if none was published."""
    balance_percent_since: float
    """BurstBalance at the begin of the replay."""
    known: HistoryCoverage


def reconstruct_load(
    parts: Parts,
    volume: Volume,
    modification: Modification | None,
    limits: InstanceLimits | None,
    *,
    since: datetime,
) -> ReconstructedLoad | None:
    """The load behind `parts`; None when nothing was measured from `since` on.

    `limits` are those of the instance, if known: no load is reconstructed above its baseline, or above its maximum
    where its checks say that it limited nothing.
    """
    periods = tuple(history_periods(parts, volume.configuration, modification))
    counted = [each.since(since) for each in periods]
    if not any(each.measured.any() for each in counted):
        return None
    step_s = _step(periods)
    runs, missed = [], 0
    offset = 0
    for each, (activity, of_instance) in zip(periods, parts, strict=True):
        per = each.period_s // step_s
        most = _most(each, limits, other_rates(activity, of_instance), let_through(of_instance))
        found = _faster(each, activity, volume, modification, most)
        found = [replace(run, first=run.first * per, last=run.last * per) for run in found]
        bursts, short = _bursts(each, per, step_s, most, since)
        runs += [
            replace(run, first=offset + run.first, last=offset + run.last)
            for run in (*found, *bursts)
        ]
        missed += short
        offset += len(each.reads) * per
    columns = [_stepped(periods, name, step_s) for name in _COLUMNS]
    columns = time_shifted(columns, sorted(runs, key=lambda run: run.first))
    load_series = _load_series(volume, periods, columns, step_s)
    since_minute = max(0, int((since - load_series.start).total_seconds()) // 60)
    begin = load_series.start + timedelta(minutes=since_minute)
    known = HistoryCoverage(
        start=begin,
        minutes=load_series.minutes - since_minute,
        measured=sum(int(e.measured.sum()) * (e.period_s // 60) for e in counted),
        held=sum(int(each.held_minutes.sum()) for each in counted),
        by_instance=sum(int(each.by_instance.sum()) * (each.period_s // 60) for each in counted),
        unchecked=sum(int(each.unchecked.sum()) * (each.period_s // 60) for each in counted),
        not_rebuilt=missed,
        periods_s=tuple(each.period_s for each in counted if len(each.reads)),
    )
    return ReconstructedLoad(
        load_series=load_series,
        since_minute=since_minute,
        balance_percent=_balance(parts, load_series.start),
        balance_percent_since=_balance(parts, begin),
        known=known,
    )


def _step(periods: Sequence[HistoryPeriods]) -> int:
    """Fine steps if a limit held anything back, unless there would be too many."""
    held = any(each.held.any() for each in periods)
    long = sum(each.period_s * len(each.reads) for each in periods) > FINE_DAYS * 86_400
    return FINE_S if held and not long else COARSE_S


_COLUMNS = ("reads", "writes", "read_bytes", "write_bytes")


def _most(
    each: HistoryPeriods, limits: InstanceLimits | None, others: tuple[Floats, Floats],
    unlimited: Bools | None,
) -> Floats:  # fmt: skip
    """The pace at which the load of each period would reach what the instance has left for it.

    Where the instance's own checks say that it limited nothing, it would have given up to its maximum.
    """
    if limits is None:
        return np.full(len(each.reads), np.inf)
    size = each.read_bytes + each.write_bytes
    ops = np.maximum(each.reads + each.writes, size / SSD_IO_BYTES)
    bursts = np.zeros(len(ops), dtype=np.bool_) if unlimited is None else unlimited
    iops = np.where(bursts, limits.maximum_iops, limits.baseline_iops)
    mibps = np.where(bursts, limits.maximum_mibps, limits.baseline_mibps)
    with np.errstate(divide="ignore", invalid="ignore"):
        left: Floats = np.fmin(
            np.maximum(0.0, iops - np.nan_to_num(others[0])) / ops,
            np.maximum(0.0, mibps - np.nan_to_num(others[1])) * MIB / size,
        )
    return left


def _faster(
    each: HistoryPeriods,
    activity: VolumeActivity,
    volume: Volume,
    modification: Modification | None,
    most: Floats,
) -> list[TimeShift]:
    """Every run of fully censored periods, and how much faster it arrived."""
    runs = list(spans(each.held_all))
    can = capability(volume.configuration)
    bucket = bool(can.iops_credits or can.mib_credits)
    paces: dict[tuple[int, int], float] = {}
    if each.period_s == COARSE_S:  # longer periods are too coarse for an estimate
        for first, last in sorted(runs, key=lambda run: run[0] - run[1])[:ESTIMATED_RUNS]:
            at = each.start + timedelta(seconds=(last - 1) * each.period_s)
            then = replace(
                volume, configuration=configuration_in_force(volume.configuration, modification, at)
            )
            paces[first, last] = _pace(activity, then, last)
    usual = median(paces.values()) if paces else HASTIEST
    found = []
    for first, last in runs:
        reached = max(MILDEST / float(np.mean(each.utilisation[first:last])), 1.0)
        through = float(np.min(most[first:last]))
        freely = _freely(each, first, last) if bucket else None
        wanted = paces.get((first, last), usual) if freely is None else freely
        pace, front_pace = min(max(reached, wanted), through), min(FRONT_PACE, through)
        if freely is not None:
            front_pace = pace
        if pace > 1.0:
            front = FRONT if front_pace > pace else 0.0
            found.append(TimeShift(first, last, pace, front=front, front_pace=front_pace))
    return found


def _freely(each: HistoryPeriods, first: int, last: int) -> float | None:
    """How much faster a load was just before a bucket ran dry; None if unknown."""
    before = slice(max(0, first - SEEN_FREE), first)
    ops = each.reads + each.writes
    free = ops[before][~each.held[before] & each.measured[before]]
    served = float(np.mean(ops[first:last]))
    pace = float(free.max()) / served if free.size and served > 0 else 0.0
    return pace if pace >= MILDEST else None


def _pace(activity: VolumeActivity, volume: Volume, last: int) -> float:
    """Demand by the engine's estimate over served load, at the end of a run."""
    recent = _cut(activity, max(0, last - SEEN_BY_ENGINE), last)
    demand = estimate(
        Observation(
            at=recent.read_iops.end,
            volume=volume,
            modification=None,
            activity=recent,
            history=None,
            instance=None,
            instance_activity=None,
        )
    )
    wanted = [
        each.likely / each.floor
        for each in (demand.iops, demand.mibps)
        if each.censored and each.floor > 0
    ]
    return min(HASTIEST, max(MILDEST, *wanted)) if wanted else MILDEST


def _cut(activity: VolumeActivity, first: int, last: int) -> VolumeActivity:
    def part(series: Series) -> Series:
        return Series(
            start=series.start + timedelta(seconds=first * series.period_s),
            period_s=series.period_s,
            values=series.values[first:last],
        )

    kept = {each.name: getattr(activity, each.name) for each in fields(activity)}
    return replace(activity, **{name: part(s) for name, s in kept.items() if s is not None})


def _bursts(
    each: HistoryPeriods, per: int, step_s: int, most: Floats, since: datetime
) -> tuple[list[TimeShift], int]:
    """Bursts inside a period that its check saw; how many since then were too short to reconstruct."""
    found, missed = [], 0
    minute = 60 // step_s
    longest = BURST_S // step_s  # none in steps of a minute
    for number in np.flatnonzero(each.held & ~each.held_all).tolist():
        pace = MILDEST / max(float(each.utilisation[number]), 1e-9)
        steps, count = min(longest, int(minute / pace)), int(each.held_minutes[number])
        if not steps or pace > most[number]:
            counts = each.start + timedelta(seconds=number * each.period_s) >= since
            missed += count if counts else 0
            continue
        for first in range(number * per, number * per + count * minute, minute):
            found.append(TimeShift(first, first + minute, pace, burst=steps))
    return found, missed


def _stepped(periods: Sequence[HistoryPeriods], name: str, step_s: int) -> Floats:
    """One column of all parts on one grid; periods without a touched limit are cut just below it."""
    parts = []
    for each in periods:
        column: Floats = getattr(each, name)
        over = each.refuted & (each.utilisation > 1)
        column = np.where(over, column * 0.999 / np.maximum(each.utilisation, 1), column)
        parts.append(np.repeat(column, each.period_s // step_s))
    return np.concatenate(parts)


def _load_series(
    volume: Volume, periods: Sequence[HistoryPeriods], columns: Sequence[Floats], step_s: int
) -> LoadSeries:
    reads, writes, read_bytes, write_bytes = columns
    ops = reads + writes
    share = np.divide(reads, ops, out=np.ones(len(ops)), where=ops > 0)
    return LoadSeries(
        name=volume.ref.resource_id,
        start=periods[0].start,
        step_s=step_s,
        ops=ops,
        ebs_ops=np.maximum(reads, read_bytes / SSD_IO_BYTES)
        + np.maximum(writes, write_bytes / SSD_IO_BYTES),
        bytes=read_bytes + write_bytes,
        read_share=np.where(np.isnan(ops), np.nan, share),
        trace_days=len(ops) * step_s / 86_400,
        read_bytes=read_bytes,
    )


def _balance(parts: Parts, since: datetime) -> float:
    """The first BurstBalance published from an instant on."""
    for activity, _ in parts:
        known = activity.burst_balance_percent.since(since).known()
        if known:
            return min(100.0, max(0.0, known[0]))
    return 100.0
