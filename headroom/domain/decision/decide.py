"""The decision, and how it is made. Read this file first.

observation + resource state -> estimate -> diagnose -> history -> valued plans (decision_input.py)
-> judge (guardrails) -> Act, Hold or Escalate (conclude.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Act, Action, Escalate, Hold, Reason
from headroom.domain.decision.cluster_detail import ClusterDetail
from headroom.domain.decision.conclude import conclude
from headroom.domain.decision.decision_input import (
    DENY_ALL_POLICY,
    Analysis,
    DecisionInput,
    analyze,
    case_of,
    current_price,
    look_ahead_at,
)
from headroom.domain.decision.escalation import given_up, unmanaged
from headroom.domain.decision.space import full_within_a_day
from headroom.domain.decision.write_back import WriteBack, write_back
from headroom.domain.guardrails import (
    CONCURRENCY_GUARDRAILS,
    Guardrail,
    PlanJudgement,
    PlanSummary,
    Verdict,
    judge_all,
)
from headroom.domain.planning import GroupConstraint, GroupDetail, Plan, starvation_chances
from headroom.domain.policy import EffectiveLimits, PolicyUnreadable
from headroom.domain.resources import (
    LATER,
    CodeOwner,
    Deferring,
    Observation,
    code_owner,
    defer,
    digest,
)
from headroom.domain.state import HOUR, ProfileSummary, ResourceState, Signature
from headroom.domain.workload import (
    Binding,
    Demand,
    Diagnosis,
    Recurrence,
    SpaceBasis,
    SpaceForecast,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Deferring):
    """One decision about one resource at one instant, with its whole input.

    `decision_id` is a hash of the inputs: same inputs, same decision, same id. It and the summary of the
    profile are computed when they are first read.
    """

    decision_id: str
    at: datetime
    trigger: str
    """`alarm`, `event`, `sweep`, `due` or `person`."""
    observation: Observation
    resource_state: ResourceState
    policy_version: str
    effective: EffectiveLimits
    price_source: str
    current_usd: Decimal | None
    """Monthly price of the observed configuration in USD; None when no price is known."""
    demand: Demand
    diagnosis: Diagnosis
    judgements: tuple[PlanJudgement, ...]
    """Plans with the verdict of every guardrail, best plan first. A record keeps those that mattered."""
    answer: Action
    summary: str
    """One sentence for people."""
    next_change_at: datetime | None = None
    """When the best schedule of the coming day changes something, as known now."""
    code_owner: CodeOwner | None = None
    """Who else manages the settings, None for nobody."""
    write_back: tuple[WriteBack, ...] = ()
    """What to write there so that the plan lasts; empty without a plan or under `leave`."""
    rollback_of: str | None = None
    """The chain whose change this decision undoes."""
    group: GroupDetail | None = None
    """The striped set that was decided together; None outside a set."""
    space: SpaceForecast | None = field(default=None, metadata=LATER)
    """The forecast of a database's free space; None where none is published."""
    cluster: ClusterDetail | None = field(default=None, metadata=LATER)
    """For an Aurora cluster: its members, days and both bills; None for everything else."""
    profile: ProfileSummary | None = field(default=None, metadata=LATER)
    """Which profile of its past was used; the record does not hold the profile itself."""
    other_plans: tuple[PlanSummary, ...] = field(default=(), metadata=LATER)
    """In a record: the plans that are not among `judgements`, best first."""
    look_ahead_at: datetime | None = field(default=None, metadata=LATER)
    """When load that is not of the coming day is to be looked at, if only by then."""
    left_out: tuple[str, ...] = field(default=(), metadata=LATER)
    """In a record: what was dropped so that it is not too large, in words."""

    @property
    def plan(self) -> Plan | None:
        """The plan that was chosen, or would be."""
        answer = self.answer
        return answer.plan if isinstance(answer, Act) else answer.proposed_plan

    @property
    def considered(self) -> tuple[PlanSummary, ...]:
        """Every plan in one line: first those with verdicts, then the others."""
        return (*(judgement.summary for judgement in self.judgements), *self.other_plans)

    @property
    def signature(self) -> Signature:
        """What a later decision is compared with, to record only news."""
        plan = self.plan
        chosen = next((j for j in self.judgements if j.plan == plan), None)
        guardrails = [v.guardrail for v in chosen.blocking] if chosen else []
        # Concurrency limits clear and block by the minute with other changes: which of them
        # blocks, or whether one blocks beside others, is no news.
        blocking = tuple(g.value for g in guardrails if g not in CONCURRENCY_GUARDRAILS) or (
            ("places",) if guardrails else ()
        )
        return Signature(
            answer=type(self.answer).__name__.lower(),
            binding=self.diagnosis.binding.value + self._space_suffix,
            plan="" if plan is None else str(plan.target),
            blocking=blocking,
        )

    @property
    def _space_suffix(self) -> str:
        if self.space is None or self.space.eased:
            return ""
        return "+full_today" if full_within_a_day(self.space, self.at) else "+space"


def decide(decision_input: DecisionInput, *, group: GroupConstraint | None = None) -> Decision:
    """What to do about one volume; a pure function of its input.

    `group` is the constraint of the volume's striped set; without it a volume of a set is never
    changed.
    """
    analysis = analyze(decision_input)
    judgements = judge_all(
        [
            case_of(analysis, plan, decision_input.resource_state, group)
            for plan in analysis.valued_plans.plans
        ]
    )
    about = None if group is None else GroupDetail(name=group.name)
    return build_decision(
        analysis, judgements, group=about, token="" if group is None else repr(group)
    )


def build_decision(
    analysis: Analysis, judgements: tuple[PlanJudgement, ...], *, answer: Action | None = None,
    group: GroupDetail | None = None, token: str = "",
) -> Decision:  # fmt: skip
    """The decision that follows from the verdicts; `answer` replaces the action of a set's member."""
    decision_input, effective = analysis.decision_input, analysis.effective
    observation, profile = decision_input.observation, decision_input.resource_state.profile
    answer = answer or conclude(analysis, judgements)
    owner = code_owner(observation.volume.tags, analysis.policy.code_tags)
    made = Decision(
        decision_id="",
        at=observation.at,
        trigger=decision_input.trigger,
        observation=observation,
        resource_state=decision_input.resource_state,
        policy_version=analysis.policy.version,
        effective=effective,
        price_source=_priced_by(decision_input, ", ", "none"),
        current_usd=current_price(decision_input),
        demand=analysis.demand,
        diagnosis=analysis.diagnosis,
        judgements=judgements,
        answer=answer,
        summary="",
        next_change_at=analysis.valued_plans.next_change,
        look_ahead_at=look_ahead_at(analysis),
        code_owner=owner,
        write_back=written_back(observation, effective, owner, answer),
        group=group,
        space=analysis.space,
    )  # fmt: skip
    return defer(
        made,
        decision_id=lambda: decision_id_of(decision_input, token),
        summary=lambda: summary_of(
            observation, _findings(analysis), answer, in_the_way=_in_the_way(judgements, answer),
            announced=_announced(analysis), expected=_expected(analysis, answer),
        ),
        profile=lambda: None if profile is None else profile.summary,
    )  # fmt: skip


def decision_id_of(decision_input: DecisionInput, token: str = "") -> str:
    """The id: a digest of the input and, in a set, of the other members' (`token`)."""
    policy = decision_input.policy
    version = DENY_ALL_POLICY.version if isinstance(policy, PolicyUnreadable) else policy.version
    return digest(
        decision_input.trigger, decision_input.observation, decision_input.resource_state, version,
        _priced_by(decision_input, " ", ""), *((token,) if token else ()),
    )[:20]  # fmt: skip


def _priced_by(decision_input: DecisionInput, between: str, none: str) -> str:
    """Source and date of the current configuration's price; `none` without prices."""
    if decision_input.prices is None:
        return none
    source, as_of = decision_input.prices.source_of(decision_input.observation.volume.configuration)
    return f"{source}{between}{as_of}"


def _findings(analysis: Analysis) -> str:
    """Findings about the load, and about free space where it matters, in words."""
    space, load = analysis.space, analysis.diagnosis.explanation
    unsure = space is not None and (space.unclear or space.basis is SpaceBasis.FILE_SYSTEM)
    if space is None or not (space.short or (unsure and analysis.effective.limits.grow_space)):
        return load
    calm = analysis.diagnosis.binding is Binding.NOTHING
    return space.explanation if calm else f"{space.explanation}; {load}"


def written_back(
    observation: Observation, effective: EffectiveLimits, owner: CodeOwner | None, answer: Action
) -> tuple[WriteBack, ...]:
    plan = answer.plan if isinstance(answer, Act) else answer.proposed_plan
    if owner is None or plan is None or unmanaged(effective, owner):
        return ()
    return write_back(observation.volume, owner, plan.target)


NEARLY_LIKELIEST = 0.8
"""Share of the likeliest hour's chance from which an earlier hour is named instead."""
HARDLY_LIKELIER = 0.05
"""A difference in the chance of starving below which the load exceeds what is raised to as well."""
_WHY: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.RECURRENCE_EXPECTED: "load of earlier days is expected to come again",
        Reason.SCALING_DOWN: "less is enough for the coming day",
        Reason.CHEAPER_EQUIVALENT: "another type does the same for less",
    }
)
"""What a summary says about an act that no pressure explains."""


def _in_the_way(judgements: tuple[PlanJudgement, ...], answer: Action) -> str:
    """The guardrails that block a held plan, in words; empty where the reason says it all."""
    if not isinstance(answer, Hold) or answer.reason is Reason.OBSERVE_ONLY:
        return ""
    found = next((j for j in judgements if j.plan == answer.proposed_plan), None)
    return "" if found is None else ", ".join(map(_obstacle, found.blocking))


def _obstacle(verdict: Verdict) -> str:
    name, value = verdict.guardrail.value, verdict.value
    if verdict.guardrail is Guardrail.COST_BENEFIT and isinstance(value, float) and value <= -0.01:
        return f"{name} (worth ${-value:.2f} a day less than it costs)"
    return name


def _announced(analysis: Analysis) -> str:
    """The next known event that takes more than the resource sustains, in words; else empty."""
    situation = analysis.situation
    if situation is None:
        return ""
    now, at = capability(situation.current), situation.observation.at
    for load in situation.known_loads:
        if load.iops > now.sustained_iops or load.mibps > now.sustained_mibps:
            due = load.due or load.start
            comes = "is due at" if due > at else "has been due since"
            return f"the known event {load.name} {comes} {due:%Y-%m-%d %H:%M} UTC"
    return ""


def _expected(analysis: Analysis, answer: Action) -> str:
    """Why a raise is made ahead: the load's growth, and the first hour that likely needs it; else what is given up for good."""
    situation = analysis.situation
    if situation is None or not isinstance(answer, Act):
        return ""
    if answer.reason is not Reason.RECURRENCE_EXPECTED:
        return given_up(situation.limits, answer.plan) if answer.plan.sustains_less else ""
    chances, first = starvation_chances(situation, (situation.current, answer.plan.target))
    needs = [now - then for now, then in chances]
    if max(needs) < HARDLY_LIKELIER:  # the load is above what is raised to as well
        needs = [now for now, _ in chances]
    hour = next(hour for hour, need in enumerate(needs) if need >= NEARLY_LIKELIEST * max(needs))
    growth = situation.past.growth
    early = hour > 0 and any(
        higher.due[hour + 1] > 0  # they begin with the hour before the first
        for higher in Recurrence.of(situation.past, first).if_higher
    )
    return (
        f"{'' if growth is None else f'{growth}, '}{100 * chances[hour][0]:.0f} % likely in the hour "
        f"from {first + hour * HOUR:%H:%M} UTC{', and may be higher than lately' if early else ''}"
    )


def summary_of(
    observation: Observation, findings: str, answer: Action, *, in_the_way: str = "",
    announced: str = "", expected: str = "",
) -> str:  # fmt: skip
    """One sentence for people.

    `in_the_way` names what blocks a held plan, `announced` the event that a raise is for, `expected`
    what is known of other load to come.
    """
    name = observation.volume.ref.resource_id
    match answer:
        case Act(reason=why, plan=plan):
            sign = "+" if plan.price_change_usd >= 0 else "-"
            because = f"{_WHY[why]}: " if why in _WHY else ""
            if why is Reason.CHEAPER_EQUIVALENT and plan.price_change_usd == 0:
                because = "another type does as much for the same price: "
            event = announced if why is Reason.RECURRENCE_EXPECTED else ""
            if why in _WHY and (event or expected):
                because = f"{event or f'{_WHY[why]}, {expected}'}: "
            if answer.approval is not None:
                because = f"{because}needs approval ({answer.approval}): "
            copy = (
                "; RDS copies all data, which takes hours and cannot be undone"
                if plan.full_copy
                else ""
            )
            return (
                f"{name}: {findings}; {because}{plan.origin} -> {plan.target}, "
                f"{sign}${abs(plan.price_change_usd):.2f} a month{copy}"
            )
        case Hold(reason=reason, until=until, proposed_plan=plan):
            text = f"{name}: {findings}; held ({reason.value.replace('_', ' ')})"
            if until is not None:
                text += f" until {until:%Y-%m-%d %H:%M} UTC"
            if plan is None:
                return text
            by = f", blocked by {in_the_way}" if in_the_way else ""
            return f"{text}; would take {plan.target}{by}"
        case Escalate(cause=cause, remedy=remedy):
            return f"{name}: {findings}; {cause.replace('_', ' ')}: {remedy}"
