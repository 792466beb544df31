"""What a guardrail says about a plan: the numbers, and yes or no derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from functools import cached_property
from math import isfinite
from types import MappingProxyType
from typing import assert_never

from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration, Deferring, Kind

Quantity = int | float | Decimal | str | bool | None


class Guardrail(StrEnum):
    """Every guardrail; docs/guardrails.md has a section on each."""

    POLICY = "policy"
    PAUSE = "pause"
    MODE = "mode"
    APPROVAL = "approval"
    TYPES = "types"
    VALID = "valid"
    NEVER_SHRINK = "never_shrink"
    DURABILITY = "durability"
    MAX_IOPS = "max_iops"
    MAX_THROUGHPUT = "max_throughput"
    MAX_SIZE = "max_size"
    GROWTH = "growth"
    FULL_COPY = "full_copy"
    ONE_WAY = "one_way"
    LARGEST_STEP = "largest_step"
    PRICE_PER_RESOURCE = "price_per_resource"
    PRICE_PER_ACCOUNT = "price_per_account"
    SLOTS = "slots"
    IN_FLIGHT = "in_flight"
    RETRY_BACKOFF = "retry_backoff"
    COOLDOWN = "cooldown"
    ROLLED_BACK = "rolled_back"
    MANAGED_ELSEWHERE = "managed_elsewhere"
    MULTI_ATTACH = "multi_attach"
    INFRASTRUCTURE_AS_CODE = "infrastructure_as_code"
    REVERTED = "reverted"
    DATABASE_STATE = "database_state"
    PENDING_CHANGES = "pending_changes"
    STORAGE_AUTOSCALING = "storage_autoscaling"
    FREE_SPACE = "free_space"
    GROUP = "group"
    INSTANCE_LIMIT = "instance_limit"
    DATA = "data"
    COST_BENEFIT = "cost_benefit"
    FAILURES = "failures"
    BREAKER = "breaker"
    GIVE_BACK = "give_back"
    GIVE_BACK_DATA = "give_back_data"
    GIVE_BACK_STABILIZATION = "give_back_stabilization"
    GIVE_BACK_SLOT = "give_back_slot"
    GIVE_BACK_FLOOR = "give_back_floor"
    GIVE_BACK_REVERSIBLE = "give_back_reversible"
    CHANGE_WINDOW = "change_window"
    FREEZE = "freeze"
    CALENDAR = "calendar"
    MAX_IN_FLIGHT = "max_in_flight"
    MAX_IN_FLIGHT_PER_AZ = "max_in_flight_per_az"
    MAX_CHANGES_PER_HOUR = "max_changes_per_hour"
    REGIONAL_QUOTA = "regional_quota"
    USAGE_HISTORY = "usage_history"
    BILLED_IO = "billed_io"
    MODE_CHANGE_INTERVAL = "mode_change_interval"
    MODE_REVERSIBLE = "mode_reversible"
    ENGINE_VERSION = "engine_version"
    RESTART = "restart"
    PARALLEL_QUERY = "parallel_query"
    RESERVATIONS = "reservations"
    MARGIN = "margin"
    STEADY = "steady"
    RHYTHM = "rhythm"
    SLOW_COMMITS = "slow_commits"


class Relation(StrEnum):
    """How `value` must stand to `limit` for the guardrail to allow."""

    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    IS = "is"
    ONE_OF = "one_of"
    FAILED = "failed"
    """The rule itself failed; it never allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One guardrail's answer on one plan.

    `clears_at` is the instant a blocking verdict clears by itself; None when only the owner (or
    nobody) can clear it.
    """

    guardrail: Guardrail
    relation: Relation
    value: Quantity
    limit: Quantity | tuple[str, ...]
    unit: str
    detail: str
    clears_at: datetime | None
    temporary: bool
    """Whether a block would pass by itself, even if the instant is not known."""

    @property
    def allows(self) -> bool:
        """Yes or no, derived from the numbers."""
        return satisfies(self.value, self.relation, self.limit)


def satisfies(value: Quantity, relation: Relation, limit: Quantity | tuple[str, ...]) -> bool:
    """Whether `value` stands to `limit` as it must. Raises TypeError where they do not compare."""
    match relation:
        case Relation.IS:
            return value == limit
        case Relation.AT_MOST:
            return _at_most(value, limit)
        case Relation.AT_LEAST:
            return _at_most(limit, value)
        case Relation.ONE_OF:
            return isinstance(limit, tuple) and value in limit
        case Relation.FAILED:
            return False
        case _:
            assert_never(relation)


_PLAIN = frozenset({int, float})


def _at_most(value: Quantity | tuple[str, ...], limit: Quantity | tuple[str, ...]) -> bool:
    # Most are two floats, which compare as their texts do: no detour through Decimal.
    plain = type(value) in _PLAIN and type(limit) in _PLAIN
    if plain and isfinite(value) and isfinite(limit):  # type: ignore[arg-type]
        return value <= limit  # type: ignore[operator]
    return _number(value) <= _number(limit)


def _number(value: Quantity | tuple[str, ...]) -> Decimal | int:
    if type(value) is int or isinstance(value, Decimal):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Decimal(str(value))
    raise TypeError(f"{value!r} is not a number")


@dataclass(frozen=True, kw_only=True)
class PlanJudgement(Deferring):
    """A plan and what every guardrail said about it."""

    plan: Plan
    verdicts: tuple[Verdict, ...]

    @cached_property
    def blocking(self) -> tuple[Verdict, ...]:
        """The verdicts that do not allow the plan."""
        return tuple(v for v in self.verdicts if not v.allows)

    @cached_property
    def worthless(self) -> bool:
        """Whether it costs more than it is worth."""
        return any(v.guardrail is Guardrail.COST_BENEFIT for v in self.blocking)

    @property
    def allowed(self) -> bool:
        """Whether every guardrail allows the plan."""
        return not self.worthless and not self.blocking

    @property
    def summary(self) -> PlanSummary:
        """The plan in one line."""
        plan = self.plan
        return PlanSummary(
            target=plan.target, monthly_usd=plan.monthly_usd,
            price_change_usd=plan.price_change_usd, value_usd_per_day=plan.value_usd_per_day,
            meets_need=plan.meets_need, blocked_by=tuple(v.guardrail for v in self.blocking),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """A plan in one line: what it is, its price and value, and which guardrails block it."""

    target: Configuration
    monthly_usd: Decimal
    price_change_usd: Decimal
    value_usd_per_day: float
    meets_need: bool
    blocked_by: tuple[Guardrail, ...]


CONCURRENCY_GUARDRAILS = frozenset(
    {Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ, Guardrail.MAX_CHANGES_PER_HOUR}
)
"""Guardrails that clear when another change ends; the sweep sees whether they would."""
QUEUEABLE_GUARDRAILS = CONCURRENCY_GUARDRAILS | {
    Guardrail.REGIONAL_QUOTA, Guardrail.CHANGE_WINDOW, Guardrail.FREEZE, Guardrail.CALENDAR,
}  # fmt: skip


WITHOUT_SETTING = frozenset(
    {
        Guardrail.POLICY, Guardrail.VALID, Guardrail.NEVER_SHRINK, Guardrail.DURABILITY,
        Guardrail.MANAGED_ELSEWHERE, Guardrail.MULTI_ATTACH, Guardrail.DATABASE_STATE,
        Guardrail.PENDING_CHANGES, Guardrail.STORAGE_AUTOSCALING, Guardrail.FREE_SPACE,
        Guardrail.FAILURES, Guardrail.BREAKER, Guardrail.PAUSE, Guardrail.BILLED_IO,
        Guardrail.ENGINE_VERSION, Guardrail.INSTANCE_LIMIT, Guardrail.PARALLEL_QUERY, Guardrail.RESERVATIONS, Guardrail.STEADY,
    }
)  # fmt: skip
"""Guardrails that no setting of the policy moves, and that may block for good."""


NEVER = frozenset({Guardrail.VALID, Guardrail.NEVER_SHRINK, Guardrail.DURABILITY})
"""Those of them that nobody can lift."""


CALLED: Mapping[Guardrail, str] = MappingProxyType(
    {
        Guardrail.APPROVAL: "approve_above_usd_per_month",
        Guardrail.MAX_THROUGHPUT: "max_throughput_mibps",
        Guardrail.MAX_SIZE: "max_size_gib",
        Guardrail.PRICE_PER_RESOURCE: "price_increase_usd_per_month",
        Guardrail.PRICE_PER_ACCOUNT: "account.price_increase_usd_per_month",
        Guardrail.REVERTED: "revert_wait",
        Guardrail.CHANGE_WINDOW: "change_windows",
        Guardrail.FREEZE: "account.freezes",
        Guardrail.CALENDAR: "account.calendars",
        Guardrail.SLOTS: "slots_reserve",
        Guardrail.GIVE_BACK_SLOT: "slots_reserve",
        Guardrail.GIVE_BACK_REVERSIBLE: "largest_step",
        Guardrail.GIVE_BACK_FLOOR: "min_iops or min_throughput_mibps",
        Guardrail.RESTART: "aurora_restart",
        Guardrail.MARGIN: "aurora_margin_percent",
        Guardrail.RHYTHM: "aurora_margin_percent",
        Guardrail.SLOW_COMMITS: "aurora_slow_commit_ms",
    }
)
"""The settings that move a guardrail, where they have another name."""


FIELDS: Mapping[Guardrail, str] = MappingProxyType(
    {
        Guardrail.MAX_IOPS: "max_iops",
        Guardrail.MAX_THROUGHPUT: "max_throughput_mibps",
        Guardrail.MAX_SIZE: "max_size_gib",
        Guardrail.PRICE_PER_RESOURCE: "price_increase_usd",
    }
)
"""The limits that a tag may set and one of these guardrails reads."""


def in_the_policy(
    verdicts: Sequence[Verdict], allowing: str = "it", *, tags: Mapping[str, str] = MappingProxyType({}),
    kind: Kind = Kind.EBS, growth: Sequence[str] = ("growth",),
) -> str:  # fmt: skip
    """What a person may change so that these allow a plan, in words; else empty.

    `tags` are the tags that set a limit, by its field: the policy allows more already. Of a database or a cluster
    only a rule that names its `kind` permits anything; `growth` are the settings that permit to grow.
    """
    found = [
        (name, tags.get(field), _from_to(v))
        for v in verdicts if v.guardrail not in WITHOUT_SETTING for name, field in _settings(v, growth)
    ]  # fmt: skip
    by_tag = [f"the tag {tag}{numbers}" for _, tag, numbers in found if tag is not None]
    by_policy = [f"{name}{numbers}" for name, tag, numbers in found if tag is None]
    all_of = "all of " if len(found) > 1 else ""
    if by_policy:
        named = "" if kind is Kind.EBS else f", in a rule with `match: {{kind: {kind}}}`"
        by_policy[-1] += f" in the policy{named}"
    return (
        f"to allow {allowing}, change {all_of}{', '.join([*by_policy, *by_tag])}" if found else ""
    )


def _settings(verdict: Verdict, growth: Sequence[str]) -> list[tuple[str, str]]:
    """The settings that move a guardrail: what the policy calls them, and their fields in the limits."""
    if verdict.guardrail is Guardrail.GROWTH:
        return [(name, name) for name in growth]
    name = CALLED.get(verdict.guardrail, verdict.guardrail.value)
    return [(name, FIELDS.get(verdict.guardrail, ""))]


def _from_to(verdict: Verdict) -> str:
    """From what to what a setting has to change, where that is a number."""
    value, limit = verdict.value, verdict.limit
    numbers = isinstance(value, int | float | Decimal) and isinstance(limit, int | float | Decimal)
    if verdict.relation is not Relation.AT_MOST or not numbers or verdict.detail:
        return ""
    alone = " for this change alone" if verdict.guardrail is Guardrail.PRICE_PER_ACCOUNT else ""
    return f" from {_plain(limit)} to {_plain(value)} or more{alone}"


def _plain(number: object) -> str:
    """A number for people; cents are rounded up, so that it is enough."""
    if not isinstance(number, Decimal):
        return f"{number:,}"
    return f"{number.quantize(Decimal('0.01'), ROUND_CEILING):,}".removesuffix(".00")


def distance(judgement: PlanJudgement) -> tuple[bool, bool, bool, float, int, int]:
    """How far a plan is from being allowed; what no setting allows comes last, then what is not worth it.

    Of what is neither allowed nor worth it, what loses least comes first.
    """
    blocking = [v for v in judgement.blocking if v.guardrail is not Guardrail.MODE]
    if any(v.guardrail is Guardrail.FULL_COPY for v in blocking):  # which grows: one permission
        blocking = [v for v in blocking if v.guardrail is not Guardrail.GROWTH]
    for_good = sum(not v.temporary for v in blocking)
    worthless = any(v.guardrail is Guardrail.COST_BENEFIT for v in blocking)
    never = any(v.guardrail in NEVER for v in blocking)
    loses = -judgement.plan.value_usd_per_day if worthless and for_good else 0.0
    return never, worthless, for_good > 0, loses, for_good, len(blocking)


def all_clear_at(blocking: Sequence[Verdict]) -> datetime | None:
    """When all of them have cleared, None if that is not known of one.

    Nobody knows when a place is free: if something else blocks too, the plan asks for a place once that clears.
    """
    lasting = [v for v in blocking if v.guardrail not in CONCURRENCY_GUARDRAILS] or blocking
    return all_known_clear_at(lasting)


def all_clear_by(blocking: Sequence[Verdict], due: datetime) -> bool:
    """Whether at a later instant none of them is in the way of a plan that is worth its price by then."""
    return all(
        v.guardrail is Guardrail.COST_BENEFIT
        or (v.temporary and v.clears_at is not None and v.clears_at <= due)
        for v in blocking
    )


def all_known_clear_at(blocking: Sequence[Verdict]) -> datetime | None:
    """When all of them have cleared; None when that is not known of one, or there are none."""
    known = [v.clears_at for v in blocking if v.clears_at is not None]
    return max(known).astimezone(UTC) if known and len(known) == len(blocking) else None
