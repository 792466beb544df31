"""Candidate plans: for each type, what meets the demand or what history says is enough; see value.py."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from headroom.domain.catalog import cheapest, highest_settings
from headroom.domain.catalog.ebs import capability, least_size_for
from headroom.domain.planning.build_plan import capped, plan_for, priced_only, relieves
from headroom.domain.planning.gp2_to_gp3 import least_gp3
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan, one_way
from headroom.domain.planning.plans_from_history import HDD, TARGETS, plans_from_history
from headroom.domain.planning.schedule import CHANGE_USD
from headroom.domain.planning.situation import Situation, at_any_price, within_limits
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.workload import HOURS, ON_INSTANCE, Binding, limited_all_day

STEPS = (1.5, 2.0, 4.0)
"""Multiples of a censored demand that are considered, beside the ceiling."""
HALVINGS = 24
"""Finds the largest level to within a hundredth of an IOPS."""
IO2_MS = 0.5
"""Mean latency in ms below which io2 is designed to be, at 16 KiB; of less, AWS says nothing.
Source: EBS user guide, "Amazon EBS optimization" (checked 2026-11)."""


def candidates(situation: Situation) -> tuple[Plan, ...]:
    """Every candidate plan, not valued yet, in no order.

    Under pressure, plans that raise the binding limit and lower nothing; without pressure, also what
    history says is enough. Where the instance is the limit, only what it lets nothing through of is given back.
    """
    found: dict[Configuration, Plan] = {}
    binding = situation.diagnosis.binding
    if binding in ON_INSTANCE:
        return tuple(_not_let_through(situation))
    if binding is Binding.UNKNOWN:
        return ()
    for plan in _faster_type(situation):
        found.setdefault(plan.target, plan)
    if binding is not Binding.NOTHING:
        for volume_type in TARGETS:
            for plan in _of_type(situation, volume_type):
                found.setdefault(plan.target, plan)
        for plan in _plain(situation):
            found.setdefault(plan.target, plan)
    for plan in plans_from_history(situation):
        found.setdefault(plan.target, plan)
    back = situation.reduced_from
    if binding is not Binding.NOTHING and back is not None:
        plan_back = plan_for(situation, back, 1.0, capped_from=None)
        if plan_back is not None and relieves(situation, plan_back):
            found.setdefault(plan_back.target, plan_back)
    if situation.extra_target is not None:
        plan_also = plan_for(situation, situation.extra_target, 1.0, capped_from=None)
        if plan_also is not None:
            found.setdefault(plan_also.target, plan_also)
    return tuple(plan for plan in found.values() if not _copies_for_more(plan, found.values()))


def _not_let_through(situation: Situation) -> Iterator[Plan]:
    """What Headroom added is given back where the instance was the limit all day, without any bursts of its own."""
    current = situation.current
    now, chosen = capability(current), capability(situation.owners_choice)
    iops, mibps = limited_all_day(situation.diagnosis, situation.past.profile)
    if iops is None and mibps is None:
        return
    with_iops = current.throughput_mibps is None  # so come its MiB/s
    iops = now.sustained_iops if iops is None else max(iops, chosen.sustained_iops)
    mibps = (
        max(mibps, chosen.sustained_mibps) if mibps is not None
        else 0.0 if with_iops else now.sustained_mibps
    )  # fmt: skip
    target = cheapest(
        current, current.volume_type, iops=min(iops, now.sustained_iops),
        mibps=min(mibps, now.sustained_mibps), valid=situation.observation.valid,
    )  # fmt: skip
    plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
    if plan is not None:
        saved = -float(plan.price_change_usd) * HOURS / HOURS_PER_MONTH
        yield replace(plan, value_usd_per_day=round(saved - CHANGE_USD, 4))


def _copies_for_more(plan: Plan, plans: Collection[Plan]) -> bool:
    """Whether a cheaper full copy leads to the same type and serves the load: a raise may follow without a copy."""
    return plan.full_copy and any(
        other.full_copy
        and other.target.volume_type is plan.target.volume_type
        and other.monthly_usd < plan.monthly_usd
        and other.meets_need
        for other in plans
    )


def _faster_type(situation: Situation) -> Iterator[Plan]:
    """io2 for all that the volume can do today, where the owner set a latency objective that it may meet."""
    now, wished = capability(situation.current), situation.limits.latency_objective_ms or 0.0
    if not situation.slow or situation.current.volume_type is VolumeType.IO2 or wished < IO2_MS:
        return
    target = cheapest(
        situation.current, VolumeType.IO2, iops=now.sustained_iops, mibps=now.sustained_mibps,
        valid=situation.observation.valid,
    )  # fmt: skip
    plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
    if plan is not None:
        yield plan


def _plain(situation: Situation) -> Iterator[Plan]:
    """gp3 that lowers nothing for an HDD type; for gp2, where that costs more, with the throughput used."""
    spare = 1 + situation.limits.headroom_percent / 100
    now, current = capability(situation.current), situation.current
    full = cheapest(
        current, VolumeType.GP3, iops=now.burst_iops, mibps=now.burst_mibps,
        valid=situation.observation.valid,
    )  # fmt: skip
    alike = None if full is None else plan_for(situation, full, 1.0, capped_from=None)
    if current.volume_type in HDD:
        if alike is not None and relieves(situation, alike):
            yield alike
        return
    if alike is not None and alike.price_change_usd <= 0:
        return
    target = least_gp3(
        situation.current, situation.demand, situation.observation.valid, spare=spare
    )
    plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
    if plan is not None and relieves(situation, plan):
        yield plan


def _of_type(situation: Situation, volume_type: VolumeType) -> Iterator[Plan]:
    """Plans of one type: one per level of demand, and the largest that the limits permit."""
    wanted, rates = _levels(situation), _rates(situation)
    ways = [rates, _rates(situation, bursts=False)]
    if priced_only(situation, volume_type):
        wanted, ways = wanted[:1], [rates]  # not allowed: one plan shows what it would cost
    blocked: Plan | None = None
    asks: Plan | None = None
    for step in wanted:
        for target in _targets(situation, volume_type, rates(step)):
            plan = plan_for(situation, target, step, capped_from=None)
            if plan is None or not relieves(situation, plan):
                continue
            yield plan
            if not within_limits(situation, plan.target):
                blocked = blocked or plan
            elif situation.asks_for(plan.target):
                asks = asks or plan
    if volume_type is VolumeType.GP3 or not priced_only(situation, volume_type):
        yield from _grown(situation, volume_type, wanted)
    ways_to_permit = [(blocked, partial(within_limits, situation))]
    if situation.asks_at_all:  # else both find the same
        ways_to_permit.append((asks or blocked, partial(_unasked, situation)))
    for short, permits in ways_to_permit:
        if short is None or one_way(short):
            continue
        for kept in ways:
            level = _largest(wanted[-1], _fits(situation, volume_type, kept, permits))
            if level is not None:
                most = _target(situation, volume_type, kept(level))
                if most is not None:
                    cut = plan_for(situation, most, level, capped_from=short.target)
                    if cut is not None and relieves(situation, cut):
                        yield cut
                break


def _unasked(situation: Situation, target: Configuration) -> bool:
    """Whether the owner's limits permit a target at a price that nobody has to approve."""
    return not situation.asks_for(target) and within_limits(situation, target)


def _fits(
    situation: Situation, volume_type: VolumeType, rates: Callable[[float], tuple[float, float]],
    permits: Callable[[Configuration], bool],
) -> Callable[[float], bool]:  # fmt: skip
    """Whether a level takes what is permitted."""
    within = cache(permits)

    def fits(level: float) -> bool:
        target = _target(situation, volume_type, rates(level))
        return target is not None and within(target)

    return fits


def _grown(
    situation: Situation, volume_type: VolumeType, wanted: Sequence[float]
) -> Iterator[Plan]:
    """The type at the least size that takes what the volume's does not, for an EBS volume.

    Where the ceilings or the largest step permit less, also the most that they do. A price is never a reason for less:
    growth cannot be undone.
    """
    current, rates = situation.current, _rates(situation)
    most_gib, unpriced = situation.limits.max_size_gib, at_any_price(situation)
    if current.database is not None:
        return

    def target(level: float) -> Configuration | None:
        iops, mibps = rates(level)
        found = least_size_for(volume_type, current.size_gib, iops=iops, mibps=mibps)
        return None if found is None or found.size_gib == current.size_gib else found

    def permitted(level: float) -> bool:
        found = target(level)
        return found is None or (found.size_gib <= most_gib and within_limits(unpriced, found))

    blocked: Configuration | None = None
    for step in wanted:
        full = target(step)
        plan = None if full is None else plan_for(situation, full, step, capped_from=None)
        if plan is not None and relieves(situation, plan):
            yield plan
            blocked = blocked or (None if permitted(step) else plan.target)
    level = None if blocked is None else _largest(wanted[-1], permitted)
    less = None if level is None else target(level)
    if level is not None and less is not None:
        cut = plan_for(situation, less, level, capped_from=blocked)
        if cut is not None and relieves(situation, cut):
            yield cut


def _levels(situation: Situation) -> tuple[float, ...]:
    demand = situation.demand
    if demand.tail == 0:
        return (1.0,)
    bounds = [one.upper / one.floor for one in (demand.iops, demand.mibps) if one.floor]
    bound = max(1.0, *bounds) if demand.iops.floor else STEPS[-1]
    levels = tuple(r for r in STEPS if r <= max(bound, STEPS[0]))
    ceiling = situation.limits.max_iops / demand.iops.floor if demand.iops.floor else 0
    if levels and levels[-1] < ceiling <= bound:
        levels += (ceiling,)
    return levels


def _targets(
    situation: Situation, volume_type: VolumeType, rates: tuple[float, float]
) -> Iterator[Configuration]:
    """The cheapest configuration for these IOPS and MiB/s; before one that grows, the most at the present size."""
    iops, mibps = rates
    current, valid = situation.current, situation.observation.valid
    target = _target(situation, volume_type, rates)
    if target is None:
        return
    if target.size_gib > current.size_gib and target.iops is not None:
        here = highest_settings(current, volume_type, iops=iops, mibps=mibps, valid=valid)
        if here is not None and here.size_gib == current.size_gib:
            yield here
    yield target


def _target(
    situation: Situation, volume_type: VolumeType, rates: tuple[float, float]
) -> Configuration | None:
    """The cheapest configuration of the type for these IOPS and MiB/s."""
    iops, mibps = rates
    current, valid = situation.current, situation.observation.valid
    target = cheapest(current, volume_type, iops=iops, mibps=mibps, valid=valid)
    if target is None:
        # The type cannot reach it at this size: take its highest settings.
        target = highest_settings(current, volume_type, iops=iops, mibps=mibps, valid=valid)
    return target


def _rates(situation: Situation, *, bursts: bool = True) -> Callable[[float], tuple[float, float]]:
    """IOPS and MiB/s of a level: so many times the demand plus spare.

    Each no more than the load may take, because an earlier load may have taken more of the other. Never
    below what the volume sustains today, with `bursts` nor below what it used of a burst; never above
    what its instance sustains.
    """
    by_iops, by_mibps = situation.demand.iops, situation.demand.mibps
    diagnosis = situation.diagnosis
    spare = 1 + situation.limits.headroom_percent / 100
    now = capability(situation.current)
    least_iops, least_mibps = (
        _least(situation, spare) if bursts else (now.sustained_iops, now.sustained_mibps)
    )

    def rates(level: float) -> tuple[float, float]:
        iops = min(by_iops.floor * level, by_iops.upper) * spare
        mibps = min(by_mibps.floor * level, by_mibps.upper) * spare
        iops = capped(iops, diagnosis.instance_iops_left)
        mibps = capped(mibps, diagnosis.instance_mibps_left)
        return max(iops, least_iops), max(mibps, least_mibps)

    return rates


def _least(situation: Situation, spare: float) -> tuple[float, float]:
    """The floor of every plan: sustained performance, and the part of a burst that was used.

    gp2 of more than 170 GiB reaches 250 MiB/s whenever it has credits: that is kept entirely.
    """
    now, demand = capability(situation.current), situation.demand
    used_iops = min(now.burst_iops, demand.peak_iops * spare)
    used_mibps = min(now.burst_mibps, demand.peak_mibps * spare)
    if situation.current.volume_type is VolumeType.GP2:
        used_mibps = now.burst_mibps
    return max(now.sustained_iops, used_iops), max(now.sustained_mibps, used_mibps)


def _largest(most: float, fits: Callable[[float], bool]) -> float | None:
    """The largest level up to `most` that fits (fitting is monotonic); None if none does."""
    low, high = 0.0, most
    if not fits(low):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
