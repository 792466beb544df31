"""State transitions: how each record changes the stored state of its resource. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    after_rejection,
    queue_entry_of,
    urgency_of,
)
from headroom.domain.ledger.baseline import owners_price, without_unmade
from headroom.domain.ledger.notified import KEPT_CAUSES, causes_after, notified_after
from headroom.domain.ledger.waits import after_waiting
from headroom.domain.resources import ModificationState
from headroom.domain.state import (
    BY_HEADROOM,
    FAILURE_STEPS,
    FAILURES_CAUSE,
    MAX_FAILURES,
    QUIET_AFTER_ROLLBACK,
    ROLLBACK,
    TRANSIENT,
    TRIED_AGAIN,
    ApprovalRequest,
    Breaker,
    KnownModification,
    OpenChain,
    Refusal,
    Refused,
    Reserved,
    RollbackRequest,
    RolledBack,
    Step,
    StoredState,
    earliest_instant,
    first_in_a_row,
    is_failure,
    merge_modifications,
    without_resource,
)

RELEASING_STEPS = frozenset(
    {
        Step.FAILED, Step.REFUSED, Step.STALE, Step.NOT_APPLIED, Step.WITHDRAWN, Step.REJECTED,
        Step.EXPIRED,
    }
)  # fmt: skip
"""Steps that end a chain without a change in force."""
LANDED_STEPS = frozenset(
    {Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE, Step.DIVERGED, Step.ROLLED_BACK}
)
"""Steps that end a chain with a change in force."""
ENDING_STEPS = RELEASING_STEPS | LANDED_STEPS | {Step.GONE, Step.RELEASED}
"""Steps that end a chain; GONE also ends the increase in force."""


def after_decided(state: StoredState, decision: Decision, due_at: datetime | None) -> StoredState:
    """The state once `decision` is recorded; an open chain's due time is never put off by it.

    The caller also records the withdrawal of `state.unstarted_act`, which is superseded.
    """
    enrolment, owner = state.enrolment_usd, state.owner_configuration
    change = decision.observation.modification
    landing = change is not None and change.state is ModificationState.MODIFYING
    if enrolment is not None and decision.effective.enrolled:
        enrolment = owners_price(state, decision)
    if enrolment is None and decision.effective.enrolled and not landing:
        enrolment = (
            decision.current_usd
        )  # while a change lands, AWS still reports the earlier configuration
        if enrolment is not None and decision.cluster is None:
            owner = decision.observation.volume.configuration
    state = after_waiting(without_unmade(state, decision, enrolment), decision)
    return replace(
        state, enrolment_usd=enrolment, owner_configuration=owner, gone=False,
        escalated_causes=causes_after(state.escalated_causes, decision),
        notified=notified_after(state.notified, state.escalated_causes, decision),
        last_reconciled_at=decision.at,
        last_signature=decision.signature, last_decision_id=decision.decision_id,
        unstarted_act=decision.decision_id if isinstance(decision.answer, Act) else None,
        due_at=due_at if _may_wait(state, decision) else earliest_instant(state.due_at, due_at),
        rollback=_rollback_after(state, decision),
        last_request_at=None if _took_in(state, decision) else state.last_request_at,
        waiting=queue_entry_of(decision), urgency=urgency_of(decision),
    )  # fmt: skip


def _took_in(state: StoredState, decision: Decision) -> bool:
    """Whether the decision knew the latest request or answer of a person."""
    return state.last_request_at == decision.resource_state.last_request_at


def _may_wait(state: StoredState, decision: Decision) -> bool:
    """Whether the decision may postpone the due time: no open chain and no newer request."""
    return state.chain is None and _took_in(state, decision)


def _rollback_after(state: StoredState, decision: Decision) -> RollbackRequest | None:
    """The rollback request that remains: an Escalate ends it, an Act starts it."""
    rollback = state.rollback
    if rollback is None or decision.rollback_of != rollback.decision_id:
        return rollback
    match decision.answer:
        case Escalate():
            return None
        case Act():
            return replace(rollback, attempted_by=decision.decision_id)
        case _:
            return rollback


def after_intended(
    state: StoredState, decision: Decision, planned: int, lease_until: datetime, now: datetime
) -> StoredState:
    """The state after the intent; due when its lease ends, in case nothing follows."""
    fencing = state.fencing + 1
    mine = Reserved(decision_id=decision.decision_id, micro_usd=planned)
    chain = OpenChain(
        decision_id=decision.decision_id, phase=Step.INTENDED.value, since=now, fencing=fencing,
        rollback_of=decision.rollback_of,
    )  # fmt: skip
    pending = None if state.unstarted_act == decision.decision_id else state.unstarted_act
    return replace(
        state, fencing=fencing, lease_until=lease_until, chain=chain,
        reserved=(*state.reserved, mine), unstarted_act=pending, due_at=lease_until, last_request_at=None,
        waiting=None,
    )  # fmt: skip


def after_step(
    state: StoredState,
    decision_id: str,
    step: Step,
    *,
    at: datetime,
    body: Mapping[str, object],
    due_at: datetime | None,
) -> StoredState:
    """The state once `step` is recorded.

    `body` may contain `outcome` (an Outcome), whether a refusal clears by itself, and `modification`,
    the KnownModification of an applied change.
    """
    chain, since = state.chain, at
    holds = chain is not None and chain.decision_id == decision_id
    undoes = chain.rollback_of if chain is not None and holds else None
    state = _requests_after(state, decision_id, step, at, body)
    phase = None if chain is None else chain.phase
    if chain is not None and holds:
        since = chain.since
        ended = step in ENDING_STEPS
        chain = None if ended else replace(chain, phase=step.value, since=at)
        state = replace(state, chain=chain, lease_until=None if ended else state.lease_until)
    if step is Step.GONE:
        return without_resource(state)
    if state.unstarted_act == decision_id:
        state = replace(state, unstarted_act=None)
    state = _settle(state, decision_id, step, holds, since)
    if step is Step.RELEASED and phase not in (Step.APPLIED, Step.ALREADY_THERE):
        # AWS may show the change later: as nobody knows whose it is, it frees nothing.
        state = replace(state, owner_configuration=None)
    state = _count(state, step, at, body)
    state = _retry(state, step, body, due_at)
    if step is Step.APPLIED:
        by = BY_HEADROOM if undoes is None else ROLLBACK
        given = body.get("modification")
        ours = given if isinstance(given, KnownModification) else None
        known = merge_modifications(
            state.modifications, [ours or KnownModification(started_at=at, by=by)], at
        )
        state = replace(state, last_act_at=at, modifications=known)
    if undoes is not None and step in (Step.APPLIED, Step.ALREADY_THERE):
        state = _undone(state, undoes, at)
    if step in TRIED_AGAIN and state.approval_request is not None:
        due_at = earliest_instant(due_at, state.approval_request.expires)
    free = (state.chain is None or holds) and state.last_request_at is None
    return replace(state, due_at=due_at if free else earliest_instant(state.due_at, due_at))


def _is_pending(state: StoredState, decision_id: str) -> bool:
    return state.approval_request is not None and state.approval_request.decision_id == decision_id


def _requests_after(
    state: StoredState, decision_id: str, step: Step, at: datetime, body: Mapping[str, object]
) -> StoredState:
    """The state after the effect of `step` on requests: requested, expired or withdrawn."""
    request, rollback = body.get("asked"), body.get("roll_back")
    if (
        isinstance(rollback, RollbackRequest)
        and step is Step.INEFFECTIVE
        and state.rollback is None
    ):
        state = replace(state, rollback=rollback)
    if step is Step.AWAITING and isinstance(request, ApprovalRequest):
        tried = state.rollback is not None and state.rollback.attempted_by == decision_id
        return replace(state, approval_request=request, rollback=None if tried else state.rollback)
    ends = step in ENDING_STEPS or step in (Step.APPLIED, Step.ALREADY_THERE)
    if not _is_pending(state, decision_id) or not ends:
        return state
    if step is Step.EXPIRED:
        return after_rejection(state, step, at)
    outcome = body.get("outcome")
    if step is Step.STALE or (isinstance(outcome, Refused) and outcome.refusal in TRANSIENT):
        return state  # the approval stands until it expires, and is judged again each time
    last_request_at = None if state.rollback is None else state.last_request_at
    return replace(state, approval_request=None, last_request_at=last_request_at)


def _undone(state: StoredState, undone: str, at: datetime) -> StoredState:
    """The state after AWS accepted the rollback of `undone`: the request is done, a quiet time begins."""
    rollback = state.rollback
    mine = rollback is not None and rollback.decision_id == undone
    return replace(
        state, rollback=None if mine else rollback,
        rolled_back=RolledBack(decision_id=undone, at=at, until=at + QUIET_AFTER_ROLLBACK),
    )  # fmt: skip


def why_not_recordable(
    state: StoredState, decision_id: str, last: Step, step: Step, at: datetime
) -> str | None:
    """Why the functions may not record `step`; None when they may.

    Only people record answers, and a resource has one pending request at a time, renewed once it expired.
    """
    if step in (Step.INTENDED, Step.APPROVED, Step.REJECTED):
        return f"{step} is not appended: it has a transaction of its own"
    if last in TRIED_AGAIN and not _is_pending(state, decision_id):
        return f"{step} may not follow {last}: no approval of {decision_id} stands"
    asked = state.approval_request
    renewed = asked is not None and asked.decision_id == decision_id and at >= asked.expires
    if step is Step.AWAITING and asked is not None and not renewed:
        return f"the request of {asked.decision_id} waits already"
    return None


def why_not_releasable(state: StoredState, decision_id: str, at: datetime) -> str | None:
    """Why a person may not end the chain by hand; None when they may.

    Not while a function may still be making the change.
    """
    chain, until = state.chain, state.lease_until
    if chain is None or chain.decision_id != decision_id:
        return "it has no open change"
    if chain.phase == Step.INTENDED and until is not None and at < until:
        return f"a function may be making the change until {until:%Y-%m-%d %H:%M} UTC"
    return None


def _settle(
    state: StoredState, decision_id: str, step: Step, holds: bool, since: datetime
) -> StoredState:
    """Release the reservation at the end of a chain, or bring it into force if the change landed."""
    mine = next((r for r in state.reserved if r.decision_id == decision_id), None)
    if mine is None or step not in RELEASING_STEPS | LANDED_STEPS | {Step.RELEASED}:
        return state
    state = replace(state, reserved=tuple(r for r in state.reserved if r is not mine))
    # A chain that lost its lease may have been superseded: the higher amount counts.
    more = mine.micro_usd > state.in_force_micro_usd
    if (step is Step.RELEASED and more) or (step in LANDED_STEPS and (holds or more)):
        return replace(
            state, in_force_micro_usd=mine.micro_usd, in_force_since=since, in_force_by=decision_id
        )
    return state


def _count(state: StoredState, step: Step, at: datetime, body: Mapping[str, object]) -> StoredState:
    """Count failures in a row; a change that landed resets them.

    Enough failures open the breaker, which no change closes.
    """
    if step in LANDED_STEPS:
        return replace(state, failures_in_a_row=0)
    if step not in FAILURE_STEPS:
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
        causes = (*(c for c in causes if c != FAILURES_CAUSE), FAILURES_CAUSE)[-KEPT_CAUSES:]
    return replace(
        state, last_refusal_at=at, failures_in_a_row=failures, escalated_causes=causes,
        breaker_opened_at=opened_at,
        refused_since=first_in_a_row(outcome, state.refused_since, state.last_refusal_at, at),
    )  # fmt: skip


def breaker_opened_by(
    resource: str, before: StoredState, after: StoredState, why: str
) -> Breaker | None:
    """The breaker that a step opened, None if it opened none."""
    if after.breaker_opened_at is None or before.breaker_opened_at is not None:
        return None
    return Breaker(
        resource=resource, opened_at=after.breaker_opened_at, failures=after.failures_in_a_row,
        why=why,
    )  # fmt: skip


def after_closed(state: StoredState, at: datetime) -> StoredState:
    """The state after a person closed the breaker; the same object if none was open.

    The resource is due immediately and may be changed immediately.
    """
    if state.breaker_opened_at is None and state.failures_in_a_row < MAX_FAILURES:
        return state
    return replace(
        state, breaker_opened_at=None, failures_in_a_row=0, retry_not_before=None,
        escalated_causes=tuple(c for c in state.escalated_causes if c != FAILURES_CAUSE),
        due_at=earliest_instant(state.due_at, at),
    )  # fmt: skip


def _retry(
    state: StoredState, step: Step, body: Mapping[str, object], due_at: datetime | None
) -> StoredState:
    """A refusal sets the earliest retry, because of a file system only that of growth.

    An accepted change clears the former: it says nothing of the file system.
    """
    outcome = body.get("outcome")
    if isinstance(outcome, Refused) and outcome.refusal is Refusal.FILE_SYSTEM:
        return replace(state, growth_not_before=due_at)
    if step is Step.REFUSED:
        return replace(state, retry_not_before=due_at)
    if step in (Step.APPLIED, Step.ALREADY_THERE):
        return replace(state, retry_not_before=None, refused_since=None)
    return state
