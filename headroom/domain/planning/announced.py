"""Load that the owner announced: the levels for it, and whether changes lead there in time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from math import ceil, floor

from headroom.domain.catalog import included
from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.catalog.rds import band_of
from headroom.domain.planning.schedule import LOCKED_HOURS
from headroom.domain.planning.situation import Situation
from headroom.domain.policy import IN_SIGHT, Mode
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.workload import KnownLoad

MOST_GIB_FOR_TWO = 400
"""Largest volume in GiB on which a second change can follow in time: AWS works on a full one for 6 hours
per TiB, so for 2 hours and 20 minutes on this one."""
NOTHING = 0.0, 0.0
"""IOPS and MiB/s that the price of io1 and io2 includes."""
NEARLY_ALL = 0.001
"""Share of an announced load that may stay late and count as served: no more, as what is late waits."""
SURELY = 0.9
"""Share of a full bucket that an announced load may spend and surely be served by it."""
SLOWER = 1.5
"""How many times as long as the latest change the next one is expected to take, to be on the safe side."""
SETTLES_HOURS_PER_TIB = 6.0
"""How long AWS works on a full volume. Source: EBS user guide, "Monitor the progress of volume modifications"."""


def events_in_sight(situation: Situation) -> tuple[KnownLoad, ...]:
    """The known events within sight that have not begun."""
    at = situation.observation.at
    return tuple(load for load in situation.known_loads if at < load.start <= at + IN_SIGHT)


def unserved_events(situation: Situation | None) -> tuple[KnownLoad, ...]:
    """The known events within sight that have not begun and that the present configuration does not serve."""
    if situation is None:
        return ()
    can = capability(situation.current)
    return tuple(load for load in events_in_sight(situation) if not serves(can, load))


def serves(can: Capability, load: KnownLoad) -> bool:
    """Whether it sustains nearly all of an announced load."""
    return load.share_late((can.sustained_iops, can.sustained_mibps)) <= NEARLY_ALL


def credits_serve(can: Capability, load: KnownLoad) -> bool:
    """Whether a full bucket of burst credits surely serves an announced load whole."""

    def covered(rate: float, sustained: float, burst: float, bucket: float) -> bool:
        spends = max(0.0, rate - sustained) * 60 * load.minutes
        return rate <= burst and spends <= SURELY * bucket

    return covered(load.iops, can.sustained_iops, can.burst_iops, can.iops_credits) and covered(
        load.mibps, can.sustained_mibps, can.burst_mibps, can.mib_credits
    )


def announced_levels(situation: Situation) -> list[tuple[float, float]]:
    """IOPS and MiB/s for each announced load, and for it and all that overlap it; with spare, but not beyond the instance."""
    margin, base = 1 + situation.limits.headroom_percent / 100, base_of(situation.current)
    loads = situation.known_loads
    found = []
    for one in loads:
        together = [other for other in loads if other.start < one.end and one.start < other.end]
        for some in ([one], together):
            iops, mibps = max(load.iops for load in some), max(load.mibps for load in some)
            spare = margin if all(load.let_through >= 1 for load in some) else 1.0
            found.append((max(base[0], iops * spare), max(base[1], mibps * spare)))
    return found


def second_in_time(situation: Situation) -> bool:
    """Whether a second change can follow the first as soon as a schedule assumes."""
    current, limits = situation.current, situation.limits
    long_wait = limits.cooldown_minutes > 60 * LOCKED_HOURS or current.database is not None
    return not (long_wait or current.size_gib > MOST_GIB_FOR_TWO or limits.mode is Mode.APPROVE)


def hours_between_two(situation: Situation) -> int:
    """After how many hours a second change surely follows, where announced load needs two; 0 where it does not.

    How long AWS works on a full TiB at least, on the latest change, and the owner's cooldown. Where a person must approve each,
    no schedule can count on it.
    """
    if situation.limits.mode is Mode.APPROVE:
        return 0
    once_iops, once_mibps = reach_of(situation, changes=1)
    iops, mibps = reach_of(situation, changes=2)
    if not any(
        min(i, iops) > once_iops or min(m, mibps) > once_mibps
        for i, m in announced_levels(situation)
    ):
        return 0
    settles = SETTLES_HOURS_PER_TIB * max(1.0, situation.current.size_gib / 1024)
    took = SLOWER * situation.change_takes_hours
    return ceil(max(settles, took, situation.limits.cooldown_minutes / 60))


def reach_of(situation: Situation, *, changes: int) -> tuple[float, float]:
    """IOPS and MiB/s that so many of the owner's largest steps lead to, within the ceilings."""
    limits, now = situation.limits, capability(situation.current)
    base = free_of(situation.current, limits.types)
    times = limits.largest_step**changes
    return (
        min(limits.max_iops, floor(times * max(now.burst_iops, base[0]))),
        min(limits.max_throughput_mibps, floor(times * max(now.burst_mibps, base[1]))),
    )


def base_of(current: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that the price of gp3 of this size includes."""
    if current.volume_type is not VolumeType.GP3:
        current = replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None)
    return included(current)


def free_of(current: Configuration, types: Collection[VolumeType]) -> tuple[float, float]:
    """IOPS and MiB/s that the price of the type includes to which raises lead; nothing for io2, and io1 without gp3."""
    return NOTHING if pays_for_every_iops(current, types) else base_of(current)


def pays_for_every_iops(current: Configuration, types: Collection[VolumeType]) -> bool:
    """Whether a volume can only stay a type that includes no IOPS: io2, or io1 without gp3.

    gp3 of a small database takes no IOPS of its own: no raise would lead from there.
    """
    if current.volume_type is not VolumeType.IO1:
        return current.volume_type is VolumeType.IO2
    return has_fixed_gp3(current) or VolumeType.GP3 not in types


def has_fixed_gp3(current: Configuration) -> bool:
    """Whether gp3 of this size has no IOPS and MiB/s but what it includes, as of a small database."""
    gp3 = band_of(replace(current, volume_type=VolumeType.GP3))
    return current.database is not None and (gp3 is None or not gp3.iops)
