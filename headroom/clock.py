"""The clock of everything deployed; the local endpoint replaces it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The instant now. Nothing in environment, event or policy changes it."""
    return datetime.now(UTC)
