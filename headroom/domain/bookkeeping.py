"""How each record moves the ledger's state of its resource: pure, shared by every ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.approval import after_no
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.demand import Binding
from headroom.domain.outcome import Applied, Refused
from headroom.domain.records import Step
from headroom.domain.requests import (
    DAY,
    QUIET_AFTER_ROLLBACK,
    Asked,
    RollbackAsked,
    RolledBack,
)
from headroom.domain.resource_state import Reserved, ResourceState, usd
from headroom.domain.resources import ModificationState
from headroom.domain.space_answer import CAUSE as SPACE
from headroom.domain.space_answer import still_short
from headroom.domain.standing import KEPT, KnownModification, OpenChain, Standing
from headroom.domain.stops import CAUSE, FAILS, MAX_FAILURES, AccountStops, Breaker, is_failure
from headroom.domain.traffic import Traffic
from headroom.domain.verdicts import Guardrail
from headroom.domain.waiting import Waiting, waiting_of
from headroom.domain.way_back import OURS, ROLLBACK

SAME_START = timedelta(seconds=1)
"""AWS tells starts to the second; two that are no further apart are the same one."""
KEPT_CAUSES = 20
MOST_KEPT = 64
"""More than four a day for 15 days; a bound on what one item of the state table holds."""
RELEASES = frozenset(
    {
        Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.WITHDRAWN, Step.REJECTED,
        Step.EXPIRED,
    }
)  # fmt: skip
"""Steps that end a chain without a change in force."""
LANDED = frozenset({Step.RELIEVED, Step.INEFFECTIVE, Step.DIVERGED, Step.RETURNED})
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
    change = decision.observation.modification
    landing = change is not None and change.state is ModificationState.MODIFYING
    if enrolment is None and decision.effective.enrolled and not landing:
        enrolment = decision.current_usd  # while one lands AWS still describes what was before it
    if decision.diagnosis.binding is Binding.NOTHING:
        # What somebody undid lasts longer than an episode of load: it is told once all the same.
        causes = tuple(c for c in causes if c.startswith((Guardrail.REVERTED.value, SPACE)))
    if not still_short(decision.space, decision.observation.volume.facts):
        causes = tuple(c for c in causes if not c.startswith(SPACE))
    escalates = isinstance(decision.answer, Escalate) and decision.rolls_back is None
    if isinstance(decision.answer, Escalate) and escalates and decision.answer.cause not in causes:
        causes = (*causes, decision.answer.cause)[-KEPT_CAUSES:]
    return replace(
        state, enrolment_usd=enrolment, escalated_causes=causes, last_looked_at=decision.at,
        last_signature=decision.signature, last_decision_id=decision.decision_id,
        pending_act=decision.decision_id if isinstance(decision.answer, Act) else None,
        due_at=due_at if _may_wait(state, decision) else _earliest(state.due_at, due_at),
        rollback=_rollback_after(state, decision),
        called_at=None if _took_in(state, decision) else state.called_at,
        waiting=waiting_of(decision),
    )  # fmt: skip


def _took_in(state: ResourceState, decision: Decision) -> bool:
    """Whether the decision was made knowing all that people asked and answered."""
    return state.called_at == decision.standing.called_at


def _may_wait(state: ResourceState, decision: Decision) -> bool:
    """Whether the decision may put off what is due: no open chain, and nobody called since."""
    return state.chain is None and _took_in(state, decision)


def _rollback_after(state: ResourceState, decision: Decision) -> RollbackAsked | None:
    """The rollback that is still wanted: ended by an Escalate, begun by an Act."""
    wanted = state.rollback
    if wanted is None or decision.rolls_back != wanted.decision_id:
        return wanted
    match decision.answer:
        case Escalate():
            return None
        case Act():
            return replace(wanted, tried=decision.decision_id)
        case _:
            return wanted


def after_intended(
    state: ResourceState, decision: Decision, planned: int, lease_until: datetime, now: datetime
) -> ResourceState:
    """The state once the intent is durable; due when its lease ends, in case nothing follows."""
    fencing = state.fencing + 1
    mine = Reserved(decision_id=decision.decision_id, micro_usd=planned)
    chain = OpenChain(
        decision_id=decision.decision_id, phase=Step.INTENDED.value, since=now, fencing=fencing,
        rolls_back=decision.rolls_back,
    )  # fmt: skip
    pending = None if state.pending_act == decision.decision_id else state.pending_act
    return replace(
        state, fencing=fencing, lease_until=lease_until, chain=chain,
        reserved=(*state.reserved, mine), pending_act=pending, due_at=lease_until, called_at=None,
        asking=None if _asks(state, decision.decision_id) else state.asking,
        waiting=None,
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
    undoes = chain.rolls_back if chain is not None and holds else None
    state = _asking_after(state, decision_id, step, at, body)
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
        by = OURS if undoes is None else ROLLBACK
        ours = KnownModification(started_at=_started(body, at), by=by)
        state = replace(
            state, last_act_at=at, modifications=_known(state.modifications, [ours], at)
        )
    if undoes is not None and step in (Step.APPLIED, Step.ALREADY_THERE):
        state = _undone(state, undoes, at)
    free = (state.chain is None or holds) and state.called_at is None
    return replace(state, due_at=due_at if free else _earliest(state.due_at, due_at))


def _asks(state: ResourceState, decision_id: str) -> bool:
    return state.asking is not None and state.asking.decision_id == decision_id


def _asking_after(
    state: ResourceState, decision_id: str, step: Step, at: datetime, body: Mapping[str, object]
) -> ResourceState:
    """The state with what `step` makes of requests: asked, run out, or come to nothing."""
    asked, wanted = body.get("asked"), body.get("roll_back")
    if isinstance(wanted, RollbackAsked) and step is Step.INEFFECTIVE and state.rollback is None:
        state = replace(state, rollback=wanted)
    if step is Step.AWAITING and isinstance(asked, Asked):
        tried = state.rollback is not None and state.rollback.tried == decision_id
        return replace(state, asking=asked, rollback=None if tried else state.rollback)
    if not _asks(state, decision_id) or step not in ENDS:
        return state
    if step is Step.EXPIRED:
        return after_no(state, step, at)
    called_at = None if state.rollback is None else state.called_at
    return replace(state, asking=None, called_at=called_at)


def _undone(state: ResourceState, undone: str, at: datetime) -> ResourceState:
    """The state once AWS took the rollback of `undone`: the wish is granted, quiet begins."""
    wanted = state.rollback
    mine = wanted is not None and wanted.decision_id == undone
    return replace(
        state, rollback=None if mine else wanted,
        rolled_back=RolledBack(decision_id=undone, at=at, until=at + QUIET_AFTER_ROLLBACK),
    )  # fmt: skip


def unfit(state: ResourceState, decision_id: str, step: Step) -> str | None:
    """Why `step` may not be recorded by the functions; None when it may.

    Answers are people's alone, and one request at a time waits for a resource.
    """
    if step in (Step.INTENDED, Step.APPROVED, Step.REJECTED):
        return f"{step} is not appended: it has a transaction of its own"
    if step is Step.AWAITING and state.asking is not None:
        return f"the request of {state.asking.decision_id} waits already"
    return None


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
        state, in_force_micro_usd=0, in_force_since=None, in_force_by=None, waiting=None,
        due_at=None if chain is None else state.due_at,
        reserved=tuple(r for r in state.reserved if r.decision_id == held),
        asking=None, rollback=None, called_at=None,
    )  # fmt: skip


def after_forgotten(state: ResourceState, at: datetime, *, another: bool = False) -> ResourceState:
    """The state once its resource is known to exist no more; the very same one when it was.

    With `another` of the same name only what the records hang on is left.

    Whoever records it withdraws `state.pending_act` with it.
    """
    moved = replace(_without_resource(state), pending_act=None, breaker_opened_at=None)
    if another:
        moved = ResourceState(
            chain=moved.chain, fencing=moved.fencing, lease_until=moved.lease_until,
            due_at=moved.due_at, reserved=moved.reserved, last_looked_at=moved.last_looked_at,
            last_decision_id=moved.last_decision_id,
        )  # fmt: skip
    return state if moved == state else replace(moved, last_looked_at=at)


def _started(body: Mapping[str, object], at: datetime) -> datetime:
    outcome, started = body.get("outcome"), body.get("started_at")
    if isinstance(outcome, Applied):
        return outcome.started_at
    return started if isinstance(started, datetime) else at


def after_look(
    state: ResourceState, at: datetime, due_at: datetime | None, waiting: Waiting | None = None
) -> ResourceState:
    """The state once looked at at `at`; it leaves the queue unless it is `waiting`.

    An open chain and a request that waits are put off only by a look that was due, and what a
    person just asked or answered by none.
    """
    state = replace(state, waiting=waiting)
    if state.called_at is not None:
        return replace(state, last_looked_at=at)
    if (state.chain is not None or state.asking is not None) and state.due_at is not None:
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
                same, by=_whose(same.by, modification.by),
                origin=same.origin or modification.origin,
                target=same.target or modification.target,
            )  # fmt: skip
    return tuple(sorted(known, key=lambda m: m.started_at)[-MOST_KEPT:])


def _whose(before: str, now: str) -> str:
    """Whose a start is that was told of twice: who made it knows best."""
    return next((by for by in (ROLLBACK, OURS) if by in (before, now)), before)


def standing_of(
    state: ResourceState, *, account_micro_usd: int, stops: AccountStops, now: datetime,
    traffic: Traffic = Traffic(),  # noqa: B008 - immutable
) -> Standing:  # fmt: skip
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
        asking=state.asking,
        declined=tuple(d for d in state.declined if now < max(d.until, d.at + DAY)),
        rollback=state.rollback,
        rolled_back=state.rolled_back,
        called_at=state.called_at,
        traffic=traffic,
        waiting_since=None if state.waiting is None else state.waiting.since,
    )


def _ahead(until: datetime | None, now: datetime) -> datetime | None:
    """An instant that is still to come; None once it is there."""
    return None if until is None or until <= now else until


def _earliest(*instants: datetime | None) -> datetime | None:
    return min((i for i in instants if i is not None), default=None)
