"""What changes between levels of a course leave waiting, and starve, until the next one may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headroom.proving.course import Bools, Floats
from headroom.proving.facts import STARVED_SHARE
from headroom.proving.foreseen import MINUTE_S, ForeseenLoad, Ints, Reach
from headroom.proving.oracle_queues import ALONE, PHASES, Clock, Level, Phases


class Inherited(NamedTuple):
    """What levels starve through with what another has left, until the flight ends; then phases."""

    starved: Floats
    phase: Phases


MOST_KNOWN = 20_000
"""Rows above which what is handed over is not kept: memory."""
_NOTHING = np.zeros(0), np.zeros(0, dtype=np.int8)


class Levels:
    """Levels of one course that changes lead to and from, with what passes between them.

    Changes start at every `stride`-th minute; arrays have a row for each of these and a column
    per level. `known` is shared by those of the same course, minutes that count and clock.
    """

    def __init__(
        self,
        load: ForeseenLoad,
        savable: Bools,
        clock: Clock,
        levels: Sequence[Level],
        *,
        stride: int = 1,
        known: dict[tuple[Reach, int, Reach, int], Inherited] | None = None,
    ) -> None:
        self._known = {} if known is None else known
        self.load, self.clock, self.levels, self.stride = load, clock, tuple(levels), stride
        self.minutes = minutes = load.minutes
        self.flight = clock.completed // stride
        """Rows from a modification's start to its completion."""
        self.starts: Ints = np.arange(0, minutes, stride)
        rows = len(self.starts) + self.flight + 1
        self.edges: Ints = np.minimum(np.arange(rows) * stride, minutes + clock.completed)
        """Minutes of the rows, on to the last that a flight may reach."""
        sums = np.concatenate(([0], np.cumsum(savable & load.known)))
        self.countable = np.concatenate((sums, np.full(clock.completed, sums[-1])))
        self.effect = self.effect_of(self.starts)
        entered = [self._entered(level) for level in self.levels]
        self.entered = np.stack([starved for starved, _ in entered], axis=1)
        """Minutes starved until the flight ends when nothing waits at the effect."""
        self.entered_phase = np.stack([phase for _, phase in entered], axis=1)
        self.until, self.until_phase = [], []
        """Minutes starved up to the effect, and the phase then, per phase at the start."""
        for phase in range(PHASES):
            walked = [level.walk(phase, self.starts, self.effect) for level in self.levels]
            self.until.append(np.stack([starved for starved, _ in walked], axis=1))
            self.until_phase.append(np.stack([last for _, last in walked], axis=1))
        self.starved = [
            np.stack([level.processes[phase].starved[self.edges] for level in self.levels], axis=1)
            for phase in range(PHASES)
        ]
        """Minutes starved before each of `edges`, per phase."""
        self.waits = [
            np.stack([level.processes[phase].waits[self.edges] for level in self.levels], axis=1)
            for phase in range(ALONE)
        ]
        self.ended = [_ended(waits) for waits in self.waits]
        """Busy periods over before each of `edges`, per phase."""
        self.handovers = [Handovers(self, phase) for phase in range(ALONE)]

    def effect_of(self, starts: Ints) -> Ints:
        """Minutes at which changes that start at `starts` take effect."""
        return np.minimum(starts + self.clock.effect, self.minutes)

    def inherited(self, origin: tuple[Reach, int], starts: Ints, position: Floats) -> Inherited:
        """What a level in one phase hands over at `starts`, per level; remembered if it is little."""
        columns = []
        for level in self.levels:
            key = *origin, level.reach, self.stride
            if key not in self._known:
                found = self.through(level, starts, position) if len(starts) else _NOTHING
                column = Inherited(found[0].astype(np.float32), found[1].astype(np.int8))
                if self.minutes // self.stride > MOST_KNOWN:
                    columns.append(column)
                    continue
                self._known[key] = column
            columns.append(self._known[key])
        return Inherited(
            np.stack([column.starved for column in columns], axis=1),
            np.stack([column.phase for column in columns], axis=1),
        )

    def handed_over(self, starts: Ints, position: Floats) -> Inherited:
        """For changes at minutes `starts` that take effect with `position` left, per level."""
        shape = (len(starts), len(self.levels))
        found = Inherited(np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int8))
        for index, level in enumerate(self.levels):
            found.starved[:, index], found.phase[:, index] = self.through(level, starts, position)
        return found

    def through(self, level: Level, starts: Ints, position: Floats) -> tuple[Floats, Phases]:
        """The same under one level."""
        load, effect, ends = self.load, self.effect_of(starts), starts + self.clock.completed
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

    def _entered(self, level: Level) -> tuple[Floats, Phases]:
        starved, phase = level.walk(ALONE, self.effect, self.starts + self.clock.completed)
        amid = np.flatnonzero(level.settled.waits[self.effect] & level.over[self.effect])
        position = self.load.edges[self.effect[amid]]
        starved[amid], phase[amid] = self.through(level, self.starts[amid], position)
        return starved, phase


class Handovers:
    """Changes at which a level in one phase hands over a queue, ordered by row.

    Only those at which that queue is another than in the phase before; `waits` tells of all.
    """

    def __init__(self, levels: Levels, phase: int) -> None:
        rows, cells, starved, phases, waits = [], [], [], [], []
        for index, level in enumerate(levels.levels):
            process = level.processes[phase]
            waits.append(process.waits[levels.effect] & ~process.deep[levels.effect])
            found = np.flatnonzero(waits[-1])
            place = process.position[levels.effect[found]]
            if phase:
                before = level.processes[phase - 1].position[levels.effect[found]]
                found, place = found[place != before], place[place != before]
            rows.append(found)
            cells.append(np.full(len(found), index))
            inherited = levels.inherited((level.reach, phase), levels.starts[found], place)
            starved.append(inherited.starved)
            phases.append(inherited.phase)
        row = np.concatenate(rows)
        order = np.argsort(row, kind="stable")
        self.row: Ints = row[order]
        self.level: Ints = np.concatenate(cells)[order]
        self.inherited = Inherited(np.concatenate(starved)[order], np.concatenate(phases)[order])
        self.waits: Bools = np.stack(waits, axis=1)


def _ended(waits: Bools) -> Floats:
    ended = np.zeros(waits.shape)
    ended[2:] = np.cumsum(waits[:-2] & ~waits[1:-1], axis=0)
    return ended


__all__ = ["Handovers", "Inherited", "Levels"]
