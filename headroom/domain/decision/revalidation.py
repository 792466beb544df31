"""Plans that did not come from this decision: an approved one, judged again, and what somebody proposes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.decision.action import Act, Hold, Reason
from headroom.domain.decision.approval import price_rise, requested_in_advance, similar
from headroom.domain.decision.asking import URGENT, raises_at
from headroom.domain.decision.decide import Decision, decide
from headroom.domain.decision.decision_input import DecisionInput, analyze, situation_of
from headroom.domain.decision.decision_input import case_of as case_of_analysis
from headroom.domain.decision.escalation import AMOUNTS
from headroom.domain.decision.rollback import case_of, judge_rollback
from headroom.domain.guardrails import (
    Guardrail,
    PlanJudgement,
    all_known_clear_at,
    approved_price,
    in_the_policy,
    judge,
    more_than_left,
)
from headroom.domain.planning import LEAD, Plan, group_of, serves, unserved_events, value_targets
from headroom.domain.policy import PolicyUnreadable
from headroom.domain.resources import Configuration, Kind, PriceUnknown, Volume, digest
from headroom.domain.state import ApprovalRequest, plain_cents
from headroom.domain.workload import Binding, LoadShape

HOURS_A_MONTH = 730
LEAST_LOSS = 0.01
"""The least loss in USD a day that counts for a plan that is no candidate any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proceed:
    """Execute it: the approved decision with the current state and verdicts."""

    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class StillBlocked:
    """Blocked by what clears before the approval expires; the decision is a Hold."""

    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """It is no longer allowed or no longer useful."""

    why: str
    judgement: PlanJudgement | None


Revalidation = Proceed | StillBlocked | Withdrawal


NOT_DECIDED = Withdrawal(why="it was not decided to act", judgement=None)


def approval_obsolete(asked: ApprovalRequest, volume: Volume, at: datetime) -> Withdrawal | None:
    """Why an approval is void before any judgement: it expired, or the configuration changed."""
    if at >= asked.expires:
        return Withdrawal(why="the approval expired before it could be done", judgement=None)
    if volume.configuration != asked.origin:
        return Withdrawal(why=f"the {volume.ref.noun} was changed meanwhile", judgement=None)
    return None


def revalidate(
    decision_input: DecisionInput, decision: Decision, asked: ApprovalRequest
) -> Revalidation:
    """Judge the approved plan of `decision` again on the current input."""
    answer, at = decision.answer, decision_input.observation.at
    if not isinstance(answer, Act):
        return NOT_DECIDED
    over = approval_obsolete(asked, decision_input.observation.volume, at)
    if over is not None:
        return over
    base = decide(replace(decision_input, extra_target=asked.target))
    missing = _missing_input(decision_input, base)
    if missing is not None:
        return StillBlocked(decision=waiting_for(base, asked, answer.plan, None, missing))
    plan = _current_plan(decision_input, base, answer.plan)
    if plan is None:
        return Withdrawal(why="no price is known for it any more", judgement=None)
    judgement = _judgement(decision_input, base, decision, plan, asked.price_change_usd)
    too_much = None if decision.rollback_of is not None else _too_much(base, judgement)
    if too_much is not None:
        return Withdrawal(why=too_much, judgement=judgement)
    if judgement.allowed:
        return Proceed(decision=revalidated_decision(decision, base, answer, judgement))
    names = ", ".join(v.guardrail.value for v in judgement.blocking)
    pointless = any(v.guardrail is Guardrail.COST_BENEFIT for v in judgement.blocking)
    idle = base.diagnosis.binding is Binding.NOTHING and not (base.space and base.space.short)
    if pointless and idle:
        for due, what in _what_for(decision_input, (base, decision), plan):
            if at < due < asked.expires:
                return StillBlocked(decision=waiting_for(base, asked, plan, due, what))
    known = [v.clears_at for v in judgement.blocking if v.clears_at is not None]
    for_now = all(v.temporary for v in judgement.blocking) and not pointless
    if not for_now or max(known, default=at) >= asked.expires:
        rise = price_rise(plan, asked)
        why = f"judged again, it is blocked by {names}{f': {rise}' if rise else ''}"
        allows = in_the_policy(
            [v for v in judgement.blocking if v.guardrail in AMOUNTS],
            tags=base.effective.tags_that_set, kind=base.observation.volume.ref.kind,
        )  # fmt: skip
        why += f"; {allows}" if allows else ""
        if pointless and idle:
            why = f"the load that it was for is over, or no longer worth its price ({names})"
        return Withdrawal(why=why, judgement=judgement)
    until = all_known_clear_at(judgement.blocking)
    return StillBlocked(decision=waiting_for(base, asked, plan, until, names))


def renewed_request(
    decision_input: DecisionInput, asked: ApprovalRequest
) -> ApprovalRequest | None:
    """An expired request with a later expiry, if a decision of now would request the same, or a little more.

    None where it would save money only, where a cheaper change would do, and of what belongs to a striped set.
    """
    policy, seen = decision_input.policy, decision_input.observation
    if seen.volume.ref.kind is Kind.AURORA or isinstance(policy, PolicyUnreadable):
        return None
    before = replace(decision_input.resource_state, approval_request=None)
    fresh = decide(replace(decision_input, resource_state=before, extra_target=asked.target))
    answer = fresh.answer
    if not isinstance(answer, Act) or answer.approval is None or answer.expires is None:
        return None
    same = next((j for j in fresh.judgements if j.plan.target == asked.target), None)
    if answer.reason not in URGENT or group_of(policy, seen.volume) is not None or same is None:
        return None
    now_usd, asked_usd = answer.plan.price_change_usd, plain_cents(asked.price_change_usd)
    if not similar(answer.plan, asked) or plain_cents(now_usd) < asked_usd:
        return None
    ready = same.allowed or requested_in_advance(fresh.effective.limits, same, seen.at)
    if not ready or plain_cents(same.plan.price_change_usd) > asked_usd:
        return None
    return replace(asked, expires=answer.expires, why=answer.approval)


def pending_decision(decision: Decision, asked: ApprovalRequest | None) -> Decision:
    """The decision with the expiry of its pending request, which a renewal puts off."""
    answer = decision.answer
    if asked is None or asked.decision_id != decision.decision_id or not isinstance(answer, Act):
        return decision
    return replace(decision, answer=replace(answer, expires=asked.expires))


def _what_for(
    decision_input: DecisionInput, decisions: Sequence[Decision], plan: Plan
) -> Iterator[tuple[datetime, str]]:
    """When a raise is due that is of no use yet, and what load it is for.

    `decisions` are those of now and of when it was asked for: the next change may be another one by now.
    """
    situation = situation_of(replace(decision_input, extra_target=plan.target))
    for load in unserved_events(situation):
        if serves(plan.capability, load):
            yield load.start - LEAD, "the known event that it is for"
    for due in (decision.next_change_at for decision in decisions):
        if situation is None or due is None or due <= decision_input.observation.at:
            continue
        if any(one.target == plan.target for one in raises_at(situation, due)):
            yield due, "the load of earlier days that it is for"


def _too_much(base: Decision, judgement: PlanJudgement) -> str | None:
    """Why a smaller change is enough for what the instance leaves, where nothing else blocks this one."""
    chosen = base.plan
    elsewhere = any(v.guardrail is not Guardrail.INSTANCE_LIMIT for v in judgement.blocking)
    if elsewhere or (chosen is not None and chosen.target == judgement.plan.target):
        return None
    return more_than_left(judgement.plan, base.observation, base.diagnosis)


def _missing_input(decision_input: DecisionInput, base: Decision) -> str | None:
    """What is missing to judge anything now; the approval stays valid until it expires."""
    if isinstance(decision_input.policy, PolicyUnreadable):
        return "a policy that can be read"
    if decision_input.prices is None:
        return "prices"
    if base.demand.shape is LoadShape.UNKNOWN or base.diagnosis.binding is Binding.UNKNOWN:
        return "measurements"
    return None


def waiting_for(
    base: Decision, asked: ApprovalRequest, plan: Plan, until: datetime | None, names: str
) -> Decision:
    summary = (
        f"{base.observation.volume.ref.resource_id}: {plan.origin} -> {plan.target}, approved by "
        f"{asked.approved_by}, waits for {names}"
    )
    if until is not None:
        summary += f" until {until:%Y-%m-%d %H:%M} UTC"
    return replace(
        base,
        decision_id=digest(base.decision_id, "approved", asked.decision_id)[:20],
        answer=Hold(reason=Reason.BLOCKED_TEMPORARILY, until=until, proposed_plan=plan),
        summary=summary,
    )


def _current_plan(decision_input: DecisionInput, base: Decision, plan: Plan) -> Plan | None:
    """The plan at the current price, valued under the current load."""
    if decision_input.prices is None:
        return None
    try:
        then = decision_input.prices.monthly(plan.target)
        change = then - decision_input.prices.monthly(plan.origin)
    except PriceUnknown:
        return None
    valued_plans = next((j.plan for j in base.judgements if j.plan.target == plan.target), None)
    if valued_plans is not None:
        return valued_plans
    loss = max(LEAST_LOSS, float(change) * 24 / HOURS_A_MONTH)
    return replace(
        plan, monthly_usd=then, price_change_usd=change, relieved_minutes_per_day=0.0,
        value_usd_per_day=-loss,
    )  # fmt: skip


def _judgement(
    decision_input: DecisionInput,
    base: Decision,
    decision: Decision,
    plan: Plan,
    approved_usd: Decimal,
) -> PlanJudgement:
    """All guardrails on the current plan, and the approved price."""
    if decision.rollback_of is not None:
        return judge_rollback(
            base, decision_input, plan, by_person=False, approved_usd=approved_usd
        )
    found = next((j for j in base.judgements if j.plan == plan), None)
    if found is None:
        return judge(case_of(base, decision_input, plan, base.effective, approved_usd))
    agreed = approved_price(plan.price_change_usd, approved_usd)
    verdicts = (agreed if v.guardrail is Guardrail.APPROVAL else v for v in found.verdicts)
    return replace(found, verdicts=tuple(verdicts))


def revalidated_decision(
    decision: Decision, base: Decision, answer: Act, judgement: PlanJudgement
) -> Decision:
    """The approved decision with its id and instant, and the current state."""
    return replace(
        decision, observation=base.observation, resource_state=base.resource_state,
        policy_version=base.policy_version, effective=base.effective,
        price_source=base.price_source, current_usd=base.current_usd, demand=base.demand,
        diagnosis=base.diagnosis, judgements=(judgement,), cluster=base.cluster,
        answer=replace(answer, plan=judgement.plan),
    )  # fmt: skip


def judge_target(decision_input: DecisionInput, target: Configuration) -> PlanJudgement | None:
    """The value of a change to `target` and every guardrail's verdict, as if it were a plan.

    None if AWS would refuse the change or its price is not known.
    """
    analysis = analyze(decision_input)
    if analysis.situation is None:
        return None
    plan = value_targets(analysis.situation, [target]).get(target)
    if plan is None:
        return None
    return judge(case_of_analysis(analysis, plan, decision_input.resource_state))
