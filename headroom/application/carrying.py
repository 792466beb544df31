"""What every look does with its decision, whatever kind of storage it was at: record, act, tell."""

from __future__ import annotations

from datetime import datetime

from headroom.application import approvals
from headroom.application.execution import execute
from headroom.domain.answers import Act, Escalate, Hold, Reason
from headroom.domain.decision import Decision
from headroom.domain.records import Step
from headroom.domain.standing import Standing
from headroom.domain.waiting import waiting_of
from headroom.ports import Ports


def somebody_waits(standing: Standing) -> bool:
    """Whether a person asked or answered something, or is asked, that must come to its end."""
    return (standing.rollback or standing.asking or standing.called_at) is not None


def carry_out(
    ports: Ports, decision: Decision, standing: Standing, now: datetime, *, must_record: bool,
    due_at: datetime | None,
) -> bool:  # fmt: skip
    """Record the decision if an event asked for it or it is news, then act on it.

    Whether it was recorded: False where it was no news, or the same id is there already.
    """
    ref = decision.observation.volume.ref
    news = decision.signature != standing.last_signature
    quiet = standing.last_signature is None and _uneventful(decision)
    asked_for = must_record or standing.called_at is not None
    if not asked_for and (not news or quiet) and not isinstance(decision.answer, Act):
        ports.standings.looked(ref, at=now, due_at=due_at, waiting=waiting_of(decision))
        return False
    if not ports.ledger.decided(decision, due_at=due_at):
        return False
    if isinstance(decision.answer, Act):
        if standing.asking is not None:  # it would change what was asked about
            why = f"{decision.decision_id} is done instead"
            approvals.overtaken(ports, standing.asking, ref, now, why)
        if decision.answer.approval is not None:
            approvals.ask(ports, decision, decision.answer, now)
        else:
            execute(ports, decision, decision.answer, now)
    elif isinstance(decision.answer, Escalate):
        ports.notifier.tell(decision, Step.DECIDED, decision.summary)
    return True


def _uneventful(decision: Decision) -> bool:
    """Storage never heard of before and nothing wrong with it, or nothing published: no news."""
    answer = decision.answer
    if not isinstance(answer, Hold):
        return False
    silent = answer.reason is Reason.DATA_TOO_THIN and not decision.demand.known_minutes
    return silent or answer.reason is Reason.NO_PRESSURE
