"""All that the ledger stores about one resource.

Amounts that are added up are in whole micro-USD per month: reservations are rounded up, limits down,
so a sum of them never passes a limit by rounding. A stored state outlives the release that wrote
it: every field needs a default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from headroom.domain.resources import LATER, Configuration
from headroom.domain.state.effect_time import SlowEffect
from headroom.domain.state.queue_entry import QueueEntry
from headroom.domain.state.requests import ApprovalRequest, Declined, RollbackRequest, RolledBack
from headroom.domain.state.resource_state import KnownModification, OpenChain, Signature

MICRO = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """An increase reserved for a chain that has not ended, in micro-USD per month."""

    decision_id: str
    micro_usd: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notified:
    """A cause of which the owner was notified, and until when that is enough unless a change is made."""

    cause: str
    until: datetime
    instance_type: str = ""
    """Of an instance that is too small, its type: another type that is too small is news."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredState:
    """All that the ledger stores about one resource. Money in micro-USD per month, except enrolment."""

    enrolment_usd: Decimal | None = None
    """The price that increases are counted from: of what the owner set, not of what Headroom added."""
    owner_configuration: Configuration | None = None
    """What the owner set, without what Headroom added; None for a cluster, and where an earlier
    release enrolled the resource."""
    in_force_micro_usd: int = 0
    """The increase of what landed."""
    in_force_since: datetime | None = None
    """When AWS accepted the change with that increase; only for display."""
    in_force_by: str | None = None
    """The decision of that change."""
    reserved: tuple[Reserved, ...] = ()
    """What open chains may add; kept until the change landed or failed."""
    modifications: tuple[KnownModification, ...] = ()
    slots_full_until: datetime | None = None
    last_refusal_at: datetime | None = None
    refused_since: datetime | None = None
    """The first of the latest refusals in a row that mostly clear within minutes; None after any other outcome."""
    retry_not_before: datetime | None = None
    """After a refusal: the earliest retry; cleared by an accepted change."""
    growth_not_before: datetime | None = None
    """After a refusal because of the file system: the earliest growth; other changes need not wait."""
    last_act_at: datetime | None = None
    last_reconciled_at: datetime | None = None
    chain: OpenChain | None = None
    fencing: int = 0
    lease_until: datetime | None = None
    last_signature: Signature | None = None
    last_decision_id: str | None = None
    unstarted_act: str | None = None
    """The last decision, if it is to act and its change has not started."""
    escalated_causes: tuple[str, ...] = ()
    failures_in_a_row: int = 0
    breaker_opened_at: datetime | None = None
    """Since when the breaker is open after repeated failures; only a person closes it."""
    due_at: datetime | None = None
    urgency: int = 0
    """Orders what is due: the more starved, the higher; see `urgency` of the domain's `decision`."""
    approval_request: ApprovalRequest | None = None
    declined: tuple[Declined, ...] = ()
    rollback: RollbackRequest | None = None
    rolled_back: RolledBack | None = None
    last_request_at: datetime | None = None
    """When a person last requested or answered something that no decision has considered yet."""
    waiting: QueueEntry | None = None
    """Its queue entry; None if it is not queued."""
    slow_effect: SlowEffect | None = None
    """The slowest of its raises; None where none was seen to come late."""
    wanted_since: datetime | None = None
    """Since when a raise is wanted and only RDS's backup is in the way; None if that is not so."""
    waited: SlowEffect | None = None
    """How long the last raise waited so."""
    gone: bool = field(default=False, metadata=LATER)
    """Whether Headroom changed it, or was asked to undo that, and it is recorded that it exists no more."""
    notified: tuple[Notified, ...] = ()
    """Causes that are not to be notified again for some time, also in a later episode."""

    @property
    def resource_micro_usd(self) -> int:
        """This resource's part of the account's sum: the highest of what is and may come in force."""
        return max(self.in_force_micro_usd, *(r.micro_usd for r in self.reserved), 0)

    def held(self, decision_id: str, fencing: int) -> bool:
        """Whether `decision_id` still holds the lease that came with this fencing number."""
        chain = self.chain
        return chain is not None and chain.decision_id == decision_id and chain.fencing == fencing


def micro_usd(usd: Decimal, rounding: str = ROUND_CEILING) -> int:
    """USD in whole micro-USD, rounded up by default."""
    return int((usd * MICRO).to_integral_value(rounding))


def usd(micro: int) -> Decimal:
    """Micro-USD in USD."""
    return Decimal(micro) / MICRO
