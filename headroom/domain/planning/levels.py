"""The levels of a schedule: what each sustains, and which changes lead to it within the owner's limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headroom.domain.catalog import cheapest, included
from headroom.domain.catalog.ebs import (
    DURABILITY_PERCENT,
    HDD_IO_BYTES,
    SSD_IO_BYTES,
    capability,
)
from headroom.domain.planning.build_plan import ALIKE, plan_to
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan
from headroom.domain.planning.plans_from_history import HDD, plans_of_two_changes
from headroom.domain.planning.situation import Situation, step_of, within_limits
from headroom.domain.policy import OneWay
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import LARGE_MIB
from headroom.domain.workload import A_WEEK, SEEN_ABOVE, Binding, Level, near_depletion

UNUSED_MIBPS = 0.3
"""Chance that new load is one of throughput, which a type may have only by the way."""
ANOTHER_DAY = 23
"""Hours from which on two hours are not of one day's load: the same hour of the next day, or the one before it."""
PER_MIB = HDD_IO_BYTES // SSD_IO_BYTES
"""How many large SSD operations an HDD type counts as one."""


def level_of(situation: Situation, configuration: Configuration) -> Level:
    """What a configuration sustains, limited by the instance."""
    can, diagnosis = capability(configuration), situation.diagnosis
    lasting = (
        configuration != situation.current
        or diagnosis.binding is Binding.BURST_CREDITS
        or bursts_to_the_end(situation)
        or _ran_out(situation)
    )
    iops = can.sustained_iops if lasting else can.burst_iops
    mibps = can.sustained_mibps if lasting else can.burst_mibps
    if configuration.volume_type in HDD:
        if _comes_in_large_operations(situation, iops):
            iops *= PER_MIB  # as the profile counts them
        iops, mibps = map(max, (iops, mibps), situation.sustains(configuration))
    own = iops, mibps
    if diagnosis.instance_iops_left is not None:
        iops = max(1.0, min(iops, diagnosis.instance_iops_left))
    if diagnosis.instance_mibps_left is not None:
        mibps = max(0.1, min(mibps, diagnosis.instance_mibps_left))
    usd = float(situation.prices.monthly(configuration)) / HOURS_PER_MONTH
    chosen, limits = capability(situation.owners_choice), situation.limits
    least_iops, least_mibps = _included_in_a_raise(situation, configuration)
    step, most = limits.largest_step, (limits.max_iops, limits.max_throughput_mibps)
    return Level(
        iops=iops, mibps=mibps, usd_per_hour=usd,
        unproven=1.0 - can.burst_iops / chosen.sustained_iops
        if can.burst_iops < chosen.sustained_iops
        else UNUSED_MIBPS
        if can.burst_mibps < min(chosen.sustained_mibps, chosen.burst_mibps * ALIKE)
        else 0.0,
        reach=(
            max(iops, min(most[0], step * max(iops, least_iops))),
            max(mibps, min(most[1], step * max(mibps, least_mibps))),
        ),
        ceiling=(
            max(iops, min(most[0], step * step * max(iops, least_iops))),
            max(mibps, min(most[1], step * step * max(mibps, least_mibps))),
        ),
        own=None if own == (iops, mibps) else own,
    )  # fmt: skip


def _comes_in_large_operations(situation: Situation, iops: float) -> bool:
    """Whether an HDD volume's load beyond so many SSD operations came in large ones, and it served them."""
    if situation.current.volume_type not in HDD or situation.demand.pressed_minutes:
        return False
    beyond = [hour for hour in situation.past.profile.known if hour.peak_iops > iops]
    return bool(beyond) and all(
        not hour.touched_minutes and hour.peak_mibps >= LARGE_MIB * hour.peak_iops
        for hour in beyond
    )


def bursts_to_the_end(situation: Situation) -> bool:
    """Whether the load is at the limit of a burst whose credits run out soon."""
    demand = situation.demand
    at_limit = situation.diagnosis.binding in (Binding.VOLUME_IOPS, Binding.VOLUME_THROUGHPUT)
    return (
        at_limit
        and demand.pressed_minutes > 0
        and near_depletion(demand.credits, situation.observation)
    )


def _ran_out(situation: Situation) -> bool:
    """Whether the load of the last week touched what gp2 sustains without credits: it may run out of them again.

    Not where it did so on one day alone: of an import, and not of what comes every day.
    """
    can = capability(situation.current)
    if not can.iops_credits:
        return False
    places = [
        place
        for place, hour in enumerate(situation.past.profile.hours[-A_WEEK:])
        if hour is not None
        and hour.touched_minutes > 0
        and 0 < hour.limit_iops <= can.sustained_iops * SEEN_ABOVE < can.burst_iops
    ]
    return bool(places) and places[-1] - places[0] >= ANOTHER_DAY


def _included_in_a_raise(situation: Situation, configuration: Configuration) -> tuple[float, float]:
    """What the smallest raise leads to: of the same type, or from an HDD type to gp3."""
    if configuration.volume_type in HDD and VolumeType.GP3 in situation.limits.types:
        return included(replace(configuration, volume_type=VolumeType.GP3))
    return included(configuration)


def reachable(situation: Situation, plan: Plan, *, changes: int = 1) -> bool:
    """Whether the owner's limits permit a schedule with this plan's target after so many changes.

    No schedule counts on a change that can never be undone and that a person must agree to.
    """
    origin, target = plan.origin.volume_type, plan.target.volume_type
    for_good = DURABILITY_PERCENT[target] > DURABILITY_PERCENT[origin]
    return (
        allowed(situation, plan)
        and within_limits(situation, plan.target, changes=changes)
        and (situation.limits.growth or not plan.grows)
        and not plan.full_copy
        and (situation.limits.give_back or not plan.lowers)
        and DURABILITY_PERCENT[target] >= DURABILITY_PERCENT[origin]
        and (situation.limits.one_way is OneWay.ALLOW or not for_good)
    )


def reached_by_two(situation: Situation) -> tuple[Plan, ...]:
    """Plans for announced and earlier load that two changes reach within the owner's limits, and one does not."""
    return tuple(p for p in plans_of_two_changes(situation) if reachable(situation, p, changes=2))


def may_have(situation: Situation, iops: float, mibps: float) -> bool:
    """Whether one change within the owner's limits, at the present size, leads to IOPS and MiB/s."""
    current = situation.current
    for kind in dict.fromkeys((current.volume_type, *situation.limits.types)):
        target = cheapest(current, kind, iops=iops, mibps=mibps, valid=situation.observation.valid)
        plan = None if target is None else plan_to(situation, target)
        if plan is not None and not plan.grows and reachable(situation, plan):
            return True
    return False


def allowed(situation: Situation, plan: Plan) -> bool:
    """Whether the owner allows the plan's type."""
    target = plan.target.volume_type
    same = target is plan.origin.volume_type and target is not VolumeType.GP2
    return same or target in situation.limits.types


def only_from(
    situation: Situation, targets: Sequence[Configuration], goals: Sequence[bool]
) -> dict[int, list[int]]:
    """For each target that one step does not reach from every other: from which it does.

    Nothing returns to the present configuration, the first, that the owner does not let Headroom give back. What is
    above a ceiling or price limit can be left, not raised to.
    """
    step = situation.limits.largest_step
    can = [capability(target) for target in targets]
    least_iops, least_mibps = min(c.burst_iops for c in can), min(c.burst_mibps for c in can)
    found: dict[int, list[int]] = {}
    for goal, target in enumerate(targets):
        iops, mibps = included(target)
        far = can[goal].sustained_iops > step * max(least_iops, iops) or (
            target.throughput_mibps or 0
        ) > step * max(least_mibps, mibps)
        if far and goals[goal]:
            found[goal] = [i for i, one in enumerate(targets) if step_of(one, target) <= step]
    for goal, above in enumerate(_above_limits(situation, one) for one in targets):
        if above and goals[goal]:
            iops, mibps = can[goal].sustained_iops, can[goal].sustained_mibps
            found[goal] = [
                i
                for i in found.get(goal, range(len(targets)))
                if can[i].sustained_iops >= iops and can[i].sustained_mibps >= mibps
            ]
    if not all(returns := [_may_return(situation, one) for one in targets]):
        found[0] = [i for i in found.get(0, range(len(targets))) if returns[i]]
    return found


def _above_limits(situation: Situation, configuration: Configuration) -> bool:
    """Whether a configuration has, or costs, more than the owner lets Headroom raise to."""
    limits, can = situation.limits, capability(configuration)
    return (
        can.sustained_iops > limits.max_iops
        or (configuration.throughput_mibps or 0) > limits.max_throughput_mibps
        or situation.prices.monthly(configuration) - situation.baseline_usd
        > limits.price_increase_usd
    )


def _may_return(situation: Situation, configuration: Configuration) -> bool:
    """Whether the owner lets Headroom give back all that a configuration has more than the present one.

    A type that is not allowed stays only where it is, and nothing leaves io2.
    """
    now, then = situation.current.volume_type, configuration.volume_type
    return (
        (situation.limits.give_back or configuration == situation.current)
        and (now is then or now in situation.limits.types)
        and DURABILITY_PERCENT[now] >= DURABILITY_PERCENT[then]
    )


def relieved_by_the_next(
    only_from: Mapping[int, Sequence[int]], seen_minutes: Sequence[float]
) -> dict[int, float]:
    """Minutes a day that a change relieves which a level leads to, and the present level, 0, does not."""
    found: dict[int, float] = {}
    for goal, origins in only_from.items():
        for origin in origins if 0 not in origins else ():
            found[origin] = max(found.get(origin, 0.0), seen_minutes[0] - seen_minutes[goal])
    return found


def within_goals(levels: Sequence[Level], goals: Sequence[bool]) -> list[Level]:
    """The levels, from which raises lead no further than to the highest goal."""
    most_iops = max(level.iops for level, goal in zip(levels, goals, strict=True) if goal)
    most_mibps = max(level.mibps for level, goal in zip(levels, goals, strict=True) if goal)
    found = []
    for level in levels:
        most = max(level.iops, most_iops), max(level.mibps, most_mibps)
        reach, ceiling = level.reach or most, level.ceiling or most
        found.append(
            level._replace(
                reach=(min(reach[0], most[0]), min(reach[1], most[1])),
                ceiling=(min(ceiling[0], most[0]), min(ceiling[1], most[1])),
            )
        )
    return found
