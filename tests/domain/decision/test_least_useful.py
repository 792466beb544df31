"""What an owner is asked to change: of load that a limit hides, the least that helps."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.decision import Act, Decision, Escalate, decide
from headroom.domain.decision.escalation import MORE_LATER, least_useful
from headroom.domain.guardrails import Guardrail, PlanJudgement, Relation, distance
from headroom.domain.policy import Mode, Policy
from headroom.domain.resources import Observation
from headroom.domain.workload import Demand
from tests.builders import activity, decision_input, gp3, instance, observation, policy, volume

LEAST, BEST = gp3(500, 26_401, 500), gp3(500, 35_200, 550)
A_DOLLAR = Decimal(1)


def at_its_limit(mode: Mode = Mode.AUTO) -> Observation:
    """Two hours at 16,000 IOPS, of which nobody knows how much more they want."""
    load = activity(
        [3_000.0] * 10 + [16_000.0] * 120, queue=[4.0] * 10 + [60.0 + 20 * i for i in range(120)],
        iops_check=[0.0] * 10 + [1.0] * 120,
    )  # fmt: skip
    enrolled = volume(gp3(500, 16_000, 500), tags=(("headroom", mode.value),))
    large = instance(baseline_iops=400_000, baseline_mibps=9_000)
    return observation(load, enrolled, instance=large)


def decided(rules: Policy, mode: Mode = Mode.AUTO) -> Decision:
    return decide(decision_input(at_its_limit(mode), rules=rules))


def judged(decision: Decision) -> tuple[PlanJudgement, tuple[PlanJudgement, ...], Demand]:
    return decision.judgements[0], decision.judgements, decision.demand


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (policy(max_iops=16_000), "change max_iops from 16,000 to 26,401 or more"),
        (policy(max_iops=80_000, price_increase_usd=A_DOLLAR),
         "change price_increase_usd_per_month from 1 to 52.01 or more"),
    ],
    ids=["a ceiling", "a price"],
)  # fmt: skip
def test_the_owner_is_asked_for_the_cheapest_plan_that_is_worth_half_of_the_best(
    rules: Policy, asked: str
) -> None:
    decision = decided(rules)
    best = decision.judgements[0].plan
    assert isinstance(decision.answer, Escalate)
    assert decision.plan is not None
    assert (best.target, decision.plan.target) == (BEST, LEAST)
    assert decision.plan.value_usd_per_day >= best.value_usd_per_day / 2
    assert asked in decision.answer.remedy
    assert decision.answer.remedy.endswith(MORE_LATER)


def test_a_plan_that_is_worth_little_is_not_asked_for() -> None:
    best, judgements, demand = judged(decided(policy(max_iops=16_000)))
    little = tuple(
        replace(j, plan=replace(j.plan, value_usd_per_day=best.plan.value_usd_per_day * 0.49))
        if j.plan.target == LEAST
        else j
        for j in judgements
    )
    assert least_useful(best, judgements, demand).plan.target == LEAST
    assert least_useful(best, little, demand) is best


def test_a_plan_that_another_limit_blocks_too_is_not_asked_for() -> None:
    best, judgements, demand = judged(decided(policy(max_iops=16_000)))
    also = next(v for v in best.verdicts if v.guardrail is Guardrail.LARGEST_STEP)
    also = replace(also, value=9.0, limit=4.0)
    other = tuple(
        replace(j, verdicts=(*j.verdicts, also)) if j.plan.target == LEAST else j
        for j in judgements
    )
    assert least_useful(best, other, demand) is best


def test_what_a_load_takes_is_asked_for_in_full_where_it_is_known() -> None:
    best, judgements, demand = judged(decided(policy(max_iops=16_000)))
    assert demand.tail > 0
    assert least_useful(best, judgements, replace(demand, tail=0.0)) is best


def test_an_approval_is_requested_for_the_plan_that_is_worth_most() -> None:
    decision = decided(policy(max_iops=80_000), Mode.APPROVE)
    assert isinstance(decision.answer, Act)
    assert decision.answer.approval is not None
    assert decision.answer.plan == max(
        (j.plan for j in decision.judgements if j.allowed), key=lambda p: p.value_usd_per_day
    )
    assert decision.answer.plan.monthly_usd > min(
        j.plan.monthly_usd for j in decision.judgements if j.allowed
    )


def test_of_plans_that_are_not_worth_it_the_owner_hears_of_the_one_that_loses_least() -> None:
    best, *_ = decided(policy(max_iops=16_000)).judgements
    price, ceiling = (
        next(v for v in best.verdicts if v.guardrail is name)
        for name in (Guardrail.PRICE_PER_RESOURCE, Guardrail.MAX_IOPS)
    )
    worth = next(v for v in best.verdicts if v.guardrail is Guardrail.COST_BENEFIT)
    blocked = [
        replace(v, value=2.0, limit=1.0, relation=Relation.AT_MOST) for v in (price, ceiling)
    ]
    lost = replace(worth, value=-1.0, limit=0.0)
    dear = replace(
        best, verdicts=(blocked[0], lost), plan=replace(best.plan, value_usd_per_day=-59.8)
    )
    cheap = replace(
        best, verdicts=(*blocked, lost), plan=replace(best.plan, value_usd_per_day=-3.2)
    )
    allowed_later = replace(dear, verdicts=(lost,))
    assert min([dear, cheap], key=distance) is cheap
    assert min([dear, cheap, allowed_later], key=distance) is allowed_later


def test_an_owner_who_is_asked_for_a_setting_hears_that_the_plan_is_not_worth_it_even_then() -> (
    None
):
    decision = decided(policy(max_iops=16_000, relief_value_usd_per_minute=0.0001))
    assert isinstance(decision.answer, Escalate)
    assert "change max_iops" in decision.answer.remedy
    assert "a day less than it costs: also raise relief_value" in decision.answer.remedy
