"""Wildcards of policies: `*` for any characters, `?` for one.

Source: IAM User Guide, "IAM JSON policy elements: Resource" and "String condition operators" (2026-11).
"""

from __future__ import annotations

import re
from functools import lru_cache

_SEGMENTS = 5
"""Colons that part an ARN; the rest, the resource, may hold more."""


def text_matches(pattern: str, value: str) -> bool:
    """Whether a whole text matches; letters count as they are."""
    return pattern == value or _compiled(pattern).fullmatch(value) is not None


def arn_matches(pattern: str, value: str) -> bool:
    """Whether an ARN matches: part by part, so that no wildcard spans two parts; `*` matches all."""
    if pattern in ("*", value):
        return True
    patterns, values = pattern.split(":", _SEGMENTS), value.split(":", _SEGMENTS)
    return len(patterns) == len(values) and all(map(text_matches, patterns, values))


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(c) or re.escape(c) for c in pattern), re.DOTALL)
