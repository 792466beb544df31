"""Escalations: the owner is notified once per episode and cause of what only the owner can change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Action, Escalate, Hold, Reason
from headroom.domain.decision.approval import why_approval
from headroom.domain.decision.decision_input import (
    IN_SIGHT,
    Analysis,
    DecisionInput,
    policy_of,
)
from headroom.domain.guardrails import Guardrail, PlanJudgement, distance
from headroom.domain.planning import Plan
from headroom.domain.policy import CodeOwned, EffectiveLimits
from headroom.domain.resources import CodeOwner, code_owner, spoken

KNOWN_EVENT = "known_event"
"""Beginning of the causes of an announced load that cannot be served."""
NEARLY_ALL = 0.05
"""Share of an announced load that may stay late and count as served."""
LARGER_INSTANCE = "use a larger instance, or spread the load; a faster volume would change nothing"
ONLY_IN_BURSTS = " beyond the instance's own bursts, which Headroom does not count on"
MORE_OF_THEIR_WORK = (
    "a fixed number of workers waits for this volume and would use up any limit; if more of their "
    "work is wanted, raise the volume yourself"
)
NOT_WORTH_IT = (
    "no allowed change is worth its price, not even {} for ${:.2f} a month more; raise "
    "relief_value_usd_per_minute, or change the volume yourself"
)
LATE_METRICS = (
    "it was at its limit for {} measured minutes, but what it does now is not published yet, and "
    "nothing is changed on old metrics; see whether CloudWatch is late and whether its instance "
    "runs, or change the volume yourself"
)
SLOW_BELOW_LIMITS = (
    "no limit was touched, so more IOPS or throughput would change nothing; look for first reads of a "
    "snapshot, a stalled volume, or the type's own latency, and set latency_objective_ms if a faster "
    "type is wanted"
)
TAG_NOT_UNDERSTOOD = "{}; correct the tag: until then Headroom only watches this volume"
LARGER_CLASS = (
    "use a larger DB instance class, or spread the load; faster storage would change nothing"
)


def escalate_once(
    decision_input: DecisionInput, effective: EffectiveLimits, reason: Reason, cause: str, remedy: str,
    plan: Plan | None,
) -> Action:  # fmt: skip
    """Escalate for resources that are enrolled, or would be if their tags were understood; else hold.

    Once per episode and cause.
    """
    policy, _ = policy_of(decision_input)
    owner = code_owner(decision_input.observation.volume.tags, policy.code_tags)
    notified = cause in decision_input.resource_state.escalated_causes
    told = effective.enrolled or effective.kept_out
    if not told or notified or unmanaged(effective, owner):
        return Hold(reason=reason, until=None, proposed_plan=plan)
    remedy = spoken(decision_input.observation.volume.ref.kind, remedy)
    return Escalate(reason=reason, cause=cause, remedy=remedy, proposed_plan=plan)


def announced_in_vain(analysis: Analysis, judgements: Sequence[PlanJudgement]) -> Escalate | None:
    """Tell people, once a month, of a known event within sight that cannot be served in time without them."""
    situation, decision_input = analysis.situation, analysis.decision_input
    at, current = decision_input.observation.at, decision_input.observation.volume.configuration
    can = capability(current)
    for load in () if situation is None else situation.known_loads:
        if not at < load.start <= at + IN_SIGHT:
            continue
        if load.share_late((can.sustained_iops, can.sustained_mibps)) <= NEARLY_ALL:
            continue
        ways = [
            j for j in judgements
            if load.share_late((j.plan.capability.sustained_iops, j.plan.capability.sustained_mibps))
            <= NEARLY_ALL
        ]  # fmt: skip
        why = _why_in_vain(analysis, ways, load.start)
        if why is None:
            continue
        takes = f"{load.iops:,.0f} IOPS" if load.iops else f"{load.mibps:,.0f} MiB/s"
        plan = min(ways, key=distance).plan if ways else None
        found = escalate_once(
            decision_input, analysis.effective, Reason.BLOCKED_PERMANENTLY,
            f"{KNOWN_EVENT} {load.name} of {load.start:%Y-%m}",
            f"it is due at {load.start:%Y-%m-%d %H:%M} UTC and takes {takes}, the volume sustains "
            f"{can.sustained_iops:,.0f} IOPS and {can.sustained_mibps:,.0f} MiB/s, and {why}; change "
            "the volume yourself before, or the policy",
            plan,
        )  # fmt: skip
        if isinstance(found, Escalate):
            return found
    return None


def _why_in_vain(analysis: Analysis, ways: Sequence[PlanJudgement], start: datetime) -> str | None:
    """Why none of the plans that serve an event can begin in time by itself; None if one can."""
    if not ways:
        return None if _in_two_steps(analysis) else "no change that Headroom may make serves that"
    if any(v.guardrail is Guardrail.MODE for v in ways[0].blocking):
        return None
    nearest = min(ways, key=distance)
    late = [
        v for v in nearest.blocking
        if not v.temporary or (v.clears_at is not None and v.clears_at > start)
    ]  # fmt: skip
    if late:
        names = ", ".join(v.guardrail.value for v in late)
        return f"{nearest.plan.target} is blocked by {names} until then"
    approval = why_approval(analysis.effective.limits, nearest.plan)
    if approval is not None and analysis.decision_input.resource_state.approval_request is None:
        return f"Headroom will ask for approval only shortly before ({approval})"
    return None


def _in_two_steps(analysis: Analysis) -> bool:
    """Whether the ceilings allow all announced load, only not in one of the owner's largest steps."""
    situation = analysis.situation
    if situation is None:
        return False
    limits, can = situation.limits, capability(situation.current)
    step = limits.largest_step
    return all(
        load.iops <= limits.max_iops and load.mibps <= limits.max_throughput_mibps
        for load in situation.known_loads
    ) and any(
        load.iops > step * can.burst_iops or load.mibps > step * can.burst_mibps
        for load in situation.known_loads
    )


def unmanaged(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nobody is even notified: code owns the volume, and the policy says `leave`."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE
