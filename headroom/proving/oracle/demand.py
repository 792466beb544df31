"""A known load series minute by minute: what it lacks under which limits.

As in physics.queue, operations leave in the order they came, so all that one configuration
leaves to the next is how many have left (`position`). Limits are those of a type without credits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.resources import Configuration
from headroom.proving.physics import ABOVE
from headroom.proving.vectorized import shares
from headroom.proving.workloads import Bools, Floats, LoadSeries

NO_WORK_S = 1e-7
"""Less work than this counts as none: sums over months round to it."""
MINUTE_S = 60.0

Ints = NDArray[np.int64]


class ReachableRates(NamedTuple):
    """EBS operations per second and MiB per second that a volume sustains."""

    iops: float
    mibps: float


def reachable_rates(configuration: Configuration) -> ReachableRates:
    """What `configuration` sustains."""
    can = capability(configuration)
    return ReachableRates(can.sustained_iops, can.sustained_mibps)


class Stretch(NamedTuple):
    """Minutes under one configuration.

    `shortfall` per minute; `waiting` seconds of work and `position` (operations that have left
    since the start of the series) at every minute's edge, one more than minutes.
    """

    shortfall: Floats
    waiting: Floats
    position: Floats


class KnownDemand:
    """A load series in steps of at most a minute; NaN counts as no demand."""

    def __init__(self, load_series: LoadSeries) -> None:
        self.minutes = load_series.minutes
        repeat = max(1, load_series.step_s // 60)
        self.per_minute = max(1, 60 // load_series.step_s)
        self.step_s = MINUTE_S / self.per_minute

        def fine(values: Floats) -> Floats:
            return np.repeat(np.nan_to_num(values), repeat)[: self.minutes * self.per_minute]

        self.ebs, self.mib = fine(load_series.ebs_ops), fine(load_series.bytes / MIB)
        self.left = np.concatenate(([0.0], np.cumsum(fine(load_series.ops) * self.step_s)))
        """Operations that have come by every step's edge."""
        measured = fine(load_series.measured().astype(np.float64))
        self.known: Bools = measured.reshape(self.minutes, -1).mean(axis=1) >= 0.5
        self.edges: Floats = self.left[:: self.per_minute]
        """Operations that have come by every minute's edge."""
        self.came: Floats = np.diff(self.edges)
        self.pooled = load_series.pooled
        """Whether nothing ever waits: what a pool does not get is lost."""

    def work(self, reach: ReachableRates, first: int = 0, last: int | None = None) -> Floats:
        """Seconds of service that arrive per second, per step of `first` to `last`."""
        rho = np.maximum(self.ebs[first:last] / reach.iops, self.mib[first:last] / reach.mibps)
        rho[(rho > 1) & (rho <= ABOVE)] = 1.0
        return rho

    def stretch(
        self, reach: ReachableRates, begin: int, end: int, position: float | None = None
    ) -> Stretch:
        """Minutes `begin` to `end` under `reach`; `position` None means that nothing waits."""
        first, last = begin * self.per_minute, end * self.per_minute
        place = self.edges[begin] if position is None else min(position, self.edges[begin])
        oldest = first
        if place < self.edges[begin]:
            oldest = max(0, int(np.searchsorted(self.left, place, side="right")) - 1)
        if self.pooled:
            return self._lost(reach, begin, end)
        rho = self.work(reach, oldest, last)
        left = self.left[oldest : last + 1]
        done = np.concatenate(([0.0], np.cumsum(rho * self.step_s)))
        skip = first - oldest
        ahead = float(done[skip] - np.interp(place, left, done)) if skip else 0.0
        rho = rho[skip:]
        free = np.empty(len(rho) + 1)
        free[0] = ahead
        np.cumsum((rho - 1) * self.step_s, out=free[1:])
        free[1:] += ahead
        waiting = free - np.minimum(np.minimum.accumulate(free), 0.0)
        waiting[waiting <= NO_WORK_S] = 0.0
        return self._stretch(begin, len(rho), waiting[:-1], waiting[1:], done, left)

    def emptied(self, reach: ReachableRates, edges: Ints) -> Stretch:
        """The whole series under `reach` if the queue is dropped at each of the minute `edges`."""
        if self.pooled:
            return self._lost(reach, 0, self.minutes)
        rho = self.work(reach)
        free = np.concatenate(([0.0], np.cumsum((rho - 1) * self.step_s)))
        done = np.concatenate(([0.0], np.cumsum(rho * self.step_s)))
        drops = np.zeros(len(rho) + 1)
        drops[edges * self.per_minute] = np.ptp(free) + 1
        apart = np.cumsum(drops)
        starts = free - apart
        least = np.minimum(np.minimum.accumulate(starts), 0.0)
        before = starts - least
        after = free[1:] - apart[:-1] - np.minimum(least[:-1], free[1:] - apart[:-1])
        small = NO_WORK_S + 1e-15 * apart[-1] * len(edges)
        before[before <= small] = 0.0
        after[after <= small] = 0.0
        return self._stretch(0, len(rho), before[:-1], after, done, self.left)

    def _lost(self, reach: ReachableRates, begin: int, end: int) -> Stretch:
        """Minutes of a pool: nothing waits."""
        edges = self.edges[begin : end + 1]
        return Stretch(self.alone(reach)[begin:end], np.zeros(len(edges)), edges.copy())

    def _stretch(
        self, begin: int, count: int, before: Floats, after: Floats, done: Floats, left: Floats
    ) -> Stretch:
        """`count` steps from minute `begin` on, from the work that waits at both ends of each."""
        edges = slice(len(done) - 1 - count, None, self.per_minute)
        at_edges = np.append(before[:: self.per_minute], after[-1:])
        positions = self.edges[begin : begin + len(at_edges)].copy()
        busy = at_edges > 0
        if busy.any():
            positions[busy] = np.interp(done[edges][busy] - at_edges[busy], done, left)
        open_work = after[self.per_minute - 1 :: self.per_minute]
        end = begin + len(open_work)
        reached = np.interp(done[edges][1:] - open_work, done, left)
        backlog = np.where(open_work > 0, self.edges[begin + 1 : end + 1] - reached, 0.0)
        missed = self.shortfall(np.arange(begin, end), np.maximum(0.0, backlog))
        return Stretch(missed, at_edges, positions)

    def shortfall(self, minutes: Ints, backlog: Floats) -> Floats:
        """The shortfall of `minutes` at whose end `backlog` operations wait."""
        missed: Floats = np.where(self.known[minutes], shares(backlog, self.came[minutes]), 0.0)
        return missed

    def alone(self, reach: ReachableRates) -> Floats:
        """The shortfall of each minute when nothing waits at its start."""
        rho = self.work(reach).reshape(self.minutes, -1)
        came = np.diff(self.left).reshape(self.minutes, -1)
        if self.pooled:
            lost: Floats = (came * (1 - 1 / np.maximum(rho, 1.0))).sum(axis=1)
            return self.shortfall(np.arange(self.minutes), lost)
        waiting, backlog = np.zeros(self.minutes), np.zeros(self.minutes)
        for step in range(self.per_minute):
            waiting = np.maximum(0.0, waiting + (rho[:, step] - 1) * self.step_s)
            waiting[waiting <= NO_WORK_S] = 0.0
        for step in range(self.per_minute - 1, -1, -1):  # the latest to come is the last to leave
            work = rho[:, step] * self.step_s
            share = np.divide(waiting, work, out=np.zeros(self.minutes), where=work > 0)
            backlog += came[:, step] * np.minimum(1.0, share)
            waiting = np.maximum(0.0, waiting - work)
        return self.shortfall(np.arange(self.minutes), backlog)

    def needed(self) -> tuple[Floats, Floats]:
        """The most IOPS and MiB/s that any step of each minute asks for, per minute."""
        shape = (self.minutes, self.per_minute)
        iops, mibps = (each.reshape(shape).max(axis=1) for each in (self.ebs, self.mib))
        return np.where(self.known, iops, 0.0), np.where(self.known, mibps, 0.0)
