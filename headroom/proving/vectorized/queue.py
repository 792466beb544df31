"""The fluid queue of physics.queue on arrays: one SSD volume, from event to event.

While limits stay, a backlog counted in seconds of service is a sum with a floor at zero (a
Lindley recursion), so a whole month of it is a handful of array operations. Operations leave in
the order they came, so the number of operations served says which ones were served.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.domain.catalog.ebs import MIB
from headroom.proving.physics import ABOVE, NEAR, VOLUME_BYTES, VOLUME_IOPS, VolumeLimits
from headroom.proving.workloads import Floats, LoadSeries

NO_WORK_S = 1e-8
"""Less work than this counts as none: sums over months round to it."""
NO_CREDITS = 1e-9
"""Share of a bucket that counts as empty."""
NO_OPS = 1e-5
"""Fewer operations than this are rounding."""
FEWEST_STEPS, MOST_STEPS = 48, 1 << 30
"""A gp2 volume runs over this many steps at first, then twice as many each time."""

Codes = NDArray[np.int8]


class Pieces(NamedTuple):
    """Stretches between events: instants and positions at both ends, `bound` flags inside.

    Position is how many operations have left since the start of the series. `level` is the
    level of the bucket at each piece's start and `slope` its change per second, up to the capacity.
    """

    at: Floats
    position: Floats
    bound: Codes
    level: Floats
    slope: Floats

    def until(self, instant: float) -> Pieces:
        """The same up to `instant`."""
        count = int(np.searchsorted(self.at, instant, side="left"))
        if count >= len(self.at):
            return self
        position = float(np.interp(instant, self.at, self.position))
        at = np.append(self.at[:count], instant)
        positions = np.append(self.position[:count], position)
        return Pieces._make((at, positions, *(values[:count] for values in self[2:])))

    def since(self, instant: float) -> Pieces:
        """The pieces that end after `instant`, whole."""
        skip = max(0, int(np.searchsorted(self.at, instant, side="right")) - 1)
        skip = min(skip, len(self.bound))
        return Pieces._make(values[skip:] for values in self)

    def then(self, more: Pieces) -> Pieces:
        """These and what follows them."""
        return _joined([self, more])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """A load series in seconds of service under one pair of limits."""

    rho: Floats
    """Seconds of service that arrive per second, per step."""
    done: Floats
    """Their sum at the edges of the steps."""
    bound: Codes
    """Which limit sets a step's rate while it is served."""


class ArrayQueue:
    """One volume's queue and bucket under a load series; `run` continues where the last run ended."""

    def __init__(self, load_series: LoadSeries) -> None:
        self._series = load_series
        self._totals = load_series.totals
        self._ebs = np.nan_to_num(load_series.ebs_ops)
        self._mib = np.nan_to_num(load_series.bytes / MIB)
        self._works: dict[tuple[float, float], Work] = {}
        self.at = 0.0
        self.position = 0.0
        self.level = 0.0
        self.limits: VolumeLimits

    def run(self, until: float) -> Pieces:
        """Pass to second `until` (after `at`) under the limits in force."""
        if not self.limits.credits:
            pieces = self._steady(self.at, until, self.limits.base_ops)
            return self._carry(pieces, 0.0)
        return self._bursting(until)

    def back(self, pieces: Pieces, instant: float, capacity: float) -> None:
        """Go back to `instant`, which `pieces` cover, with a bucket of `capacity`."""
        if instant < pieces.at[0]:
            raise ValueError(f"second {instant} is before the first known, {pieces.at[0]}.")
        place = max(0, int(np.searchsorted(pieces.at, instant, side="left")) - 1)
        spent = float(pieces.slope[place]) * (instant - float(pieces.at[place]))
        self.at = instant
        self.position = float(np.interp(instant, pieces.at, pieces.position))
        self.level = _level(float(pieces.level[place]) + spent, capacity)

    def _carry(self, pieces: Pieces, level: float) -> Pieces:
        self.at, self.position = float(pieces.at[-1]), float(pieces.position[-1])
        self.level = level
        return pieces

    def _bursting(self, until: float) -> Pieces:
        """A bucket at or above empty: burst until it runs out, the baseline until it refills."""
        found: list[Pieces] = []
        steps = FEWEST_STEPS
        emptied, refused = self.level <= 0, False
        while self.at < until:
            stop = min(until, self.at + steps * self._series.step_s)
            pieces = self._drained(stop, stay=refused) if emptied else self._with_credits(stop)
            refused = pieces is None
            if pieces is None or self.at < stop:
                emptied, steps = not emptied, FEWEST_STEPS
            else:
                steps = min(MOST_STEPS, 2 * steps)
            if pieces is not None:
                found.append(pieces)
        return _joined(found)

    def _with_credits(self, until: float) -> Pieces | None:
        """At the burst rate until the bucket runs empty; None if that is at once."""
        limits = self.limits
        pieces = self._steady(self.at, until, limits.burst_ops)
        seconds = np.diff(pieces.at)
        earned = limits.base_ops * seconds - self._used(pieces)
        earned[np.abs(earned) < NO_OPS] = 0.0
        slope = earned / seconds
        free = self.level + np.concatenate(([0.0], np.cumsum(earned)))
        over = np.maximum.accumulate(np.maximum(free - limits.credits, 0.0))
        level = free - over
        empty = np.flatnonzero((level[1:] <= NO_CREDITS * limits.credits) & (slope < 0))
        if not empty.size:
            kept = pieces._replace(level=level[:-1], slope=slope)
            return self._carry(kept, _level(float(level[-1]), limits.credits))
        first = int(empty[0])
        instant = min(
            float(pieces.at[first] - max(0.0, level[first]) / slope[first]),
            float(pieces.at[first + 1]),
        )
        if instant <= self.at:
            return None
        kept = pieces._replace(level=level[:-1], slope=slope).until(instant)
        return self._carry(kept, 0.0)

    def _drained(self, until: float, *, stay: bool) -> Pieces | None:
        """At the baseline until less than it is used; None if that is at once.

        With `stay` at least one piece passes: a bucket that is filled and spent at once stays empty.
        """
        base = self.limits.base_ops
        pieces = self._steady(self.at, until, base)
        used = self._used(pieces)
        earns = np.flatnonzero(used < base * np.diff(pieces.at) * (1 - 1e-9) - NO_OPS)
        if stay:
            earns = earns[earns > 0]
        if not earns.size:
            return self._carry(pieces, 0.0)
        if not earns[0]:
            return None
        return self._carry(pieces.until(float(pieces.at[earns[0]])), 0.0)

    def _used(self, pieces: Pieces) -> Floats:
        """EBS operations that each piece spends."""
        return np.diff(np.interp(pieces.position, self._totals.ops, self._totals.ebs))

    def _steady(self, start: float, end: float, ops_limit: float) -> Pieces:
        """From `start` to `end` under one rate of EBS operations; the bucket is left out."""
        totals, work = self._totals, self._work(ops_limit)
        edges = totals.edges
        first = int(np.searchsorted(edges, start, side="right"))
        last = int(np.searchsorted(edges, end, side="left"))
        at = np.concatenate(([start], edges[first:last], [end]))
        arrived = np.interp(at, edges, work.done)
        rho = work.rho[first - 1 : last]
        served = float(np.interp(self.position, totals.ops, work.done))
        waits = float(np.interp(start, edges, totals.ops)) - self.position
        open_work = arrived[0] - served if waits > 0 else 0.0
        backlog = _reflected(open_work + (arrived - arrived[0]) - (at - start))
        busy = backlog > 0
        if not busy.any():
            return self._quiet(at)
        ends = np.flatnonzero(busy[:-1] & ~busy[1:])
        emptied = np.minimum(at[ends] + backlog[ends] / (1 - rho[ends]), at[ends + 1])
        oldest = int(np.searchsorted(work.done, served, side="right")) if open_work else first
        leaving = np.concatenate(
            (start + work.done[oldest:first] - served, at[:-1][busy[:-1]] + backlog[:-1][busy[:-1]])
        )
        leaving = leaving[(leaving > start) & (leaving < end)]
        cuts = np.unique(np.concatenate((at, emptied, leaving)))
        known_at = np.concatenate((at, emptied))
        order = np.argsort(known_at, kind="stable")
        known = np.concatenate((backlog, np.zeros(len(emptied))))[order]
        waiting = np.interp(cuts, known_at[order], known)
        gone = np.interp(cuts, edges, work.done) - waiting
        position = np.where(
            waiting > 0, np.interp(gone, work.done, totals.ops), np.interp(cuts, edges, totals.ops)
        )
        position[0] = self.position
        position = np.maximum.accumulate(position)
        held = (waiting[:-1] > 0) | (waiting[1:] > 0)
        middle = (gone[:-1] + gone[1:]) / 2
        head = np.minimum(np.searchsorted(work.done, middle, side="right") - 1, len(work.bound) - 1)
        bound = np.where(held, work.bound[head], 0).astype(np.int8)
        none = np.zeros(len(bound))
        return Pieces(cuts, position, bound, none, none)

    def _quiet(self, at: Floats) -> Pieces:
        """Everything is served as it comes."""
        count = len(at) - 1
        position = np.interp(at, self._totals.edges, self._totals.ops)
        none = np.zeros(count)
        return Pieces(at, position, np.zeros(count, dtype=np.int8), none, none)

    def _work(self, ops_limit: float) -> Work:
        key = ops_limit, self.limits.burst_bytes
        work = self._works.get(key)
        if work is None:
            work = self._works[key] = self._measured(ops_limit, self.limits.burst_bytes / MIB)
        return work

    def _measured(self, ops_limit: float, mib_limit: float) -> Work:
        by_ops, by_bytes = self._ebs / ops_limit, self._mib / mib_limit
        rho = np.maximum(by_ops, by_bytes)
        rho[(rho > 1) & (rho <= ABOVE)] = 1.0
        done = np.concatenate(([0.0], np.cumsum(rho * float(self._series.step_s))))
        least = rho / NEAR
        bound = np.where(by_ops >= least, VOLUME_IOPS, 0) + np.where(
            by_bytes >= least, VOLUME_BYTES, 0
        )
        return Work(rho=rho, done=done, bound=bound.astype(np.int8))


class PoolQueue(ArrayQueue):
    """A pool on one volume: in every step it takes its free rate or what the limits allow."""

    def _steady(self, start: float, end: float, ops_limit: float) -> Pieces:
        work, edges = self._work(ops_limit), self._totals.edges
        first = int(np.searchsorted(edges, start, side="right"))
        last = int(np.searchsorted(edges, end, side="left"))
        at = np.concatenate(([start], edges[first:last], [end]))
        steps = slice(first - 1, last)
        rho = work.rho[steps]
        done = np.nan_to_num(self._series.ops[steps]) / np.maximum(rho, 1.0) * np.diff(at)
        position = self.position + np.concatenate(([0.0], np.cumsum(done)))
        bound = np.where(rho > 1, work.bound[steps], 0).astype(np.int8)
        none = np.zeros(len(bound))
        return Pieces(at, position, bound, none, none)

    def _used(self, pieces: Pieces) -> Floats:
        step = step_at(self._series, pieces.at)
        ops = np.nan_to_num(self._series.ops[step])
        cost = np.divide(self._ebs[step], ops, out=np.zeros(len(step)), where=ops > 0)
        return np.diff(pieces.position) * cost


def step_at(load_series: LoadSeries, cuts: Floats) -> NDArray[np.intp]:
    """The step of the series in which each stretch between two cuts lies."""
    middle = (cuts[:-1] + cuts[1:]) / 2
    return np.minimum((middle // load_series.step_s).astype(np.intp), len(load_series.ops) - 1)


def _reflected(free: Floats) -> Floats:
    """A sum kept from falling below zero."""
    backlog = free - np.minimum(np.minimum.accumulate(free), 0.0)
    backlog[backlog <= NO_WORK_S] = 0.0
    return backlog


def _level(level: float, capacity: float) -> float:
    level = min(level, capacity)
    return level if level > NO_CREDITS * capacity else 0.0


def _joined(found: list[Pieces]) -> Pieces:
    if len(found) == 1:
        return found[0]
    return Pieces(
        np.concatenate([found[0].at[:1], *(p.at[1:] for p in found)]),
        np.concatenate([found[0].position[:1], *(p.position[1:] for p in found)]),
        np.concatenate([p.bound for p in found]),
        np.concatenate([p.level for p in found]),
        np.concatenate([p.slope for p in found]),
    )
