"""Change windows: the hours of a week, in local time, in which changes may start.

A window is open whenever the local time is in it. If it begins in the hour that the clock skips in
spring, it begins with the next hour. If it lies entirely in that hour, it does not open that day. An
hour that the clock repeats in autumn counts both times.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MINUTES = 24 * 60
MOST_WINDOWS = 16
LONGEST_ZONE = 40
AHEAD_DAYS = 16
"""How far ahead an opening is searched: two weeks, as one day's may fall into a skipped hour."""
_SPAN = re.compile(
    r"(?P<days>\S+)\s+(?P<begins>\d{2}:\d{2})-(?P<ends>\d{2}:\d{2})\s+(?P<zone>[A-Za-z0-9_+\-/]+)"
)

_PLACE = re.compile(r"(?!posix/|right/)[A-Z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+)+")
"""Abbreviations such as EST are left out: they mean other hours to other people."""


class WindowError(ValueError):
    """A window that cannot be understood; the message says what it must be, without its text."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """Hours of some days: minutes of the local day, `ends` on the next day if not after `begins`.

    `days` are those it begins on, Monday being 0; `ends` is at most 1,440, the day's end.
    """

    days: tuple[int, ...]
    begins: int
    ends: int
    zone: str
    """A time zone of the IANA database, such as Europe/Berlin, or UTC."""

    def shows(self, wall: datetime) -> bool:
        """Whether a clock that shows `wall` (no time zone) is within the hours."""
        minute = wall.hour * 60 + wall.minute
        today = wall.weekday() in self.days
        if self.begins < self.ends:
            return today and self.begins <= minute < self.ends
        yesterday = (wall.weekday() - 1) % 7 in self.days
        return (today and minute >= self.begins) or (yesterday and minute < self.ends)

    def __str__(self) -> str:
        return f"{_days_text(self.days)} {_clock(self.begins)}-{_clock(self.ends)} {self.zone}"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ChangeWindow:
    """Open while all of its spans are; more than one where a tag narrowed what a policy allows."""

    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return " & ".join(str(span) for span in self.spans)


Windows = tuple[ChangeWindow, ...]
"""Open while any of them is; none at all means any time. Canonical: see `canonical`."""


def parse_window(text: str) -> ChangeWindow:
    """The window in a text like `Mon-Fri 22:00-06:00 Europe/Berlin`; raises WindowError.

    Days are names, ranges (`Fri-Mon`) or lists of them (`Sat,Sun`); several spans joined by `&`
    must all be open.
    """
    return ChangeWindow(spans=tuple(sorted({_span(part) for part in text.split("&")})))


def _span(text: str) -> Span:
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise WindowError("must be days, hours and a time zone: Mon-Fri 22:00-06:00 Europe/Berlin")
    begins, ends = (_minute(found[name]) for name in ("begins", "ends"))
    if begins >= DAY_MINUTES:
        raise WindowError("begins at 24:00; write 00:00 and the day after")
    ends = ends or DAY_MINUTES
    if begins == ends % DAY_MINUTES and ends != DAY_MINUTES:
        raise WindowError("begins and ends at the same time; a whole day is 00:00-24:00")
    zone = found["zone"]
    zone_of(zone)
    return Span(days=days_of(found["days"]), begins=begins, ends=ends, zone=zone)


def zone_of(name: str) -> ZoneInfo:
    """The time zone of that name; raises WindowError when there is no such zone."""
    try:
        if len(name) > LONGEST_ZONE or not (name == "UTC" or _PLACE.fullmatch(name)):
            raise ValueError(name)
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise WindowError("names no time zone there is; one is like Europe/Berlin or UTC") from None


def _minute(text: str) -> int:
    hour, minute = int(text[:2]), int(text[3:])
    if minute > 59 or hour * 60 + minute > DAY_MINUTES:
        raise WindowError("has hours that no day has; they go from 00:00 to 24:00")
    return hour * 60 + minute


def days_of(text: str) -> tuple[int, ...]:
    """Days of the week in a text like `Fri-Mon` or `Sat,Sun`, Monday being 0; raises WindowError."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        numbers = [_day(name) for name in ([first, last] if dash else [first])]
        span = (numbers[-1] - numbers[0]) % 7
        found |= {(numbers[0] + n) % 7 for n in range(span + 1)}
    return tuple(sorted(found))


def _day(name: str) -> int:
    plain = name[:1].upper() + name[1:].lower()
    if plain not in DAYS:
        raise WindowError(f"names no day of the week; they are {', '.join(DAYS)}")
    return DAYS.index(plain)


def _days_text(days: tuple[int, ...]) -> str:
    """Runs of three and more as ranges, the rest by name."""
    runs: list[list[int]] = []
    for day in days:
        if runs and day == runs[-1][-1] + 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    texts = (
        f"{DAYS[run[0]]}-{DAYS[run[-1]]}" if len(run) > 2 else ",".join(DAYS[d] for d in run)
        for run in runs
    )
    return ",".join(texts)


def _clock(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def canonical(windows: Iterable[ChangeWindow]) -> Windows:
    """The same windows in one order, each once, without those that another one contains."""
    found = set(windows)
    kept = (w for w in found if not any(set(o.spans) < set(w.spans) for o in found))
    return tuple(sorted(kept))


def both(one: Windows, other: Windows) -> Windows:
    """Windows that are open when `one` and `other` both are."""
    if not one or not other:
        return one or other
    return canonical(
        ChangeWindow(spans=tuple(sorted({*a.spans, *b.spans}))) for a in one for b in other
    )


def is_open(windows: Windows, at: datetime) -> bool:
    """Whether changes may be started at `at`; always where there are no windows."""
    return not windows or any(
        all(span.shows(_wall(at, span.zone)) for span in window.spans) for window in windows
    )


@lru_cache(maxsize=512)
def next_opening(windows: Windows, at: datetime) -> datetime | None:
    """The first instant from `at` on at which they are open, exactly; None if there is none."""
    return at if is_open(windows, at) else _first(windows, at, lambda then: is_open(windows, then))


@lru_cache(maxsize=512)
def next_closing(windows: Windows, at: datetime) -> datetime | None:
    """The first instant from `at` on at which they are not open; None if they stay open."""
    if not is_open(windows, at):
        return at
    return _first(windows, at, lambda then: not is_open(windows, then))


def never_opens(windows: Windows) -> bool:
    """Whether windows are never open, in summer or in winter: spans that exclude each other."""
    seasons = (datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 7, 6, tzinfo=UTC))
    return all(next_opening(windows, at) is None for at in seasons)


def _wall(at: datetime, zone: str) -> datetime:
    return at.astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def _first(windows: Windows, at: datetime, wanted: Callable[[datetime], bool]) -> datetime | None:
    """The first of the instants after `at`, at which anything can change, that is wanted."""
    spans = {span for window in windows for span in window.spans}
    instants = {then for span in spans for then in _edges(span, at)}
    for zone in {span.zone for span in spans}:
        instants |= set(jumps(zone, at, at + timedelta(days=AHEAD_DAYS)))
    return next((then for then in sorted(instants) if then > at and wanted(then)), None)


def _edges(span: Span, at: datetime) -> Iterator[datetime]:
    """Every instant of the days around `at` at which the clock there shows a begin or an end."""
    today = _wall(at, span.zone).date()
    for ahead in range(-1, AHEAD_DAYS + 1):
        for minute in (span.begins, span.ends):
            yield from instants_of(today + timedelta(days=ahead), minute, span.zone)


def instants_of(day: date, minute: int, zone: str) -> tuple[datetime, datetime]:
    """When the clock there shows this minute of a local day, in UTC: twice the same but in autumn.

    In the skipped hour of spring they are the same hour before and after it.
    """
    wall = datetime.combine(day, time()) + timedelta(minutes=minute)
    first, second = (
        wall.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)
    )
    return first, second


def jumps(zone: str, since: datetime, until: datetime) -> Sequence[datetime]:
    """The instants in (since, until] at which the clock there is put forward or back."""
    where, found = ZoneInfo(zone), []
    step = timedelta(days=1)
    while since < until:
        then = min(since + step, until)
        if since.astimezone(where).utcoffset() != then.astimezone(where).utcoffset():
            found.append(_jump(where, since, then))
        since = then
    return found


def _jump(where: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The one instant between the two at which the offset changes, to the second."""
    old = before.astimezone(where).utcoffset()
    low, high = int(before.timestamp()), int(-(-after.timestamp() // 1))
    while high - low > 1:
        middle = (low + high) // 2
        same = datetime.fromtimestamp(middle, UTC).astimezone(where).utcoffset() == old
        low, high = (middle, high) if same else (low, middle)
    return datetime.fromtimestamp(high, UTC)
