"""What a guardrail may read, and the verdict it gives."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from headroom.domain.catalog.aurora import AuroraPrices, Bills
from headroom.domain.catalog.ebs import capability
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.planning import GroupConstraint, Plan
from headroom.domain.policy import EffectiveLimits, Policy
from headroom.domain.resources import AuroraObservation, Goal, Observation, SeenMembers
from headroom.domain.state import ResourceState
from headroom.domain.workload import (
    ON_INSTANCE,
    AuroraDemand,
    Demand,
    Diagnosis,
    SpaceForecast,
    limited_all_day,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCase:
    """What guardrails need of an Aurora cluster: its whole days, and the bill in both modes."""

    observation: AuroraObservation
    demand: AuroraDemand
    prices: AuroraPrices
    bills: Bills
    goal: Goal
    """What the plan is for: a lower bill, or faster commits."""
    earlier_members: tuple[SeenMembers, ...] = ()
    """Those of the last days that the cluster does not have now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One plan and everything a guardrail may read."""

    plan: Plan
    observation: Observation
    demand: Demand
    diagnosis: Diagnosis
    resource_state: ResourceState
    policy: Policy
    effective: EffectiveLimits
    known_days: float = 0.0
    """Days of the past that were measured."""
    group: GroupConstraint | None = None
    """The state of the volume's striped set; None where none was read."""
    cluster: ClusterCase | None = None
    """None for storage of other kinds."""
    approved_usd: Decimal | None = None
    """The price change a person agreed to, USD per month, when an approved plan is judged again."""
    space: SpaceForecast | None = None
    """The forecast of a database's free space; None where there is none."""
    next_growth_usd: Decimal = Decimal(0)
    """The price of the growth for space that will be needed within a day, USD per month."""


def gives_back_unreached(case: Case) -> bool:
    """Whether a plan lowers nothing but what the instance let nothing through of all day, and leaves what it gives."""
    plan = case.plan
    if (
        plan.sustains_more
        or plan.price_change_usd >= 0
        or case.diagnosis.binding not in ON_INSTANCE
    ):
        return False
    iops, mibps = limited_all_day(case.diagnosis, case.resource_state.profile)
    now, then = capability(plan.origin), plan.capability
    with_iops = plan.target.throughput_mibps is None
    return (
        then.sustained_iops >= now.sustained_iops
        or (iops is not None and then.sustained_iops >= iops)
    ) and (
        then.sustained_mibps >= now.sustained_mibps
        or (mibps is not None and then.sustained_mibps >= mibps)
        or (with_iops and iops is not None)
    )


def verdict_of(
    guardrail: Guardrail,
    relation: Relation,
    value: int | float | Decimal | str | bool | None,
    limit: int | float | Decimal | str | bool | tuple[str, ...] | None,
    unit: str,
    detail: str = "",
    *,
    clears_at: datetime | None = None,
    temporary: bool = False,
) -> Verdict:
    """The verdict that compares `value` with `limit`."""
    return Verdict(
        guardrail=guardrail, relation=relation, value=value, limit=limit, unit=unit, detail=detail,
        clears_at=clears_at, temporary=temporary,
    )  # fmt: skip


@lru_cache(maxsize=256)
def allowed(guardrail: Guardrail, why: str, unit: str = "") -> Verdict:
    """The verdict on a plan that the guardrail does not concern; `why` says so in a few words."""
    return verdict_of(guardrail, Relation.IS, why, why, unit)
