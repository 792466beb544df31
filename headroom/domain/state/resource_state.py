"""What the ledger knows about a resource and its account at the instant of a decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.resources import LATER, Configuration
from headroom.domain.state.concurrency import ConcurrencyState
from headroom.domain.state.profile import LoadProfile
from headroom.domain.state.requests import ApprovalRequest, Declined, RollbackRequest, RolledBack

WINDOW = timedelta(hours=24)
MODIFICATION_RETENTION = timedelta(days=15)
"""How long a modification is remembered: earlier load is judged by the limits in force then."""
BY_HEADROOM = "headroom"
ROLLBACK = "rollback"
"""Origin of a change that undoes one of Headroom's: Headroom does not lower what people set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModification:
    """A modification that started; `by` is `headroom`, `other` or `rollback`.

    `origin` and `target` are None where only its start is known.
    """

    started_at: datetime
    by: str
    origin: Configuration | None = None
    target: Configuration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What must differ from the last decision for a sweep to record a new one."""

    answer: str
    binding: str
    plan: str
    blocking: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChain:
    """A change by Headroom whose chain has not ended."""

    decision_id: str
    phase: str
    """`intended`, `unknown`, `applied` or `already_there`."""
    since: datetime
    fencing: int
    rollback_of: str | None = None
    """The chain whose change this one undoes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarState:
    """What a Change Calendar of AWS Systems Manager said at one instant.

    `problem` is why it could not be read; it counts as closed then.
    """

    name: str
    open: bool
    changes_at: datetime | None = None
    """When it says it will be the other of open and closed; None when it does not say."""
    problem: str | None = None
    closed_ahead: tuple[tuple[datetime, datetime], ...] = field(default=(), metadata=LATER)
    """From when until when it says it will be closed in the coming days, in order of time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceState:
    """The ledger's side of a decision. Money in USD per month."""

    enrolment_usd: Decimal | None
    """Price of what the owner set, at enrolment and since, without what Headroom added; None when not seen
    before. In a decision at the decision's prices, if `owner_configuration` is known."""
    resource_increase_usd: Decimal
    """This resource's increase in force, already part of `account_increase_usd`."""
    account_increase_usd: Decimal
    modifications: tuple[KnownModification, ...]
    """Known starts of the last 15 days, oldest first; those of the last 24 h use slots."""
    slots_full_until: datetime | None
    """Learned from a refusal: no slot is free before this instant."""
    last_refusal_at: datetime | None
    last_act_at: datetime | None
    open_chain: OpenChain | None
    last_signature: Signature | None
    last_decision_id: str | None
    escalated_causes: tuple[str, ...]
    """Causes already notified in the present episode."""
    paused_until: datetime | None
    """End of the pause; datetime.max in UTC while paused without end."""
    failures_in_a_row: int
    retry_not_before: datetime | None = None
    """After a refusal: the earliest retry; None if it may be now."""
    breaker_opened_at: datetime | None = None
    """Since when this resource's circuit breaker is open; only a person closes it."""
    account_breaker_opened_at: datetime | None = None
    """The same of the whole account's."""
    approval_request: ApprovalRequest | None = None
    """The pending request, or an approved one that is not executed yet."""
    declined: tuple[Declined, ...] = ()
    """Requests that were rejected or expired recently."""
    rollback: RollbackRequest | None = None
    """A requested rollback that is not done yet."""
    rolled_back: RolledBack | None = None
    last_request_at: datetime | None = None
    """When a person last requested or answered something that no decision has considered yet."""
    concurrency: ConcurrencyState = ConcurrencyState()  # noqa: RUF009 - immutable
    """The changes in flight in the account and Region."""
    calendars: tuple[CalendarState, ...] = ()
    """The states of the policy's Change Calendars."""
    queued_since: datetime | None = None
    """Since when this resource is queued; None if it is not."""
    profile: LoadProfile | None = field(default=None, metadata=LATER)
    """Its past by the hour; None where none is known. A record keeps only its summary."""
    growth_not_before: datetime | None = field(default=None, metadata=LATER)
    """While the file system cannot follow: the earliest growth for free space; None if it may be now."""
    owner_configuration: Configuration | None = field(default=None, metadata=LATER)
    """What the owner set, without Headroom's changes; None where it is not known."""
    earlier_modification: KnownModification | None = field(default=None, metadata=LATER)
    """The latest known modification, if it is older than those 15 days."""
    unproven_since: datetime | None = field(default=None, metadata=LATER)
    """Since when an increase counts of which the owner's part is not known: AWS may never have made it."""
    raises_take_minutes: int = field(default=0, metadata=LATER)
    """The longest that a raise of it was seen to have no effect yet; 0 where none came late."""
    kept_places: int = field(default=0, metadata=LATER)
    """How many places for changes are kept for a striped set that waits for its load; 0 if none does."""
    refused_since: datetime | None = field(default=None, metadata=LATER)
    """Since when AWS refuses every change for reasons that mostly clear within minutes; None if it does not."""


def new_resource_state() -> ResourceState:
    """The state of a resource that the ledger does not know, in an account without increases."""
    return ResourceState(
        enrolment_usd=None, resource_increase_usd=Decimal(0), account_increase_usd=Decimal(0),
        modifications=(), slots_full_until=None, last_refusal_at=None, last_act_at=None,
        open_chain=None, last_signature=None, last_decision_id=None, escalated_causes=(),
        paused_until=None, failures_in_a_row=0,
    )  # fmt: skip
