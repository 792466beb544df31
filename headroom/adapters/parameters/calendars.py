"""Change Calendars of AWS Systems Manager: open, closed, or not to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headroom.adapters.errors import reading
from headroom.domain.state import CalendarState
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

CALENDAR_TTL = timedelta(minutes=1)
"""How long a calendar's state is cached: a scan reads it once, not for each volume."""
AHEAD, AHEAD_TTL = timedelta(days=8), timedelta(hours=1)
"""How far ahead it is asked when it will be closed, and how long the answer is cached."""
AGAIN = timedelta(minutes=5)
"""After which that is asked again if it failed."""
MOST_ASKED = 20
"""Calls for one such answer."""
STATES = {"OPEN": True, "CLOSED": False}


class ManagerCalendars:
    """Calendars by name or ARN, each asked at most once a minute, and once an hour for the coming days."""

    def __init__(self, client: SSMClient) -> None:
        self._client: Any = client
        self._asked: dict[str, tuple[datetime, CalendarState]] = {}
        self._ahead: dict[str, tuple[datetime, CalendarState]] = {}

    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarState, ...]:
        """What each of them says at `now`; one that cannot be read is closed, and says why."""
        return tuple(self._seen(name, now) for name in names)

    def _seen(self, name: str, now: datetime) -> CalendarState:
        at, known = self._asked.get(name, (None, None))
        if at is not None and known is not None and _holds(known, at, now):
            return known
        found = self._ask(name, now)
        self._asked[name] = now, found
        return found

    def _ask(self, name: str, now: datetime) -> CalendarState:
        try:
            state = self._state(name, now)
        except ReadFailed as error:
            return CalendarState(name=name, open=False, problem=str(error))
        at, known = self._ahead.get(name, (now, None))
        same = (
            known is not None and known.open == state.open and known.changes_at == state.changes_at
        )
        if known is None or not same or now >= at + AHEAD_TTL:
            found, complete = self._with_coming(state, now)
            if known is not None and same and not complete:
                found = known  # nothing says that it changed
            self._ahead[name] = now if complete else now - AHEAD_TTL + AGAIN, found
        return self._ahead[name][1]

    def _state(self, name: str, at: datetime) -> CalendarState:
        with reading(f"GetCalendarState of {name}"):
            answer = self._client.get_calendar_state(
                CalendarNames=[name], AtTime=at.astimezone(UTC).isoformat(timespec="seconds")
            )
            changes_at = _instant(answer.get("NextTransitionTime"))
            return CalendarState(name=name, open=STATES[answer["State"]], changes_at=changes_at)

    def _with_coming(self, state: CalendarState, now: datetime) -> tuple[CalendarState, bool]:
        """The state with when it is closed in the coming days, as far as it says so, and whether it answered each time."""
        closed: list[tuple[datetime, datetime]] = []
        latest, at = state, state.changes_at
        for _ in range(MOST_ASKED):
            if at is None or not now < at < now + AHEAD:
                break
            try:
                found = self._state(state.name, at)
            except ReadFailed:
                return replace(state, closed_ahead=tuple(closed)), False
            if found.open == latest.open or (found.changes_at or now + AHEAD) <= at:
                break
            if not found.open:
                closed.append((at, found.changes_at or at + AHEAD))
            latest, at = found, found.changes_at
        return replace(state, closed_ahead=tuple(closed)), True


def _holds(known: CalendarState, at: datetime, now: datetime) -> bool:
    """Whether what a calendar said at `at` is still to be believed."""
    changed = known.changes_at is not None and at < known.changes_at <= now
    return at <= now < at + CALENDAR_TTL and not changed


def _instant(text: object) -> datetime | None:
    """The instant that AWS names, None where it names none that is understood; UTC unless said."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    if at is None:
        return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC)
