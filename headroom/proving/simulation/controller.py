"""The controller of a simulated volume: it acts every minute and keeps a log."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.decision import Decision
from headroom.domain.resources import Signal
from headroom.domain.state import Record

SCAN_EVERY_S = 15 * 60
"""Seconds from one scan of the fleet to the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerLog:
    """What a controller did."""

    decisions: tuple[Decision, ...] = ()
    records: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()


class SimulationController:
    """A controller that does nothing; a subclass overrides `minute` and `log`."""

    def minute(self, now: datetime, signals: Iterator[Signal]) -> None:
        """React to one minute that has passed."""

    def log(self) -> ControllerLog:
        """What it did."""
        return ControllerLog()
