"""How far the record was told to others: what is new in it, once and in order.

Records carry the instant they are about and come into the index a moment later, from functions
that run at once; so a stretch before the cursor is read again, and what was told of it is known
by key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

OVERLAP = timedelta(minutes=15)
"""Longer than a function takes from the instant it records to the record, and than the index
lags; a person's clock that is further behind than this goes unheard."""
LEASE = timedelta(minutes=3)
"""How long one function is the one that tells; then another may take over, and tell again what
the first did not note."""
MOST_KEPT = 10_000
"""Keys kept of what was told, 30 bytes each: more than are told within the overlap. Where more
records than that are so close together, what comes late among them goes untold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingCursor:
    """Where telling stands."""

    cursor: datetime | None = None
    """All up to here was told, but for what comes late; None before the first time."""
    published: tuple[tuple[int, str], ...] = ()
    """Records told within the overlap, oldest first: second of the epoch and key."""
    announced: tuple[str, ...] = ()
    """Keys of records that people heard of and that are not told to the bus yet."""
    lease_until: datetime | None = None

    def since(self, now: datetime) -> datetime:
        """From when on the record is read: not from where the keys of what was told were dropped.

        Else the oldest would be told for ever, and nothing after them.
        """
        start = (self.cursor or now) - OVERLAP
        if self.cursor is None or len(self.published) < MOST_KEPT:
            return start
        known_from = datetime.fromtimestamp(self.published[0][0] + 1, UTC)
        return max(start, min(self.cursor, known_from))

    def has_published(self, key: str) -> bool:
        """Whether the record of that key was told."""
        return any(key == known for _, known in self.published)


def record_key(decision_id: str, sequence: int) -> str:
    """A short name of a record."""
    return hashlib.sha256(f"{decision_id}/{sequence}".encode()).hexdigest()[:12]


def lease_cursor(tail: PublishingCursor, now: datetime) -> PublishingCursor | None:
    """The tail with a lease on it; None while somebody else has one. The first one begins it."""
    if tail.lease_until is not None and now < tail.lease_until <= now + LEASE:
        return None
    return replace(tail, cursor=tail.cursor or now, lease_until=now + LEASE)


def advance_cursor(
    tail: PublishingCursor,
    *,
    published: Iterable[tuple[datetime, str]],
    announced: Iterable[str],
    undone: datetime | None,
    now: datetime,
) -> PublishingCursor:
    """The tail once `told` were; `undone` is the instant of the first record that was not.

    The cursor never goes back, and not past what is undone.
    """
    reached = now if undone is None else min(undone, now)
    cursor = reached if tail.cursor is None else max(tail.cursor, reached)
    keys = {key: second for second, key in tail.published}
    keys |= {key: int(at.timestamp()) for at, key in published}
    oldest = int((cursor - OVERLAP).timestamp())
    kept = sorted((second, key) for key, second in keys.items() if second >= oldest)
    heard = {*tail.announced, *announced} - keys.keys()
    return PublishingCursor(
        cursor=cursor, published=tuple(kept[-MOST_KEPT:]), announced=tuple(sorted(heard)),
        lease_until=None,
    )  # fmt: skip


def cursor_to_text(tail: PublishingCursor) -> str:
    """The tail as the ledger keeps it: JSON."""
    return json.dumps(
        {
            "cursor": _text(tail.cursor),
            "published": [[second, key] for second, key in tail.published],
            "announced": list(tail.announced),
            "lease_until": _text(tail.lease_until),
        },
        sort_keys=True, separators=(",", ":"),
    )  # fmt: skip


def parse_publishing_cursor(text: str) -> PublishingCursor:
    """The tail in a text of `text_of`; a fresh one where there is none or it cannot be read."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, Mapping):
            return PublishingCursor()
        return PublishingCursor(
            cursor=_instant(plain["cursor"]),
            published=tuple((int(second), str(key)) for second, key in plain["published"]),
            announced=tuple(str(key) for key in plain["announced"]),
            lease_until=_instant(plain["lease_until"]),
        )
    except (ValueError, TypeError, KeyError):
        return PublishingCursor()


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat()


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at
