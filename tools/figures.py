"""One measurement, and a table of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


def median_s(work: Callable[[], object], times: int) -> float:
    """Median wall-clock seconds of `times` runs."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measurement."""

    name: str
    value: float
    unit: str

    def __str__(self) -> str:
        return f"{self.name:48} {self.shown:>12} {self.unit}"

    @property
    def shown(self) -> str:
        """The value to as many digits as it is worth."""
        exact = isinstance(self.value, int) or self.value >= 100
        return f"{self.value:,.0f}" if exact else f"{self.value:,.1f}"


def table_rows(figures: list[Figure]) -> str:
    """Lines of a Markdown table."""
    return "".join(f"| {f.name} | {f.shown} | {f.unit} |\n" for f in figures)
