"""The ledger on DynamoDB: append-only record chains and the state beside them.

Every write is conditional. A record is put only where none is, a resource's state only over the
version that was read, the account's sum only within its limit, and what belongs together goes in
one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from headroom.adapters.ledger.archive import Archive
from headroom.adapters.ledger.intents import Intents
from headroom.adapters.ledger.items import Item
from headroom.adapters.ledger.outbox import Outbox
from headroom.adapters.ledger.requests import RequestLedger
from headroom.adapters.ledger.resource_states import StateStore
from headroom.adapters.ledger.summaries import RecordIndex
from headroom.adapters.ledger.switches import SwitchLedger
from headroom.adapters.ledger.tables import RECORD
from headroom.adapters.ledger.work import WorkLedger
from headroom.domain.decision import Decision
from headroom.domain.ledger import (
    admission,
    after_decided,
    after_step,
    breaker_opened_by,
    breaker_opened_record,
    breaker_opened_text,
    first_record,
    may_follow,
    next_record,
    notice_of,
    why_not_recordable,
)
from headroom.domain.resources import ResourceRef
from headroom.domain.state import Breaker, Notify, Record, Step, account_state_after
from headroom.ports import IllegalStep, LostLease
from headroom.serialization import body_to_json, decision_to_json


class DynamoLedger(
    RequestLedger, Archive, StateStore, Intents, SwitchLedger, WorkLedger, RecordIndex, Outbox
):
    """The ledger of one account and Region: Ledger, Requests, Archive, Switches and more.

    Raises LedgerOutcomeUnknown, a WriteFailed, when DynamoDB failed or did not answer.
    """

    def decided(
        self, decision: Decision, *, due_at: datetime | None, notify: Notify | None = None
    ) -> bool:
        """Record a decision and move the resource's state; False if that id is already there.

        An earlier act that was never started is withdrawn in the same transaction.
        """
        return self._decided(decision, decision_to_json(decision), due_at, notify)

    def _decided(
        self, decision: Decision, body: str, due_at: datetime | None, notify: Notify | None
    ) -> bool:
        ref = decision.observation.volume.ref
        record = first_record(decision, body)
        retries = self._transactions.retries(f"the state of {ref.arn}")
        while True:
            held = self._state.held(ref)
            moved = after_decided(held.state, decision, due_at)
            token = self._new_id()
            parts = self._moves(ref, held, moved, token)
            parts += self._withdrawals(held.state, decision.decision_id, decision.at, token)
            refused = self._write(record, token, parts, notify, about=record.decision_id)
            if refused is None:
                return True
            if RECORD in refused.failed:
                return False
            next(retries)

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
        """Add a record to a chain and move the resource's state with it in one transaction."""
        text = body_to_json(body)
        retries = self._transactions.retries(f"the state of {ref.arn}")
        while True:
            last = self._records.last(decision_id)
            if last is None or not may_follow(last.step, step):
                raise IllegalStep(
                    _why_not_after(None if last is None else last.step, step, decision_id)
                )
            if last.resource != ref.arn:
                raise IllegalStep(f"{decision_id} is about {last.resource}, not {ref.arn}")
            seen = self._state.snapshot(ref)
            held = seen.held
            problem = why_not_recordable(held.state, decision_id, last.step, step, at)
            if problem is not None:
                raise IllegalStep(problem)
            if fencing is not None and not held.state.held(decision_id, fencing):
                raise LostLease(
                    f"{ref.arn} is at fencing number {held.state.fencing}, not {fencing}"
                )
            moved = after_step(held.state, decision_id, step, at=at, body=body, due_at=due_at)
            record = next_record(last, step, at=at, summary=summary, body=text)
            token = self._new_id()
            parts = self._moves(ref, held, moved, token)
            concurrency = admission.after_step(
                seen.concurrency.concurrency, decision_id, step, at=at, body=body
            )
            parts += self._concurrency.moves(seen.concurrency, concurrency, token)
            account = account_state_after(
                seen.stop_state, self._account, step, at=at, body=body, why=summary
            )
            if account is not seen.stop_state:
                parts.append(self._stops.counted(seen.stop_state, account))
            mine = breaker_opened_by(ref.arn, held.state, moved, summary)
            if mine is not None:
                parts += self._opening(mine, decision_id, ref, token)
                parts.append(self._stops.marked(ref.arn, mine))
            if account.breaker is not None and account.breaker is not seen.stop_state.breaker:
                parts += self._opening(account.breaker, decision_id, ref, token)
            if self._write(record, token, parts, notify, about=decision_id) is None:
                return record
            next(retries)

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; empty when there are none."""
        return self._records.chain(decision_id)

    def decision(self, decision_id: str) -> Decision:
        """The decision as it is stored; raises LookupError."""
        return self._decision(decision_id)

    def _opening(
        self, breaker: Breaker, decision_id: str, ref: ResourceRef, token: str
    ) -> list[Item]:
        body = body_to_json({"decision_id": decision_id, "failures": breaker.failures})
        record = breaker_opened_record(breaker, decision_id=decision_id, body=body)
        notify = Notify(text=breaker_opened_text(breaker, ref))
        self.notices_written += 1
        return [
            {"Put": self._put(record, token)},
            self._notice(notice_of(record, notify, about=decision_id)),
        ]


def _why_not_after(before: Step | None, step: Step, decision_id: str) -> str:
    if before is None or before in set(Step):
        return f"{step} may not follow {before} in {decision_id}"
    return (
        f"a newer release left {decision_id} at step {before}; if this lasts, end the change with "
        f"`headroom release {decision_id}`"
    )
