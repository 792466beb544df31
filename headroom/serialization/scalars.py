"""Instants, durations, numbers and names as JSON's own types and back; what is no such thing raises."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from headroom.domain.state import ProfileHour


def instant_text(at: datetime) -> str:
    """ISO 8601 in UTC with a Z; microseconds only when there are some."""
    if at.tzinfo is None:
        raise ValueError(f"{at!r} has no time zone; pass an aware instant.")
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_instant(text: object, _: object = None) -> datetime:
    """An instant in UTC; one without a time zone is refused."""
    at = datetime.fromisoformat(read_text(text))
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return at.astimezone(UTC)


_DURATION = re.compile(r"(-?)PT(\d+)(?:\.(\d{6}))?S")


def duration_text(value: timedelta) -> str:
    """ISO 8601 in seconds."""
    micro = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micro), 1_000_000)
    return f"{'-' if micro < 0 else ''}PT{whole}{f'.{rest:06}' if rest else ''}S"


def read_duration(text: object, _: object) -> timedelta:
    """A duration as `duration_text` writes it."""
    found = _DURATION.fullmatch(read_text(text))
    if found is None:
        raise ValueError(f"{text!r} is not a duration in seconds")
    sign, whole, rest = found.groups()
    value = timedelta(seconds=int(whole), microseconds=int(rest or 0))
    return -value if sign else value


def read_text(value: object, _: object = None) -> str:
    """Text and nothing else."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def read_integer(value: object, _: object) -> int:
    """A whole number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def read_float(value: object, _: object) -> float:
    """A number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} is not a number")
    return float(value)


def read_boolean(value: object, _: object) -> bool:
    """True or false and nothing else."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is not true or false")
    return value


def quantity_out(value: Any) -> Any:
    """A Decimal beside strings needs a mark to come back as one."""
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    return [*value] if isinstance(value, tuple) else value


def quantity_in(plain: Any, _: object) -> Any:
    """A quantity as `quantity_out` writes it."""
    if isinstance(plain, dict):
        return Decimal(read_text(plain["decimal"]))
    return tuple(read_text(part) for part in plain) if isinstance(plain, list) else plain


def hour_out(hour: ProfileHour) -> list[float | bool]:
    """An hour of a profile as a list."""
    return [*hour]


def hour_in(plain: Any, _: object) -> ProfileHour:
    """An hour as `hour_out` writes it."""
    return ProfileHour(*plain)
