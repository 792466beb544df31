"""What a controller of a simulated volume is: asked every minute, and what it did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from headroom.domain.decision import Decision
from headroom.domain.resources import Signal
from headroom.domain.state import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerLog:
    """What a controller did."""

    decisions: tuple[Decision, ...]
    records: tuple[Record, ...]
    notes: tuple[str, ...]


class SimulationController:
    """A controller that does nothing; others override what it is told each minute."""

    def minute(self, now: datetime, signals: Iterator[Signal]) -> None:
        """React to one minute that has passed."""

    def log(self) -> ControllerLog:
        """What it did."""
        return ControllerLog(decisions=(), records=(), notes=())
