"""The queue under each level of a load series, minute by minute, as cumulative sums.

A level's queue is described by several processes: the first is the queue had the level been in force
from the start; each next one is emptied more often, the last of them every minute. A level that
comes into force with nothing waiting is in the first process that is empty just then, and moves
on to an earlier one once that is empty too: what it is counted to lack is never too much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.proving.oracle.demand import Ints, KnownDemand, ReachableRates
from headroom.proving.workloads import Bools, Floats

CALM = (1,)
"""A process is emptied where a load rises above the level after this many minutes below it."""
PHASES = len(CALM) + 2
ALONE = PHASES - 1
"""The phase in which a minute lacks only what it cannot serve of its own load."""

Phases = NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clock:
    """Minutes from a modification's start to its effect and completion, and the rolling window.

    `effects` and `completions` have a value for every minute at which one may start.
    """

    effects: Ints
    completions: Ints
    window: int = 1440
    starts: int = 3
    """Modifications that may start within the window."""
    completed: int = field(init=False)
    """The least of the completions: a bound counts on it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "completed", int(self.completions.min()))

    def effect_of(self, starts: Ints) -> Ints:
        """Minutes at which modifications that start at `starts` take effect."""
        return starts + self.effects[starts]


DEEP_S = 3 * 3600.0
"""Queues with more seconds of work than this are not inherited: they have waited for hours."""


class Process(NamedTuple):
    """A queue at minute edges: shortfall before, whether something waits, what has left.

    `quiet` is the first edge from each one on where nothing waits. All but `position` and `deep`
    continue after the series.
    """

    missed: Floats
    waits: Bools
    position: Floats
    quiet: NDArray[np.int32]
    deep: Bools
    """Whether the queue is too long to be inherited."""


class Level:
    """One level's queues from the start of a load series on.

    Shortfall counts as far as it is above the `unavoidable` of its minute.
    """

    def __init__(
        self, load: KnownDemand, reach: ReachableRates, unavoidable: Floats, clock: Clock
    ) -> None:
        self.reach = reach
        self._load, self._unavoidable, self._pad = load, unavoidable, clock.completed
        minutes = load.minutes
        run = load.stretch(reach, 0, minutes)
        alone = load.alone(reach)
        self.over: Bools = np.append(alone > 0, False)
        """Minutes that cannot serve their own load, and the edge after the last."""
        first = self._process(run.shortfall, run.waiting, run.position)
        self.processes = [first]
        for calm in CALM:
            before = self.processes[-1]
            self.processes.append(self._emptied(before, _rises(self.over[:-1], calm)))
        self.processes.append(self._process(alone, np.zeros(minutes + 1), load.edges))
        self.done = np.concatenate(([0.0], np.cumsum(load.work(reach) * load.step_s)))
        """Seconds of service that have come by every step's edge."""
        free = self.done - np.arange(len(self.done)) * load.step_s
        self._lowest = free[1:].reshape(minutes, -1).min(axis=1)
        self.done_at = self.done[:: load.per_minute]

    @property
    def settled(self) -> Process:
        """The queue had the level been in force from the start."""
        return self.processes[0]

    def lowest(self) -> list[Floats]:
        """Least work that has come less the time it had, over 1, 2, 4... minutes from each edge on."""
        ahead = np.full(self._pad + 128, -np.inf)
        return _minima(np.concatenate((self._lowest, ahead)), self._pad)

    def walk(self, phase: int, at: Ints, until: Ints) -> tuple[Floats, Phases]:
        """Shortfall from `at` to `until` when the queue is in `phase` at first, and the last phase."""
        process = self.processes[phase]
        if not phase:
            return process.missed[until] - process.missed[at], np.zeros(len(at), dtype=np.int8)
        quiet = np.minimum(self.processes[phase - 1].quiet[at], until)
        missed = process.missed[quiet] - process.missed[at]
        more, last = self.walk(phase - 1, quiet, until)
        there = self.processes[phase - 1].waits[quiet]
        return missed + more, np.where((quiet == until) & there, phase, last).astype(np.int8)

    def emptiest(self, at: Ints) -> Phases:
        """The first process that is empty at each of the edges `at`."""
        phase = np.full(len(at), ALONE, dtype=np.int8)
        for index in range(ALONE - 1, -1, -1):
            phase[~self.processes[index].waits[at]] = index
        return phase

    def _process(self, shortfall: Floats, waiting: Floats, position: Floats) -> Process:
        minutes, pad = self._load.minutes, self._pad
        waits = waiting > 0
        waits[-1] = False
        sums = np.concatenate(([0.0], np.cumsum(np.maximum(0.0, shortfall - self._unavoidable))))
        ends = np.where(waits, minutes, np.arange(minutes + 1))
        quiet = np.minimum.accumulate(ends[::-1])[::-1]
        return Process(
            np.concatenate((sums, np.full(pad, sums[-1]))),
            np.concatenate((waits, np.zeros(pad, dtype=bool))),
            position,
            np.concatenate((quiet, np.arange(minutes + 1, minutes + pad + 1))).astype(np.int32),
            waiting > DEEP_S,
        )

    def _emptied(self, process: Process, edges: Ints) -> Process:
        """The same queue, emptied at those of `edges` at which something waits."""
        edges = edges[process.waits[edges]]
        if not edges.size:
            return process
        run = self._load.emptied(self.reach, edges)
        return self._process(run.shortfall, run.waiting, run.position)


def _rises(overloaded: Bools, calm: int) -> Ints:
    """Minutes that cannot serve their own load after at least `calm` that can."""
    over = np.flatnonzero(overloaded)
    if not over.size:
        return over
    rises: Ints = over[np.diff(over, prepend=-calm - 1) > calm]
    return rises


def _minima(values: Floats, span: int) -> list[Floats]:
    """Minima over 1, 2, 4... values from each index on, up to `span`."""
    tables = [values]
    while (1 << len(tables)) <= span:
        step = 1 << (len(tables) - 1)
        newest = tables[-1]
        shifted = np.concatenate((newest[step:], np.full(step, -np.inf)))
        tables.append(np.minimum(newest, shifted))
    return tables
