"""Building one plan: target, capability, price, whether it raises the binding limit, and the spare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import DURABILITY_PERCENT, Capability, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.planning.full_copy import FULL_COPY_TIME
from headroom.domain.planning.gp2_to_gp3 import gives_up_less_than_it_brings
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType
from headroom.domain.workload import HOURS, Diagnosis, load_rates

TIME_TO_EFFECT = timedelta(minutes=30)
"""AWS says minutes to hours for new performance; the planner counts half an hour."""
RISES = 1.02
"""What a rate must rise by at least: for less, no slot is spent and no storage put into modifying."""
ALIKE = 0.97
"""A level this close below another is no candidate of its own."""


def plan_to(situation: Situation, target: Configuration) -> Plan | None:
    """The plan to a given target; None if AWS would refuse it or no price is known."""
    if why_invalid(target) is not None:
        return None
    return plan_for(situation, target, 1.0, capped_from=None)


def plan_for(
    situation: Situation, target: Configuration, level: float, *, capped_from: Configuration | None
) -> Plan | None:
    """The plan to `target`; None for a no-op, a smaller size, or without a price."""
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
        demand_iops=round(demand.iops.floor * level, 3),
        demand_mibps=round(demand.mibps.floor * level, 3),
        meets_need=min(_reach(situation, then)) >= level,
        capability=then,
        monthly_usd=monthly,
        price_change_usd=monthly - before,
        time_to_effect=FULL_COPY_TIME if full_copy(current, target) else TIME_TO_EFFECT,
        reversible=target.size_gib == current.size_gib and not full_copy(current, target),
        relieved_minutes_per_day=0.0,
        value_usd_per_day=0.0,
        capped_from=capped_from,
    )


def relieves(situation: Situation, plan: Plan) -> bool:
    """Whether more of the load is served, and nothing is lowered that is used for longer than it brings more.

    Two limits are never bought apart where one of them binds alone: the rate that both let through
    has to rise.
    """
    now, then = capability(situation.current), plan.capability
    if not any(
        after > before * RISES
        for before, after in zip(useful(situation, now), useful(situation, then), strict=True)
    ):
        return False
    if then.sustained_iops >= now.sustained_iops and then.sustained_mibps >= now.sustained_mibps:
        return True
    spare = 1 + situation.limits.headroom_percent / 100
    return gives_up_less_than_it_brings(
        plan, situation.demand, situation.observation, situation.past.profile, spare=spare
    )


def useful(situation: Situation, can: Capability) -> tuple[float, ...]:
    """Operations/s of the load that `can` sustains with what the instance leaves, by I/O size."""
    diagnosis = situation.diagnosis
    return situation.demand.useful_rate(
        capped(can.sustained_iops, diagnosis.instance_iops_left),
        capped(can.sustained_mibps, diagnosis.instance_mibps_left),
    )


def _reach(situation: Situation, can: Capability) -> tuple[float, float]:
    """Sustained IOPS and MiB/s over the demand, limited by the instance."""
    demand, diagnosis = situation.demand, situation.diagnosis
    iops = capped(can.sustained_iops, diagnosis.instance_iops_left)
    mibps = capped(can.sustained_mibps, diagnosis.instance_mibps_left)
    return (
        iops / demand.iops.floor if demand.iops.floor else 1e9,
        mibps / demand.mibps.floor if demand.mibps.floor else 1e9,
    )


def capped(wanted: float, left: float | None) -> float:
    return wanted if left is None else min(wanted, left)


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


def priced_only(situation: Situation, volume_type: VolumeType) -> bool:
    """Whether a type is only priced for comparison: not allowed, or irreversible.

    Headroom never lowers durability, so a move from gp3 to io2 cannot be undone.
    """
    here, types = situation.current.volume_type, situation.limits.types
    one_way = DURABILITY_PERCENT[volume_type] > DURABILITY_PERCENT[here]
    return volume_type not in (*types, here) or (one_way and VolumeType.GP3 in types)


def both_spared(
    wanted: tuple[float, float], spare: float, included: tuple[float, float],
    chosen: tuple[float, float], left: Diagnosis,
) -> tuple[float, float]:  # fmt: skip
    """IOPS and MiB/s of a load with spare; see `spared`."""
    return (
        spared(wanted[0], spare, included[0], chosen[0], left.instance_iops_left),
        spared(wanted[1], spare, included[1], chosen[1], left.instance_mibps_left),
    )


def spared(
    wanted: float, spare: float, included: float, chosen: float, left: float | None
) -> float:
    """The demand with spare, but no more than what gp3 includes, or what the owner chose for all of it.

    Nor does the spare exceed what the instance lets through, of which `left` is this volume's.

    What nearly reaches that has all of it: nothing leads from there to the rest. The spare may have to exceed what gp3 includes by more than a little. Where less than the load was
    `chosen`, of IOPS or of MiB/s, it is 0: with more of one, the load would touch the limit of the other.
    """
    found = max(wanted, capped(wanted * spare, left))
    if left is not None and left * ALIKE <= found < left:
        found = left
    if wanted <= included < found <= included / ALIKE:
        return included
    return chosen if wanted <= chosen < found else found


def with_spare(
    levels: Sequence[tuple[float, float]], situation: Situation, included: tuple[float, float]
) -> Iterator[tuple[float, float]]:
    """The levels, with spare where one just serves the highest load of the last day, or of now.

    The levels for the load of other hours, and what one raise leads back from, may lie between that load and what
    it needs with spare. What is `included` in the price needs none.
    """
    can, left = capability(situation.owners_choice), situation.diagnosis
    chosen = can.sustained_iops, can.sustained_mibps
    spare = 1 + situation.limits.headroom_percent / 100
    hours = [
        hour
        for hour in situation.past.profile.hours[-HOURS:]
        if hour is not None and not hour.touched_minutes
    ]
    clear = situation.demand.clear_minutes  # before these it may have drained what waited
    now = [rates[-clear:] for rates in load_rates(situation.observation.activity)]
    highest = (
        ([hour.peak_iops for hour in hours], [hour.peak_mibps for hour in hours]),
        (now[0], now[1]),
    )
    most = [(max(iops, default=0.0), max(mibps, default=0.0)) for iops, mibps in highest]
    for iops, mibps in levels:
        for most_iops, most_mibps in most:
            if included[0] < most_iops <= iops < most_iops * spare:
                iops = spared(most_iops, spare, included[0], chosen[0], left.instance_iops_left)
            if included[1] < most_mibps <= mibps < most_mibps * spare:
                mibps = spared(most_mibps, spare, included[1], chosen[1], left.instance_mibps_left)
        yield iops, mibps
