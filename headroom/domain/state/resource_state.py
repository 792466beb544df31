"""What the ledger knows about a resource and its account at the instant of a decision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.resources import Configuration
from headroom.domain.state.concurrency import ConcurrencyState
from headroom.domain.state.requests import ApprovalRequest, Declined, RollbackRequest, RolledBack

WINDOW = timedelta(hours=24)
MODIFICATION_RETENTION = timedelta(days=15)
"""How long a modification is remembered: what a volume did is judged by the limits it then had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModification:
    """A modification that was seen to start, by whomever (`by` is `headroom`, `other` or `rollback`).

    `origin` and `target` are None where only its start is known.
    """

    started_at: datetime
    by: str
    origin: Configuration | None = None
    target: Configuration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What makes a sweep's decision worth a new record when it differs from the last one."""

    answer: str
    binding: str
    plan: str
    blocking: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChain:
    """A change of ours that has not ended yet."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceState:
    """The ledger's side of a decision. Money in USD per month."""

    enrolment_usd: Decimal | None
    """Price at enrolment or at the owner's own last change; None when not seen before."""
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
    """Causes already told to the owner in the present episode."""
    paused_until: datetime | None
    """Kill switch; datetime.max in UTC while paused without end."""
    failures_in_a_row: int
    retry_not_before: datetime | None = None
    """After a refusal: when AWS may be asked again; None when it may be asked now."""
    breaker_opened_at: datetime | None = None
    """Since when this resource's circuit breaker is open; only a person closes it."""
    account_breaker_opened_at: datetime | None = None
    """The same of the whole account's."""
    approval_request: ApprovalRequest | None = None
    """The request that waits for a person, or was approved and is not carried out yet."""
    declined: tuple[Declined, ...] = ()
    """Requests that were rejected or ran out lately."""
    rollback: RollbackRequest | None = None
    """A rollback that somebody asked for and that is not done yet."""
    rolled_back: RolledBack | None = None
    last_request_at: datetime | None = None
    """When a person last asked or answered something that no decision took in yet."""
    concurrency: ConcurrencyState = ConcurrencyState()  # noqa: RUF009 - immutable
    """What is under way in the account and Region."""
    calendars: tuple[CalendarState, ...] = ()
    """What the Change Calendars said that the policy names."""
    queued_since: datetime | None = None
    """Since when this resource waits in the queue; None when it does not."""


def new_resource_state() -> ResourceState:
    """The standing of a resource the ledger has never seen, in an account without increases."""
    return ResourceState(
        enrolment_usd=None, resource_increase_usd=Decimal(0), account_increase_usd=Decimal(0),
        modifications=(), slots_full_until=None, last_refusal_at=None, last_act_at=None,
        open_chain=None, last_signature=None, last_decision_id=None, escalated_causes=(),
        paused_until=None, failures_in_a_row=0,
    )  # fmt: skip
