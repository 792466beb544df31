"""The queue and starvation that changes between levels cause until the next change may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.proving.oracle.demand import MINUTE_S, Ints, KnownDemand, ReachableRates
from headroom.proving.oracle.queues import ALONE, PHASES, Clock, Level, Phases
from headroom.proving.physics import STARVED_SHARE
from headroom.proving.workloads import Bools, Floats


class CarriedBacklog(NamedTuple):
    """Whole minutes that levels starve through up to some instant, and their phases then."""

    starved: NDArray[np.uint16]
    phase: Phases


class Rows(NamedTuple):
    """What one level starves from each start on: until the flight ends, or until the effect."""

    entered: CarriedBacklog
    """With nothing waiting at the effect."""
    until: tuple[CarriedBacklog, ...]
    """Up to the effect, per phase at the start."""


MOST_BYTES = 128 << 20
"""Cache limit of inherited queues."""
MOST_TABLES = 12


class KnownTransitions:
    """Results for levels of one load series, countable minutes and clock."""

    def __init__(self) -> None:
        self.rows: dict[tuple[ReachableRates, int], Rows] = {}
        self.handed: dict[tuple[ReachableRates, int, ReachableRates, int], CarriedBacklog] = {}
        self._bytes = 0

    def keep(
        self, key: tuple[ReachableRates, int, ReachableRates, int], handed: CarriedBacklog
    ) -> None:
        """Cache an inherited queue; the cache is emptied when it is full."""
        self._bytes += handed.starved.nbytes + handed.phase.nbytes
        if self._bytes > MOST_BYTES:
            self.handed.clear()
            self._bytes = handed.starved.nbytes + handed.phase.nbytes
        self.handed[key] = handed


class Levels:
    """The levels of one load series, and the queues that changes between them inherit.

    Changes start at every `stride`-th minute; arrays have a row for each of these and a column
    per level. `known` is shared by the same load series, countable minutes and clock.
    """

    def __init__(
        self,
        load: KnownDemand,
        savable: Bools,
        clock: Clock,
        levels: Sequence[Level],
        *,
        stride: int = 1,
        known: KnownTransitions | None = None,
    ) -> None:
        self._known = known or KnownTransitions()
        self._tables: dict[ReachableRates, list[Floats]] = {}
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
        rows_of = [self._rows(level) for level in self.levels]
        self.entered = _beside([rows.entered for rows in rows_of])
        """Minutes starved until the flight ends when nothing waits at the effect; phases then."""
        self.until = [_beside([rows.until[phase] for rows in rows_of]) for phase in range(PHASES)]
        """Minutes starved up to the effect, and the phase then, per phase at the start."""
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
        self.level_transitions = [LevelTransitions(self, phase) for phase in range(ALONE)]

    def effect_of(self, starts: Ints) -> Ints:
        """Minutes at which changes that start at `starts` take effect."""
        return np.minimum(starts + self.clock.effect, self.minutes)

    def inherited(
        self, phase: int, starts: Sequence[Ints], positions: Sequence[Floats]
    ) -> CarriedBacklog:
        """What each level in one phase hands over at its `starts` and `positions`, to every level."""
        columns = []
        for target in self.levels:
            parts = []
            for origin, minutes, position in zip(self.levels, starts, positions, strict=True):
                key = origin.reach, phase, target.reach, self.stride
                part = self._known.handed.get(key)
                if part is None:
                    found = self.through(target, minutes, position) if len(minutes) else _NOTHING
                    part = _small(*found)
                    self._known.keep(key, part)
                parts.append(part)
            columns.append(
                CarriedBacklog(
                    np.concatenate([part.starved for part in parts]),
                    np.concatenate([part.phase for part in parts]),
                )
            )
        return _beside(columns)

    def handed_over(self, starts: Ints, position: Floats) -> CarriedBacklog:
        """For changes at minutes `starts` that take effect with `position` left, per level."""
        return _beside([_small(*self.through(each, starts, position)) for each in self.levels])

    def through(self, level: Level, starts: Ints, position: Floats) -> tuple[Ints, Phases]:
        """The same under one level."""
        load, effect, ends = self.load, self.effect_of(starts), starts + self.clock.completed
        gone = np.interp(position, load.left, level.done)
        floor = gone - MINUTE_S * effect
        at = effect.copy()
        lowest = self._lowest(level)
        for power in range(len(lowest) - 1, -1, -1):
            at = np.where(lowest[power][at] > floor, at + (1 << power), at)
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

    def _lowest(self, level: Level) -> list[Floats]:
        if level.reach not in self._tables:
            if len(self._tables) >= MOST_TABLES:
                self._tables.pop(next(iter(self._tables)))
            self._tables[level.reach] = level.lowest()
        return self._tables[level.reach]

    def _rows(self, level: Level) -> Rows:
        key = level.reach, self.stride
        if key not in self._known.rows:
            walked = [level.walk(phase, self.starts, self.effect) for phase in range(PHASES)]
            self._known.rows[key] = Rows(
                _small(*self._entered(level)), tuple(_small(*each) for each in walked)
            )
        return self._known.rows[key]

    def _entered(self, level: Level) -> tuple[Ints, Phases]:
        starved, phase = level.walk(ALONE, self.effect, self.starts + self.clock.completed)
        amid = np.flatnonzero(level.settled.waits[self.effect] & level.over[self.effect])
        position = self.load.edges[self.effect[amid]]
        starved[amid], phase[amid] = self.through(level, self.starts[amid], position)
        return starved, phase


class LevelTransitions:
    """Changes at which a level in one phase hands over a queue, ordered by row.

    Only those at which that queue differs from the phase before; `waits` has all.
    """

    def __init__(self, levels: Levels, phase: int) -> None:
        rows: list[Ints] = []
        positions: list[Floats] = []
        waits: list[Bools] = []
        for level in levels.levels:
            process = level.processes[phase]
            waits.append(process.waits[levels.effect] & ~process.deep[levels.effect])
            found = np.flatnonzero(waits[-1])
            place = process.position[levels.effect[found]]
            if phase:
                before = level.processes[phase - 1].position[levels.effect[found]]
                found, place = found[place != before], place[place != before]
            rows.append(found)
            positions.append(place)
        row = np.concatenate(rows)
        order = np.argsort(row, kind="stable")
        self.row: Ints = row[order]
        cells = [np.full(len(found), index) for index, found in enumerate(rows)]
        self.level: Ints = np.concatenate(cells)[order]
        inherited = levels.inherited(phase, [levels.starts[found] for found in rows], positions)
        self.inherited = CarriedBacklog(inherited.starved[order], inherited.phase[order])
        self.waits: Bools = np.stack(waits, axis=1)


_NOTHING = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)


def _small(starved: Ints, phase: Phases) -> CarriedBacklog:
    """The same in little memory: minutes of a flight are whole and few."""
    return CarriedBacklog(starved.astype(np.uint16), phase)


def _beside(columns: Sequence[CarriedBacklog]) -> CarriedBacklog:
    """One column per level."""
    return CarriedBacklog(
        np.stack([column.starved for column in columns], axis=1),
        np.stack([column.phase for column in columns], axis=1),
    )


def _ended(waits: Bools) -> Floats:
    ended = np.zeros(waits.shape)
    ended[2:] = np.cumsum(waits[:-2] & ~waits[1:-1], axis=0)
    return ended
