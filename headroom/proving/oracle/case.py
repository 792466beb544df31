"""Solves one load series, start and set of conditions: levels, tolls and search together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

import numpy as np

from headroom.domain.resources import Configuration
from headroom.proving.awsrules import MODIFICATION_WINDOW
from headroom.proving.oracle.bound import CostBound, Move, Origin
from headroom.proving.oracle.demand import Ints, KnownDemand, ReachableRates
from headroom.proving.oracle.dual import SlotPrices
from headroom.proving.oracle.levels import Cell, Choice
from headroom.proving.oracle.queues import Clock, Level
from headroom.proving.oracle.search import FoundSchedule, Search
from headroom.proving.oracle.transitions import KnownTransitions, Levels
from headroom.proving.trials import Conditions
from headroom.proving.workloads import Bools, Floats, LoadSeries

Schedule = tuple[tuple[int, Configuration], ...]
"""Minutes at which changes start, and what they lead to."""
SPREADS = (14, 11, 9, 7, 6, 5, 4, 3, 2)
"""Numbers of IOPS and MiB/s lines that bound the first cells."""
FIRST_CELLS, MOST_CELLS, SPLIT = 20, 40, 6
ROUNDS, AGAIN = (6, 4, 4, 4, 6), (3, 4)
"""Corrections of the tolls before each refinement of the levels: first case, later cases."""
STRIDES = ((20_000, 10), (3_000, 5))
"""(minutes, stride): a longer load series sets its tolls on a clock of `stride` minutes."""
BEAM = 8
SURE = 1e-6
"""Share of a score by which it may exceed its bound and still count as proven."""
AGAIN_AROUND = 2
"""Searches around the best schedule so far."""
REMEMBERED = 3
"""Schedules of a load series that are retried from other starts and at other presets."""
MOST_TURNS = 600
"""The most minutes at which levels begin or cease to suffice that are tried as effects."""
NEAR = (-60, -15, -5, -2, -1, 0, 1, 2, 5, 15, 60)
"""Minutes that its changes are tried earlier and later."""
HOPES = (1.05, 1.2)
"""Schedules up to this share above the bound are searched first."""


class LevelHistory:
    """Work shared by cases of one load series with the same unavoidable shortfall and clock."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.tolls: Floats = np.zeros(0)
        self.times: set[int] = set()
        self.schedules: list[Schedule] = []
        """Their schedules, the latest last."""
        self._levels: dict[ReachableRates, Level] = {}
        self._known = KnownTransitions()

    def levels(
        self,
        load: KnownDemand,
        unavoidable: Floats,
        clock: Clock,
        cells: Sequence[Cell],
        stride: int,
    ) -> Levels:
        """The queues of `cells`."""
        before, self._levels = self._levels, {}
        for reach in (cell.reach for cell in cells):
            self._levels[reach] = before.get(reach) or Level(load, reach, unavoidable, clock)
        levels = [self._levels[cell.reach] for cell in cells]
        return Levels(load, unavoidable, clock, levels, stride=stride, known=self._known)


class Case:
    """The optimisation for one start under one set of conditions.

    `shortfall` and `position` describe the load series under the unchanged start; `unavoidable` is
    the shortfall that the most within the guardrails leaves.
    """

    def __init__(
        self,
        load: KnownDemand,
        unavoidable: Floats,
        start: Configuration,
        conditions: Conditions,
        shortfall: Floats,
        position: Floats,
        clock: Clock,
        past: LevelHistory,
    ) -> None:
        self.load, self.unavoidable, self.start = load, unavoidable, start
        self.minutes = load.minutes
        self.choice = Choice(load, unavoidable < 1, start, conditions)
        self.clock = clock
        self.value = conditions.value_usd
        self.dual = SlotPrices(self.clock, self.minutes)
        self._missed, self._position = np.maximum(0.0, shortfall - unavoidable), position
        self._past = past

    def solve(self, cost: float) -> tuple[float, Schedule | None]:
        """A bound under every schedule, and a schedule that costs less than `cost` USD if one is found."""
        cells, dual, past = self._begin(), self.dual, self._past
        stride = self._stride()
        turns = AGAIN if past.cells else ROUNDS
        for turn, rounds in enumerate(turns):
            levels = self._levels(cells, stride)
            bounded = partial(self._bounded, cells, levels)
            if not turn and not past.cells:
                dual.evenly(bounded)
            dual.climb(bounded, rounds, cost)
            if turn + 1 < len(turns):
                finer = self._refined(cells)
                if finer == cells and dual.settled:
                    break
                cells = finer
        past.cells, past.tolls, past.times = cells, dual.tolls, set(dual.times)
        levels = self._levels(cells, 1) if stride > 1 else levels
        toll = dual.toll(dual.tolls)
        _, bound, moves = self._relaxed(cells, levels, toll)
        bound -= self.clock.starts * float(dual.tolls.sum())
        dual.times |= {move.minute for move in moves}
        schedule = self._searched(cells, levels, bound, cost)
        if schedule is not None:
            past.schedules = [*past.schedules, schedule][-REMEMBERED:]
        return bound, schedule

    def _begin(self) -> list[Cell]:
        """The cells of an earlier case and further ones that this start can pay for; else a few."""
        past = self._past
        if not past.cells:
            return self._few()
        self.dual.tolls, self.dual.times = past.tolls, set(past.times)
        return self.choice.worthwhile([*past.cells, *self.choice.beyond(past.cells)])

    def _stride(self) -> int:
        steps = (self.clock.completed, self.clock.window)
        for above, stride in STRIDES:
            if self.minutes > above and not any(step % stride for step in steps):
                return stride
        return 1

    def _few(self) -> list[Cell]:
        """A number of cells that is solved quickly."""
        for count in SPREADS:
            cells = self.choice.spread(count)
            if len(cells) <= FIRST_CELLS:
                break
        return cells

    def _levels(self, cells: Sequence[Cell], stride: int) -> Levels:
        return self._past.levels(self.load, self.unavoidable, self.clock, cells, stride)

    def _bounded(
        self, cells: Sequence[Cell], levels: Levels, toll: Floats
    ) -> tuple[float, list[Move]]:
        return self._relaxed(cells, levels, toll)[1:]

    def _relaxed(
        self, cells: Sequence[Cell], levels: Levels, toll: Floats, *, really: bool = False
    ) -> tuple[CostBound, float, list[Move]]:
        """The relaxation at the least prices of `cells`, or at the levels' own; `toll` per minute."""
        real = [cell.level for cell in cells]
        least = real if really else [cell.least for cell in cells]
        allowed = self.choice.steps(real, least)
        np.fill_diagonal(allowed, False)
        prices = np.array([self.choice.price(each) for each in least])
        relaxation = CostBound(levels, prices, self.value, allowed, toll[levels.starts])
        origin = self._origin(self.choice.steps([self.start], least)[0])
        return relaxation, *relaxation.from_origin(origin)

    def _origin(self, allowed: Bools) -> Origin:
        return Origin(self._missed, self._position, self.choice.price(self.start), allowed)

    def _refined(self, cells: list[Cell]) -> list[Cell]:
        """`cells` with those split that the relaxation's schedule gets furthest below their price."""
        gaps: dict[int, float] = defaultdict(float)
        needs: dict[int, list[tuple[float, float]]] = defaultdict(list)
        moves = self.dual.moves
        ends = [*(move.minute for move in moves[1:]), self.minutes] if moves else []
        iops, mibps = self.load.needed()
        for move, end in zip(moves, ends, strict=False):
            cell = cells[move.level]
            gap = self.choice.price(cell.level) - self.choice.price(cell.least)
            gaps[move.level] += gap * (end - move.minute)
            begin = min(int(self.clock.effect_of(np.array([move.minute]))[0]), self.minutes - 1)
            span = slice(begin, min(end + int(self.clock.effects.max()), self.minutes))
            most = _most_in(iops[span], cell.iops), _most_in(mibps[span], cell.mibps)
            needs[move.level].append(most)
        room = MOST_CELLS - len(cells)
        worst = sorted((i for i in gaps if gaps[i] > 0), key=lambda i: -gaps[i])[: min(SPLIT, room)]
        finer: list[Cell] = []
        for index, cell in enumerate(cells):
            asked = np.array(needs[index] or [(0.0, 0.0)])
            cut = self.choice.split(cell, (asked[:, 0], asked[:, 1]))
            finer += cut if index in worst else [cell]
        origins = [self.start, *(cells[move.level].level for move in moves)]
        for origin, move in zip(origins, moves, strict=False):
            if len(finer) < MOST_CELLS:
                finer = self.choice.cut_by_step(finer, origin, cells[move.level].level)
        return self.choice.worthwhile(finer)

    def best_of(
        self, minutes: Sequence[int], targets: Sequence[Configuration]
    ) -> tuple[float, Schedule]:
        """The best of all schedules that change to `targets`, at `minutes` or when AWS next lets.

        Takes time and memory that grow fast with both; meant for short load series.
        """
        cells = [Cell.of(target) for target in targets]
        levels = self._levels(cells, 1)
        search = self._search(cells, levels, np.zeros(self.minutes))
        never = self.value * float(self._missed.sum())
        never += self.choice.price(self.start) * self.minutes
        found = search.best(_sorted(set(minutes)), FoundSchedule(cost=never, moves=()), beam=None)
        return found.cost, tuple((move.minute, targets[move.level]) for move in found.moves)

    def _search(self, cells: Sequence[Cell], levels: Levels, tolls: Floats) -> Search:
        real = [cell.level for cell in cells]
        may = self.choice.really([self.start, *real], real)
        relaxation, _, moves = self._relaxed(cells, levels, self.dual.toll(tolls), really=True)
        self.dual.times |= {move.minute for move in moves}
        self.dual.times |= self._turns(levels, {move.level for move in moves})
        prices = np.array([self.choice.price(each) for each in real])
        origin = self._origin(may[0])
        return Search(
            levels, relaxation, origin, self.unavoidable, tolls, prices=prices, allowed=may[1:]
        )

    def _searched(
        self, cells: Sequence[Cell], levels: Levels, bound: float, cost: float
    ) -> Schedule | None:
        search = self._search(cells, levels, self.dual.tolls)
        times = set(self.dual.times)
        found = FoundSchedule(cost=cost, moves=())
        for hope in (*(share * bound for share in HOPES), np.inf):
            found = search.best(
                _sorted(times), FoundSchedule(cost=min(cost, hope), moves=()), beam=BEAM
            )
            if found.moves or hope >= cost:
                break
        for _ in range((1 if self._past.schedules else AGAIN_AROUND) if found.moves else 0):
            times |= self._around(found.moves)
            better = search.best(_sorted(times), replace(found), beam=BEAM)
            if better.cost >= found.cost:
                break
            found = better
        self._past.times |= {move.minute for move in found.moves}
        return tuple((move.minute, cells[move.level].level) for move in found.moves) or None

    def _turns(self, levels: Levels, used: set[int]) -> set[int]:
        """Starts whose effect comes just as one of the `used` levels begins or ceases to suffice."""
        found: set[int] = set()
        effect = self.clock.effect_of(np.arange(self.minutes))
        for index in sorted(used | {0}):
            over = levels.levels[index].over[:-1]
            turns = np.flatnonzero(np.diff(over.astype(np.int8), prepend=0))
            starts = np.flatnonzero(np.isin(effect, turns))
            if len(found) + len(starts) > MOST_TURNS:
                break
            found |= set(starts.tolist())
        return found

    def _around(self, moves: Sequence[Move]) -> set[int]:
        """Minutes close to the starts of `moves`, and those that delays and slots tie to them."""
        tied = (0, self.clock.completed, -self.clock.completed, self.clock.window)
        near = {move.minute + tie + shift for move in moves for tie in tied for shift in NEAR}
        return {minute for minute in near if 0 <= minute < self.minutes}


def _sorted(times: set[int]) -> Ints:
    return np.array(sorted(times), dtype=np.int64)


def clock_of(conditions: Conditions, load_series: LoadSeries) -> Clock:
    """AWS's delays in whole minutes at every minute of a load series, and the slots."""
    minute = timedelta(minutes=1)
    delays = conditions.delays.named(load_series.name)
    first = load_series.start.minute  # delays are the same within a clock hour
    hours = -(-(first + load_series.minutes) // 60)
    begin = load_series.start - first * minute
    by_hour = [delays.at(begin + hour * 60 * minute) for hour in range(hours)]

    def spread(values: list[int]) -> Ints:
        return np.repeat(np.array(values, dtype=np.int64), 60)[first:][: load_series.minutes]

    return Clock(
        effects=spread([-(-each.effect // minute) for each in by_hour]),
        completions=spread([-(-each.completed // minute) for each in by_hour]),
        window=MODIFICATION_WINDOW // minute,
        starts=conditions.slots,
    )


def _most_in(asked: Floats, side: tuple[int, int]) -> float:
    """The most that is asked and lies within `side`; 0 if nothing does."""
    inside = asked[(asked > side[0]) & (asked <= side[1])]
    return float(inside.max()) if inside.size else 0.0
