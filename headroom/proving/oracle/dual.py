"""Prices for the slots: what each rolling window must charge so that few changes fit it by choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from headroom.proving.oracle.bound import Move
from headroom.proving.oracle.queues import Clock
from headroom.proving.workloads import Floats

Relaxed = Callable[[Floats], tuple[float, list[Move]]]
"""Least cost and changes under what a change at each minute pays."""
FIRST_USD = 0.05
EVENLY = 4
"""Tries of one price for all windows, before each gets its own."""
AIM = 0.05
"""Share of the best bound by which the next step hopes to raise it."""
KEPT = 0.6
"""Share of the earlier direction in the next step."""
PATIENCE = 3


class SlotPrices:
    """Tolls (USD) per window start that raise the bound, and the best bound they gave so far."""

    def __init__(self, clock: Clock, minutes: int) -> None:
        self.clock, self.minutes = clock, minutes
        self.tolls: Floats = np.zeros(minutes)
        self.best = -np.inf
        self.moves: list[Move] = []
        self.times: set[int] = set()
        self.settled = False
        """Whether the last climb ended because no window had too many changes."""
        self._pace = 1.0
        self._direction: Floats | None = None

    def toll(self, tolls: Floats) -> Floats:
        """What a change at each minute pays: the tolls of all windows that it lies in."""
        sums = np.concatenate(([0.0], np.cumsum(tolls)))
        minutes = np.arange(self.minutes)
        toll: Floats = sums[minutes + 1] - sums[np.maximum(0, minutes - self.clock.window + 1)]
        return toll

    def evenly(self, relaxed: Relaxed) -> None:
        """Find about the best of the tolls that are the same for all windows, beginning with none."""
        low, high, usd = 0.0, np.inf, 0.0
        for _ in range(EVENLY):
            tolls = np.full(self.minutes, usd / self.clock.window)
            _, moves = self._try(relaxed, tolls)
            over = self._over(moves)
            if not (over > 0).any():
                return
            low, high = (usd, high) if over.sum() > 0 else (low, usd)
            usd = (low + high) / 2 if high < np.inf else max(FIRST_USD, 2 * usd)

    def climb(self, relaxed: Relaxed, rounds: int, cost: float) -> None:
        """Raise each window's toll where too many changes begin in it and lower it where too few."""
        self.best, self.settled = -np.inf, False
        tolls, stale = self.tolls, 0
        for _ in range(rounds):
            before = self.best
            found, moves = self._try(relaxed, tolls)
            stale = 0 if found > before else stale + 1
            over = self._over(moves)
            over[(over < 0) & (tolls <= 0)] = 0.0
            if not over.any() or self.best >= cost:
                self.settled = True
                return
            if stale > PATIENCE:
                self._pace, stale, tolls = self._pace / 2, 0, self.tolls
            old = self._direction
            towards = over if old is None else KEPT * old + (1 - KEPT) * over
            self._direction = towards
            aim = min(cost, self.best + AIM * abs(self.best)) - found
            size = max(float(over @ over), float(towards @ towards))
            tolls = np.maximum(0.0, tolls + self._pace * max(aim, 0.0) / size * towards)

    def _try(self, relaxed: Relaxed, tolls: Floats) -> tuple[float, list[Move]]:
        found, moves = relaxed(self.toll(tolls))
        found -= self.clock.starts * float(tolls.sum())
        self.times |= {move.minute for move in moves}
        if found > self.best:
            self.best, self.tolls, self.moves = found, tolls, moves
        return found, moves

    def _over(self, moves: Sequence[Move]) -> Floats:
        """By how many changes the window from each minute on has too many, or too few."""
        counts = np.zeros(self.minutes + 1)
        for move in moves:
            counts[max(0, move.minute - self.clock.window + 1)] += 1
            counts[move.minute + 1] -= 1
        over: Floats = np.cumsum(counts)[:-1] - self.clock.starts
        return over
