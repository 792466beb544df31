"""Text of strangers as it may be printed to a terminal."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """The text with ? for each control, format or unassigned character but line feed and tab."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "?" if unicodedata.category(c).startswith("C") and c not in "\n\t" else c for c in text
    )
