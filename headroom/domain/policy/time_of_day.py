"""A time of day in a time zone, and the instants at which it comes, daylight saving and all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

FORM = r"([01][0-9]|2[0-3]):([0-5][0-9])(?: ([A-Za-z][A-Za-z0-9_+\-]*(?:/[A-Za-z0-9_+\-]+){0,2}))?"
"""Such as 07:00 or 07:00 Europe/Berlin; without a zone it is UTC."""
LONGEST_ZONE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOfDay:
    """An hour and minute on the clocks of a time zone (a name of the IANA database)."""

    hour: int
    minute: int
    zone: str = "UTC"

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02} {self.zone}"


def time_of_day(text: str) -> TimeOfDay:
    """The time of day that `text` names; raises ValueError. The zone itself is not looked up."""
    found = re.fullmatch(FORM, text)
    if found is None or len(found[3] or "") > LONGEST_ZONE:
        raise ValueError(f"{text!r} is no time of day such as 07:00 Europe/Berlin")
    return TimeOfDay(hour=int(found[1]), minute=int(found[2]), zone=found[3] or "UTC")


def zone_or_none(name: str) -> tzinfo | None:
    """The time zone of that name; None where there is none, or no time zone data."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        return None


def latest(at: TimeOfDay, now: datetime) -> datetime:
    """The last instant until `now`, in UTC, at which those clocks showed that time: one a day.

    A time that the clocks skip comes as much later as they skip; of a time they show twice the
    first counts. A zone without data counts as UTC.
    """
    zone = zone_or_none(at.zone) or UTC
    today = now.astimezone(zone).date()
    shown = time(at.hour, at.minute)
    days = (today + timedelta(days=offset) for offset in (1, 0, -1, -2))
    instants = (datetime.combine(day, shown, tzinfo=zone).astimezone(UTC) for day in days)
    return max(instant for instant in instants if instant <= now)
