"""A histogram of latencies: the exact mean, and percentiles within 1 %."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, floor, log

from headroom.proving.physics.minute_facts import Waits

STEP = log(1.01)
LEAST_MS = 0.001


class LatencyHistogram:
    """Operations counted by latency in bins that are 1 % wide."""

    def __init__(self) -> None:
        self._bins: dict[int, list[float]] = {}  # operations, least and most milliseconds seen
        self._ops = 0.0
        self._total_ms = 0.0
        self._latest: tuple[Waits, ...] = ()
        self._spread: list[tuple[int, tuple[float, float, float]]] = []

    def add(self, waits: tuple[Waits, ...]) -> None:
        """Count operations whose latencies lie evenly between two values."""
        if waits is not self._latest:  # a minute like the one before it has the same
            self._latest = waits
            self._spread = [part for one in waits for part in _spread(*one)]
        for ops, low, high in waits:
            self._ops += ops
            self._total_ms += ops * (low + high) / 2
        for number, (ops, low, high) in self._spread:
            found = self._bins.get(number)
            if found is None:
                self._bins[number] = [ops, low, high]
            else:
                found[0] += ops
                found[1] = min(found[1], low)
                found[2] = max(found[2], high)

    @property
    def mean_ms(self) -> float | None:
        """Mean over all operations, None when there were none."""
        return self._total_ms / self._ops if self._ops else None

    def percentile_ms(self, percent: float) -> float | None:
        """The latency that `percent` of the operations do not exceed, None without operations."""
        if not self._ops:
            return None
        wanted, passed = self._ops * percent / 100, 0.0
        high = 0.0
        for number in sorted(self._bins):
            count, low, high = self._bins[number]
            if count and passed + count >= wanted * (1 - 1e-12):
                return low + (high - low) * min(1.0, max(0.0, (wanted - passed) / count))
            passed += count
        return high


def _spread(
    ops: float, low: float, high: float
) -> Iterator[tuple[int, tuple[float, float, float]]]:
    """The bins that the operations are in, with those of each and between what latencies they are."""
    first = _bin(low)
    last = first if high == low else _bin(high)
    if first == last:
        yield first, (ops, low, high)
        return
    edge = low
    for number in range(first, last + 1):
        upper = min(high, _edge(number + 1)) if number < last else high
        yield number, (ops * (upper - edge) / (high - low), edge, upper)
        edge = upper


def _bin(ms: float) -> int:
    return floor(log(max(ms, LEAST_MS) / LEAST_MS) / STEP)


def _edge(number: int) -> float:
    return LEAST_MS * exp(number * STEP)
