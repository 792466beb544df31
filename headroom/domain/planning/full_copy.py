"""Full copies: when all data of a database may be copied, and the value of that.

A copy takes hours beside the load and helps only when it is done, so none starts under pressure.
Its value follows from the minutes that earlier days spent at the limit, and from what the owner announced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.state import HOUR
from headroom.domain.workload import HOURS, KnownLoad, Past

FULL_COPY_TIME = timedelta(hours=6)
"""RDS documents hours for a full copy; this is about what EBS documents for a full TiB."""
DAY = timedelta(days=1)
DAYS_PRESSED = 2
"""Days with time at the limit that make it a recurring load."""
ANNOUNCED_DAYS = 28
"""Days ahead in which announced load counts: a month's."""


def pressed_minutes_per_day(past: Past) -> float:
    """Mean minutes per measured day at the limits then in force; 0 unless several days had any."""
    start = past.profile.start
    found = [
        ((start + place * HOUR).date(), hour.touched_minutes)
        for place, hour in past.busy.items()
        if hour.touched_minutes
    ]
    if len({day for day, _ in found}) < DAYS_PRESSED:
        return 0.0
    return sum(minutes for _, minutes in found) / max(past.days, 1.0)


def calm_during_copy(past: Past, at: datetime) -> bool:
    """Whether no earlier day was at a limit during the hours of a copy that starts at `at`."""
    return not any(
        hour.touched_minutes and (past.profile.start + place * HOUR - at) % DAY < FULL_COPY_TIME
        for place, hour in past.busy.items()
    )


def announced_minutes_per_day(
    situation: Situation, without: Sequence[Capability], after: Capability
) -> float:
    """Mean minutes a day of announced load that only the copy serves; 0 unless it comes on several days.

    `without` is what is to be had in place, `after` what the copy leads to.
    """
    at = situation.observation.at
    late: dict[datetime, float] = {}
    for load in situation.announced:
        due = load.due or load.start
        left = min(_share_late(situation, load, can) for can in without)
        ended = max(0.0, left - _share_late(situation, load, after))
        if load.start < at + ANNOUNCED_DAYS * DAY and ended > 0:
            late[due] = max(late.get(due, 0.0), ended * (load.end - due).total_seconds() / 60)
    if len({due.date() for due in late}) < DAYS_PRESSED:
        return 0.0
    return sum(late.values()) / ANNOUNCED_DAYS


def announced_during_copy(situation: Situation) -> bool:
    """Whether announced load would be held back during the hours of a copy that starts now."""
    until, can = situation.observation.at + FULL_COPY_TIME, capability(situation.current)
    return any(
        (load.due or load.start) < until and _share_late(situation, load, can) > 0
        for load in situation.announced
    )


def _share_late(situation: Situation, load: KnownLoad, can: Capability) -> float:
    """The share of announced load that a configuration does not serve, with what its instance sustains."""
    instance = situation.observation.instance
    iops, mibps = can.sustained_iops, can.sustained_mibps
    if instance is not None and instance.limits is not None:
        iops = min(iops, instance.limits.baseline_iops)
        mibps = min(mibps, instance.limits.baseline_mibps)
    return load.share_late((iops, mibps))


def full_copy_valued(situation: Situation, plan: Plan, without: Sequence[Capability]) -> Plan:
    """A full copy, valued by the minutes that earlier days spent at the limit, and by announced load.

    That applies in calm hours, if no earlier day was at a limit during the hours of the copy. `without` is
    what is to be had without one.
    """
    limits, past, at = situation.limits, situation.past, situation.observation.at
    if not may_copy_now(situation):
        return plan
    calm = calm_during_copy(past, at) and not announced_during_copy(situation)
    ended = (
        pressed_minutes_per_day(past)
        + announced_minutes_per_day(situation, without, plan.capability)
        if calm
        else 0.0
    )
    usd = float(plan.price_change_usd) * HOURS / HOURS_PER_MONTH
    value = limits.relief_value_usd_per_minute * ended - usd
    return replace(
        plan, relieved_minutes_per_day=round(ended, 3), value_usd_per_day=round(value, 4)
    )


def may_copy_now(situation: Situation) -> bool:
    return situation.limits.full_copy and situation.limits.growth and situation.calm
