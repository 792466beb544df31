"""Whether an intent fits: lease, last decision and the owner's two limits for increases.

Pure; the ledger makes it binding in one transaction. Money in whole micro-USD per month.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal

from headroom.domain.decision import Act, Decision, unapproved, why_approval
from headroom.domain.guardrails import Guardrail
from headroom.domain.ledger.baseline import owners_price
from headroom.domain.planning import Plan
from headroom.domain.state import TRIED_AGAIN, Step, StoredState, micro_usd, usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What an intent adds to the account's sum, which must be at most `limit_left` before; micro-USD."""

    planned: int
    delta: int
    limit_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IntentRefusal:
    """Why an intent is refused; `why` is a reason of ports.NotIntended."""

    why: str
    detail: str


def reservation(
    state: StoredState, decision: Decision, last: Step | None, now: datetime
) -> Reservation | IntentRefusal:
    """What the intent of `decision` reserves, or why it is refused.

    `last` is the last step of the decision's chain. The account's limit is the one its chosen
    plan was judged by; without it nothing is reserved. No limit blocks a change that adds nothing.
    """
    answer, asked = decision.answer, state.approval_request
    if last in TRIED_AGAIN and asked is not None and asked.decision_id == decision.decision_id:
        last = Step.APPROVED
    if not isinstance(answer, Act) or last not in (Step.DECIDED, Step.APPROVED):
        return IntentRefusal(
            why="exists", detail=f"the chain of {decision.decision_id} is past `decided`"
        )
    if state.lease_until is not None and now < state.lease_until:
        holder = "" if state.chain is None else f" by {state.chain.decision_id}"
        return IntentRefusal(
            why="leased", detail=f"held{holder} until {state.lease_until.isoformat()}"
        )
    if state.breaker_opened_at is not None:
        since = state.breaker_opened_at.isoformat()
        return IntentRefusal(
            why="breaker", detail=f"its breaker is open since {since}; a person closes it"
        )
    if last is Step.APPROVED:
        problem = unapproved(state, answer.plan, decision.decision_id, now)
        if problem is not None:
            return IntentRefusal(why="unapproved", detail=problem)
    elif (why := answer.approval or _needs_a_person(state, decision, answer.plan)) is not None:
        return IntentRefusal(why="unapproved", detail=f"it needs approval: {why}")
    elif state.last_decision_id != decision.decision_id:
        return IntentRefusal(why="moved", detail=f"{state.last_decision_id} was decided since")
    limit = account_limit(decision, answer.plan)
    if limit is None:
        return IntentRefusal(
            why="budget", detail="the decision names no limit for the account's increases"
        )
    if state.enrolment_usd is None:
        return IntentRefusal(why="budget", detail="no price at enrolment is known to count from")
    planned = max(0, micro_usd(answer.plan.monthly_usd - _counted_from(state, decision)))
    if (
        answer.plan.price_change_usd <= 0
    ):  # a price that AWS raised since keeps nobody from giving back
        planned = min(planned, state.resource_micro_usd)
    delta = max(0, planned - state.resource_micro_usd)
    allowed = decision.effective.limits.price_increase_usd
    if delta > 0 and planned > micro_usd(allowed, ROUND_FLOOR):
        detail = f"${usd(planned)} above enrolment, ${allowed} allowed for this resource"
        return IntentRefusal(why="budget", detail=detail)
    limit_left = micro_usd(limit, ROUND_FLOOR) - delta
    if delta > 0 and limit_left < 0:
        detail = f"needs ${usd(delta)} more, the account's limit is ${limit}"
        return IntentRefusal(why="budget", detail=detail)
    return Reservation(planned=planned, delta=delta, limit_left=limit_left)


def _counted_from(state: StoredState, decision: Decision) -> Decimal:
    """The price that increases are counted from: of what the owner set, or a cluster's current less our increase.

    It is by the plan's prices, unless what the owner set changed since. A cluster's bill varies with its
    load, so its price at enrolment is no baseline.
    """
    if decision.cluster is not None and decision.rollback_of is not None:
        plan = decision.answer.plan if isinstance(decision.answer, Act) else None
        return Decimal(0) if plan is None else plan.monthly_usd
    if decision.cluster is not None and decision.current_usd is not None:
        return decision.current_usd - usd(state.resource_micro_usd)
    return owners_price(state, decision) or Decimal(0)


def refusal_of(
    why_not_recordable: IntentRefusal, decision: Decision, decisions: Sequence[Decision]
) -> str:
    """Why an intent is refused; names the resource if several are intended together."""
    if len(decisions) == 1:
        return why_not_recordable.detail
    return f"{decision.observation.volume.ref.resource_id}: {why_not_recordable.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedReservation:
    """What simultaneous intents add to the account's sum, and what it may be before."""

    delta: int
    limit_left: int


def combined_reservation(fits: Sequence[Reservation]) -> CombinedReservation | IntentRefusal:
    """The reservations of several resources as one; the lowest of their limits applies."""
    delta = sum(fit.delta for fit in fits)
    limit = min((fit.limit_left + fit.delta for fit in fits if fit.delta > 0), default=0)
    if delta > limit:
        detail = f"needs ${usd(delta)} more together, the account's limit is ${usd(limit)}"
        return IntentRefusal(why="budget", detail=detail)
    return CombinedReservation(delta=delta, limit_left=limit - delta)


def _needs_a_person(state: StoredState, decision: Decision, plan: Plan) -> str | None:
    """Why the intent needs approval; a rollback requested by a person does not."""
    wanted = state.rollback
    if wanted is not None and wanted.by_person and wanted.decision_id == decision.rollback_of:
        return None
    return why_approval(decision.effective.limits, plan)


def account_limit(decision: Decision, plan: Plan) -> Decimal | None:
    """The limit for the sum of increases that `plan` was judged by; None when there is none."""
    judgement = next((j for j in decision.judgements if j.plan == plan), None)
    for verdict in () if judgement is None else judgement.verdicts:
        if verdict.guardrail is Guardrail.PRICE_PER_ACCOUNT:
            limit = verdict.limit
            if isinstance(limit, bool) or not isinstance(limit, int | float | Decimal):
                return None
            amount = Decimal(str(limit))
            return amount if amount.is_finite() else None
    return None


def intended_body(
    decision: Decision, plan: Plan, planned: Reservation, state: StoredState
) -> dict[str, object]:
    """The body of the `intended` record; `state` is the state after it.

    It contains the plan, so the record is complete by itself.
    """
    return {
        "plan": plan,
        "decided_at": decision.at,
        "target": plan.target,
        "monthly_usd": plan.monthly_usd,
        "price_change_usd": plan.price_change_usd,
        "increase_reserved_usd": usd(planned.planned),
        "account_increase_added_usd": usd(planned.delta),
        "policy_version": decision.policy_version,
        "fencing": state.fencing,
        "lease_until": state.lease_until,
    }
