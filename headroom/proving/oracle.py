"""The oracle: the cheapest schedule for one course by one who knows all of it, and how sure that is.

It obeys what every controller obeys: delays, one modification in flight, the slots, ceilings and
the largest step. `score` is what its schedule really scores; no schedule whatever scores less
than `bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from headroom.domain.resources import Configuration
from headroom.proving.conditions import Conditions, ceiling
from headroom.proving.course import Bools, Course, Floats
from headroom.proving.fast import FastVolume, static_starved
from headroom.proving.foreseen import ForeseenLoad, Reach
from headroom.proving.oracle_bound import Move, Origin, Relaxation
from headroom.proving.oracle_levels import Cell, Choice
from headroom.proving.oracle_queues import Clock, Level, Levels
from headroom.proving.oracle_search import Found, Search
from headroom.proving.rules import WINDOW
from headroom.proving.trial import Run, run_schedule, score

Schedule = tuple[tuple[int, Configuration], ...]
"""Minutes at which changes start, and what they lead to."""
SPREAD = 8
"""Levels of IOPS and of MiB/s that are tried at first."""
ROUNDS = (6, 10)
"""How often the price of a slot is corrected before each search."""
MOST_CELLS = 24
BEAM = 4
SURE = 1e-6
"""Share of a score by which it may exceed its bound and still count as proven."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleResult:
    """A schedule, what it scores in USD, and what none can go below; `exact` when they meet."""

    schedule: Schedule
    score: float
    bound: float
    exact: bool
    run: Run


class Foresight:
    """One course seen whole; what starts and presets have in common is computed once."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.load = ForeseenLoad(course)
        self._levels: dict[tuple[Reach, bytes, Clock], Level] = {}
        self._static: dict[Configuration, Bools] = {}
        self._alone: dict[tuple[Configuration, float], FastVolume] = {}

    def oracle(
        self, start: Configuration, conditions: Conditions, incumbents: Sequence[Schedule] = ()
    ) -> OracleResult:
        """The best schedule from `start`; never worse than any of `incumbents`."""
        return _Case(self, start, conditions).solve(incumbents)

    def level(self, reach: Reach, savable: Bools, clock: Clock) -> Level:
        """The queue under `reach`; `savable` are the minutes that count."""
        key = reach, savable.tobytes(), clock
        if key not in self._levels:
            self._levels[key] = Level(self.load, reach, savable, clock)
        return self._levels[key]

    def starved(self, configuration: Configuration) -> Bools:
        """Starved minutes with `configuration` in force from minute 0 on."""
        if configuration not in self._static:
            self._static[configuration] = static_starved(self.course, configuration)
        return self._static[configuration]

    def alone(self, start: Configuration, balance_percent: float) -> FastVolume:
        """The volume as it is when nobody changes it."""
        key = start, balance_percent
        if key not in self._alone:
            volume = FastVolume(self.course, start, burst_balance_percent=balance_percent)
            volume.run(self.course.minutes)
            self._alone[key] = volume
        return self._alone[key]


def oracle(
    course: Course,
    start: Configuration,
    conditions: Conditions,
    *,
    incumbents: Sequence[Schedule] = (),
) -> OracleResult:
    """The cheapest schedule found with perfect foresight, with a bound under every schedule."""
    return Foresight(course).oracle(start, conditions, incumbents)


class _Case:
    """One course, start and conditions."""

    def __init__(self, foresight: Foresight, start: Configuration, conditions: Conditions) -> None:
        self.foresight, self.start, self.conditions = foresight, start, conditions
        self.course, self.load = foresight.course, foresight.load
        self.minutes = self.load.minutes
        self.unsavable = foresight.starved(ceiling(conditions, start))
        self.savable = ~self.unsavable
        self.choice = Choice(self.load, self.savable, start, conditions)
        self.clock = _clock(conditions)
        volume = foresight.alone(start, conditions.burst_balance_percent)
        waiting = np.concatenate(([0.0], volume.backlog))
        self.position: Floats = np.maximum(0.0, self.load.edges - waiting)
        self.starved: Bools = volume.starved & self.savable
        self.tolls: Floats = np.zeros(self.minutes)
        self.bound = 0.0

    def solve(self, incumbents: Sequence[Schedule]) -> OracleResult:
        """Search, refine the levels where the schedule lies, search again, and compare."""
        schedules: list[Schedule] = [(), *incumbents]
        runs = {schedule: self._run(schedule) for schedule in schedules}
        cost = min(self._score(run) for run in runs.values())
        cells = self._few()
        for rounds in ROUNDS:
            schedule = self._searched(cells, rounds, cost)
            if schedule is not None:
                runs[schedule] = self._run(schedule)
                cost = min(cost, self._score(runs[schedule]))
            if cost - self.bound <= SURE * cost:
                break
            best = min(runs, key=lambda each: self._score(runs[each]))
            cells = self._refined(cells, best)
        best = min(runs, key=lambda each: self._score(runs[each]))
        found = self._score(runs[best])
        return OracleResult(
            schedule=tuple((change.minute, change.target) for change in runs[best].changes),
            score=found,
            bound=min(self.bound, found),
            exact=found - self.bound <= SURE * found,
            run=runs[best],
        )

    def _run(self, schedule: Schedule) -> Run:
        return run_schedule(self.course, self.start, schedule, self.conditions)

    def _score(self, run: Run) -> float:
        return score(run, self.unsavable, self.conditions)

    def _few(self) -> list[Cell]:
        """As many cells as are weighed quickly."""
        for count in range(SPREAD, 1, -1):
            cells = self.choice.spread(count)
            if len(cells) <= MOST_CELLS:
                break
        return cells

    def _searched(self, cells: list[Cell], rounds: int, cost: float) -> Schedule | None:
        """A schedule over `cells` that beats `cost`; raises the bound meanwhile."""
        levels = Levels(
            self.load,
            self.savable,
            self.clock,
            [self.foresight.level(cell.reach, self.savable, self.clock) for cell in cells],
        )
        real = [cell.level for cell in cells]
        least = [cell.least for cell in cells]
        value = self.conditions.value_usd
        allowed = self.choice.steps(real, least)
        origin = Origin(
            self.starved,
            self.position,
            self.choice.price(self.start),
            self.choice.steps([self.start], least)[0],
        )
        np.fill_diagonal(allowed, False)
        prices = np.array([self.choice.price(each) for each in least])
        times: set[int] = set()
        pace, stale, best = 1.0, 0, -np.inf
        relaxation, tolls = None, self.tolls
        for _ in range(rounds):
            tried = Relaxation(levels, prices, value, allowed, self._toll(tolls))
            found, moves = tried.from_origin(origin)
            found -= self.clock.starts * float(tolls.sum())
            times |= {move.minute for move in moves}
            if found > best:
                best, stale, relaxation, self.tolls = found, 0, tried, tolls
            else:
                stale += 1
            self.bound = max(self.bound, found)
            over = self._over(moves, tolls)
            size = float(over @ over)
            if not size or cost - self.bound <= SURE * cost:
                break
            if stale > 2:
                pace, stale = pace / 2, 0
            tolls = np.maximum(0.0, tolls + pace * max(cost - found, 0.0) / size * over)
        assert relaxation is not None
        may = self.choice.really([self.start, *real], real)
        search = Search(
            levels,
            relaxation,
            origin._replace(allowed=may[0]),
            self.savable,
            self.tolls,
            prices=np.array([self.choice.price(each) for each in real]),
            allowed=may[1:],
        )
        result = search.best(
            np.array(sorted(times), dtype=np.int64), Found(cost=cost, moves=()), beam=BEAM
        )
        if not result.moves:
            return None
        return tuple((move.minute, real[move.level]) for move in result.moves)

    def _toll(self, tolls: Floats) -> Floats:
        """What a change at each minute pays: the tolls of all windows that it lies in."""
        sums = np.concatenate(([0.0], np.cumsum(tolls)))
        minutes = np.arange(self.minutes)
        toll: Floats = sums[minutes + 1] - sums[np.maximum(0, minutes - self.clock.window + 1)]
        return toll

    def _over(self, moves: Sequence[Move], tolls: Floats) -> Floats:
        """By how many changes the window from each minute on has too many (or, tolled, too few)."""
        counts = np.zeros(self.minutes + 1)
        for move in moves:
            counts[max(0, move.minute - self.clock.window + 1)] += 1
            counts[move.minute + 1] -= 1
        over: Floats = np.cumsum(counts)[:-1] - self.clock.starts
        return np.where((over < 0) & (tolls <= 0), 0.0, over)

    def _refined(self, cells: list[Cell], schedule: Schedule) -> list[Cell]:
        """`cells` with those split whose levels `schedule` uses."""
        used = {target for _, target in schedule}
        finer: list[Cell] = []
        for cell in cells:
            finer += self.choice.split(cell) if cell.level in used else [cell]
        return self.choice.worthwhile(finer)


def _clock(conditions: Conditions) -> Clock:
    minute = timedelta(minutes=1)
    return Clock(
        effect=-(-conditions.delays.effect // minute),
        completed=-(-conditions.delays.completed // minute),
        window=WINDOW // minute,
        starts=conditions.slots,
    )


__all__ = ["Cell", "Foresight", "OracleResult", "Schedule", "oracle"]
