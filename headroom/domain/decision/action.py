"""What a decision may be: act, hold or escalate, and the reasons for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headroom.domain.planning import Plan


class Reason(StrEnum):
    """Why, for counting and for people; code never branches on it."""

    STARVED = "starved"
    DEPLETION_FORESEEN = "depletion_foreseen"
    RECURRENCE_EXPECTED = "recurrence_expected"
    """Load of earlier days is expected to come again: raised before it does."""
    SCALING_DOWN = "scaling_down"
    """Less is enough for what is expected."""
    CHEAPER_EQUIVALENT = "cheaper_equivalent"
    """Another type does what this one can, at a lower price."""
    NO_PRESSURE = "no_pressure"
    NOT_COST_EFFECTIVE = "not_cost_effective"
    INSTANCE_LIMITED = "instance_limited"
    NO_PLAN = "no_plan"
    BLOCKED_TEMPORARILY = "blocked_temporarily"
    BLOCKED_PERMANENTLY = "blocked_permanently"
    AWAITING_APPROVAL = "awaiting_approval"
    """It would be done; a request for approval waits."""
    DECLINED = "declined"
    """It would be asked for, but something alike was rejected or ran out lately."""
    ROLLED_BACK = "rolled_back"
    """A change is undone because somebody, or the policy, wants it."""
    OBSERVE_ONLY = "observe_only"
    NOT_ENOUGH_DATA = "not_enough_data"
    LOW_FREE_SPACE = "low_free_space"
    """A database's storage is about to be full, or less is free than its owner wants."""
    FREE_SPACE_UNCERTAIN = "free_space_uncertain"
    """It may be filling, but that is too young, or too little measured, to grow it for good."""
    POLICY_UNREADABLE = "policy_unreadable"
    PRICE_UNKNOWN = "price_unknown"
    CHEAPER = "cheaper"
    """Of an Aurora cluster, as all below: the other storage mode has the lower bill."""
    SLOW_COMMITS = "slow_commits"
    ALREADY_CHEAPEST = "already_cheapest"
    FAST_ENOUGH = "fast_enough"
    KEPT_FOR_PERFORMANCE = "kept_for_performance"
    """It is I/O-Optimized and its owner wants speed: it stays."""
    NO_BILLED_IO = "no_billed_io"
    """Nothing is published of the billed I/O under the present mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Change the volume to `plan.target`.

    With `approval`, only once a person agreed, before `expires`; it says why a person must.
    """

    reason: Reason
    plan: Plan
    approval: str | None = None
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Do nothing for now. `until` is when a blocking guardrail clears, None if no such instant."""

    reason: Reason
    until: datetime | None
    proposed_plan: Plan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalate:
    """Do nothing, and tell the owner what only the owner can change."""

    reason: Reason
    cause: str
    remedy: str
    proposed_plan: Plan | None


Action = Act | Hold | Escalate
