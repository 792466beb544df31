"""When a change needs approval, how long a request is pending, and what a rejection means. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import capability
from headroom.domain.guardrails import (
    Guardrail,
    PlanJudgement,
    all_known_clear_at,
    gains_durability,
)
from headroom.domain.planning import Plan, a_month
from headroom.domain.policy import Limits, Mode, OneWay
from headroom.domain.resources import STORAGE_MODES, Configuration
from headroom.domain.state import (
    DAY,
    MAX_UNANSWERED,
    QUIET_AFTER_REJECTION,
    TRIED_AGAIN,
    ApprovalRequest,
    Declined,
    Step,
    StoredState,
    plain_cents,
)

SIMILAR_WITHIN = 2
"""Plans are similar only if their price changes differ by less than this factor."""
SCHEDULE_GUARDRAILS = frozenset({Guardrail.CHANGE_WINDOW, Guardrail.FREEZE, Guardrail.CALENDAR})
"""Guardrails that only say when a change may start."""
LONGEST_QUIET = timedelta(days=14)
"""The longest for which a saving is not requested again that was declined."""
NEGLIGIBLE_USD = Decimal(1)
"""USD per month below which two price changes count as equally large."""
REMIND_AFTER = timedelta(hours=8)
"""When people are notified again of what is still requested; after that, daily."""


def why_approval(limits: Limits, plan: Plan) -> str | None:
    """Why `plan` needs approval; None when it does not.

    Under `auto` only an added monthly price needs approval, never a lower one, and, unless the
    owner allows it, what Headroom could never undo.
    """
    if limits.mode is Mode.APPROVE:
        return "the mode is approve"
    if limits.one_way is not OneWay.ALLOW and gains_durability(plan):
        return f"Headroom never undoes a change to {plan.target.volume_type}: the policy requires approval"
    above = limits.approve_above_usd
    if above is not None and plan.price_change_usd > max(above, Decimal(0)):
        return f"it adds more than ${above} a month, and the policy requires approval above that"
    return None


def why_approval_after(limits: Limits, plan: Plan, added_usd: Decimal) -> str | None:
    """Why `plan` needs approval, alone or with what Headroom added before; None when it does not.

    Never what was before for growth for free space alone: an earlier raise must not keep a database from being
    grown in time.
    """
    above, why = limits.approve_above_usd, why_approval(limits, plan)
    if why is not None or above is None or plan.only_for_space:
        return why
    usd = plan.price_change_usd
    if usd <= 0 or added_usd <= 0 or added_usd + usd <= max(above, Decimal(0)):
        return None
    return (
        f"with ${added_usd:.2f} before, it adds more than the ${above} a month above which the policy "
        "requires approval"
    )


def requested_in_advance(limits: Limits, judgement: PlanJudgement, at: datetime) -> bool:
    """Whether approval is requested now for a change that may only start later.

    True if only the owner's schedule blocks the plan and it opens before the request expires:
    people approve by day what happens at night.
    """
    if why_approval(limits, judgement.plan) is None or not judgement.blocking:
        return False
    if any(v.guardrail not in SCHEDULE_GUARDRAILS or not v.temporary for v in judgement.blocking):
        return False
    expires = at + timedelta(minutes=limits.approval_expires_minutes)
    starts = all_known_clear_at(judgement.blocking)
    return starts is not None and starts < expires


def similar(plan: Plan, declined: Declined | ApprovalRequest) -> bool:
    """Whether `plan` is similar to one that was requested: type, direction and price."""
    if plan.target == declined.target:
        return True
    now, before = plan.price_change_usd, declined.price_change_usd
    if plan.target.volume_type is not declined.target.volume_type or (now > 0) != (before > 0):
        return False
    less, more = sorted((max(abs(now), NEGLIGIBLE_USD), max(abs(before), NEGLIGIBLE_USD)))
    return more < SIMILAR_WITHIN * less


def only_saves(origin: Configuration, target: Configuration, price_change_usd: Decimal) -> bool:
    """Whether a request from `origin` was for money alone: cheaper, and it serves no more."""
    now, then = capability(origin), capability(target)
    return (
        price_change_usd <= 0
        and target.size_gib <= origin.size_gib
        and then.sustained_iops <= now.sustained_iops
        and then.sustained_mibps <= now.sustained_mibps
    )


def quiet_until(
    declined: Sequence[Declined], plan: Plan, at: datetime, *, urgent: bool = False
) -> datetime | None:
    """Until when earlier answers suppress a request for `plan`; None when it may be requested.

    A clearly different plan may be requested, but only a few requests are made in 24 h. What is urgent is
    suppressed only by a person's no to a change that is no mere saving.
    """
    heard = [
        d
        for d in declined
        if not urgent or (d.rejected and not only_saves(plan.origin, d.target, d.price_change_usd))
    ]
    ends = (_longest(d) if urgent else d.until for d in heard if similar(plan, d))
    waits = [until for until in ends if at < until]
    lately = sorted(d.at for d in heard if d.at > at - DAY)
    if len(lately) >= MAX_UNANSWERED:
        waits.append(lately[-MAX_UNANSWERED] + DAY)
    return max(waits, default=None)


def unanswered(declined: Sequence[Declined], plan: Plan, at: datetime) -> tuple[Declined, ...]:
    """Requests similar to `plan` that expired in the last 24 h."""
    silent = (d for d in declined if not d.rejected and d.at > at - DAY)
    return tuple(d for d in silent if similar(plan, d))


def notified_before(declined: Sequence[Declined], plan: Plan, at: datetime) -> tuple[datetime, ...]:
    """When people were last notified of what is similar to `plan` and expired."""
    found = (d.notified for d in unanswered(declined, plan, at))
    return max(found, key=lambda times: times[-1:], default=())


def message_due(notified: Sequence[datetime], expires: datetime) -> bool:
    """Whether people are notified of a request: the first time, 8 h later, then daily.

    Now, if their next message is due before the request expires.
    """
    if not notified:
        return True
    return expires > notified[-1] + (REMIND_AFTER if len(notified) == 1 else DAY)


def refused_until(declined: Sequence[Declined], plan: Plan, at: datetime) -> datetime | None:
    """Until when a rejection blocks `plan` although it needs no approval; None for none.

    Otherwise a rejected raise would happen minutes later without approval, because the load fell
    a little and the price is just below the threshold. An expired request is no rejection.
    """
    said = [d.until for d in declined if d.rejected and at < d.until and similar(plan, d)]
    return max(said, default=None) if plan.price_change_usd > 0 else None


def growth_refused_until(
    declined: Sequence[Declined], size_gib: int, at: datetime
) -> datetime | None:
    """Until when a rejection blocks growth beyond `size_gib`, whatever its price or purpose; None for none."""
    said = (_longest(d) for d in declined if d.rejected and d.target.size_gib > size_gib)
    return max((until for until in said if at < until), default=None)


def _longest(declined: Declined) -> datetime:
    """Until when a no counts for load and free space: a day, however long it does for a saving."""
    return min(declined.until, declined.at + QUIET_AFTER_REJECTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidAnswer:
    """Why an answer is not accepted; `why` is a reason of ports.NotAnswered."""

    why: str
    detail: str


def answered_request(state: StoredState, decision_id: str, withdrawn: Plan | None = None) -> str:
    """The decision that an answer to a request is about: what replaced it since, if it is no more.

    That is the pending request, if the one that expired, or was `withdrawn` (its plan), led as far in the same
    direction or further, and was no cheaper. A part of it may be made by now.
    """
    asked = state.approval_request
    old: Declined | Plan | None = withdrawn or next(
        (d for d in state.declined if d.decision_id == decision_id and not d.rejected), None
    )
    if asked is None or old is None or old.origin is None:
        return decision_id
    same_kind = (
        asked.target.volume_type is old.target.volume_type
        and asked.target.size_gib <= max(old.target.size_gib, asked.origin.size_gib)
        and asked.origin.database == old.origin.database
        and asked.target.database == old.target.database
    )
    on_the_way = _between(asked.origin, old.origin, old.target) and _between(
        asked.target, asked.origin, old.target
    )
    dearer = plain_cents(asked.price_change_usd) > plain_cents(old.price_change_usd)
    return asked.decision_id if same_kind and on_the_way and not dearer else decision_id


def _between(mine: Configuration, one: Configuration, other: Configuration) -> bool:
    """Whether a configuration has the performance of one of two others, or some between theirs, and the type of one."""
    if mine in (one, other):
        return True
    ranges = zip(_sustained(mine), _sustained(one), _sustained(other), strict=True)
    return mine.volume_type in (one.volume_type, other.volume_type) and all(
        min(first, second) <= own <= max(first, second) for own, first, second in ranges
    )


def _sustained(of: Configuration) -> tuple[float, float]:
    can = capability(of)
    return can.sustained_iops, can.sustained_mibps


def after_answer(
    state: StoredState, decision_id: str, step: Step, *, last: Step | None, at: datetime, who: str
) -> StoredState | InvalidAnswer:
    """The state after a person approved or rejected, or why the answer is not accepted.

    `last` is the last step of the chain. The resource becomes due immediately. An approval can be rejected
    until its change is intended.
    """
    asked = state.approval_request
    mine = asked is not None and asked.decision_id == decision_id
    if mine and last in TRIED_AGAIN:
        last = Step.APPROVED  # it stands
    answerable = last is Step.AWAITING or (step is Step.REJECTED and last is Step.APPROVED)
    if asked is None or not mine or not answerable:
        return _not_waiting(asked, decision_id, last)
    if at >= asked.expires:
        return InvalidAnswer(
            why="expired", detail=f"it expired at {asked.expires:%Y-%m-%d %H:%M} UTC"
        )
    if step is Step.APPROVED:
        moved = replace(state, approval_request=replace(asked, approved_at=at, approved_by=who))
    else:
        moved = after_rejection(state, step, at)
    return replace(moved, last_request_at=at, due_at=min(at, state.due_at or at))


def _not_waiting(
    asked: ApprovalRequest | None, decision_id: str, last: Step | None
) -> InvalidAnswer:
    match last:
        case None:
            return InvalidAnswer(why="unknown", detail="there is no such decision")
        case Step.APPROVED | Step.REJECTED:
            by = ""
            if asked is not None and asked.decision_id == decision_id and asked.approved_by:
                by = f" by {asked.approved_by}"
            return InvalidAnswer(why=last.value, detail=f"it was {last.value} already{by}")
        case Step.EXPIRED:
            now = (
                ""
                if asked is None
                else f"; {asked.decision_id} waits instead, for another price or size"
            )
            return InvalidAnswer(why="expired", detail=f"it expired before anybody answered{now}")
        case _:
            return InvalidAnswer(
                why="not_awaiting", detail=f"it waits for nobody: its last step is {last.value}"
            )


def after_rejection(state: StoredState, step: Step, at: datetime) -> StoredState:
    """The state after the pending request was rejected or expired."""
    asked = state.approval_request
    if asked is None:
        return state
    rejected = step is Step.REJECTED
    quiet = QUIET_AFTER_REJECTION if rejected else min(asked.expires - asked.requested_at, DAY)
    if asked.price_change_usd <= 0:
        quiet = max(quiet, _twice_as_quiet(state.declined, asked))
    elif not rejected:
        quiet = timedelta(0)  # silence says nothing of the next load
    mine = Declined(
        decision_id=asked.decision_id, at=at, until=at + quiet, origin=asked.origin, target=asked.target,
        price_change_usd=asked.price_change_usd, rejected=rejected, notified=asked.notified,
    )  # fmt: skip
    kept = [d for d in state.declined if at < max(d.until, d.at + DAY)]
    silent = [d for d in kept if not d.rejected and d.target != asked.target]
    said = [d for d in kept if d.rejected]  # kept longest: a no is never forgotten early
    declined = (*silent, *said, mine)[-2 * MAX_UNANSWERED :]
    return replace(state, approval_request=None, declined=declined)


def _twice_as_quiet(declined: Sequence[Declined], asked: ApprovalRequest) -> timedelta:
    """After a saving that is declined again: twice the time for which it was not requested."""
    before = [
        d.until - d.at
        for d in declined
        if d.target == asked.target and d.until + DAY >= asked.requested_at
    ]
    return min(2 * max(before, default=timedelta(0)), LONGEST_QUIET)


def max_approved_usd(asked: ApprovalRequest) -> Decimal:
    """The most that an approved change may add to the monthly price.

    The saving of a storage mode varies with the load: the change must still save something, and
    the owner's margin says how much.
    """
    saves = asked.target.volume_type in STORAGE_MODES and asked.price_change_usd < 0
    return Decimal(0) if saves else asked.price_change_usd


def price_rise(plan: Plan, asked: ApprovalRequest) -> str | None:
    """Why a plan costs too much to be the approved one, at the cents that people were shown; None if not."""
    if plain_cents(plan.price_change_usd) <= plain_cents(max_approved_usd(asked)):
        return None
    now, then = a_month(plan.price_change_usd), a_month(asked.price_change_usd)
    return f"its price rose: it is {now} now, and {then} was approved"


def unapproved(state: StoredState, plan: Plan, decision_id: str, now: datetime) -> str | None:
    """Why `plan` may not be executed as the approved one; None when it may.

    Only the approved change, at no higher price, and before the approval expires.
    """
    asked = state.approval_request
    if asked is None or asked.decision_id != decision_id or asked.approved_at is None:
        return "nobody approved it"
    if now >= asked.expires:
        return f"the approval expired at {asked.expires:%Y-%m-%d %H:%M} UTC"
    if (plan.origin, plan.target) != (asked.origin, asked.target):
        return "it is not the change that was approved"
    return price_rise(plan, asked)
