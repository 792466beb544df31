"""What a plan saves after the coming day: a month of a cheaper type, or as many days as were calm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headroom.domain.planning.plan import Plan, one_way
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import VolumeType
from headroom.domain.workload import HOURS, Forecast, Level, calm_days

MONTH_DAYS = 30


def day_cost(
    situation: Situation, levels: Sequence[Level], forecast: Forecast, place: int
) -> float:
    """USD of the coming day at one of the levels, if nothing but reactions changes it."""
    minutes = sum(hour[place] for hour in forecast.reacting_minutes)
    return (
        HOURS * levels[place].usd_per_hour
        + sum(usd[place] for usd in forecast.reaction_usd)
        + situation.limits.relief_value_usd_per_minute * minutes
    )


def over_calm_days(situation: Situation, plan: Plan, level: Level, saved_usd: float) -> Plan:
    """The plan with what it saves after the coming day: as much for as many days as were calm.

    Those are days without load above its level, beyond the longest time that it stayed away before.
    One change is for all of them.
    """
    value, past = plan.value_usd_per_day, situation.past
    if saved_usd <= 0 or value + saved_usd * (past.days - 1.0) <= 0:
        return plan
    more = saved_usd * max(0.0, calm_days(past, level) - 1.0)
    return replace(plan, value_usd_per_day=round(value + more, 4))


def kept_savings(made: Sequence[Plan]) -> dict[VolumeType, float]:
    """USD that each type saves over the rest of a month for no less than today's performance.

    A permanent saving is worth what it saves over the coming month, not over one day.
    """
    found: dict[VolumeType, float] = {}
    for plan in made:
        if plan.price_change_usd < 0 and not plan.lowers and not one_way(plan):
            kind = plan.target.volume_type
            saved = -float(plan.price_change_usd) * (MONTH_DAYS - 1) / MONTH_DAYS
            found[kind] = max(found.get(kind, 0.0), saved)
    return found
