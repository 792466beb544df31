"""Escalations: the owner is notified once per episode and cause of what only the owner can change.

Of load that a limit hides, the owner is asked for the least that helps, not for the most that the load may take.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from headroom.domain.catalog.ebs import capability
from headroom.domain.decision.action import Action, Escalate, Hold, Reason
from headroom.domain.decision.decision_input import (
    DecisionInput,
    policy_of,
)
from headroom.domain.decision.diagnose import beyond_what_the_instance_sustains
from headroom.domain.guardrails import (
    WITHOUT_SETTING,
    Guardrail,
    PlanJudgement,
    Verdict,
    in_the_policy,
)
from headroom.domain.planning import IO2_MS, Plan, a_month, group_of, one_way, undone_still
from headroom.domain.policy import CodeOwned, EffectiveLimits, Limits
from headroom.domain.resources import CodeOwner, Kind, Observation, VolumeType, code_owner, spoken
from headroom.domain.workload import Binding, Demand, Diagnosis, LoadShape, recent_minutes

LONG_PRESSED_MINUTES = 60
"""Pressure this long is worth a word to the owner although nothing may be changed for now."""
LONG_UNMEASURED = timedelta(days=7)
"""Silence after which the owner hears what an increase costs that nothing may be decided about."""
LATE_AT_MOST = timedelta(minutes=75)
"""Metrics whose newest are older than this have stopped."""
DRAINS = timedelta(hours=1)
"""After a raise in flight, what waited before may use all that the instance has for so long."""

EXPLAINED = frozenset(
    {
        Guardrail.INFRASTRUCTURE_AS_CODE, Guardrail.REVERTED, Guardrail.GROUP, Guardrail.DATABASE_STATE,
        Guardrail.INSTANCE_LIMIT, Guardrail.PENDING_CHANGES, Guardrail.STORAGE_AUTOSCALING,
    }
)  # fmt: skip
"""Guardrails whose detail says what the owner can do."""
AMOUNTS = frozenset(
    {
        Guardrail.MAX_IOPS, Guardrail.MAX_THROUGHPUT, Guardrail.MAX_SIZE,
        Guardrail.PRICE_PER_RESOURCE, Guardrail.PRICE_PER_ACCOUNT,
    }
)  # fmt: skip
"""Guardrails that the owner may move by a little."""
USEFUL = 0.5
"""The share of the best plan's value from which a cheaper plan is worth asking for."""

LARGER_INSTANCE = "use a larger instance, or spread the load; a faster volume would change nothing"
ONLY_IN_BURSTS = " beyond the instance's own bursts"
WHILE_LIMITED = "; what Headroom added costs ${:.2f} a month"
AFTER_A_DAY = ", and is given back once the instance was the limit all day"
MORE_OF_THEIR_WORK = (
    "a fixed number of workers seems to wait for this volume, which would use up any limit; if more of their "
    "work is wanted, raise the volume yourself"
)
AFTER_THE_LOAD = (
    "{} has less of something, so Headroom makes it only after {} minutes without pressure, which may be after the "
    "load; if it should serve this load, change the volume yourself"
)
NOT_WORTH_IT = (
    "for the present load, no allowed change is worth its price, not even {} for ${:.2f} a month more; Headroom may "
    "make a change if the load lasts; for a change sooner, raise relief_value_usd_per_minute, or choose a preset with a "
    "higher value, or change the volume yourself"
)
NOT_EVEN_THEN = (
    "for the present load, that is worth ${:.2f} a day less than it costs: also raise relief_value_usd_per_minute, "
    "or choose a preset with a higher value"
)
LESS_DURABLE = (
    "a person may change it to {} ({}): it is less durable, and Headroom never lowers durability"
)
LATE_METRICS = (
    "it was at its limit for {} measured minutes before that; wait until its metrics are published again, or "
    "change the volume yourself"
)
DETACHED = "it is attached to no instance; "
LONG_SILENT = (
    "nothing was measured for {} days, and what Headroom added costs ${:.2f} a month: without measured load it gives "
    "nothing back; lower the volume yourself, or have the change rolled back, if it is not needed any more"
)
SLOW_BELOW_LIMITS = (
    "no limit was touched, so more IOPS or throughput would change nothing; look for first reads of a "
    "snapshot, a stalled volume, or the type's own latency, and set latency_objective_ms if a faster "
    "type is wanted"
)
SLOW_WITHOUT_CHECKS = (
    "no minute was at a limit in the mean, and nothing publishes whether bursts inside a minute reach one; if "
    "there are such bursts, more IOPS or throughput helps; else look for first reads of a snapshot or the "
    "type's own latency, and set latency_objective_ms if a faster type is wanted"
)
SLOWER_THAN_WISHED = (
    "no limit was touched, and Headroom knows no faster type for this volume; look for first reads of a snapshot "
    "or a stalled volume, or give latency_objective_ms what the type can do"
)
SLOWER_FOR_NOW = (
    "no limit was touched; look for first reads of a snapshot or a stalled volume. A faster type is proposed once "
    "an hour of each of three days took longer than latency_objective_ms"
)
MORE_LATER = "the load may be larger than it can show at its limit, so more may be asked for later"
NO_NATURAL_DEMAND = (
    "a closed loop, as this seems to be, has no natural demand and would use up any limit"
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


def when_slow(observation: Observation, limits: Limits, diagnosis: Diagnosis) -> str:
    """What helps where operations are slow below every limit, and no faster type is wanted, known or proposed yet."""
    wished, now = limits.latency_objective_ms, observation.volume.configuration
    if wished is not None:
        none = now.volume_type is VolumeType.IO2 or wished < IO2_MS
        return SLOWER_THAN_WISHED if none or diagnosis.slower_than_objective else SLOWER_FOR_NOW
    activity = observation.activity
    checked = activity.iops_exceeded.known() or activity.throughput_exceeded.known()
    return SLOW_BELOW_LIMITS if checked else SLOW_WITHOUT_CHECKS


def escalate_blocked_by_tags(
    decision_input: DecisionInput, effective: EffectiveLimits, plan: Plan | None
) -> Action:
    """Escalate what a tag that is not understood keeps from being done, and what Headroom added meanwhile costs."""
    usd = decision_input.resource_state.resource_increase_usd
    remedy = TAG_NOT_UNDERSTOOD.format(effective.problem)
    if usd > 0:
        remedy += f", and gives back nothing of what it added for ${usd:.2f} a month"
    return escalate_once(
        decision_input, effective, Reason.BLOCKED_PERMANENTLY, Guardrail.POLICY.value, remedy, plan
    )


def least_useful(
    nearest: PlanJudgement, judgements: Sequence[PlanJudgement], demand: Demand
) -> PlanJudgement:
    """The cheapest plan that the same limits block and that is worth at least half as much as the nearest.

    The nearest itself where something else than an amount blocks it, or no limit hides what the load takes.
    """
    best, names = nearest.plan, {v.guardrail for v in nearest.blocking}
    lasting = {v.guardrail for v in nearest.blocking if not v.temporary}
    if demand.tail == 0 or best.value_usd_per_day <= 0 or not lasting <= AMOUNTS:
        return nearest
    useful = (
        judgement
        for judgement in judgements
        if judgement.plan.value_usd_per_day >= USEFUL * best.value_usd_per_day
        and judgement.plan.monthly_usd < best.monthly_usd
        and one_way(judgement.plan) <= one_way(best)
        and {v.guardrail for v in judgement.blocking} == names
    )
    return min(useful, key=lambda judgement: judgement.plan.monthly_usd, default=nearest)


def escalate_blocked(
    decision_input: DecisionInput, effective: EffectiveLimits, demand: Demand, judgement: PlanJudgement
) -> Action:  # fmt: skip
    """Tell the owner what to change so that a plan is allowed."""
    lasting = [v for v in judgement.blocking if not v.temporary]
    return escalate_once(
        decision_input, effective, Reason.BLOCKED_PERMANENTLY, "+".join(map(cause_of, lasting)),
        _remedy(decision_input, effective, demand, judgement, lasting), judgement.plan,
    )  # fmt: skip


def _remedy(
    decision_input: DecisionInput, effective: EffectiveLimits, demand: Demand,
    judgement: PlanJudgement, lasting: Sequence[Verdict],
) -> str:  # fmt: skip
    """What allows a plan that these block for good, in words."""
    plan = judgement.plan
    grows = ", and cannot be undone" if plan.grows else ""
    each = " for each volume" if any(v.guardrail is Guardrail.GROUP for v in lasting) else ""
    by_policy = in_the_policy(
        [v for v in lasting if v.guardrail not in EXPLAINED],
        f"{plan.target}, which is {a_month(plan.price_change_usd)}{each}{grows}",
        tags=effective.tags_that_set, kind=decision_input.observation.volume.ref.kind,
    )  # fmt: skip
    parts = [by_policy] if by_policy else []
    if any(v.guardrail is Guardrail.DURABILITY for v in lasting):
        parts = [LESS_DURABLE.format(plan.target, a_month(plan.price_change_usd))]
    elif any(v.guardrail is Guardrail.FULL_COPY for v in lasting):
        parts = [
            f"a person may change it to {plan.target} ({a_month(plan.price_change_usd)}): RDS "
            "would copy all data, which takes hours and cannot be undone"
        ]
        if effective.limits.full_copy:
            parts += [v.detail for v in lasting if v.guardrail is Guardrail.FULL_COPY]
    parts += [v.detail for v in lasting if v.guardrail in EXPLAINED]
    parts += [
        f"{v.guardrail.value}: {v.detail or 'only a person can change that'}"
        for v in lasting
        if v.guardrail in WITHOUT_SETTING - EXPLAINED - {Guardrail.DURABILITY}
    ]
    if demand.shape is LoadShape.CLOSED_LOOP:
        of_limits = any(v.guardrail not in WITHOUT_SETTING | EXPLAINED for v in lasting)
        parts += [NO_NATURAL_DEMAND] if of_limits else []
    elif {v.guardrail for v in lasting} <= AMOUNTS and _may_take_more(demand, plan):
        parts.append(MORE_LATER)
    if judgement.worthless:
        parts.append(NOT_EVEN_THEN.format(-plan.value_usd_per_day))
    parts += beyond_what_the_instance_sustains(decision_input.observation, plan)
    return "; ".join(parts)


def _may_take_more(demand: Demand, plan: Plan) -> bool:
    """Whether a limit hides how much the load takes, and that may be more than a plan sustains."""
    can = plan.capability
    return demand.tail > 0 and (
        can.sustained_iops < demand.iops.upper or can.sustained_mibps < demand.mibps.upper
    )


def unmeasured(decision_input: DecisionInput, effective: EffectiveLimits, demand: Demand) -> Action:
    """Hold; escalate where a limit was long in use before metrics stopped or while they come late, or an
    increase long stands in silence."""
    reason = Reason.NOT_ENOUGH_DATA
    late = demand.known_minutes or _comes_late(decision_input)
    if late and demand.pressed_minutes >= LONG_PRESSED_MINUTES:
        remedy = LATE_METRICS.format(demand.pressed_minutes)
        return escalate_once(decision_input, effective, reason, "late_metrics", remedy, None)
    costs = decision_input.resource_state.resource_increase_usd
    if costs > 0 and not demand.known_minutes and _long_silent(decision_input.observation):
        volume = decision_input.observation.volume
        detached = volume.ref.kind is Kind.EBS and not volume.instance_ids
        remedy = DETACHED if detached else ""
        remedy += LONG_SILENT.format(LONG_UNMEASURED.days, costs)
        return escalate_once(decision_input, effective, reason, "long_unmeasured", remedy, None)
    return Hold(reason=reason, until=None, proposed_plan=None)


def _comes_late(decision_input: DecisionInput) -> bool:
    """Whether metrics are published late, as the look before found none that were recent either.

    Those of a stopped instance are older an hour after such a look.
    """
    last = decision_input.resource_state.last_signature
    blind = last is not None and last.binding.startswith(Binding.UNKNOWN.value)
    return blind and published_lately(decision_input.observation)


def published_lately(observation: Observation) -> bool:
    """Whether the newest metrics are late at most, as far as one look can know."""
    seen = recent_minutes(observation)
    return bool(seen) and seen[-1].at >= observation.at - LATE_AT_MOST


def _long_silent(observation: Observation) -> bool:
    """Whether a history that reaches back that far has no measured load since."""
    history, since = observation.history, observation.at - LONG_UNMEASURED
    if history is None or history.read_iops.start > since:
        return False
    return not any(each.since(since).known() for each in (history.read_iops, history.write_iops))


def instance_limited(
    decision_input: DecisionInput, effective: EffectiveLimits, diagnosis: Diagnosis
) -> Action:
    """Tell that the instance is the limit; not while what waited before a raise is drained."""
    observation = decision_input.observation
    if _drains(observation):
        return Hold(reason=Reason.INSTANCE_LIMITED, until=None, proposed_plan=None)
    remedy = LARGER_INSTANCE if observation.volume.configuration.database is None else LARGER_CLASS
    if _bursts(observation, diagnosis):
        remedy += ONLY_IN_BURSTS
    if (usd := decision_input.resource_state.resource_increase_usd) > 0:
        remedy += WHILE_LIMITED.format(usd) + (AFTER_A_DAY if effective.limits.give_back else "")
    return escalate_once(
        decision_input, effective, Reason.INSTANCE_LIMITED, diagnosis.binding.value, remedy, None
    )


def _drains(observation: Observation) -> bool:
    change = observation.modification
    if change is None or not change.in_flight or observation.at - change.started_at > DRAINS:
        return False
    before, now = capability(change.origin), capability(change.target)
    return (
        now.sustained_iops > before.sustained_iops or now.sustained_mibps > before.sustained_mibps
    )


def _bursts(observation: Observation, diagnosis: Diagnosis) -> bool:
    """Whether the instance's maximum is above what it sustains, and its balance not yet used up."""
    instance, balance = observation.instance, diagnosis.instance_balance
    if instance is None or instance.limits is None or (balance and balance.basis == "empty_now"):
        return False
    limits = instance.limits
    if diagnosis.binding is Binding.INSTANCE_IOPS:
        return limits.maximum_iops > limits.baseline_iops
    return limits.maximum_mibps > limits.baseline_mibps


def just_rolled_back(decision_input: DecisionInput, blocking: Sequence[Verdict]) -> bool:
    """Whether Headroom's own rollback blocks, and the pressure cannot have lasted long since."""
    if all(v.guardrail is not Guardrail.REVERTED for v in blocking):
        return False
    found = next(undone_still(decision_input.resource_state.modifications), None)
    lasts = timedelta(minutes=LONG_PRESSED_MINUTES)
    return found is not None and decision_input.observation.at < found.at + lasts


def waiting_cause(decision_input: DecisionInput, blocking: Sequence[Verdict]) -> str:
    """The cause of a wait: once per episode, or once per rollback; of a set, once for all its volumes."""
    policy, _ = policy_of(decision_input)
    if group_of(policy, decision_input.observation.volume) is not None:
        return f"{Guardrail.GROUP.value} (waiting)"
    return next((cause_of(v) for v in blocking if v.guardrail is Guardrail.REVERTED), "waiting")


def cause_of(verdict: Verdict) -> str:
    """The cause that is notified once; a revert, once each time; of a set, each of its problems."""
    if verdict.guardrail in (Guardrail.REVERTED, Guardrail.GROUP):
        return f"{verdict.guardrail.value} ({verdict.value})"
    return verdict.guardrail.value


def unmanaged(effective: EffectiveLimits, owner: CodeOwner | None) -> bool:
    """Whether nobody is even notified: code owns the volume, and the policy says `leave`."""
    return owner is not None and effective.limits.infrastructure_as_code is CodeOwned.LEAVE
