"""The action that follows from the verdicts: the first allowed plan, or why there is none.

Space comes before load, because a full database stops. What only the owner can change is notified once per episode and cause.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import assert_never

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import (
    growth_refused_until,
    requested_in_advance,
    unanswered,
)
from headroom.domain.decision.asking import act_or_ask, act_or_hold, kept_from, or_a_word
from headroom.domain.decision.decision_input import (
    ANSWERED_WITHIN,
    Analysis,
    DecisionInput,
    current_price,
)
from headroom.domain.decision.escalation import (
    AFTER_THE_LOAD,
    LONG_PRESSED_MINUTES,
    MORE_OF_THEIR_WORK,
    NOT_WORTH_IT,
    escalate_blocked,
    escalate_blocked_by_tags,
    escalate_once,
    instance_limited,
    just_rolled_back,
    least_useful,
    unmeasured,
    waiting_cause,
    when_slow,
)
from headroom.domain.decision.known_events import needed_of_people
from headroom.domain.decision.space import (
    NOBODY_AGREED,
    GrowStorage,
    HoldForSpace,
    NotifyOwner,
    SpaceAction,
    decide_space,
    for_a_person,
    full_within_a_day,
    is_full,
    nobody_agreed,
)
from headroom.domain.guardrails import (
    CONCURRENCY_GUARDRAILS,
    MIN_KNOWN_MINUTES,
    QUEUEABLE_GUARDRAILS,
    Guardrail,
    PlanJudgement,
    all_clear_at,
    distance,
    gains_durability,
)
from headroom.domain.planning import (
    CALM_MINUTES,
    Plan,
    gives_up_only_unused,
    held_by_raises,
    one_way,
)
from headroom.domain.policy import EffectiveLimits, PolicyUnreadable
from headroom.domain.workload import ON_INSTANCE, Binding, Demand, Diagnosis, LoadShape

UNPAID_MINUTES = 120
"""Pressure after which the owner hears that nothing is worth its price."""
SAYS_WHY = (Guardrail.REVERTED, Guardrail.DATABASE_STATE, Guardrail.GROUP, Guardrail.CALENDAR)
SOON = timedelta(hours=1)
"""A change that may be made within this is worth no message."""


def conclude(analysis: Analysis, judgements: tuple[PlanJudgement, ...]) -> Action:
    """What to do; instead, once, that AWS has refused it for too long, or that Headroom may no longer do it."""
    return or_a_word(analysis, _concluded(analysis, judgements))


def _concluded(analysis: Analysis, judgements: tuple[PlanJudgement, ...]) -> Action:
    """The action for free space if it needs one, else the action for the load."""
    decision_input, effective = analysis.decision_input, analysis.effective
    for_load = tuple(j for j in judgements if j.plan.growth is None or for_a_person(j))
    by_load = conclude_for_load(
        decision_input, effective, analysis.demand, analysis.diagnosis, for_load
    )
    if isinstance(decision_input.policy, PolicyUnreadable):
        return by_load
    if isinstance(by_load, Hold) and analysis.diagnosis.binding is Binding.NOTHING:
        by_load = needed_of_people(analysis, for_load) or by_load
    space_action = decide_space(
        analysis.space, decision_input.observation.volume.facts, effective, judgements,
        decision_input.observation.at, priced=current_price(decision_input) is not None,
        change=decision_input.observation.modification,
    )  # fmt: skip
    stuck = decision_input.resource_state.growth_not_before is not None
    if space_action is None or (stuck and isinstance(by_load, Act)):
        return by_load  # also while the file system cannot follow: the load need not wait for it
    return _for_space(analysis, space_action, by_load)


def _for_space(analysis: Analysis, space_action: SpaceAction, by_load: Action) -> Action:
    decision_input, effective = analysis.decision_input, analysis.effective
    calm = analysis.diagnosis.binding is Binding.NOTHING
    match space_action:
        case GrowStorage(plan=plan, unasked=unasked):
            return _growing(analysis, plan, unasked, by_load)
        case HoldForSpace(unclear=True):
            hold = Hold(reason=Reason.FREE_SPACE_UNCERTAIN, until=None, proposed_plan=None)
            return hold if calm else by_load
        case HoldForSpace(plan=plan, until=until, observed=observed):
            why = Reason.OBSERVE_ONLY if observed else Reason.BLOCKED_TEMPORARILY
            return Hold(reason=why, until=until, proposed_plan=plan)
        case NotifyOwner(cause=cause, remedy=remedy, plan=plan, until=until):
            why = Reason.LOW_FREE_SPACE
            if Guardrail.PRICE_PER_RESOURCE in cause or Guardrail.PRICE_PER_ACCOUNT in cause:
                remedy += _held_by_raises(analysis)
            escalation = escalate_once(decision_input, effective, why, cause, remedy, plan)
            if isinstance(escalation, Escalate):
                return escalation
            # The owner is notified already: the load is handled, as far as it leaves room to grow.
            idle = calm and isinstance(by_load, Hold)
            full = is_full(decision_input.observation.volume.facts)
            silent = idle or (full and isinstance(by_load, Escalate))
            return Hold(reason=why, until=until, proposed_plan=plan) if silent else by_load
        case _:
            assert_never(space_action)


def _held_by_raises(analysis: Analysis) -> str:
    """What Headroom's own raises hold of the price limits that block growth, and who gives it back."""
    situation, limits = analysis.situation, analysis.effective.limits
    held = None if situation is None else held_by_raises(situation)
    if held is None:
        return ""
    (usd, without), can = held, capability(held[1])
    by_itself = (
        "Headroom gives back what the load no longer needs of it together with the growth, within a day of being "
        f"full what that costs, once the load has been calm for {CALM_MINUTES} minutes; earlier, set it"
        if limits.grow_space and limits.give_back and can.sustained_iops >= limits.min_iops
        else "set it"
    )
    return (
        f"; ${usd:.2f} a month of that limit pay for the IOPS and MiB/s that Headroom added for its load: "
        f"{by_itself} back to {without} yourself"
    )


def _growing(analysis: Analysis, plan: Plan, unasked: Plan | None, by_load: Action) -> Action:
    """Grow; or hold while a request is pending or growth was rejected recently.

    Rejecting growth does not reject changes for the load. While nobody answers whether a raise may come
    with the growth, it grows `unasked`. Within a day of being full, the owner is notified once.
    """
    decision_input, effective = analysis.decision_input, analysis.effective
    at, resource_state = decision_input.observation.at, decision_input.resource_state
    no_until = growth_refused_until(resource_state.declined, plan.origin.size_gib, at)
    answer: Action = (
        act_or_hold(decision_input, effective, Reason.LOW_FREE_SPACE, plan)
        if no_until is None
        else Hold(reason=Reason.DECLINED, until=no_until, proposed_plan=plan)
    )
    silent = unanswered(resource_state.declined, plan, at) if unasked is not None else ()
    if isinstance(answer, Act) and (answer.approval is None or not silent):
        return answer
    asked, near = resource_state.approval_request, full_within_a_day(analysis.space, at)
    waited = asked is None or near or at >= asked.requested_at + ANSWERED_WITHIN
    if unasked is not None and no_until is None and waited:
        return act_or_hold(decision_input, effective, Reason.LOW_FREE_SPACE, unasked)
    if near:
        remedy = nobody_agreed(plan, asked, no_until)
        escalation = escalate_once(
            decision_input, effective, Reason.LOW_FREE_SPACE, NOBODY_AGREED, remedy, plan
        )
        return escalation if isinstance(escalation, Escalate) else answer
    # Another change would replace the pending request.
    return by_load if asked is None and isinstance(by_load, Act) else answer


def conclude_for_load(
    decision_input: DecisionInput, effective: EffectiveLimits, demand: Demand, diagnosis: Diagnosis,
    judgements: tuple[PlanJudgement, ...],
) -> Action:  # fmt: skip
    """The first allowed plan, else the plan nearest to being allowed and what blocks it."""
    if isinstance(decision_input.policy, PolicyUnreadable):
        return Hold(reason=Reason.POLICY_UNREADABLE, until=None, proposed_plan=None)
    if demand.shape is LoadShape.UNKNOWN or diagnosis.binding is Binding.UNKNOWN:
        return unmeasured(decision_input, effective, demand)
    at, limits = decision_input.observation.at, effective.limits
    best = next((j for j in judgements if j.allowed or requested_in_advance(limits, j, at)), None)
    if diagnosis.binding is Binding.NOTHING:
        return _in_calm(decision_input, effective, judgements, best)
    if diagnosis.binding is Binding.LATENCY:
        if best is not None:
            return act_or_hold(decision_input, effective, _reason_when_slow(best.plan), best.plan)
        faster = tuple(j for j in judgements if gains_durability(j.plan))
        if faster and diagnosis.slower_than_objective:
            return _blocked(decision_input, effective, demand, faster)
        remedy = when_slow(decision_input.observation, limits, diagnosis)
        return escalate_once(
            decision_input, effective, Reason.HIGH_LATENCY, diagnosis.binding.value, remedy, None
        )
    if diagnosis.binding in ON_INSTANCE:
        if best is not None:
            return act_or_hold(decision_input, effective, Reason.SCALING_DOWN, best.plan)
        return instance_limited(decision_input, effective, diagnosis)
    if current_price(decision_input) is None:
        return escalate_once(
            decision_input, effective, Reason.PRICE_UNKNOWN, "price_unknown",
            "no price is known for this volume type in its Region or zone, and nothing is bought without", None,
        )  # fmt: skip
    if not judgements:
        return escalate_once(
            decision_input, effective, Reason.NO_PLAN, "no_plan",
            "no type and size that AWS offers relieves this volume without growing or losing speed", None,
        )  # fmt: skip
    if best is not None:
        why = partial(_why, demand, diagnosis)
        return act_or_ask(decision_input, effective, best.plan, judgements, why)
    return _blocked(decision_input, effective, demand, judgements)


def reason_of(analysis: Analysis, plan: Plan) -> Reason:
    """The reason for a plan of the analyzed volume."""
    if analysis.diagnosis.binding is Binding.LATENCY:
        return _reason_when_slow(plan)
    if analysis.diagnosis.binding is Binding.NOTHING:
        return _reason_in_calm(plan)
    return _why(analysis.demand, analysis.diagnosis, plan)


def _why(demand: Demand, diagnosis: Diagnosis, plan: Plan) -> Reason:
    lowers = plan.gives_back(draining=diagnosis.binding is Binding.BURST_CREDITS)
    if lowers and not plan.sustains_more and not gives_up_only_unused(plan, demand, spare=1.0):
        return Reason.SCALING_DOWN
    if demand.pressed_minutes > 0:
        return Reason.STARVED
    if diagnosis.binding is Binding.BURST_CREDITS:
        return Reason.DEPLETION_FORESEEN
    return Reason.RECURRENCE_EXPECTED


def _reason_when_slow(plan: Plan) -> Reason:
    return Reason.HIGH_LATENCY if one_way(plan) else _reason_in_calm(plan)


def _reason_in_calm(plan: Plan) -> Reason:
    if plan.price_change_usd > 0 or (
        not plan.price_change_usd and plan.relieved_minutes_per_day > 0
    ):
        return Reason.RECURRENCE_EXPECTED
    return Reason.SCALING_DOWN if plan.lowers else Reason.CHEAPER_EQUIVALENT


def _in_calm(
    decision_input: DecisionInput, effective: EffectiveLimits, judgements: tuple[PlanJudgement, ...],
    best: PlanJudgement | None,
) -> Action:  # fmt: skip
    """No limit binds: take a worthwhile, allowed plan; a blocked one is no reason to escalate.

    Tags that are not understood are one while they keep what Headroom added from being given back.
    """
    if effective.kept_out and decision_input.resource_state.resource_increase_usd > 0:
        told = escalate_blocked_by_tags(decision_input, effective, None)
        if isinstance(told, Escalate):
            return told
    if best is not None:
        return act_or_ask(decision_input, effective, best.plan, judgements, _reason_in_calm)
    worthwhile = [j for j in judgements if not j.worthless]
    if not worthwhile:
        return Hold(reason=Reason.NO_PRESSURE, until=None, proposed_plan=None)
    nearest = min(worthwhile, key=distance)
    if kept := kept_from(decision_input, effective, nearest):
        return kept
    if any(v.guardrail is Guardrail.MODE for v in nearest.blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=nearest.plan)
    for_now = all(v.temporary for v in nearest.blocking)
    return Hold(
        reason=Reason.BLOCKED_TEMPORARILY if for_now else Reason.NO_PRESSURE,
        until=all_clear_at(nearest.blocking) if for_now else None,
        proposed_plan=nearest.plan,
    )


def _blocked(
    decision_input: DecisionInput,
    effective: EffectiveLimits,
    demand: Demand,
    judgements: tuple[PlanJudgement, ...],
) -> Action:
    nearest = min(judgements, key=distance)
    plan, blocking = nearest.plan, nearest.blocking
    others = [v for v in blocking if v.guardrail is not Guardrail.MODE]
    if effective.kept_out:
        return escalate_blocked_by_tags(decision_input, effective, plan)
    if len(others) < len(blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    short = demand.pressed_minutes < LONG_PRESSED_MINUTES
    if short and nearest.worthless:
        return Hold(reason=Reason.NOT_COST_EFFECTIVE, until=None, proposed_plan=plan)
    if any(not v.temporary for v in others):
        named = least_useful(nearest, judgements, demand)
        return escalate_blocked(decision_input, effective, demand, named)
    if {v.guardrail for v in others} - QUEUEABLE_GUARDRAILS == {Guardrail.COST_BENEFIT}:
        pool = demand.shape is LoadShape.CLOSED_LOOP
        if pool or demand.pressed_minutes >= UNPAID_MINUTES:
            worth = NOT_WORTH_IT.format(plan.target, plan.price_change_usd)
            remedy = MORE_OF_THEIR_WORK if pool else worth
            return escalate_once(
                decision_input, effective, Reason.NOT_COST_EFFECTIVE,
                "closed_loop" if pool else Guardrail.COST_BENEFIT.value, remedy, plan,
            )  # fmt: skip
        return Hold(reason=Reason.NOT_COST_EFFECTIVE, until=None, proposed_plan=plan)
    too_little_data = {v.guardrail for v in others} - QUEUEABLE_GUARDRAILS == {Guardrail.DATA}
    if too_little_data or demand.known_minutes < MIN_KNOWN_MINUTES:
        return Hold(reason=Reason.NOT_ENOUGH_DATA, until=None, proposed_plan=plan)
    until, at = all_clear_at(others), decision_input.observation.at
    queued = decision_input.resource_state.queued_since or at
    if (
        not short
        and (until is None or until > at + SOON or queued < at - SOON)
        and not just_rolled_back(decision_input, others)
    ):
        names = ", ".join(v.guardrail.value for v in others)
        clears = "" if until is None else f" until {until:%Y-%m-%d %H:%M} UTC"
        again = f"decides again {'as soon as that has passed' if until is None else 'then'}"
        if all(v.guardrail in CONCURRENCY_GUARDRAILS for v in others):
            again, clears = "changes it when its turn comes", ""  # others may come first
        again = f"Headroom {again}, unless you change it before"
        if any(v.guardrail is Guardrail.GIVE_BACK_STABILIZATION for v in others):
            again = AFTER_THE_LOAD.format(plan.target, CALM_MINUTES)
        told = escalate_once(
            decision_input, effective, Reason.BLOCKED_TEMPORARILY, waiting_cause(decision_input, others),
            f"it was at its limit for {demand.pressed_minutes} of the last measured minutes, and {names} "
            f"blocks a change{clears}; {again}"
            + "".join(f"; {v.detail}" for v in others if v.guardrail in SAYS_WHY),
            plan,
        )  # fmt: skip
        if isinstance(told, Escalate):
            return told
    return Hold(reason=Reason.BLOCKED_TEMPORARILY, until=until, proposed_plan=plan)
