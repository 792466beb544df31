"""Full copies: when all data of a database may be copied, and the value of that.

A copy takes hours beside the load and helps only when it is done, so none starts under pressure.
Its value follows from the minutes that earlier days spent at the limit.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.state import HOUR
from headroom.domain.workload import HOURS, Past

FULL_COPY_TIME = timedelta(hours=6)
"""RDS documents hours for a full copy; this is about what EBS documents for a full TiB."""
DAY = timedelta(days=1)
DAYS_PRESSED = 2
"""Days with time at the limit that make it a recurring load."""


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


def full_copy_valued(situation: Situation, plan: Plan) -> Plan:
    """A full copy, valued by the minutes that earlier days spent at the limit.

    That applies in calm hours, if no earlier day was at a limit during the hours of the copy.
    """
    limits, past = situation.limits, situation.past
    if not may_copy_now(situation):
        return plan
    ended = (
        pressed_minutes_per_day(past) if calm_during_copy(past, situation.observation.at) else 0.0
    )
    usd = float(plan.price_change_usd) * HOURS / HOURS_PER_MONTH
    value = limits.relief_value_usd_per_minute * ended - usd
    return replace(
        plan, relieved_minutes_per_day=round(ended, 3), value_usd_per_day=round(value, 4)
    )


def may_copy_now(situation: Situation) -> bool:
    return situation.limits.full_copy and situation.limits.growth and situation.calm
