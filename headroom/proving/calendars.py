"""Change Calendars where there are none to ask: a simulation takes them as open."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.domain.standing import CalendarSeen


class OpenCalendars:
    """Every calendar is open, at any time: what they would have said is not known here."""

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarSeen, ...]:
        """All of them open."""
        return tuple(CalendarSeen(name=name, open=True) for name in names)
