"""When `rate(...)`, `cron(...)` and `at(...)` fire.

Source: EventBridge Scheduler User Guide, "Schedule types" (checked 2026-10). A rate fires at
whole multiples since 1970 here, where AWS counts from the schedule's creation.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_RATE = re.compile(r"^rate\((\d+)\s+(minute|hour|day)s?\)$")
_CRON = re.compile(r"^cron\((.+)\)$")
_AT = re.compile(r"^at\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\)$")
_UNIT_MINUTES = {"minute": 1, "hour": 60, "day": 1440}
_MONTHS = {name: n for n, name in enumerate(calendar.month_abbr) if name}
_DAYS = {"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7}

Fires = Callable[[datetime], bool]
"""Whether a schedule fires in the minute that starts at an instant (in its own time zone)."""


class BadSchedule(ValueError):
    """Not a schedule expression this endpoint knows."""


def fires(expression: str, minute: datetime, zone: str = "UTC") -> bool:
    """Whether the schedule fires at `minute` (a whole UTC minute); raises BadSchedule."""
    test = _parsed(expression.strip())
    return test(minute.astimezone(ZoneInfo(zone)) if zone != "UTC" else minute)


def check(expression: str, zone: str | None = None) -> None:
    """Raise BadSchedule unless a schedule can fire by this expression in this time zone."""
    _parsed(expression.strip())
    if zone not in (None, "UTC"):
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            raise BadSchedule(f"{zone} is no time zone.") from None


def check_rule(expression: str) -> None:
    """Raise BadSchedule unless a rule can have this expression: no `at`, and a unit that agrees."""
    _parsed(expression)
    rate = _RATE.match(expression)
    if expression.startswith("at(") or (
        rate and (int(rate.group(1)) == 1) is expression.endswith("s)")
    ):
        raise BadSchedule(f"A rule cannot have the schedule {expression!r}.")


@lru_cache(maxsize=256)
def _parsed(expression: str) -> Fires:
    rate = _RATE.match(expression)
    if rate:
        step = int(rate.group(1)) * _UNIT_MINUTES[rate.group(2)]
        if step == 0:
            raise BadSchedule(f"{expression} never fires.")
        return lambda at: int(at.timestamp()) // 60 % step == 0
    once = _AT.match(expression)
    if once:
        try:
            instant = datetime.fromisoformat(once.group(1)).replace(second=0)
        except ValueError as error:
            raise BadSchedule(f"Cannot read the schedule {expression!r}: {error}") from error
        return lambda at: at.replace(tzinfo=None) == instant
    cron = _CRON.match(expression)
    if cron:
        return _cron(cron.group(1).split(), expression)
    raise BadSchedule(f"Cannot read the schedule {expression!r}.")


def _cron(fields: list[str], expression: str) -> Fires:
    if len(fields) != 6:
        raise BadSchedule(f"{expression} must have six fields.")
    if (fields[2] == "?") is (fields[4] == "?"):
        raise BadSchedule(f"{expression} must have ? for either the day of month or of week.")
    try:
        minutes, hours = _field(fields[0], 0, 59), _field(fields[1], 0, 23)
        months = _field(fields[3].upper(), 1, 12, {k.upper(): v for k, v in _MONTHS.items()})
        years = _field(fields[5], 1970, 2199)
        month_days, week_days = _month_days(fields[2]), _week_days(fields[4].upper())
    except (ValueError, KeyError) as error:
        raise BadSchedule(f"Cannot read the schedule {expression!r}: {error}") from error
    return lambda at: (
        at.minute in minutes
        and at.hour in hours
        and at.month in months
        and at.year in years
        and month_days(at)
        and week_days(at)
    )


def _field(text: str, low: int, high: int, names: dict[str, int] | None = None) -> frozenset[int]:
    def number(text: str) -> int:
        return names[text] if names and text in names else int(text)

    found: set[int] = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        if span in ("*", "?"):
            first, last = low, high
        elif "-" in span:
            first, last = (number(part) for part in span.split("-"))
        else:
            first = number(span)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    if not found or min(found) < low or max(found) > high:
        raise ValueError(f"{text} is out of {low}-{high}")
    return frozenset(found)


def _month_days(text: str) -> Fires:
    if text == "L":
        return lambda at: (at + timedelta(days=1)).month != at.month
    days = _field(text, 1, 31)
    return lambda at: at.day in days


def _week_days(text: str) -> Fires:
    nth = re.match(r"^(\w+)#([1-5])$", text)
    if nth:
        day = _DAYS.get(nth.group(1)) or int(nth.group(1))
        return lambda at: at.isoweekday() % 7 + 1 == day and (at.day - 1) // 7 + 1 == int(nth[2])
    days = _field(text, 1, 7, _DAYS)
    return lambda at: at.isoweekday() % 7 + 1 in days


def whole_minute(instant: datetime) -> datetime:
    """The start of the minute, in UTC."""
    return instant.astimezone(UTC).replace(second=0, microsecond=0)
