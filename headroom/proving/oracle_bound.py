"""Least cost of any schedule, by dynamic programming minute by minute over a set of levels.

A lower bound: what waits when a level takes over from another is followed until it is gone or the
next change may come, then told no higher than it is; and a price per modification (`toll`) stands
for the limit on their number. Delays, flights and billing are as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headroom.proving.course import Bools, Floats
from headroom.proving.foreseen import Ints
from headroom.proving.oracle_queues import ALONE, PHASES, Inherited, Levels

APART = 1e6
"""More than any schedule costs: keeps busy periods apart in one running minimum."""
EVEN = 1e-7
"""Dollars that are none: what sums over months round to."""
WAITING = 1e-6
"""More operations than this are a queue."""


class Origin(NamedTuple):
    """A configuration from the start on: starved per minute, position per minute edge, USD/min."""

    starved: Bools
    position: Floats
    price: float
    allowed: Bools
    """Levels that one change may lead to."""


class Move(NamedTuple):
    """A change at a minute to a level."""

    minute: int
    level: int


class Relaxation:
    """Cost to go from every phase, minute and level, under prices (USD/min) and tolls (USD)."""

    def __init__(
        self, levels: Levels, prices: Floats, value: float, allowed: Bools, toll: Floats
    ) -> None:
        self.levels, self.prices, self.value, self.toll = levels, prices, value, toll
        self.allowed = allowed
        minutes, pad = levels.minutes, levels.clock.completed
        count = len(prices)
        self._columns = np.arange(count)
        self._paid = np.minimum(np.arange(minutes + pad + 1), minutes)[:, None] * prices
        self._spent = [
            value * np.stack([level.processes[phase].starved for level in levels.levels], axis=1)
            + self._paid
            for phase in range(PHASES)
        ]
        self._waits = [
            np.stack([level.processes[phase].waits for level in levels.levels], axis=1)
            for phase in range(PHASES)
        ]
        self._rows, row_of = np.unique(allowed, axis=0, return_inverse=True)
        self._row_of = row_of.reshape(-1)
        self.go = np.zeros((PHASES, minutes + pad + 1, count))
        self.change = np.full((PHASES, minutes, count), np.inf)
        for begin in range((minutes - 1) // pad * pad, -1, -pad):
            self._block(begin, min(minutes, begin + pad))

    def after(self, begin: int, end: int) -> Floats:
        """Cost from the change on, at minutes `begin` to `end`, to each level, nothing waiting.

        Without the toll and without what starves before the effect.
        """
        levels, pad = self.levels, self.levels.clock.completed
        ends = np.arange(begin + pad, end + pad)
        go = self.go[levels.entered_phase[begin:end], ends[:, None], self._columns]
        paid = self._paid[begin + pad : end + pad] - self._paid[begin:end]
        cost: Floats = self.value * levels.entered[begin:end] + paid + go
        return cost

    def after_with(self, starts: Ints, inherited: Inherited) -> Floats:
        """The same for changes at `starts` that hand over a queue."""
        pad = self.levels.clock.completed
        go = self.go[inherited.phase, (starts + pad)[:, None], self._columns]
        paid = self._paid[starts + pad] - self._paid[starts]
        cost: Floats = self.value * inherited.starved + paid + go
        return cost

    def _best(self, cost: Floats) -> Floats:
        """Least over the levels that each level may change to."""
        best = np.empty((len(cost), len(self._rows)))
        for row, may in enumerate(self._rows):
            best[:, row] = cost[:, may].min(axis=1) if may.any() else np.inf
        return best[:, self._row_of]

    def _cores(self, begin: int, end: int) -> list[Floats]:
        """Least cost of a change from each level, per phase that its queue is in at the effect."""
        free = self._best(self.after(begin, end))
        cores: list[Floats] = []
        for handovers in self.levels.handovers:
            core = np.where(handovers.waits[begin:end], cores[-1] if cores else free, free)
            first, last = np.searchsorted(handovers.minute, (begin, end))
            if last > first:
                u, c = handovers.minute[first:last], handovers.level[first:last]
                starved, phase = handovers.inherited
                handed = Inherited(starved[first:last], phase[first:last])
                cost = np.where(self.allowed[c], self.after_with(u, handed), np.inf)
                core[u - begin, c] = cost.min(axis=1)
            cores.append(core)
        return [*cores, free]

    def _block(self, begin: int, end: int) -> None:
        levels = self.levels
        cores = np.stack(self._cores(begin, end))
        toll = self.toll[begin:end, None]
        rows = np.arange(end - begin)[:, None]
        busy = self._waits[0][begin:end].any()
        for phase in range(PHASES):
            if phase and not busy:
                self.change[phase, begin:end] = self.change[0, begin:end]
                self.go[phase, begin:end] = self.go[0, begin:end]
                continue
            last = levels.until_phase[phase][begin:end]
            change = self.value * levels.until[phase][begin:end] + cores[last, rows, self._columns]
            change += toll
            if phase:
                self._settle(phase, begin, end, change)
            else:
                self.change[0, begin:end] = change
                spent = self._spent[0][begin : end + 1]
                ahead = np.concatenate((change, self.go[0, end][None])) + spent
                go = np.minimum.accumulate(ahead[::-1], axis=0)[::-1] - spent
                self.go[0, begin:end] = go[:-1]

    def _settle(self, phase: int, begin: int, end: int, change: Floats) -> None:
        """A later phase lasts until the one before is empty; busy periods are kept apart."""
        waits = self._waits[phase - 1][begin : end + 1]
        before = self.go[phase - 1, begin:end]
        self.change[phase, begin:end] = np.where(
            waits[:-1], change, self.change[phase - 1, begin:end]
        )
        spent = self._spent[phase][begin : end + 1]
        own = np.where(waits[:-1], change, before)
        ahead = np.concatenate((own, self.go[phase, end][None])) + spent
        ended = np.zeros(waits.shape)
        ended[2:] = np.cumsum(waits[:-2] & ~waits[1:-1], axis=0)
        ended *= APART
        go = np.minimum.accumulate((ahead + ended)[::-1], axis=0)[::-1] - ended - spent
        self.go[phase, begin:end] = np.where(waits[:-1], go[:-1], before)

    def path(self, at: int, level: int, phase: int) -> list[Move]:
        """The changes of a cheapest way on from minute `at`, in `level` and `phase`."""
        levels, moves = self.levels, list[Move]()
        while at < levels.minutes:
            processes = levels.levels[level].processes
            while phase and not processes[phase - 1].waits[at]:
                phase -= 1
            stop = int(processes[phase - 1].quiet[at]) if phase else levels.minutes
            stop = min(stop, levels.minutes)
            ahead = self.change[phase, at:stop, level]
            made = np.flatnonzero(ahead <= self.go[phase, at:stop, level] + EVEN)
            if not made.size:
                at, phase = stop, max(0, phase - 1)
                continue
            at += int(made[0])
            level, phase = self._taken(at, level, phase)
            moves.append(Move(at, level))
            at += levels.clock.completed
        return moves

    def _taken(self, at: int, level: int, phase: int) -> tuple[int, int]:
        """Where the best change from `level` at minute `at` leads, and the phase after the flight."""
        levels, minute = self.levels, np.array([at])
        there, effect = int(levels.until_phase[phase][at, level]), int(levels.effect[at])
        process = levels.levels[level].processes[there]
        if there == ALONE or not process.waits[effect]:
            cost, phases = self.after(at, at + 1)[0], levels.entered_phase[at]
        else:
            handed = levels.handed_over(minute, process.position[[effect]])
            cost, phases = self.after_with(minute, handed)[0], handed.phase[0]
        best = int(np.where(self.allowed[level], cost, np.inf).argmin())
        return best, int(phases[best])

    def from_origin(self, origin: Origin) -> tuple[float, list[Move]]:
        """The least cost of a course that begins with `origin`, and the changes that reach it."""
        levels = self.levels
        minutes = levels.minutes
        starved = np.concatenate(([0], np.cumsum(origin.starved))).astype(np.float64)
        u, effect = np.arange(minutes), levels.effect
        cost, phases = self.after(0, minutes), levels.entered_phase
        queued = np.flatnonzero(levels.load.edges[effect] - origin.position[effect] > WAITING)
        if queued.size:
            handed = levels.handed_over(queued, origin.position[effect[queued]])
            cost[queued] = self.after_with(queued, handed)
            phases = phases.copy()
            phases[queued] = handed.phase
        cost = np.where(origin.allowed, cost, np.inf)
        total = cost.min(axis=1) + self.value * starved[effect] + origin.price * u + self.toll
        never = float(self.value * starved[-1] + origin.price * minutes)
        first = int(total.argmin())
        if never <= total[first] + EVEN:
            return min(never, float(total[first])), []
        level = int(cost[first].argmin())
        on = self.path(first + levels.clock.completed, level, int(phases[first, level]))
        return float(total[first]), [Move(first, level), *on]


__all__ = ["Move", "Origin", "Relaxation"]
