"""Pressure: which minutes touched a limit of the volume; the basis of all other estimators."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from headroom.domain.catalog import Served, merged, same_io_size, served
from headroom.domain.catalog.ebs import HDD_IO_BYTES, Capability, capability
from headroom.domain.resources import Modification, Observation, VolumeActivity
from headroom.domain.state import KnownModification, LimitHistory
from headroom.domain.workload.demand import AT_LIMIT, Minute
from headroom.domain.workload.latency import (
    FREE_AT,
    LEAST_SLOW_MS,
    SLOW,
    flows_up_to_ms,
    free_latency_ms,
    large_waits,
    usual_latency_ms,
)

EMPTY_PERCENT = 1.0
"""A bucket at or below this counts as empty: the sustained limit is in force."""

WAITS_AT = 0.25
"""Share of a limit below which waiting is not blamed on it: bursts inside a minute use up more.
Minutes below it are calm."""

LARGE_IO_BYTES, LARGE_WAITS_AT = 128 * 1024, 0.6
"""Large operations take long by themselves: unless very long, only nearer to a limit do they wait for it."""

ENDED = 4.0
"""Odds that pressure is over after a clear minute, counted on recorded loads: the hour from ten minutes later on has a
fifth of the pressed minutes that it has otherwise, after one clear minute as after four."""

_began = attrgetter("at")
UNBROKEN = timedelta(minutes=15)
"""A longer gap in the measurements ends a run."""

RECENT_PERIOD_S = 60
"""Period of the metrics of the last hours; longer ones reach days back."""


_new = tuple.__new__
"""Makes a named tuple in a third of the time of its own constructor: there are thousands."""


def recent_minutes(
    observation: Observation, known: Sequence[KnownModification] = ()
) -> tuple[Minute, ...]:
    """The minutes of the last hours that were measured, by what the volume delivers today.

    Earlier days show which latency is free, below every limit of the `known` modifications: what waited at one
    of these is no measure of another.
    """
    history = observation.history

    def free_ms() -> float:
        return (
            0.0 if history is None else free_latency_ms(history, LimitHistory(observation, known))
        )

    return minutes(
        observation.activity, capability(observation.volume.configuration),
        observation.modification, earlier_free_ms=free_ms,
    )  # fmt: skip


def minutes(
    activity: VolumeActivity,
    can: Capability,
    change: Modification | None = None,
    *,
    places: Iterable[int] | None = None,
    earlier_free_ms: Callable[[], float] = float,
) -> tuple[Minute, ...]:
    """The minutes that were measured, oldest first; a minute without I/O metrics is left out.

    `can` is what the volume delivers today. Minutes before its latest `change` are judged by the
    earlier limits, and those while it lands by the lower of both. Only the periods at `places` are
    read, all of them without. Where `activity` is all at a limit, `earlier_free_ms` is up to which latency
    operations flow; 0 if nothing shows that.
    """
    every = range(len(activity.read_iops.values)) if places is None else places
    rows = list(_rows(activity, can, change, every))
    sizes = [row.served for row in rows if row.merged]
    hdd = can.io_bytes == HDD_IO_BYTES

    @cache  # both are asked for only where no check was published
    def slow_ms() -> float:
        usual = usual_latency_ms(_latencies(activity, rows, WAITS_AT), hdd=hdd)
        return max(LEAST_SLOW_MS, SLOW * usual)

    @cache
    def free_ms() -> float:
        if hdd:
            return 0.0
        return flows_up_to_ms(_latencies(activity, rows, FREE_AT)) or earlier_free_ms()

    return tuple(_minutes_of(activity, rows, sizes, slow_ms, free_ms, hdd=hdd))


def _latencies(activity: VolumeActivity, rows: Sequence[_Row], share: float) -> Iterator[float]:
    """The latencies in ms of minutes below a share of every limit."""
    latencies = activity.latency_ms.values
    for row in rows:
        latency = latencies[row.place]
        if (
            latency is not None
            and row.served.most_ops < share * row.low[0]
            and row.served.mibps < share * row.low[1]
        ):
            yield latency


class _Row(NamedTuple):
    place: int
    at: datetime
    served: Served
    low: tuple[float, float]
    high: tuple[float, float]
    sure: bool
    """Whether the configuration of that time is known."""
    iops_check: bool
    merged: bool


def _rows(
    activity: VolumeActivity, can: Capability, change: Modification | None, places: Iterable[int]
) -> Iterator[_Row]:
    grid, step = activity.read_iops, timedelta(seconds=activity.read_iops.period_s)
    started, ended, before = _landing(can, change)
    reads, read_mibps = activity.read_iops.values, activity.read_mibps.values
    writes, write_mibps = activity.write_iops.values, activity.write_mibps.values
    balances, checks = activity.burst_balance_percent.values, activity.iops_exceeded.values
    # AWS forgets old changes: without one, only the last hours are known to be as now.
    sure, since = grid.period_s <= RECENT_PERIOD_S, None if change is None else change.started_at
    start, io_bytes, old, new = grid.start, can.io_bytes, can, can
    in_force: tuple[Capability, Capability, bool] | None = None
    low = high = 0.0, 0.0
    most_iops = 0.0
    for i in places:
        taken = served(reads[i], read_mibps[i], writes[i], write_mibps[i], io_bytes)
        if taken is None:
            continue
        at = start + i * step
        if started is not None:
            old = can if ended is not None and at >= ended else before
            new = before if at < started else can
        balance = balances[i]
        empty = balance is not None and balance <= EMPTY_PERCENT
        if (old, new, empty) != in_force:  # by value: equal limits stay written as they were
            in_force = old, new, empty
            low, high = _range(_limits(old, empty=empty), _limits(new, empty=empty))
            most_iops = max(old.burst_iops, new.burst_iops)
        if since is not None:
            sure = at >= since
        check = (checks[i] or 0.0) >= 1
        merged_io = taken.most_ops > most_iops and sure and not check and merged(taken, most_iops)
        yield _new(_Row, (i, at, taken, low, high, sure, check, merged_io))


def _landing(
    can: Capability, change: Modification | None
) -> tuple[datetime | None, datetime | None, Capability]:
    """When the latest change began and had its effect, and what the volume could do before it.

    Without a known effect of a change nothing began.
    """
    if change is None or capability(change.target) != can:
        return None, None, can
    before = capability(change.origin)
    if before.io_bytes != can.io_bytes:
        return None, None, can
    return change.started_at, None if change.in_flight else change.ended_at, before


def _limits(can: Capability, *, empty: bool) -> tuple[float, float]:
    """IOPS and MiB/s in force; sustained ones where there is a bucket and it is `empty`."""
    if empty and (can.iops_credits or can.mib_credits):
        return can.sustained_iops, can.sustained_mibps
    return can.burst_iops, can.burst_mibps


def _range(
    one: tuple[float, float], other: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The lower and the higher of both limits, of IOPS and of MiB/s; one where they are equal."""
    if one == other:
        return one, one
    return tuple(map(min, one, other)), tuple(map(max, one, other))  # type: ignore[return-value]


def _minutes_of(
    activity: VolumeActivity, rows: Sequence[_Row], sizes: Sequence[Served],
    slow_ms: Callable[[], float], free_ms: Callable[[], float], *, hdd: bool,
) -> Iterator[Minute]:  # fmt: skip
    """A minute for each row; `sizes` are of the rows whose operations were merged."""
    queues, latencies = activity.queue_length.values, activity.latency_ms.values
    iops_checks, mibps_checks = activity.iops_exceeded.values, activity.throughput_exceeded.values
    for row in rows:
        i, at, taken, low, high, sure, iops_check, merged_io = row
        ops, mibps, least_ops, most_ops, ssd_least_ops, ssd_most_ops, bytes_known, whole = taken
        if sizes and not merged_io and sure and not iops_check:
            merged_io = any(same_io_size(taken, size) for size in sizes)
        iops = least_ops if merged_io else most_ops
        if iops_check and sure:  # it was the limit they reached: merged beyond it
            iops = min(iops, max(least_ops, high[0]))
        driven = iops if hdd else mibps
        by_iops, by_mibps = iops_checks[i], mibps_checks[i]
        checked = by_iops is not None or by_mibps is not None
        iops_pressed = iops_reached = by_iops is not None and by_iops >= 1
        mibps_pressed = mibps_reached = by_mibps is not None and by_mibps >= 1
        # The check looks inside the minute, an average does not: it wins wherever there is one.
        if by_iops is None or by_mibps is None:
            waits_for_iops = waits_for_mibps = False
            if not checked and _waits(activity, row, slow_ms()):
                large = taken.io_bytes > LARGE_IO_BYTES and not large_waits(
                    _waited(activity, row) or 0.0, ops
                )
                waits_at = LARGE_WAITS_AT if large else WAITS_AT
                by_operations = iops * low[1] >= driven * low[0]
                waits_for_iops = by_operations and iops >= waits_at * low[0]
                waits_for_mibps = not by_operations and driven >= waits_at * low[1]
            at_iops = by_iops is None and _at_limit(iops, low[0], high[0])
            at_mibps = by_mibps is None and _at_limit(driven, low[1], high[1])
            if (at_iops or at_mibps) and not checked:
                at_iops = at_iops and _waits(activity, row, free_ms(), unknown=True)
                at_mibps = at_mibps and _waits(activity, row, free_ms(), unknown=True)
            iops_pressed = iops_pressed or at_iops or waits_for_iops
            mibps_pressed = mibps_pressed or at_mibps or waits_for_mibps
        iops_limit, mibps_limit = low
        if low is not high:
            iops_limit = _limit_in_force(iops, low[0], high[0])
            mibps_limit = _limit_in_force(driven, low[1], high[1])
        yield _new(
            Minute,
            (
                at, iops, mibps, queues[i], latencies[i], iops_pressed, mibps_pressed, iops_limit,
                mibps_limit, checked, ops, (ssd_least_ops if merged_io else ssd_most_ops) if hdd else iops,
                iops_reached, mibps_reached, bytes_known, whole,
            ),
        )  # fmt: skip


def _limit_in_force(took: float, low: float, high: float) -> float:
    """The limit in force while a change lands: at least what was served under it."""
    return low if low == high else min(high, max(low, took))


def _waits(activity: VolumeActivity, row: _Row, slow_ms: float, *, unknown: bool = False) -> bool:
    """Whether operations waited; `unknown` without a latency."""
    waited = _waited(activity, row)
    return unknown if waited is None else waited > slow_ms


def _waited(activity: VolumeActivity, row: _Row) -> float | None:
    """The latency in ms: the mean of all operations, else by Little's law from the queue, which is only sampled."""
    latency, queue = activity.latency_ms.values[row.place], activity.queue_length.values[row.place]
    if latency is None and queue is not None and row.served.ops >= 1:
        return 1000 * queue / row.served.ops
    return latency


def _at_limit(took: float, low: float, high: float) -> bool:
    return took >= AT_LIMIT * high or AT_LIMIT * low <= took <= low / AT_LIMIT


def since(seen: tuple[Minute, ...], instant: datetime) -> tuple[Minute, ...]:
    """The minutes that began at or after `instant`."""
    return seen[bisect_left(seen, instant, key=_began) :]


def clear_run(seen: tuple[Minute, ...]) -> int:
    """How many of the newest consecutive minutes were not pressed; a longer gap ends the run."""
    run = 0
    later: datetime | None = None
    for minute in reversed(seen):
        if minute.pressed or (later is not None and later - minute.at > UNBROKEN):
            break
        run += 1
        later = minute.at
    return run


def episode(seen: tuple[Minute, ...], *, gap_minutes: int = 4) -> tuple[Minute, ...]:
    """The present run of pressure, oldest first; gaps of up to `gap_minutes` belong to it.

    Empty when more than `gap_minutes` of the newest minutes are clear.
    """
    first = len(seen)
    clear = 0
    for i in range(len(seen) - 1, -1, -1):
        if seen[i].pressed:
            first, clear = i, 0
        else:
            clear += 1
            if clear > gap_minutes:
                break
    return seen[first:]


def goes_on(seen: tuple[Minute, ...]) -> float:
    """The chance that the present run of pressure goes on although its newest minutes are clear; 1 if they are not.

    The more often it went on after as many clear minutes, the likelier.
    """
    run = episode(seen)
    clear = clear_run(run)
    gaps = [len(list(same)) for pressed, same in groupby(run, attrgetter("pressed")) if not pressed]
    resumed = sum(gap >= clear for gap in gaps)  # the present gap is one of them
    return resumed / (resumed + ENDED) if clear else 1.0
