"""Candidate plans: for each type, what meets the need or what the past says is enough; see weigh.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalogue import (
    DURABILITY_PERCENT,
    Capability,
    capability,
    included,
    why_invalid,
)
from headroom.domain.choices import cheapest, most
from headroom.domain.copying import COPY_TIME
from headroom.domain.demand import Binding, Demand, Diagnosis
from headroom.domain.observation import Observation
from headroom.domain.past import Past, wanted_levels
from headroom.domain.plans import Plan
from headroom.domain.policy import Limits
from headroom.domain.pricing import PriceTable, PriceUnknown
from headroom.domain.rds_catalogue import full_copy
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.trades import only_unused, plain_gp3

STEPS = (1.5, 2.0, 4.0)
"""Multiples of a censored demand worth considering; the ceiling comes on top."""
TARGETS = (VolumeType.GP3, VolumeType.IO2, VolumeType.IO1, VolumeType.GP2)
"""Types a plan may lead to; st1, sc1 and standard are sources only."""
TIME_TO_EFFECT = timedelta(minutes=30)
"""AWS says minutes to hours for new performance; the planner counts half an hour."""
ALIKE = 0.97
"""Levels no further below another than this are not weighed beside it."""
CALM_MINUTES = 30
"""Measured minutes without touching a limit after which a plan may lower anything."""
ON_INSTANCE = (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the planner starts from; `baseline_usd` is the price at enrolment."""

    observation: Observation
    past: Past
    demand: Demand
    diagnosis: Diagnosis
    limits: Limits
    prices: PriceTable
    baseline_usd: Decimal
    account_left_usd: Decimal
    """What the account may still be raised by, this volume's own increase given back first."""
    starts: tuple[datetime, ...] = ()
    """Known starts of modifications in the last 24 hours."""
    lowered_from: Configuration | None = None
    """What the volume had before our own latest change lowered it."""
    also: Configuration | None = None
    """A target that is weighed whatever the planner would find."""

    @property
    def current(self) -> Configuration:
        """The configuration to start from."""
        return self.observation.volume.configuration

    @property
    def calm(self) -> bool:
        """Whether no limit was touched for a while and no depletion is near."""
        return (
            self.demand.pressed_minutes == 0
            and self.demand.clear_minutes >= CALM_MINUTES
            and self.diagnosis.binding is not Binding.BURST_CREDITS
        )

    def harmless(self, plan: Plan) -> bool:
        """Whether a plan takes nothing away for less money, and nothing presses: no need to wait."""
        return (
            self.diagnosis.binding is Binding.NOTHING
            and self.demand.pressed_minutes == 0
            and plan.price_change_usd < 0
            and not plan.lowers
        )


def step_of(origin: Configuration, target: Configuration) -> float:
    """How many times the larger of IOPS and MiB/s grows, over what the volume can reach today.

    What a type includes at its smallest (gp3: 3,000 IOPS and 125 MiB/s) is never a step.
    """
    now, then = capability(origin), capability(target)
    iops, mibps = included(target)
    step = then.sustained_iops / max(now.burst_iops, iops)
    if target.throughput_mibps is None:  # derived: nobody asked for it and nobody pays for it
        return step
    return max(step, target.throughput_mibps / max(now.burst_mibps, mibps))


def candidates(situation: Situation) -> tuple[Plan, ...]:
    """Every plan worth weighing, not weighed yet, in no order.

    Under pressure those that raise what binds and lower nothing; in calm also what the past
    says is enough. Empty where the instance is the limit or nothing is known.
    """
    found: dict[Configuration, Plan] = {}
    binding = situation.diagnosis.binding
    if binding in (Binding.UNKNOWN, *ON_INSTANCE):
        return ()
    if binding is not Binding.NOTHING:
        for volume_type in TARGETS:
            for plan in _of_type(situation, volume_type):
                found.setdefault(plan.target, plan)
        for plan in _plain(situation):
            found.setdefault(plan.target, plan)
    for plan in _of_past(situation):
        found.setdefault(plan.target, plan)
    back = situation.lowered_from
    if binding is not Binding.NOTHING and back is not None:
        plan_back = _plan(situation, back, 1.0, capped_from=None)
        if plan_back is not None and _relieves(situation, plan_back):
            found.setdefault(plan_back.target, plan_back)
    if situation.also is not None:
        plan_also = _plan(situation, situation.also, 1.0, capped_from=None)
        if plan_also is not None:
            found.setdefault(plan_also.target, plan_also)
    return tuple(found.values())


def _plain(situation: Situation) -> Iterator[Plan]:
    """gp3 as a database has it below its striping threshold, of its size and with nothing to set."""
    target = plain_gp3(situation.current, situation.observation.valid)
    plan = None if target is None else _plan(situation, target, 1.0, capped_from=None)
    if plan is not None and _relieves(situation, plan):
        yield plan


def _of_past(situation: Situation) -> Iterator[Plan]:
    """Plans for what earlier days wanted, and for what the volume can do today for less."""
    current, limits = situation.current, situation.limits
    if current.volume_type not in TARGETS:
        return
    now = capability(current)
    spare = 1 + limits.headroom_percent / 100
    base = _base(current)
    most_iops = min(limits.max_iops, limits.largest_step * max(now.burst_iops, base[0]))
    most_mibps = min(
        limits.max_throughput_mibps, limits.largest_step * max(now.burst_mibps, base[1])
    )
    wants = [(now.burst_iops, now.burst_mibps)]
    if situation.past.known:
        wants += [
            (_spared(i, spare, base[0]), _spared(m, spare, base[1]))
            for i, m in wanted_levels(situation.past, lambda i, m: _unit_usd(i, m, base))
        ]
    least_iops = min(limits.min_iops, now.sustained_iops)
    least_mibps = min(limits.min_throughput_mibps, now.sustained_mibps)
    wants = _thinned(
        [
            (
                max(least_iops, min(i, max(most_iops, now.burst_iops))),
                max(least_mibps, min(m, max(most_mibps, now.burst_mibps))),
            )
            for i, m in wants
        ],
        base,
    )
    for volume_type in TARGETS:
        if volume_type is VolumeType.GP2 or _for_the_record(situation, volume_type):
            continue
        for iops, mibps in wants:
            target = cheapest(
                current, volume_type, iops=iops, mibps=mibps, valid=situation.observation.valid
            )
            plan = None if target is None else _plan(situation, target, 1.0, capped_from=None)
            if plan is not None and (
                situation.calm or situation.harmless(plan) or _relieves(situation, plan)
            ):
                yield plan


def _spared(wanted: float, spare: float, included: float) -> float:
    """`wanted` with spare, but for a spare that would only just leave what gp3 includes."""
    found = wanted * spare
    return included if wanted <= included < found <= included / ALIKE else found


def _base(current: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that gp3 of this size includes: what costs nothing beside its GiB."""
    return included(replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None))


def _thinned(
    wants: list[tuple[float, float]], base: tuple[float, float]
) -> list[tuple[float, float]]:
    """Wants that differ, dearest first; one just below another is not worth a plan of its own."""
    kept: list[tuple[float, float]] = []
    for iops, mibps in sorted(wants, key=lambda w: (_unit_usd(w[0], w[1], base), w), reverse=True):
        if not any(
            i * ALIKE <= max(iops, base[0]) <= max(i, base[0])
            and m * ALIKE <= max(mibps, base[1]) <= max(m, base[1])
            for i, m in kept
        ):
            kept.append((iops, mibps))
    return kept


def _unit_usd(iops: float, mibps: float, base: tuple[float, float]) -> float:
    """How dear a level is beside others, in USD per month: gp3's prices in most Regions."""
    return 0.005 * max(0.0, iops - base[0]) + 0.04 * max(0.0, mibps - base[1])


def _of_type(situation: Situation, volume_type: VolumeType) -> Iterator[Plan]:
    """Plans of one type: one per level of demand, and the largest that the limits let through."""
    wanted = _levels(situation)
    if _for_the_record(situation, volume_type):
        wanted = wanted[:1]  # not allowed: one is enough to see what it would cost
    blocked: Plan | None = None
    for step in wanted:
        target = _target(situation, volume_type, step)
        plan = None if target is None else _plan(situation, target, step, capped_from=None)
        if plan is None or not _relieves(situation, plan):
            continue
        yield plan
        if not within(situation, plan.target):
            blocked = blocked or plan
    if blocked is not None:
        level = _largest(wanted[-1], lambda r: _fits(situation, volume_type, r))
        if level is not None:
            target = _target(situation, volume_type, level)
            if target is not None:
                capped = _plan(situation, target, level, capped_from=blocked.target)
                if capped is not None and _relieves(situation, capped):
                    yield capped


def _for_the_record(situation: Situation, volume_type: VolumeType) -> bool:
    """Whether a type is only priced beside the others: not allowed, or one there is no way back from.

    io2 keeps data more durably, which is never lowered: leaving gp3 for it cannot be given back.
    """
    here, types = situation.current.volume_type, situation.limits.types
    one_way = DURABILITY_PERCENT[volume_type] > DURABILITY_PERCENT[here]
    return volume_type not in (*types, here) or (one_way and VolumeType.GP3 in types)


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
    current, valid = situation.current, situation.observation.valid
    target = cheapest(current, volume_type, iops=iops, mibps=mibps, valid=valid)
    if target is None:
        # The type cannot reach it at this size: take all it has, the plan says it falls short.
        target = most(current, volume_type, iops=iops, mibps=mibps, valid=valid)
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


def _plan(
    situation: Situation, target: Configuration, level: float, *, capped_from: Configuration | None
) -> Plan | None:
    """The plan that leads to `target`; None for a no-op, a shrink, a loss, or without a price."""
    current, demand = situation.current, situation.demand
    then = capability(target)
    if target == current or target.size_gib < current.size_gib:
        return None
    try:
        monthly, before = situation.prices.monthly(target), situation.prices.monthly(current)
    except PriceUnknown:
        return None
    return Plan(
        origin=current,
        target=target,
        why=_why(current, target),
        wanted_iops=round(demand.iops.floor * level, 3),
        wanted_mibps=round(demand.mibps.floor * level, 3),
        meets_need=min(_reach(situation, then)) >= level,
        capability=then,
        monthly_usd=monthly,
        price_change_usd=monthly - before,
        time_to_effect=COPY_TIME if full_copy(current, target) else TIME_TO_EFFECT,
        reversible=target.size_gib == current.size_gib and not full_copy(current, target),
        ended_minutes_per_day=0.0,
        value_usd_per_day=0.0,
        capped_from=capped_from,
    )


def plan_to(situation: Situation, target: Configuration) -> Plan | None:
    """The plan that leads to a given target; None where AWS would not take it, or without a price."""
    if why_invalid(target) is not None:
        return None
    return _plan(situation, target, 1.0, capped_from=None)


def relieves(situation: Situation, plan: Plan) -> bool:
    """Whether a plan raises what binds this volume and lowers nothing that is of use."""
    return _relieves(situation, plan)


def _relieves(situation: Situation, plan: Plan) -> bool:
    """Whether a plan raises what binds and lowers nothing that is of use."""
    now, then = capability(situation.current), plan.capability
    if not _raises(situation.diagnosis.binding, now, then):
        return False
    if then.sustained_iops >= now.sustained_iops and then.sustained_mibps >= now.sustained_mibps:
        return True
    spare = 1 + situation.limits.headroom_percent / 100
    return only_unused(plan, situation.demand, spare=spare)


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


def _why(current: Configuration, target: Configuration) -> str:
    grows = target.size_gib > current.size_gib
    if full_copy(current, target):
        return (
            f"{current.volume_type} of {current.size_gib} GiB to {target.volume_type} of "
            f"{target.size_gib} GiB: RDS copies all data onto other volumes for hours, which "
            "cannot be undone"
        )
    if grows and target.iops is not None:
        return f"{target} is the least that its ratios allow; growing cannot be undone"
    if grows:
        return f"grow to {target.size_gib} GiB: its baseline meets the need; cannot be undone"
    if target.volume_type is not current.volume_type:
        return f"{current.volume_type} to {target.volume_type}"
    changed: dict[str, list[str]] = {}
    for name, before, after in (
        ("IOPS", current.iops or 0, target.iops or 0),
        ("throughput", current.throughput_mibps or 0, target.throughput_mibps or 0),
    ):
        if before != after:
            changed.setdefault("more" if after > before else "less", []).append(name)
    return ", ".join(f"{way} {' and '.join(names)}" for way, names in changed.items())


def within(situation: Situation, target: Configuration) -> bool:
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
    return target is not None and within(situation, target)


def _largest(most: float, fits: Callable[[float], bool]) -> float | None:
    """The largest level up to `most` that fits (fitting is monotonic); None if none does."""
    low, high = 0.0, most
    if not fits(low):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
