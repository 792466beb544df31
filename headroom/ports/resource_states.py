"""The state of each resource, what is due or queued, and the claim of the fleet scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Protocol

from headroom.domain.catalog import PriceTable
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    ConcurrencyState,
    KnownModification,
    LoadProfile,
    QueueEntry,
    ResourceState,
    SlowEffect,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A resource that is due, since when, and how starved it was when last seen."""

    ref: ResourceRef
    due_at: datetime
    wake_at: datetime
    """The due time, or when the claim of a dispatcher expired."""
    urgency: int = 0
    why: str = "due"
    """The trigger of its reconciliation: `due`, or `sweep` after a scan."""


class DueResources(tuple[Due, ...]):
    """What is due, longest overdue first, and of which owners an entry could not be read."""

    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Sequence[Due], left_out: Sequence[str]) -> DueResources:
        """What was found, beside the owners of entries that could not be read."""
        due = cls(found)
        due.left_out = tuple(left_out)
        return due


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedResource:
    """A resource that waits in the queue."""

    ref: ResourceRef
    waiting: QueueEntry


class Queue(Protocol):
    """The changes under way in the account and Region, and the queue."""

    def concurrency(self) -> ConcurrencyState:
        """The changes under way, read consistently."""

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """The queue: the most starved first, then the longest waiting (a sparse index)."""


class StateStore(Queue, Protocol):
    """The mutable side of the ledger: one item per resource, one per account."""

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        """What is known about a resource; a new state when it was never observed."""

    def due(self, now: datetime, limit: int) -> DueResources:
        """Resources due at or before `now` and claimed by nobody, longest overdue first (a sparse
        index)."""

    def mark_due(
        self, ref: ResourceRef, *, at: datetime, wake_at: datetime, urgency: int, why: str
    ) -> bool:
        """Make a resource due at `at` unless it is due by then; whether it was not.

        Until `wake_at` no dispatcher takes it: who marks it may have put it on the work queue.
        """

    def claim_due(self, due: Due, until: datetime) -> bool:
        """Claim what is due for one dispatcher; False if somebody else did, or it moved.

        Unless it is reconciled before, it is due again at `until`.
        """

    def reconciled(
        self,
        ref: ResourceRef,
        *,
        at: datetime,
        due_at: datetime | None,
        waiting: QueueEntry | None = None,
        urgency: int | None = None,
    ) -> None:
        """Record a reconciliation without news, and when the next one is due (None: never).

        The resource leaves the queue unless it is `waiting`. Without an `urgency` it keeps its own.

        A resource with an open chain stays due: None leaves its due time alone, an earlier time
        is used, a later one only when the chain was due by `at`. So a reconciliation for another
        reason never postpones a verification.
        """

    def forget(
        self, ref: ResourceRef, *, at: datetime, another: bool = False, chain_lost: str = ""
    ) -> None:
        """The resource exists no more: its increase ends (the account's sum with it, in one
        transaction), nothing of it is due, and an act that nobody began is withdrawn.

        Where `another` has its name by now, its price at enrolment, its modifications, what was
        refused of it and what people said no to are not the new one's either.

        An open chain is ended with GONE first: until then it keeps what it reserved and stays
        due, unless its decision is `chain_lost`: no record can follow its last one. Saying it again, or of a resource never seen, writes nothing.
        """

    def save_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
        prices: PriceTable | None = None,
        slow_effect: SlowEffect | None = None,
    ) -> None:
        """Add known starts (same start is the same one) and what a refusal taught.

        With `prices`, a new one that is not ours moves the baseline by what its owner set; what
        Headroom added stays counted. `owner_price` is the new baseline where the owner set
        everything, and ends our increase in force. `slow_effect` is a raise that came late; the slowest is
        kept.
        """

    def profile(self, ref: ResourceRef) -> LoadProfile | None:
        """The profile of a resource's past; None where none is stored that can be read."""

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        """Store the profile in place of the one before; of two writers the later one wins."""


class Scan(IntEnum):
    """Whether this caller scans the fleet now; true for one caller only."""

    NOT_OURS = 0
    AGAIN = 1
    FIRST = 2
    """The first scan of this account and Region."""


class FleetScan(Protocol):
    """When the whole fleet was last scanned, account-wide."""

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period; that one scans.

        After a resume or a closed breaker the next call is a new period, whatever the time.
        """
