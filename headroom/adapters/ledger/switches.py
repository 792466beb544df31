"""Switches for people: pause, resume, close a breaker, and list what is stopped."""

from __future__ import annotations

from datetime import datetime

from headroom.adapters.ledger.items import Item
from headroom.adapters.ledger.tables import RECORD, Tables
from headroom.domain.ledger import after_closed, breaker_closed_record, pause_record, policy_record
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    INDEFINITE,
    Notify,
    Pause,
    Record,
    StopState,
    account_after_breaker_closed,
)
from headroom.serialization import body_to_json


class SwitchLedger(Tables):
    """Each switch is one transaction with its record."""

    def pause(self, until: datetime | None, *, at: datetime, who: str, reason: str = "") -> None:
        """Stop every act until then, None without end; a longer pause goes on. Recorded."""
        paused = Pause(until=until or INDEFINITE, since=at, who=who, reason=reason)
        for item in (self._stops.paused_item(paused), self._stops.kept_item(paused.until)):
            if self._switch(item, paused, at, who, reason):
                return

    def resume(self, *, at: datetime, who: str, reason: str = "") -> None:
        """End the pause; recorded. Raises ReadFailed where this release cannot read what it ends."""
        self._stops.account()
        self._switch(self._stops.switched_item(None, at=at, who=who), None, at, who, reason)
        self._state.make_due_now()

    def switch(
        self, pause: Pause | None, *, over: Pause | None, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Put `pause` in the place of `over`, if that is what is there; recorded."""
        item = self._stops.switched_item(pause, at=at, who=who, over=(over,))
        done = self._switch(item, pause, at, who, reason)
        if done and pause is None:
            self._state.make_due_now()
        return done

    def close_breaker(
        self, ref: ResourceRef | None, *, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Close the breaker of a resource, or of the account (None); False if none was open."""
        resource = self._account if ref is None else ref.arn
        body = body_to_json({"who": who, "reason": reason})
        record = breaker_closed_record(resource, at=at, who=who, reason=reason, body=body)
        retries = self._transactions.retries(f"the breaker of {resource}")
        while True:
            token = self._new_id()
            parts = self._closing_account(at) if ref is None else self._closing(ref, at, token)
            if not parts:
                return False
            if self._written(record, token, parts):
                self._state.make_due_now()
                return True
            next(retries)

    def record_policy(
        self, version: str, refused: str | None, *, sha256: str, at: datetime, who: str,
        reason: str = "",
    ) -> None:  # fmt: skip
        """Record that somebody published a policy, or why it was refused; people hear of it."""
        body = body_to_json(
            {"version": version, "sha256": sha256, "who": who, "reason": reason, "refused": refused}
        )
        record = policy_record(
            self._account, version, refused, at=at, who=who, reason=reason, body=body
        )
        self._written(record, self._new_id(), [])

    def stop_state(self) -> StopState:
        """All that is paused (even if its time is over) or open now."""
        return StopState(account=self._stops.account(), breakers=self._stops.breakers())

    def _switch(self, item: Item, pause: Pause | None, at: datetime, who: str, reason: str) -> bool:
        until = None if pause is None else pause.until
        body = body_to_json({"until": until, "who": who, "reason": reason})
        record = pause_record(self._account, until, at=at, who=who, body=body, reason=reason)
        return self._written(record, self._new_id(), [item])

    def _written(self, record: Record, token: str, parts: list[Item]) -> bool:
        """Whether `parts` are written, alone where a record of this very instant exists already."""
        refused = self._write(record, token, parts, Notify(text=record.summary))
        if parts and refused is not None and RECORD in refused.failed:
            refused = self._transactions.write(parts, token=self._new_id(), landed=lambda: False)
        return refused is None

    def _closing_account(self, at: datetime) -> list[Item]:
        before = self._stops.account()
        after = account_after_breaker_closed(before, at)
        return [] if after is before else [self._stops.counted(before, after)]

    def _closing(self, ref: ResourceRef, at: datetime, token: str) -> list[Item]:
        held = self._state.held(ref)
        moved = after_closed(held.state, at)
        if moved is held.state:
            return []
        return [self._state.put(ref, held, moved, token), self._stops.marked(ref.arn, None)]
