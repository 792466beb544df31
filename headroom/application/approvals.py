"""Requests for approval: made, run out, withdrawn, and carried out once a person agreed.

Nothing is leased or reserved while one waits: that happens when it is intended, as for any act.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime

from headroom.application.execute import WITHDRAWN_DUE, execute
from headroom.domain.decision import (
    ANSWERED_WITHIN,
    URGENT,
    Act,
    Decision,
    DecisionInput,
    Proceed,
    Reason,
    Revalidation,
    StillBlocked,
    Withdrawal,
    message_due,
    notified_before,
    renewed_request,
    requested_in_advance,
    revalidate,
)
from headroom.domain.guardrails import PlanJudgement, all_known_clear_at
from headroom.domain.planning import a_month
from headroom.domain.policy import Mode, Policy, limits_for
from headroom.domain.resources import ResourceRef
from headroom.domain.state import ApprovalRequest, Notify, Step
from headroom.ports import IllegalStep, Ports, ReadFailed


def ask(ports: Ports, decision: Decision, act: Act, now: datetime) -> None:
    """Record that the decision waits for a person, and notify people unless they were of a similar one lately."""
    if act.approval is None or act.expires is None:
        raise ValueError(f"{decision.decision_id} needs nobody's approval")
    notified: tuple[datetime, ...] = ()
    if act.reason in URGENT:
        notified = notified_before(decision.resource_state.declined, act.plan, now)
    notify = message_due(notified, act.expires)
    asked = ApprovalRequest(
        decision_id=decision.decision_id, requested_at=now, expires=act.expires,
        origin=act.plan.origin, target=act.plan.target,
        price_change_usd=act.plan.price_change_usd, why=act.approval,
        ahead=act.reason is Reason.RECURRENCE_EXPECTED and not decision.demand.pressed_minutes,
        notified=(*notified, now)[-2:] if notify else notified,
    )  # fmt: skip
    summary = f"waits for a person until {act.expires:%Y-%m-%d %H:%M} UTC: {act.approval}"
    judged = next((j for j in decision.judgements if j.plan == act.plan), None)
    limits, due_at = decision.effective.limits, act.expires
    if limits.mode is Mode.AUTO and limits.approve_above_usd is not None:
        due_at = min(due_at, now + ANSWERED_WITHIN)  # then a part may need no answer
    starts = None if judged is None else all_known_clear_at(judged.blocking)
    if starts is not None and judged is not None and requested_in_advance(limits, judged, now):
        summary += f"; once approved it is started from {starts:%Y-%m-%d %H:%M} UTC on"
    try:
        _append(ports, asked, decision.observation.volume.ref, Step.AWAITING, now, summary,
                {"asked": asked}, due_at=due_at,
                notify=f"{decision.summary}; it {summary}" if notify else "")  # fmt: skip
    except IllegalStep:  # another request was made meanwhile, or this one was overtaken
        with suppress(IllegalStep):
            withdraw(ports, asked, decision.observation.volume.ref, now, "another request waits")


def settle(
    ports: Ports, decision_input: DecisionInput, asked: ApprovalRequest, now: datetime,
    judge: Callable[[DecisionInput, Decision, ApprovalRequest], Revalidation] = revalidate,
) -> Decision | bool:  # fmt: skip
    """Continue a request: True when the reconciliation is over, False when it goes on as any other.

    A Decision is the Hold that says what an approved change waits for; it is still to be recorded.
    `judge` is who judges an approved plan again.
    """
    ref = decision_input.observation.volume.ref
    if asked.approved_at is None:
        _withdraw_if_changed(ports, decision_input, asked, now)
        return False
    try:
        decision = ports.ledger.decision(asked.decision_id)
    except (LookupError, ReadFailed) as problem:
        if isinstance(problem, ReadFailed) and now < asked.expires:
            raise  # it may be readable in a minute
        why = f"its decision cannot be read: {problem}"
        notify = f"approved by {asked.approved_by}, and not done: {why}"
        withdraw(ports, asked, ref, now, why, notify=notify)
        return True
    match judge(decision_input, decision, asked):
        case Proceed(decision=again):
            if isinstance(again.answer, Act):
                execute(ports, again, again.answer, now)
            return True
        case StillBlocked(decision=hold):
            return hold
        case Withdrawal(why=why, judgement=judgement):
            notify = f"approved by {asked.approved_by}, and not done: {why}"
            withdraw(ports, asked, ref, now, why, judgement, notify=notify)
            return True


def _withdraw_if_changed(
    ports: Ports, decision_input: DecisionInput, asked: ApprovalRequest, now: datetime
) -> None:
    """End a request whose time ran out, or that can come to nothing any more; renew what is still needed."""
    ref = decision_input.observation.volume.ref
    moot = _no_longer_needed(decision_input, asked)
    if now >= asked.expires:
        renewable = moot is None and _readable(ports, asked)
        again = renewed_request(decision_input, asked) if renewable else None
        with suppress(
            IllegalStep
        ):  # somebody answered at the last moment; the next reconciliation sees it
            if again is not None:
                _renew(ports, again, ref, now)
                return
            expired = (
                f"nobody answered until {asked.expires:%Y-%m-%d %H:%M} UTC: nothing was changed"
            )
            silent = asked.notified and asked.notified[-1] < asked.requested_at
            _append(ports, asked, ref, Step.EXPIRED, now, expired, {}, due_at=now,
                    notify="" if silent else expired)  # fmt: skip
        return
    if moot is not None:
        with suppress(IllegalStep):
            notify = f"no approval is needed any more: {moot}"
            withdraw(ports, asked, ref, now, moot, notify=notify)


def _readable(ports: Ports, asked: ApprovalRequest) -> bool:
    """Whether its decision can be read: what cannot be made is not requested for longer."""
    try:
        ports.ledger.decision(asked.decision_id)
    except (LookupError, ReadFailed):
        return False
    return True


def _renew(ports: Ports, again: ApprovalRequest, ref: ResourceRef, now: datetime) -> None:
    """Keep a request pending for longer, and remind people if it is time."""
    notified = again.notified or (again.requested_at,)
    notify = message_due(notified, again.expires)
    again = replace(again, notified=(*notified, now)[-2:] if notify else notified)
    summary = f"still waits for a person until {again.expires:%Y-%m-%d %H:%M} UTC: {again.why}"
    what = f"{ref.resource_id}: {again.origin} -> {again.target}, {a_month(again.price_change_usd)}"
    _append(ports, again, ref, Step.AWAITING, now, summary, {"asked": again},
            due_at=again.expires, notify=f"{what}; it {summary}" if notify else "")  # fmt: skip


def _no_longer_needed(decision_input: DecisionInput, asked: ApprovalRequest) -> str | None:
    """Why nothing can come of a request any more; None while something can."""
    volume = decision_input.observation.volume
    if volume.configuration != asked.origin:
        return f"the {volume.ref.noun} is {volume.configuration.changed_from(asked.origin)}"
    policy = decision_input.policy
    if isinstance(policy, Policy):
        mode = limits_for(policy, volume).limits.mode
        if mode in (Mode.OFF, Mode.OBSERVE):
            return f"the mode is {mode.value} now"
    return None


def overtaken(
    ports: Ports, asked: ApprovalRequest, ref: ResourceRef, now: datetime, why: str
) -> None:
    """Withdraw a request because something else is about to change what it was about.

    Who approved it is notified.
    """
    approved = asked.approved_at is not None
    notify = f"approved by {asked.approved_by}, and not done: {why}" if approved else ""
    with suppress(IllegalStep):  # ended meanwhile; the ledger lets only one be intended
        withdraw(ports, asked, ref, now, why, notify=notify)


def withdraw(
    ports: Ports, asked: ApprovalRequest, ref: ResourceRef, now: datetime, why: str,
    judgement: PlanJudgement | None = None, notify: str = "",
) -> None:  # fmt: skip
    """End a request that was not carried out, with what the guardrails said if they did.

    People are notified with the text `notify`.

    Raises IllegalStep when somebody answered it, or ended it, meanwhile.
    """
    body: dict[str, object] = {"why": "judged_again" if judgement else "moot", "detail": why}
    if judgement is not None:
        body |= {"verdicts": judgement.verdicts, "plan": judgement.plan}
    _append(ports, asked, ref, Step.WITHDRAWN, now, f"withdrawn before acting: {why}", body,
            due_at=now + WITHDRAWN_DUE, notify=notify)  # fmt: skip


def _append(
    ports: Ports, asked: ApprovalRequest, ref: ResourceRef, step: Step, now: datetime, summary: str,
    body: dict[str, object], *, due_at: datetime, notify: str = "",
) -> None:  # fmt: skip
    ports.ledger.append(
        asked.decision_id, step, ref=ref, at=now, summary=summary, body=body, fencing=None,
        due_at=due_at, notify=Notify(text=notify) if notify else None,
    )  # fmt: skip
