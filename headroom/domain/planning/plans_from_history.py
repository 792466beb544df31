"""Plans for the demand of earlier days, and cheaper ones for today's capability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headroom.domain.catalog import cheapest, included
from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.build_plan import plan_for, priced_only, relieves
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.workload import demand_levels

TARGETS = (VolumeType.GP3, VolumeType.IO2, VolumeType.IO1, VolumeType.GP2)
"""Types a plan for demand may lead to; st1, sc1 and standard are only origins."""
HDD = (VolumeType.ST1, VolumeType.SC1)
"""Types that a plan may lead to where the owner allows them and the load has long been small."""
QUIET_HOURS = 7 * 24
"""Measured hours without load beyond an HDD type before a plan leads to it."""
QUIET_TIMES = 2
"""The same in times of the longest pause between such load: what comes again each month has not ended."""
STEPS_BACK = 2
"""Changes that may be needed to be back where the volume was."""
MORE = 1.1
ALIKE = 0.97
"""A level this close below another is no candidate of its own."""


def plans_from_history(situation: Situation) -> Iterator[Plan]:
    """Plans for the demand of earlier days, and cheaper ones for today's capability."""
    yield from _to_hdd(situation)
    current, limits = situation.current, situation.limits
    if current.volume_type not in (*TARGETS, *limits.types):
        return
    now = capability(current)
    spare = 1 + limits.headroom_percent / 100
    base = _base(current)
    most_iops = min(limits.max_iops, limits.largest_step * max(now.burst_iops, base[0]))
    most_mibps = min(
        limits.max_throughput_mibps, limits.largest_step * max(now.burst_mibps, base[1])
    )
    levels = [(now.burst_iops, now.burst_mibps)]
    if situation.past.known:
        levels += [
            (_spared(i, spare, base[0]), _spared(m, spare, base[1]))
            for i, m in demand_levels(situation.past, lambda i, m: _unit_usd(i, m, base))
        ]
    levels += [
        (max(base[0], load.iops * spare), max(base[1], load.mibps * spare))
        for load in situation.known_loads
    ]
    back = limits.largest_step**STEPS_BACK  # no lower than could be undone again
    least_iops = max(min(limits.min_iops, now.sustained_iops), now.sustained_iops / back)
    least_mibps = max(
        min(limits.min_throughput_mibps, now.sustained_mibps), now.sustained_mibps / back
    )
    levels = _thinned(
        [
            (
                max(least_iops, min(i, max(most_iops, now.burst_iops))),
                max(least_mibps, min(m, max(most_mibps, now.burst_mibps))),
            )
            for i, m in levels
        ],
        base,
    )
    for volume_type in TARGETS:
        if volume_type is VolumeType.GP2 or priced_only(situation, volume_type):
            continue
        for iops, mibps in levels:
            target = cheapest(
                current, volume_type, iops=iops, mibps=mibps, valid=situation.observation.valid
            )
            plan = None if target is None else plan_for(situation, target, 1.0, capped_from=None)
            if (
                plan is not None
                and not _hardly_more(situation, plan)
                and (situation.calm or situation.harmless(plan) or relieves(situation, plan))
            ):
                yield plan


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
    """Whether load beyond what the target sustains of random I/O has ended: a week ago at least.

    A profile counts SSD operations, of which each may cost an HDD type a MiB of its baseline.
    """
    can, since, longest, known = plan.capability, 0, 0, False
    for hour in situation.past.profile.hours:
        if hour is None:
            continue
        beyond = max(hour.peak_iops, hour.limit_iops) > can.sustained_iops or (
            max(hour.peak_mibps, hour.limit_mibps) > can.sustained_mibps
        )
        if beyond and known:
            longest = max(longest, since)
        known = known or beyond
        since = 0 if beyond else since + 1
    return since >= max(QUIET_HOURS, QUIET_TIMES * longest)


def _spared(wanted: float, spare: float, included: float) -> float:
    """The demand with spare, unless the spare would only just exceed what gp3 includes."""
    found = wanted * spare
    return included if wanted <= included < found <= included / ALIKE else found


def _base(current: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that the price of gp3 of this size includes."""
    return included(replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None))


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


def _hardly_more(situation: Situation, plan: Plan) -> bool:
    """Whether a plan of the same type costs more for less than a tenth more, and nothing presses.

    The spare above what is needed covers that; such steps would only use up slots.
    """
    now, then = capability(situation.current), plan.capability
    return (
        situation.demand.pressed_minutes == 0
        and plan.price_change_usd > 0
        and plan.target.volume_type is plan.origin.volume_type
        and then.sustained_iops < now.sustained_iops * MORE
        and then.sustained_mibps < now.sustained_mibps * MORE
    )
