"""Asking people: for approval, ahead of load that Headroom cannot serve without them, and for help where AWS refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import (
    only_saves,
    quiet_until,
    refused_until,
    unanswered,
    why_approval_after,
)
from headroom.domain.decision.decision_input import (
    ANSWERED_WITHIN,
    Analysis,
    DecisionInput,
    chosen_by_owner,
    current_price,
    policy_of,
)
from headroom.domain.decision.escalation import LONG_PRESSED_MINUTES, escalate_once, unmanaged
from headroom.domain.guardrails import Guardrail, PlanJudgement, all_clear_by
from headroom.domain.planning import (
    FORESEEN_USD,
    Plan,
    Situation,
    a_month,
    value_plans,
)
from headroom.domain.policy import EffectiveLimits, Limits, Mode, PolicyUnreadable
from headroom.domain.resources import Configuration, PriceUnknown, code_owner, spoken
from headroom.domain.state import BY_HEADROOM, ApprovalRequest, Refusal, changes_of_settings
from headroom.domain.workload import Demand

PRESSING = frozenset({Reason.STARVED, Reason.DEPLETION_FORESEEN})
MUCH_MORE, MORE = 1.5, 1.1
URGENT = frozenset(
    {
        Reason.STARVED, Reason.DEPLETION_FORESEEN, Reason.RECURRENCE_EXPECTED, Reason.LOW_FREE_SPACE,
        Reason.HIGH_LATENCY,
    }
)  # fmt: skip
"""Reasons for a change that do not wait for an answer about money."""
REFUSED_CAUSE = "still_refused"
STILL_REFUSED = (
    "AWS has refused every change since {:%Y-%m-%d %H:%M} UTC, each time for a reason that mostly clears within "
    "minutes: {}; Headroom goes on trying, unless you change it before"
)
REFUSALS = {
    Refusal.IN_FLIGHT: "it does not take one in the volume's present state (look at that state, and ask AWS Support "
    "if nothing of yours is under way)",
    Refusal.THROTTLED: "it throttles the calls (look at what else calls AWS's API in this account and Region)",
}
"""What AWS says, and what to look at, in words."""
LEFT_AS_CHANGED = "left_as_changed"
"""The cause of the word that Headroom may no longer change what it changed."""
LEFT = (
    "Headroom may no longer change this volume, and leaves it as it last changed it: {}, where you had {}, which is "
    "{}; set yourself what its load needs"
)
KEPT_FROM = "kept_from"
"""How causes begin that nobody suffers from yet: they last as long as what is pending."""
KEPT_FROM_RAISING = "load of earlier days is expected to come again, for which Headroom would change it to {}, but {}"
KEPT_FROM_GIVING_BACK = "Headroom would now give back what costs ${:.2f} a month, but {}"
NO_CHANGE_AT_ALL = frozenset(
    {
        Guardrail.GROUP, Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.MANAGED_ELSEWHERE,
        Guardrail.MULTI_ATTACH,
    }
)  # fmt: skip
"""What forbids giving back, too, until a person changes it."""
FOR_GOOD = "forbidden"
LONG_KEPT = timedelta(days=1)
"""How long after Headroom's last change its owner hears that it may not be given back."""
HOUR_MOVES = timedelta(hours=1)
"""By how much the hour for which a raise was asked may move until it comes."""


def act_or_hold(
    decision_input: DecisionInput, effective: EffectiveLimits, reason: Reason, plan: Plan, *,
    until: datetime | None = None,
) -> Action:  # fmt: skip
    """Act, or hold while a request is pending or a similar one was declined recently.

    A request for load of which it is known when it ends is pending `until` then, if that is later. One that
    would only save money gives way to what is urgent, one for much less to what is needed now, and any but
    one for growth to growth for free space, which only a no to growth suppresses (`growth_refused_until`).
    """
    at, resource_state = decision_input.observation.at, decision_input.resource_state
    declined = () if reason is Reason.LOW_FREE_SPACE else resource_state.declined
    approval = why_approval_after(effective.limits, plan, resource_state.resource_increase_usd)
    if approval is None:
        no_until = refused_until(declined, plan, at)
        if no_until is not None:
            return Hold(reason=Reason.DECLINED, until=no_until, proposed_plan=plan)
        return Act(reason=reason, plan=plan)
    asked = resource_state.approval_request
    if asked is not None and not _gives_way(asked, reason, plan):
        waits = max(at, asked.expires)
        return Hold(reason=Reason.AWAITING_APPROVAL, until=waits, proposed_plan=plan)
    quiet = quiet_until(declined, plan, at, urgent=reason in URGENT)
    if quiet is not None:
        return Hold(reason=Reason.DECLINED, until=quiet, proposed_plan=plan)
    expires = at + timedelta(minutes=effective.limits.approval_expires_minutes)
    expires = expires if until is None else max(expires, until)
    return Act(reason=reason, plan=plan, approval=approval, expires=expires)


def _gives_way(asked: ApprovalRequest, reason: Reason, plan: Plan) -> bool:
    """Whether a pending request is replaced by one for what is needed more."""
    if reason is Reason.LOW_FREE_SPACE and asked.target.size_gib <= asked.origin.size_gib:
        return True
    saves = only_saves(asked.origin, asked.target, asked.price_change_usd)
    return (reason in URGENT and saves) or (reason in PRESSING and _far_short(asked.target, plan))


def _far_short(asked: Configuration, plan: Plan) -> bool:
    """Whether what people were asked for serves much less than a plan."""
    would, needed = capability(asked), plan.capability
    return (
        needed.sustained_iops >= MUCH_MORE * would.sustained_iops
        or needed.sustained_mibps >= MUCH_MORE * would.sustained_mibps
    )


def act_or_ask(
    decision_input: DecisionInput, effective: EffectiveLimits, best: Plan,
    judgements: Sequence[PlanJudgement], reason_of: Callable[[Plan], Reason],
) -> Action:  # fmt: skip
    """The best plan; while nobody answers whether it may be made, the best that needs no answer.

    A raise of which people do not approve within `ANSWERED_WITHIN` is made as far as nobody has to: all
    such parts together never add more than one change may.
    """
    first = act_or_hold(decision_input, effective, reason_of(best), best)
    limits, resource_state = effective.limits, decision_input.resource_state
    asked, at = resource_state.approval_request, decision_input.observation.at
    waits = isinstance(first, Hold) or bool(unanswered(resource_state.declined, best, at))
    if not waits or limits.mode is not Mode.AUTO or limits.approve_above_usd is None:
        return first
    if asked is not None and at < asked.requested_at + ANSWERED_WITHIN:
        return first
    part = part_without_approval(limits, judgements, resource_state.resource_increase_usd)
    return first if part is None else act_or_hold(decision_input, effective, reason_of(part), part)


def part_without_approval(
    limits: Limits, judgements: Sequence[PlanJudgement], added_usd: Decimal
) -> Plan | None:
    """The best allowed raise that needs nobody's approval after what Headroom added before; None for none."""
    for judgement in judgements:
        plan = judgement.plan
        unasked = why_approval_after(limits, plan, added_usd) is None
        if judgement.allowed and unasked and _clearly_more(plan) and not plan.lowers:
            return plan
    return None


def _clearly_more(plan: Plan) -> bool:
    """Whether a plan gives a tenth more IOPS or MiB/s: less is not worth a slot."""
    now, then = capability(plan.origin), plan.capability
    return (
        then.sustained_iops >= MORE * now.sustained_iops
        or then.sustained_mibps >= MORE * now.sustained_mibps
    )


def asked_ahead(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
    """The raise that will be best before load of the coming day, asked for now: people approve by day what is for the night.

    None where nobody has to agree. It waits for an hour longer after it is due than other requests do.
    """
    decision_input, limits = analysis.decision_input, analysis.effective.limits
    situation, due = analysis.situation, analysis.valued_plans.next_change
    asks = limits.mode is Mode.APPROVE or limits.approve_above_usd is not None
    if not asks or decision_input.resource_state.approval_request is not None:
        return None
    if situation is None or due is None or due <= decision_input.observation.at:
        return None
    may_be = {j.plan.target: j.plan for j in judgements if all_clear_by(j.blocking, due)}
    plan = next((may_be[p.target] for p in raises_at(situation, due) if p.target in may_be), None)
    if plan is None:
        return None
    asked = act_or_hold(
        decision_input, analysis.effective, Reason.RECURRENCE_EXPECTED, plan,
        until=due + timedelta(minutes=limits.approval_expires_minutes) + HOUR_MOVES,
    )  # fmt: skip
    if not isinstance(asked, Act) or asked.approval is None:
        return None
    begins = f"once approved it begins about {due:%Y-%m-%d %H:%M} UTC"
    return replace(asked, approval=f"{asked.approval}; {begins}")


def raises_at(situation: Situation, due: datetime) -> Iterator[Plan]:
    """The raises that are worth their price at a later instant, best first, if all stays calm until then."""
    then = replace(situation, observation=replace(situation.observation, at=due))
    for plan in value_plans(then).plans:
        worth = plan.value_usd_per_day >= FORESEEN_USD
        if worth and plan.sustains_more and plan.price_change_usd > 0:
            yield plan


def or_a_word(analysis: Analysis, answer: Action) -> Action:
    """The answer; instead, once, what the owner has to know of what AWS refuses or Headroom may not change any more."""
    if isinstance(answer, Hold) and not isinstance(
        analysis.decision_input.policy, PolicyUnreadable
    ):
        answer = _left_as_changed(analysis.decision_input, analysis.effective) or answer
    return _still_refused(analysis.decision_input, analysis.effective, analysis.demand, answer)


def _still_refused(
    decision_input: DecisionInput, effective: EffectiveLimits, demand: Demand, answer: Action
) -> Action:
    """The answer; of what AWS refuses for hours, once a day a word to the owner; once a week of a raise to be given back.

    After an hour where long pressure or free space needs it, else after three: a refusal that mostly clears within
    minutes is no news before. Who approved the change heard of it.
    """
    state = decision_input.resource_state
    since, last = state.refused_since, state.last_refusal_at
    blocked = isinstance(answer, Hold) and answer.reason is Reason.BLOCKED_TEMPORARILY
    sent = isinstance(answer, Act) and answer.approval is None
    plan = answer.plan if isinstance(answer, Act) else answer.proposed_plan
    if since is None or last is None or plan is None or not (sent or blocked):
        return answer
    more = plan.sustains_more or plan.growth is not None
    gives_back = plan.price_change_usd < 0 < state.resource_increase_usd
    if state.approval_request is not None or not (more or gives_back):
        return answer
    urgent = plan.growth is not None or demand.pressed_minutes >= LONG_PRESSED_MINUTES
    if last - since < timedelta(hours=1 if urgent else 3):
        return answer
    said = [
        words for why, words in REFUSALS.items() if f"refused:{why.value}" in state.escalated_causes
    ]
    remedy = STILL_REFUSED.format(since, "; ".join(said or REFUSALS.values()))
    why, cause = Reason.BLOCKED_TEMPORARILY, REFUSED_CAUSE
    if not more:
        why, cause = Reason.BLOCKED_PERMANENTLY, f"{REFUSED_CAUSE}_giving_back"
        remedy += f"; it would give back ${-plan.price_change_usd:.2f} a month"
    told = escalate_once(decision_input, effective, why, cause, remedy, plan)
    return told if isinstance(told, Escalate) else answer


def _left_as_changed(decision_input: DecisionInput, effective: EffectiveLimits) -> Escalate | None:
    """Once Headroom may no longer change what it changed: the word that it stays so, unless it has all and costs no more."""
    volume, found = decision_input.observation.volume, chosen_by_owner(decision_input)
    state = decision_input.resource_state
    said = LEFT_AS_CHANGED in state.escalated_causes
    if effective.enrolled or effective.kept_out or found is None or said:
        return None
    known = changes_of_settings(state.modifications, volume.configuration)
    latest = known[-1] if known else state.earlier_modification
    if latest is None or latest.by != BY_HEADROOM:
        return None  # what is there, somebody else chose
    policy, _ = policy_of(decision_input)
    if unmanaged(effective, code_owner(volume.tags, policy.code_tags)):
        return None
    chosen = replace(found, size_gib=volume.configuration.size_gib)
    try:
        usd = None if decision_input.prices is None else decision_input.prices.monthly(chosen)
    except PriceUnknown:
        usd = None
    now_usd = current_price(decision_input)
    dearer = usd is not None and now_usd is not None and now_usd > usd
    if not dearer and not has_less(volume.configuration, chosen):
        return None
    costs = "at a price not known" if usd is None or now_usd is None else a_month(now_usd - usd)
    remedy = spoken(volume.ref.kind, LEFT.format(volume.configuration, chosen, costs))
    return Escalate(
        reason=Reason.OBSERVE_ONLY, cause=LEFT_AS_CHANGED, remedy=remedy, proposed_plan=None
    )


def has_less(now: Configuration, than: Configuration) -> bool:
    """Whether storage sustains fewer IOPS or MiB/s than another would of the same size."""
    can, had = capability(now), capability(replace(than, size_gib=now.size_gib))
    return can.sustained_iops < had.sustained_iops or can.sustained_mibps < had.sustained_mibps


def kept_from(
    decision_input: DecisionInput, effective: EffectiveLimits, nearest: PlanJudgement
) -> Escalate | None:
    """The word that what somebody left pending keeps Headroom from a raise ahead of load, or for a day from giving back.

    Of giving back also what forbids every change for good.
    """
    at, state, plan = decision_input.observation.at, decision_input.resource_state, nearest.plan
    lasting = [v for v in nearest.blocking if not v.temporary]
    pending = [v.guardrail for v in lasting] == [Guardrail.PENDING_CHANGES]
    if not pending and not (lasting and {v.guardrail for v in lasting} <= NO_CHANGE_AT_ALL):
        return None
    said = Guardrail.PENDING_CHANGES.value in state.escalated_causes
    if said or why_approval_after(effective.limits, plan, state.resource_increase_usd) is not None:
        return None
    what, why, usd = "raising", lasting[0].detail, plan.price_change_usd
    if not pending:
        why = "; ".join(f"{v.guardrail.value}: {v.detail or v.value}" for v in lasting)
        why += f": set it to {plan.target} yourself, or clear what forbids it"
    if plan.sustains_more and usd > 0 and pending:
        remedy = KEPT_FROM_RAISING.format(plan.target, why)
    elif (
        usd < 0 < state.resource_increase_usd
        and state.last_act_at is not None
        and at - state.last_act_at >= LONG_KEPT
    ):
        what, remedy = "giving_back", KEPT_FROM_GIVING_BACK.format(-usd, why)
    else:
        return None
    told = escalate_once(
        decision_input, effective, Reason.BLOCKED_PERMANENTLY,
        f"{KEPT_FROM}_{what} ({lasting[0].value if pending else FOR_GOOD})", remedy, plan,
    )  # fmt: skip
    return told if isinstance(told, Escalate) else None
