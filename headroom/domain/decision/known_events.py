"""What load that the owner announced needs of people: an approval, a change that Headroom may not make, a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import ge

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS, Capability, capability
from headroom.domain.decision.action import Act, Action, Escalate, Reason
from headroom.domain.decision.approval import why_approval
from headroom.domain.decision.asking import act_or_hold, asked_ahead, raises_at
from headroom.domain.decision.decision_input import Analysis, earlier_events, policy_of
from headroom.domain.decision.escalation import escalate_once
from headroom.domain.guardrails import NEVER, Guardrail, PlanJudgement, distance
from headroom.domain.planning import (
    LEAD,
    Plan,
    Situation,
    at_any_price,
    credits_serve,
    events_in_sight,
    hours_between_two,
    may_have,
    reach_of,
    reached_by_two,
    serves,
)
from headroom.domain.policy import KnownEvent, Mode, Occurrence, events_of, last_chance
from headroom.domain.resources import Configuration
from headroom.domain.state import HOUR, MODIFICATION_RETENTION, ProfileHour
from headroom.domain.workload import KnownLoad, hours_of

KNOWN_EVENT = "known_event"
"""Beginning of the causes of an announced load that cannot be served, or stays away."""
A_CENT = 0.01
MOST_LET_THROUGH = 0.95
"""An instance that lets less of an event through is notified: its MiB/s may be an estimate."""
UNTIL_BEGUN = ", which may last until it has begun"
MISSED_TIMES, HALF = 3, 0.5
"""So many times in a row an event's load was below so large a share of what is announced: its owner hears of it."""


def needed_of_people(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
    """What load to come needs of people, while nothing is to be done for now."""
    return (
        _announced_in_vain(analysis, judgements)
        or asked_ahead(analysis, judgements)
        or _announced_for_nothing(analysis)
    )


def _announced_in_vain(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Action | None:
    """What a known event within sight needs of people: an approval, or a change that Headroom does not make.

    It is asked for, or notified once a month, the day before. None where Headroom serves it by itself.
    """
    situation = analysis.situation
    if situation is None:
        return None
    now = capability(situation.current)
    for load in events_in_sight(situation):
        found = None
        if not (serves(now, load) or credits_serve(now, load)):
            found = _asked_or_notified(analysis, judgements, load)
        if not isinstance(found, Act | Escalate):
            found = _beyond_the_instance(analysis, load)
        if isinstance(found, Act | Escalate):
            return found
    return None


def _beyond_the_instance(analysis: Analysis, load: KnownLoad) -> Action | None:
    """The notice that the instance does not let through what is announced, where nothing else is in the way."""
    through = _through(load)
    if not through:
        return None
    volume = analysis.decision_input.observation.volume.configuration
    larger = "instance" if volume.database is None else "DB instance class"
    return escalate_once(
        analysis.decision_input, analysis.effective, Reason.INSTANCE_LIMITED, _cause(load),
        f"{_due(load)}{through}: for the rest use a larger {larger}, or spread the load", None,
    )  # fmt: skip


def _through(load: KnownLoad) -> str:
    """How much of an event the instance lets through, in words; empty for all."""
    less = load.let_through < MOST_LET_THROUGH
    return f", of which the instance lets {load.let_through:.0%} through" if less else ""


def _asked_or_notified(
    analysis: Analysis, judgements: Sequence[PlanJudgement], load: KnownLoad
) -> Action | None:
    """The request for the approval that an event needs, or the notice that Headroom raises nothing that serves it."""
    limits = analysis.effective.limits
    ways = [
        j for j in judgements
        if serves(j.plan.capability, load) and NEVER.isdisjoint(v.guardrail for v in j.blocking)
    ]  # fmt: skip
    ready = [j for j in ways if {v.guardrail for v in j.blocking} <= {Guardrail.COST_BENEFIT}]
    cheapest = min(ready, key=lambda j: (j.plan.monthly_usd, str(j.plan.target)), default=None)
    if cheapest is not None and why_approval(limits, cheapest.plan) is not None:
        return _asked_for_event(analysis, cheapest.plan, load)
    nearest = cheapest or min(ways, key=distance, default=None)
    reason = Reason.BLOCKED_PERMANENTLY
    why = None if cheapest is not None else _why_in_vain(analysis, ways, load)
    if why is None and (cheapest is not None or not ways):
        reason, why = Reason.NOT_COST_EFFECTIVE, _why_not_worth(analysis, nearest, load)
    if why is None:
        return None
    can = capability(analysis.decision_input.observation.volume.configuration)
    return escalate_once(
        analysis.decision_input, analysis.effective, reason, _cause(load),
        f"{_due(load)}{_through(load)}, the volume sustains {can.sustained_iops:,.0f} IOPS and {can.sustained_mibps:,.0f} MiB/s, "
        f"and {why}; "
        + ("move the load to a later hour if you can" if why.endswith(UNTIL_BEGUN) else "change the volume yourself before, or the policy"),
        None if nearest is None else nearest.plan,
    )  # fmt: skip


def _cause(load: KnownLoad) -> str:
    return f"{KNOWN_EVENT} {load.name} of {load.start:%Y-%m}"


def _due(load: KnownLoad) -> str:
    """When an event is due, and what was announced."""
    takes = (
        f"{load.iops / load.let_through:,.0f} IOPS"
        if load.iops
        else f"{load.mibps / load.let_through:,.0f} MiB/s"
    )
    return f"it is due at {load.due or load.start:%Y-%m-%d %H:%M} UTC and takes {takes}"


def _asked_for_event(analysis: Analysis, plan: Plan, load: KnownLoad) -> Act | None:
    """The request for a plan that serves an announced load; None while it may not be made."""
    in_time = load.due in (None, load.start)
    asked = act_or_hold(
        analysis.decision_input, analysis.effective, Reason.RECURRENCE_EXPECTED, plan,
        until=load.end if in_time else None,
    )  # fmt: skip
    if not isinstance(asked, Act):
        return None
    ahead = "once approved it begins shortly before the event"
    if not in_time:
        by = f"{load.start:%Y-%m-%d %H:%M} UTC"
        ahead = f"it has to begin before {by}, no change may start from then until the event"
    return replace(asked, approval=f"{asked.approval}; {ahead}")


def _why_not_worth(
    analysis: Analysis, nearest: PlanJudgement | None, load: KnownLoad
) -> str | None:
    """Why nothing is raised ahead of an event; None if a change is due before it, or will be worth its price."""
    situation, next_change = analysis.situation, analysis.valued_plans.next_change
    if situation is None or (next_change is not None and next_change <= load.start):
        return None
    if nearest is not None and nearest.plan.price_change_usd <= 0:
        return None  # what it waits for is not its price
    shortly = max(situation.observation.at, load.start - LEAD)
    if any(serves(plan.capability, load) for plan in raises_at(situation, shortly)):
        return None
    left = analysis.diagnosis.instance_iops_left
    if left is not None and left + load.bursts[0] < load.iops:
        return f"its instance has {left:,.0f} IOPS left for it"
    value = situation.limits.relief_value_usd_per_minute
    can, less = capability(situation.current), ""
    until = "its credits run low" if can.burst_iops > can.sustained_iops else "it is short"
    if nearest is not None:
        less = f", not even {nearest.plan.target} for ${nearest.plan.price_change_usd:,.2f} a month more"
    return (
        f"no change that serves it is worth its price ahead of it at ${_dollars(value)} a minute of shortfall "
        f"(relief_value_usd_per_minute){less}; nothing is raised until {until}"
    )


def _dollars(usd: float) -> str:
    return f"{usd:,.2f}" if usd >= A_CENT else f"{usd:g}"


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
        remembered = came[-1].start >= at - MODIFICATION_RETENTION
        if not (remembered and all(_raised_for(analysis, had, o) for o in came[-MISSED_TIMES:])):
            continue  # announced only lately, or never served
        known = [hour for hours in seen for hour in hours if hour is not None]
        iops, mibps = max(h.peak_iops for h in known), max(h.peak_mibps for h in known)
        takes = [f"{event.iops:,} IOPS"] if event.iops else []
        takes += [f"{event.throughput_mibps:,} MiB/s"] if event.throughput_mibps else []
        found = escalate_once(
            decision_input, effective, Reason.NOT_COST_EFFECTIVE,
            f"{KNOWN_EVENT} {event.name} without its load in {at:%Y-%m}",
            f"it is announced with {' and '.join(takes)}, and the last {MISSED_TIMES} times there were at most "
            f"{iops:,.0f} IOPS and {mibps:,.0f} MiB/s; storage was raised and paid for: "
            "announce less, or take the event out of the policy",
            None,
        )  # fmt: skip
        if isinstance(found, Escalate):
            return found
    return None


def _raised_for(analysis: Analysis, had: Capability, event: Occurrence) -> bool:
    """Whether storage was more than what the owner chose when an event began, as far as changes are remembered."""
    seen, known = (
        analysis.decision_input.observation, analysis.decision_input.resource_state.modifications,
    )  # fmt: skip
    if event.start < seen.at - MODIFICATION_RETENTION:
        return True
    before = [m for m in known if m.started_at <= event.start]
    after = [m for m in known if m.started_at > event.start]
    then: Configuration | None = seen.volume.configuration
    if before:
        then = max(before, key=lambda m: m.started_at).target
    elif after:
        then = min(after, key=lambda m: m.started_at).origin
    if then is None:
        return False
    can = capability(then)
    return can.sustained_iops > had.sustained_iops or can.sustained_mibps > had.sustained_mibps


def _stayed_away(event: KnownEvent, hours: Sequence[ProfileHour | None]) -> bool:
    """Whether all of these hours were measured, with much less than what is announced, and no limit hid more."""
    return bool(hours) and all(
        hour is not None
        and not hour.touched_minutes
        and (not event.iops or hour.peak_iops < HALF * event.iops)
        and (not event.throughput_mibps or hour.peak_mibps < HALF * event.throughput_mibps)
        for hour in hours
    )


def _why_in_vain(analysis: Analysis, ways: Sequence[PlanJudgement], load: KnownLoad) -> str | None:
    """Why none of the plans that serve an event can begin in time by itself; None if one can."""
    situation = analysis.situation
    if situation is None:
        return None
    if not ways:
        return _why_no_way(situation, load)
    if any(v.guardrail is Guardrail.MODE for v in ways[0].blocking):
        return None
    if all(j.plan.lowers for j in ways):
        now = capability(situation.current)
        kept = max(load.iops, now.sustained_iops), max(load.mibps, now.sustained_mibps)
        if may_have(situation, *kept):
            return None  # the same without giving anything back
    nearest = min(ways, key=distance)
    lasting = [v for v in nearest.blocking if not v.temporary]
    # What ends nobody knows when may last until the event, once its raise is due.
    due = load.start - situation.observation.at <= LEAD
    late = [
        v for v in nearest.blocking
        if (due and v.guardrail is not Guardrail.COST_BENEFIT if v.clears_at is None else v.clears_at > load.start)
    ]  # fmt: skip
    names = ", ".join(v.guardrail.value for v in lasting or late)
    begun = "" if lasting else " until it has begun"
    if late and all(v.clears_at is None for v in late) and not lasting:
        begun = UNTIL_BEGUN
    copying = [v.detail for v in lasting if v.guardrail is Guardrail.FULL_COPY]
    why = f": {copying[0]}" if copying else ""
    return f"{nearest.plan.target} is blocked by {names}{begun}{why}" if names else None


def _why_no_way(situation: Situation, load: KnownLoad) -> str | None:
    """Why no plan serves an event; None if one change will, or two in time."""
    limits, wanted = situation.limits, (load.iops, load.mibps)
    if any(serves(plan.capability, load) for plan in reached_by_two(situation)):
        hours, at = hours_between_two(situation), situation.observation.at
        if last_chance(limits.change_windows, situation.freezes, load.start, now=at) is None:
            return "no change may start before it, by change_windows, freezes or calendars"
        if situation.observation.at + hours * HOUR <= load.start:
            return None
        return (
            f"it takes two changes of at most {limits.largest_step:g} times (largest_step), and AWS may work on the "
            f"first for {hours} hours"
        )
    if may_have(situation, *wanted):
        return None  # what was planned for other load now is not all that may be planned then
    reached = {
        n: reach_of(situation, changes=n) for n in (1, 2, MAX_MODIFICATIONS - limits.slots_reserve)
    }
    enough = [all(map(ge, of, wanted)) for of in reached.values()]
    if load.due not in (None, load.start) and enough[0]:
        return None  # it is not yet worth what holding the storage until then costs
    if enough[1:] == [False, True]:
        step = f"{limits.largest_step:g} times (largest_step)"
        return (
            f"it takes more than two changes of at most {step}, of which the last may be too late"
        )
    unasked = replace(limits, mode=Mode.AUTO, approve_above_usd=None)
    without_asking = reached_by_two(replace(situation, limits=unasked))
    if limits != unasked and any(serves(p.capability, load) for p in without_asking):
        return "it takes two changes, and the second is requested only once the first is done"
    if load.iops > limits.max_iops:
        return f"max_iops is {limits.max_iops:,}"
    if load.mibps > limits.max_throughput_mibps:
        return f"it takes {load.mibps:,.0f} MiB/s, and max_throughput_mibps is {limits.max_throughput_mibps:,}"
    if may_have(at_any_price(situation), *wanted):
        most = min(limits.price_increase_usd, situation.account_left_usd)
        return f"what serves that adds more than ${most:,.2f} a month, which is what the price limits leave"
    return "no change that Headroom may make serves that"
