"""The owner's limits for one resource, and which of two limits is narrower."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from headroom.domain.policy.windows import Windows, both
from headroom.domain.resources import Goal, Kind, VolumeType


class Mode(StrEnum):
    """How far Headroom may go with a resource; each mode includes the ones before."""

    OFF = "off"
    OBSERVE = "observe"
    APPROVE = "approve"
    AUTO = "auto"


class TagsMay(StrEnum):
    """What the tags on a resource may do to the limits that the policy sets for it."""

    NARROW = "narrow"
    """Tighten any limit, including the mode; wider values are ignored."""
    ENROL = "enrol"
    """The same, and they may also choose the mode: `headroom: auto` enrols."""
    WIDEN = "widen"
    """Set anything that a policy could."""


class CodeOwned(StrEnum):
    """How to treat a volume whose settings code or a cluster manages as well."""

    ACT = "act"
    """Change it like any other, and report the values to write back."""
    NOTIFY = "notify"
    """Never change it; notify its owner of the values to write there."""
    LEAVE = "leave"
    """Never change it, and do not notify."""


class OneWay(StrEnum):
    """What to do with a change of type that Headroom could never undo: io2 is more durable."""

    APPROVE = "approve"
    """Ask a person, whatever the mode and the price."""
    ALLOW = "allow"
    """Make it like any other."""
    NEVER = "never"
    """Never make it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the owner allows for one resource. Sizes GiB, throughput MiB/s, money USD per month."""

    mode: Mode = Mode.OBSERVE
    types: tuple[VolumeType, ...] = (VolumeType.GP3, VolumeType.IO2)
    max_iops: int = 16_000
    max_throughput_mibps: int = 1_000
    max_size_gib: int = 16_384
    growth: bool = False
    """Whether size may grow for the sake of IOPS or throughput; it can never be undone."""
    full_copy: bool = False
    """Whether RDS may be made to copy all data of a database, for hours and never back."""
    one_way: OneWay = OneWay.APPROVE
    """Whether the type may become one that Headroom never leaves again."""
    largest_step: float = 4.0
    price_increase_usd: Decimal = Decimal(250)
    """Most the monthly price may exceed the price at enrolment."""
    slots_reserve: int = 1
    """Of AWS's four modifications per 24 h, how many are left for people."""
    cooldown_minutes: int = 0
    """Quiet time after Headroom's own last change."""
    headroom_percent: int = 10
    """Spare capacity planned above what is needed."""
    discount_percent: float = 0.0
    """What the owner pays less than AWS's list prices."""
    relief_value_usd_per_minute: float = 0.10
    """What a starved minute is worth to the owner."""
    give_back: bool = True
    """Whether IOPS and throughput that are not needed may be lowered again (size never)."""
    give_back_after_days: float | None = None
    """Least measured days before anything is lowered; None is the usual, see `least_days`."""
    min_iops: int = 0
    """Sustained IOPS that giving back must leave."""
    min_throughput_mibps: int = 0
    """Sustained throughput that giving back must leave."""
    latency_objective_ms: float | None = None
    """The latency the owner wants; without it no type is proposed for its latency."""
    infrastructure_as_code: CodeOwned = CodeOwned.ACT
    """What is done where code or a cluster says what the volume should be."""
    revert_wait_minutes: int = 7 * 24 * 60
    """How long a change that somebody else undid is not repeated."""
    approve_above_usd: Decimal | None = None
    """Under `auto`: a change that adds more than this to the monthly price needs a person."""
    approval_expires_minutes: int = 8 * 60
    """How long a request for approval waits, and an approval counts."""
    roll_back_ineffective: bool = False
    """Whether a raise that did not help is undone automatically."""
    change_windows: Windows = ()
    """When changes may be started; at any time if there are none."""
    grow_space: bool = False
    """Whether storage may grow before it is full; it can never be undone."""
    free_space_percent: int = 10
    """Share of the storage that should stay free."""
    space_horizon_days: int = 14
    """For how many days growth should be enough."""
    aurora_goal: Goal = Goal.COST
    """Of an Aurora cluster: whether its storage mode is chosen for money, or for commits too."""
    aurora_margin_percent: float = 10.0
    """How much of its bill a change of its mode must save: the way forward shuts for 30 days."""
    aurora_slow_commit_ms: float = 10.0
    """With the goal `performance`: commits slower than this are slow."""
    aurora_restart: bool = False
    """Whether its engine may restart, which a change of mode takes where members have local NVMe."""
    tags_may: TagsMay = TagsMay.ENROL
    """What the resource's own tags may do to all of the above."""

    def usual_days(self, kind: Kind) -> float:
        """`give_back_after_days` of a resource of this kind where nobody says it.

        A day. Of a volume whose starved minute is worth a cent or less a quarter of one: a day of what no load has
        used costs more there than an hour or two of a load that nobody could foresee. A database can change once in
        six hours only.
        """
        cheap = kind is Kind.EBS and self.relief_value_usd_per_minute <= A_CENT
        return LEAST_DAYS_AT_A_CENT if cheap else LEAST_DAYS

    def least_days(self, kind: Kind, *, raised: bool = False) -> float:
        """Least measured days before anything is lowered; the usual quarter of a day only until something was `raised`."""
        usual, said = self.usual_days(kind), self.give_back_after_days
        if raised and said in (None, usual):
            return LEAST_DAYS
        return usual if said is None else said


LEAST_DAYS, LEAST_DAYS_AT_A_CENT, A_CENT = 1.0, 0.25, 0.01
RDS_CEILINGS: tuple[tuple[str, int], ...] = (("max_iops", 64_000), ("max_throughput_mibps", 4_000))
"""The ceilings of databases, by field of Limits, where the policy says nothing else.

From the striping threshold on gp3 begins at 12,000 IOPS and 500 MiB/s and ends at these.
Source: RDS User Guide, "Amazon RDS DB instance storage" (checked 2026-10).
"""


def _asks_sooner(one: Decimal | None, other: Decimal | None) -> Decimal | None:
    return min((amount for amount in (one, other) if amount is not None), default=None)


def _slower(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _longer(one: float | None, other: float | None) -> float | None:
    """The longer wait, `one` where that is unclear: the usual one, None, is a day at most."""
    if one is not None and other is not None:
        return max(one, other)
    said = one if other is None else other
    return one if said is None or said < LEAST_DAYS else said


MODES = tuple(Mode)
"""Modes, the least permission first."""
_GOALS = (Goal.COST, Goal.PERFORMANCE)
"""The one that never spends first."""
_CODE = (CodeOwned.LEAVE, CodeOwned.NOTIFY, CodeOwned.ACT)
_ONE_WAY = (OneWay.NEVER, OneWay.APPROVE, OneWay.ALLOW)
"""The least permission first."""


def _fewer(one: tuple[VolumeType, ...], other: tuple[VolumeType, ...]) -> tuple[VolumeType, ...]:
    return tuple(kind for kind in one if kind in other)


def _both_allow(one: bool, other: bool) -> bool:
    return one and other


NARROWER: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        # Narrower is what makes Headroom do less or spend less.
        "mode": lambda one, other: min(one, other, key=MODES.index),
        "types": _fewer,
        "max_iops": min,
        "max_throughput_mibps": min,
        "max_size_gib": min,
        "growth": _both_allow,
        "full_copy": _both_allow,
        "one_way": lambda one, other: min(one, other, key=_ONE_WAY.index),
        "largest_step": min,
        "price_increase_usd": min,
        "slots_reserve": max,
        "cooldown_minutes": max,
        "headroom_percent": min,
        "discount_percent": min,
        "relief_value_usd_per_minute": min,
        "give_back": _both_allow,
        "give_back_after_days": _longer,
        "min_iops": max,
        "min_throughput_mibps": max,
        "latency_objective_ms": _slower,
        "infrastructure_as_code": lambda one, other: min(one, other, key=_CODE.index),
        "revert_wait_minutes": max,
        "approve_above_usd": _asks_sooner,
        "approval_expires_minutes": min,
        "roll_back_ineffective": _both_allow,
        "change_windows": both,
        "grow_space": _both_allow,
        "free_space_percent": min,
        "space_horizon_days": min,
        "aurora_goal": lambda one, other: min(one, other, key=_GOALS.index),
        "aurora_margin_percent": max,
        "aurora_slow_commit_ms": max,
        "aurora_restart": _both_allow,
    }
)
"""Of two values of a field the narrower, the first's order kept; every field but `tags_may`."""


TRADE_OFF_SETTINGS = frozenset(
    {"headroom_percent", "relief_value_usd_per_minute", "discount_percent"}
)
"""Fields of which less raises less but, under `give_back`, lowers more: then neither is narrower."""


def narrower(field: str, before: Any, asked: Any, *, give_back: bool) -> Any:
    """What `asked` may make of `before` without allowing anything more, `give_back` in force."""
    if give_back and field in TRADE_OFF_SETTINGS:
        return before
    return NARROWER[field](before, asked)


def no_wider(one: Limits, other: Limits) -> bool:
    """Whether `one` allows nothing, in any field, that `other` does not."""
    weighed_alike = all(getattr(one, name) == getattr(other, name) for name in TRADE_OFF_SETTINGS)
    waits = all(one.least_days(kind) >= other.least_days(kind) for kind in Kind)
    return ((weighed_alike and waits) or not one.give_back) and all(
        least(getattr(one, name), getattr(other, name)) == getattr(one, name)
        for name, least in NARROWER.items()
        if name != "give_back_after_days"
    )
