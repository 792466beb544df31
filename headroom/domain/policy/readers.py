"""How each kind of value in a policy is read: from what was written to the field's value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from types import MappingProxyType

from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.policy.limits import Mode
from headroom.domain.policy.windows import (
    MOST_WINDOWS,
    WindowError,
    Windows,
    canonical,
    parse_window,
)
from headroom.domain.resources import EBS_TYPES, VolumeType

ACCOUNT_PRICE = "price_increase_usd_per_month"
CODE_TAGS = "infrastructure_as_code_tags"
GROUP_TAG_KEY = "group_tag"
PRESETS: Mapping[str, float] = MappingProxyType(
    {"performance": 1.00, "balanced": 0.10, "thrift": 0.01}
)
"""What a starved minute is worth, in USD, under each preset."""
TARGET_TYPES = tuple(kind for kind in EBS_TYPES if kind is not VolumeType.STANDARD)
"""Types a volume may be changed to; standard is only ever left."""
MOST_IOPS = max(limits.iops[1] for limits in LIMITS.values() if limits.iops)
MOST_MIBPS = 4_000
"""Throughput of the fastest volume there is (io2). Source: Provisioned IOPS SSD volumes."""
MOST_GIB = max(limits.size_gib[1] for limits in LIMITS.values())
MOST_USD = Decimal(1_000_000)
LONGEST_KEY, LONGEST_VALUE = 128, 256
"""Characters of a tag. Source: EC2 User Guide, "Tag restrictions" (2026-09)."""
GROUP_TAG = "headroom:group"
"""Tag whose value names the striped set a volume belongs to; it is no setting."""
LONGEST_COOLDOWN_MINUTES = 7 * 24 * 60


class PolicyError(ValueError):
    """A policy that cannot be used; the message is one sentence that says where and why."""


def refuse(source: str, path: str, problem: str) -> PolicyError:
    """The error that says what is wrong at `path` inside `source`."""
    return PolicyError(f"{source}: {path} {problem}." if path else f"{source} {problem}.")


def value_text(value: object) -> str:
    """`value` as a message names it: short, and with the type where YAML is known to surprise."""
    match value:
        case None:
            return "empty"
        case bool():
            return f"the boolean {str(value).lower()}"
        case str():
            return repr(value) if len(value) <= 60 else repr(value[:57] + "...")
        case date():
            return f"the date {value}"
        case Mapping():
            return "a mapping"
        case Sequence():
            return "a list"
        case _:
            return str(value)[:60]


def whole(low: int, high: int) -> Reader:
    def read(value: object, source: str, path: str) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            wanted = f"a whole number from {low:,} to {high:,}, written without commas"
            raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
        return value

    return read


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e12:
        return None
    return float(value) if isfinite(value) else None


def real(low: float, high: float, wanted: str, *, above: bool = False) -> Reader:
    def read(value: object, source: str, path: str) -> object:
        number = _finite(value)
        if number is None or not low <= number <= high or (above and number == low):
            raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
        return number + 0.0  # no negative zero

    return read


def money(value: object, source: str, path: str) -> Decimal:
    """USD per month: a number of at most two decimals, zero or more."""
    if _finite(value) is not None:
        amount = Decimal(str(value))
        if 0 <= amount <= MOST_USD and amount == round(amount, 2):
            return Decimal(int(amount)) if amount == int(amount) else amount
    wanted = f"USD per month, 0 to {MOST_USD:,}, with at most two decimals"
    raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")


NEVER = "never"
NONE = "none"
USUAL = "usual"
SLOWEST_OBJECTIVE_MS = 1_000


def objective_ms(value: object, source: str, path: str) -> object:
    if value == NONE:
        return None
    wanted = f"milliseconds, 0.1 to {SLOWEST_OBJECTIVE_MS:,}, or {NONE}"
    return real(0.1, SLOWEST_OBJECTIVE_MS, wanted)(value, source, path)


def days_or_usual(value: object, source: str, path: str) -> object:
    if value == USUAL:
        return None
    return real(0, 14, f"a number of days, 0 to 14, or {USUAL}")(value, source, path)


def money_or_never(value: object, source: str, path: str) -> object:
    if value == NEVER:
        return None
    try:
        return money(value, source, path)
    except PolicyError:
        wanted = f"USD per month, 0 to {MOST_USD:,}, with at most two decimals, or {NEVER}"
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}") from None


def written_money(amount: Decimal) -> int | float:
    """The JSON number that `money` reads back as `amount`."""
    return int(amount) if amount == int(amount) else float(amount)


def mode(value: object, source: str, path: str) -> object:
    if value is False:
        return Mode.OFF  # YAML 1.1 reads a bare `off` as false
    return member(Mode)(value, source, path)


def types(value: object, source: str, path: str) -> object:
    allowed = ", ".join(TARGET_TYPES)
    if not isinstance(value, list | tuple):
        raise refuse(source, path, f"is {value_text(value)}; it must be a list of {allowed}")
    if not value:
        raise refuse(source, path, f"is empty; name at least one of {allowed}")
    found = []
    for one in value:
        if one == VolumeType.STANDARD:
            problem = f"names {one}, which Headroom never changes a volume to"
            raise refuse(source, path, f"{problem}; allowed are {allowed}")
        if not isinstance(one, str) or one not in TARGET_TYPES:
            raise refuse(source, path, f"names {value_text(one)}; allowed are {allowed}")
        if one in found:
            raise refuse(source, path, f"names {one} twice; once is enough")
        found.append(VolumeType(one))
    return tuple(found)


def yes_or_no(value: object, source: str, path: str) -> object:
    if not isinstance(value, bool):
        raise refuse(
            source, path, f"is {value_text(value)}; it must be true or false without quotes"
        )
    return value


def some_minutes(value: object, source: str, path: str) -> object:
    if (total := minutes(value, source, path)) == 0:
        problem = "is nothing; it must be a duration such as 30m, 2h or 1h30m, at most 7d"
        raise refuse(source, path, problem)
    return total


def minutes(value: object, source: str, path: str) -> object:
    wanted = "a duration such as 30m, 2h or 1h30m, at most 7d"
    if value == 0 and not isinstance(value, bool):
        return 0
    found = isinstance(value, str) and re.fullmatch(
        r"(?:([0-9]{1,4})d)?(?:([0-9]{1,5})h)?(?:([0-9]{1,6})m)?", value
    )
    if not found or not any(found.groups()):
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
    days, hours, minutes = (int(part or 0) for part in found.groups())
    total = (days * 24 + hours) * 60 + minutes
    if total > LONGEST_COOLDOWN_MINUTES:
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
    return total


def code_tags(value: object, source: str, path: str) -> tuple[tuple[str, str], ...]:
    """Tag keys, each with its values, as pairs; an empty mapping is none."""
    wanted = "a mapping of tag keys to a list of values, such as {managed-by: [terraform]}"
    if not isinstance(value, Mapping):
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
    found = []
    for key, values in value.items():
        listed = values if isinstance(values, list | tuple) else [values]
        if not isinstance(key, str) or not key or len(key) > LONGEST_KEY or not listed:
            raise refuse(
                source, path, f"has {value_text(key)}: {value_text(values)}; it must be {wanted}"
            )
        for one in listed:
            if not isinstance(one, str) or len(one) > LONGEST_VALUE:
                raise refuse(source, path, f"has {value_text(one)} under {key}; write it in quotes")
            found.append((key, one))
    return tuple(sorted(set(found)))


def written_code_tags(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The JSON mapping that `code_tags` reads back as `pairs`, in the order of their keys."""
    return {key: [v for k, v in pairs if k == key] for key, _ in pairs}


def group_tag(value: object, source: str, path: str) -> str:
    """A tag's key; of the keys that begin with `headroom` only the usual one, which is no setting."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_KEY:
        plain = value.lower()
        own = plain.startswith(("headroom", "aws:")) and plain != GROUP_TAG
        if not own and value == value.strip() and value.isprintable():
            return value
    wanted = f"a tag key of 1 to {LONGEST_KEY} characters that is not Headroom's or AWS's own"
    raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")


Reader = Callable[[object, str, str], object]
"""Turns what was written (value, source, path) into a field's value; raises PolicyError."""


def member(kind: type[StrEnum]) -> Reader:
    def read(value: object, source: str, path: str) -> object:
        if isinstance(value, str) and value in set(kind):
            return kind(value)
        raise refuse(source, path, f"is {value_text(value)}; known are {', '.join(kind)}")

    return read


def windows(value: object, source: str, path: str) -> object:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list | tuple):
        wanted = "a list of windows such as Mon-Fri 22:00-06:00 Europe/Berlin"
        raise refuse(source, path, f"is {value_text(value)}; it must be {wanted}")
    found: Windows = ()
    for one in listed:
        if not isinstance(one, str):
            raise refuse(source, path, f"has {value_text(one)}; write it in quotes")
        try:
            found = canonical((*found, parse_window(one)))
        except WindowError as problem:
            raise refuse(source, path, f"has {value_text(one)}, which {problem}") from None
    if len(found) > MOST_WINDOWS:
        raise refuse(source, path, f"has {len(found)} windows; {MOST_WINDOWS} is the most")
    return found
