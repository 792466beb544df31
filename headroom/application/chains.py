"""Open chains are advanced from a fresh observation: unknown outcomes resolved, changes verified."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import assert_never

from headroom.application import rollback
from headroom.application.execute import LEASE, VERIFY_AFTER, modification_of
from headroom.application.space import after_growth
from headroom.domain.catalog.rds import SETTLES
from headroom.domain.decision import (
    Act,
    Decision,
    Diverged,
    FailedAtAws,
    Ineffective,
    Pending,
    Reason,
    ReducedTooFar,
    ReductionConfirmed,
    Relieved,
    RollbackConfirmed,
    Untested,
    Verification,
    assess,
    assess_latency,
    assess_rollback,
    verification_timeout,
)
from headroom.domain.guardrails import AVAILABLE
from headroom.domain.ledger import RELEASING_STEPS
from headroom.domain.planning import Plan, named
from headroom.domain.resources import Modification, ModificationState, Observation
from headroom.domain.state import WORKER_VANISHED, Notify, OpenChain, Step
from headroom.ports import IllegalStep, Ports, ReadFailed

WAY_OUT = "if this lasts, end the change with `headroom release {}`"
Check = Callable[[Decision, Plan, datetime], Verification]
"""What became of a decision's plan, applied at an instant."""
CLOCK_SKEW, WRONG_CLOCK = timedelta(minutes=1), timedelta(minutes=10)
"""How far AWS's clock and a function's may be apart: usually, and at most for exactly the change that was asked for."""
SETTLING = timedelta(minutes=2)
"""AWS's reads are eventually consistent: a change is judged only by reads begun this long after its last
record. Longer than FRESH, so no read that began before the call is ever taken for one after it."""
GIVE_AWS = timedelta(minutes=5)
"""How long after a call without an answer AWS may still show its effect."""
GIVE_RDS = SETTLES + timedelta(minutes=5)
"""The same for RDS, which may show nothing of a change it accepted for a while."""
PHASES = frozenset({Step.INTENDED, Step.UNKNOWN, Step.APPLIED, Step.ALREADY_THERE})
"""Steps at which this release knows how a chain goes on."""
ENDED: dict[type, Step] = {
    Relieved: Step.RELIEVED,
    Untested: Step.UNTESTED,
    ReductionConfirmed: Step.RELIEVED,
    RollbackConfirmed: Step.ROLLED_BACK,
    Ineffective: Step.INEFFECTIVE,
    ReducedTooFar: Step.INEFFECTIVE,
    Diverged: Step.DIVERGED,
    FailedAtAws: Step.FAILED,
}


def advance(
    ports: Ports, observation: Observation, chain: OpenChain, now: datetime, *,
    check: Check | None = None,
) -> bool:  # fmt: skip
    """Move an open chain on as far as what is seen allows; True when it ended.

    `check` decides whether a change did what it was for, where pressure cannot show it.
    """
    decision = _decision_of(ports, chain)
    answer = decision.answer
    if not isinstance(answer, Act):
        raise LookupError(f"chain {chain.decision_id} is open but its decision is not to act")
    if chain.phase == "intended":
        if now < chain.since + LEASE:  # its worker may still be at it
            _wait(ports, observation, chain, now, until=chain.since + LEASE)
            return False
        _append(ports, decision, chain, Step.UNKNOWN, now,
                "the worker vanished between intent and outcome", due_at=now)  # fmt: skip
        return _resolve(ports, decision, answer, observation, chain, now, vanished=True)
    if chain.phase == "unknown":
        return _resolve(ports, decision, answer, observation, chain, now)
    if now < chain.since + SETTLING:  # EC2 and RDS may still show what was before
        _wait(ports, observation, chain, now, until=chain.since + SETTLING)
        return False
    return _verify(ports, decision, answer, observation, chain, now, check)


def _decision_of(ports: Ports, chain: OpenChain) -> Decision:
    """The decision of an open chain; ReadFailed, naming the way out, where it is not understood."""
    way_out = WAY_OUT.format(chain.decision_id)
    if chain.phase not in PHASES:
        raise ReadFailed(f"a newer release left a change at step {chain.phase}; {way_out}")
    try:
        return ports.ledger.decision(chain.decision_id)
    except (LookupError, ReadFailed) as problem:
        raise ReadFailed(f"{problem}; {way_out}") from problem


def _resolve(
    ports: Ports, decision: Decision, act: Act, observation: Observation, chain: OpenChain,
    now: datetime, *, vanished: bool = False,
) -> bool:  # fmt: skip
    """Settle an unknown outcome by what AWS reports, never by assumption."""
    before = decision.observation.modification
    taken = _taken(
        act, observation.modification, since=_intended_at(ports, decision),
        seen=None if before is None else before.started_at,
    )  # fmt: skip
    if taken is not None:
        started_at, found = taken
        notify = None if decision.group else Notify(text=found)
        _append(ports, decision, chain, Step.APPLIED, now, found, due_at=now + VERIFY_AFTER,
                body={"modification": modification_of(decision, started_at)},
                notify=notify)  # fmt: skip
        return False
    until = _too_early(observation, act, chain, now)
    if until is not None:
        _wait(ports, observation, chain, now, until=until)
        return False
    missing = "AWS shows no such change: it was not accepted"
    notify = None if act.approval is None else Notify(text=f"approved, and not done: {missing}")
    _append(ports, decision, chain, Step.NOT_APPLIED, now, missing,
            due_at=now + timedelta(minutes=1), notify=notify,
            body={WORKER_VANISHED: True} if vanished else None)  # fmt: skip
    return True


def _not_changed(ports: Ports, decision: Decision) -> list[str]:
    """The other volumes of its set that were to change together with it and did not, as far as is on record."""
    others = () if decision.group is None else decision.group.members
    return [
        each.volume_id
        for each in others
        if each.decision_id not in ("", decision.decision_id)
        and any(record.step in RELEASING_STEPS for record in ports.ledger.chain(each.decision_id))
    ]


def _intended_at(ports: Ports, decision: Decision) -> datetime:
    """Before its call was sent: hours after the decision where somebody had to approve it."""
    intents = [r.at for r in ports.ledger.chain(decision.decision_id) if r.step is Step.INTENDED]
    return max(intents, default=decision.at)


def _taken(
    act: Act, change: Modification | None, *, since: datetime, seen: datetime | None
) -> tuple[datetime, str] | None:
    """When AWS took a change whose call had no answer, and how that shows; None where it does not.

    AWS keeps only the latest modification: one that began from what was asked for came after it. Exactly what was asked
    for may be a little older by AWS's clock than by this function's.
    """
    made = act.plan.target.storage
    exactly = (act.plan.origin.storage, made)
    if change is None:
        return None
    same = (change.origin.storage, change.target.storage) == exactly and change.started_at != seen
    if change.started_at < since - (WRONG_CLOCK if same else CLOCK_SKEW):
        return None
    if change.target == act.plan.target or change.target.storage == made != change.origin.storage:
        return change.started_at, "AWS shows the change: it was accepted"
    if change.origin.storage == made:
        return since, "AWS shows a later change of it: it was accepted"
    return None


def _too_early(
    observation: Observation, act: Act, chain: OpenChain, now: datetime
) -> datetime | None:
    """Until when AWS may still come to show the change; None when it would show by now.

    A database that RDS is at work on may be at work on this very change without naming it.
    """
    facts = observation.volume.facts
    if facts is None:
        until = chain.since + GIVE_AWS
        return until if now < until else None
    if now < chain.since + GIVE_RDS:
        return chain.since + GIVE_RDS
    most = verification_timeout(observation, act.plan)
    at_work = facts.status != AVAILABLE and now < chain.since + most
    return now + GIVE_AWS if at_work else None


def _verify(
    ports: Ports, decision: Decision, act: Act, observation: Observation, chain: OpenChain,
    now: datetime, own: Check | None,
) -> bool:  # fmt: skip
    wished = decision.effective.limits.latency_objective_ms
    if own is not None:
        verification = own(decision, act.plan, chain.since)
    elif act.reason is Reason.HIGH_LATENCY and wished is not None:
        verification = assess_latency(observation, act.plan, chain.since, wished)
    else:
        check = assess if decision.rollback_of is None else assess_rollback
        verification = check(observation, act.plan, chain.since)
        verification = after_growth(ports, observation, act.plan, verification)
    judged = isinstance(verification, Relieved | Ineffective)
    if judged and (left := _not_changed(ports, decision)):  # the others hold the set back
        verification = Untested(
            detail=f"the set is uneven because {named(left)} did not change with it, so what this brought cannot be measured"
        )
    if isinstance(verification, Pending):
        ports.state_store.reconciled(
            observation.volume.ref, at=now, due_at=verification.next_reconcile_at
        )
        return False
    step = ENDED[type(verification)]
    detail = _detail(verification)
    undo = None
    grew = act.plan.growth is not None  # space it brought, or not, cannot be taken back
    alone = decision.group is None and decision.cluster is None
    if isinstance(verification, Ineffective) and alone and not grew:
        undo = rollback.automatic_rollback(ports, decision, observation, now)
    if undo is not None:
        detail += "; Headroom rolls it back, as the policy says"
    change = observation.modification
    body: dict[str, object] = {} if undo is None else {"roll_back": undo}
    body["completed"] = change is None or change.state is ModificationState.COMPLETED
    # Due at once: what was wanted meanwhile is not forgotten if this run ends here.
    notify = Notify(text=detail, ends_set=decision.group is not None)
    _append(ports, decision, chain, step, now, detail, due_at=now, body=body, notify=notify)
    return True


def _detail(
    verification: Relieved | Untested | ReductionConfirmed | Ineffective | ReducedTooFar | Diverged | FailedAtAws
    | RollbackConfirmed,
) -> str:  # fmt: skip
    match verification:
        case Relieved(detail=detail):
            return f"relieved: {detail}"
        case Untested(detail=detail):
            return f"untested: {detail}"
        case ReductionConfirmed(detail=detail):
            return f"in effect, and nothing that was given back is needed: {detail}"
        case ReducedTooFar(cause=cause):
            return f"gave back too much: {cause}"
        case Ineffective(cause=cause):
            return f"the change took effect, without relief: {cause}"
        case (
            Diverged(detail=detail) | FailedAtAws(detail=detail) | RollbackConfirmed(detail=detail)
        ):
            return detail
        case _:
            assert_never(verification)


def _wait(
    ports: Ports, observation: Observation, chain: OpenChain, now: datetime, *, until: datetime
) -> None:
    ports.state_store.reconciled(observation.volume.ref, at=now, due_at=until)


def _append(
    ports: Ports, decision: Decision, chain: OpenChain, step: Step, now: datetime,
    summary: str, *,
    due_at: datetime | None, body: Mapping[str, object] | None = None,
    notify: Notify | None = None,
) -> None:  # fmt: skip
    try:
        ports.ledger.append(
            decision.decision_id, step, ref=decision.observation.volume.ref, at=now, summary=summary,
            body=body or {}, fencing=chain.fencing, due_at=due_at, notify=notify,
        )  # fmt: skip
    except IllegalStep as problem:  # such as in a table that was restored from an earlier backup
        raise ReadFailed(f"{problem}; {WAY_OUT.format(chain.decision_id)}") from problem


__all__ = ["Verification", "advance"]
