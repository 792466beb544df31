"""The settings of a policy: their names, what each may be, and how each is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from math import isfinite
from types import MappingProxyType

from headroom.domain.catalog.ebs import LIMITS, MAX_MODIFICATIONS
from headroom.domain.policy.limits import CodeOwned, Mode, OneWay, TagsMay
from headroom.domain.policy.windows import (
    MOST_WINDOWS,
    WindowError,
    Windows,
    canonical,
    parse_window,
)
from headroom.domain.resources import EBS_TYPES, Goal, VolumeType

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


def _whole(low: int, high: int) -> Reader:
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


def _real(low: float, high: float, wanted: str, *, above: bool = False) -> Reader:
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
SLOWEST_OBJECTIVE_MS = 1_000


def _objective_ms(value: object, source: str, path: str) -> object:
    if value == NONE:
        return None
    wanted = f"milliseconds, 0.1 to {SLOWEST_OBJECTIVE_MS:,}, or {NONE}"
    return _real(0.1, SLOWEST_OBJECTIVE_MS, wanted)(value, source, path)


def _money_or_never(value: object, source: str, path: str) -> object:
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


def _mode(value: object, source: str, path: str) -> object:
    if value is False:
        return Mode.OFF  # YAML 1.1 reads a bare `off` as false
    return _member(Mode)(value, source, path)


def _types(value: object, source: str, path: str) -> object:
    allowed = ", ".join(TARGET_TYPES)
    if not isinstance(value, list | tuple) or not value:
        raise refuse(source, path, f"is {value_text(value)}; it must be a list of {allowed}")
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


def _yes_or_no(value: object, source: str, path: str) -> object:
    if not isinstance(value, bool):
        raise refuse(
            source, path, f"is {value_text(value)}; it must be true or false without quotes"
        )
    return value


def _some_minutes(value: object, source: str, path: str) -> object:
    if (total := _minutes(value, source, path)) == 0:
        problem = "is nothing; it must be a duration such as 30m, 2h or 1h30m, at most 7d"
        raise refuse(source, path, problem)
    return total


def _minutes(value: object, source: str, path: str) -> object:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: the field of Limits it is, how it is read, and what editors are told of it."""

    name: str
    read: Reader
    schema: Mapping[str, object]
    """Its value in words of JSON Schema."""
    meaning: str


def _member(kind: type[StrEnum]) -> Reader:
    def read(value: object, source: str, path: str) -> object:
        if isinstance(value, str) and value in set(kind):
            return kind(value)
        raise refuse(source, path, f"is {value_text(value)}; known are {', '.join(kind)}")

    return read


def _windows(value: object, source: str, path: str) -> object:
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


def _integer(name: str, low: int, high: int, meaning: str) -> Setting:
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Setting(name=name, read=_whole(low, high), schema=schema, meaning=meaning)


def _boolean(name: str, meaning: str) -> Setting:
    return Setting(name=name, read=_yes_or_no, schema={"type": "boolean"}, meaning=meaning)


def _one_of(kind: type[StrEnum]) -> Mapping[str, object]:
    return {"type": "string", "enum": [member.value for member in kind]}


MONEY_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"type": "number", "minimum": 0, "maximum": int(MOST_USD)}
)
SOME_TIME_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"type": "string", "pattern": "^(?=.)([0-9]{1,4}d)?([0-9]{1,5}h)?([0-9]{1,6}m)?$"}
)

DURATION_SCHEMA: Mapping[str, object] = MappingProxyType(
    {
        "oneOf": [
            dict(SOME_TIME_SCHEMA),
            {"const": 0},
        ]
    }
)
_SPAN = (
    r"\s*[A-Za-z]{3}(-[A-Za-z]{3})?(,[A-Za-z]{3}(-[A-Za-z]{3})?)*\s+[0-9]{2}:[0-9]{2}-[0-9]{2}:[0-9]{2}"
    r"\s+[A-Z][A-Za-z0-9_+\-/]*\s*"
)
_WINDOW: Mapping[str, object] = {"type": "string", "pattern": f"^{_SPAN}(&{_SPAN})*$"}
WINDOWS_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"oneOf": [{"type": "array", "items": _WINDOW, "maxItems": MOST_WINDOWS}, _WINDOW]}
)

FRIENDLY: Mapping[str, Setting] = MappingProxyType(
    {
        "mode": Setting(
            name="mode", read=_mode, schema=_one_of(Mode),
            meaning="How far Headroom may go: off, observe, approve or auto.",
        ),
        "types": Setting(
            name="types", read=_types,
            schema={
                "type": "array", "minItems": 1, "uniqueItems": True,
                "items": {"enum": [kind.value for kind in TARGET_TYPES]},
            },
            meaning="Types a volume may be changed to; st1 and sc1 only back from an SSD type.",
        ),
        "max_iops": _integer("max_iops", 100, MOST_IOPS, "Ceiling on provisioned IOPS."),
        "max_throughput_mibps": _integer(
            "max_throughput_mibps", 1, MOST_MIBPS, "Ceiling on throughput in MiB/s."
        ),
        "max_size_gib": _integer("max_size_gib", 1, MOST_GIB, "Ceiling on size in GiB."),
        "growth": _boolean(
            "growth", "Whether size may grow for IOPS or throughput; AWS can never undo it."
        ),
        "full_copy": _boolean(
            "full_copy",
            "Whether a database's storage may be changed so that RDS copies all its data for hours.",
        ),
        "one_way": Setting(
            name="one_way", read=_member(OneWay), schema=_one_of(OneWay),
            meaning="A change to a more durable type (io2), which Headroom never undoes: approve "
            "asks a person even under auto, allow, or never.",
        ),
        "largest_step": Setting(
            name="largest_step",
            read=_real(1, 1_000, "a factor above 1 and at most 1,000", above=True),
            schema={"type": "number", "exclusiveMinimum": 1, "maximum": 1_000},
            meaning="The most that IOPS and MiB/s may be multiplied by in one change.",
        ),
        "price_increase_usd_per_month": Setting(
            name="price_increase_usd", read=money, schema=MONEY_SCHEMA,
            meaning="The most the monthly price may exceed the price at enrolment, in USD.",
        ),
        "slots_reserve": _integer(
            "slots_reserve", 0, MAX_MODIFICATIONS,
            "Of AWS's four changes per volume and 24 hours, how many are left for people.",
        ),
        "cooldown": Setting(
            name="cooldown_minutes", read=_minutes,
            schema=DURATION_SCHEMA,
            meaning="Quiet time after Headroom's own last change: 30m, 2h, 1h30m, at most 7d.",
        ),
        "headroom_percent": _integer(
            "headroom_percent", 0, 400, "Spare capacity planned above what is needed."
        ),
        "relief_value_usd_per_minute": Setting(
            name="relief_value_usd_per_minute",
            read=_real(0, 1_000, "USD per starved minute, 0 to 1,000"),
            schema={"type": "number", "minimum": 0, "maximum": 1_000},
            meaning="What a starved minute is worth, in USD; preset is another way to say it.",
        ),
        "discount_percent": Setting(
            name="discount_percent", read=_real(0, 75, "a percentage, 0 to 75"),
            schema={"type": "number", "minimum": 0, "maximum": 75},
            meaning="Your discount on AWS's list prices, in percent: every price is after it.",
        ),
        "give_back": _boolean(
            "give_back", "Whether IOPS and throughput that are not needed may be lowered again."
        ),
        "give_back_after_days": Setting(
            name="give_back_after_days", read=_real(0, 14, "a number of days, 0 to 14"),
            schema={"type": "number", "minimum": 0, "maximum": 14},
            meaning="Measured days of a volume's load before anything of it is lowered.",
        ),
        "min_iops": _integer(
            "min_iops", 0, MOST_IOPS, "Sustained IOPS that giving back must leave."
        ),
        "min_throughput_mibps": _integer(
            "min_throughput_mibps", 0, MOST_MIBPS,
            "Sustained throughput in MiB/s that giving back must leave.",
        ),
        "latency_objective_ms": Setting(
            name="latency_objective_ms", read=_objective_ms,
            schema={
                "oneOf": [
                    {"type": "number", "minimum": 0.1, "maximum": SLOWEST_OBJECTIVE_MS},
                    {"const": NONE},
                ]
            },
            meaning="The latency you want, in ms: only then may a type with a lower latency be "
            "proposed for latency alone; none for no wish.",
        ),
        "infrastructure_as_code": Setting(
            name="infrastructure_as_code", read=_member(CodeOwned), schema=_one_of(CodeOwned),
            meaning="What to do where code or a cluster owns the volume too: act, notify or leave.",
        ),
        "revert_wait": Setting(
            name="revert_wait_minutes", read=_minutes, schema=DURATION_SCHEMA,
            meaning="How long what somebody else undid is not done again: 12h, at most 7d.",
        ),
        "approve_above_usd_per_month": Setting(
            name="approve_above_usd", read=_money_or_never,
            schema={"oneOf": [dict(MONEY_SCHEMA), {"const": NEVER}]},
            meaning="Under auto, a change that adds more than this a month waits for a person.",
        ),
        "approval_expires": Setting(
            name="approval_expires_minutes", read=_some_minutes, schema=SOME_TIME_SCHEMA,
            meaning="How long a request for approval waits for a person: 30m, 8h, at most 7d.",
        ),
        "roll_back_ineffective": _boolean(
            "roll_back_ineffective", "Whether a raise that proved not to help is undone by itself."
        ),
        "change_windows": Setting(
            name="change_windows", read=_windows, schema=WINDOWS_SCHEMA,
            meaning="When changes may be started, such as Mon-Fri 22:00-06:00 Europe/Berlin; "
            "at any time if the list is empty.",
        ),
        "grow_space": _boolean(
            "grow_space",
            "Whether storage may grow before it is full; AWS can never undo it.",
        ),
        "free_space_percent": _integer(
            "free_space_percent", 1, 50, "Share of the storage that should stay free."
        ),
        "space_horizon_days": _integer(
            "space_horizon_days", 2, 90, "For how many days a growth of storage should be enough."
        ),
        "aurora_goal": Setting(
            name="aurora_goal", read=_member(Goal), schema=_one_of(Goal),
            meaning="What an Aurora cluster's storage mode is chosen for: cost, or performance too.",
        ),
        "aurora_margin_percent": Setting(
            name="aurora_margin_percent", read=_real(1, 90, "a percentage, 1 to 90"),
            schema={"type": "number", "minimum": 1, "maximum": 90},
            meaning="How much of an Aurora cluster's bill a change of its storage mode must save.",
        ),
        "aurora_slow_commit_ms": Setting(
            name="aurora_slow_commit_ms", read=_real(0.1, 10_000, "milliseconds, 0.1 to 10,000"),
            schema={"type": "number", "minimum": 0.1, "maximum": 10_000},
            meaning="With aurora_goal performance: commits slower than this are slow.",
        ),
        "aurora_restart": _boolean(
            "aurora_restart",
            "Whether an Aurora engine may restart to change its storage mode (local NVMe only).",
        ),
        "tags_may": Setting(
            name="tags_may", read=_member(TagsMay), schema=_one_of(TagsMay),
            meaning="What a volume's own headroom: tags may do: narrow, enrol or widen.",
        ),
    }
)  # fmt: skip
"""Every setting by the name it has in a policy."""
POLICY_NAMES: Mapping[str, str] = MappingProxyType({s.name: name for name, s in FRIENDLY.items()})
"""What a policy calls each field of Limits."""


def plain_value(name: str, value: object) -> object:
    """The JSON value of a setting; its reader gives `value` back."""
    if value is None:
        return NEVER if name == "approve_above_usd_per_month" else NONE
    if name in ("cooldown", "revert_wait", "approval_expires"):
        return f"{value}m"
    if isinstance(value, Decimal):
        return written_money(value)
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value
