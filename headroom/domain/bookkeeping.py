"""How each record moves the ledger's state of its resource: pure, shared by every ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.demand import Binding
from headroom.domain.outcome import Applied, Refused
from headroom.domain.records import Step
from headroom.domain.resource_state import Reserved, ResourceState, usd
from headroom.domain.standing import KEPT, KnownModification, OpenChain, Standing
from headroom.domain.stops import CAUSE, FAILS, MAX_FAILURES, AccountStops, Breaker, is_failure
from headroom.domain.verdicts import Guardrail

SAME_START = timedelta(seconds=1)
"""AWS tells starts to the second; two that are no further apart are the same one."""
OURS = "headroom"
KEPT_CAUSES = 20
MOST_KEPT = 64
"""More than four a day for 15 days; a bound on what one item of the state table holds."""
RELEASES = frozenset({Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.WITHDRAWN})
"""Steps that end a chain without a change in force."""
LANDED = frozenset({Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED})
"""Steps that end a chain with a change in force."""
ENDS = RELEASES | LANDED | {Step.GONE}
"""Steps that end a chain; GONE ends with it whatever was in force before."""


def after_decided(
    state: ResourceState, decision: Decision, due_at: datetime | None
) -> ResourceState:
    """The state once `decision` is recorded; an open chain's due time is never put off by it.

    Whoever records it withdraws `state.pending_act` with it: that one is overtaken.
    """
    enrolment, causes = state.enrolment_usd, state.escalated_causes
    if enrolment is None and decision.effective.enrolled:
        enrolment = decision.current_usd
    if decision.diagnosis.binding is Binding.NOTHING:
        # What somebody undid lasts longer than an episode of load: it is told once all the same.
        causes = tuple(c for c in causes if c.startswith(Guardrail.REVERTED.value))
    if isinstance(decision.answer, Escalate) and decision.answer.cause not in causes:
        causes = (*causes, decision.answer.cause)[-KEPT_CAUSES:]
    return replace(
        state, enrolment_usd=enrolment, escalated_causes=causes, last_looked_at=decision.at,
        last_signature=decision.signature, last_decision_id=decision.decision_id,
        pending_act=decision.decision_id if isinstance(decision.answer, Act) else None,
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
        reserved=(*state.reserved, mine), pending_act=None, due_at=lease_until,
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
    chain, since = state.chain, at
    holds = chain is not None and chain.decision_id == decision_id
    if chain is not None and holds:
        since = chain.since
        ended = step in ENDS
        chain = None if ended else replace(chain, phase=step.value, since=at)
        state = replace(state, chain=chain, lease_until=None if ended else state.lease_until)
    if step is Step.GONE:
        return _without_resource(state)
    if state.pending_act == decision_id:
        state = replace(state, pending_act=None)
    state = _settle(state, decision_id, step, holds, since)
    state = _count(state, step, at, body)
    state = _retry(state, step, due_at)
    if step is Step.APPLIED:
        ours = KnownModification(started_at=_started(body, at), by=OURS)
        state = replace(
            state, last_act_at=at, modifications=_known(state.modifications, [ours], at)
        )
    free = state.chain is None or holds
    return replace(state, due_at=due_at if free else _earliest(state.due_at, due_at))


def _settle(
    state: ResourceState, decision_id: str, step: Step, holds: bool, since: datetime
) -> ResourceState:
    """Release or bring into force, since when it was done, what was reserved; its chain ends."""
    mine = next((r for r in state.reserved if r.decision_id == decision_id), None)
    if mine is None or step not in RELEASES | LANDED:
        return state
    state = replace(state, reserved=tuple(r for r in state.reserved if r is not mine))
    # A chain that lost its lease may have been overtaken: the dearer counts.
    if step in LANDED and (holds or mine.micro_usd > state.in_force_micro_usd):
        return replace(
            state, in_force_micro_usd=mine.micro_usd, in_force_since=since, in_force_by=decision_id
        )
    return state


def _count(
    state: ResourceState, step: Step, at: datetime, body: Mapping[str, object]
) -> ResourceState:
    """Failures in a row: what AWS refused for good or did not do; ended by a change that landed.

    Enough of them open the breaker, which no change closes; its owner is told with the opening.
    """
    if step in LANDED:
        return replace(state, failures_in_a_row=0)
    if step not in FAILS:
        return state
    failures = state.failures_in_a_row + is_failure(step, body)
    causes, outcome, opened_at = (
        state.escalated_causes,
        body.get("outcome"),
        state.breaker_opened_at,
    )
    if isinstance(outcome, Refused) and outcome.cause not in causes:
        causes = (*causes, outcome.cause)[-KEPT_CAUSES:]
    if opened_at is None and failures >= MAX_FAILURES:
        opened_at = at
        causes = (*(c for c in causes if c != CAUSE), CAUSE)[-KEPT_CAUSES:]
    return replace(
        state, last_refusal_at=at, failures_in_a_row=failures, escalated_causes=causes,
        breaker_opened_at=opened_at,
    )  # fmt: skip


def opened_by(
    resource: str, before: ResourceState, after: ResourceState, why: str
) -> Breaker | None:
    """The breaker that a step opened, `why` being what it told; None if it opened none."""
    if after.breaker_opened_at is None or before.breaker_opened_at is not None:
        return None
    return Breaker(
        resource=resource, opened_at=after.breaker_opened_at, failures=after.failures_in_a_row,
        why=why,
    )  # fmt: skip


def after_closed(state: ResourceState, at: datetime) -> ResourceState:
    """The state once a person closed the breaker; the very same one when there was none to close.

    It is looked at again at once, and AWS may be asked at once.
    """
    if state.breaker_opened_at is None and state.failures_in_a_row < MAX_FAILURES:
        return state
    return replace(
        state, breaker_opened_at=None, failures_in_a_row=0, retry_not_before=None,
        escalated_causes=tuple(c for c in state.escalated_causes if c != CAUSE),
        due_at=_earliest(state.due_at, at),
    )  # fmt: skip


def _retry(state: ResourceState, step: Step, due_at: datetime | None) -> ResourceState:
    """A refused need is looked at again when AWS may be asked again; a change accepted ends it."""
    if step is Step.REFUSED:
        return replace(state, retry_not_before=due_at)
    if step in (Step.APPLIED, Step.ALREADY_THERE):
        return replace(state, retry_not_before=None)
    return state


def _without_resource(state: ResourceState) -> ResourceState:
    """Nothing in force, reserved or due, but for a chain that is open."""
    chain = state.chain
    held = None if chain is None else chain.decision_id
    return replace(
        state, in_force_micro_usd=0, in_force_since=None, in_force_by=None,
        due_at=None if chain is None else state.due_at,
        reserved=tuple(r for r in state.reserved if r.decision_id == held),
    )  # fmt: skip


def after_forgotten(state: ResourceState, at: datetime) -> ResourceState:
    """The state once its resource is known to exist no more; the very same one when it was.

    Whoever records it withdraws `state.pending_act` with it.
    """
    moved = replace(_without_resource(state), pending_act=None, breaker_opened_at=None)
    return state if moved == state else replace(moved, last_looked_at=at)


def _started(body: Mapping[str, object], at: datetime) -> datetime:
    outcome, started = body.get("outcome"), body.get("started_at")
    if isinstance(outcome, Applied):
        return outcome.started_at
    return started if isinstance(started, datetime) else at


def after_look(state: ResourceState, at: datetime, due_at: datetime | None) -> ResourceState:
    """The state once looked at at `at`; an open chain is put off only by a look that was due."""
    if state.chain is not None and state.due_at is not None:
        if due_at is None:
            due_at = state.due_at
        elif at < state.due_at:
            due_at = min(due_at, state.due_at)
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
    before = state
    known = _known(state.modifications, seen, now)
    if known == _known(state.modifications, (), now):  # leaving out what is old is no news
        known = state.modifications
    reserved, enrolment = state.reserved, state.enrolment_usd
    if owner_price is not None:
        enrolment, open_id = owner_price, None
        state = replace(state, in_force_micro_usd=0, in_force_since=None, in_force_by=None)
        if state.chain is not None and state.chain.phase in ("intended", "unknown"):
            open_id = state.chain.decision_id
        reserved = tuple(r for r in reserved if r.decision_id == open_id)
    moved = replace(
        state, modifications=known, enrolment_usd=enrolment, reserved=reserved,
        slots_full_until=full_until or state.slots_full_until,
    )  # fmt: skip
    return before if moved == before else moved


def _known(
    before: Sequence[KnownModification], seen: Sequence[KnownModification], now: datetime
) -> tuple[KnownModification, ...]:
    """Starts of the last 15 days, oldest first; one that is known already is not added."""
    known = [m for m in before if m.started_at > now - KEPT]
    for modification in seen:
        if modification.started_at <= now - KEPT:
            continue
        same = next(
            (k for k in known if abs(k.started_at - modification.started_at) <= SAME_START), None
        )
        if same is None:
            known.append(modification)
        else:  # somebody may have seen it before we knew that it was ours, or what it changed
            known[known.index(same)] = replace(
                same, by=OURS if OURS in (same.by, modification.by) else same.by,
                origin=same.origin or modification.origin,
                target=same.target or modification.target,
            )  # fmt: skip
    return tuple(sorted(known, key=lambda m: m.started_at)[-MOST_KEPT:])


def standing_of(
    state: ResourceState, *, account_micro_usd: int, stops: AccountStops, now: datetime
) -> Standing:
    """What a decision gets to know of the state.

    What AWS refused before a person closed the account's breaker it may be asked again.
    """
    refused_at, closed_at = state.last_refusal_at, stops.closed_at
    forgiven = closed_at is not None and refused_at is not None and refused_at <= closed_at
    return Standing(
        enrolment_usd=state.enrolment_usd,
        own_increase_usd=usd(state.own_micro_usd),
        account_increase_usd=usd(account_micro_usd),
        modifications=_known(state.modifications, (), now),
        slots_full_until=_ahead(state.slots_full_until, now),
        last_refusal_at=state.last_refusal_at,
        last_act_at=state.last_act_at,
        open_chain=state.chain,
        last_signature=state.last_signature,
        last_decision_id=state.last_decision_id,
        escalated_causes=state.escalated_causes,
        paused_until=None if stops.pause is None else stops.pause.until,
        failures_in_a_row=state.failures_in_a_row,
        retry_not_before=None if forgiven else _ahead(state.retry_not_before, now),
        breaker_opened_at=state.breaker_opened_at,
        account_breaker_opened_at=None if stops.breaker is None else stops.breaker.opened_at,
    )


def _ahead(until: datetime | None, now: datetime) -> datetime | None:
    """An instant that is still to come; None once it is there."""
    return None if until is None or until <= now else until


def _earliest(*instants: datetime | None) -> datetime | None:
    return min((i for i in instants if i is not None), default=None)
