"""Intents on DynamoDB: of one volume, or of a whole set in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headroom.adapters.ledger.breakers import stop_reason
from headroom.adapters.ledger.concurrency import ConcurrencyItem
from headroom.adapters.ledger.items import Item, unwire
from headroom.adapters.ledger.state_table import SUM, StateItem
from headroom.adapters.ledger.tables import Tables
from headroom.adapters.ledger.transactions import Cancelled
from headroom.domain.decision import Act, Decision
from headroom.domain.ledger import (
    CombinedReservation,
    IntentRefusal,
    Reservation,
    admit_change,
    after_intended,
    combined_reservation,
    intended_body,
    next_record,
    refusal_of,
    reservation,
)
from headroom.domain.state import ConcurrencyState, Record, Step, StoredState, usd
from headroom.ports import IllegalStep, Intent, NotIntended
from headroom.serialization import body_to_json


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """One decision of those intended together, and what its intent would write."""

    decision: Decision
    act: Act
    held: StateItem
    last: Record
    fit: Reservation
    moved: StoredState


class Intents(Tables):
    """Makes intents durable; all of a set, or none of it."""

    def intend(
        self, decision: Decision, *, lease_until: datetime, now: datetime
    ) -> Intent | NotIntended:
        """Record the intent, take the lease and reserve the increase, or say why not."""
        intents = self.intend_together((decision,), lease_until=lease_until, now=now)
        return intents if isinstance(intents, NotIntended) else intents[0]

    def intend_together(
        self, decisions: Sequence[Decision], *, lease_until: datetime, now: datetime
    ) -> tuple[Intent, ...] | NotIntended:
        """The same for each of `decisions`, about as many volumes, in one transaction.

        It has two actions for each (record, state) and three for all (traffic, switches, the
        account's sum).
        """
        arns = ", ".join(d.observation.volume.ref.arn for d in decisions)
        retries = self._transactions.retries(f"the state of {arns}")
        while True:
            before = self._concurrency.held()
            members, concurrency = [], before.concurrency
            for decision in decisions:
                member = self._member(decision, lease_until, now)
                if isinstance(member, IntentRefusal):
                    return NotIntended(
                        why=member.why, detail=refusal_of(member, decision, decisions)
                    )
                begun = admit_change(concurrency, decision, now, decisions)
                if isinstance(begun, IntentRefusal):
                    return NotIntended(why=begun.why, detail=refusal_of(begun, decision, decisions))
                members.append(member)
                concurrency = begun
            sum_of = combined_reservation([member.fit for member in members])
            if isinstance(sum_of, IntentRefusal):
                return NotIntended(why=sum_of.why, detail=sum_of.detail)
            refused = self._write_all(members, sum_of, now, before, concurrency)
            if refused is None:
                return tuple(
                    Intent(decision_id=m.decision.decision_id, fencing=m.moved.fencing)
                    for m in members
                )
            # A lost race first: who reads anew may find a plainer reason.
            if not refused.failed.keys() & set(range(2 * len(members) + 1)):
                return _not_intended(refused, sum_of, switches=2 * len(members) + 1)
            next(retries)

    def _member(
        self, decision: Decision, lease_until: datetime, now: datetime
    ) -> _Member | IntentRefusal:
        # The state before the chain: whoever overtook this decision has withdrawn it by then.
        held = self._state.held(decision.observation.volume.ref)
        last, answer = self._records.last(decision.decision_id), decision.answer
        if last is None or not isinstance(answer, Act):
            raise IllegalStep(f"{decision.decision_id} was not decided, or not to act")
        fit = reservation(held.state, decision, last.step, now)
        if isinstance(fit, IntentRefusal):
            return fit
        moved = after_intended(held.state, decision, fit.planned, lease_until, now)
        return _Member(decision=decision, act=answer, held=held, last=last, fit=fit, moved=moved)

    def _write_all(
        self, members: Sequence[_Member], sum_of: CombinedReservation, now: datetime,
        before: ConcurrencyItem, concurrency: ConcurrencyState,
    ) -> Cancelled | None:  # fmt: skip
        token = self._new_id()
        records = [
            next_record(
                m.last, Step.INTENDED, at=now,
                summary=f"intended: {m.act.plan.origin} -> {m.act.plan.target}",
                body=body_to_json(intended_body(m.decision, m.act.plan, m.fit, m.moved)),
            )
            for m in members
        ]  # fmt: skip
        parts: list[Item] = [{"Put": self._put(record, token)} for record in records]
        for m in members:
            parts.append(self._state.put(m.decision.observation.volume.ref, m.held, m.moved, token))
        parts.append(self._concurrency.put(before, concurrency, token))
        parts.append(self._stops.require_not_stopped(now))
        if sum_of.delta:
            parts.append(self._state.add(sum_of.delta, sum_of.limit_left))
        return self._transactions.write(
            parts, token=token, landed=lambda: self._is_same_decision(records[0], token)
        )


def _not_intended(refused: Cancelled, sum_of: CombinedReservation, *, switches: int) -> NotIntended:
    """Why, from the conditions that failed: the switches or, after them, the account's sum."""
    if switches in refused.failed:
        why, detail = stop_reason(refused.failed[switches])
        return NotIntended(why=why, detail=detail)
    sum_now = unwire(refused.failed[switches + 1].get(SUM, {"N": "0"}))
    return NotIntended(
        why="budget",
        detail=f"${usd(sum_now)} of increases in force, ${usd(sum_of.delta)} more needed, "
        f"${usd(sum_of.limit_left + sum_of.delta)} allowed in the account",
    )
