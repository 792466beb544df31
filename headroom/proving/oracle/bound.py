"""Least cost of any schedule, by dynamic programming minute by minute over a set of levels.

A lower bound: an inherited queue is followed until it is empty or the next change may come, and then
never overestimated; a price per modification (`toll`) replaces the limit on their number. Delays,
flights and billing are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headroom.proving.oracle.demand import Ints
from headroom.proving.oracle.queues import ALONE, PHASES
from headroom.proving.oracle.transitions import CarriedBacklog, Levels
from headroom.proving.workloads import Bools, Floats

APART = 1e6
"""More than any schedule costs: keeps busy periods apart in one running minimum."""
EVEN = 1e-7
"""Dollars that count as zero: sums over months round to them."""
WAITING = 1e-6
"""More operations than this are a queue."""


class Origin(NamedTuple):
    """A configuration from the start on: shortfall per minute, position per minute edge, USD/min."""

    missed: Floats
    position: Floats
    price: float
    allowed: Bools
    """Levels that one change may lead to."""


class Move(NamedTuple):
    """A change at a minute to a level."""

    minute: int
    level: int


class CostBound:
    """Cost to go from every phase, row of minutes and level, under prices (USD/min) and tolls (USD).

    `toll` is what a change at each of the rows pays on top.
    """

    def __init__(
        self, levels: Levels, prices: Floats, value: float, allowed: Bools, toll: Floats
    ) -> None:
        self.levels, self.prices, self.value, self.toll = levels, prices, value, toll
        self.allowed = allowed
        count, rows, flight = len(prices), len(levels.starts), levels.flight
        self._columns = np.arange(count)
        paid = np.minimum(levels.edges, levels.minutes)[:, None] * prices
        self._spent = [value * missed + paid for missed in levels.missed]
        self._paid = paid[flight : flight + rows] - paid[:rows]
        self._entered = value * levels.entered.missed + self._paid
        self._until = [value * until.missed + toll[:, None] for until in levels.until]
        kinds, kind_of = np.unique(allowed, axis=0, return_inverse=True)
        self._kinds = [np.flatnonzero(kind) for kind in kinds]
        self._kind_of = kind_of.reshape(-1)
        self.go = np.zeros((PHASES, len(levels.edges), count))
        self.change = np.full((PHASES, rows, count), np.inf)
        for begin in range((rows - 1) // flight * flight, -1, -flight):
            self._block(begin, min(rows, begin + flight))

    def after(self, begin: int, end: int) -> Floats:
        """Cost from the change on, at rows `begin` to `end`, to each level, nothing waiting.

        Without the toll and without what is missed before the effect.
        """
        levels, flight = self.levels, self.levels.flight
        ends = np.arange(begin + flight, end + flight)
        cost: Floats = self.go[levels.entered.phase[begin:end], ends[:, None], self._columns]
        cost += self._entered[begin:end]
        return cost

    def after_with(self, rows: Ints, inherited: CarriedBacklog) -> Floats:
        """The same for changes at `rows` that inherit a queue."""
        ends = rows + self.levels.flight
        cost: Floats = self.go[inherited.phase, ends[:, None], self._columns]
        cost += self.value * inherited.missed + self._paid[rows]
        return cost

    def _best(self, cost: Floats) -> Floats:
        """Least over the levels that each level may change to."""
        best = np.full((len(cost), len(self._kinds)), np.inf)
        for kind, may in enumerate(self._kinds):
            if may.size:
                best[:, kind] = cost[:, may].min(axis=1)
        return best[:, self._kind_of]

    def _cores(self, begin: int, end: int) -> list[Floats]:
        """Least cost of a change from each level, per phase that its queue is in at the effect."""
        free = self._best(self.after(begin, end))
        cores: list[Floats] = []
        for level_transitions in self.levels.level_transitions:
            first, last = np.searchsorted(level_transitions.row, (begin, end))
            core = np.where(level_transitions.waits[begin:end], cores[-1] if cores else free, free)
            if last > first:
                rows, level = level_transitions.row[first:last], level_transitions.level[first:last]
                missed, phase = level_transitions.inherited
                handed = CarriedBacklog(missed[first:last], phase[first:last])
                cost = self.after_with(rows, handed)
                cost[~self.allowed[level]] = np.inf
                core[rows - begin, level] = cost.min(axis=1)
            cores.append(core)
        return [*cores, free]

    def _block(self, begin: int, end: int) -> None:
        levels = self.levels
        cores = self._cores(begin, end)
        busy = levels.waits[0][begin : end + 1].any()
        some = any(
            level_transitions.waits[begin:end].any()
            for level_transitions in levels.level_transitions
        )
        stacked = np.stack(cores) if some else cores[-1][None]
        rows = np.arange(end - begin)[:, None]
        for phase in range(PHASES):
            if phase and not busy:
                self.change[phase, begin:end] = self.change[0, begin:end]
                self.go[phase, begin:end] = self.go[0, begin:end]
                continue
            if some:
                last = levels.until[phase].phase[begin:end]
                change = stacked[last, rows, self._columns]
            else:
                change = cores[-1].copy()
            change += self._until[phase][begin:end]
            if phase:
                self._settle(phase, begin, end, change)
            else:
                self.change[0, begin:end] = change
                self.go[0, begin:end] = _staying(
                    change, self.go[0, end], self._spent[0][begin : end + 1]
                )

    def _settle(self, phase: int, begin: int, end: int, change: Floats) -> None:
        """A later phase lasts until the one before is empty; busy periods are kept apart."""
        levels = self.levels
        waits = levels.waits[phase - 1][begin:end]
        before = self.go[phase - 1, begin:end]
        self.change[phase, begin:end] = np.where(waits, change, self.change[phase - 1, begin:end])
        ended = levels.ended[phase - 1][begin : end + 1]
        apart = (ended - ended[0]) * APART
        go = _staying(
            np.where(waits, change, before),
            self.go[phase, end],
            self._spent[phase][begin : end + 1] + apart,
        )
        self.go[phase, begin:end] = np.where(waits, go, before)

    def path(self, row: int, level: int, phase: int) -> list[Move]:
        """The changes of a cheapest way on from `row`, in `level` and `phase`."""
        levels, moves = self.levels, list[Move]()
        rows = len(levels.starts)
        while row < rows:
            while phase and not levels.waits[phase - 1][row, level]:
                phase -= 1
            stop = rows
            if phase:
                calm = np.flatnonzero(~levels.waits[phase - 1][row:rows, level])
                stop = row + int(calm[0]) if calm.size else rows
            go = self.go[phase, row:stop, level]
            made = self.change[phase, row:stop, level] <= go + EVEN
            if not made.any():
                row, phase = stop, max(0, phase - 1)
                continue
            # As late as it may be at the same cost: while staying that long is best too.
            left = go + self._spent[phase][row:stop, level]
            row += int(np.flatnonzero(made & (left <= left[0] + EVEN))[-1])
            level, phase = self._taken(row, level, phase)
            moves.append(Move(int(levels.starts[row]), level))
            row += levels.flight
        return moves

    def _taken(self, row: int, level: int, phase: int) -> tuple[int, int]:
        """Where the best change from `level` at `row` leads, and the phase after the flight."""
        levels = self.levels
        there, effect = int(levels.until[phase].phase[row, level]), int(levels.effect[row])
        process = levels.levels[level].processes[there]
        if there == ALONE or not process.waits[effect] or process.deep[effect]:
            cost, phases = self.after(row, row + 1)[0], levels.entered.phase[row]
        else:
            handed = levels.handed_over(levels.starts[[row]], process.position[[effect]])
            cost, phases = self.after_with(np.array([row]), handed)[0], handed.phase[0]
        best = int(np.where(self.allowed[level], cost, np.inf).argmin())
        return best, int(phases[best])

    def from_origin(self, origin: Origin) -> tuple[float, list[Move]]:
        """The least cost of a schedule that begins with `origin`, and the changes that reach it."""
        levels, effect = self.levels, self.levels.effect
        rows = len(levels.starts)
        missed = np.concatenate(([0.0], np.cumsum(origin.missed)))
        cost, phases = self.after(0, rows), levels.entered.phase
        queued = np.flatnonzero(levels.load.edges[effect] - origin.position[effect] > WAITING)
        if queued.size:
            handed = levels.handed_over(levels.starts[queued], origin.position[effect[queued]])
            cost[queued] = self.after_with(queued, handed)
            phases = phases.copy()
            phases[queued] = handed.phase
        cost = np.where(origin.allowed, cost, np.inf)
        total = cost.min(axis=1) + self.value * missed[effect] + self.toll
        total += origin.price * levels.starts
        never = float(self.value * missed[-1] + origin.price * levels.minutes)
        first = int(total.argmin())
        if never <= total[first] + EVEN:
            return min(never, float(total[first])), []
        level = int(cost[first].argmin())
        on = self.path(first + levels.flight, level, int(phases[first, level]))
        return float(total[first]), [Move(int(levels.starts[first]), level), *on]


def _staying(change: Floats, last: Floats, spent: Floats) -> Floats:
    """Least cost from each row on: of a change there, of one later on, or of what comes `last`."""
    ahead = np.concatenate((change, last[None])) + spent
    least: Floats = np.minimum.accumulate(ahead[::-1], axis=0)[::-1] - spent
    return least[:-1]
