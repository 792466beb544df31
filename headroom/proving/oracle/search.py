"""The best schedule over given minutes and levels, queues and slots as AWS has them.

Labels are set forward in time: what a change costs up to its effect, what waits then, and the
latest starts. A label that is no better than another in all of these is dropped; so is one whose
cost, and the least that a relaxation says must follow, is not below the best schedule known.
Without a `beam` nothing else is dropped, and the schedule found is the best there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headroom.proving.oracle.bound import WAITING, CostBound, Move, Origin
from headroom.proving.oracle.demand import Ints
from headroom.proving.oracle.transitions import Levels
from headroom.proving.workloads import Bools, Floats

BUCKET = 60
"""Labels of this many minutes are compared with each other; less than a modification's flight."""
FEW_CHILDREN, PER_BUCKET, MOST_CHILDREN = 32, 4, 120
"""Changes after a change that a beam follows: all if few, else the best levels of each bucket."""
BETTER = 1e-9


class Label(NamedTuple):
    """A change to `level` that starts at `minute`.

    `spent` is the price up to the start and the value of what was missed up to the effect;
    `position` what has left by then; `least` what the whole schedule must cost at least.
    """

    least: float
    minute: int
    level: int
    spent: float
    position: float
    starts: tuple[int, ...]
    """The latest starts, this one included, newest first: as many as the window allows."""
    before: Label | None


class LevelRun(NamedTuple):
    """Minutes from `begin` on under a level until its queue is settled, at edge `merged`."""

    begin: int
    merged: int
    missed: Floats
    position: Floats


@dataclass(slots=True, kw_only=True)
class FoundSchedule:
    """The best schedule so far."""

    cost: float
    moves: tuple[Move, ...]


class Search:
    """Label setting from one origin; `tolls` are those of the relaxation, per window start.

    `prices` (USD per minute) and `allowed` are those of the levels themselves.
    """

    def __init__(
        self,
        levels: Levels,
        relaxation: CostBound,
        origin: Origin,
        unavoidable: Floats,
        tolls: Floats,
        *,
        prices: Floats,
        allowed: Bools,
    ) -> None:
        self.levels, self.relaxation, self.origin = levels, relaxation, origin
        self.clock, self.minutes = levels.clock, levels.minutes
        self.value, self.prices, self.allowed = relaxation.value, prices, allowed
        self._after = relaxation.after(0, self.minutes)
        self._unavoidable = unavoidable
        self._tolled = np.concatenate(([0.0], np.cumsum(tolls)))
        self._origin_missed = np.concatenate(([0.0], np.cumsum(origin.missed)))
        self._runs: dict[tuple[int, int, float], LevelRun] = {}

    def best(self, times: Ints, known: FoundSchedule, *, beam: int | None) -> FoundSchedule:
        """The best schedule whose changes start at `times` or as soon as AWS allows."""
        found = known
        buckets: dict[int, list[Label]] = defaultdict(list)
        for label in self._children(None, times, found.cost):
            buckets[label.minute // BUCKET].append(label)
        for bucket in range(self.minutes // BUCKET + 1):
            self._runs.clear()
            labels = self._promising(buckets.pop(bucket, []), found.cost)
            kept = _undominated(labels, beam, self.prices)
            for label in kept:
                self._finish(label, found)
                for child in self._children(label, times, found.cost, beam=beam):
                    buckets[child.minute // BUCKET].append(child)
        return found

    def _promising(self, labels: list[Label], ceiling: float) -> list[Label]:
        """Labels that may still win once their inherited queue is counted."""
        labels = [label for label in labels if label.least < ceiling]
        load = self.levels.load
        queued: dict[int, list[int]] = defaultdict(list)
        for index, label in enumerate(labels):
            effect = self._effect(label)
            if load.edges[effect] - label.position > WAITING:
                queued[label.level].append(index)
        for level, places in queued.items():
            starts = np.array([labels[place].minute for place in places])
            position = np.array([labels[place].position for place in places])
            missed, phase = self.levels.through(self.levels.levels[level], starts, position)
            more = self.value * (missed - self.levels.entered.missed[starts, level])
            ends = starts + self.clock.completed
            go = self.relaxation.go
            more += go[phase, ends, level]
            more -= go[self.levels.entered.phase[starts, level], ends, level]
            for place, extra in zip(places, more.tolist(), strict=True):
                least = labels[place].least + max(0.0, extra)
                labels[place] = labels[place]._replace(least=least)
        return [label for label in labels if label.least < ceiling]

    def _finish(self, label: Label, found: FoundSchedule) -> None:
        run = self._run(label)
        missed = self._missed(label.level, run, np.array([self.minutes]))[0]
        cost = label.spent + self.value * float(missed)
        cost += self.prices[label.level] * (self.minutes - label.minute)
        if cost < found.cost - BETTER:
            found.cost, found.moves = cost, _moves(label)

    def _children(
        self, label: Label | None, times: Ints, ceiling: float, *, beam: int | None = None
    ) -> Iterator[Label]:
        free = 0 if label is None else self.free_at(label.starts)
        if free >= self.minutes:
            return
        ahead = times[np.searchsorted(times, free) :]
        if not ahead.size or ahead[0] != free:
            ahead = np.concatenate(([free], ahead))
        effect = self.levels.effect_of(ahead)
        spent, position, allowed = self._until(label, ahead, effect)
        starts = () if label is None else label.starts[: self.clock.starts - 1]
        after = self._after[ahead]
        least = (spent - self._slack(ahead, starts))[:, None] + after
        least[:, ~allowed] = np.inf
        rows, columns = np.nonzero(least < ceiling - BETTER)
        if beam is not None and len(rows) > FEW_CHILDREN:
            kept = _spread(ahead[rows] // BUCKET, columns, least[rows, columns])
            rows, columns = rows[kept], columns[kept]
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
            minute = int(ahead[row])
            yield Label(
                float(least[row, column]), minute, column, float(spent[row]),
                float(position[row]), (minute, *starts), label,
            )  # fmt: skip

    def _until(
        self, label: Label | None, ahead: Ints, effect: Ints
    ) -> tuple[Floats, Floats, Bools]:
        """Spent up to the effects of changes at `ahead`, and the positions then."""
        if label is None:
            origin = self.origin
            spent = origin.price * ahead + self.value * self._origin_missed[effect]
            return spent, origin.position[effect], origin.allowed
        run, level = self._run(label), label.level
        spent = label.spent + self.prices[level] * (ahead - label.minute)
        spent = spent + self.value * self._missed(level, run, effect)
        position = np.where(
            effect < run.merged,
            run.position[np.minimum(effect - run.begin, len(run.position) - 1)],
            self.levels.levels[level].settled.position[effect],
        )
        return spent, position, self.allowed[level]

    def _missed(self, level: int, run: LevelRun, until: Ints) -> Floats:
        settled = self.levels.levels[level].settled.missed
        inside = np.minimum(until, run.merged)
        missed: Floats = run.missed[inside - run.begin] + settled[until] - settled[inside]
        return missed

    def _effect(self, label: Label) -> int:
        return min(label.minute + int(self.clock.effects[label.minute]), self.minutes)

    def _run(self, label: Label) -> LevelRun:
        begin = self._effect(label)
        position = label.position
        waits = self.levels.load.edges[begin] - position > WAITING
        if not waits:
            position = self.levels.load.edges[begin]
        key = label.level, begin, position
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = self._fresh(*key, waits=bool(waits))
        return run

    def _fresh(self, index: int, begin: int, position: float, *, waits: bool) -> LevelRun:
        """Follow the queue until it is what it would be had the level always been in force."""
        level, load = self.levels.levels[index], self.levels.load
        edges = load.edges
        if not waits and level.settled.quiet[begin] == begin:
            return LevelRun(begin, begin, np.zeros(1), edges[begin : begin + 1])
        length = 240 if waits else int(level.settled.quiet[begin]) - begin
        while True:
            end = min(self.minutes, begin + length)
            run = load.stretch(level.reach, begin, end, position if waits else None)
            same = np.flatnonzero((run.waiting <= 0) & ~level.settled.waits[begin : end + 1])
            if same.size or end == self.minutes:
                break
            length *= 4
        merged = int(same[0]) if same.size else end - begin
        above = run.shortfall[:merged] - self._unavoidable[begin : begin + merged]
        missed = np.cumsum(np.maximum(0.0, above))
        return LevelRun(
            begin, begin + merged, np.concatenate(([0.0], missed)), run.position[: merged + 1]
        )

    def free_at(self, starts: tuple[int, ...]) -> int:
        """The first minute at which AWS and the reserve allow the next change."""
        free = starts[0] + int(self.clock.completions[starts[0]])
        if len(starts) >= self.clock.starts:
            free = max(free, starts[self.clock.starts - 1] + self.clock.window)
        return free

    def _slack(self, ahead: Ints, starts: tuple[int, ...]) -> Floats:
        """Tolls of the windows from each minute on that need not be paid: what is still free."""
        tolled, window = self._tolled, self.clock.window
        opened = tolled[np.maximum(0, ahead - window + 1)]
        slack: Floats = self.clock.starts * (tolled[-1] - opened)
        slack = slack - (tolled[ahead + 1] - opened)
        for start in starts:
            slack = slack - np.maximum(0.0, tolled[start + 1] - opened)
        return slack


def _undominated(labels: list[Label], beam: int | None, prices: Floats) -> list[Label]:
    """Labels that no other beats, the most promising first, at most `beam` of them.

    With a beam, a label of the same level that comes within minutes counts as comparable.
    """
    labels.sort(key=lambda label: (label.least, label.starts))
    kept: list[Label] = []
    for label in labels:
        if not any(_beats(other, label, beam is not None, prices) for other in kept):
            kept.append(label)
            if beam is not None and len(kept) == beam:
                break
    return kept


def _spread(buckets: Ints, levels: Ints, least: Floats) -> Ints:
    """Places of the best of each level in each bucket, of the best levels of each bucket."""
    order = np.lexsort((least, levels, buckets))
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(buckets[order]) != 0) | (np.diff(levels[order]) != 0)
    order = order[first]
    order = order[np.lexsort((least[order], buckets[order]))]
    begins = np.flatnonzero(np.diff(buckets[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    order = order[rank < PER_BUCKET]
    return order[np.argsort(least[order], kind="stable")[:MOST_CHILDREN]]


def _beats(one: Label, other: Label, alike: bool, prices: Floats) -> bool:
    if one.level != other.level or len(one.starts) > len(other.starts):
        return False
    if alike:
        later = (other.minute - one.minute) * float(prices[one.level])
        return one.spent + later <= other.spent + BETTER and all(
            a <= b for a, b in zip(one.starts[1:], other.starts[1:], strict=False)
        )
    return (
        one.minute == other.minute
        and one.spent <= other.spent
        and one.position >= other.position
        and all(a <= b for a, b in zip(one.starts, other.starts, strict=False))
    )


def _moves(label: Label) -> tuple[Move, ...]:
    moves: list[Move] = []
    at: Label | None = label
    while at is not None:
        moves.append(Move(at.minute, at.level))
        at = at.before
    return tuple(reversed(moves))
