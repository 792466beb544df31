"""From gp2 to gp3: more IOPS for the same money, and less throughput that nobody used.

gp3 has 3,000 IOPS and 125 MiB/s whatever its size (on RDS from the striping threshold on 12,000 and
500), while gp2 has up to 250 MiB/s a volume, but its IOPS only as long as its credits last. Throughput
that a load came near is given up only by a database for which none can be bought, and which without
credits was short for longer than it would be on gp3.
Source: RDS User Guide, "Amazon RDS DB instance storage" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from headroom.domain.catalog import cheapest, included
from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.planning.plan import Plan
from headroom.domain.resources import Configuration, Observation, ValidStorage, VolumeType
from headroom.domain.state import HOUR, LoadProfile, ProfileHour
from headroom.domain.workload import (
    HOURS,
    Demand,
    Minute,
    drained_minutes,
    recent_minutes,
    short_minutes,
    since,
)

LATELY_HOURS = 14 * HOURS
ROUNDED = 1.01
"""How much more than its rounded rates an hour of the profile may have had."""


def least_gp3(
    current: Configuration, demand: Demand, valid: tuple[ValidStorage, ...], *, spare: float
) -> Configuration | None:
    """The cheapest gp3 of gp2's size that sustains its IOPS and the throughput that was used.

    For a database that can have no more throughput without growing, the gp3 of its size.
    """
    if current.volume_type is not VolumeType.GP2:
        return None
    iops = max(
        capability(current).burst_iops,
        included(replace(current, volume_type=VolumeType.GP3, iops=None, throughput_mibps=None))[0],
    )
    found = cheapest(
        current, VolumeType.GP3, iops=iops, mibps=used_mibps(demand, iops) * spare, valid=valid
    )
    if current.database is None or (found is not None and found.size_gib == current.size_gib):
        return found
    return cheapest(current, VolumeType.GP3, iops=iops, mibps=0.0, valid=valid)


def gives_up_only_unused(plan: Plan, demand: Demand, *, spare: float) -> bool:
    """Whether `plan` lowers nothing but throughput that no load came near.

    `spare` is the factor of the highest throughput that must remain: of the highest measured, and of
    what the present load would move with all the IOPS it gets.
    """
    now, then = capability(plan.origin), plan.capability
    if then.sustained_iops < now.sustained_iops or then.burst_iops < now.burst_iops:
        return False
    return used_mibps(demand, then.sustained_iops) * spare <= then.sustained_mibps


def gives_up_less_than_it_brings(
    plan: Plan, demand: Demand, observation: Observation, profile: LoadProfile | None, *,
    spare: float,
) -> bool:  # fmt: skip
    """Whether `plan` lowers only unused throughput, or a database's load came late for longer on gp2.

    In the last two weeks, by their mean day; or gp2 was late for longer on the last day, which may be the first of a new load,
    than gp3 would have been on any. `profile` is the past until the latest minutes of `observation`, where there is one.
    """
    if gives_up_only_unused(plan, demand, spare=spare):
        return True
    before, after = plan.origin, plan.target
    if (
        (before.volume_type, after.volume_type) != (VolumeType.GP2, VolumeType.GP3)
        or before.database is None
        or after.throughput_mibps is not None  # more of it can be bought
        or not costs_no_more(plan)
    ):
        return False
    hours = () if profile is None else profile.hours[-LATELY_HOURS:]
    seen = recent_minutes(observation)
    if profile is not None and seen:  # its last hours are known by their minutes
        by_minutes = min(len(hours), max(0, (profile.end - seen[0].at) // HOUR))
        hours = hours[: len(hours) - by_minutes]
        seen = since(seen, profile.end - by_minutes * HOUR)
    then = plan.capability
    today, lately = _a_day(hours[-HOURS:], seen, then), _a_day(hours, seen, then)
    days = (hours[first : first + HOURS] for first in range(0, len(hours), HOURS // 2))
    worst = max([today.after, *(_a_day(day, (), then).after for day in days)])
    longer = today.after <= max(today.before, lately.before) and lately.after <= lately.before
    return longer or worst <= today.before


def _a_day(
    hours: Sequence[ProfileHour | None], minutes: Sequence[Minute], then: Capability
) -> LateMinutes:
    """The late minutes of a mean day."""
    known = [hour for hour in hours if hour is not None]
    days = max(1.0, (len(known) + len(minutes) / 60) / HOURS)
    late = late_minutes(known, minutes, then)
    return LateMinutes(late.before / days, late.after / days)


def costs_no_more(plan: Plan) -> bool:
    """Whether the price stays, or each GiB costs no more where it grows for free space."""
    if plan.growth is None:
        return plan.price_change_usd <= 0
    before = plan.monthly_usd - plan.price_change_usd
    return plan.monthly_usd * plan.origin.size_gib <= before * plan.target.size_gib


class LateMinutes(NamedTuple):
    """Minutes in which load of the past came late: on gp2, and at most on gp3."""

    before: float
    after: float


def late_minutes(
    hours: Sequence[ProfileHour], minutes: Sequence[Minute], then: Capability
) -> LateMinutes:
    """How long the load of measured hours and minutes came late on gp2, and would at most with `then`.

    Minutes at a limit of IOPS count for both, as gp3 is late then at least where it has no more; where it has, for no
    longer than serving all of it takes there. At its limit of MiB/s, which is above gp3's, gp2 may have served all.
    What no limit held back waits if it is above gp3's limits.
    """
    before = after = backlog = 0.0
    for hour, in_a_row in zip(hours, _in_a_row(hours, then), strict=True):
        late = _late_minutes(hour, then, in_a_row)
        if not hour.limit_mibps:
            before += hour.touched_minutes
            late = (
                late if hour.limit_iops < then.sustained_iops else max(late, hour.touched_minutes)
            )
        after += late
    for minute in minutes:
        share = _share(minute.ssd_iops, minute.mibps, then)
        due = backlog + share
        backlog = max(0.0, due - 1.0)
        before += minute.saturated and not minute.mibps_pressed
        after += share if minute.pressed else backlog / max(1.0, due)
    return LateMinutes(before, after)


def _in_a_row(hours: Sequence[ProfileHour], then: Capability) -> list[int]:
    """By hour, how many in a row have more load than gp3 serves."""
    above = [ROUNDED * _share(hour.mean_iops, hour.mean_mibps, then) > 1.0 for hour in hours]
    runs = [len(list(run)) for _, run in groupby(above)]
    return [length for length in runs for _ in range(length)]


def _late_minutes(hour: ProfileHour, then: Capability, in_a_row: int) -> float:
    """At most: no longer than what was served takes, or than its minutes at a limit and what others leave behind."""
    serving = 60 * _share(hour.mean_iops, hour.mean_mibps, then)
    free = hour._replace(touched_minutes=0)
    limits = then.sustained_iops / ROUNDED, then.sustained_mibps / ROUNDED
    behind = short_minutes(free, *limits, lasting=in_a_row) + drained_minutes(free, *limits)
    return min(serving, hour.touched_minutes + behind)


def _share(iops: float, mibps: float, can: Capability) -> float:
    """Load as a share of what `can` serves of it: of its IOPS or its MiB/s, whichever is more."""
    return max(iops / can.sustained_iops, mibps / can.sustained_mibps)


def used_mibps(demand: Demand, iops: float) -> float:
    """The most MiB/s that was measured, or that the present load would move at `iops`."""
    most = demand.peak_mibps
    if demand.iops.floor:
        most = max(most, demand.mibps.floor / demand.iops.floor * min(iops, demand.iops.upper))
    return most
