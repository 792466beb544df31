"""The publishing cursor: up to where records were published, once and in order.

A record enters the index a moment after its own instant, and functions run concurrently. So an
overlap before the cursor is read again, and the keys of published records are remembered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

OVERLAP = timedelta(minutes=15)
"""Longer than a function takes to write a record, and than the index lags. Records from a client
whose clock is further behind are not published."""
FIRST = timedelta(days=1)
"""How far back a new deployment begins: its first runs may have failed while workers recorded."""
LEASE = timedelta(minutes=3)
"""How long one function publishes; then another may take over and repeat what the first did not
note."""
MOST_KEPT = 10_000
"""Published keys that are kept, 30 bytes each. With more records than this within the overlap, late
ones among them are not published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingCursor:
    """The stored position of publishing."""

    cursor: datetime | None = None
    """Everything before this was published, except late records; None before the first run."""
    published: tuple[tuple[int, str], ...] = ()
    """Records published within the overlap, oldest first: second of the epoch and key."""
    lease_until: datetime | None = None

    def since(self, now: datetime) -> datetime:
        """From when records are read: never before the oldest kept key.

        Otherwise the oldest records would be published again and again.
        """
        start = (self.cursor or now - FIRST) - OVERLAP
        if self.cursor is None or len(self.published) < MOST_KEPT:
            return start
        known_from = datetime.fromtimestamp(self.published[0][0] + 1, UTC)
        return max(start, min(self.cursor, known_from))

    def has_published(self, key: str) -> bool:
        """Whether the record with that key was published."""
        return any(key == known for _, known in self.published)


def record_key(decision_id: str, sequence: int) -> str:
    """A short name of a record."""
    return hashlib.sha256(f"{decision_id}/{sequence}".encode()).hexdigest()[:12]


def lease_cursor(publishing_cursor: PublishingCursor, now: datetime) -> PublishingCursor | None:
    """The cursor with a lease on it; None while another function has one."""
    if (
        publishing_cursor.lease_until is not None
        and now < publishing_cursor.lease_until <= now + LEASE
    ):
        return None
    return replace(
        publishing_cursor,
        cursor=publishing_cursor.cursor or now - FIRST,
        lease_until=now + LEASE,
    )


def advance_cursor(
    publishing_cursor: PublishingCursor,
    *,
    published: Iterable[tuple[datetime, str]],
    undone: datetime | None,
    now: datetime,
) -> PublishingCursor:
    """The cursor after `published`; `undone` is the instant of the first unpublished record.

    The cursor never goes back, and never past `undone`.
    """
    reached = now if undone is None else min(undone, now)
    cursor = reached if publishing_cursor.cursor is None else max(publishing_cursor.cursor, reached)
    keys = {key: second for second, key in publishing_cursor.published}
    keys |= {key: int(at.timestamp()) for at, key in published}
    oldest = int((cursor - OVERLAP).timestamp())
    kept = sorted((second, key) for key, second in keys.items() if second >= oldest)
    return PublishingCursor(cursor=cursor, published=tuple(kept[-MOST_KEPT:]), lease_until=None)


def cursor_to_text(publishing_cursor: PublishingCursor) -> str:
    """The cursor as the ledger stores it: JSON."""
    return json.dumps(
        {
            "cursor": _text(publishing_cursor.cursor),
            "published": [[second, key] for second, key in publishing_cursor.published],
            "lease_until": _text(publishing_cursor.lease_until),
        },
        sort_keys=True, separators=(",", ":"),
    )  # fmt: skip


def parse_publishing_cursor(text: str) -> PublishingCursor:
    """The cursor in a text of `cursor_to_text`; a new one if it is missing or unreadable."""
    try:
        plain = json.loads(text)
        if not isinstance(plain, Mapping):
            return PublishingCursor()
        return PublishingCursor(
            cursor=_instant(plain["cursor"]),
            published=tuple((int(second), str(key)) for second, key in plain["published"]),
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
