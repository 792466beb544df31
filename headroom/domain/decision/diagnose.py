"""Which limit binds; money is never spent on a volume when the instance is the limit."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil
from statistics import mean

from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.guardrails import instance_left
from headroom.domain.planning import Plan
from headroom.domain.resources import Observation, Series, spoken
from headroom.domain.workload import (
    ON_INSTANCE,
    BalanceForecast,
    Binding,
    CreditForecast,
    Demand,
    Diagnosis,
    Minute,
    class_pressed,
    forecast_balance,
    forecast_text,
    given_in_bursts,
    held_by_instance,
    imminent,
    minutes,
    missed_for_days,
    near_depletion,
    recent_minutes,
    since,
    slow_below_limits,
)

RECENT = timedelta(minutes=15)
"""Nothing is decided on metrics of minutes that began earlier: the load may be another by now."""
RECENT_MINUTES = 15
STALLED_MINUTES = 2
TOLERANCE = 1.1
"""How much more than a volume without credits its instance must leave to be no limit of the same kind."""
HARDLY_MORE = 1.05
"""What an instance leaves over a volume's limit up to which it is the limit all the same: a faster volume would
hardly serve more."""
BURSTS_BELOW = 0.9
"""Share of a limit below which a pressed minute reached it in bursts only."""


SUSTAINS = "the instance sustains"


def diagnose(
    observation: Observation, demand: Demand, seen: tuple[Minute, ...] | None = None, *,
    latency_objective_ms: float | None = None,
) -> Diagnosis:  # fmt: skip
    """Which limit binds for `observation`: the volume's, its credits', the instance's, or none."""
    can = capability(observation.volume.configuration)
    if seen is None:
        seen = recent_minutes(observation)
    balance = _instance_balance(observation, can, seen)
    bursts = given_in_bursts(observation, demand.pressed_minutes)
    iops_left, mibps_left = instance_left(observation, seen, bursts)
    recent = list(since(seen, observation.at - RECENT))
    iops_limit = recent[-1].iops_limit if recent else can.burst_iops
    mibps_limit = recent[-1].mibps_limit if recent else can.burst_mibps
    binding, why = _binding(
        observation, demand, can, seen, recent, (iops_limit, mibps_limit), (iops_left, mibps_left),
        balance,
    )  # fmt: skip
    if binding is Binding.NOTHING:
        binding, why = _slow(observation, seen, latency_objective_ms) or (binding, why)
    return Diagnosis(
        slower_than_objective=binding is Binding.LATENCY
        and latency_objective_ms is not None
        and not _stalled(observation)
        and missed_for_days(observation, latency_objective_ms),
        binding=binding,
        volume_iops_limit=iops_limit,
        volume_mibps_limit=mibps_limit,
        instance_iops_left=iops_left,
        instance_mibps_left=mibps_left,
        explanation=spoken(
            observation.volume.ref.kind,
            why.replace(SUSTAINS, _gives(observation)) if bursts else why,
        ),
        instance_balance=balance,
    )


def _gives(observation: Observation) -> str:
    """What an instance does whose bursts count."""
    instance, own = observation.instance, observation.volume.ref.resource_id
    if instance is None or set(instance.volume_ids) <= {own}:
        return "the instance gives, with its bursts,"
    return "with half of its EBS balance kept for its other volumes, the instance gives"


def _slow(
    observation: Observation, seen: tuple[Minute, ...], objective_ms: float | None
) -> tuple[Binding, str] | None:
    """Latency below every limit: a stalled volume, first reads from a snapshot, the type's own."""
    if _stalled(observation):
        return Binding.LATENCY, "the volume's stalled I/O check reads 1: it completes no I/O at all"
    slow = slow_below_limits(observation, seen, objective_ms=objective_ms)
    if slow is None:
        return None
    than = "usual" if objective_ms is None else "the owner's objective"
    return Binding.LATENCY, (
        f"operations take {slow.latency_ms:.1f} ms ({than}: {slow.calm_ms:.{1 if objective_ms is None else 2}f}) at "
        f"{slow.share:.0%} of the limits"
    )


def _stalled(observation: Observation) -> bool:
    stalled = observation.activity.stalled
    return stalled is not None and _ones(stalled, observation) >= STALLED_MINUTES


def _instance_balance(
    observation: Observation, can: Capability, seen: tuple[Minute, ...]
) -> BalanceForecast | None:
    """The balance that runs out first; earlier days are gone through only where there is one."""
    found = forecast_balance(observation, seen, ())
    if found is None or observation.history is None:
        return found
    return forecast_balance(
        observation, seen, minutes(observation.history, can, observation.modification)
    )


def _binding(
    observation: Observation, demand: Demand, can: Capability, seen: tuple[Minute, ...],
    recent: list[Minute], limit: tuple[float, float], left: tuple[float | None, float | None],
    balance: BalanceForecast | None,
) -> tuple[Binding, str]:  # fmt: skip
    if not recent:
        return Binding.UNKNOWN, _why_unmeasured(observation, seen)
    volume_is_next = _credits_go_next(observation, demand, can, left)
    if balance is not None and balance.basis == "empty_now" and volume_is_next:
        balance = None  # reported before; now the volume's own credits run out
    if balance is not None and _soon_the_limit(observation, demand, seen, balance):
        return balance.binding, forecast_text(balance, observation.at)
    stolen = _instance_pressed(observation)
    if demand.pressed_minutes and sum(m.pressed for m in recent) >= 2:
        if stolen is not None and None in left:
            return stolen, "the instance's own Exceeded check is 1 and its limits are not known"
        binding, why = _pressed(can, recent, limit, left)
        if binding in ON_INSTANCE and volume_is_next and demand.credits is not None:
            return _credits_run_out(demand.credits, observation.at)
        return binding, why
    if stolen and not volume_is_next and len(held_by_instance(observation, recent)) >= 2:
        return stolen, "the instance's own Exceeded check is 1 and the volume's is not"
    of_class = class_pressed(observation, recent)
    if of_class is not None and not volume_is_next:
        return of_class
    credits = demand.credits
    if credits is not None and near_depletion(credits, observation):
        return _credits_run_out(credits, observation.at)
    if demand.expected_starved_minutes > 0 and any(m.pressed for m in seen):
        binding, why = _pressed(can, list(seen), limit, left)
        return binding, f"short bursts touch the limit again and again: {why}"
    return Binding.NOTHING, "no limit was touched"


def _why_unmeasured(observation: Observation, seen: tuple[Minute, ...]) -> str:
    """Why none of the `seen` minutes is recent, how late the newest is, and what to do about it."""
    facts = observation.volume.facts
    if facts is not None and facts.additional:
        names = ", ".join(each.name for each in facts.additional)
        return (
            f"the instance has {names} beside its primary storage, and CloudWatch has no recent metrics of "
            f"{facts.volume_name} alone"
        )
    if not seen:
        return f"nothing was measured in the last {RECENT_MINUTES} minutes"
    late = ceil((observation.at - seen[-1].at) / timedelta(minutes=1))
    return (
        f"the metrics are late or have stopped: the newest are of {late} minutes ago, and nothing is decided on "
        f"those older than {RECENT_MINUTES}; see whether CloudWatch is late and whether the instance runs"
    )


def _credits_run_out(credits: CreditForecast, at: datetime) -> tuple[Binding, str]:
    wait = max(0, round(((credits.empty_at or at) - at).total_seconds() / 60))
    return Binding.BURST_CREDITS, (
        f"credits at {credits.balance_percent:.0f} % run out in {wait} min "
        f"({credits.basis.replace('_', ' ')})"
    )


def _pressed(
    can: Capability, among: list[Minute], limit: tuple[float, float],
    left: tuple[float | None, float | None],
) -> tuple[Binding, str]:  # fmt: skip
    """The limit touched most often; the instance is to blame only if it is for every one."""
    by_iops = sum(m.iops_pressed for m in among)
    by_mibps = sum(m.mibps_pressed for m in among)
    binding, why = _pressed_binding(can, among, by_iops >= by_mibps, limit, left)
    if binding in ON_INSTANCE and min(by_iops, by_mibps) >= 2:
        return _pressed_binding(can, among, by_iops < by_mibps, limit, left)
    return binding, why


def _pressed_binding(
    can: Capability, recent: list[Minute], iops_binds: bool, limit: tuple[float, float],
    left: tuple[float | None, float | None],
) -> tuple[Binding, str]:  # fmt: skip
    iops_limit, mibps_limit = limit
    iops_left, mibps_left = left
    pressed = [m for m in recent if m.pressed]
    ops = sum(m.iops for m in pressed)
    size = sum(m.mibps for m in pressed) / ops if ops else 0.0
    if iops_binds:
        if iops_left is not None and iops_left <= iops_limit * HARDLY_MORE:
            return Binding.INSTANCE_IOPS, (
                f"{SUSTAINS} {iops_left:.0f} IOPS for this volume, "
                f"which itself has {iops_limit:.0f}"
            )
        if size and mibps_left is not None and mibps_left / size <= iops_limit * HARDLY_MORE:
            return Binding.INSTANCE_THROUGHPUT, (
                f"{SUSTAINS} {mibps_left:.0f} MiB/s for this volume, which is "
                f"{mibps_left / size:.0f} such operations/s; the volume itself has {iops_limit:.0f}"
            )
        if can.iops_credits and iops_limit < can.burst_iops:
            since = [m.iops for m in pressed if m.iops_limit < can.burst_iops]
            return Binding.BURST_CREDITS, (
                f"credits are gone: {mean(since or [pressed[-1].iops]):.0f} IOPS served, "
                f"baseline {can.sustained_iops:.0f}"
            )
        held = [(m.iops, m.iops_limit) for m in pressed if m.iops_pressed]
        return Binding.VOLUME_IOPS, _at_limit(held, iops_limit, "IOPS", 0)
    if mibps_left is not None and mibps_left <= mibps_limit * HARDLY_MORE:
        return Binding.INSTANCE_THROUGHPUT, (
            f"{SUSTAINS} {mibps_left:.0f} MiB/s for this volume, which itself has {mibps_limit:.0f}"
        )
    if size and iops_left is not None and iops_left * size <= mibps_limit * HARDLY_MORE:
        return Binding.INSTANCE_IOPS, (
            f"{SUSTAINS} {iops_left:.0f} IOPS for this volume, which is "
            f"{iops_left * size:.0f} MiB/s of such operations; the volume itself has {mibps_limit:.0f}"
        )
    if can.mib_credits and mibps_limit < can.burst_mibps:
        since = [m.mibps for m in pressed if m.mibps_limit < can.burst_mibps]
        return Binding.BURST_CREDITS, (
            f"credits are gone: {mean(since or [pressed[-1].mibps]):.0f} MiB/s served, "
            f"baseline {can.sustained_mibps:.0f}"
        )
    held = [(m.mibps, m.mibps_limit) for m in pressed if m.mibps_pressed]
    return Binding.VOLUME_THROUGHPUT, _at_limit(held, mibps_limit, "MiB/s", 1)


def _at_limit(held: list[tuple[float, float]], now: float, unit: str, digits: int) -> str:
    """What pressed minutes served, and their limit, in words: the one in force `now`, else their latest."""
    limit = now if any(own == now for _, own in held) else held[-1][1]
    served = mean(took for took, own in held if own == limit)
    at = "a limit" if limit == now else "an earlier limit"
    text = f"{served:.{digits}f} {unit} served at {at} of {limit:.0f}"
    return text if served >= BURSTS_BELOW * limit else f"{text}, which bursts inside minutes reach"


def _instance_pressed(observation: Observation) -> Binding | None:
    activity = observation.instance_activity
    if activity is None:
        return None
    if _ones(activity.iops_exceeded, observation) >= 2:
        return Binding.INSTANCE_IOPS
    if _ones(activity.throughput_exceeded, observation) >= 2:
        return Binding.INSTANCE_THROUGHPUT
    return None


def _soon_the_limit(
    observation: Observation, demand: Demand, seen: tuple[Minute, ...], balance: BalanceForecast
) -> bool:
    """Whether the instance is about to be the limit, or will be before the credits run out.

    What is believed of the load when credits are foreseen to run out holds for the balance too.
    """
    credits = demand.credits
    if (
        credits is not None
        and credits.empty_at is not None
        and near_depletion(credits, observation)
        and balance.empty_at <= credits.empty_at
    ):
        return True
    return imminent(balance, observation.at) and (
        demand.pressed_minutes > 0 or _takes_its_share(observation, seen, balance.binding)
    )


def _credits_go_next(
    observation: Observation, demand: Demand, can: Capability, left: tuple[float | None, float | None]
) -> bool:  # fmt: skip
    """Whether the volume, once out of credits, gives less than its instance does without any."""
    credits = demand.credits
    if credits is None or credits.empty_at is None:
        return False
    have, lasting = (
        (left[1], can.sustained_mibps) if can.mib_credits else (left[0], can.sustained_iops)
    )
    near = near_depletion(credits, observation)
    return near and have is not None and have > lasting * TOLERANCE


def _takes_its_share(observation: Observation, seen: tuple[Minute, ...], binding: Binding) -> bool:
    """Whether this volume takes at least an even share of what its instance's volumes do.

    All of them share one balance: those that use it up notify its owner, not each.
    """
    activity, instance = observation.instance_activity, observation.instance
    if activity is None or instance is None or len(instance.volume_ids) <= 1:
        return True
    iops = binding is Binding.INSTANCE_IOPS
    own = [m.ssd_iops if iops else m.mibps for m in seen[-RECENT_MINUTES:]]
    both = (activity.iops if iops else activity.mibps).known()[-RECENT_MINUTES:]
    if not own or not both:
        return True
    return mean(own) * len(instance.volume_ids) >= mean(both)


def _ones(check: Series, observation: Observation) -> int:
    return sum(v >= 1 for v in check.since(observation.at - RECENT).known())


def beyond_what_the_instance_sustains(observation: Observation, plan: Plan) -> list[str]:
    """What of a plan only the bursts of its instance let through, in words; empty where there is none."""
    instance, can, now = observation.instance, plan.capability, capability(plan.origin)
    if instance is None or instance.limits is None:
        return []
    limits, beyond = instance.limits, []
    if limits.maximum_iops > limits.baseline_iops < can.sustained_iops > now.sustained_iops:
        beyond.append(f"{limits.baseline_iops:,} IOPS")
    own = plan.target.throughput_mibps is not None  # else they come with the IOPS
    if (
        own
        and limits.maximum_mibps > limits.baseline_mibps < can.sustained_mibps > now.sustained_mibps
    ):
        beyond.append(f"{limits.baseline_mibps:,.0f} MiB/s")
    what = f"{limits.instance_type} sustains {' and '.join(beyond)}"
    return [f"{what}, more only while its own EBS balance lasts"] if beyond else []
