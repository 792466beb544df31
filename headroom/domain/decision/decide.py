"""The decision, and how it is made. Read this file first.

observation + resource state -> estimate -> diagnose -> history -> valued plans (decision_input.py)
-> judge (guardrails) -> Act, Hold or Escalate (conclude.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.decision.action import Act, Action, Escalate
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
from headroom.domain.decision.escalation import unmanaged
from headroom.domain.decision.space import full_within_a_day
from headroom.domain.decision.summary import summary_of
from headroom.domain.decision.write_back import WriteBack, write_back
from headroom.domain.guardrails import (
    CONCURRENCY_GUARDRAILS,
    PlanJudgement,
    PlanSummary,
    judge_all,
)
from headroom.domain.planning import GroupConstraint, GroupDetail, Plan
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
from headroom.domain.state import ProfileSummary, ResourceState, Signature
from headroom.domain.workload import (
    Demand,
    Diagnosis,
    SpaceForecast,
)

MOST_BLOCKED = 2
"""Better plans than the chosen one that are kept with their verdicts."""


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
    def proposed(self) -> PlanJudgement | None:
        """What was judged of the plan that the answer proposes and does not make; None without one."""
        plan = getattr(self.answer, "proposed_plan", None)
        return next((j for j in self.judgements if j.plan == plan), None)

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
        if isinstance(self.answer, Escalate):  # another cause is news
            blocking = (*blocking, self.answer.cause)
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
        summary=lambda: summary_of(analysis, answer, judgements),
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


def written_back(
    observation: Observation, effective: EffectiveLimits, owner: CodeOwner | None, answer: Action
) -> tuple[WriteBack, ...]:
    plan = answer.plan if isinstance(answer, Act) else answer.proposed_plan
    if owner is None or plan is None or unmanaged(effective, owner):
        return ()
    return write_back(observation.volume, owner, plan.target)


def recorded(decision: Decision) -> Decision:
    """The decision as it is recorded: the same id, without history and profile.

    CloudWatch keeps the history of 14 days for 63, and what was concluded from it is in the demand.
    Of the profile of the past, up to 9,600 hours, the summary stays.
    """
    return replace(
        with_judgements(decision, {*_plans_that_mattered(decision.judgements, decision.plan)}),
        observation=replace(decision.observation, history=None),
        resource_state=replace(decision.resource_state, profile=None),
    )


def with_judgements(decision: Decision, places: set[int]) -> Decision:
    """The decision with the verdicts on these of its plans; the others become lines."""
    judgements = decision.judgements
    others = (j.summary for n, j in enumerate(judgements) if n not in places)
    return replace(
        decision,
        judgements=tuple(j for n, j in enumerate(judgements) if n in places),
        other_plans=(*others, *decision.other_plans),
    )


def _plans_that_mattered(judgements: Sequence[PlanJudgement], plan: Plan | None) -> Iterator[int]:
    """The places of: the chosen plan, better ones that are blocked, the next best, the cheapest."""
    if not judgements:
        return
    chosen = place_of(judgements, plan)
    yield chosen
    better = (n for n in range(chosen) if judgements[n].blocking)
    yield from [n for n, _ in zip(better, range(MOST_BLOCKED), strict=False)]
    allowed = (n for n, j in enumerate(judgements) if n != chosen and j.allowed)
    yield next(allowed, chosen)
    yield min(range(len(judgements)), key=lambda n: judgements[n].plan.monthly_usd)


def place_of(judgements: Sequence[PlanJudgement], plan: Plan | None) -> int:
    """The place of the verdicts on `plan`; 0, the best plan, where there is none."""
    return next((n for n, j in enumerate(judgements) if j.plan == plan), 0)
