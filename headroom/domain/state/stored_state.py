"""All that the ledger keeps about one resource, and the money it is counted in.

Money that is added up is in whole micro-USD per month: reservations are rounded up, limits down,
so a sum of them never passes a limit by rounding. A stored state outlives the release that wrote
it: every field needs a default.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

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
class StoredState:
    """All that the ledger keeps about one resource. Money in micro-USD per month but enrolment."""

    enrolment_usd: Decimal | None = None
    in_force_micro_usd: int = 0
    """The increase of what landed."""
    in_force_since: datetime | None = None
    """When AWS took the change that the increase is of; for people, nothing is decided by it."""
    in_force_by: str | None = None
    """The decision that it is of."""
    reserved: tuple[Reserved, ...] = ()
    """What chains that have not ended may add up to; kept until a change landed or did not."""
    modifications: tuple[KnownModification, ...] = ()
    slots_full_until: datetime | None = None
    last_refusal_at: datetime | None = None
    retry_not_before: datetime | None = None
    """After a refusal: when AWS may be asked again; until a change was accepted."""
    last_act_at: datetime | None = None
    last_reconciled_at: datetime | None = None
    chain: OpenChain | None = None
    fencing: int = 0
    lease_until: datetime | None = None
    last_signature: Signature | None = None
    last_decision_id: str | None = None
    unstarted_act: str | None = None
    """The last decision if it is to act and no record followed its first one yet."""
    escalated_causes: tuple[str, ...] = ()
    failures_in_a_row: int = 0
    breaker_opened_at: datetime | None = None
    """Since when nothing is done after repeated failures; until a person closes it."""
    due_at: datetime | None = None
    approval_request: ApprovalRequest | None = None
    declined: tuple[Declined, ...] = ()
    rollback: RollbackRequest | None = None
    rolled_back: RolledBack | None = None
    last_request_at: datetime | None = None
    """When a person last asked or answered something; no look puts it off until it is taken in."""
    waiting: QueueEntry | None = None
    """Its place in the queue; None when it does not wait there."""

    @property
    def resource_micro_usd(self) -> int:
        """This resource's part of the account's sum: the most that is or may come in force."""
        return max(self.in_force_micro_usd, *(r.micro_usd for r in self.reserved), 0)

    def held(self, decision_id: str, fencing: int) -> bool:
        """Whether `decision_id` still holds the lease that came with this fencing number."""
        chain = self.chain
        return chain is not None and chain.decision_id == decision_id and chain.fencing == fencing


def micro_usd(usd: Decimal, rounding: str = ROUND_CEILING) -> int:
    """USD in whole micro-USD, rounded up unless told otherwise."""
    return int((usd * MICRO).to_integral_value(rounding))


def usd(micro: int) -> Decimal:
    """Micro-USD in USD."""
    return Decimal(micro) / MICRO
