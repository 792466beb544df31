"""All resources of a report on one time line: when each was starved, and what was decided when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from headroom.cli.views.timeline import Mark, Timeline

WIDTH = 1_000
"""Units of a strip from the first instant of the report to its last."""
STEPS_S = (3_600, 3 * 3_600, 6 * 3_600, 12 * 3_600, 86_400, 2 * 86_400, 7 * 86_400, 30 * 86_400)
MOST_TICKS = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One resource: spans and instants in units of WIDTH."""

    seen: tuple[float, float]
    """Where it begins and how long it is."""
    starved: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, str], ...]
    """Where, and the kind of the mark."""
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A strip for each resource over one axis; ticks are (where, label)."""

    strips: tuple[Strip, ...]
    ticks: tuple[tuple[float, str], ...]


def overview(each: Sequence[tuple[Timeline, Sequence[Mark]]]) -> Overview:
    """The strips of all resources, which need not begin or end at the same instant."""
    known = [line.times for line, _ in each if line.times]
    first = min((times[0] for times in known), default=0)
    last = max((times[-1] for times in known), default=first)
    span = max(1, last - first)

    def at(second: float) -> float:
        return round(WIDTH * min(1.0, max(0.0, (second - first) / span)), 1)

    def strip(line: Timeline, marks: Sequence[Mark]) -> Strip:
        begin, end = (line.times[0], line.times[-1]) if line.times else (first, first)
        minutes = sum(to - since for since, to in line.starved) // 60
        acts = sum(1 for mark in marks if mark.kind == "act")
        changes = "no change" if not acts else f"{acts} change{'s' if acts > 1 else ''}"
        return Strip(
            seen=(at(begin), round(at(end) - at(begin), 1)),
            starved=tuple((at(a), max(1.5, round(at(b) - at(a), 1))) for a, b in line.starved),
            marks=tuple((at(mark.at.timestamp()), mark.kind) for mark in marks),
            about=f"{minutes:,} starved minutes, {changes}",
        )  # fmt: skip

    return Overview(
        strips=tuple(strip(line, marks) for line, marks in each),
        ticks=tuple((at(second), _label(second, span)) for second in _ticks(first, last)),
    )


def _ticks(first: int, last: int) -> range:
    step = next((s for s in STEPS_S if (last - first) / s <= MOST_TICKS), STEPS_S[-1])
    return range(-(-first // step) * step, last + 1, step)


def _label(second: int, span: int) -> str:
    at = datetime.fromtimestamp(second, UTC)
    return f"{at:%m-%d}" if span > 3 * 86_400 or not second % 86_400 else f"{at:%H:%M}"
