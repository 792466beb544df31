"""How the answer follows from what every guardrail said: the first allowed plan, or why there is none.

Space comes before load: a database that is full stops. Whoever owns the storage is told once in an
episode and cause of what only they can change.
"""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from headroom.domain.answers import Act, Answer, Escalate, Hold, Reason
from headroom.domain.approval import (
    asked_early,
    growth_refused_until,
    quiet_until,
    refused_until,
    why_approval,
)
from headroom.domain.blocking import WAITED_FOR, clear_at, distance
from headroom.domain.demand import Binding, Demand, Diagnosis, Shape
from headroom.domain.evidence import Assessed, Evidence, policy_of, price_now
from headroom.domain.guardrails.sense import MIN_KNOWN_MINUTES
from headroom.domain.limits import CodeOwned
from headroom.domain.owners import CodeOwner, code_owner
from headroom.domain.plans import Plan
from headroom.domain.policy import EffectiveLimits, PolicyUnreadable
from headroom.domain.resources import spoken
from headroom.domain.space_answer import (
    NOBODY_AGREED,
    Grow,
    OnSpace,
    Tell,
    Wait,
    full_today,
    on_space,
)
from headroom.domain.trades import only_unused
from headroom.domain.verdicts import Guardrail, PlanJudgement, Verdict

LARGER_INSTANCE = "use a larger instance, or spread the load; a faster volume would change nothing"


LARGER_CLASS = (
    "use a larger DB instance class, or spread the load; faster storage would change nothing"
)


EXPLAINED = frozenset(
    {
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.REVERTED, Guardrail.GROUP,
        Guardrail.DATABASE_STATE, Guardrail.PENDING_CHANGES, Guardrail.SIZE_OWNER,
    }
)  # fmt: skip
"""Guardrails whose own words tell the owner what to do."""


def answered(seen: Assessed, judgements: tuple[PlanJudgement, ...]) -> Answer:
    """What free space asks for, and else what the load does: a database that is full stops."""
    evidence, effective = seen.evidence, seen.effective
    for_load = tuple(j for j in judgements if j.plan.growth is None)
    by_load = load_answer(evidence, effective, seen.demand, seen.diagnosis, for_load)
    if isinstance(evidence.policy, PolicyUnreadable):
        return by_load
    asked = on_space(
        seen.space, evidence.observation.volume.facts, effective.limits, judgements,
        evidence.observation.at, priced=price_now(evidence) is not None,
        busy=(change := evidence.observation.modification) is not None and change.in_flight,
    )  # fmt: skip
    return by_load if asked is None else _for_space(seen, asked, by_load)


def _for_space(seen: Assessed, asked: OnSpace, by_load: Answer) -> Answer:
    evidence, effective = seen.evidence, seen.effective
    calm = seen.diagnosis.binding is Binding.NOTHING
    match asked:
        case Grow(plan=plan):
            return _growing(seen, plan, by_load)
        case Wait(unclear=True):
            hold = Hold(reason=Reason.SPACE_UNCLEAR, until=None, would_take=None)
            return hold if calm else by_load
        case Wait(plan=plan, until=until, observed=observed):
            why = Reason.OBSERVE_ONLY if observed else Reason.BLOCKED_FOR_NOW
            return Hold(reason=why, until=until, would_take=plan)
        case Tell(cause=cause, remedy=remedy, plan=plan, until=until):
            why = Reason.SPACE_RUNS_OUT
            told = told_once(evidence, effective, why, cause, remedy, plan)
            if isinstance(told, Escalate):
                return told
            # Told already: what the load wants is seen to, as far as it does not keep space out.
            idle = calm and isinstance(by_load, Hold)
            return Hold(reason=why, until=until, would_take=plan) if idle else by_load
        case _:
            assert_never(asked)


def _growing(seen: Assessed, plan: Plan, by_load: Answer) -> Answer:
    """Grow; or hold while a person is asked or has lately said no to any growth.

    A no to growth is none to what the load wants. Within a day of being full they hear of it once.
    """
    evidence, effective = seen.evidence, seen.effective
    at, standing = evidence.observation.at, evidence.standing
    no_until = growth_refused_until(standing.declined, plan.origin.size_gib, at)
    answer: Answer = (
        acting(evidence, effective, Reason.SPACE_RUNS_OUT, plan)
        if no_until is None
        else Hold(reason=Reason.DECLINED, until=no_until, would_take=plan)
    )
    if isinstance(answer, Act):
        return answer
    if full_today(seen.space, at):
        told = told_once(
            evidence, effective, Reason.SPACE_RUNS_OUT, NOBODY_AGREED,
            f"growing it to {plan.target.size_gib} GiB waits for a person, or was declined: approve "
            "it, grow it yourself, or make room", plan,
        )  # fmt: skip
        return told if isinstance(told, Escalate) else answer
    # Another change would take the place of the request that waits.
    return by_load if standing.asking is None and isinstance(by_load, Act) else answer


def load_answer(
    evidence: Evidence,
    effective: EffectiveLimits,
    demand: Demand,
    diagnosis: Diagnosis,
    judgements: tuple[PlanJudgement, ...],
) -> Answer:
    """The first allowed plan, else the plan nearest to being allowed and why it is not."""
    if isinstance(evidence.policy, PolicyUnreadable):
        return Hold(reason=Reason.POLICY_UNREADABLE, until=None, would_take=None)
    if demand.shape is Shape.UNKNOWN or diagnosis.binding is Binding.UNKNOWN:
        return Hold(reason=Reason.DATA_TOO_THIN, until=None, would_take=None)
    at, limits = evidence.observation.at, effective.limits
    best = next((j for j in judgements if j.allowed or asked_early(limits, j, at)), None)
    if diagnosis.binding is Binding.NOTHING:
        return _in_calm(evidence, effective, judgements, best)
    if diagnosis.binding in (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT):
        database = evidence.observation.volume.configuration.database
        return told_once(
            evidence, effective, Reason.INSTANCE_IS_THE_LIMIT, diagnosis.binding.value,
            LARGER_INSTANCE if database is None else LARGER_CLASS, None,
        )  # fmt: skip
    if price_now(evidence) is None:
        return told_once(
            evidence, effective, Reason.PRICE_UNKNOWN, "price_unknown",
            "no price is known for this volume type in this Region, and nothing is bought without",
            None,
        )  # fmt: skip
    if not judgements:
        return told_once(
            evidence, effective, Reason.NO_PLAN, "no_plan",
            "no type and size that AWS offers relieves this volume without growing or losing speed",
            None,
        )  # fmt: skip
    if best is not None:
        return acting(evidence, effective, _why(demand, diagnosis, best.plan), best.plan)
    return _blocked(evidence, effective, demand, min(judgements, key=distance))


def reason_of(seen: Assessed, plan: Plan) -> Reason:
    """Why a plan is taken for the volume that was seen."""
    if seen.diagnosis.binding is Binding.NOTHING:
        return _reason_in_calm(plan)
    return _why(seen.demand, seen.diagnosis, plan)


def _why(demand: Demand, diagnosis: Diagnosis, plan: Plan) -> Reason:
    lowers = plan.gives_back(draining=diagnosis.binding is Binding.BURST_CREDITS)
    if lowers and not only_unused(plan, demand, spare=1.0):
        return Reason.GIVING_BACK
    if demand.pressed_minutes > 0:
        return Reason.STARVED
    if diagnosis.binding is Binding.BURST_CREDITS:
        return Reason.DEPLETION_FORESEEN
    return Reason.EXPECTED_AGAIN


def _reason_in_calm(plan: Plan) -> Reason:
    if plan.lowers:
        return Reason.GIVING_BACK
    return Reason.SAME_FOR_LESS if plan.price_change_usd <= 0 else Reason.EXPECTED_AGAIN


def acting(evidence: Evidence, effective: EffectiveLimits, reason: Reason, plan: Plan) -> Answer:
    """Act, or hold while a person is asked or has lately said no (or nothing)."""
    at, standing = evidence.observation.at, evidence.standing
    approval = why_approval(effective.limits, plan)
    if approval is None:
        no_until = refused_until(standing.declined, plan, at)
        if no_until is not None:
            return Hold(reason=Reason.DECLINED, until=no_until, would_take=plan)
        return Act(reason=reason, plan=plan)
    if standing.asking is not None:
        until = max(at, standing.asking.expires)
        return Hold(reason=Reason.AWAITING_APPROVAL, until=until, would_take=plan)
    quiet = quiet_until(standing.declined, plan, at)
    if quiet is not None:
        return Hold(reason=Reason.DECLINED, until=quiet, would_take=plan)
    expires = at + timedelta(minutes=effective.limits.approval_expires_minutes)
    return Act(reason=reason, plan=plan, approval=approval, expires=expires)


def _in_calm(
    evidence: Evidence, effective: EffectiveLimits, judgements: tuple[PlanJudgement, ...],
    best: PlanJudgement | None,
) -> Answer:  # fmt: skip
    """Nothing binds: what is worth it and allowed is done, and nobody is told of what is not."""
    if best is not None:
        return acting(evidence, effective, _reason_in_calm(best.plan), best.plan)
    worth_it = [j for j in judgements if not _worthless(j)]
    if not worth_it:
        return Hold(reason=Reason.NO_PRESSURE, until=None, would_take=None)
    nearest = min(worth_it, key=distance)
    if any(v.guardrail is Guardrail.MODE for v in nearest.blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, would_take=nearest.plan)
    for_now = all(v.temporary for v in nearest.blocking)
    return Hold(
        reason=Reason.BLOCKED_FOR_NOW if for_now else Reason.NO_PRESSURE,
        until=clear_at(nearest.blocking) if for_now else None,
        would_take=nearest.plan if for_now else None,
    )


def _worthless(judgement: PlanJudgement) -> bool:
    return any(v.guardrail is Guardrail.WORTH_IT for v in judgement.blocking)


def _blocked(
    evidence: Evidence, effective: EffectiveLimits, demand: Demand, nearest: PlanJudgement
) -> Answer:
    plan, blocking = nearest.plan, nearest.blocking
    others = [v for v in blocking if v.guardrail is not Guardrail.MODE]
    if len(others) < len(blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, would_take=plan)
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
        if demand.shape is Shape.CLOSED_LOOP:
            said.append("a closed loop like this has no natural demand and would use up any limit")
        remedy = "; ".join(said)
        return told_once(evidence, effective, Reason.BLOCKED_FOR_GOOD, names, remedy, plan)
    if {v.guardrail for v in others} - WAITED_FOR == {Guardrail.WORTH_IT}:
        if demand.shape is Shape.CLOSED_LOOP:
            return told_once(
                evidence, effective, Reason.NOT_WORTH_IT, "closed_loop",
                "a fixed number of workers waits for this volume and would use up any limit; "
                "if more of their work is wanted, raise the volume yourself",
                plan,
            )  # fmt: skip
        return Hold(reason=Reason.NOT_WORTH_IT, until=None, would_take=plan)
    thin = {v.guardrail for v in others} - WAITED_FOR == {Guardrail.DATA}
    if thin or demand.known_minutes < MIN_KNOWN_MINUTES:
        return Hold(reason=Reason.DATA_TOO_THIN, until=None, would_take=plan)
    return Hold(reason=Reason.BLOCKED_FOR_NOW, until=clear_at(others), would_take=plan)


def _cause(verdict: Verdict) -> str:
    """What an owner is told of once; what somebody undid, once for each time it is undone."""
    if verdict.guardrail is Guardrail.REVERTED:
        return f"{verdict.guardrail.value} ({verdict.value})"
    return verdict.guardrail.value


def told_once(
    evidence: Evidence, effective: EffectiveLimits, reason: Reason, cause: str, remedy: str,
    plan: Plan | None,
) -> Answer:  # fmt: skip
    """Escalate for enrolled resources, once per episode and cause; else hold."""
    policy, _ = policy_of(evidence)
    owner = code_owner(evidence.observation.volume.tags, policy.code_tags)
    told = cause in evidence.standing.escalated_causes
    if not effective.enrolled or told or left_alone(effective, owner):
        return Hold(reason=reason, until=None, would_take=plan)
    said = spoken(evidence.observation.volume.ref.kind, remedy)
    return Escalate(reason=reason, cause=cause, remedy=said, would_take=plan)


def left_alone(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nothing is even said of the volume: its owner is code, and the policy says leave."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE
