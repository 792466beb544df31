"""Asking people: for approval, and ahead of load that Headroom cannot serve without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from operator import ge

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS, Capability, capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import (
    only_saves,
    quiet_until,
    refused_until,
    unanswered,
    why_approval,
    why_approval_after,
)
from headroom.domain.decision.decision_input import (
    ANSWERED_WITHIN,
    Analysis,
    DecisionInput,
    earlier_events,
    policy_of,
)
from headroom.domain.decision.escalation import escalate_once
from headroom.domain.guardrails import Guardrail, PlanJudgement, all_clear_by, distance
from headroom.domain.planning import (
    FORESEEN_USD,
    Plan,
    Situation,
    may_have,
    reach_of,
    reached_by_two,
    value_plans,
)
from headroom.domain.policy import (
    IN_SIGHT,
    EffectiveLimits,
    KnownEvent,
    Limits,
    Mode,
    events_of,
)
from headroom.domain.resources import Configuration
from headroom.domain.state import ApprovalRequest, ProfileHour
from headroom.domain.workload import KnownLoad, hours_of

PRESSING = frozenset({Reason.STARVED, Reason.DEPLETION_FORESEEN})
MUCH_MORE, MORE = 1.5, 1.1
KNOWN_EVENT = "known_event"
"""Beginning of the causes of an announced load that cannot be served, or stays away."""
URGENT = frozenset(
    {
        Reason.STARVED, Reason.DEPLETION_FORESEEN, Reason.RECURRENCE_EXPECTED, Reason.LOW_FREE_SPACE,
        Reason.HIGH_LATENCY,
    }
)  # fmt: skip
"""Reasons for a change that do not wait for an answer about money."""
HOUR_MOVES = timedelta(hours=1)
"""By how much the hour for which a raise was asked may move until it comes."""
NEARLY_ALL = 0.05
"""Share of an announced load that may stay late and count as served."""
MISSED_TIMES, HALF = 3, 0.5
"""So many times in a row an event's load was below so large a share of what is announced: its owner hears of it."""


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


def needed_of_people(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
    """What load to come needs of people, while nothing is to be done for now."""
    return (
        _announced_in_vain(analysis, judgements)
        or _asked_ahead(analysis, judgements)
        or _announced_for_nothing(analysis)
    )


def _announced_in_vain(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
    """What a known event within sight needs of people: an approval, or a change that Headroom may not make.

    It is asked for, or told once a month, the day before. None where Headroom serves it by itself.
    """
    decision_input, effective = analysis.decision_input, analysis.effective
    can = capability(decision_input.observation.volume.configuration)
    for load in unserved_events(analysis.situation):
        ways = [j for j in judgements if serves(j.plan.capability, load)]
        ready = [j for j in ways if {v.guardrail for v in j.blocking} <= {Guardrail.COST_BENEFIT}]
        if ready:
            plan = min(ready, key=lambda j: (j.plan.monthly_usd, str(j.plan.target))).plan
            if why_approval(effective.limits, plan) is None:
                continue
            in_time = load.due in (None, load.start)
            asked = act_or_hold(
                decision_input, effective, Reason.RECURRENCE_EXPECTED, plan,
                until=load.end if in_time else None,
            )  # fmt: skip
            if isinstance(asked, Act):
                ahead = f"{asked.approval}; once approved it begins shortly before the event"
                if not in_time:
                    by = f"{load.start:%Y-%m-%d %H:%M} UTC"
                    ahead = f"{asked.approval}; it has to begin before {by}, no change may start from then until the event"
                return replace(asked, approval=ahead)
            continue
        why = _why_in_vain(analysis, ways, load)
        if why is None:
            continue
        takes = f"{load.iops:,.0f} IOPS" if load.iops else f"{load.mibps:,.0f} MiB/s"
        plan_or_none = min(ways, key=distance).plan if ways else None
        found = escalate_once(
            decision_input, effective, Reason.BLOCKED_PERMANENTLY,
            f"{KNOWN_EVENT} {load.name} of {load.start:%Y-%m}",
            f"it is due at {load.due or load.start:%Y-%m-%d %H:%M} UTC and takes {takes}, the volume sustains "
            f"{can.sustained_iops:,.0f} IOPS and {can.sustained_mibps:,.0f} MiB/s, and {why}; change "
            "the volume yourself before, or the policy",
            plan_or_none,
        )  # fmt: skip
        if isinstance(found, Escalate):
            return found
    return None


def _asked_ahead(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
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


def _announced_for_nothing(analysis: Analysis) -> Action | None:
    """What the owner hears once a month of an event that is raised for and whose load stays away."""
    decision_input, effective, situation = (
        analysis.decision_input, analysis.effective, analysis.situation,
    )  # fmt: skip
    if situation is None or effective.limits.mode is Mode.OBSERVE:
        return None
    volume, at = decision_input.observation.volume, situation.observation.at
    policy, _ = policy_of(decision_input)
    events = events_of(policy, volume)
    had = capability(situation.owners_choice)
    for event in events:
        if had.sustained_iops >= event.iops and had.sustained_mibps >= event.throughput_mibps:
            continue
        came = [
            o for o in earlier_events(events, at.date()) if o.name == event.name and o.end <= at
        ]
        seen = [hours_of(one, situation.past.profile) for one in came[-MISSED_TIMES:]]
        if len(seen) < MISSED_TIMES or not all(_stayed_away(event, hours) for hours in seen):
            continue
        known = [hour for hours in seen for hour in hours if hour is not None]
        iops, mibps = max(h.peak_iops for h in known), max(h.peak_mibps for h in known)
        takes = [f"{event.iops:,} IOPS"] if event.iops else []
        takes += [f"{event.throughput_mibps:,} MiB/s"] if event.throughput_mibps else []
        found = escalate_once(
            decision_input, effective, Reason.NOT_COST_EFFECTIVE,
            f"{KNOWN_EVENT} {event.name} without its load in {at:%Y-%m}",
            f"it is announced with {' and '.join(takes)}, and the last {MISSED_TIMES} times there were at most "
            f"{iops:,.0f} IOPS and {mibps:,.0f} MiB/s; storage is raised and paid for each time, as far as the policy allows: "
            "announce less, or take the event out of the policy",
            None,
        )  # fmt: skip
        if isinstance(found, Escalate):
            return found
    return None


def _stayed_away(event: KnownEvent, hours: Sequence[ProfileHour | None]) -> bool:
    """Whether all of these hours were measured, with much less than what is announced, and no limit hid more."""
    return bool(hours) and all(
        hour is not None
        and not hour.touched_minutes
        and (not event.iops or hour.peak_iops < HALF * event.iops)
        and (not event.throughput_mibps or hour.peak_mibps < HALF * event.throughput_mibps)
        for hour in hours
    )


def unserved_events(situation: Situation | None) -> tuple[KnownLoad, ...]:
    """The known events within sight that have not begun and that the present configuration does not serve."""
    if situation is None:
        return ()
    at, can = situation.observation.at, capability(situation.current)
    return tuple(
        load
        for load in situation.known_loads
        if at < load.start <= at + IN_SIGHT and not serves(can, load)
    )


def serves(can: Capability, load: KnownLoad) -> bool:
    """Whether it sustains nearly all of an announced load."""
    return load.share_late((can.sustained_iops, can.sustained_mibps)) <= NEARLY_ALL


def _why_in_vain(analysis: Analysis, ways: Sequence[PlanJudgement], load: KnownLoad) -> str | None:
    """Why none of the plans that serve an event can begin in time by itself; None if one can."""
    if not ways:
        situation = analysis.situation
        two = () if situation is None else reached_by_two(situation)
        if any(serves(plan.capability, load) for plan in two):
            return None
        if situation is not None and may_have(situation, load.iops, load.mibps):
            return None  # what was planned for other load now is not all that may be planned then
        if situation is not None and load.due not in (None, load.start):
            iops, mibps = reach_of(situation, changes=1)
            if iops >= load.iops and mibps >= load.mibps:
                return None  # it is not yet worth what holding the storage until then costs
        if situation is not None:
            limits, wanted = situation.limits, (load.iops, load.mibps)
            least, most = 2, MAX_MODIFICATIONS - limits.slots_reserve
            reached = [all(map(ge, reach_of(situation, changes=n), wanted)) for n in (least, most)]
            if reached == [False, True]:
                times = f"{limits.largest_step:g} times (largest_step)"
                return f"no two changes of at most {times} serve that"
        return "no change that Headroom may make serves that"
    if any(v.guardrail is Guardrail.MODE for v in ways[0].blocking):
        return None
    situation = analysis.situation
    if situation is not None and all(j.plan.lowers for j in ways):
        now = capability(situation.current)
        kept = max(load.iops, now.sustained_iops), max(load.mibps, now.sustained_mibps)
        if may_have(situation, *kept):
            return None  # the same without giving anything back
    nearest = min(ways, key=distance)
    lasting = [v for v in nearest.blocking if not v.temporary]
    late = [v for v in nearest.blocking if v.clears_at is not None and v.clears_at > load.start]
    names = ", ".join(v.guardrail.value for v in lasting or late)
    begun = "" if lasting else " until it has begun"
    copying = [v.detail for v in lasting if v.guardrail is Guardrail.FULL_COPY]
    why = f": {copying[0]}" if copying else ""
    return f"{nearest.plan.target} is blocked by {names}{begun}{why}" if names else None
