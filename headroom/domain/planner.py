"""Candidate plans, priced and weighed: what a starved minute is worth against what ending it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from headroom.domain.catalogue import (
    GP2_BURST_IOPS,
    LIMITS,
    Capability,
    capability,
    cheapest,
    max_iops,
    why_invalid,
)
from headroom.domain.demand import Binding, Demand, Diagnosis
from headroom.domain.plans import Plan
from headroom.domain.policy import Limits
from headroom.domain.pricing import PriceTable, PriceUnknown
from headroom.domain.resources import Configuration, VolumeType

STEPS = (1.5, 2.0, 4.0)
"""Multiples of a censored demand worth considering; the ceiling comes on top."""
TARGETS = (VolumeType.GP3, VolumeType.IO2, VolumeType.IO1, VolumeType.GP2)
"""Types a plan may lead to; st1, sc1 and standard are sources only."""
TIME_TO_EFFECT = timedelta(minutes=30)
"""AWS says minutes to hours for new performance; the planner counts half an hour."""
DAYS_PER_MONTH = 365 / 12
SLOT_USD = 0.05
"""What one of four slots is worth when nothing else is known: ties go to fewer changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the planner starts from; `baseline_usd` is the price at enrolment."""

    current: Configuration
    demand: Demand
    diagnosis: Diagnosis
    limits: Limits
    prices: PriceTable
    baseline_usd: Decimal
    account_left_usd: Decimal
    """What the account may still be raised by, this volume's own increase given back first."""


def step_of(origin: Configuration, target: Configuration) -> float:
    """How many times the larger of IOPS and MiB/s grows, over what the volume can reach today.

    What a type includes at its smallest (gp3: 3,000 IOPS and 125 MiB/s) is never a step.
    """
    now, then = capability(origin), capability(target)
    iops, mibps = _included(target.volume_type)
    step = then.sustained_iops / max(now.burst_iops, iops)
    if target.throughput_mibps is None:  # derived: nobody asked for it and nobody pays for it
        return step
    return max(step, target.throughput_mibps / max(now.burst_mibps, mibps))


def _included(volume_type: VolumeType) -> tuple[float, float]:
    if volume_type is VolumeType.GP2:
        return float(GP2_BURST_IOPS), 250.0
    ranges = LIMITS[volume_type]
    iops = float(ranges.iops[0]) if ranges.iops else 1.0
    return iops, float(ranges.throughput_mibps[0]) if ranges.throughput_mibps else 125.0


def plans(situation: Situation) -> tuple[Plan, ...]:
    """Every candidate, best first: by worth, then fewer changes, reversible, cheaper.

    Empty when nothing binds that a change of the volume could end.
    """
    if situation.diagnosis.binding in (Binding.NOTHING, Binding.UNKNOWN):
        return ()
    found: dict[Configuration, Plan] = {}
    for volume_type in TARGETS:
        for plan in _of_type(situation, volume_type):
            found.setdefault(plan.target, plan)
    return tuple(sorted(found.values(), key=_order))


def _order(plan: Plan) -> tuple[float, int, bool, Decimal, str]:
    changes = sum(
        (
            plan.target.volume_type is not plan.origin.volume_type,
            plan.target.size_gib != plan.origin.size_gib,
            plan.target.iops != plan.origin.iops,
            plan.target.throughput_mibps != plan.origin.throughput_mibps,
        )
    )
    return (
        -round(plan.value_usd_per_day, 2), changes, not plan.reversible, plan.monthly_usd,
        str(plan.target),
    )  # fmt: skip


def _of_type(situation: Situation, volume_type: VolumeType) -> Iterator[Plan]:
    """Plans of one type: one per level of demand, and the largest that the limits let through."""
    wanted = _levels(situation)
    blocked: Plan | None = None
    for step in wanted:
        target = _target(situation, volume_type, step)
        plan = None if target is None else _plan(situation, target, step, capped_from=None)
        if plan is None:
            continue
        yield plan
        if not _within(situation, plan.target):
            blocked = blocked or plan
    if blocked is not None:
        level = _largest(wanted[-1], lambda r: _fits(situation, volume_type, r))
        if level is not None:
            target = _target(situation, volume_type, level)
            if target is not None:
                capped = _plan(situation, target, level, capped_from=blocked.target)
                if capped is not None:
                    yield capped


def _levels(situation: Situation) -> tuple[float, ...]:
    demand = situation.demand
    if demand.tail == 0:
        return (1.0,)
    bound = max(1.0, demand.iops.upper / demand.iops.floor) if demand.iops.floor else STEPS[-1]
    levels = tuple(r for r in STEPS if r <= max(bound, STEPS[0]))
    ceiling = situation.limits.max_iops / demand.iops.floor if demand.iops.floor else 0
    if levels and levels[-1] < ceiling <= bound:
        levels += (ceiling,)
    return levels


def _target(situation: Situation, volume_type: VolumeType, level: float) -> Configuration | None:
    """The cheapest configuration of the type for `level` times the demand, spare included.

    Never below what the volume sustains today, never more than its instance can take.
    """
    spare = 1 + situation.limits.headroom_percent / 100
    iops = _capped(
        situation.demand.iops.floor * level * spare, situation.diagnosis.instance_iops_left
    )
    mibps = _capped(
        situation.demand.mibps.floor * level * spare, situation.diagnosis.instance_mibps_left
    )
    least_iops, least_mibps = _least(situation, spare)
    iops, mibps = max(iops, least_iops), max(mibps, least_mibps)
    size = max(situation.current.size_gib, LIMITS[volume_type].size_gib[0])
    target = cheapest(volume_type, size, iops=iops, mibps=mibps)
    if target is None and max_iops(volume_type, size):
        # The type cannot reach it at this size: take all it has, the plan says it falls short.
        target = _most(volume_type, size, iops, mibps)
    return target


def _least(situation: Situation, spare: float) -> tuple[float, float]:
    """What no plan may fall below: what is sustained today and, of a burst, what was used of it.

    gp2 of more than 170 GiB reaches 250 MiB/s whenever it has credits: that is kept whole.
    """
    now, demand = capability(situation.current), situation.demand
    used_iops = min(now.burst_iops, demand.peak_iops * spare)
    used_mibps = min(now.burst_mibps, demand.peak_mibps * spare)
    if situation.current.volume_type is VolumeType.GP2:
        used_mibps = now.burst_mibps
    return max(now.sustained_iops, used_iops), max(now.sustained_mibps, used_mibps)


def _capped(wanted: float, left: float | None) -> float:
    return wanted if left is None else min(wanted, left)


def _most(volume_type: VolumeType, size: int, iops: float, mibps: float) -> Configuration | None:
    most = max_iops(volume_type, size)
    ranges = LIMITS[volume_type].throughput_mibps
    target = Configuration(
        volume_type=volume_type,
        size_gib=size,
        iops=most,
        throughput_mibps=None
        if ranges is None
        else int(min(ranges[1], most // 4, max(mibps, 125))),
    )
    return target if why_invalid(target) is None and iops > most else None


def _plan(
    situation: Situation, target: Configuration, level: float, *, capped_from: Configuration | None
) -> Plan | None:
    """The plan that leads to `target`; None for a no-op, a shrink, a loss, or without a price."""
    current, demand = situation.current, situation.demand
    now, then = capability(current), capability(target)
    if target == current or target.size_gib < current.size_gib:
        return None
    if then.sustained_iops < now.sustained_iops or then.sustained_mibps < now.sustained_mibps:
        return None
    if not _raises(situation.diagnosis.binding, now, then):
        return None
    try:
        monthly, before = situation.prices.monthly(target), situation.prices.monthly(current)
    except PriceUnknown:
        return None
    by_iops, by_mibps = _reach(situation, then)
    reach = min(by_iops, by_mibps)
    ended = demand.expected_starved_minutes * _ends(demand, by_iops, by_mibps)
    per_day = float(monthly - before) / DAYS_PER_MONTH
    value = ended * situation.limits.relief_value_usd_per_minute - per_day - SLOT_USD
    return Plan(
        origin=current,
        target=target,
        why=_why(current, target),
        wanted_iops=round(demand.iops.floor * level, 3),
        wanted_mibps=round(demand.mibps.floor * level, 3),
        meets_need=reach >= level,
        capability=then,
        monthly_usd=monthly,
        price_change_usd=monthly - before,
        time_to_effect=TIME_TO_EFFECT,
        reversible=target.size_gib == current.size_gib,
        ended_minutes_per_day=round(ended, 3),
        value_usd_per_day=round(value, 4),
        capped_from=capped_from,
    )


def _raises(binding: Binding, now: Capability, then: Capability) -> bool:
    """Whether the limit that binds gets higher: a plan that leaves it alone ends nothing."""
    match binding:
        case Binding.VOLUME_IOPS:
            return then.sustained_iops > now.sustained_iops
        case Binding.VOLUME_THROUGHPUT:
            return then.sustained_mibps > now.sustained_mibps
        case _:
            return (
                then.sustained_iops > now.sustained_iops
                or then.sustained_mibps > now.sustained_mibps
            )


def _reach(situation: Situation, can: Capability) -> tuple[float, float]:
    """How many times the demand's IOPS and MiB/s are sustained, as far as the instance lets."""
    demand, diagnosis = situation.demand, situation.diagnosis
    iops = _capped(can.sustained_iops, diagnosis.instance_iops_left)
    mibps = _capped(can.sustained_mibps, diagnosis.instance_mibps_left)
    return (
        iops / demand.iops.floor if demand.iops.floor else 1e9,
        mibps / demand.mibps.floor if demand.mibps.floor else 1e9,
    )


def _ends(demand: Demand, by_iops: float, by_mibps: float) -> float:
    """Share of the starved minutes a plan is expected to end.

    Where some minutes were short of IOPS and others of MiB/s, each kind is weighed by itself.
    """
    share = demand.iops_share
    if share in (0.0, 1.0):
        return _chance(demand, min(by_iops, by_mibps))
    return share * _chance(demand, by_iops) + (1 - share) * _chance(demand, by_mibps)


def _chance(demand: Demand, reach: float) -> float:
    """How likely the demand is at most `reach` times its floor (Pareto tail, 0 below the floor)."""
    if reach < 1:
        return 0.0
    return 1.0 if demand.tail == 0 else 1.0 - reach**-demand.tail


def _why(current: Configuration, target: Configuration) -> str:
    if target.size_gib > current.size_gib:
        return f"grow to {target.size_gib} GiB: its baseline meets the need; cannot be undone"
    if target.volume_type is not current.volume_type:
        return f"{current.volume_type} to {target.volume_type}"
    changed = [
        name
        for name, a, b in (
            ("IOPS", current.iops, target.iops),
            ("throughput", current.throughput_mibps, target.throughput_mibps),
        )
        if a != b
    ]
    return f"more {' and '.join(changed)}"


def _within(situation: Situation, target: Configuration) -> bool:
    """Whether ceilings, step and prices let `target` through; the guardrails judge again."""
    limits, then = situation.limits, capability(target)
    if then.sustained_iops > limits.max_iops:
        return False
    if (target.throughput_mibps or 0) > limits.max_throughput_mibps:
        return False
    if step_of(situation.current, target) > limits.largest_step:
        return False
    increase = max(Decimal(0), situation.prices.monthly(target) - situation.baseline_usd)
    return increase <= min(limits.price_increase_usd, situation.account_left_usd)


def _fits(situation: Situation, volume_type: VolumeType, level: float) -> bool:
    target = _target(situation, volume_type, level)
    return target is not None and _within(situation, target)


def _largest(most: float, fits: Callable[[float], bool]) -> float | None:
    """The largest level up to `most` that fits (fitting is monotonic); None if none does."""
    low, high = 0.0, most
    if not fits(low):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
