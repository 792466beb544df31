"""What a record keeps of a decision: the plans that mattered in full, the others in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from headroom.domain.decision.decide import Decision
from headroom.domain.guardrails import PlanJudgement
from headroom.domain.planning import Plan

MOST_BLOCKED = 2
"""Better plans than the chosen one that are kept with their verdicts."""


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
