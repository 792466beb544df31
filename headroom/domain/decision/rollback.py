"""Rollback of a change: who may request it, what is restored, which guardrails apply. Pure.

IOPS, throughput and type go back to what they were before the change; size never does.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import InvalidAnswer, why_approval
from headroom.domain.decision.decide import Decision, decide
from headroom.domain.decision.decision_input import DENY_ALL_POLICY, DecisionInput
from headroom.domain.guardrails import (
    Case,
    Guardrail,
    PlanJudgement,
    Relation,
    all_known_clear_at,
    judge,
    verdict_of,
)
from headroom.domain.planning import TIME_TO_EFFECT, Plan
from headroom.domain.policy import EffectiveLimits, Policy
from headroom.domain.resources import Configuration, Observation, PriceUnknown, digest
from headroom.domain.state import ROLLBACK_TTL, RollbackRequest, Step, StoredState
from headroom.domain.workload import recent_minutes

NOT_ON_RECORD = "its decision is no longer on record"
EXEMPT_GUARDRAILS = frozenset(
    {
        # Cost and data about the load: a person, or the failed verification, has decided that.
        Guardrail.COST_BENEFIT, Guardrail.DATA, Guardrail.INSTANCE_LIMIT,
        Guardrail.GIVE_BACK, Guardrail.GIVE_BACK_DATA, Guardrail.GIVE_BACK_STABILIZATION,
        Guardrail.GIVE_BACK_SLOT, Guardrail.GIVE_BACK_REVERSIBLE,
        # The target is what the volume had, no estimate.
        Guardrail.TYPES, Guardrail.LARGEST_STEP,
        # Cooldowns limit Headroom, not people.
        Guardrail.COOLDOWN, Guardrail.ROLLED_BACK, Guardrail.REVERTED,
    }
)  # fmt: skip
"""Guardrails that do not apply to a rollback; all others do."""
CEILINGS = frozenset({Guardrail.MAX_IOPS, Guardrail.MAX_THROUGHPUT})
"""Neither do these to what the owner had set: a ceiling is for what Headroom adds."""
IN_USE_WITHIN = timedelta(hours=1)
IN_USE_MINUTES = 2
IN_USE = 1.05
"""Share of the earlier limit above which a minute uses what the raise added."""
ASK_AGAIN = "change the policy and ask again, or do it yourself"
IN_A_SET = "it belongs to a striped set, and Headroom does not roll a set back"
BACK_BY_HAND = "change all volumes of the set back yourself, together"
NOTHING_TO_UNDO = frozenset({Step.FAILED, Step.GONE, Step.NOT_APPLIED})


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedRollback:
    """An accepted rollback request, and the state after it is recorded."""

    wish: RollbackRequest
    state: StoredState


def request_rollback(
    state: StoredState, decision_id: str, steps: Sequence[Step], *, at: datetime, who: str,
    reason: str,
) -> AcceptedRollback | InvalidAnswer:  # fmt: skip
    """The state after a rollback of a chain's change was requested, or why it is refused."""
    if not steps or steps[0] is not Step.DECIDED:
        return InvalidAnswer(why="unknown", detail="there is no such decision")
    if Step.APPLIED not in steps or steps[-1] in NOTHING_TO_UNDO:
        detail = f"it changed nothing: its last step is {steps[-1].value}"
        return InvalidAnswer(why="not_applied", detail=detail)
    if state.rollback is not None:
        asked = state.rollback
        detail = f"{asked.who} asked for a rollback of {asked.decision_id} already; it waits"
        return InvalidAnswer(
            why="asked", detail=f"{detail} until {asked.expires:%Y-%m-%d %H:%M} UTC"
        )
    if state.rolled_back is not None and state.rolled_back.decision_id == decision_id:
        detail = f"it was undone at {state.rolled_back.at:%Y-%m-%d %H:%M} UTC"
        return InvalidAnswer(why="undone", detail=detail)
    mine = RollbackRequest(
        decision_id=decision_id, requested_at=at, expires=at + ROLLBACK_TTL, who=who, reason=reason
    )
    # While a change is open, the end of its chain starts the rollback.
    last_request_at = at if state.chain is None else state.last_request_at
    moved = replace(
        state, rollback=mine, last_request_at=last_request_at, due_at=min(at, state.due_at or at)
    )
    return AcceptedRollback(wish=mine, state=moved)


def reversal(change: Plan, current: Configuration, noun: str = "volume") -> Configuration | str:
    """The configuration that undoes `change`, or why there is none."""
    if _performance(current) != _performance(change.target):
        return f"the {noun} was changed since: it is {current}, the change made it {change.target}"
    back = replace(change.origin, size_gib=current.size_gib, database=current.database)
    if back == current:
        return "the change raised only the size, which is never lowered"
    return back


def performance_still_used(observation: Observation, back: Configuration) -> str | None:
    """What the load of the last hour, or since the change began, uses that `back` could not sustain; None if nothing.

    Only a person may take away performance that is in use.
    """
    can, since, change = capability(back), observation.at - IN_USE_WITHIN, observation.modification
    if change is not None:
        since = min(since, change.started_at)
    seen = [m for m in recent_minutes(observation) if m.at >= since]
    for unit, most, served in (
        ("IOPS", can.sustained_iops, [m.iops for m in seen]),
        ("MiB/s", can.sustained_mibps, [m.mibps for m in seen]),
    ):
        if sum(each > IN_USE * most for each in served) >= IN_USE_MINUTES:
            return f"the load takes up to {max(served):,.0f} {unit}, {back} sustains {most:,.0f}"
    return None


def _performance(configuration: Configuration) -> Configuration:
    return replace(configuration.storage, size_gib=1)


def decide_rollback(
    decision_input: DecisionInput, asked: RollbackRequest, change: Plan | None
) -> Decision:
    """Act, Hold or Escalate on the request to undo `change`, None for one that is not on record; pure."""
    base = decide(decision_input)
    at, limits = decision_input.observation.at, base.effective.limits
    noun = decision_input.observation.volume.ref.noun
    now = decision_input.observation.volume.configuration
    back = NOT_ON_RECORD if change is None else reversal(change, now, noun)
    if change is None or isinstance(back, str):
        return _with_action(base, asked, (), give_up(str(back), "rollback_has_no_way", None))
    plan = _plan(decision_input, asked, change, back)
    if plan is None:
        why = f"no price is known for what the {noun} had before"
        return _with_action(base, asked, (), give_up(why, "price_unknown", None))
    judgement = judge_rollback(base, decision_input, plan, by_person=asked.by_person)
    answer: Action
    in_use = None if asked.by_person else performance_still_used(decision_input.observation, back)
    if judgement.allowed and at >= asked.expires:
        answer = give_up("it expired before it could be done", "rollback_expired", plan)
    elif in_use is not None:
        answer = give_up(in_use, "rollback_in_use", plan)
    elif judgement.allowed:
        approval = None if asked.by_person else why_approval(limits, plan)
        expires = at + timedelta(minutes=limits.approval_expires_minutes)
        answer = Act(
            reason=Reason.ROLLED_BACK, plan=plan, approval=approval,
            expires=None if approval is None else expires,
        )  # fmt: skip
    else:
        answer = hold_while_blocked(judgement, asked, at)
    return _with_action(base, asked, (judgement,), answer)


def judge_rollback(
    base: Decision, decision_input: DecisionInput, plan: Plan, *, by_person: bool,
    approved_usd: Decimal | None = None,
) -> PlanJudgement:  # fmt: skip
    """The verdict of every guardrail on a rollback; exempt guardrails say so.

    A rollback requested by a person may use the slots that are reserved for people.
    """
    effective = base.effective
    if by_person:
        effective = replace(effective, limits=replace(effective.limits, slots_reserve=0))
    case = case_of(base, decision_input, plan, effective, approved_usd)
    exempt, caps = EXEMPT_GUARDRAILS, case.policy.caps
    if _owners_own(plan, decision_input.resource_state.owner_configuration):
        exempt |= CEILINGS
    names = {name for name, _ in caps.settings}
    exempt -= {each for each in CEILINGS if _setting_of(each) in names}
    if caps.caps_type(plan.target.volume_type):
        exempt -= {Guardrail.TYPES}
    return with_exemptions(judge(case), exempt)


def _owners_own(plan: Plan, owners: Configuration | None) -> bool:
    """Whether the owner set as much as the plan restores."""
    if owners is None:
        return False
    can, had = plan.capability, capability(owners)
    return can.sustained_iops <= had.sustained_iops and can.sustained_mibps <= had.sustained_mibps


def _setting_of(ceiling: Guardrail) -> str:
    return "max_iops" if ceiling is Guardrail.MAX_IOPS else "max_throughput_mibps"


def with_exemptions(judged: PlanJudgement, exempt: Set[Guardrail]) -> PlanJudgement:
    """The judgement of a rollback in which the guardrails of `exempt` always allow."""
    verdicts = tuple(
        verdict_of(
            v.guardrail, Relation.IS, "a rollback", "a rollback", "", "has no say in a rollback"
        )
        if v.guardrail in exempt
        else v
        for v in judged.verdicts
    )
    return replace(judged, verdicts=verdicts)


def case_of(
    base: Decision, decision_input: DecisionInput, plan: Plan, effective: EffectiveLimits,
    approved_usd: Decimal | None,
) -> Case:  # fmt: skip
    """The guardrails' input for one plan, from the analysis of `base`."""
    policy = decision_input.policy
    return Case(
        plan=plan, observation=base.observation, demand=base.demand, diagnosis=base.diagnosis,
        resource_state=base.resource_state, effective=effective, approved_usd=approved_usd,
        policy=policy if isinstance(policy, Policy) else DENY_ALL_POLICY, space=base.space,
    )  # fmt: skip


def _plan(
    decision_input: DecisionInput, asked: RollbackRequest, change: Plan, back: Configuration
) -> Plan | None:
    current = decision_input.observation.volume.configuration
    if decision_input.prices is None:
        return None
    try:
        then, now = decision_input.prices.monthly(back), decision_input.prices.monthly(current)
    except PriceUnknown:
        return None
    can = capability(back)
    return Plan(
        origin=current, target=back, why=f"undoes {asked.decision_id} ({change.why})",
        demand_iops=can.sustained_iops, demand_mibps=can.sustained_mibps, meets_need=True,
        capability=can, monthly_usd=then, price_change_usd=then - now,
        time_to_effect=TIME_TO_EFFECT, reversible=True, relieved_minutes_per_day=0.0,
        value_usd_per_day=0.0, capped_from=None,
    )  # fmt: skip


def hold_while_blocked(judgement: PlanJudgement, asked: RollbackRequest, at: datetime) -> Action:
    """Hold if the block clears in time, else give up and notify the owner."""
    names = ", ".join(v.guardrail.value for v in judgement.blocking)
    lasting = [v for v in judgement.blocking if not v.temporary]
    if any(v.guardrail is Guardrail.GROUP for v in lasting):
        return give_up(IN_A_SET, "rollback_blocked", judgement.plan, instead=BACK_BY_HAND)
    if lasting:
        return give_up(f"not allowed by {names}", "rollback_blocked", judgement.plan)
    if at >= asked.expires:
        return give_up(
            f"still blocked by {names} when it expired", "rollback_expired", judgement.plan
        )
    until = all_known_clear_at(judgement.blocking)
    if until is not None and until >= asked.expires:
        until = asked.expires
    return Hold(reason=Reason.BLOCKED_TEMPORARILY, until=until, proposed_plan=judgement.plan)


def give_up(why: str, cause: str, plan: Plan | None, *, instead: str = ASK_AGAIN) -> Escalate:
    """The owner is notified that nothing is rolled back, and what to do `instead`."""
    remedy = f"nothing was rolled back: {why}; {instead}"
    return Escalate(
        reason=Reason.BLOCKED_PERMANENTLY, cause=cause, remedy=remedy, proposed_plan=plan
    )


def _with_action(
    base: Decision, asked: RollbackRequest, judgements: tuple[PlanJudgement, ...], answer: Action
) -> Decision:
    """`base` with the action on the rollback in place of the action for the load."""
    return replace(
        base,
        decision_id=digest(base.decision_id, "rollback", asked.decision_id)[:20],
        judgements=judgements, answer=answer, summary=_summary(base, asked, answer),
        next_change_at=None, rollback_of=asked.decision_id,
    )  # fmt: skip


def _summary(base: Decision, asked: RollbackRequest, answer: Action) -> str:
    name, who = base.observation.volume.ref.resource_id, f"asked for by {asked.who}"
    head = f"{name}: rollback of {asked.decision_id}, {who}"
    if asked.reason:
        head += f" ({asked.reason})"
    match answer:
        case Act(plan=plan, approval=approval):
            agree = "" if approval is None else f"needs approval ({approval}): "
            change = plan.price_change_usd
            sign = "+" if change >= 0 else "-"
            return (
                f"{head}: {agree}{plan.origin} -> {plan.target}, {sign}${abs(change):.2f} a month, "
                "one of AWS's four changes in 24 h"
            )
        case Hold(until=until):
            return head + (
                "; waits" if until is None else f"; waits until {until:%Y-%m-%d %H:%M} UTC"
            )
        case Escalate(remedy=remedy):
            return f"{head}; {remedy}"
