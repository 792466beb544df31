"""Freezes: periods without changes in an account, by date or by a Change Calendar."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from headroom.domain.policy.windows import instants_of, zone_of
from headroom.domain.state import CalendarState

MOST_FREEZES = 50
MOST_CALENDARS = 10
LONGEST_REASON = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Freeze:
    """A period without changes, from `begins` up to `until`; both in UTC."""

    begins: datetime
    until: datetime
    reason: str = ""

    def is_active(self, at: datetime) -> bool:
        """Whether the freeze is active at `at`."""
        return self.begins <= at < self.until


@lru_cache(maxsize=256)
def frozen_until(freezes: tuple[Freeze, ...], at: datetime) -> datetime | None:
    """The first instant from `at` on without an active freeze; None if none is active at `at`."""
    until = at
    while True:
        ends = [freeze.until for freeze in freezes if freeze.is_active(until)]
        if not ends:
            return until if until > at else None
        until = max(ends)


def freeze_between(first: date | datetime, last: date | datetime, zone: str, reason: str) -> Freeze:
    """A freeze from the start of `first` to the end of `last`; instants count to the instant.

    Dates and instants without an offset are local to `zone`. If the clock changes then, the longer
    freeze applies. Raises WindowError for an unknown zone.
    """
    zone_of(zone)
    return Freeze(begins=min(_instants(first, zone)), until=_end(last, zone), reason=reason)


def _end(last: date | datetime, zone: str) -> datetime:
    if isinstance(last, datetime):
        return max(_instants(last, zone))
    return max(_instants(last + timedelta(days=1), zone))


def _instants(when: date | datetime, zone: str) -> Sequence[datetime]:
    if not isinstance(when, datetime):
        return instants_of(when, 0, zone)
    if when.tzinfo is not None:
        return (when.astimezone(UTC),)
    rest = timedelta(seconds=when.second)
    return tuple(at + rest for at in instants_of(when.date(), when.hour * 60 + when.minute, zone))


def unread(names: Iterable[str], why: str) -> tuple[CalendarState, ...]:
    """Calendars that could not be read; they count as closed."""
    return tuple(CalendarState(name=name, open=False, problem=why) for name in names)
