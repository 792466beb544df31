"""What a newer release wrote, read by an older one: fields that were added, and names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

E = TypeVar("E", bound=StrEnum)
LATER: Mapping[str, bool] = MappingProxyType({"later": True})
"""Marks a field that was added after values without it were stored and digested.

At its default it is neither stored nor digested, so earlier decisions keep their ids.
"""


def kept_as_text(kind: type[E], name: str) -> E:
    """`name` as a value of `kind` that equals its text and no member: for display, never to act on."""
    found = str.__new__(kind, name)
    found._name_ = found._value_ = name
    return found
