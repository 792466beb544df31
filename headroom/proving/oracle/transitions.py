"""The queue and shortfall that changes between levels cause until the next change may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headroom.proving.oracle.demand import MINUTE_S, Ints, KnownDemand, ReachableRates
from headroom.proving.oracle.queues import ALONE, PHASES, Clock, Level, Phases
from headroom.proving.workloads import Bools, Floats


class CarriedBacklog(NamedTuple):
    """Shortfall minutes that levels go through up to some instant, and their phases then."""

    missed: NDArray[np.float32]
    phase: Phases


class Rows(NamedTuple):
    """What one level lacks from each start on: until the flight ends, or until the effect."""

    entered: CarriedBacklog
    """With nothing waiting at the effect."""
    until: tuple[CarriedBacklog, ...]
    """Up to the effect, per phase at the start."""


MOST_BYTES = 128 << 20
"""Cache limit of inherited queues."""
MOST_TABLES = 12
MOST_VALUES = 1 << 20
"""Minutes of inherited queues that are followed at once."""
FINE = 1 << 14
"""Parts of a minute in which a flight's shortfall is kept."""


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
        self._bytes += handed.missed.nbytes + handed.phase.nbytes
        if self._bytes > MOST_BYTES:
            self.handed.clear()
            self._bytes = handed.missed.nbytes + handed.phase.nbytes
        self.handed[key] = handed


class Levels:
    """The levels of one load series, and the queues that changes between them inherit.

    Changes start at every `stride`-th minute; arrays have a row for each of these and a column
    per level. `known` is shared by the same load series, countable minutes and clock.
    """

    def __init__(
        self,
        load: KnownDemand,
        unavoidable: Floats,
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
        self._unavoidable = unavoidable
        self.effect = self.effect_of(self.starts)
        rows_of = [self._rows(level) for level in self.levels]
        self.entered = _beside([rows.entered for rows in rows_of])
        """Shortfall until the flight ends when nothing waits at the effect; phases then."""
        self.until = [_beside([rows.until[phase] for rows in rows_of]) for phase in range(PHASES)]
        """Shortfall up to the effect, and the phase then, per phase at the start."""
        self.missed = [
            np.stack([level.processes[phase].missed[self.edges] for level in self.levels], axis=1)
            for phase in range(PHASES)
        ]
        """Shortfall before each of `edges`, per phase."""
        self.waits = [
            np.stack([level.processes[phase].waits[self.edges] for level in self.levels], axis=1)
            for phase in range(ALONE)
        ]
        self.ended = [_ended(waits) for waits in self.waits]
        """Busy periods over before each of `edges`, per phase."""
        self.level_transitions = [LevelTransitions(self, phase) for phase in range(ALONE)]

    def effect_of(self, starts: Ints) -> Ints:
        """Minutes at which changes that start at `starts` take effect."""
        return np.minimum(self.clock.effect_of(starts), self.minutes)

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
                    np.concatenate([part.missed for part in parts]),
                    np.concatenate([part.phase for part in parts]),
                )
            )
        return _beside(columns)

    def handed_over(self, starts: Ints, position: Floats) -> CarriedBacklog:
        """For changes at minutes `starts` that take effect with `position` left, per level."""
        return _beside([_small(*self.through(each, starts, position)) for each in self.levels])

    def through(self, level: Level, starts: Ints, position: Floats) -> tuple[Floats, Phases]:
        """The same under one level: the queue until it is empty, then no more than is sure."""
        load, effect, ends = self.load, self.effect_of(starts), starts + self.clock.completed
        gone = np.interp(position, load.left, level.done)
        floor = gone - MINUTE_S * effect
        at = effect.copy()
        lowest = self._lowest(level)
        for power in range(len(lowest) - 1, -1, -1):
            at = np.where(lowest[power][at] > floor, at + (1 << power), at)
        over = at >= ends
        empty = np.where(over, ends, at)
        missed, phase = level.walk(ALONE, empty, ends)
        missed = missed + self._busy(level, gone, effect, np.minimum(empty, self.minutes))
        return missed, np.where(over, level.emptiest(ends), phase)

    def _busy(self, level: Level, gone: Floats, begin: Ints, end: Ints) -> Floats:
        """Shortfall of minutes `begin` to `end`, all busy, when `gone` seconds of work are done first."""
        load = self.load
        lengths = np.maximum(0, end - begin)
        found = np.zeros(len(begin))
        ends = np.cumsum(lengths)
        for part in np.split(np.arange(len(begin)), _parts(ends)):
            count = lengths[part]
            owner = np.repeat(part, count)
            first = np.repeat(np.cumsum(count) - count, count)
            passed = np.arange(len(owner)) - first
            minute = begin[owner] + passed
            left = np.interp(gone[owner] + MINUTE_S * (passed + 1), level.done, load.left)
            backlog = np.maximum(0.0, load.edges[minute + 1] - left)
            missed = np.maximum(0.0, load.shortfall(minute, backlog) - self._unavoidable[minute])
            found += np.bincount(owner, missed, len(begin))
        return found

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

    def _entered(self, level: Level) -> tuple[Floats, Phases]:
        missed, phase = level.walk(ALONE, self.effect, self.starts + self.clock.completed)
        amid = np.flatnonzero(level.settled.waits[self.effect] & level.over[self.effect])
        position = self.load.edges[self.effect[amid]]
        missed[amid], phase[amid] = self.through(level, self.starts[amid], position)
        return missed, phase


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
        self.inherited = CarriedBacklog(inherited.missed[order], inherited.phase[order])
        self.waits: Bools = np.stack(waits, axis=1)


_NOTHING = np.zeros(0), np.zeros(0, dtype=np.int8)


def _parts(ends: Ints) -> Ints:
    """Where to cut a ragged array that ends at `ends` so that no part is large."""
    cuts: Ints = np.searchsorted(ends, np.arange(MOST_VALUES, ends[-1:].sum(), MOST_VALUES))
    return cuts


def _small(missed: Floats, phase: Phases) -> CarriedBacklog:
    """The same in little memory, rounded down: a bound stays one."""
    return CarriedBacklog((np.floor(missed * FINE) / FINE).astype(np.float32), phase)


def _beside(columns: Sequence[CarriedBacklog]) -> CarriedBacklog:
    """One column per level."""
    return CarriedBacklog(
        np.stack([column.missed for column in columns], axis=1),
        np.stack([column.phase for column in columns], axis=1),
    )


def _ended(waits: Bools) -> Floats:
    ended = np.zeros(waits.shape)
    ended[2:] = np.cumsum(waits[:-2] & ~waits[1:-1], axis=0)
    return ended
