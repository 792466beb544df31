"""The rate limit on messages to people.

Within any 60 minutes at most `most` messages are sent. A quarter of them, rounded up, is reserved
for what needs a person, and the last one for what stops all changes. What does not fit waits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from headroom.domain.state import Notice, Step

WINDOW = timedelta(minutes=60)
LEASE = timedelta(minutes=2)
"""How long one function sends messages since it last took a place; then another may take over."""
PATIENCE = timedelta(hours=1)
"""After how long a routine message may use the places of those that need a person."""

Counts = tuple[tuple[str, int], ...]
"""How many of each kind, sorted by kind."""


class Priority(IntEnum):
    """Which messages go first when not all may be sent."""

    ROUTINE = 0
    """What was done and whether it helped; escalations, which are sent once per episode."""
    NEEDS_YOU = 1
    """What failed, what did not help, what waits for a person."""
    STOPPED = 2
    """What stops or resumes all changes: breakers, pauses."""


STOPS = frozenset({Step.BREAKER_OPENED, Step.PAUSED, Step.RESUMED, Step.BREAKER_CLOSED})
NEEDS_YOU = frozenset(
    {Step.FAILED, Step.REFUSED, Step.UNKNOWN, Step.INEFFECTIVE, Step.AWAITING}
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RateWindow:
    """When messages were sent within the window, oldest first, and until when a function sends more."""

    sent: tuple[datetime, ...] = ()
    lease_until: datetime | None = None


def priority_of(step: Step) -> Priority:
    """Which messages are sent first when the hourly limit is reached."""
    if step in STOPS:
        return Priority.STOPPED
    return Priority.NEEDS_YOU if step in NEEDS_YOU else Priority.ROUTINE


def priority_at(notice: Notice, now: datetime) -> Priority:
    """The priority of a notice, higher once it has waited for long."""
    found = priority_of(notice.step)
    return max(found, Priority.NEEDS_YOU) if now - notice.at > PATIENCE else found


def priority_limit(priority: Priority, most: int) -> int:
    """How many messages may have been sent within the window after one of this priority."""
    match priority:
        case Priority.ROUTINE:
            return most - (most + 3) // 4
        case Priority.NEEDS_YOU:
            return max(1, most - 1)
        case Priority.STOPPED:
            return most


def take_place(
    rate_window: RateWindow, priority: Priority, *, now: datetime, most: int
) -> tuple[RateWindow, int]:
    """The rate window after one more message, and how many places there were for it; 0 is none.

    The lease is renewed either way. Instants ahead of `now` (another machine's clock) count as sent now.
    """
    sent = tuple(at for at in rate_window.sent if at > now - WINDOW)
    places = max(0, priority_limit(priority, most) - len(sent))
    sent = tuple(sorted((*sent, now))) if places else sent
    return RateWindow(sent=sent, lease_until=now + LEASE), places


def give_place_back(rate_window: RateWindow) -> RateWindow:
    """The rate window after the last message was certainly not sent."""
    return replace(rate_window, sent=rate_window.sent[:-1])


def lease_sending(rate_window: RateWindow, now: datetime) -> RateWindow | None:
    """The rate window with a lease on sending; None while another function has one."""
    until = rate_window.lease_until
    if until is not None and now < until <= now + LEASE:
        return None
    return replace(rate_window, lease_until=now + LEASE)


def release_sending(rate_window: RateWindow) -> RateWindow:
    """The rate window without a lease."""
    return replace(rate_window, lease_until=None)


def rate_window_to_text(rate_window: RateWindow) -> str:
    """The rate window as the ledger stores it: JSON."""
    until = rate_window.lease_until
    return json.dumps(
        {
            "sent": [at.astimezone(UTC).isoformat() for at in rate_window.sent],
            "lease_until": None if until is None else until.astimezone(UTC).isoformat(),
        },
        sort_keys=True, separators=(",", ":"),
    )  # fmt: skip


def parse_rate_window(text: str) -> RateWindow:
    """The rate window in a text of `rate_window_to_text`; a new one if it is missing or unreadable."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, Mapping):
            return RateWindow()
        until = plain.get("lease_until")
        return RateWindow(
            sent=tuple(_instant(at) for at in plain["sent"]),
            lease_until=None if until is None else _instant(until),
        )
    except (ValueError, TypeError, KeyError):
        return RateWindow()


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at
