"""Escalations: the owner is notified once per episode and cause of what only the owner can change."""

from __future__ import annotations

from headroom.domain.decision.action import Action, Escalate, Hold, Reason
from headroom.domain.decision.decision_input import (
    DecisionInput,
    policy_of,
)
from headroom.domain.planning import Plan
from headroom.domain.policy import CodeOwned, EffectiveLimits
from headroom.domain.resources import CodeOwner, code_owner, spoken

LARGER_INSTANCE = "use a larger instance, or spread the load; a faster volume would change nothing"
ONLY_IN_BURSTS = (
    " beyond the instance's own bursts, which count only for load that was short every time so far"
)
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
SLOWER_THAN_WISHED = (
    "no limit was touched, and no type that may be chosen without a person is faster; look for first reads "
    "of a snapshot or a stalled volume, or give latency_objective_ms what the type can do"
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


def unmanaged(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nobody is even notified: code owns the volume, and the policy says `leave`."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE
