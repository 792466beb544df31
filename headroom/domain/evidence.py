"""What a decision is made from, and what it says before any plan is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

from headroom.domain.demand import Demand, Diagnosis
from headroom.domain.diagnose import diagnose
from headroom.domain.estimate import estimate
from headroom.domain.free_space import SpaceForecast, space_forecast
from headroom.domain.groups import GroupStanding
from headroom.domain.guardrails.case import Case
from headroom.domain.limits import Limits, Mode
from headroom.domain.observation import Observation
from headroom.domain.past import Past, past
from headroom.domain.plans import Plan
from headroom.domain.policy import EffectiveLimits, Policy, PolicyUnreadable, limits_for
from headroom.domain.pricing import PriceTable
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType
from headroom.domain.situation import Situation
from headroom.domain.space_answer import for_this_owner
from headroom.domain.space_plans import with_space
from headroom.domain.standing import WINDOW, Standing
from headroom.domain.way_back import lowered_from
from headroom.domain.weigh import NOTHING_WEIGHED, Weighed, weigh

NOTHING_ALLOWED = Policy(version="unreadable", defaults=Limits(mode=Mode.OFF))
"""What stands in for a policy nobody can read: it allows nothing at all."""


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


def assessed(evidence: Evidence) -> Assessed:
    """What is wanted, what binds, and which plans there are, best first."""
    observation = evidence.observation
    policy, effective = policy_of(evidence)
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


def policy_of(evidence: Evidence) -> tuple[Policy, EffectiveLimits]:
    policy = evidence.policy
    if isinstance(policy, PolicyUnreadable):
        return NOTHING_ALLOWED, EffectiveLimits(
            limits=NOTHING_ALLOWED.defaults, mode_from="unreadable policy", enrolled=False,
            problem=policy.reason,
        )  # fmt: skip
    return policy, limits_for(policy, evidence.observation.volume)


def price_now(evidence: Evidence) -> Decimal | None:
    if evidence.prices is None:
        return None
    try:
        return evidence.prices.monthly(evidence.observation.volume.configuration)
    except PriceUnknown:
        return None


def _situation(
    evidence: Evidence, prices: PriceTable, effective: EffectiveLimits, demand: Demand,
    diagnosis: Diagnosis,
) -> Situation | None:  # fmt: skip
    standing, now_usd = evidence.standing, price_now(evidence)
    if now_usd is None:
        return None
    others = standing.account_increase_usd - standing.own_increase_usd
    policy, _ = policy_of(evidence)
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
