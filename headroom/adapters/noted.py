"""What was noted of one storage at an earlier look, read back from its text."""

from __future__ import annotations

import logging
from typing import TypeVar

from headroom.serialization import Unreadable, from_json

T = TypeVar("T")
_log = logging.getLogger(__name__)


def understood(text: str, kind: type[T], *, about: str) -> T | None:
    """The note in `text`; one that nobody understands is none, and what it is about is seen anew."""
    if not text:
        return None
    try:
        found: T = from_json(text, kind)
    except Unreadable as problem:
        _log.warning("a note about a %s is not understood: %s", about, problem)
        return None
    return found
