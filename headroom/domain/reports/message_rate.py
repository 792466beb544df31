"""The rate limit on messages to people.

Within any 60 minutes at most `most` messages are sent. A quarter of them, rounded up, is reserved
for what needs a person, and the last one for what stops all changes. Messages over the limit are
dropped; the next message says how many, by kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum

WINDOW = timedelta(minutes=60)
KINDS_KEPT = 40
"""Kinds of message counted apart; more than there are, a bound all the same."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RateWindow:
    """What was sent within the window, oldest first, and what was dropped and not yet reported."""

    sent: tuple[datetime, ...] = ()
    dropped: Counts = ()
    """Since the last message, which reported the earlier ones."""
    since: datetime | None = None
    """When the first of them was dropped."""
    of_day: Counts = ()
    """Withheld since the last digest, whether told since or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateDecision:
    """Whether one message may be sent, and which dropped ones it must report."""

    allowed: bool
    dropped: Counts = ()
    since: datetime | None = None


def priority_limit(priority: Priority, most: int) -> int:
    """How many messages may have been sent within the window after one of this priority."""
    match priority:
        case Priority.ROUTINE:
            return most - (most + 3) // 4
        case Priority.NEEDS_YOU:
            return max(1, most - 1)
        case Priority.STOPPED:
            return most


def admit_message(
    rate_window: RateWindow, kind: str, priority: Priority, *, now: datetime, most: int
) -> tuple[RateWindow, RateDecision]:
    """The rate window after one more message, and whether that may be sent.

    Instants ahead of `now` (another machine's clock) count as sent now.
    """
    sent = tuple(at for at in rate_window.sent if at > now - WINDOW)
    if len(sent) >= priority_limit(priority, most):
        return _drop(replace(rate_window, sent=sent), ((kind, 1),), now), RateDecision(
            allowed=False
        )
    decision = RateDecision(allowed=True, dropped=rate_window.dropped, since=rate_window.since)
    kept = (*sent, now)[-most:] if most > 0 else ()
    return replace(rate_window, sent=tuple(sorted(kept)), dropped=(), since=None), decision


def refund(
    rate_window: RateWindow, kind: str, admission: RateDecision, *, now: datetime
) -> RateWindow:
    """The rate window after an admitted message failed: it counts as dropped, with what it reported.

    Its place in the window is not freed, because it may have been sent after all.
    """
    again = _drop(rate_window, ((kind, 1),), admission.since or now)
    return replace(again, dropped=_add(again.dropped, admission.dropped))


def after_digest(rate_window: RateWindow, reported: Counts) -> RateWindow:
    """The rate window after a digest reported `reported` (what `of_day` was when it was read)."""
    left = dict(rate_window.of_day)
    for kind, count in reported:
        left[kind] = max(0, left.get(kind, 0) - count)
    return replace(rate_window, of_day=_counts(left))


def rate_window_to_text(rate_window: RateWindow) -> str:
    """The rate window as the ledger stores it: JSON."""
    return json.dumps(
        {
            "sent": [at.astimezone(UTC).isoformat() for at in rate_window.sent],
            "dropped": dict(rate_window.dropped),
            "since": None if rate_window.since is None else rate_window.since.astimezone(UTC).isoformat(),
            "of_day": dict(rate_window.of_day),
        },
        sort_keys=True, separators=(",", ":"),
    )  # fmt: skip


def parse_rate_window(text: str) -> RateWindow:
    """The rate window in a text of `rate_window_to_text`; a new one for an empty text. Raises ValueError."""
    if not text:
        return RateWindow()
    plain = json.loads(text)
    if not isinstance(plain, Mapping):
        raise ValueError("no rate window")
    since = plain.get("since")
    return RateWindow(
        sent=tuple(_instant(at) for at in plain.get("sent", ())),
        dropped=_counts(plain.get("dropped", {})),
        since=None if since is None else _instant(since),
        of_day=_counts(plain.get("of_day", {})),
    )


def _drop(rate_window: RateWindow, counts: Counts, since: datetime) -> RateWindow:
    return replace(
        rate_window,
        dropped=_add(rate_window.dropped, counts),
        since=since if rate_window.since is None else min(rate_window.since, since),
        of_day=_add(rate_window.of_day, counts),
    )


def _add(one: Counts, other: Sequence[tuple[str, int]]) -> Counts:
    added = dict(one)
    for kind, count in other:
        added[kind] = added.get(kind, 0) + count
    return _counts(added)


def _counts(plain: Mapping[str, int]) -> Counts:
    found = sorted((str(kind), int(count)) for kind, count in plain.items() if int(count) > 0)
    return tuple(found[:KINDS_KEPT])


def _instant(text: str) -> datetime:
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at
