"""What is known of each resource, what is due or waits for its turn, and who scans the fleet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import IntEnum
from typing import Protocol

from headroom.domain.resources import ResourceRef
from headroom.domain.state import ConcurrencyState, KnownModification, QueueEntry, ResourceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A resource whose time has come, and the instant it was due."""

    ref: ResourceRef
    due_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedResource:
    """A resource that waits for a place or an hour, see domain/waiting.py."""

    ref: ResourceRef
    waiting: QueueEntry


class Queue(Protocol):
    """What is under way in the account and Region, and what waits for its turn."""

    def concurrency(self) -> ConcurrencyState:
        """The changes under way, read consistently."""

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """Who waits: the most starved first, then the longest waiting (a sparse index)."""


class StateStore(Queue, Protocol):
    """The mutable side of the ledger: one item per resource, one per account."""

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        """What is known about a resource; a fresh standing when it was never seen."""

    def due(self, now: datetime, limit: int) -> tuple[Due, ...]:
        """Resources due at or before `now`, longest overdue first (a sparse index)."""

    def reconciled(
        self,
        ref: ResourceRef,
        *,
        at: datetime,
        due_at: datetime | None,
        waiting: QueueEntry | None = None,
    ) -> None:
        """Remember a look that was no news, and when the next one is due (None: never).

        The resource leaves the queue unless it is `waiting`.

        A resource with an open chain stays due: None leaves its due time alone, an earlier time
        is taken, a later one only when the chain was due by `at`, that is, from the look that
        took its turn. So a look from elsewhere never puts a verification off.
        """

    def forget(self, ref: ResourceRef, *, at: datetime, another: bool = False) -> None:
        """The resource exists no more: its increase ends (the account's sum with it, in one
        transaction), nothing of it is due, and an act that nobody began is withdrawn.

        Where `another` has its name by now, its price at enrolment, its modifications, what was
        refused of it and what people said no to are not the new one's either.

        An open chain is ended with GONE first: until then it keeps what it reserved and stays
        due. Saying it again, or of a resource never seen, writes nothing.
        """

    def save_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
    ) -> None:
        """Add known starts (same start is the same one), what a refusal taught, and the new
        enrolment price after a change by the owner (which ends our increase in force)."""


class Scan(IntEnum):
    """Whether a caller is the one that scans the fleet now; false for all but one."""

    NOT_OURS = 0
    AGAIN = 1
    FIRST = 2
    """Nobody ever scanned this account and Region: every volume is looked at once."""


class FleetScan(Protocol):
    """When the whole fleet was last scanned, account-wide."""

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period; that one scans.

        After a resume or a closed breaker the next call is a new period, whatever the time.
        """
