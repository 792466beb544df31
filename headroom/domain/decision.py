"""The decision, and how it is made. Read this file first.

observation + standing -> estimate -> diagnose -> past -> plans, weighed (evidence.py) -> judge
(guardrails) -> Act, Hold or Escalate (answering.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.answering import answered, left_alone, reason_of
from headroom.domain.answers import Act, Answer, Escalate, Hold, Reason
from headroom.domain.blocking import PLACES
from headroom.domain.cluster_side import ClusterSide
from headroom.domain.demand import Binding, Demand, Diagnosis
from headroom.domain.digest import digest
from headroom.domain.evidence import Assessed, Evidence, assessed, case_of, policy_of, price_now
from headroom.domain.free_space import SpaceForecast
from headroom.domain.groups import GroupSeen, GroupStanding
from headroom.domain.guardrails import judge
from headroom.domain.observation import Observation
from headroom.domain.owners import CodeOwner, code_owner
from headroom.domain.policy import EffectiveLimits
from headroom.domain.resources import LATER
from headroom.domain.space_answer import full_today
from headroom.domain.standing import Signature, Standing
from headroom.domain.verdicts import PlanJudgement
from headroom.domain.write_back import WriteBack, write_back


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about one volume at one instant, with all it was made from.

    `decision_id` is a hash of the inputs: same inputs, same decision, same id.
    """

    decision_id: str
    at: datetime
    trigger: str
    """`alarm`, `event`, `sweep`, `due` or `person`."""
    observation: Observation
    standing: Standing
    policy_version: str
    effective: EffectiveLimits
    price_source: str
    current_usd: Decimal | None
    """Monthly price of the observed configuration in USD; None when no price is known."""
    demand: Demand
    diagnosis: Diagnosis
    judgements: tuple[PlanJudgement, ...]
    """Every plan with what every guardrail said about it, best plan first."""
    answer: Answer
    summary: str
    """One sentence for people."""
    next_change_at: datetime | None = None
    """When the best schedule of the coming day changes something, as far as known now."""
    code_owner: CodeOwner | None = None
    """Who else keeps the volume's settings, None for nobody."""
    write_back: tuple[WriteBack, ...] = ()
    """What to write there for the plan to last; empty without a plan, or where it is left alone."""
    rolls_back: str | None = None
    """The chain whose change this decision is about to undo."""
    group: GroupSeen | None = None
    """The striped set that it was decided with; None for a volume of none."""
    space: SpaceForecast | None = field(default=None, metadata=LATER)
    """What is expected of a database's free space; None where nothing is told of it."""
    cluster: ClusterSide | None = field(default=None, metadata=LATER)
    """Of an Aurora cluster: its members, its days, both bills; None for everything else."""

    @property
    def signature(self) -> Signature:
        """What a later decision is compared with to tell whether it is news."""
        answer = self.answer
        plan = answer.plan if isinstance(answer, Act) else answer.would_take
        chosen = next((j for j in self.judgements if j.plan == plan), None)
        said = [v.guardrail for v in chosen.blocking] if chosen else []
        # Places come and go by the minute with changes of others: which of them is missing, or
        # that one is where more stands against the plan, is no news.
        blocking = tuple(g.value for g in said if g not in PLACES) or (("places",) if said else ())
        return Signature(
            answer=type(answer).__name__.lower(),
            binding=self.diagnosis.binding.value + self._tight,
            plan="" if plan is None else str(plan.target),
            blocking=blocking,
        )

    @property
    def _tight(self) -> str:
        if self.space is None or self.space.eased:
            return ""
        return "+full_today" if full_today(self.space, self.at) else "+space"


def decide(evidence: Evidence, *, group: GroupStanding | None = None) -> Decision:
    """What to do about one volume; a pure function of the evidence.

    `group` is what the striped set says that the volume belongs to; without it a volume that
    belongs to one is never changed.
    """
    seen = assessed(evidence)
    judgements = tuple(
        judge(case_of(seen, plan, evidence.standing, group)) for plan in seen.weighed.plans
    )
    about = None if group is None else GroupSeen(name=group.name)
    return concluded(seen, judgements, group=about, token="" if group is None else repr(group))


def concluded(
    seen: Assessed, judgements: tuple[PlanJudgement, ...], *, answer: Answer | None = None,
    group: GroupSeen | None = None, token: str = "",
) -> Decision:  # fmt: skip
    """The decision that follows from what every guardrail said; `answer` is a set's own."""
    evidence, effective = seen.evidence, seen.effective
    observation = evidence.observation
    answer = answer or answered(seen, judgements)
    owner = code_owner(observation.volume.tags, seen.policy.code_tags)
    return Decision(
        decision_id=decision_id_of(evidence, token),
        at=observation.at,
        trigger=evidence.trigger,
        observation=observation,
        standing=evidence.standing,
        policy_version=seen.policy.version,
        effective=effective,
        price_source=_priced_by(evidence, ", ", "none"),
        current_usd=price_now(evidence),
        demand=seen.demand,
        diagnosis=seen.diagnosis,
        judgements=judgements,
        answer=answer,
        summary=summary_of(observation, _seen(seen), answer),
        next_change_at=seen.weighed.next_change,
        code_owner=owner,
        write_back=written_back(observation, effective, owner, answer),
        group=group,
        space=seen.space,
    )  # fmt: skip


def decision_id_of(evidence: Evidence, token: str = "") -> str:
    """The id that follows from the evidence and, if it is of a set, from that of the others."""
    policy, _ = policy_of(evidence)
    return digest(
        evidence.trigger, evidence.observation, evidence.standing, policy.version,
        _priced_by(evidence, " ", ""), *((token,) if token else ()),
    )[:20]  # fmt: skip


def _priced_by(evidence: Evidence, between: str, none: str) -> str:
    """Where the price of what was observed is from, and its date; `none` without prices."""
    if evidence.prices is None:
        return none
    source, as_of = evidence.prices.source_of(evidence.observation.volume.configuration)
    return f"{source}{between}{as_of}"


def _seen(seen: Assessed) -> str:
    """What was found of the load, and of free space where that matters, in words."""
    space, said = seen.space, seen.diagnosis.explanation
    unclear = space is not None and space.unclear and seen.effective.limits.grow_space
    if space is None or not (space.short or unclear):
        return said
    calm = seen.diagnosis.binding is Binding.NOTHING
    return space.explanation if calm else f"{space.explanation}; {said}"


def written_back(
    observation: Observation, effective: EffectiveLimits, owner: CodeOwner | None, answer: Answer
) -> tuple[WriteBack, ...]:
    plan = answer.plan if isinstance(answer, Act) else answer.would_take
    if owner is None or plan is None or left_alone(effective, owner):
        return ()
    return write_back(observation.volume, owner, plan.target)


_WHY: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.EXPECTED_AGAIN: "load of earlier days is expected to come again",
        Reason.GIVING_BACK: "less is enough for the coming day",
        Reason.SAME_FOR_LESS: "another type does the same for less",
    }
)
"""What a summary says of an act that no pressure explains."""


def summary_of(observation: Observation, seen: str, answer: Answer) -> str:
    name = observation.volume.ref.resource_id
    match answer:
        case Act(reason=why, plan=plan):
            sign = "+" if plan.price_change_usd >= 0 else "-"
            because = f"{_WHY[why]}: " if why in _WHY else ""
            if answer.approval is not None:
                because = f"{because}a person must agree ({answer.approval}): "
            copy = "; RDS copies all data for hours, and never back" if plan.full_copy else ""
            return (
                f"{name}: {seen}; {because}{plan.origin} -> {plan.target}, "
                f"{sign}${abs(plan.price_change_usd):.2f} a month{copy}"
            )
        case Hold(reason=reason, until=until, would_take=plan):
            text = f"{name}: {seen}; held ({reason.value.replace('_', ' ')})"
            if until is not None:
                text += f" until {until:%Y-%m-%d %H:%M} UTC"
            return text if plan is None else f"{text}; would take {plan.target}"
        case Escalate(cause=cause, remedy=remedy):
            return f"{name}: {seen}; {cause.replace('_', ' ')}: {remedy}"


__all__ = [
    "Act", "Answer", "Assessed", "Decision", "Escalate", "Evidence", "Hold", "Reason", "assessed",
    "case_of", "concluded", "decide", "decision_id_of", "reason_of",
]  # fmt: skip
