"""What waits under each level of a course, minute by minute, in the sums that the oracle asks for.

A level's queue is told by several processes: the first is the queue had the level been in force
from the start; each next one is emptied more often, the last of them every minute. A level that
comes into force with nothing waiting is in the first process that is empty just then, and moves
on to an earlier one once that is empty too: what it is counted to starve is never too much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.proving.course import Bools, Floats
from headroom.proving.facts import STARVED_SHARE
from headroom.proving.foreseen import MINUTE_S, ForeseenLoad, Ints, Reach

CALM = (1,)
"""A process is emptied where a load rises above the level after so many minutes below it."""
PHASES = len(CALM) + 2
ALONE = PHASES - 1
"""The phase in which a minute starves only by itself."""

Phases = NDArray[np.int8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Minutes from a modification's start to its effect and completion, and the rolling window."""

    effect: int = 10
    completed: int = 120
    window: int = 1440
    starts: int = 3
    """Modifications that may start within the window."""


class Process(NamedTuple):
    """A queue at minute edges: minutes starved before, whether something waits, what has left.

    `quiet` is the first edge from each one on where nothing waits. Edges go on beyond the course.
    """

    starved: Floats
    waits: Bools
    position: Floats
    quiet: Ints


class Level:
    """One level's queues from the start of a course on."""

    def __init__(self, load: ForeseenLoad, reach: Reach, savable: Bools, clock: Clock) -> None:
        self.reach = reach
        self._load, self._savable, self._pad = load, savable, clock.completed
        minutes = load.minutes
        run = load.stretch(reach, 0, minutes)
        waits = run.waiting > 0
        waits[-1] = False
        alone = load.alone(reach)
        self.over: Bools = np.append(alone, False)
        """Minutes that starve by themselves, and the edge after the last."""
        first = self._process(run.starved, waits, run.position)
        self.processes = [first]
        for calm in CALM:
            before = self.processes[-1]
            self.processes.append(self._emptied(before, _rises(alone, calm)))
        nothing = np.zeros(minutes + 1, dtype=bool)
        self.processes.append(self._process(alone, nothing, load.edges))
        self.done = np.concatenate(([0.0], np.cumsum(load.work(reach) * load.step_s)))
        """Seconds of service that have come by every step's edge."""
        free = self.done - np.arange(len(self.done)) * load.step_s
        lowest = free[1:].reshape(minutes, -1).min(axis=1)
        lowest = np.concatenate((lowest, np.full(self._pad + 128, -np.inf)))
        self.lowest = _minima(lowest, self._pad)
        """Least of a minute's work less its time, over 1, 2, 4... minutes from each edge on."""
        self.done_at = self.done[:: load.per_minute]

    @property
    def settled(self) -> Process:
        """The queue had the level been in force from the start."""
        return self.processes[0]

    def walk(self, phase: int, at: Ints, until: Ints) -> tuple[Floats, Phases]:
        """Minutes starved from `at` to `until` when the queue is in `phase` at first, and the last."""
        process = self.processes[phase]
        if not phase:
            return process.starved[until] - process.starved[at], np.zeros(len(at), dtype=np.int8)
        quiet = np.minimum(self.processes[phase - 1].quiet[at], until)
        starved = process.starved[quiet] - process.starved[at]
        more, last = self.walk(phase - 1, quiet, until)
        there = self.processes[phase - 1].waits[quiet]
        return starved + more, np.where((quiet == until) & there, phase, last).astype(np.int8)

    def emptiest(self, at: Ints) -> Phases:
        """The first process that is empty at each of the edges `at`."""
        phase = np.full(len(at), ALONE, dtype=np.int8)
        for index in range(ALONE - 1, -1, -1):
            phase[~self.processes[index].waits[at]] = index
        return phase

    def _process(self, starved: Bools, waits: Bools, position: Floats) -> Process:
        minutes, pad = self._load.minutes, self._pad
        sums = np.concatenate(([0], np.cumsum(starved & self._savable)))
        ends = np.where(waits, minutes, np.arange(minutes + 1))
        quiet = np.minimum.accumulate(ends[::-1])[::-1]
        return Process(
            np.concatenate((sums, np.full(pad, sums[-1]))).astype(np.float64),
            np.concatenate((waits, np.zeros(pad, dtype=bool))),
            np.concatenate((position, np.full(pad, position[-1]))),
            np.concatenate((quiet, np.arange(minutes + 1, minutes + pad + 1))),
        )

    def _emptied(self, process: Process, edges: Ints) -> Process:
        """The same queue, emptied at those of `edges` at which something waits."""
        edges = edges[process.waits[edges]]
        if not edges.size:
            return process
        run = self._load.emptied(self.reach, edges)
        waits = run.waiting > 0
        waits[-1] = False
        return self._process(run.starved, waits, run.position)


def _rises(alone: Bools, calm: int) -> Ints:
    """Minutes that starve by themselves after at least `calm` that do not."""
    over = np.flatnonzero(alone)
    if not over.size:
        return over
    rises: Ints = over[np.diff(over, prepend=-calm - 1) > calm]
    return rises


class Inherited(NamedTuple):
    """What levels starve through with what another has left, until the flight ends; then phases."""

    starved: Floats
    phase: Phases


class Levels:
    """Levels of one course that changes lead to and from, with what passes between them.

    Arrays are per minute at which a change starts, and level.
    """

    def __init__(
        self, load: ForeseenLoad, savable: Bools, clock: Clock, levels: Sequence[Level]
    ) -> None:
        self.load, self.clock, self.levels = load, clock, tuple(levels)
        self.minutes = minutes = load.minutes
        sums = np.concatenate(([0], np.cumsum(savable & load.known)))
        self.countable = np.concatenate((sums, np.full(clock.completed, sums[-1])))
        starts = np.arange(minutes)
        self.effect = np.minimum(starts + clock.effect, minutes)
        self.ends = starts + clock.completed
        entered = [self._entered(level) for level in self.levels]
        self.entered = np.stack([starved for starved, _ in entered], axis=1)
        """Minutes starved until the flight ends when nothing waits at the effect."""
        self.entered_phase = np.stack([phase for _, phase in entered], axis=1)
        self.until, self.until_phase = [], []
        """Minutes starved up to the effect, and the phase then, per phase at the start."""
        for phase in range(PHASES):
            walked = [level.walk(phase, starts, self.effect) for level in self.levels]
            self.until.append(np.stack([starved for starved, _ in walked], axis=1))
            self.until_phase.append(np.stack([last for _, last in walked], axis=1))
        self.handovers = [Handovers(self, phase) for phase in range(ALONE)]

    def handed_over(self, starts: Ints, position: Floats) -> Inherited:
        """For changes at `starts` that take effect with `position` left, under every level."""
        shape = (len(starts), len(self.levels))
        found = Inherited(np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int8))
        for index, level in enumerate(self.levels):
            found.starved[:, index], found.phase[:, index] = self.through(level, starts, position)
        return found

    def _entered(self, level: Level) -> tuple[Floats, Phases]:
        """Minutes starved until the flight ends, and the phase, when nothing waits at the effect."""
        starved, phase = level.walk(ALONE, self.effect, self.ends)
        amid = np.flatnonzero(level.settled.waits[self.effect] & level.over[self.effect])
        position = self.load.edges[self.effect[amid]]
        starved[amid], phase[amid] = self.through(level, amid, position)
        return starved, phase

    def through(self, level: Level, starts: Ints, position: Floats) -> tuple[Floats, Phases]:
        """The same under one level."""
        load, effect, ends = self.load, self.effect[starts], self.ends[starts]
        gone = np.interp(position, load.left, level.done)
        floor = gone - MINUTE_S * effect
        at = effect.copy()
        for power in range(len(level.lowest) - 1, -1, -1):
            at = np.where(level.lowest[power][at] > floor, at + (1 << power), at)
        over = at >= ends
        last = np.minimum(at, self.minutes - 1)
        work = np.where(
            at > effect, level.done_at[last] - MINUTE_S * at - floor, level.done_at[last] - gone
        )
        work = np.maximum(work, 0.0)
        place = np.interp(level.done_at[last] - work, level.done, load.left)
        backlog = np.maximum(0.0, load.edges[last] - place)
        came = load.edges[last + 1] - load.edges[last]
        held = backlog + came * np.minimum(1.0, work / MINUTE_S)
        ending = (held > STARVED_SHARE * (backlog + came)) & (work > 0)
        idle = (at == effect) & (position >= load.edges[effect])
        reached = np.where(over, ends, np.where(idle, effect, at + ending))
        empty = np.where(over, ends, np.where(idle, effect, at + 1))
        starved, phase = level.walk(ALONE, empty, ends)
        starved = starved + self.countable[reached] - self.countable[effect]
        return starved, np.where(over, level.emptiest(ends), phase)


class Handovers:
    """Changes at which a level in one phase hands over a queue, ordered by minute.

    Only those at which that queue is another than in the phase before; `waits` tells of all.
    """

    def __init__(self, levels: Levels, phase: int) -> None:
        minutes, cells, positions = [], [], []
        for index, level in enumerate(levels.levels):
            process = level.processes[phase]
            starts = np.flatnonzero(process.waits[levels.effect])
            place = process.position[levels.effect[starts]]
            if phase:
                before = level.processes[phase - 1].position[levels.effect[starts]]
                starts, place = starts[place != before], place[place != before]
            minutes.append(starts)
            positions.append(place)
            cells.append(np.full(len(starts), index))
        starts = np.concatenate(minutes)
        order = np.argsort(starts, kind="stable")
        self.minute: Ints = starts[order]
        self.level: Ints = np.concatenate(cells)[order]
        self.inherited = levels.handed_over(self.minute, np.concatenate(positions)[order])
        waits = [level.processes[phase].waits[levels.effect] for level in levels.levels]
        self.waits: Bools = np.stack(waits, axis=1)


def _minima(values: Floats, span: int) -> list[Floats]:
    """Minima over 1, 2, 4... values from each index on, up to `span`."""
    tables = [values]
    while (1 << len(tables)) <= span:
        step = 1 << (len(tables) - 1)
        newest = tables[-1]
        shifted = np.concatenate((newest[step:], np.full(step, -np.inf)))
        tables.append(np.minimum(newest, shifted))
    return tables


__all__ = [
    "ALONE", "PHASES", "Clock", "Handovers", "Inherited", "Level", "Levels", "Phases", "Process",
]  # fmt: skip
