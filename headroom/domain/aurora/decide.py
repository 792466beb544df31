"""A decision about an Aurora cluster's storage mode, as a Decision like any other.

What the mode is worth is worked out in aurora_decision; here it is judged by the guardrails of all
storage as well as its own, and becomes a plan that the same ledger, records and people handle.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.aurora.storage_mode import (
    AuroraAct,
    AuroraDecision,
    AuroraEscalate,
    AuroraHold,
    AuroraReason,
)
from headroom.domain.aurora.storage_mode import decide_storage_mode as decide_mode
from headroom.domain.aurora.summary import action_summary, bill_check_summary, bill_summary
from headroom.domain.catalog.aurora import AuroraPrices
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import (
    EXPLAINED,
    Action,
    BillCheck,
    BilledIoDay,
    ClusterDetail,
    Decision,
    DecisionInput,
    Hold,
    Reason,
    act_or_hold,
    escalate_once,
    policy_of,
    requested_in_advance,
    written_back,
)
from headroom.domain.guardrails import (
    AuroraCase,
    AuroraPlan,
    Case,
    Guardrail,
    PlanJudgement,
    Verdict,
    all_clear_at,
    judge,
    limits_of,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import EffectiveLimits, PolicyUnreadable
from headroom.domain.resources import (
    AuroraObservation,
    Configuration,
    Goal,
    Series,
    StorageMode,
    VolumeActivity,
    VolumeType,
    code_owner,
    digest,
)
from headroom.domain.state import ResourceState
from headroom.domain.workload import DAYS, Binding, Demand, Diagnosis, Estimate, LoadShape

LANDS = timedelta(minutes=30)
"""How long a change of mode usually takes; AWS names no time."""
CENT = Decimal("0.01")
HOURS_A_MONTH = 730
_REASONS: Mapping[AuroraReason, Reason] = MappingProxyType(
    {reason: Reason(reason.value) for reason in AuroraReason}
)
_CONTENT = frozenset(
    {AuroraReason.ALREADY_CHEAPEST, AuroraReason.FAST_ENOUGH, AuroraReason.KEPT_FOR_PERFORMANCE}
)
"""Reasons by which a cluster is in the mode that is right for it."""
_REMEDY: Mapping[Guardrail, str] = MappingProxyType(
    {
        Guardrail.ENGINE_VERSION: "upgrade the engine to a version that knows I/O-Optimized",
        Guardrail.RESTART: "allow it with aurora_restart, best with a change window",
        Guardrail.PARALLEL_QUERY: "turn parallel query off and let it be read "
        "(rds:DescribeDBClusterParameters), or leave the cluster in Standard",
        Guardrail.RESERVATIONS: "let reservations be read (rds:DescribeReservedDBInstances)",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDecisionInput:
    """All inputs of a decision about a cluster; `evidence` has what all decisions have."""

    decision_input: DecisionInput
    seen: AuroraObservation
    prices: AuroraPrices | None
    noted: tuple[BilledIoDay, ...] = ()
    """Days under the other mode, noted before it was left."""
    check: BillCheck | None = None
    """The bill since our own switch beside its forecast, once it can be told."""


def configuration_of(mode: StorageMode) -> Configuration:
    """What ModifyDBCluster sets of an Aurora cluster's storage: its mode alone."""
    return Configuration(
        volume_type=VolumeType(mode.value), size_gib=0, iops=None, throughput_mibps=None
    )


def mode_of(configuration: Configuration) -> StorageMode:
    """The mode that a cluster's configuration says; raises ValueError for other storage."""
    return StorageMode(configuration.volume_type.value)


def empty_activity(seen: AuroraObservation) -> VolumeActivity:
    """A cluster publishes nothing that a volume does: every series is empty."""
    nothing = Series(start=seen.at, period_s=300, values=())
    return VolumeActivity(
        read_iops=nothing, write_iops=nothing, read_mibps=nothing, write_mibps=nothing,
        queue_length=nothing, latency_ms=nothing, burst_balance_percent=nothing,
        iops_exceeded=nothing, throughput_exceeded=nothing,
    )  # fmt: skip


def decide_cluster(found: ClusterDecisionInput) -> Decision:
    """What to do about one cluster; a pure function of the evidence."""
    decision_input = found.decision_input
    policy, effective = policy_of(decision_input)
    said = decide_mode(
        found.seen, limits=limits_of(effective.limits), prices=found.prices,
        trigger=decision_input.trigger,
    )  # fmt: skip
    mode = found.seen.cluster.mode
    current = None if said.bills is None else said.bills.of(mode).total_usd.quantize(CENT)
    resource_state = with_price_baseline(decision_input.resource_state, current)
    diagnosis = _diagnosis(said)
    judgements: tuple[PlanJudgement, ...] = ()
    case = case_of(found, said, effective, diagnosis, resource_state)
    if case is not None:
        judgements = (judge(case),)
    answer = _answer(decision_input, effective, said, judgements)
    owner = code_owner(decision_input.observation.volume.tags, policy.code_tags)
    side = ClusterDetail(
        cluster=found.seen.cluster, goal=effective.limits.aurora_goal, demand=said.demand,
        bills=said.bills, told=_told(said), noted=found.noted, check=found.check,
    )  # fmt: skip
    return Decision(
        decision_id=digest(
            decision_input.trigger, found.seen, decision_input.observation.volume, decision_input.resource_state,
            policy.version, said.price_source, *(() if found.check is None else (found.check,)),
        )[:20],
        at=found.seen.at,
        trigger=decision_input.trigger,
        observation=decision_input.observation,
        resource_state=decision_input.resource_state,
        policy_version=policy.version,
        effective=effective,
        price_source=said.price_source,
        current_usd=current,
        demand=_demand(said),
        diagnosis=diagnosis,
        judgements=judgements,
        answer=answer,
        summary=_summary(found, said, answer, side),
        code_owner=owner,
        write_back=written_back(decision_input.observation, effective, owner, answer),
        cluster=side,
    )  # fmt: skip


def with_price_baseline(
    resource_state: ResourceState, current_usd: Decimal | None
) -> ResourceState:
    """The standing with what increases are counted from: today's bill less what we added to it.

    A cluster's bill moves with its load, so that its price at enrolment says nothing of what a
    change of mode adds.
    """
    if current_usd is None:
        return resource_state
    return replace(resource_state, enrolment_usd=current_usd - resource_state.resource_increase_usd)


def case_of(
    found: ClusterDecisionInput, said: AuroraDecision, effective: EffectiveLimits,
    diagnosis: Diagnosis, resource_state: ResourceState, plan: AuroraPlan | None = None,
) -> Case | None:  # fmt: skip
    """What the guardrails look at; `plan` is another one than the engine's own.

    None where there is no bill to judge by.
    """
    if said.bills is None or said.judgement is None or found.prices is None:
        return None
    policy, _ = policy_of(found.decision_input)
    chosen = plan or said.judgement.plan
    about = AuroraCase(
        observation=found.seen, limits=limits_of(effective.limits), demand=said.demand,
        prices=found.prices, now=said.bills, plan=chosen,
    )  # fmt: skip
    return Case(
        plan=plan_of(chosen), observation=found.decision_input.observation, demand=_demand(said),
        diagnosis=diagnosis, resource_state=resource_state, policy=policy, effective=effective, cluster=about,
    )  # fmt: skip


def plan_of(plan: AuroraPlan) -> Plan:
    """The change of mode as a plan like any other; its worth is what it saves a day."""
    target = configuration_of(plan.target)
    change = plan.price_change_usd.quantize(CENT)
    return Plan(
        origin=configuration_of(plan.origin), target=target, why=plan.why, demand_iops=0.0,
        demand_mibps=0.0, meets_need=True, capability=capability(target),
        monthly_usd=plan.monthly_usd.quantize(CENT), price_change_usd=change, time_to_effect=LANDS,
        reversible=plan.reversible, relieved_minutes_per_day=0.0,
        value_usd_per_day=round(-float(change) * 24 / HOURS_A_MONTH, 4), capped_from=None,
    )  # fmt: skip


def _answer(
    decision_input: DecisionInput, effective: EffectiveLimits, said: AuroraDecision,
    judgements: tuple[PlanJudgement, ...],
) -> Action:  # fmt: skip
    """The engine's answer where it wants nothing; else what the guardrails of all make of its plan."""
    if isinstance(decision_input.policy, PolicyUnreadable):
        return Hold(reason=Reason.POLICY_UNREADABLE, until=None, proposed_plan=None)
    if not judgements:
        return _without_bill(decision_input, effective, said.answer)
    judged, engine = judgements[0], said.answer
    if isinstance(engine, AuroraHold) and engine.reason in _CONTENT | {
        AuroraReason.NOT_COST_EFFECTIVE
    }:
        would = None if engine.proposed_plan is None else judged.plan
        return Hold(reason=_REASONS[engine.reason], until=None, proposed_plan=would)
    speed = said.judgement is not None and said.judgement.plan.goal is Goal.PERFORMANCE
    return action_for(
        decision_input, effective, judged, Reason.SLOW_COMMITS if speed else Reason.CHEAPER
    )


def _without_bill(
    decision_input: DecisionInput,
    effective: EffectiveLimits,
    engine: AuroraAct | AuroraHold | AuroraEscalate,
) -> Action:
    if isinstance(engine, AuroraEscalate):
        return escalate_once(
            decision_input, effective, _REASONS[engine.reason], engine.cause, engine.remedy, None
        )
    return Hold(reason=_REASONS[engine.reason], until=None, proposed_plan=None)


def action_for(
    decision_input: DecisionInput, effective: EffectiveLimits, judged: PlanJudgement, reason: Reason
) -> Action:
    """Act on a plan that is wanted, or hold, or tell its owner, by what stands in the way of it."""
    at, limits = decision_input.observation.at, effective.limits
    if judged.allowed or requested_in_advance(limits, judged, at):
        return act_or_hold(decision_input, effective, reason, judged.plan)
    if any(v.guardrail is Guardrail.MODE for v in judged.blocking):
        return Hold(reason=Reason.OBSERVE_ONLY, until=None, proposed_plan=judged.plan)
    lasting = [v for v in judged.blocking if not v.temporary]
    if not lasting:
        return Hold(
            reason=Reason.BLOCKED_TEMPORARILY,
            until=all_clear_at(judged.blocking),
            proposed_plan=judged.plan,
        )
    return escalate_once(
        decision_input, effective, Reason.BLOCKED_PERMANENTLY,
        "+".join(v.guardrail.value for v in lasting), _remedy(lasting), judged.plan,
    )  # fmt: skip


def _remedy(lasting: Sequence[Verdict]) -> str:
    """What the owner can do, in the guardrails' own words where they have some."""
    said = [
        _REMEDY.get(v.guardrail) or (v.detail if v.guardrail in EXPLAINED else "") for v in lasting
    ]
    rest = [v.guardrail.value for v, words in zip(lasting, said, strict=True) if not words]
    told = [words for words in said if words]
    return "; ".join([*told, *([f"the owner could change: {', '.join(rest)}"] if rest else [])])


def _told(said: AuroraDecision) -> str:
    return said.answer.told if isinstance(said.answer, AuroraHold) else ""


def _diagnosis(said: AuroraDecision) -> Diagnosis:
    """What binds is the bill: there is no IOPS to be short of."""
    reason = said.answer.reason
    binding = Binding.STORAGE_MODE
    if reason in _CONTENT:
        binding = Binding.NOTHING
    elif reason is AuroraReason.NOT_ENOUGH_DATA:
        binding = Binding.UNKNOWN
    return Diagnosis(
        binding=binding, volume_iops_limit=0.0, volume_mibps_limit=0.0, instance_iops_left=None,
        instance_mibps_left=None, explanation=_explanation(said),
    )  # fmt: skip


def _explanation(said: AuroraDecision) -> str:
    days = len(said.demand.days)
    if said.bills is None:
        if not said.demand.known:
            return f"no billed I/O is published under {said.observation.cluster.mode}"
        return f"{days} of {DAYS} whole days are known"
    return f"{bill_summary(said.bills)}, by {days} whole days"


def _demand(said: AuroraDecision) -> Demand:
    """Of IOPS and MiB/s a cluster wants none that anybody could set; `confidence` is of the days."""
    none = Estimate(floor=0.0, likely=0.0, upper=0.0, censored=False)
    known = len(said.demand.days)
    return Demand(
        iops=none, mibps=none, shape=LoadShape.UNCONSTRAINED if known else LoadShape.UNKNOWN, tail=0.0,
        confidence=min(1.0, known / DAYS), known_minutes=known * 24 * 60, pressed_minutes=0,
        expected_starved_minutes=0.0, credits=None, peak_iops=0.0, peak_mibps=0.0,
        clear_minutes=0, basis=f"{known} whole days",
    )  # fmt: skip


def _summary(
    found: ClusterDecisionInput, said: AuroraDecision, answer: Action, side: ClusterDetail
) -> str:
    text = f"{found.seen.cluster.ref.resource_id}: {_explanation(said)}; {action_summary(answer)}"
    if found.check is not None:
        text += f"; {bill_check_summary(found.check)}"
    return f"{text}; {side.told}" if side.told else text
