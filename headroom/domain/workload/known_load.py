"""Load that the owner announced, by the hour, and what raises leave of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from headroom.domain.state import HOUR, hour_of
from headroom.domain.workload.history import HOLD_HOURS
from headroom.domain.workload.short_minutes import REACTION_MIN

Rates = tuple[float, float]
"""IOPS and MiB/s."""


class KnownLoad(NamedTuple):
    """Load that the owner announced: from when to when, and how much."""

    start: datetime
    end: datetime
    iops: float
    mibps: float
    name: str = ""

    def share_late(self, rates: Rates) -> float:
        """The share of it that rates do not serve."""
        iops, mibps = rates
        served = min(
            iops / self.iops if self.iops else 1.0, mibps / self.mibps if self.mibps else 1.0
        )
        return 1.0 - min(1.0, served)


class HourOfLoad(NamedTuple):
    """What an hour has of a known load."""

    load: KnownLoad
    minutes: float
    hours_since: int
    """Whole hours since the one in which it begins."""

    def shortfalls(self, rates: Rates, reach: Rates, ceiling: Rates) -> tuple[float, float]:
        """Minutes of shortfall at `rates`: without a raise, and where raises follow at once.

        One raise leads to `reach` and, once it has completed, a second to `ceiling`: what is above
        them stays late.
        """
        late = self.minutes * self.load.share_late(rates)
        left = self.minutes * self.load.share_late(
            ceiling if self.hours_since > HOLD_HOURS else reach
        )
        reacting = min(late, REACTION_MIN) if self.hours_since <= 0 else 0.0
        return late, min(late, left + reacting)


def loads_at(known_loads: Sequence[KnownLoad], start: datetime) -> list[HourOfLoad]:
    """The known loads of the hour from `start` on."""
    end = start + HOUR
    return [
        HourOfLoad(
            load,
            (min(end, load.end) - max(start, load.start)).total_seconds() / 60,
            (start - hour_of(load.start)) // HOUR,
        )
        for load in known_loads
        if load.start < end and load.end > start
    ]
