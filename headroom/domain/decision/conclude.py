"""How the answer follows from what every guardrail said: the first allowed plan, or why there is none.

Space comes before load: a database that is full stops. Whoever owns the storage is told once in an
episode and cause of what only they can change.
"""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import (
    growth_refused_until,
    quiet_until,
    refused_until,
    requested_in_advance,
    why_approval,
)
from headroom.domain.decision.decision_input import (
    Analysis,
    DecisionInput,
    current_price,
    policy_of,
)
from headroom.domain.decision.space import (
    NOBODY_AGREED,
    GrowStorage,
    HoldForSpace,
    NotifyOwner,
    SpaceAction,
    decide_space,
    full_within_a_day,
)
from headroom.domain.guardrails import (
    MIN_KNOWN_MINUTES,
    QUEUEABLE_GUARDRAILS,
    Guardrail,
    PlanJudgement,
    Verdict,
    all_clear_at,
    distance,
)
from headroom.domain.planning import Plan, gives_up_only_unused
from headroom.domain.policy import CodeOwned, EffectiveLimits, PolicyUnreadable
from headroom.domain.resources import CodeOwner, code_owner, spoken
from headroom.domain.workload import Binding, Demand, Diagnosis, LoadShape

LARGER_INSTANCE = "use a larger instance, or spread the load; a faster volume would change nothing"


LARGER_CLASS = (
    "use a larger DB instance class, or spread the load; faster storage would change nothing"
)


EXPLAINED = frozenset(
    {
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.REVERTED, Guardrail.GROUP,
        Guardrail.DATABASE_STATE, Guardrail.PENDING_CHANGES, Guardrail.STORAGE_AUTOSCALING,
    }
)  # fmt: skip
"""Guardrails whose own words tell the owner what to do."""


def conclude(seen: Analysis, judgements: tuple[PlanJudgement, ...]) -> Action:
    """What free space asks for, and else what the load does: a database that is full stops."""
    decision_input, effective = seen.decision_input, seen.effective
    for_load = tuple(j for j in judgements if j.plan.growth is None)
    by_load = conclude_for_load(decision_input, effective, seen.demand, seen.diagnosis, for_load)
    if isinstance(decision_input.policy, PolicyUnreadable):
        return by_load
    asked = decide_space(
        seen.space, decision_input.observation.volume.facts, effective.limits, judgements,
        decision_input.observation.at, priced=current_price(decision_input) is not None,
        busy=(change := decision_input.observation.modification) is not None and change.in_flight,
    )  # fmt: skip
    return by_load if asked is None else _for_space(seen, asked, by_load)


def _for_space(seen: Analysis, asked: SpaceAction, by_load: Action) -> Action:
    decision_input, effective = seen.decision_input, seen.effective
    calm = seen.diagnosis.binding is Binding.NOTHING
    match asked:
        case GrowStorage(plan=plan):
            return _growing(seen, plan, by_load)
        case HoldForSpace(unclear=True):
            hold = Hold(reason=Reason.FREE_SPACE_UNCERTAIN, until=None, proposed_plan=None)
            return hold if calm else by_load
        case HoldForSpace(plan=plan, until=until, observed=observed):
            why = Reason.OBSERVE_ONLY if observed else Reason.BLOCKED_TEMPORARILY
            return Hold(reason=why, until=until, proposed_plan=plan)
        case NotifyOwner(cause=cause, remedy=remedy, plan=plan, until=until):
            why = Reason.LOW_FREE_SPACE
            told = escalate_once(decision_input, effective, why, cause, remedy, plan)
            if isinstance(told, Escalate):
                return told
            # Told already: what the load wants is seen to, as far as it does not keep space out.
            idle = calm and isinstance(by_load, Hold)
            return Hold(reason=why, until=until, proposed_plan=plan) if idle else by_load
        case _:
            assert_never(asked)


def _growing(seen: Analysis, plan: Plan, by_load: Action) -> Action:
    """Grow; or hold while a person is asked or has lately said no to any growth.

    A no to growth is none to what the load wants. Within a day of being full they hear of it once.
    """
    decision_input, effective = seen.decision_input, seen.effective
    at, resource_state = decision_input.observation.at, decision_input.resource_state
    no_until = growth_refused_until(resource_state.declined, plan.origin.size_gib, at)
    answer: Action = (
        act_or_hold(decision_input, effective, Reason.LOW_FREE_SPACE, plan)
        if no_until is None
        else Hold(reason=Reason.DECLINED, until=no_until, proposed_plan=plan)
    )
    if isinstance(answer, Act):
        return answer
    if full_within_a_day(seen.space, at):
        told = escalate_once(
            decision_input, effective, Reason.LOW_FREE_SPACE, NOBODY_AGREED,
            f"growing it to {plan.target.size_gib} GiB waits for a person, or was declined: approve "
            "it, grow it yourself, or make room", plan,
        )  # fmt: skip
        return told if isinstance(told, Escalate) else answer
    # Another change would take the place of the request that waits.
    return (
        by_load if resource_state.approval_request is None and isinstance(by_load, Act) else answer
    )


def conclude_for_load(
    decision_input: DecisionInput,
    effective: EffectiveLimits,
    demand: Demand,
    diagnosis: Diagnosis,
    judgements: tuple[PlanJudgement, ...],
) -> Action:
    """The first allowed plan, else the plan nearest to being allowed and why it is not."""
    if isinstance(decision_input.policy, PolicyUnreadable):
        return Hold(reason=Reason.POLICY_UNREADABLE, until=None, proposed_plan=None)
    if demand.shape is LoadShape.UNKNOWN or diagnosis.binding is Binding.UNKNOWN:
        return Hold(reason=Reason.NOT_ENOUGH_DATA, until=None, proposed_plan=None)
    at, limits = decision_input.observation.at, effective.limits
    best = next((j for j in judgements if j.allowed or requested_in_advance(limits, j, at)), None)
    if diagnosis.binding is Binding.NOTHING:
        return _in_calm(decision_input, effective, judgements, best)
    if diagnosis.binding in (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT):
        database = decision_input.observation.volume.configuration.database
        return escalate_once(
            decision_input, effective, Reason.INSTANCE_LIMITED, diagnosis.binding.value,
            LARGER_INSTANCE if database is None else LARGER_CLASS, None,
        )  # fmt: skip
    if current_price(decision_input) is None:
        return escalate_once(
            decision_input, effective, Reason.PRICE_UNKNOWN, "price_unknown",
            "no price is known for this volume type in this Region, and nothing is bought without",
            None,
        )  # fmt: skip
    if not judgements:
        return escalate_once(
            decision_input, effective, Reason.NO_PLAN, "no_plan",
            "no type and size that AWS offers relieves this volume without growing or losing speed",
            None,
        )  # fmt: skip
    if best is not None:
        return act_or_hold(decision_input, effective, _why(demand, diagnosis, best.plan), best.plan)
    return _blocked(decision_input, effective, demand, min(judgements, key=distance))


def reason_of(seen: Analysis, plan: Plan) -> Reason:
    """Why a plan is taken for the volume that was seen."""
    if seen.diagnosis.binding is Binding.NOTHING:
        return _reason_in_calm(plan)
    return _why(seen.demand, seen.diagnosis, plan)


def _why(demand: Demand, diagnosis: Diagnosis, plan: Plan) -> Reason:
    lowers = plan.gives_back(draining=diagnosis.binding is Binding.BURST_CREDITS)
    if lowers and not gives_up_only_unused(plan, demand, spare=1.0):
        return Reason.SCALING_DOWN
    if demand.pressed_minutes > 0:
        return Reason.STARVED
    if diagnosis.binding is Binding.BURST_CREDITS:
        return Reason.DEPLETION_FORESEEN
    return Reason.RECURRENCE_EXPECTED


def _reason_in_calm(plan: Plan) -> Reason:
    if plan.lowers:
        return Reason.SCALING_DOWN
    return Reason.CHEAPER_EQUIVALENT if plan.price_change_usd <= 0 else Reason.RECURRENCE_EXPECTED


def act_or_hold(
    decision_input: DecisionInput, effective: EffectiveLimits, reason: Reason, plan: Plan
) -> Action:
    """Act, or hold while a person is asked or has lately said no (or nothing)."""
    at, resource_state = decision_input.observation.at, decision_input.resource_state
    approval = why_approval(effective.limits, plan)
    if approval is None:
        no_until = refused_until(resource_state.declined, plan, at)
        if no_until is not None:
            return Hold(reason=Reason.DECLINED, until=no_until, proposed_plan=plan)
        return Act(reason=reason, plan=plan)
    if resource_state.approval_request is not None:
        until = max(at, resource_state.approval_request.expires)
        return Hold(reason=Reason.AWAITING_APPROVAL, until=until, proposed_plan=plan)
    quiet = quiet_until(resource_state.declined, plan, at)
    if quiet is not None:
        return Hold(reason=Reason.DECLINED, until=quiet, proposed_plan=plan)
    expires = at + timedelta(minutes=effective.limits.approval_expires_minutes)
    return Act(reason=reason, plan=plan, approval=approval, expires=expires)


def _in_calm(
    decision_input: DecisionInput, effective: EffectiveLimits, judgements: tuple[PlanJudgement, ...],
    best: PlanJudgement | None,
) -> Action:  # fmt: skip
    """Nothing binds: what is worth it and allowed is done, and nobody is told of what is not."""
    if best is not None:
        return act_or_hold(decision_input, effective, _reason_in_calm(best.plan), best.plan)
    cost_benefit = [j for j in judgements if not _worthless(j)]
    if not cost_benefit:
        return Hold(reason=Reason.NO_PRESSURE, until=None, proposed_plan=None)
    nearest = min(cost_benefit, key=distance)
    if any(v.guardrail is Guardrail.MODE for v in nearest.blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=nearest.plan)
    for_now = all(v.temporary for v in nearest.blocking)
    return Hold(
        reason=Reason.BLOCKED_TEMPORARILY if for_now else Reason.NO_PRESSURE,
        until=all_clear_at(nearest.blocking) if for_now else None,
        proposed_plan=nearest.plan if for_now else None,
    )


def _worthless(judgement: PlanJudgement) -> bool:
    return any(v.guardrail is Guardrail.COST_BENEFIT for v in judgement.blocking)


def _blocked(
    decision_input: DecisionInput,
    effective: EffectiveLimits,
    demand: Demand,
    nearest: PlanJudgement,
) -> Action:
    plan, blocking = nearest.plan, nearest.blocking
    others = [v for v in blocking if v.guardrail is not Guardrail.MODE]
    if len(others) < len(blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=plan)
    lasting = [v for v in others if not v.temporary]
    if lasting:
        names = "+".join(map(_cause, lasting))
        changeable = [v.guardrail.value for v in lasting if v.guardrail is not Guardrail.GROUP]
        said = [f"the owner could change: {', '.join(changeable)}"] if changeable else []
        if any(v.guardrail is Guardrail.FULL_COPY for v in lasting):
            said = [
                f"a person may make it {plan.target} for ${plan.price_change_usd:.2f} a month more, "
                "for which RDS copies all data for hours and never back"
            ]
            if effective.limits.full_copy:
                said += [v.detail for v in lasting if v.guardrail is Guardrail.FULL_COPY]
        said += [v.detail for v in lasting if v.guardrail in EXPLAINED]
        if demand.shape is LoadShape.CLOSED_LOOP:
            said.append("a closed loop like this has no natural demand and would use up any limit")
        remedy = "; ".join(said)
        return escalate_once(
            decision_input, effective, Reason.BLOCKED_PERMANENTLY, names, remedy, plan
        )
    if {v.guardrail for v in others} - QUEUEABLE_GUARDRAILS == {Guardrail.COST_BENEFIT}:
        if demand.shape is LoadShape.CLOSED_LOOP:
            return escalate_once(
                decision_input, effective, Reason.NOT_COST_EFFECTIVE, "closed_loop",
                "a fixed number of workers waits for this volume and would use up any limit; "
                "if more of their work is wanted, raise the volume yourself",
                plan,
            )  # fmt: skip
        return Hold(reason=Reason.NOT_COST_EFFECTIVE, until=None, proposed_plan=plan)
    thin = {v.guardrail for v in others} - QUEUEABLE_GUARDRAILS == {Guardrail.DATA}
    if thin or demand.known_minutes < MIN_KNOWN_MINUTES:
        return Hold(reason=Reason.NOT_ENOUGH_DATA, until=None, proposed_plan=plan)
    return Hold(reason=Reason.BLOCKED_TEMPORARILY, until=all_clear_at(others), proposed_plan=plan)


def _cause(verdict: Verdict) -> str:
    """What an owner is told of once; what somebody undid, once for each time it is undone."""
    if verdict.guardrail is Guardrail.REVERTED:
        return f"{verdict.guardrail.value} ({verdict.value})"
    return verdict.guardrail.value


def escalate_once(
    decision_input: DecisionInput, effective: EffectiveLimits, reason: Reason, cause: str, remedy: str,
    plan: Plan | None,
) -> Action:  # fmt: skip
    """Escalate for enrolled resources, once per episode and cause; else hold."""
    policy, _ = policy_of(decision_input)
    owner = code_owner(decision_input.observation.volume.tags, policy.code_tags)
    told = cause in decision_input.resource_state.escalated_causes
    if not effective.enrolled or told or unmanaged(effective, owner):
        return Hold(reason=reason, until=None, proposed_plan=plan)
    said = spoken(decision_input.observation.volume.ref.kind, remedy)
    return Escalate(reason=reason, cause=cause, remedy=said, proposed_plan=plan)


def unmanaged(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nothing is even said of the volume: its owner is code, and the policy says leave."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE
