"""Guardrail for databases about to be full: nothing else is changed meanwhile."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.guardrails.case import Case, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import Plan
from headroom.domain.workload import SpaceForecast

NEAR = timedelta(hours=24)
"""How long RDS may work on a change, in which neither anybody nor its autoscaling adds space."""


def space_first(case: Case) -> Verdict:
    """Block all changes except added space while a database is about to be full.

    RDS may work on a change for a day, and accepts no growth from anyone meanwhile.
    """
    space = case.space
    full_at = None if space is None else space.full_at
    near = full_at is not None and full_at <= case.observation.at + NEAR
    plan = case.plan
    if space is None or full_at is None or not near or _adds(plan, space):
        return verdict_of(Guardrail.FREE_SPACE, Relation.IS, "enough", "enough", "")
    return verdict_of(
        Guardrail.FREE_SPACE, Relation.IS, "about to be full", "enough", "",
        f"{space.explanation}; RDS may work on a change for a day, in which nobody adds space",
        temporary=plan.growth is None,  # a copy that comes too late only gets later
    )  # fmt: skip


def _adds(plan: Plan, space: SpaceForecast) -> bool:
    """Whether the plan adds the space in minutes, for whatever reason it grows."""
    enough = plan.growth is not None or plan.target.size_gib >= space.needed_gib
    return plan.grows and enough and not plan.full_copy
