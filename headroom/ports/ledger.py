"""The chains of records, and what makes an intent durable before storage is changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.decision import Decision
from headroom.domain.resources import ResourceRef
from headroom.domain.state import Notify, Record, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """Proof that the intent is durable: the fencing number of the lease it holds."""

    decision_id: str
    fencing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotIntended:
    """The transaction was refused.

    `why` is `exists`, `leased`, `moved`, `budget`, `blast_radius`, `paused`, `breaker` or
    `unapproved`.
    """

    why: str
    detail: str


class Ledger(Protocol):
    """The append-only chains. Chains are ordered by `sequence`, starting at 0."""

    def decided(
        self, decision: Decision, *, due_at: datetime | None, notify: Notify | None = None
    ) -> bool:
        """Record a decision and move the resource's state; False if that id is already there.

        Sets last reconciled at, signature, last decision id, enrolment price (only if none yet and
        the resource is enrolled: the monthly price of the observed configuration, taken from
        `decision.current_usd`) and `due_at`: when the sweep reconciles this resource again.
        An Escalate adds its cause to `escalated_causes`; binding NOTHING empties them (the
        episode is over), and a raise takes out the limits that it may meet again. If the resource's
        last decision is an act that nobody began (a crash between `decided` and `intend`), that one
        is WITHDRAWN with it: to intend it is refused with `exists`. What people must hear of it
        (`notify`) is written in the same transaction.
        """

    def intend(
        self, decision: Decision, *, lease_until: datetime, now: datetime
    ) -> Intent | NotIntended:
        """One transaction: the `intended` record (only if absent), the lease (per resource, with
        expiry and fencing number), the budget reservation of the plan's price, and the place
        among the changes under way, which the chain's end gives back."""

    def intend_together(
        self, decisions: Sequence[Decision], *, lease_until: datetime, now: datetime
    ) -> tuple[Intent, ...] | NotIntended:
        """The same for one decision each of several resources, all in one transaction or none.

        The account's limit holds for the sum of what they add. At most `groups.LARGEST`.
        """

    def append(
        self,
        decision_id: str,
        step: Step,
        *,
        ref: ResourceRef,
        at: datetime,
        summary: str,
        body: Mapping[str, object],
        fencing: int | None,
        due_at: datetime | None,
        notify: Notify | None = None,
    ) -> Record:
        """Add a record to a chain and move the resource's state with it in one transaction.

        Steps that end a chain without a change in force release its lease and its reservation;
        steps that end it with one (relieved, ineffective, diverged) release the lease only; gone
        releases both, ends the increase in force and drops the due time. A refused step sets
        `retry_not_before` to `due_at`; applied and already_there clear it. A failure that makes
        enough of them in a row opens the breaker of the resource, of the account or both, each
        with a record of its own that people hear of, in the same transaction
        (domain/state/breakers.py). So is what they must hear of this record (`notify`).
        A request (awaiting, with an `asked` in its body) waits for its resource alone; answers to
        it are not appended but given (Requests).
        Raises IllegalStep when the step may not follow, LostLease when the fencing number is
        not the one in force.
        """

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; empty when there are none."""

    def decision(self, decision_id: str) -> Decision:
        """The decision itself, read back from its first record; raises LookupError."""


class IllegalStep(RuntimeError):
    """The record may not follow the last one of its chain."""


class LostLease(RuntimeError):
    """Another chain holds the lease of the resource now."""
