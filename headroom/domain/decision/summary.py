"""What a decision says in one sentence: what was found, what follows, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.decision_input import Analysis
from headroom.domain.guardrails import Guardrail, PlanJudgement, Verdict
from headroom.domain.planning import (
    HDD,
    LEAD,
    Plan,
    Situation,
    begins,
    closed_hours_after,
    serves,
    starvation_chances,
)
from headroom.domain.policy import Limits
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import HOUR
from headroom.domain.workload import HOURS, Binding, Recurrence, SpaceBasis

EXPECTED = 0.5
"""Chance from which load counts as expected in an hour: the first such hour is named."""
NEARLY_LIKELIEST = 0.8
"""Where no hour's chance is so high, the share of the likeliest one's from which an earlier hour is named."""
ANY_IOPS, ANY_MIBPS = 80_000, 2_000
"""The most that AWS offers on gp3: limits that hold no load back."""
_WHY: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.RECURRENCE_EXPECTED: "load of earlier days is expected to come again",
        Reason.SCALING_DOWN: "less is enough for the coming day",
        Reason.CHEAPER_EQUIVALENT: "another type does the same for less",
    }
)
"""What a summary says about an act that no pressure explains."""


def summary_of(analysis: Analysis, answer: Action, judgements: Sequence[PlanJudgement]) -> str:
    """One sentence for people about `answer`; `judgements` are the verdicts that it follows from."""
    name = analysis.decision_input.observation.volume.ref.resource_id
    start = f"{name}: {_findings(analysis)}"
    match answer:
        case Act():
            return f"{start}; {_act(analysis, answer)}"
        case Hold():
            return f"{start}; {_hold(analysis, answer, judgements)}"
        case Escalate(cause=cause, remedy=remedy):
            return f"{start}; {cause.replace('_', ' ')}: {remedy}"


def _act(analysis: Analysis, answer: Act) -> str:
    why, plan = answer.reason, answer.plan
    sign = "+" if plan.price_change_usd >= 0 else "-"
    because = f"{_WHY[why]}: " if why in _WHY else ""
    if why is Reason.CHEAPER_EQUIVALENT and plan.price_change_usd == 0:
        because = "another type does as much for the same price: "
    event = _announced(analysis, plan) if why is Reason.RECURRENCE_EXPECTED else ""
    expected = _expected(analysis, answer)
    if why in _WHY and (event or expected):
        because = f"{event or f'{_WHY[why]}, {expected}'}: "
    if answer.approval is not None:
        because = f"{because}needs approval ({answer.approval}): "
    copy = "; RDS copies all data, which takes hours and cannot be undone" if plan.full_copy else ""
    stays = _stays(analysis.situation, plan)
    return (
        f"{because}{plan.origin} -> {plan.target}, "
        f"{sign}${abs(plan.price_change_usd):.2f} a month{copy}{stays}"
    )


def _hold(analysis: Analysis, answer: Hold, judgements: Sequence[PlanJudgement]) -> str:
    text = f"held ({answer.reason.value.replace('_', ' ')})"
    if answer.until is not None:
        text += f" until {_minute(answer.until)}"
    if answer.proposed_plan is None:
        return text + _planned(analysis, answer)
    blocked = _in_the_way(judgements, answer)
    by = f", blocked by {blocked}" if blocked else ""
    plan = answer.proposed_plan
    again = answer.reason is Reason.NO_PRESSURE and plan.sustains_more and plan.price_change_usd > 0
    return f"{text}; {'for load as before it ' if again else ''}would take {plan.target}{by}"


def _planned(analysis: Analysis, answer: Hold) -> str:
    """What a volume without pressure waits for, if it may be changed."""
    valued_plans = analysis.valued_plans
    calm = answer.reason is Reason.NO_PRESSURE and answer.until is None
    if not calm or not analysis.effective.enrolled:
        return ""
    if valued_plans.saving_at is not None:
        return (
            f"; a cheaper type waits until {_minute(valued_plans.saving_at)}, so that a raise stays "
            "possible for load that may come before"
        )
    if valued_plans.next_change is not None:
        return f"; a change may be due at {_minute(valued_plans.next_change)}"
    return ""


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def _findings(analysis: Analysis) -> str:
    """Findings about the load, and about free space where it matters, in words."""
    space, load = analysis.space, analysis.diagnosis.explanation
    unsure = space is not None and (space.unclear or space.basis is SpaceBasis.FILE_SYSTEM)
    if space is None or not (space.short or (unsure and analysis.effective.limits.grow_space)):
        return load
    calm = analysis.diagnosis.binding is Binding.NOTHING
    return space.explanation if calm else f"{space.explanation}; {load}"


def _in_the_way(judgements: Sequence[PlanJudgement], answer: Hold) -> str:
    """The guardrails that block a held plan, in words; empty where the reason says it all."""
    if answer.reason is Reason.OBSERVE_ONLY:
        return ""
    found = next((j for j in judgements if j.plan == answer.proposed_plan), None)
    return "" if found is None else ", ".join(map(_obstacle, found.blocking))


def _obstacle(verdict: Verdict) -> str:
    name, value = verdict.guardrail.value, verdict.value
    if verdict.guardrail is Guardrail.COST_BENEFIT and isinstance(value, float) and value <= -0.01:
        return f"{name} (worth ${-value:.2f} a day less than it costs)"
    return name


def _announced(analysis: Analysis, plan: Plan) -> str:
    """The next known event that takes more than the resource sustains, in words; one that a plan serves, if any."""
    situation = analysis.situation
    if situation is None:
        return ""
    now, at = capability(situation.current), situation.observation.at
    more = [load for load in situation.known_loads if not serves(now, load)]
    load = next((one for one in more if serves(plan.capability, one)), next(iter(more), None))
    if load is None:
        return ""
    due = load.due or load.start
    comes = "is due at" if due > at else "has been due since"
    return f"the known event {load.name} {comes} {_minute(due)}"


def _expected(analysis: Analysis, answer: Act) -> str:
    """Why a raise is made ahead, else what a plan gives up for good.

    A raise is for the load's growth, or for the first hour in which load that it serves is expected.
    """
    situation = analysis.situation
    if situation is None:
        return ""
    if answer.reason is not Reason.RECURRENCE_EXPECTED:
        return _given_up(situation.limits, answer.plan) if answer.plan.sustains_less else ""
    held = _held_back_by(situation.current, answer.plan)
    chances, first = starvation_chances(situation, (held,))
    likeliest = max(chance for (chance,) in chances)
    least = min(EXPECTED, NEARLY_LIKELIEST * likeliest)
    hour, likely = next((hour, one) for hour, (one,) in enumerate(chances) if one >= least)
    growth = situation.past.growth
    grows = "" if growth is None else f"{growth}, "
    if likeliest < EXPECTED and (closed := closed_hours_after(situation)):
        opens = begins(situation) + (HOURS + closed) * HOUR + LEAD
        return f"{grows}before the next change may start on {opens:%Y-%m-%d}"
    early = hour > 0 and any(
        higher.due[hour + 1] > 0  # they begin with the hour before the first
        for higher in Recurrence.of(situation.past, first).if_higher
    )
    return (
        f"{grows}{100 * likely:.0f} % likely in the hour from "
        f"{first + hour * HOUR:%H:%M} UTC{', and may be higher than lately' if early else ''}"
    )


def _held_back_by(now: Configuration, plan: Plan) -> Configuration:
    """The configuration of `now` with those limits alone that a plan raises: load above them it serves."""
    iops = plan.capability.sustained_iops > capability(now).sustained_iops
    mibps = plan.capability.sustained_mibps > capability(now).sustained_mibps
    if iops == mibps or now.volume_type is not VolumeType.GP3:
        return now
    return replace(now, throughput_mibps=ANY_MIBPS) if iops else replace(now, iops=ANY_IOPS)


def _given_up(limits: Limits, plan: Plan) -> str:
    """What of the present settings only a person can set again once a plan lowers them, in words; else empty."""
    now, then = plan.origin, plan.target
    ceilings = (
        (now.iops, then.iops, limits.max_iops, "max_iops"),
        (now.throughput_mibps, then.throughput_mibps, limits.max_throughput_mibps, "max_throughput_mibps"),
    )  # fmt: skip
    lost = [
        f"{name} ({most:,})"
        for had, left, most, name in ceilings
        if had is not None and had > most and (left or 0) < had
    ]
    return f"and only a person can set more than {' and '.join(lost)} again" if lost else ""


def _stays(situation: Situation | None, plan: Plan) -> str:
    """That a volume leaves an HDD type to which no plan may lead back, in words; else empty."""
    kind = plan.origin.volume_type
    if (
        situation is None
        or kind not in HDD
        or kind in (plan.target.volume_type, *situation.limits.types)
    ):
        return ""
    return f"; only a person can change it back to {kind}, which types does not name"
