"""The ledger in memory: the same behaviour as the one on DynamoDB, held to the same tests.

Fast enough for a simulation of thousands of decisions: a record is written out and hashed when
somebody asks for it, in the order of its chain, so hashes are real though mostly never needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from heapq import nsmallest
from threading import RLock

from headroom.domain.bookkeeping import (
    after_closed,
    after_decided,
    after_forgotten,
    after_intended,
    after_look,
    after_modifications,
    after_step,
    opened_by,
    standing_of,
)
from headroom.domain.decision import Act, Decision
from headroom.domain.links import (
    closed,
    following,
    may_follow,
    opened,
    opening,
    outcome_of,
    overtaken,
    rejection,
    switch,
)
from headroom.domain.records import Record, Step
from headroom.domain.reservation import Unfit, intended_body, reservation
from headroom.domain.resource_state import ResourceState
from headroom.domain.resources import ResourceRef
from headroom.domain.standing import KnownModification, Standing
from headroom.domain.stops import (
    ENDLESS,
    AccountStops,
    Breaker,
    Pause,
    Stops,
    account_after,
    account_closed,
    in_force,
)
from headroom.ports import Due, IllegalStep, Intent, LostLease, NotIntended, Scan
from headroom.serialization import decision_to_json, stored, to_json

Link = Callable[[Record | None], Record]


@dataclass(slots=True, kw_only=True)
class _Chain:
    """Links not written out yet follow the records that are."""

    resource: str
    decision: Decision | None
    steps: list[Step] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def written(self) -> list[Record]:
        while len(self.records) < len(self.links):
            last = self.records[-1] if self.records else None
            self.records.append(self.links[len(self.records)](last))
        return self.records


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _Entry:
    """Where a record is found: by instant, then place in its chain, then id."""

    at: datetime
    sequence: int
    decision_id: str
    resource: str
    outcome: str


class MemoryLedger:
    """Ledger, Standings, FleetScan, Switches and Archive of one account and Region; safe between threads."""

    def __init__(self, account_id: str, region: str) -> None:
        self._account = f"account#{account_id}#{region}"
        self._chains: dict[str, _Chain] = {}
        self._entries: list[_Entry] = []
        self._states: dict[ResourceRef, ResourceState] = {}
        self._account_micro_usd = 0
        self._stops = AccountStops()
        self._breakers: dict[str, Breaker] = {}
        self._scanned: datetime | None = None
        self._lock = RLock()

    def decided(self, decision: Decision, *, due_at: datetime | None) -> bool:
        """Record a decision and move the resource's state; False if that id is already there."""
        ref = decision.observation.volume.ref
        with self._lock:
            if decision.decision_id in self._chains:
                return False
            state = self._state(ref)
            self._withdraw(state.pending_act, decision.decision_id, decision.at)
            self._move(ref, after_decided(state, decision, due_at))
            chain = _Chain(resource=ref.arn, decision=decision)
            self._chains[decision.decision_id] = chain
            self._link(
                decision.decision_id, Step.DECIDED, decision.at, outcome_of(decision),
                lambda _: opening(decision, decision_to_json(decision)),
            )  # fmt: skip
            return True

    def intend(
        self, decision: Decision, *, lease_until: datetime, now: datetime
    ) -> Intent | NotIntended:
        """Record the intent, take the lease and reserve the increase, or say why not."""
        ref, answer = decision.observation.volume.ref, decision.answer
        with self._lock:
            chain = self._chains.get(decision.decision_id)
            if chain is None or not isinstance(answer, Act):
                raise IllegalStep(f"{decision.decision_id} was not decided, or not to act")
            state = self._state(ref)
            fit = reservation(state, decision, chain.steps[-1], now)
            if isinstance(fit, Unfit):
                return NotIntended(why=fit.why, detail=fit.detail)
            if (paused := in_force(self._stops.pause, now)) is not None:
                return NotIntended(why="paused", detail=f"paused until {paused.until.isoformat()}")
            if self._stops.breaker is not None:
                return NotIntended(why="breaker", detail="the account's breaker is open")
            if fit.delta > 0 and self._account_micro_usd > fit.room:
                return NotIntended(why="budget", detail="the account's increases are at its limit")
            moved = after_intended(state, decision, fit.planned, lease_until, now)
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
            if chain is None or step is Step.INTENDED or not may_follow(last, step):
                raise IllegalStep(f"{step} may not follow {last} in {decision_id}")
            if chain.resource != ref.arn:
                raise IllegalStep(f"{decision_id} is about {chain.resource}, not {ref.arn}")
            state, text = self._state(ref), to_json(body)
            if fencing is not None and not state.held(decision_id, fencing):
                raise LostLease(f"{ref.arn} is at fencing number {state.fencing}, not {fencing}")
            moved = after_step(state, decision_id, step, at=at, body=body, due_at=due_at)
            self._move(ref, moved)
            self._follow(decision_id, step, at, summary, text)
            account = account_after(self._stops, self._account, step, at=at, body=body, why=summary)
            self._open(opened_by(ref.arn, state, moved, summary), decision_id)
            if account.breaker is not self._stops.breaker:
                self._open(account.breaker, decision_id)
            self._stops = account
            return chain.written()[-1]

    def chain(self, decision_id: str) -> tuple[Record, ...]:
        """All records of one decision, oldest first; empty when there are none."""
        with self._lock:
            found = self._chains.get(decision_id)
            return () if found is None else tuple(found.written())

    def decision(self, decision_id: str) -> Decision:
        """The decision as it is stored; raises LookupError."""
        with self._lock:
            found = self._chains.get(decision_id)
            if found is None or found.decision is None:
                raise LookupError(f"no decision {decision_id}")
            return stored(found.decision)

    def standing(self, ref: ResourceRef, now: datetime) -> Standing:
        """What is known about a resource; a fresh standing when it was never seen."""
        with self._lock:
            return standing_of(
                self._state(ref), account_micro_usd=self._account_micro_usd,
                stops=self._stops, now=now,
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

    def looked(self, ref: ResourceRef, *, at: datetime, due_at: datetime | None) -> None:
        """Remember a look that was no news."""
        with self._lock:
            self._move(ref, after_look(self._state(ref), at, due_at))

    def forget(self, ref: ResourceRef, *, at: datetime) -> None:
        """The resource exists no more: nothing of it is in force, due or still to be done."""
        with self._lock:
            state = self._states.get(ref)
            if state is not None:
                self._withdraw(state.pending_act, None, at)
                self._move(ref, after_forgotten(state, at))
                self._breakers.pop(ref.arn, None)

    def saw_modifications(
        self,
        ref: ResourceRef,
        seen: Sequence[KnownModification],
        *,
        now: datetime,
        full_until: datetime | None = None,
        owner_price: Decimal | None = None,
    ) -> None:
        """Add known starts, what a refusal taught and the owner's new price."""
        with self._lock:
            moved = after_modifications(
                self._state(ref), seen, now=now, full_until=full_until, owner_price=owner_price
            )
            self._move(ref, moved)

    def claim_scan(self, now: datetime, every_s: int) -> Scan:
        """AGAIN or FIRST for exactly one caller per period of `every_s` seconds of UTC."""
        period = datetime.fromtimestamp(now.timestamp() // every_s * every_s, UTC)
        with self._lock:
            if self._scanned is not None and period <= self._scanned:
                return Scan.NOT_OURS
            first, self._scanned = self._scanned is None, period
            return Scan.FIRST if first else Scan.AGAIN

    def pause(self, until: datetime | None, *, at: datetime, who: str, reason: str = "") -> None:
        """Stop every act; recorded."""
        self._switch(
            Pause(until=until or ENDLESS, since=at, who=who, reason=reason), at, who, reason
        )

    def resume(self, *, at: datetime, who: str, reason: str = "") -> None:
        """End the pause; recorded."""
        self._switch(None, at, who, reason)

    def close_breaker(
        self, ref: ResourceRef | None, *, at: datetime, who: str, reason: str = ""
    ) -> bool:
        """Close the breaker of a resource, or of the account (None); False if none was open."""
        resource = self._account if ref is None else ref.arn
        with self._lock:
            if ref is None:
                if self._stops.breaker is None:
                    return False
                self._stops = account_closed(self._stops, at)
            else:
                state = self._state(ref)
                moved = after_closed(state, at)
                if moved is state:
                    return False
                self._move(ref, moved)
                self._breakers.pop(resource, None)
            body = to_json({"who": who, "reason": reason})
            self._single(closed(resource, at=at, who=who, reason=reason, body=body))
            self._hurry()
            return True

    def stops(self) -> Stops:
        """All that is paused or open now."""
        with self._lock:
            breakers = sorted(self._breakers.values(), key=lambda b: (b.opened_at, b.resource))
            return Stops(account=self._stops, breakers=tuple(breakers))

    def by_resource(self, arn: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of one resource in [since, until], newest first."""
        return self._found(lambda entry: entry.resource == arn, since, until)

    def by_time(self, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records of all resources in [since, until], newest first."""
        return self._found(lambda entry: True, since, until)

    def by_outcome(self, outcome: str, *, since: datetime, until: datetime) -> Iterator[Record]:
        """Records with this outcome in [since, until], newest first."""
        return self._found(lambda entry: entry.outcome == outcome, since, until)

    def reject(self, event_id: str, *, reason: str, excerpt: str, at: datetime) -> None:
        """Record an event nobody understood, once per event id."""
        body = to_json({"event_id": event_id, "reason": reason, "excerpt": excerpt})
        self._single(rejection(event_id, reason=reason, excerpt=excerpt, at=at, body=body))

    def _switch(self, pause: Pause | None, at: datetime, who: str, reason: str) -> None:
        until = None if pause is None else pause.until
        body = to_json({"until": until, "who": who, "reason": reason})
        with self._lock:
            self._stops = replace(self._stops, pause=pause)
            self._single(switch(self._account, until, at=at, who=who, body=body, reason=reason))
            if pause is None:
                self._hurry()

    def _open(self, breaker: Breaker | None, decision_id: str) -> None:
        if breaker is not None:
            if breaker.resource != self._account:
                self._breakers[breaker.resource] = breaker
            body = to_json({"decision_id": decision_id, "failures": breaker.failures})
            self._single(opened(breaker, decision_id=decision_id, body=body))

    def _hurry(self) -> None:
        if self._scanned is not None:
            self._scanned = datetime.fromtimestamp(0, UTC)

    def _state(self, ref: ResourceRef) -> ResourceState:
        return self._states.get(ref) or ResourceState()

    def _move(self, ref: ResourceRef, moved: ResourceState) -> None:
        self._account_micro_usd += moved.own_micro_usd - self._state(ref).own_micro_usd
        self._states[ref] = moved

    def _withdraw(self, pending_act: str | None, successor: str | None, at: datetime) -> None:
        if pending_act is not None:
            summary, body = overtaken(successor)
            self._follow(pending_act, Step.WITHDRAWN, at, summary, to_json(body))

    def _follow(self, decision_id: str, step: Step, at: datetime, summary: str, body: str) -> None:
        def link(last: Record | None) -> Record:
            if last is None:
                raise LookupError(f"{decision_id} has no record to follow")
            return following(last, step, at=at, summary=summary, body=body)

        self._link(decision_id, step, at, step.value, link)

    def _single(self, record: Record) -> None:
        with self._lock:
            if record.decision_id not in self._chains:
                chain = _Chain(resource=record.resource, decision=None)
                self._chains[record.decision_id] = chain
                self._link(
                    record.decision_id, record.step, record.at, record.outcome, lambda _: record
                )

    def _link(self, decision_id: str, step: Step, at: datetime, outcome: str, link: Link) -> None:
        chain = self._chains[decision_id]
        entry = _Entry(
            at=at, sequence=len(chain.links), decision_id=decision_id, resource=chain.resource,
            outcome=outcome,
        )  # fmt: skip
        chain.steps.append(step)
        chain.links.append(link)
        self._entries.append(entry)

    def _found(
        self, fits: Callable[[_Entry], bool], since: datetime, until: datetime
    ) -> Iterator[Record]:
        if since.tzinfo is None or until.tzinfo is None:
            raise ValueError("since and until need a time zone; pass aware instants.")
        with self._lock:
            found = sorted(e for e in self._entries if since <= e.at <= until and fits(e))
        return (self.chain(entry.decision_id)[entry.sequence] for entry in reversed(found))
