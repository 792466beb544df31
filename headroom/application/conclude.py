"""What every reconciliation does with its decision, for any kind of storage: record, act, notify."""

from __future__ import annotations

from datetime import datetime

from headroom.application import approvals
from headroom.application.execute import execute
from headroom.domain.decision import (
    Act,
    Decision,
    Escalate,
    Hold,
    Reason,
    queue_entry_of,
    urgency_of,
)
from headroom.domain.state import Notify, ResourceState
from headroom.ports import Ports


def awaits_person(resource_state: ResourceState) -> bool:
    """Whether a person asked or answered something, or is asked, that must come to its end."""
    return (
        resource_state.rollback or resource_state.approval_request or resource_state.last_request_at
    ) is not None


def conclude(
    ports: Ports, decision: Decision, resource_state: ResourceState, now: datetime, *, must_record: bool,
    due_at: datetime | None, noteworthy: bool = False,
) -> bool:  # fmt: skip
    """Record the decision if an event asked for it or it is news, then act on it.

    People hear of an escalation, and of another decision not to act if it is `noteworthy`.

    Whether it was recorded: False where it was no news, or the same id is there already.
    """
    ref = decision.observation.volume.ref
    news = decision.signature != resource_state.last_signature
    quiet = resource_state.last_signature is None and _uneventful(decision)
    asked_for = must_record or resource_state.last_request_at is not None
    if not asked_for and (not news or quiet) and not isinstance(decision.answer, Act):
        ports.state_store.reconciled(
            ref, at=now, due_at=due_at, waiting=queue_entry_of(decision),
            urgency=urgency_of(decision),
        )  # fmt: skip
        return False
    heard = isinstance(decision.answer, Escalate) or (
        noteworthy and isinstance(decision.answer, Hold)
    )
    notify = Notify(text=decision.summary) if heard else None
    if not ports.ledger.decided(decision, due_at=due_at, notify=notify):
        return False
    if isinstance(decision.answer, Act):
        if resource_state.approval_request is not None:  # it would change what was asked about
            why = f"{decision.decision_id} is done instead"
            approvals.overtaken(ports, resource_state.approval_request, ref, now, why)
        if decision.answer.approval is not None:
            approvals.ask(ports, decision, decision.answer, now)
        else:
            execute(ports, decision, decision.answer, now)
    return True


def _uneventful(decision: Decision) -> bool:
    """Storage that is new and healthy, or publishes nothing lately: no news, unless something blocks a saving."""
    answer, facts = decision.answer, decision.observation.volume.facts
    if not isinstance(answer, Hold):
        return False
    demand = decision.demand
    unmeasured = not demand.known_minutes and not demand.pressed_minutes
    silent = answer.reason is Reason.NOT_ENOUGH_DATA and unmeasured
    if silent and facts is not None and facts.additional:
        return False
    return silent or (answer.reason is Reason.NO_PRESSURE and answer.proposed_plan is None)
