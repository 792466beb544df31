"""A known load series minute by minute: which minutes starve under which limits.

As in physics.queue, operations leave in the order they came, so all that one configuration
leaves to the next is how many have left (`position`). Limits are those of a type without credits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.resources import Configuration
from headroom.proving.physics import ABOVE, STARVED_SHARE
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

    `starved` per minute; `waiting` seconds of work and `position` (operations that have left
    since the start of the series) at every minute's edge, one more than minutes.
    """

    starved: Bools
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
        return self._stretch(begin, rho, waiting[:-1], waiting[1:], done, left)

    def emptied(self, reach: ReachableRates, edges: Ints) -> Stretch:
        """The whole series under `reach` if the queue is dropped at each of the minute `edges`."""
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
        return self._stretch(0, rho, before[:-1], after, done, self.left)

    def _stretch(
        self, begin: int, rho: Floats, before: Floats, after: Floats, done: Floats, left: Floats
    ) -> Stretch:
        """The stretch of steps from minute `begin` on, from the work that waits at both ends of each."""
        edges = slice(len(done) - 1 - len(rho), None, self.per_minute)
        at_edges = np.append(before[:: self.per_minute], after[-1:])
        positions = self.edges[begin : begin + len(at_edges)].copy()
        busy = at_edges > 0
        if busy.any():
            positions[busy] = np.interp(done[edges][busy] - at_edges[busy], done, left)
        return Stretch(self._starved(begin, rho, before, after, positions), at_edges, positions)

    def _starved(
        self, begin: int, rho: Floats, before: Floats, after: Floats, position: Floats
    ) -> Bools:
        """Minutes where over 1 % of what was due came while something waited."""
        end = begin + len(position) - 1
        held = np.where(after > 0, self.step_s, 0.0)
        ending = (after <= 0) & (before > 0)
        if ending.any():
            held[ending] = np.minimum(self.step_s, before[ending] / (1 - rho[ending]))
        first, last = begin * self.per_minute, end * self.per_minute
        came = np.diff(self.left[first : last + 1])
        delayed = (came * held / self.step_s).reshape(-1, self.per_minute).sum(axis=1)
        backlog = np.maximum(0.0, self.edges[begin:end] - position[:-1])
        due = backlog + np.diff(self.edges[begin : end + 1])
        delayed += backlog
        starved: Bools = (delayed > STARVED_SHARE * due) & self.known[begin:end]
        return starved

    def alone(self, reach: ReachableRates) -> Bools:
        """Minutes that starve under `reach` even when nothing waits at their start."""
        rho = self.work(reach).reshape(self.minutes, -1)
        if self.per_minute == 1:
            over: Bools = (rho[:, 0] > 1) & self.known
            return over
        came = np.diff(self.left).reshape(self.minutes, -1)
        waiting = np.zeros(self.minutes)
        delayed = np.zeros(self.minutes)
        for step in range(self.per_minute):
            rate = rho[:, step]
            after = np.maximum(0.0, waiting + (rate - 1) * self.step_s)
            after[after <= NO_WORK_S] = 0.0
            ending = (after <= 0) & (waiting > 0)
            held = np.where(after > 0, 1.0, 0.0)
            held[ending] = np.minimum(1.0, waiting[ending] / (1 - rate[ending]) / self.step_s)
            delayed += came[:, step] * held
            waiting = after
        starved: Bools = (delayed > STARVED_SHARE * came.sum(axis=1)) & self.known
        return starved

    def needed(self) -> tuple[Floats, Floats]:
        """The most IOPS and MiB/s that any step of each minute asks for, per minute."""
        shape = (self.minutes, self.per_minute)
        iops, mibps = (each.reshape(shape).max(axis=1) for each in (self.ebs, self.mib))
        return np.where(self.known, iops, 0.0), np.where(self.known, mibps, 0.0)
