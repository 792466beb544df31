"""A stable digest of domain values: same values, same digest, in every process."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

from headroom.domain.resources.observation import Series

_NAN = float("nan")


def digest(*values: object) -> str:
    """SHA-256 in hex over frozen dataclasses, tuples, enums, numbers, strings and instants.

    A dataclass too large to read member by member has a `summary_for_digest` that stands for it.
    Raises TypeError for anything whose text could differ between two processes.
    """
    state = hashlib.sha256()
    for value in values:
        _feed(state, value)
    return state.hexdigest()


def _feed(state: hashlib._Hash, value: object) -> None:
    if isinstance(value, Series):
        state.update(f"series {value.start.isoformat()} {value.period_s};".encode())
        numbers = [_NAN if v is None else v for v in value.values]
        state.update(struct.pack(f">{len(numbers)}d", *numbers))
    elif hasattr(value, "summary_for_digest"):
        _feed(state, value.summary_for_digest)
    elif is_dataclass(value) and not isinstance(value, type):
        state.update(f"{type(value).__name__}(".encode())
        for field in fields(value):
            member = getattr(value, field.name)
            if field.metadata.get("later"):
                if member == field.default:
                    continue
                state.update(f"{field.name}=".encode())
            _feed(state, member)
        state.update(b")")
    elif isinstance(value, tuple):
        state.update(f"[{len(value)}:".encode())
        for item in value:
            _feed(state, item)
    elif isinstance(value, Enum):
        state.update(f"{type(value).__name__}.{value.name};".encode())
    elif isinstance(value, datetime):
        state.update(f"{value.timestamp()!r};".encode())
    elif value is None or isinstance(value, str | int | float | bool) or hasattr(value, "as_tuple"):
        state.update(f"{type(value).__name__} {value!r};".encode())
    else:
        raise TypeError(f"a {type(value).__name__} has no stable digest")
