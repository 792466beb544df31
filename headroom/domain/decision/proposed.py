"""What Headroom makes of a configuration that somebody else proposes."""

from __future__ import annotations

from headroom.domain.decision.decision_input import DecisionInput, analyze, case_of
from headroom.domain.guardrails import PlanJudgement, judge
from headroom.domain.planning import value_targets
from headroom.domain.resources import Configuration


def judge_target(decision_input: DecisionInput, target: Configuration) -> PlanJudgement | None:
    """The value of a change to `target` and every guardrail's verdict, as if it were a plan.

    None if AWS would refuse the change or its price is not known.
    """
    analysis = analyze(decision_input)
    if analysis.situation is None:
        return None
    plan = value_targets(analysis.situation, [target]).get(target)
    if plan is None:
        return None
    return judge(case_of(analysis, plan, decision_input.resource_state))
