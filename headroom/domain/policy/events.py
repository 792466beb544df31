"""Known events: load that the owner knows of before it comes, such as a month's end.

An event is no permission: every limit holds during it as at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from headroom.domain.policy.freezes import Freeze, frozen_until
from headroom.domain.policy.selector import Selector
from headroom.domain.policy.windows import (
    DAYS,
    WindowError,
    Windows,
    days_of,
    instants_of,
    is_open,
    next_closing,
    next_opening,
    zone_of,
)

MINUTE = timedelta(minutes=1)
IN_TIME = timedelta(minutes=40)
"""How long before an event a raise for it has to start: AWS says minutes to hours until it has its effect."""
LONGEST_CLOSED = timedelta(days=15)
MOST_EVENTS = 20
LONGEST_NAME = 60
IN_SIGHT = timedelta(hours=22)
"""How long before it begins an event is surely in the coming day, and a raise for it is considered."""
FORM = (
    r"(?:daily|weekly (?P<days>[A-Za-z]{3}(?:[,-][A-Za-z]{3})*)"
    r"|monthly (?P<day>[12][0-9]|3[01]|[1-9]|last)|once (?P<on>[0-9]{4}-[0-9]{2}-[0-9]{2}))"
    r" (?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]) (?P<zone>[A-Z][A-Za-z0-9_+\-/]*)"
)
SCHEDULE_PATTERN = "^" + re.sub(r"\?P<\w+>", "?:", FORM) + "$"
"""The same without names, for editors."""
LAST = "last"


class Repeats(StrEnum):
    """How often an event comes."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    ONCE = "once"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Schedule:
    """When an event begins: a minute of the local days that `rhythm` names."""

    rhythm: Repeats
    minute: int
    """Of the local day, 0 to 1,439."""
    zone: str
    """A time zone of the IANA database, or UTC."""
    days: tuple[int, ...] = ()
    """Weekly: days of the week, Monday being 0."""
    day: int = 0
    """Monthly: the day; in a shorter month its last day, as 31 for `last`."""
    on: date | None = None
    """Once: the local day."""

    def __str__(self) -> str:
        at = f"{self.minute // 60:02}:{self.minute % 60:02} {self.zone}"
        match self.rhythm:
            case Repeats.DAILY:
                return f"daily {at}"
            case Repeats.WEEKLY:
                return f"weekly {','.join(DAYS[day] for day in self.days)} {at}"
            case Repeats.MONTHLY:
                return f"monthly {LAST if self.day == 31 else self.day} {at}"
            case Repeats.ONCE:
                return f"once {self.on} {at}"

    def comes_on(self, day: date) -> bool:
        """Whether an event begins on this local day."""
        match self.rhythm:
            case Repeats.DAILY:
                return True
            case Repeats.WEEKLY:
                return day.weekday() in self.days
            case Repeats.MONTHLY:
                last = (day + timedelta(days=1)).day == 1
                return day.day == self.day or (last and day.day < self.day)
            case Repeats.ONCE:
                return day == self.on


def parse_schedule(text: str) -> Schedule:
    """The schedule in a text like `monthly 28 22:00 Europe/Berlin`; raises WindowError."""
    found = re.fullmatch(FORM, text.strip())
    if found is None:
        raise WindowError(
            "must be daily, weekly DAYS, monthly DAY or once DATE, then a time and a time zone: "
            "monthly 28 22:00 Europe/Berlin"
        )
    zone_of(found["zone"])
    try:
        on = None if found["on"] is None else date.fromisoformat(found["on"])
    except ValueError:
        raise WindowError("has a date that there is not") from None
    return Schedule(
        rhythm=Repeats(text.split()[0]), zone=found["zone"], on=on,
        minute=60 * int(found["hour"]) + int(found["minute"]),
        days=days_of(found["days"]) if found["days"] else (),
        day=31 if found["day"] == LAST else int(found["day"] or 0),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEvent:
    """Load that the owner announces for the resources that `selector` matches."""

    name: str
    schedule: Schedule
    minutes: int
    """How long it lasts."""
    iops: int = 0
    """Operations/s that it takes; 0 where the owner says nothing of them."""
    throughput_mibps: int = 0
    """The same in MiB/s."""
    selector: Selector = Selector()  # noqa: RUF009 - it is frozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One time that a known event comes: [start, end) in UTC, and what it takes."""

    start: datetime
    end: datetime
    iops: int
    """0 where the owner says nothing of operations."""
    mibps: int
    """0 where the owner says nothing of throughput."""
    name: str


def occurrences(
    events: Sequence[KnownEvent], start: datetime, end: datetime
) -> tuple[Occurrence, ...]:
    """Every time that one of the events is on within [start, end), by their start.

    One that has begun before `start` or goes on after `end` counts, with its own start and end. A
    time that the clock skips in spring comes an hour earlier, one that it repeats in autumn first.
    """
    found = (one for event in events for one in _of(event, start, end))
    return tuple(sorted(found, key=lambda one: (one.start, one.end, one.name)))


def _of(event: KnownEvent, start: datetime, end: datetime) -> Iterator[Occurrence]:
    schedule, length = event.schedule, timedelta(minutes=event.minutes)
    zone = zone_of(schedule.zone)
    day = (start - length).astimezone(zone).date() - timedelta(days=1)
    until = end.astimezone(zone).date() + timedelta(days=1)
    while day <= until:
        if schedule.comes_on(day):
            begins = min(instants_of(day, schedule.minute, schedule.zone))
            if begins < end and start < begins + length:
                yield Occurrence(
                    start=begins, end=begins + length, iops=event.iops,
                    mibps=event.throughput_mibps, name=event.name,
                )  # fmt: skip
        day += timedelta(days=1)


def last_chance(
    windows: Windows, freezes: tuple[Freeze, ...], start: datetime, *, now: datetime
) -> datetime | None:
    """The last instant up to `start` until which a change may start in time; None if there is none.

    Closed windows are looked at for `LONGEST_CLOSED` before it, and before each freeze.
    """

    def may_start(at: datetime) -> bool:
        return is_open(windows, at) and frozen_until(freezes, at) is None

    if may_start(max(now, start - IN_TIME)):
        return start
    ends = {freeze.begins for freeze in freezes if now < freeze.begins < start}
    for until in (start, *ends) if windows else ():
        then: datetime | None = max(now, until - LONGEST_CLOSED)
        while then is not None and then < until:
            closing = next_closing(windows, then)
            if closing is None or closing >= until:
                break
            ends = ends | {closing}
            then = next_opening(windows, closing)
    return max((at for at in ends if at > now and may_start(at - MINUTE)), default=None)
