"""Plans for the demand of earlier days, and cheaper ones for today's capability."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import ceil
from statistics import median

from headroom.domain.catalog import cheapest
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.announced import (
    announced_levels,
    base_of,
    free_of,
    has_fixed_gp3,
    hours_between_two,
    pays_for_every_iops,
    reach_of,
    second_in_time,
)
from headroom.domain.planning.build_plan import (
    ALIKE,
    both_spared,
    plan_for,
    priced_only,
    relieves,
    with_spare,
)
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.restoring import (
    ENDED_DAYS,
    STEPS_BACK,
    freed,
    least_iops,
    least_mibps,
    most_used,
)
from headroom.domain.planning.situation import Situation, hardly_more, within_limits
from headroom.domain.policy import Limits
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.state import LoadProfile
from headroom.domain.workload import demand_levels

TARGETS = (VolumeType.GP3, VolumeType.IO2, VolumeType.IO1, VolumeType.GP2)
"""Types a plan for demand may lead to; st1, sc1 and standard are only origins."""
HDD = (VolumeType.ST1, VolumeType.SC1)
"""Types that a plan may lead to where the owner allows them and the load has long been small."""
QUIET_HOURS = 7 * 24
"""Measured hours without load beyond an HDD type before a plan leads to it."""
QUIET_TIMES = 2
"""The same in times of the longest pause between such load: what comes again each month has not ended."""
HALVINGS = 8
"""How often the range is halved in which the part of a level lies that the limits permit."""
MERGED = 1.05
"""Load this many times above all that a volume had shows that its operations are merged before they count."""


def plans_from_history(situation: Situation) -> Iterator[Plan]:
    """Plans for the demand of earlier days, and cheaper ones for today's capability."""
    yield from _to_hdd(situation)
    current, limits = situation.current, situation.limits
    if current.volume_type not in (*TARGETS, *limits.types):
        return
    now, base, chosen = capability(current), base_of(current), capability(situation.owners_choice)
    free = free_of(current, limits.types)
    reach = reach_of(situation, changes=1)
    most = max(reach[0], now.burst_iops), max(reach[1], now.burst_mibps)
    levels = [(now.burst_iops, now.burst_mibps)]
    if situation.past.known:
        spare = 1 + limits.headroom_percent / 100
        for level in demand_levels(situation.past, lambda i, m: _unit_usd(i, m, free)):
            i, m = freed(situation, level)
            enough = i <= chosen.sustained_iops and m <= chosen.sustained_mibps
            own = (chosen.sustained_iops, chosen.sustained_mibps) if enough else (0.0, 0.0)
            levels.append(both_spared((i, m), spare, base, own, situation.diagnosis))
        seen = most_used(situation, spare)
        known_iops, known_mibps = max(base[0], seen[0]), max(base[1], seen[1])
        levels += [  # each side without what no load used of the other
            *((i, known_mibps) for i, m in levels if i > now.burst_iops and m > known_mibps),
            *((known_iops, m) for i, m in levels if m > now.burst_mibps and i > known_iops),
        ]
        levels = [_in_proportion(level, most, seen) for level in levels]
        if situation.owners_choice.volume_type is current.volume_type and (
            now.sustained_iops > chosen.sustained_iops > base[0]
            or now.sustained_mibps > chosen.sustained_mibps > base[1]
        ):
            levels.append((chosen.sustained_iops, chosen.sustained_mibps))  # what Headroom raised
    levels += announced_levels(situation)
    step = limits.largest_step
    levels += [  # from where one step leads to the most that may come
        (i / step, m / step)
        for i, m in _most(situation)
        if i > step * free[0] or m > step * free[1]
    ]
    lowest_iops = least_iops(situation, base[0])
    lowest_mibps = least_mibps(situation, base[1])
    levels = [
        (max(lowest_iops, min(i, most[0])), max(lowest_mibps, min(m, most[1]))) for i, m in levels
    ]
    if situation.past.known:  # also what is left so that raises lead back from it
        levels = [
            (min(i, most[0]), min(m, most[1])) for i, m in with_spare(levels, situation, free)
        ]
    levels += [  # a raise of one side is possible while the other may not be lowered yet
        (max(i, now.sustained_iops), max(m, now.sustained_mibps))
        for i, m in levels
        if situation.calm
        and (
            (i > now.burst_iops and m < now.sustained_mibps)
            or (m > now.burst_mibps and i < now.sustained_iops)
        )
    ]
    affordable = _affordable(situation, levels, free)
    levels = [*_thinned(levels, free), *affordable]  # also close below what is not permitted
    if has_fixed_gp3(current):  # or below what takes a copy of all data
        levels.append(base)
    for plan in _plans_to(situation, levels):
        if not hardly_more(situation, plan) and (
            situation.calm or situation.harmless(plan) or relieves(situation, plan)
        ):
            yield plan


def _in_proportion(
    level: tuple[float, float], most: tuple[float, float], seen: tuple[float, float]
) -> tuple[float, float]:
    """No more than `most`. Of what exceeds all that was seen, neither side grows further than the other can.

    Operations that no IOPS are left for need no MiB/s.
    """
    share = min([1.0, *(can / wanted for can, wanted in zip(most, level, strict=True) if wanted)])
    iops, mibps = (
        min(wanted, can, max(share * wanted, known))
        for wanted, can, known in zip(level, most, seen, strict=True)
    )
    return iops, mibps


def _affordable(
    situation: Situation, levels: Sequence[tuple[float, float]], free: tuple[float, float],
    changes: int = 1,
) -> Iterator[tuple[float, float]]:  # fmt: skip
    """The parts that the owner's limits permit, unasked, of the cheapest levels that they do not, if any.

    Of all levels; where no load used more MiB/s than are included, of those with more IOPS alone, and the other way
    round. Where it used both, in turn, one side would have to make way for the other twice a day.
    """
    current, (low_iops, low_mibps) = situation.current, free
    kind = current.volume_type if current.volume_type in TARGETS else VolumeType.GP3

    @cache
    def permitted(level: tuple[float, float]) -> bool:
        target = cheapest(
            current, kind, iops=level[0], mibps=level[1], valid=situation.observation.valid
        )
        return (
            target is not None
            and within_limits(situation, target, changes=changes)
            and not situation.asks_for(target)
        )

    def by_price(level: tuple[float, float]) -> float:
        return _unit_usd(level[0], level[1], free)

    more = sorted((one for one in levels if one[0] > low_iops or one[1] > low_mibps), key=by_price)
    if not more or permitted(more[-1]):
        return
    iops, mibps = most_used(situation, 1 + situation.limits.headroom_percent / 100)
    found = {free}
    for some in (
        more,
        [(i, low_mibps) for i, m in more if i > low_iops and mibps <= low_mibps],
        [(low_iops, m) for i, m in more if m > low_mibps and iops <= low_iops],
    ):
        level = next((one for one in sorted(some, key=by_price) if not permitted(one)), free)
        part = largest_part(free, level, permitted)
        if part not in found:
            found.add(part)
            yield part


def largest_part(
    low: tuple[float, float], high: tuple[float, float],
    permitted: Callable[[tuple[float, float]], bool],
) -> tuple[float, float]:  # fmt: skip
    """The most on the way from one level to a higher one that is permitted; the lower one if nothing is."""
    found, most = low, 1.0
    for halving in range(1, HALVINGS + 1):
        share = most - 0.5**halving
        iops, mibps = (a + share * max(0.0, b - a) for a, b in zip(low, high, strict=True))
        if permitted((iops, mibps)):
            found = iops, mibps
        else:
            most = share
    return found


def plans_of_two_changes(situation: Situation) -> Iterator[Plan]:
    """Plans for announced and earlier load that one of the owner's largest steps does not reach, but two do.

    They are no candidates: a schedule may lead there by way of one. Where the second change would have
    to wait for longer than a schedule assumes (of a database or a large volume, or in a long cooldown),
    only for announced load, for which the first begins in time; none where a person has to approve.
    """
    current, limits = situation.current, situation.limits
    if current.volume_type not in (*TARGETS, *limits.types):
        return
    if second_in_time(situation):
        wanted = _most(situation)
    elif hours_between_two(situation):
        wanted = announced_levels(situation)
    else:
        return
    base = base_of(current)
    free = free_of(current, limits.types)
    (once_iops, once_mibps), (iops, mibps) = (reach_of(situation, changes=n) for n in (1, 2))
    levels = [
        (max(base[0], min(i, iops)), max(base[1], min(m, mibps)))
        for i, m in wanted
        if min(i, iops) > once_iops or min(m, mibps) > once_mibps
    ]
    above = limits.approve_above_usd
    affordable = _affordable(situation, levels, free, changes=2)
    for plan in _plans_to(situation, [*_thinned(levels, base), *affordable]):
        if above is None or plan.price_change_usd <= above:
            yield plan


def _plans_to(situation: Situation, levels: list[tuple[float, float]]) -> Iterator[Plan]:
    """The cheapest plan of each allowed type to each level."""
    for volume_type in TARGETS:
        if volume_type is VolumeType.GP2 or priced_only(situation, volume_type):
            continue
        for iops, mibps in levels:
            target = cheapest(
                situation.current, volume_type, iops=iops, mibps=mibps,
                valid=situation.observation.valid,
            )  # fmt: skip
            plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
            if plan is not None:
                yield plan


def _most(situation: Situation) -> list[tuple[float, float]]:
    """IOPS and MiB/s with spare for the highest load so far, and for each announced one.

    Load above all that the volume is known to have had was served nevertheless: merged operations.
    """
    spare, past, had = (
        1 + situation.limits.headroom_percent / 100,
        situation.past,
        most_had(situation),
    )
    iops, mibps = min(past.most_iops, had[0]), min(past.most_mibps, had[1])
    return [(iops * spare, mibps * spare), *announced_levels(situation)]


def most_had(situation: Situation) -> tuple[float, float]:
    """The most IOPS and MiB/s that the volume is known to have had."""
    had = [
        capability(one)
        for one in (situation.current, situation.owners_choice, situation.reduced_from)
        if one is not None
    ]
    return max(can.burst_iops for can in had), max(can.burst_mibps for can in had)


def is_merged(situation: Situation) -> bool:
    """Whether load above all that the volume is known to have had was served: operations that EBS merged."""
    had = most_had(situation)
    return situation.past.most_iops > MERGED * had[0] or situation.past.most_mibps > MERGED * had[1]


def least_planned(
    current: Configuration, chosen: Configuration, profile: LoadProfile, limits: Limits
) -> tuple[float, float]:
    """IOPS and MiB/s that every plan leaves: an hour with no more is not busy.

    That is what gp3 includes, also of io2 that the owner had as another type, until a monthly load would be known: no
    raise leads back to gp3. Of a type that includes nothing, it is what half of the hours use, or what two raises lead
    back from.
    """
    peaks = [hour.peak_iops for hour in profile.known]
    had = pays_for_every_iops(chosen, limits.types) or len(peaks) >= ENDED_DAYS * 24
    if not (pays_for_every_iops(current, limits.types) and had):
        return (3_000.0, 125.0) if VolumeType.GP3 in limits.types else (100.0, 25.0)
    two_raises = capability(chosen).sustained_iops / limits.largest_step**STEPS_BACK
    iops = min(3_000.0, max(100.0, two_raises, median(peaks) if peaks else 0.0))
    return iops, min(125.0, capability(replace(current, iops=ceil(iops))).sustained_mibps)


def _to_hdd(situation: Situation) -> Iterator[Plan]:
    """Cheaper HDD types of the same size that the owner allows, in calm, for a load that has ended."""
    current = situation.current
    if not situation.calm or current.database is not None or situation.known_loads:
        return
    for volume_type in HDD:
        if volume_type is current.volume_type or volume_type not in situation.limits.types:
            continue
        target = cheapest(current, volume_type, iops=0.0, mibps=0.0)
        plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
        if plan is not None and plan.price_change_usd < 0 and _long_below(situation, plan):
            yield plan


def _long_below(situation: Situation, plan: Plan) -> bool:
    """Whether load beyond what the target sustains of random I/O, or served before, has ended: a week ago at least."""
    (iops, mibps), since, longest, known = situation.sustains(plan.target), 0, 0, False
    for hour in situation.past.profile.hours:
        if hour is None:
            continue
        beyond = max(hour.peak_iops, hour.limit_iops) > iops or (
            max(hour.peak_mibps, hour.limit_mibps) > mibps
        )
        if beyond and known:
            longest = max(longest, since)
        known = known or beyond
        since = 0 if beyond else since + 1
    return since >= max(QUIET_HOURS, QUIET_TIMES * longest)


def _thinned(
    levels: list[tuple[float, float]], base: tuple[float, float]
) -> list[tuple[float, float]]:
    """Levels that differ, the most expensive first, without those just below another."""
    kept: list[tuple[float, float]] = []
    for iops, mibps in sorted(levels, key=lambda w: (_unit_usd(w[0], w[1], base), w), reverse=True):
        if not any(
            i * ALIKE <= max(iops, base[0]) <= max(i, base[0])
            and m * ALIKE <= max(mibps, base[1]) <= max(m, base[1])
            for i, m in kept
        ):
            kept.append((iops, mibps))
    return kept


def _unit_usd(iops: float, mibps: float, base: tuple[float, float]) -> float:
    """The relative price of a level in USD per month, by gp3's prices in most Regions."""
    return 0.005 * max(0.0, iops - base[0]) + 0.04 * max(0.0, mibps - base[1])
