"""The settings of a policy: their names, what each may be, and how each is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS
from headroom.domain.policy.limits import CodeOwned, Mode, OneWay, TagsMay
from headroom.domain.policy.readers import (
    MOST_GIB,
    MOST_IOPS,
    MOST_MIBPS,
    MOST_USD,
    NEVER,
    NONE,
    SLOWEST_OBJECTIVE_MS,
    TARGET_TYPES,
    USUAL,
    Reader,
    days_or_usual,
    member,
    minutes,
    mode,
    money,
    money_or_never,
    objective_ms,
    real,
    some_minutes,
    types,
    whole,
    windows,
    written_money,
    yes_or_no,
)
from headroom.domain.policy.windows import MOST_WINDOWS
from headroom.domain.resources import Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: its field of Limits, how it is read, and what editors display."""

    name: str
    read: Reader
    schema: Mapping[str, object]
    """The JSON Schema of its value."""
    meaning: str


def _integer(name: str, low: int, high: int, meaning: str) -> Setting:
    schema = {"type": "integer", "minimum": low, "maximum": high}
    return Setting(name=name, read=whole(low, high), schema=schema, meaning=meaning)


def _boolean(name: str, meaning: str) -> Setting:
    return Setting(name=name, read=yes_or_no, schema={"type": "boolean"}, meaning=meaning)


def _one_of(kind: type[StrEnum]) -> Mapping[str, object]:
    return {"type": "string", "enum": [member.value for member in kind]}


MONEY_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"type": "number", "minimum": 0, "maximum": int(MOST_USD)}
)
SOME_TIME_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"type": "string", "pattern": "^(?=.)([0-9]{1,4}d)?([0-9]{1,5}h)?([0-9]{1,6}m)?$"}
)

DURATION_SCHEMA: Mapping[str, object] = MappingProxyType(
    {"oneOf": [dict(SOME_TIME_SCHEMA), {"const": 0}]}
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
            name="mode", read=mode, schema=_one_of(Mode),
            meaning="How far Headroom may go: off, observe, approve or auto.",
        ),
        "types": Setting(
            name="types", read=types,
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
            name="one_way", read=member(OneWay), schema=_one_of(OneWay),
            meaning="A change to a more durable type (io2), which Headroom never undoes: approve "
            "asks a person even under auto, allow, or never.",
        ),
        "largest_step": Setting(
            name="largest_step",
            read=real(1, 1_000, "a factor above 1 and at most 1,000", above=True),
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
            name="cooldown_minutes", read=minutes,
            schema=DURATION_SCHEMA,
            meaning="Quiet time after Headroom's own last change: 30m, 2h, 1h30m, at most 7d.",
        ),
        "headroom_percent": _integer(
            "headroom_percent", 0, 400, "Spare capacity planned above what is needed."
        ),
        "relief_value_usd_per_minute": Setting(
            name="relief_value_usd_per_minute",
            read=real(0, 1_000, "USD per starved minute, 0 to 1,000"),
            schema={"type": "number", "minimum": 0, "maximum": 1_000},
            meaning="What a starved minute is worth, in USD; preset is another way to say it.",
        ),
        "discount_percent": Setting(
            name="discount_percent", read=real(0, 75, "a percentage, 0 to 75"),
            schema={"type": "number", "minimum": 0, "maximum": 75},
            meaning="Your discount on AWS's list prices, in percent: every price is after it.",
        ),
        "give_back": _boolean(
            "give_back", "Whether IOPS and throughput that are not needed may be lowered again."
        ),
        "give_back_after_days": Setting(
            name="give_back_after_days", read=days_or_usual,
            schema={"oneOf": [{"type": "number", "minimum": 0, "maximum": 14}, {"const": USUAL}]},
            meaning="Measured days of a volume's load before anything of it is lowered; usual is 1, and 0.25 "
            "for volumes whose starved minute is worth a cent or less until something was raised. What "
            "somebody else raised is kept for a week, or for seven times as long as you say if that is less.",
        ),
        "min_iops": _integer(
            "min_iops", 0, MOST_IOPS, "Sustained IOPS that giving back must leave."
        ),
        "min_throughput_mibps": _integer(
            "min_throughput_mibps", 0, MOST_MIBPS,
            "Sustained throughput in MiB/s that giving back must leave.",
        ),
        "latency_objective_ms": Setting(
            name="latency_objective_ms", read=objective_ms,
            schema={
                "oneOf": [
                    {"type": "number", "minimum": 0.1, "maximum": SLOWEST_OBJECTIVE_MS},
                    {"const": NONE},
                ]
            },
            meaning="The latency you want, in ms: only then may a type with a lower latency be "
            "proposed for latency alone; none for no objective.",
        ),
        "infrastructure_as_code": Setting(
            name="infrastructure_as_code", read=member(CodeOwned), schema=_one_of(CodeOwned),
            meaning="What to do where code or a cluster owns the volume too: act, notify or leave.",
        ),
        "revert_wait": Setting(
            name="revert_wait_minutes", read=minutes, schema=DURATION_SCHEMA,
            meaning="How long a change that somebody else undid is not repeated: 12h, at most 7d.",
        ),
        "approve_above_usd_per_month": Setting(
            name="approve_above_usd", read=money_or_never,
            schema={"oneOf": [dict(MONEY_SCHEMA), {"const": NEVER}]},
            meaning="Under auto, a change that adds more than this a month waits for a person.",
        ),
        "approval_expires": Setting(
            name="approval_expires_minutes", read=some_minutes, schema=SOME_TIME_SCHEMA,
            meaning="How long a request for approval waits for a person: 30m, 8h, at most 7d.",
        ),
        "roll_back_ineffective": _boolean(
            "roll_back_ineffective", "Whether a raise that did not help is undone automatically."
        ),
        "change_windows": Setting(
            name="change_windows", read=windows, schema=WINDOWS_SCHEMA,
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
            name="aurora_goal", read=member(Goal), schema=_one_of(Goal),
            meaning="What an Aurora cluster's storage mode is chosen for: cost, or performance too.",
        ),
        "aurora_margin_percent": Setting(
            name="aurora_margin_percent", read=real(1, 90, "a percentage, 1 to 90"),
            schema={"type": "number", "minimum": 1, "maximum": 90},
            meaning="How much of an Aurora cluster's bill a change of its storage mode must save.",
        ),
        "aurora_slow_commit_ms": Setting(
            name="aurora_slow_commit_ms", read=real(0.1, 10_000, "milliseconds, 0.1 to 10,000"),
            schema={"type": "number", "minimum": 0.1, "maximum": 10_000},
            meaning="With aurora_goal performance: commits slower than this are slow.",
        ),
        "aurora_restart": _boolean(
            "aurora_restart",
            "Whether an Aurora engine may restart to change its storage mode (local NVMe only).",
        ),
        "tags_may": Setting(
            name="tags_may", read=member(TagsMay), schema=_one_of(TagsMay),
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
        return {"approve_above_usd_per_month": NEVER, "give_back_after_days": USUAL}.get(name, NONE)
    if name in ("cooldown", "revert_wait", "approval_expires"):
        return f"{value}m"
    if isinstance(value, Decimal):
        return written_money(value)
    if isinstance(value, tuple):
        return [str(one) for one in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return value
