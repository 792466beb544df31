"""What a decision may be: act, hold or escalate, and the reasons for it; and what verifying its change may find (assess.py)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headroom.domain.planning import Plan

RECHECK_INTERVAL = timedelta(minutes=5)
VERIFICATION_TIMEOUT = timedelta(hours=30)
"""After this time, a change without proven effect is reported as ineffective or untested."""


class Reason(StrEnum):
    """The reason, for people and for statistics. Code asks it only how urgent the answer is, and when to ask again."""

    STARVED = "starved"
    DEPLETION_FORESEEN = "depletion_foreseen"
    RECURRENCE_EXPECTED = "recurrence_expected"
    """Load of earlier days is expected to recur: performance is raised before it does."""
    SCALING_DOWN = "scaling_down"
    """Less performance is enough for the expected load."""
    CHEAPER_EQUIVALENT = "cheaper_equivalent"
    """Another type delivers the same at a lower price."""
    HIGH_LATENCY = "high_latency"
    """Operations are slow although no limit was touched."""
    NO_PRESSURE = "no_pressure"
    NOT_COST_EFFECTIVE = "not_cost_effective"
    INSTANCE_LIMITED = "instance_limited"
    NO_PLAN = "no_plan"
    BLOCKED_TEMPORARILY = "blocked_temporarily"
    BLOCKED_PERMANENTLY = "blocked_permanently"
    AWAITING_APPROVAL = "awaiting_approval"
    """The change needs approval, and a request is pending."""
    DECLINED = "declined"
    """A similar request was rejected or expired recently."""
    ROLLED_BACK = "rolled_back"
    """A change is undone because a person or the policy requests it."""
    OBSERVE_ONLY = "observe_only"
    NOT_ENOUGH_DATA = "not_enough_data"
    LOW_FREE_SPACE = "low_free_space"
    """A database's storage is about to be full, or less than the owner's reserve is free."""
    FREE_SPACE_UNCERTAIN = "free_space_uncertain"
    """It may be filling, but there is too little data for growth that cannot be undone."""
    POLICY_UNREADABLE = "policy_unreadable"
    PRICE_UNKNOWN = "price_unknown"
    CHEAPER = "cheaper"
    """For an Aurora cluster, like all below: the other storage mode has the lower bill."""
    SLOW_COMMITS = "slow_commits"
    ALREADY_CHEAPEST = "already_cheapest"
    FAST_ENOUGH = "fast_enough"
    KEPT_FOR_PERFORMANCE = "kept_for_performance"
    """It is I/O-Optimized and the owner's goal is performance: it stays."""
    NO_BILLED_IO = "no_billed_io"
    """No billed I/O is published in the current mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Change the volume to `plan.target`.

    With `approval`, only after a person approves, before `expires`; it says why approval is needed.
    """

    reason: Reason
    plan: Plan
    approval: str | None = None
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Do nothing for now. `until` is when the blocking guardrails clear, None if that is unknown."""

    reason: Reason
    until: datetime | None
    proposed_plan: Plan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalate:
    """Do nothing, and notify the owner of what only the owner can change."""

    reason: Reason
    cause: str
    remedy: str
    proposed_plan: Plan | None


Action = Act | Hold | Escalate


@dataclass(frozen=True, slots=True, kw_only=True)
class Relieved:
    """The change landed and the pressure ended."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Untested:
    """No load was measured since the change that could prove relief, or that there is none."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReductionConfirmed:
    """The change landed, and the load does not reach the lowered limits."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """Not verified yet; the next check is at `next_reconcile_at`."""

    next_reconcile_at: datetime
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ineffective:
    """The change landed and the pressure did not end; `cause` is the likely true limit."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReducedTooFar:
    """The change landed, and the load reaches a lowered limit; `cause` says which."""

    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Diverged:
    """The volume differs from the plan: somebody else changed it since."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAtAws:
    """AWS reports that the modification failed."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackConfirmed:
    """A rollback landed: the volume has its earlier settings."""

    detail: str


Verification = (
    Relieved
    | Untested
    | ReductionConfirmed
    | Pending
    | Ineffective
    | ReducedTooFar
    | Diverged
    | FailedAtAws
    | RollbackConfirmed
)
