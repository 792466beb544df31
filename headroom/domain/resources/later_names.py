"""Names that a newer release wrote, read by an older one."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

E = TypeVar("E", bound=StrEnum)


def kept_as_text(kind: type[E], name: str) -> E:
    """`name` as a value of `kind` that equals its text and no member: for display, never to act on."""
    found = str.__new__(kind, name)
    found._name_ = found._value_ = name
    return found
