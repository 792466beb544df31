"""The in-memory ledger; the contract tests hold it to the behaviour of the DynamoDB ledger.

Fast enough for thousands of simulated decisions: a record is written out and hashed on its first
read, in the order of its chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from heapq import nsmallest

from headroom.domain.decision import Act, Decision
from headroom.domain.ledger import (
    IntentRefusal,
    Reservation,
    admission,
    admit_change,
    after_decided,
    after_intended,
    after_step,
    breaker_opened_by,
    combined_reservation,
    first_record,
    intended_body,
    may_follow,
    outcome_of,
    refusal_of,
    rejection_record,
    reservation,
    resource_state_of,
    why_not_recordable,
)
from headroom.domain.resources import ResourceRef
from headroom.domain.state import (
    ConcurrencyState,
    KnownModification,
    LoadProfile,
    QueueEntry,
    Record,
    RecordSummary,
    ResourceState,
    Step,
    account_state_after,
    active_pause,
    after_modifications,
    after_reconcile,
    after_resource_gone,
)
from headroom.ports import Due, IllegalStep, Intent, LostLease, NotIntended, QueuedResource
from headroom.proving.memory.chains import Chain, stored_ref
from headroom.proving.memory.requests import InMemoryRequests
from headroom.proving.memory.switches import InMemorySwitches
from headroom.serialization import decision_to_json, stored, to_json


class InMemoryLedger(InMemoryRequests, InMemorySwitches):
    """Ledger, StateStore, FleetScan, Switches, Requests and Archive of one account and Region."""

    def decided(self, decision: Decision, *, due_at: datetime | None) -> bool:
        """Record a decision and move the resource's state; False if that id is already there."""
        ref, decision = decision.observation.volume.ref, stored(decision)
        with self._lock:
            if decision.decision_id in self._chains:
                return False
            state = self._state(ref)
            self._withdraw(state.unstarted_act, decision.decision_id, decision.at)
            self._move(ref, after_decided(state, decision, due_at))
            chain = Chain(resource=ref.arn, decision=decision)
            self._chains[decision.decision_id] = chain
            self._link(
                decision.decision_id, Step.DECIDED, decision.at, outcome_of(decision),
                lambda _: first_record(decision, decision_to_json(decision)),
            )  # fmt: skip
            return True

    def intend(
        self, decision: Decision, *, lease_until: datetime, now: datetime
    ) -> Intent | NotIntended:
        """Record the intent, take the lease and reserve the increase, or say why not."""
        intents = self.intend_together((decision,), lease_until=lease_until, now=now)
        return intents if isinstance(intents, NotIntended) else intents[0]

    def intend_together(
        self, decisions: Sequence[Decision], *, lease_until: datetime, now: datetime
    ) -> tuple[Intent, ...] | NotIntended:
        """The same for each of `decisions`, about as many volumes, or for none of them."""
        with self._lock:
            fits, concurrency = [], self._traffic
            for decision in decisions:
                chain = self._chains.get(decision.decision_id)
                if chain is None or not isinstance(decision.answer, Act):
                    raise IllegalStep(f"{decision.decision_id} was not decided, or not to act")
                state = self._state(decision.observation.volume.ref)
                fit = reservation(state, decision, chain.steps[-1], now)
                if isinstance(fit, IntentRefusal):
                    return NotIntended(why=fit.why, detail=refusal_of(fit, decision, decisions))
                fits.append(fit)
                begun = admit_change(concurrency, decision, now)
                if isinstance(begun, IntentRefusal):
                    return NotIntended(why=begun.why, detail=refusal_of(begun, decision, decisions))
                concurrency = begun
            if (paused := active_pause(self._stops.pause, now)) is not None:
                return NotIntended(why="paused", detail=f"paused until {paused.until.isoformat()}")
            if self._stops.breaker is not None:
                return NotIntended(why="breaker", detail="the account's breaker is open")
            sum_of = combined_reservation(fits)
            if isinstance(sum_of, IntentRefusal) or (
                sum_of.delta > 0 and self._account_micro_usd > sum_of.limit_left
            ):
                return NotIntended(why="budget", detail="the account's increases are at its limit")
            self._traffic = concurrency
            return tuple(
                self._intended(decision, fit, lease_until, now)
                for decision, fit in zip(decisions, fits, strict=True)
            )

    def _intended(
        self, decision: Decision, fit: Reservation, lease_until: datetime, now: datetime
    ) -> Intent:
        ref, answer = decision.observation.volume.ref, decision.answer
        if not isinstance(answer, Act):
            raise IllegalStep(f"{decision.decision_id} is not to act")
        moved = after_intended(self._state(ref), decision, fit.planned, lease_until, now)
        body = to_json(intended_body(decision, answer.plan, fit, moved))
        self._move(ref, moved)
        summary = f"intended: {answer.plan.origin} -> {answer.plan.target}"
        self._follow(decision.decision_id, Step.INTENDED, now, summary, body)
        return Intent(decision_id=decision.decision_id, fencing=moved.fencing)

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
    ) -> Record:
        """Add a record to a chain and move the resource's state with it."""
        with self._lock:
            chain = self._chains.get(decision_id)
            last = None if chain is None else chain.steps[-1]
            if chain is None or not may_follow(last, step):
                raise IllegalStep(f"{step} may not follow {last} in {decision_id}")
            if chain.resource != ref.arn:
                raise IllegalStep(f"{decision_id} is about {chain.resource}, not {ref.arn}")
            state, text = self._state(ref), to_json(body)
            if (problem := why_not_recordable(state, decision_id, step)) is not None:
                raise IllegalStep(problem)
            if fencing is not None and not state.held(decision_id, fencing):
                raise LostLease(f"{ref.arn} is at fencing number {state.fencing}, not {fencing}")
            moved = after_step(state, decision_id, step, at=at, body=body, due_at=due_at)
            self._move(ref, moved)
            self._traffic = admission.after_step(self._traffic, decision_id, step, at=at, body=body)
            self._follow(decision_id, step, at, summary, text)
            account = account_state_after(
                self._stops, self._account, step, at=at, body=body, why=summary
            )
            self._open(breaker_opened_by(ref.arn, state, moved, summary), decision_id)
            if account.breaker is not self._stops.breaker:
                self._open(account.breaker, decision_id)
            self._stops = account
            return chain.written()[-1]

    def decision(self, decision_id: str) -> Decision:
        """The decision as it is stored; raises LookupError."""
        with self._lock:
            found = self._chains.get(decision_id)
            if found is None or found.decision is None:
                raise LookupError(f"no decision {decision_id}")
            return stored(found.decision)

    def resource_state(self, ref: ResourceRef, now: datetime) -> ResourceState:
        """The state of a resource; a new one for an unknown resource."""
        with self._lock:
            return resource_state_of(
                self._state(ref), account_micro_usd=self._account_micro_usd,
                stop_state=self._stops, now=now, concurrency=self._traffic,
            )  # fmt: skip

    def due(self, now: datetime, limit: int) -> tuple[Due, ...]:
        """Resources due at or before `now`, longest overdue first."""
        with self._lock:
            overdue = (
                (state.due_at, ref.arn, ref)
                for ref, state in self._states.items()
                if state.due_at is not None and state.due_at <= now
            )
            return tuple(Due(ref=ref, due_at=at) for at, _, ref in nsmallest(limit, overdue))

    def next_due(self) -> datetime | None:
        """The earliest instant at which anything is due; None when nothing is."""
        with self._lock:
            return min((s.due_at for s in self._states.values() if s.due_at), default=None)

    def reconciled(
        self, ref: ResourceRef, *, at: datetime, due_at: datetime | None,
        waiting: QueueEntry | None = None,
    ) -> None:  # fmt: skip
        """Save a reconcile that changed nothing."""
        with self._lock:
            self._move(ref, after_reconcile(self._state(ref), at, due_at, waiting))

    def concurrency(self) -> ConcurrencyState:
        """The changes under way."""
        with self._lock:
            return self._traffic

    def queue(self, limit: int) -> tuple[QueuedResource, ...]:
        """Waiting resources: the most starved first, then the longest waiting."""
        with self._lock:
            waits = (
                (state.waiting.rank, ref.arn, QueuedResource(ref=ref, waiting=state.waiting))
                for ref, state in self._states.items()
                if state.waiting is not None
            )
            return tuple(one for _, _, one in nsmallest(limit, waits, key=lambda each: each[:2]))

    def forget(self, ref: ResourceRef, *, at: datetime, another: bool = False) -> None:
        """Forget a resource that no longer exists: nothing of it is in force or due."""
        with self._lock:
            state = self._states.get(stored_ref(ref))
            if state is not None:
                self._withdraw(state.unstarted_act, None, at)
                self._move(ref, after_resource_gone(state, at, another=another))
                self._breakers.pop(ref.arn, None)

    def save_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
    ) -> None:
        """Add known starts, the end of a full window and the owner's new price."""
        with self._lock:
            moved = after_modifications(
                self._state(ref), seen, now=now, full_until=full_until, owner_price=owner_price
            )
            self._move(ref, moved)

    def profile(self, ref: ResourceRef) -> LoadProfile | None:
        """The profile of a resource's past, None if none was saved."""
        return self._profiles.get(stored_ref(ref))

    def save_profile(self, ref: ResourceRef, profile: LoadProfile) -> None:
        """Save the profile of a resource's past."""
        self._profiles[stored_ref(ref)] = profile

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of one resource in [since, until], newest first."""
        return self._found(lambda entry: entry.resource == arn, since, until)

    def by_time(self, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of all resources in [since, until], newest first."""
        return self._found(lambda entry: True, since, until)

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records with this outcome in [since, until], newest first."""
        return self._found(lambda entry: entry.outcome == outcome, since, until)

    def record_summaries(
        self, *, since: datetime, until: datetime, outcome: str | None = None,
        oldest_first: bool = False,
    ) -> Iterator[RecordSummary]:  # fmt: skip
        """Records in [since, until], of one outcome if it is given, newest first by default."""
        fits = self._found(lambda e: outcome in (None, e.outcome), since, until)
        found = [
            RecordSummary(
                decision_id=r.decision_id, sequence=r.sequence, step=r.step, resource=r.resource,
                at=r.at, outcome=r.outcome, summary=r.summary,
            )
            for r in fits
        ]  # fmt: skip
        return iter(found[::-1] if oldest_first else found)

    def records(self, keys: Sequence[tuple[str, int]]) -> tuple[Record, ...]:
        """The records of these ids and sequences, in order; unknown ones are left out."""
        chains = [(self.chain(decision_id), sequence) for decision_id, sequence in keys]
        return tuple(chain[sequence] for chain, sequence in chains if sequence < len(chain))

    def reject(self, event_id: str, *, reason: str, excerpt: str, at: datetime) -> None:
        """Record an event that cannot be parsed, once per event id."""
        body = to_json({"event_id": event_id, "reason": reason, "excerpt": excerpt})
        self._single(rejection_record(event_id, reason=reason, excerpt=excerpt, at=at, body=body))
