"""How each record moves the ledger's state of its resource: pure, shared by every ledger.

Money that is added up is in whole micro-USD per month: reservations are rounded up, limits down,
so a sum of them never passes a limit by rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal

from headroom.domain.decision import Decision, Escalate
from headroom.domain.demand import Binding
from headroom.domain.outcome import Applied, Refusal, Refused
from headroom.domain.records import Step
from headroom.domain.standing import WINDOW, KnownModification, OpenChain, Signature, Standing

MICRO = 1_000_000
SAME_START = timedelta(seconds=1)
"""AWS tells starts to the second; two that are no further apart are the same one."""
OURS = "headroom"
KEPT_CAUSES = 20
RELEASES = frozenset({Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.WITHDRAWN})
"""Steps that end a chain without a change in force."""
LANDED = frozenset({Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED})
"""Steps that end a chain with a change in force."""
WAITS = frozenset({Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.REGION_QUOTA, Refusal.THROTTLED})
"""Refusals that time clears: no failure of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """An increase reserved for a chain that has not ended, in micro-USD per month."""

    decision_id: str
    micro_usd: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceState:
    """All that the ledger keeps about one resource. Money in micro-USD per month but enrolment."""

    enrolment_usd: Decimal | None = None
    in_force_micro_usd: int = 0
    """The increase of what landed."""
    reserved: tuple[Reserved, ...] = ()
    """What chains that have not ended may add up to; kept until a change landed or did not."""
    modifications: tuple[KnownModification, ...] = ()
    slots_full_until: datetime | None = None
    last_refusal_at: datetime | None = None
    last_act_at: datetime | None = None
    last_looked_at: datetime | None = None
    chain: OpenChain | None = None
    fencing: int = 0
    lease_until: datetime | None = None
    last_signature: Signature | None = None
    last_decision_id: str | None = None
    escalated_causes: tuple[str, ...] = ()
    failures_in_a_row: int = 0
    due_at: datetime | None = None

    @property
    def own_micro_usd(self) -> int:
        """This resource's part of the account's sum: the most that is or may come in force."""
        return max(self.in_force_micro_usd, *(r.micro_usd for r in self.reserved), 0)

    def held(self, decision_id: str, fencing: int) -> bool:
        """Whether `decision_id` still holds the lease that came with this fencing number."""
        chain = self.chain
        return chain is not None and chain.decision_id == decision_id and chain.fencing == fencing


def micro_usd(usd: Decimal, rounding: str = ROUND_CEILING) -> int:
    """USD in whole micro-USD, rounded up unless told otherwise."""
    return int((usd * MICRO).to_integral_value(rounding))


def usd(micro: int) -> Decimal:
    """Micro-USD in USD."""
    return Decimal(micro) / MICRO


def after_decided(
    state: ResourceState, decision: Decision, due_at: datetime | None
) -> ResourceState:
    """The state once `decision` is recorded; an open chain's due time is never put off by it."""
    enrolment, causes = state.enrolment_usd, state.escalated_causes
    if enrolment is None and decision.effective.enrolled:
        enrolment = decision.current_usd
    if decision.diagnosis.binding is Binding.NOTHING:
        causes = ()
    if isinstance(decision.answer, Escalate) and decision.answer.cause not in causes:
        causes = (*causes, decision.answer.cause)[-KEPT_CAUSES:]
    return replace(
        state, enrolment_usd=enrolment, escalated_causes=causes, last_looked_at=decision.at,
        last_signature=decision.signature, last_decision_id=decision.decision_id,
        due_at=due_at if state.chain is None else _earliest(state.due_at, due_at),
    )  # fmt: skip


def after_intended(
    state: ResourceState, decision: Decision, planned: int, lease_until: datetime, now: datetime
) -> ResourceState:
    """The state once the intent is durable; due when its lease ends, in case nothing follows."""
    fencing = state.fencing + 1
    mine = Reserved(decision_id=decision.decision_id, micro_usd=planned)
    chain = OpenChain(
        decision_id=decision.decision_id, phase=Step.INTENDED.value, since=now, fencing=fencing
    )
    return replace(
        state, fencing=fencing, lease_until=lease_until, chain=chain,
        reserved=(*state.reserved, mine), due_at=lease_until,
    )  # fmt: skip


def after_step(
    state: ResourceState,
    decision_id: str,
    step: Step,
    *,
    at: datetime,
    body: Mapping[str, object],
    due_at: datetime | None,
) -> ResourceState:
    """The state once `step` is recorded.

    `body` may carry `outcome` (an Outcome) or `started_at` (an instant), which tell when AWS
    started an applied change and whether a refusal is one that time clears.
    """
    chain = state.chain
    holds = chain is not None and chain.decision_id == decision_id
    if chain is not None and holds:
        ended = step in RELEASES | LANDED
        chain = None if ended else replace(chain, phase=step.value, since=at)
        state = replace(state, chain=chain, lease_until=None if ended else state.lease_until)
    state = _settle(state, decision_id, step, holds)
    state = _count(state, step, at, body)
    if step is Step.APPLIED:
        ours = KnownModification(started_at=_started(body, at), by=OURS)
        state = replace(
            state, last_act_at=at, modifications=_known(state.modifications, [ours], at)
        )
    free = state.chain is None or holds
    return replace(state, due_at=due_at if free else _earliest(state.due_at, due_at))


def _settle(state: ResourceState, decision_id: str, step: Step, holds: bool) -> ResourceState:
    """Release or bring into force what was reserved, when its chain ends."""
    mine = next((r for r in state.reserved if r.decision_id == decision_id), None)
    if mine is None or step not in RELEASES | LANDED:
        return state
    in_force = state.in_force_micro_usd
    if step in LANDED:  # a chain that lost its lease may have been overtaken: the dearer counts
        in_force = mine.micro_usd if holds else max(in_force, mine.micro_usd)
    rest = tuple(r for r in state.reserved if r is not mine)
    return replace(state, reserved=rest, in_force_micro_usd=in_force)


def _count(
    state: ResourceState, step: Step, at: datetime, body: Mapping[str, object]
) -> ResourceState:
    """Failures in a row: what AWS refused for good or did not do; ended by a change that landed."""
    if step in LANDED:
        return replace(state, failures_in_a_row=0)
    if step not in (Step.REFUSED, Step.FAILED, Step.NOT_APPLIED):
        return state
    outcome = body.get("outcome")
    waits = isinstance(outcome, Refused) and outcome.refusal in WAITS
    failures = state.failures_in_a_row + (0 if waits else 1)
    return replace(state, last_refusal_at=at, failures_in_a_row=failures)


def _started(body: Mapping[str, object], at: datetime) -> datetime:
    outcome, started = body.get("outcome"), body.get("started_at")
    if isinstance(outcome, Applied):
        return outcome.started_at
    return started if isinstance(started, datetime) else at


def after_look(state: ResourceState, at: datetime, due_at: datetime | None) -> ResourceState:
    """The state once looked at; what has an open chain stays due when nothing else is said."""
    if due_at is None and state.chain is not None:
        due_at = state.due_at
    return replace(state, last_looked_at=at, due_at=due_at)


def after_modifications(
    state: ResourceState,
    seen: Sequence[KnownModification],
    *,
    now: datetime,
    full_until: datetime | None,
    owner_price: Decimal | None,
) -> ResourceState:
    """The state once these starts are known; the very same one when that is no news.

    `owner_price` starts counting anew: the increase in force is the owner's own now. What is
    reserved for a call that may still come into force stays reserved.
    """
    known = _known(state.modifications, seen, now)
    if known == _known(state.modifications, (), now):  # leaving out what is old is no news
        known = state.modifications
    reserved, in_force, enrolment = state.reserved, state.in_force_micro_usd, state.enrolment_usd
    if owner_price is not None:
        enrolment, in_force = owner_price, 0
        open_id = None
        if state.chain is not None and state.chain.phase in ("intended", "unknown"):
            open_id = state.chain.decision_id
        reserved = tuple(r for r in reserved if r.decision_id == open_id)
    moved = replace(
        state, modifications=known, enrolment_usd=enrolment, in_force_micro_usd=in_force,
        reserved=reserved, slots_full_until=full_until or state.slots_full_until,
    )  # fmt: skip
    return state if moved == state else moved


def _known(
    before: Sequence[KnownModification], seen: Sequence[KnownModification], now: datetime
) -> tuple[KnownModification, ...]:
    """Starts of the last 24 hours, oldest first; one that is known already is not added."""
    known = [m for m in before if m.started_at > now - WINDOW]
    for modification in seen:
        if modification.started_at <= now - WINDOW:
            continue
        same = next(
            (k for k in known if abs(k.started_at - modification.started_at) <= SAME_START), None
        )
        if same is None:
            known.append(modification)
        elif modification.by == OURS:  # somebody saw it before we knew that it was ours
            known[known.index(same)] = replace(same, by=OURS)
    return tuple(sorted(known, key=lambda m: m.started_at))


def standing_of(
    state: ResourceState, *, account_micro_usd: int, paused_until: datetime | None, now: datetime
) -> Standing:
    """What a decision gets to know of the state."""
    return Standing(
        enrolment_usd=state.enrolment_usd,
        own_increase_usd=usd(state.own_micro_usd),
        account_increase_usd=usd(account_micro_usd),
        modifications=_known(state.modifications, (), now),
        slots_full_until=state.slots_full_until,
        last_refusal_at=state.last_refusal_at,
        last_act_at=state.last_act_at,
        open_chain=state.chain,
        last_signature=state.last_signature,
        last_decision_id=state.last_decision_id,
        escalated_causes=state.escalated_causes,
        paused_until=paused_until,
        failures_in_a_row=state.failures_in_a_row,
    )


def _earliest(*instants: datetime | None) -> datetime | None:
    return min((i for i in instants if i is not None), default=None)
