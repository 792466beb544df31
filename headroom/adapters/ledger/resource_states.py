"""The ledger's mutable face: what is known of each resource, the fleet scan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from headroom.adapters.ledger.tables import Tables
from headroom.adapters.ledger.transactions import ATTEMPTS, LedgerOutcomeUnknown
from headroom.domain.ledger import resource_state_of
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    ConcurrencyState,
    KnownModification,
    QueueEntry,
    ResourceState,
    after_modifications,
    after_resource_gone,
)
from headroom.ports import Due, QueuedResource, Scan


class StateStore(Tables):
    """The mutable side: one item per resource, one each per account for budget and scan."""

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        """What is known about a resource; a fresh standing when it was never seen."""
        seen = self._state.snapshot(ref)
        return resource_state_of(
            seen.held.state, account_micro_usd=seen.account_micro_usd,
            stop_state=seen.stop_state, now=now, concurrency=seen.concurrency.concurrency,
        )  # fmt: skip

    def due(self, now: datetime, limit: int) -> tuple[Due, ...]:
        """Resources due at or before `now`, longest overdue first.

        Read from an index that is a moment late; a look at a resource reads its standing anew.
        """
        return self._state.due(now, limit)

    def reconciled(
        self, ref: ResourceRef, *, at: datetime, due_at: datetime | None,
        waiting: QueueEntry | None = None,
    ) -> None:  # fmt: skip
        """Remember a look that was no news; an open chain is put off only by one that was due."""
        self._state.reconciled(ref, at=at, due_at=due_at, waiting=waiting)

    def concurrency(self) -> ConcurrencyState:
        """The changes under way, read consistently."""
        return self._traffic.held().concurrency

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """Who waits: the most starved first, then the longest waiting."""
        return self._traffic.queue(limit)

    def forget(self, ref: ResourceRef, *, at: datetime, another: bool = False) -> None:
        """The resource exists no more: nothing of it is in force, due or still to be done."""
        for attempt in range(1, ATTEMPTS + 1):
            held = self._state.held(ref)
            moved = after_resource_gone(held.state, at, another=another)
            if moved is held.state:
                return
            # A lost answer needs no second look: what is forgotten is so the next time round.
            token = self._new_id()
            parts = self._moves(ref, held, moved, token)
            parts += self._withdrawals(held.state, None, at, token)
            if held.state.breaker_opened_at is not None:
                parts.append(self._stops.marked(ref.arn, None))
            if self._transactions.write(parts, token=token, landed=lambda: False) is None:
                return
            self._transactions.wait(attempt)
        raise LedgerOutcomeUnknown(f"the state of {ref.arn} moved {ATTEMPTS} times meanwhile")

    def save_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
    ) -> None:
        """Add known starts, what a refusal taught and the owner's new price; no news, no write."""
        for attempt in range(1, ATTEMPTS + 1):
            held = self._state.held(ref)
            moved = after_modifications(
                held.state, seen, now=now, full_until=full_until, owner_price=owner_price
            )
            if moved is held.state:
                return
            # A lost answer needs no second look: what it did is no news the next time round.
            parts = self._moves(ref, held, moved, token := self._new_id())
            if self._transactions.write(parts, token=token, landed=lambda: False) is None:
                return
            self._transactions.wait(attempt)
        raise LedgerOutcomeUnknown(f"the state of {ref.arn} moved {ATTEMPTS} times meanwhile")

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period of `every_s` seconds of UTC."""
        period = datetime.fromtimestamp(now.timestamp() // every_s * every_s, UTC)
        return self._state.claim(period, self._new_id())
