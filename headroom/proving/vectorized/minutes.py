"""Facts of each clock minute of a load series, summed over pieces; equal to physics.minute_facts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.domain.catalog.ebs import MIB
from headroom.proving.physics import (
    ENOUGH_S,
    NONE_MISSED,
    QUEUE_LIMIT,
    SERVICE_S,
    STARVED_SHARE,
    VOLUME_BYTES,
    VOLUME_IOPS,
)
from headroom.proving.vectorized.queue import Pieces, step_at
from headroom.proving.workloads import Bools, Floats, LoadSeries

SERVICE = SERVICE_S[False]
OWED = 1e-6
"""A backlog of fewer operations counts as empty."""


class Minutes(NamedTuple):
    """One value per minute. Served and offered are totals over the minute (MiB, operations)."""

    served_ops: Floats
    served_ebs: Floats
    served_mib: Floats
    served_reads: Floats
    served_read_mib: Floats
    queue: Floats
    iops_exceeded: Bools
    throughput_exceeded: Bools
    starved: Bools
    level: Floats
    """Level of the bucket at the minute's end."""
    backlog: Floats
    """Operations in the queue at the minute's end."""
    shortfall: Floats
    """Share of the minute's load that was not served by its end, 0 to 1."""


def measured_seconds(load_series: LoadSeries) -> Floats:
    """Seconds of each minute that were measured."""
    edges = np.arange(load_series.minutes + 1) * 60.0
    return np.diff(np.interp(edges, load_series.totals.edges, load_series.totals.measured))


def sum_minutes(
    load_series: LoadSeries, pieces: Pieces, first: int, last: int, capacity: float
) -> Minutes:
    """Sum minutes `first` up to `last`, which `pieces` cover; `capacity` is that of the bucket."""
    totals = load_series.totals
    edges = np.arange(first, last + 1, dtype=np.float64) * 60.0
    if load_series.pooled:
        return _sum_pool(load_series, pieces, edges, capacity)
    position = np.interp(edges, pieces.at, pieces.position)
    offered = np.interp(edges, totals.edges, totals.ops)
    bound = pieces.bound > 0
    if bound.any():
        waits = np.concatenate((bound[:1], bound[:-1] | bound[1:], bound[-1:]))
    else:
        waits = np.zeros(len(pieces.at), dtype=np.bool_)

    def served(of: Floats) -> Floats:
        return np.diff(np.interp(position, totals.ops, of))

    ops = np.diff(position)
    quiet = np.zeros(last - first, dtype=np.bool_)
    found = Minutes(
        served_ops=ops,
        served_ebs=served(totals.ebs),
        served_mib=served(totals.mib),
        served_reads=served(totals.reads),
        served_read_mib=served(totals.read_mib),
        queue=ops / 60 * SERVICE,
        iops_exceeded=quiet,
        throughput_exceeded=quiet.copy(),
        starved=quiet.copy(),
        level=_levels(pieces, edges, capacity),
        backlog=np.zeros(last - first),
        shortfall=np.zeros(last - first),
    )
    return (
        _with_waits(load_series, pieces, edges, found, offered, position) if waits.any() else found
    )


def _with_waits(
    load_series: LoadSeries,
    pieces: Pieces,
    edges: Floats,
    found: Minutes,
    offered: Floats,
    position: Floats,
) -> Minutes:
    """Add the effects of a backlog: queue length, checks and starvation."""
    totals = load_series.totals
    cuts = np.unique(np.concatenate((pieces.at, edges)))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    seconds = np.diff(cuts)
    bound = pieces.bound[_piece_of(pieces, cuts[1:])]
    held = bound > 0
    arrived = np.interp(cuts, totals.edges, totals.ops)
    gone = np.interp(cuts, pieces.at, pieces.position)
    waiting = np.maximum(arrived - gone, 0.0)
    rate = np.diff(gone) / seconds * SERVICE
    low = np.where(held, waiting[:-1], 0.0) + rate
    high = np.where(held, waiting[1:], 0.0) + rate
    starts = np.searchsorted(cuts, edges[:-1], side="left")

    def summed(values: Floats) -> Floats:
        return np.add.reduceat(values, starts)

    touches = np.concatenate((held[:1], held[:-1] | held[1:], held[-1:]))
    owed = np.where(touches, waiting, 0.0)[np.searchsorted(cuts, edges, side="left")]
    owed[owed <= OWED] = 0.0
    delayed = owed[:-1] + summed(np.where(held, np.diff(arrived), 0.0))
    due = owed[:-1] + np.diff(offered)
    return found._replace(
        queue=summed(_mean_reported(low, high) * seconds) / 60,
        iops_exceeded=summed(np.where(bound & VOLUME_IOPS, seconds, 0.0)) >= ENOUGH_S,
        throughput_exceeded=summed(np.where(bound & VOLUME_BYTES, seconds, 0.0)) >= ENOUGH_S,
        starved=np.minimum(delayed, due) > STARVED_SHARE * due,
        backlog=owed[1:],
        shortfall=shares(owed[1:], np.diff(offered)),
    )


def shares(missed: Floats, asked: Floats) -> Floats:
    """`missed` as a share of what was `asked` in each minute, at most 1; 0 for rounding."""
    share = np.divide(missed, asked, out=np.ones(len(missed)), where=asked > 0)
    none = missed <= NONE_MISSED * np.maximum(1.0, asked)
    found: Floats = np.where(none, 0.0, np.minimum(1.0, share))
    return found


def _sum_pool(load_series: LoadSeries, pieces: Pieces, edges: Floats, capacity: float) -> Minutes:
    """The minutes between `edges` of a pool: what it took, and what it lost."""
    cuts = np.unique(np.concatenate((pieces.at, edges)))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    seconds, step = np.diff(cuts), step_at(load_series, cuts)
    bound = pieces.bound[_piece_of(pieces, cuts[1:])]
    starts = np.searchsorted(cuts, edges[:-1], side="left")
    ops = np.diff(np.interp(cuts, pieces.at, pieces.position))
    free = np.nan_to_num(load_series.ops[step])
    part = np.divide(ops, free, out=np.zeros(len(ops)), where=free > 0)

    def summed(values: Floats) -> Floats:
        return np.add.reduceat(values, starts)

    def served(of: Floats) -> Floats:
        return summed(np.nan_to_num(of[step]) * part)

    workers = np.nan_to_num(load_series.workers[step]) * (free > 0)
    asking = np.minimum(QUEUE_LIMIT, workers - ops / seconds * load_series.think_s)
    done, could = summed(ops), summed(free * seconds)
    nothing = np.zeros(len(done))
    return Minutes(
        served_ops=done,
        served_ebs=served(load_series.ebs_ops),
        served_mib=served(load_series.bytes / MIB),
        served_reads=served(load_series.ops * load_series.read_share),
        served_read_mib=served(load_series.read_bytes / MIB),
        queue=summed(asking * seconds) / 60,
        iops_exceeded=summed(np.where(bound & VOLUME_IOPS, seconds, 0.0)) >= ENOUGH_S,
        throughput_exceeded=summed(np.where(bound & VOLUME_BYTES, seconds, 0.0)) >= ENOUGH_S,
        starved=summed(np.where(bound > 0, ops, 0.0)) > STARVED_SHARE * done,
        level=_levels(pieces, edges, capacity),
        backlog=nothing,
        shortfall=shares(np.maximum(could - done, 0.0), could),
    )


def _levels(pieces: Pieces, edges: Floats, capacity: float) -> Floats:
    """Level of the bucket at each minute's end."""
    place = _piece_of(pieces, edges[1:])
    gained = pieces.slope[place] * (edges[1:] - pieces.at[place])
    level: Floats = np.minimum(capacity, pieces.level[place] + gained)
    return level


def _mean_reported(first: Floats, last: Floats) -> Floats:
    """Mean queue length that a device reports while its queue goes evenly from `first` to `last`."""
    low, high = np.minimum(first, last), np.maximum(first, last)
    span = np.where(high > low, high - low, 1.0)
    below = np.clip((QUEUE_LIMIT - low) / span, 0.0, 1.0)
    capped = below * (low + QUEUE_LIMIT) / 2 + (1 - below) * QUEUE_LIMIT
    mean = np.where(high <= QUEUE_LIMIT, (low + high) / 2, capped)
    return np.where(low >= QUEUE_LIMIT, float(QUEUE_LIMIT), mean)


def _piece_of(pieces: Pieces, ends: Floats) -> NDArray[np.intp]:
    """The piece that each instant is the end of, or lies in."""
    place = np.searchsorted(pieces.at, ends, side="left") - 1
    return np.clip(place, 0, len(pieces.bound) - 1)
