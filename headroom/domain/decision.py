"""The decision, and everything it was made from. Read this file first.

observation + standing -> estimate -> diagnose -> past -> plans, weighed -> judge -> Act, Hold or
Escalate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from headroom.domain.approval import asked_early, quiet_until, refused_until, why_approval
from headroom.domain.blocking import clear_at, distance
from headroom.domain.demand import Binding, Demand, Diagnosis, Shape
from headroom.domain.diagnose import diagnose
from headroom.domain.digest import digest
from headroom.domain.estimate import estimate
from headroom.domain.free_space import SpaceForecast, space_forecast
from headroom.domain.groups import GroupSeen, GroupStanding
from headroom.domain.guardrails import MIN_KNOWN_MINUTES, Case, judge
from headroom.domain.limits import CodeOwned
from headroom.domain.observation import Observation
from headroom.domain.owners import CodeOwner, code_owner
from headroom.domain.past import Past, past
from headroom.domain.planner import Situation
from headroom.domain.plans import Plan
from headroom.domain.policy import (
    EffectiveLimits,
    Limits,
    Mode,
    Policy,
    PolicyUnreadable,
    limits_for,
)
from headroom.domain.pricing import PriceTable, PriceUnknown
from headroom.domain.resources import LATER, Configuration, VolumeType, spoken
from headroom.domain.space_answer import Grow, Tell, Wait, for_this_owner, on_space
from headroom.domain.space_plans import with_space
from headroom.domain.standing import WINDOW, Signature, Standing
from headroom.domain.trades import only_unused
from headroom.domain.verdicts import Guardrail, PlanJudgement, Verdict
from headroom.domain.waiting import PLACES, WAITED_FOR
from headroom.domain.way_back import lowered_from
from headroom.domain.weigh import NOTHING_WEIGHED, Weighed, weigh
from headroom.domain.write_back import WriteBack, write_back


class Reason(StrEnum):
    """Why, for counting and for people; code never branches on it."""

    STARVED = "starved"
    DEPLETION_FORESEEN = "depletion_foreseen"
    EXPECTED_AGAIN = "expected_again"
    """Load of earlier days is expected to come again: raised before it does."""
    GIVING_BACK = "giving_back"
    """Less is enough for what is expected."""
    SAME_FOR_LESS = "same_for_less"
    """Another type does what this one can, at a lower price."""
    NO_PRESSURE = "no_pressure"
    NOT_WORTH_IT = "not_worth_it"
    INSTANCE_IS_THE_LIMIT = "instance_is_the_limit"
    NO_PLAN = "no_plan"
    BLOCKED_FOR_NOW = "blocked_for_now"
    BLOCKED_FOR_GOOD = "blocked_for_good"
    AWAITING_APPROVAL = "awaiting_approval"
    """It would be done; a request for approval waits."""
    DECLINED = "declined"
    """It would be asked for, but something alike was rejected or ran out lately."""
    ROLLED_BACK = "rolled_back"
    """A change is undone because somebody, or the policy, wants it."""
    OBSERVE_ONLY = "observe_only"
    DATA_TOO_THIN = "data_too_thin"
    SPACE_RUNS_OUT = "space_runs_out"
    """A database's storage is about to be full, or less is free than its owner wants."""
    SPACE_UNCLEAR = "space_unclear"
    """It may be filling, but that is too young, or too little measured, to grow it for good."""
    POLICY_UNREADABLE = "policy_unreadable"
    PRICE_UNKNOWN = "price_unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Change the volume to `plan.target`.

    With `approval`, only once a person agreed, before `expires`; it says why a person must.
    """

    reason: Reason
    plan: Plan
    approval: str | None = None
    expires: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Do nothing for now. `until` is when a blocking guardrail clears, None if no such instant."""

    reason: Reason
    until: datetime | None
    would_take: Plan | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalate:
    """Do nothing, and tell the owner what only the owner can change."""

    reason: Reason
    cause: str
    remedy: str
    would_take: Plan | None


Answer = Act | Hold | Escalate


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
        return "" if self.space is None or self.space.eased else "+space"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All inputs of a decision. `prices` is None when no price is known for the Region."""

    trigger: str
    observation: Observation
    standing: Standing
    policy: Policy | PolicyUnreadable
    prices: PriceTable | None
    also: Configuration | None = None
    """A target to weigh beside those that the planner finds; not part of the decision's id."""


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
NOTHING_ALLOWED = Policy(version="unreadable", defaults=Limits(mode=Mode.OFF))
"""What stands in for a policy nobody can read: it allows nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessed:
    """What the evidence of one volume says, before any plan is judged."""

    evidence: Evidence
    policy: Policy
    effective: EffectiveLimits
    demand: Demand
    diagnosis: Diagnosis
    situation: Situation | None
    """None where no price is known."""
    weighed: Weighed
    space: SpaceForecast | None = None


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


def assessed(evidence: Evidence) -> Assessed:
    """What is wanted, what binds, and which plans there are, best first."""
    observation = evidence.observation
    policy, effective = _policy(evidence)
    demand = estimate(observation)
    diagnosis = diagnose(observation, demand)
    situation, weighed = None, NOTHING_WEIGHED
    space = for_this_owner(
        space_forecast(observation, evidence.standing.modifications, effective.limits),
        effective.limits, observation.at,
    )  # fmt: skip
    if evidence.prices is not None:
        situation = _situation(evidence, evidence.prices, effective, demand, diagnosis)
        weighed = weighed if situation is None else weigh(situation)
    if situation is not None and space is not None:
        weighed = replace(weighed, plans=with_space(situation, space, weighed.plans))
    return Assessed(
        evidence=evidence, policy=policy, effective=effective, demand=demand,
        diagnosis=diagnosis, situation=situation, weighed=weighed, space=space,
    )  # fmt: skip


def case_of(
    seen: Assessed, plan: Plan, standing: Standing, group: GroupStanding | None = None
) -> Case:
    """What the guardrails look at for one plan."""
    return Case(
        plan=plan, observation=seen.evidence.observation, demand=seen.demand,
        diagnosis=seen.diagnosis, standing=standing, policy=seen.policy,
        effective=seen.effective, known_days=seen.weighed.known_days, group=group,
        space=seen.space,
    )  # fmt: skip


def decision_id_of(evidence: Evidence, token: str = "") -> str:
    """The id that follows from the evidence and, if it is of a set, from that of the others."""
    policy, _ = _policy(evidence)
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


def concluded(
    seen: Assessed, judgements: tuple[PlanJudgement, ...], *, answer: Answer | None = None,
    group: GroupSeen | None = None, token: str = "",
) -> Decision:  # fmt: skip
    """The decision that follows from what every guardrail said; `answer` is a set's own."""
    evidence, effective = seen.evidence, seen.effective
    observation = evidence.observation
    answer = answer or _for_space(seen, judgements) or _answer(
        evidence, effective, seen.demand, seen.diagnosis,
        tuple(j for j in judgements if j.plan.growth is None),
    )  # fmt: skip
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
        current_usd=_price_now(evidence),
        demand=seen.demand,
        diagnosis=seen.diagnosis,
        judgements=judgements,
        answer=answer,
        summary=_summary(observation, _seen(seen), answer),
        next_change_at=seen.weighed.next_change,
        code_owner=owner,
        write_back=_write_back(observation, effective, owner, answer),
        group=group,
        space=seen.space,
    )  # fmt: skip


def _seen(seen: Assessed) -> str:
    """What was found of the load, and of free space where that matters, in words."""
    space, said = seen.space, seen.diagnosis.explanation
    unclear = space is not None and space.unclear and seen.effective.limits.grow_space
    if space is None or not (space.short or unclear):
        return said
    calm = seen.diagnosis.binding is Binding.NOTHING
    return space.explanation if calm else f"{space.explanation}; {said}"


def _for_space(seen: Assessed, judgements: tuple[PlanJudgement, ...]) -> Answer | None:
    """The answer that free space asks for: a database that is full stops, whatever its load."""
    evidence, effective = seen.evidence, seen.effective
    if isinstance(evidence.policy, PolicyUnreadable):
        return None
    calm = seen.diagnosis.binding is Binding.NOTHING
    asked = on_space(
        seen.space, evidence.observation.volume.facts, effective.limits, judgements,
        evidence.observation.at, priced=_price_now(evidence) is not None,
    )  # fmt: skip
    match asked:
        case None:
            return None
        case Grow(plan=plan):
            return _act(evidence, effective, Reason.SPACE_RUNS_OUT, plan)
        case Wait(unclear=True):
            hold = Hold(reason=Reason.SPACE_UNCLEAR, until=None, would_take=None)
            return hold if calm else None
        case Wait(plan=plan, observed=True):
            return Hold(reason=Reason.OBSERVE_ONLY, until=None, would_take=plan)
        case Wait(plan=plan, until=until):
            return Hold(reason=Reason.BLOCKED_FOR_NOW, until=until, would_take=plan)
        case Tell(cause=cause, remedy=remedy, plan=plan):
            answer = _told_once(
                evidence, effective, Reason.SPACE_RUNS_OUT, cause, remedy, plan
            )  # fmt: skip
            # Told already: what the load wants is seen to, as far as it does not keep space out.
            return answer if calm or isinstance(answer, Escalate) else None


def _write_back(
    observation: Observation, effective: EffectiveLimits, owner: CodeOwner | None, answer: Answer
) -> tuple[WriteBack, ...]:
    plan = answer.plan if isinstance(answer, Act) else answer.would_take
    if owner is None or plan is None or _left_alone(effective, owner):
        return ()
    return write_back(observation.volume, owner, plan.target)


def _left_alone(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nothing is even said of the volume: its owner is code, and the policy says leave."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE


def _policy(evidence: Evidence) -> tuple[Policy, EffectiveLimits]:
    policy = evidence.policy
    if isinstance(policy, PolicyUnreadable):
        return NOTHING_ALLOWED, EffectiveLimits(
            limits=NOTHING_ALLOWED.defaults, mode_from="unreadable policy", enrolled=False,
            problem=policy.reason,
        )  # fmt: skip
    return policy, limits_for(policy, evidence.observation.volume)


def _situation(
    evidence: Evidence, prices: PriceTable, effective: EffectiveLimits, demand: Demand,
    diagnosis: Diagnosis,
) -> Situation | None:  # fmt: skip
    standing, now_usd = evidence.standing, _price_now(evidence)
    if now_usd is None:
        return None
    others = standing.account_increase_usd - standing.own_increase_usd
    policy, _ = _policy(evidence)
    at = evidence.observation.at
    return Situation(
        observation=evidence.observation,
        past=_past(evidence, effective.limits),
        demand=demand,
        diagnosis=diagnosis,
        limits=effective.limits,
        prices=prices,
        baseline_usd=now_usd if standing.enrolment_usd is None else standing.enrolment_usd,
        account_left_usd=max(Decimal(0), policy.account_increase_usd - others),
        starts=tuple(m.started_at for m in standing.modifications if m.started_at > at - WINDOW),
        lowered_from=lowered_from(
            standing.modifications, evidence.observation.volume.configuration
        ),
        also=evidence.also,
    )


def _past(evidence: Evidence, limits: Limits) -> Past:
    """Earlier days, busy where they wanted more than the least of the cheapest type allowed."""
    gp3 = VolumeType.GP3 in limits.types
    return past(
        evidence.observation, evidence.standing.modifications,
        least_iops=3_000 if gp3 else 100, least_mibps=125 if gp3 else 25,
    )  # fmt: skip


def _price_now(evidence: Evidence) -> Decimal | None:
    if evidence.prices is None:
        return None
    try:
        return evidence.prices.monthly(evidence.observation.volume.configuration)
    except PriceUnknown:
        return None


def _answer(
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
        return _told_once(
            evidence, effective, Reason.INSTANCE_IS_THE_LIMIT, diagnosis.binding.value,
            LARGER_INSTANCE if database is None else LARGER_CLASS, None,
        )  # fmt: skip
    if _price_now(evidence) is None:
        return _told_once(
            evidence, effective, Reason.PRICE_UNKNOWN, "price_unknown",
            "no price is known for this volume type in this Region, and nothing is bought without",
            None,
        )  # fmt: skip
    if not judgements:
        return _told_once(
            evidence, effective, Reason.NO_PLAN, "no_plan",
            "no type and size that AWS offers relieves this volume without growing or losing speed",
            None,
        )  # fmt: skip
    if best is not None:
        return _act(evidence, effective, _why(demand, diagnosis, best.plan), best.plan)
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


def _act(evidence: Evidence, effective: EffectiveLimits, reason: Reason, plan: Plan) -> Answer:
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
        return _act(evidence, effective, _reason_in_calm(best.plan), best.plan)
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
        return _told_once(evidence, effective, Reason.BLOCKED_FOR_GOOD, names, remedy, plan)
    if {v.guardrail for v in others} - WAITED_FOR == {Guardrail.WORTH_IT}:
        if demand.shape is Shape.CLOSED_LOOP:
            return _told_once(
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


def _told_once(
    evidence: Evidence, effective: EffectiveLimits, reason: Reason, cause: str, remedy: str,
    plan: Plan | None,
) -> Answer:  # fmt: skip
    """Escalate for enrolled resources, once per episode and cause; else hold."""
    policy, _ = _policy(evidence)
    owner = code_owner(evidence.observation.volume.tags, policy.code_tags)
    told = cause in evidence.standing.escalated_causes
    if not effective.enrolled or told or _left_alone(effective, owner):
        return Hold(reason=reason, until=None, would_take=plan)
    said = spoken(evidence.observation.volume.ref.kind, remedy)
    return Escalate(reason=reason, cause=cause, remedy=said, would_take=plan)


_WHY: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.EXPECTED_AGAIN: "load of earlier days is expected to come again",
        Reason.GIVING_BACK: "less is enough for the coming day",
        Reason.SAME_FOR_LESS: "another type does the same for less",
    }
)
"""What a summary says of an act that no pressure explains."""


def _summary(observation: Observation, seen: str, answer: Answer) -> str:
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
