"""From minutes to periods: Sum, Average, Minimum, Maximum, SampleCount and percentiles.

Source: CloudWatch User Guide, "CloudWatch statistics definitions" (checked 2026-10).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from headroom.localaws.metrics.store import Cell, Series

Points: TypeAlias = dict[int, float]
"""Values by the epoch second that their period starts; a period without data is absent."""

_PERCENTILE = re.compile(r"^p(\d{1,2}(?:\.\d{1,10})?|100)$")


class UnknownStatistic(ValueError):
    """Not a statistic this endpoint can make."""


def _average(cell: Cell) -> float:
    return cell.sum / cell.samples if cell.samples else 0.0


_SIMPLE: dict[str, Callable[[Cell], float]] = {
    "Sum": lambda cell: cell.sum,
    "Average": _average,
    "Minimum": lambda cell: cell.minimum,
    "Maximum": lambda cell: cell.maximum,
    "SampleCount": lambda cell: cell.samples,
}


def statistic(name: str) -> Callable[[Cell], float]:
    """The function of a statistic; raises UnknownStatistic."""
    simple = _SIMPLE.get(name)
    if simple is not None:
        return simple
    match = _PERCENTILE.match(name)
    if match is None:
        raise UnknownStatistic(f"The value {name} for parameter Stat is not supported.")
    share = float(match.group(1)) / 100
    return lambda cell: percentile(cell, share)


def percentile(cell: Cell, share: float) -> float:
    """The smallest value with at least `share` of the samples at or below it."""
    values = sorted(cell.values) or [(_average(cell), 1.0)]
    needed, counted = share * sum(count for _, count in values), 0.0
    for value, count in values:
        counted += count
        if counted >= needed:
            return value
    return values[-1][0]


def periods(
    series: Series, start: int, end: int, period: int, now: float, *, origin: int = 0
) -> dict[int, Cell]:
    """Cells merged into periods that start at multiples of `period` after `origin`."""
    merged: dict[int, Cell] = {}
    for minute, cell in series.between(start, end, now):
        at = minute if period == 60 else minute - (minute - origin) % period
        present = merged.get(at)
        if present is None:
            merged[at] = _copy(cell) if period != 60 else cell
        else:
            present.add(cell)
    return merged


def merge(many: Iterable[dict[int, Cell]]) -> dict[int, Cell]:
    """Cells of several series as if they were one, for each period."""
    merged: dict[int, Cell] = {}
    for cells in many:
        for at, cell in cells.items():
            present = merged.get(at)
            if present is None:
                merged[at] = _copy(cell)
            else:
                present.add(cell)
    return merged


def points(cells: dict[int, Cell], name: str) -> Points:
    """One statistic of each period."""
    measure = statistic(name)
    return {at: measure(cell) for at, cell in cells.items()}


def _copy(cell: Cell) -> Cell:
    return Cell(
        cell.sum, cell.samples, cell.minimum, cell.maximum, cell.visible_at, list(cell.values)
    )
