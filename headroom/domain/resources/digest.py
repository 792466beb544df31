"""A stable digest of domain values: same values, same digest, in every process."""

from __future__ import annotations

import hashlib
import struct
import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType

from headroom.domain.resources.observation import Series

_NAN = float("nan")
_MISSING = struct.pack(">d", _NAN)
_PLAIN = frozenset({str, int, float, bool, NoneType, Decimal})
"""The most frequent types, looked up first."""


def digest(*values: object) -> str:
    """SHA-256 in hex over frozen dataclasses, tuples, enums, numbers, strings and instants.

    A dataclass too large to read member by member has a `summary_for_digest` that stands for it.
    Raises TypeError for anything whose text could differ between two processes.
    """
    parts: list[bytes | array[float]] = []
    for value in values:
        _feed(parts.append, value)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _feed(put: Callable[[bytes | array[float]], None], value: object) -> None:
    kind = type(value)
    if kind in _PLAIN:
        put(f"{kind.__name__} {value!r};".encode())
    elif isinstance(value, Series):
        put(f"series {value.start.isoformat()} {value.period_s};".encode())
        put(_packed(value.values))
    elif isinstance(value, Enum):
        put(f"{kind.__name__}.{value.name};".encode())
    elif isinstance(value, tuple):
        put(f"[{len(value)}:".encode())
        for item in value:
            _feed(put, item)
    elif isinstance(value, datetime):
        put(f"{value.timestamp()!r};".encode())
    elif hasattr(value, "summary_for_digest"):
        _feed(put, value.summary_for_digest)
    elif is_dataclass(value) and not isinstance(value, type):
        put(f"{kind.__name__}(".encode())
        for name, later, default in _members(type(value)):
            member = getattr(value, name)
            if later:
                if member == default:
                    continue
                put(f"{name}=".encode())
            _feed(put, member)
        put(b")")
    elif isinstance(value, str | int | float | Decimal):
        put(f"{kind.__name__} {value!r};".encode())
    else:
        raise TypeError(f"a {kind.__name__} has no stable digest")


@cache
def _members(kind: type) -> tuple[tuple[str, bool, object], ...]:
    """Name and default of every field of a dataclass, and whether it was added later."""
    return tuple((f.name, bool(f.metadata.get("later")), f.default) for f in fields(kind))


def big_endian(values: Sequence[float]) -> array[float]:
    """The numbers as doubles of the same bytes on every machine."""
    found = array("d", struct.Struct(f"{len(values)}d").pack(*values))
    if sys.byteorder == "little":  # swapped at once: one by one takes half as long again
        found.byteswap()
    return found


def _packed(values: tuple[float | None, ...]) -> bytes | array[float]:
    """The numbers as bytes; usually nothing is missing but what is before the first and after the last."""
    first, last = bisect_left(values, True, key=_is_known), len(values)
    while last > first and values[last - 1] is None:
        last -= 1
    try:
        if values[:first] == (None,) * first:
            known = big_endian(values[first:last])  # type: ignore[arg-type]  # None is refused
            return b"".join((_MISSING * first, known, _MISSING * (len(values) - last)))
    except struct.error:
        pass
    return big_endian([_NAN if v is None else v for v in values])


def _is_known(value: float | None) -> bool:
    return value is not None
