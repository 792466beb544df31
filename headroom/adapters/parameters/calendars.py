"""Change Calendars of AWS Systems Manager: open, closed, or not to be read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from headroom.adapters.errors import reading
from headroom.domain.state import CalendarState
from headroom.ports import ReadFailed

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

CALENDAR_TTL = timedelta(minutes=1)
"""How long a calendar's state is cached: a scan reads it once, not for each volume."""
STATES = {"OPEN": True, "CLOSED": False}


class ManagerCalendars:
    """Calendars by name or ARN, each asked at most once a minute."""

    def __init__(self, client: SSMClient) -> None:
        self._client: Any = client
        self._asked: dict[str, tuple[datetime, CalendarState]] = {}

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
            with reading(f"GetCalendarState of {name}"):
                answer = self._client.get_calendar_state(
                    CalendarNames=[name], AtTime=now.astimezone(UTC).isoformat(timespec="seconds")
                )
                is_open = STATES[answer["State"]]
        except ReadFailed as error:
            return CalendarState(name=name, open=False, problem=str(error))
        changes_at = _instant(answer.get("NextTransitionTime"))
        return CalendarState(name=name, open=is_open, changes_at=changes_at)


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
