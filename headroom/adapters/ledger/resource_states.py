"""The mutable side of the ledger: the state of each resource, and the fleet scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from headroom.adapters.ledger.tables import Tables
from headroom.domain.catalog import PriceTable
from headroom.domain.ledger import gone_record, resource_state_of
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    ConcurrencyState,
    KnownModification,
    LoadProfile,
    Notify,
    QueueEntry,
    ResourceState,
    SlowEffect,
    after_modifications,
    after_resource_gone,
    without_resource,
)
from headroom.ports import Due, DueResources, QueuedResource, Scan


class StateStore(Tables):
    """The mutable side: one item per resource, one each per account for budget and scan."""

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        """What is known about a resource; a new state when it was never observed."""
        seen = self._state.snapshot(ref)
        return resource_state_of(
            seen.held.state, account_micro_usd=seen.account_micro_usd,
            stop_state=seen.stop_state, now=now, concurrency=seen.concurrency.concurrency,
        )  # fmt: skip

    def due(self, now: datetime, limit: int) -> DueResources:
        """Resources due at or before `now` and claimed by nobody, longest overdue first.

        Read from an eventually consistent index; a reconciliation reads the state again.
        """
        return self._state.due(now, limit)

    def reconciled(
        self, ref: ResourceRef, *, at: datetime, due_at: datetime | None,
        waiting: QueueEntry | None = None, urgency: int | None = None,
    ) -> None:  # fmt: skip
        """Record a reconciliation without news; it postpones an open chain only if that was due."""
        self._state.reconciled(ref, at=at, due_at=due_at, waiting=waiting, urgency=urgency)

    def mark_due(
        self, ref: ResourceRef, *, at: datetime, wake_at: datetime, urgency: int, why: str
    ) -> bool:
        """Make a resource due at `at` unless it is due by then; whether it was not."""
        return self._state.mark_due(ref, at=at, wake_at=wake_at, urgency=urgency, why=why)

    def claim_due(self, due: Due, until: datetime) -> bool:
        """Claim what is due for one dispatcher until then; False if somebody else did."""
        return self._state.claim_due(due, until)

    def concurrency(self) -> ConcurrencyState:
        """The changes under way, read consistently."""
        return self._concurrency.held().concurrency

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """The queue: the most starved first, then the longest waiting."""
        return self._concurrency.queue(limit)

    def forget(
        self, ref: ResourceRef, *, at: datetime, another: bool = False, chain_lost: str = ""
    ) -> None:
        """The resource no longer exists: end what is in force, due or pending.

        An open chain stays, for its own record ends it; unless it is `chain_lost`, which no record can end.
        """
        retries = self._transactions.retries(f"the state of {ref.arn}")
        while True:
            held = self._state.held(ref)
            before = held.state
            lost = before.chain is not None and before.chain.decision_id == chain_lost
            ended = replace(before, chain=None, lease_until=None) if lost else before
            moved = after_resource_gone(ended, at, another=another)
            if moved is before:
                return
            # After a lost answer the next attempt finds nothing left to write.
            token = self._new_id()
            parts = self._moves(ref, held, moved, token)
            parts += self._withdrawals(before, None, at, token)
            if before.breaker_opened_at is not None:
                parts.append(self._stops.marked(ref.arn, None))
            if without_resource(before).gone and not before.gone and before.chain is None:
                asked, notify = before.rollback, None
                if asked is not None and asked.by_person:
                    notify = Notify(
                        text=f"rollback asked for by {asked.who}, and not done: the {ref.noun} is gone"
                    )
                about = "" if asked is None else asked.decision_id
                done = self._write(gone_record(ref, at), token, parts, notify, about=about)
            else:
                done = self._transactions.write(parts, token=token, landed=lambda: False)
            if done is None:
                return
            next(retries)

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
        """Add known starts, the end of full slots and what the owner set; writes only news."""
        retries = self._transactions.retries(f"the state of {ref.arn}")
        while True:
            held = self._state.held(ref)
            moved = after_modifications(
                held.state,
                seen,
                now=now,
                full_until=full_until,
                owner_price=owner_price,
                prices=prices,
                slow_effect=slow_effect,
            )
            if moved is held.state:
                return
            # After a lost answer the next attempt finds nothing left to write.
            parts = self._moves(ref, held, moved, token := self._new_id())
            if self._transactions.write(parts, token=token, landed=lambda: False) is None:
                return
            next(retries)

    def profile(self, ref: ResourceRef) -> LoadProfile | None:
        """The profile of a resource's past; None where none is stored that can be read."""
        return self._state.profile(ref)

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        """Store the profile in place of the one before."""
        self._state.save_profile(ref, profile)

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period of `every_s` seconds of UTC."""
        period = datetime.fromtimestamp(now.timestamp() // every_s * every_s, UTC)
        return self._state.claim(period, self._new_id())
