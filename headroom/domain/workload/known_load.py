"""Load that the owner announced, and what a level of performance lacks of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from headroom.domain.state import HOUR
from headroom.domain.workload.short_minutes import REACTION_MIN


class KnownLoad(NamedTuple):
    """Load that the owner announced: from when to when, and how much."""

    start: datetime
    end: datetime
    iops: float
    mibps: float
    name: str = ""


def loads_at(known_loads: Sequence[KnownLoad], start: datetime) -> list[tuple[KnownLoad, float]]:
    """The owner's known loads in the hour from `start` on, with their minutes."""
    end = start + HOUR
    return [
        (load, (min(end, load.end) - max(start, load.start)).total_seconds() / 60)
        for load in known_loads
        if load.start < end and load.end > start
    ]


def with_known(
    rates: tuple[float, float], late: float, early: float, loads: Sequence[tuple[KnownLoad, float]]
) -> tuple[float, float]:
    """Minutes of an hour with no raise and before one: no less than its known loads cost."""
    for load, minutes in loads:
        short = minutes * (1.0 - _served(load, *rates))
        late, early = max(late, short), max(early, min(short, REACTION_MIN))
    return late, early


def _served(load: KnownLoad, iops: float, mibps: float) -> float:
    """The share of a known load that IOPS and MiB/s serve."""
    return min(
        iops / load.iops if load.iops else 1.0,
        mibps / load.mibps if load.mibps else 1.0, 1.0,
    )  # fmt: skip
