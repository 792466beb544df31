"""What a plan is worth after the coming day: a month of a cheaper type, as many days as were calm, or years."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import takewhile
from operator import sub
from statistics import mean

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS, Capability, capability
from headroom.domain.planning.plan import Plan, one_way
from headroom.domain.planning.restoring import UNPROVEN_DAYS, leads_no_further, within_choice
from headroom.domain.planning.schedule import ScheduleCost
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration, VolumeType
from headroom.domain.workload import (
    HOURS,
    Forecast,
    Level,
    Past,
    calm_days,
    drained_minutes,
    shortfalls,
)

MONTH_DAYS = 30
NOTHING_GAINED_USD = -0.01
"""What a change for good is worth that neither relieves nor saves anything."""
WAITS_HOURS = 12
"""How long a cheaper type may wait for a better hour. Later ones only look better, because what follows
the day is not seen; the change is complete by then."""
FIRST_DAY_USD = 0.25
"""What a better hour is worth at least for which a saving waits on the first day."""
LATELY_DAYS = 28
DRAINS = 0.97
"""Share of what is sustained below which the load that arrived is served."""
WHOLE_MIN = 55
"""Minutes at a limit from which an hour is one in which something waits all the time."""
STAYS_MIN = 15
"""Minutes at a limit from which an episode is a reason for a raise that stays; one of a few minutes may be the only one."""
FOR_GOOD_DAYS = 7
"""Least days over which the need for what can never be undone is averaged."""


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


def keeping_a_slot(
    valued_plans: Sequence[Plan], found: ScheduleCost, slotted: ScheduleCost, days: float = 1.0
) -> list[Plan]:
    """The plans, without value where lowering waits for a better time as the last slot of a day is never for it.

    A raise and a give-back late in the day block the give-back after the next load, day after day;
    skipping one breaks that. `slotted` is the cost of schedules that keep the slot, `found` of others, both of so many days.
    """
    kept = []
    for i, plan in enumerate(valued_plans, start=1):
        worth = plan.value_usd_per_day
        more = slotted.stay - slotted.change[i] - (found.stay - found.change[i])
        slotted_worth = worth + more / days
        waits = plan.sustains_less and slotted_worth <= 0 < worth
        kept.append(replace(plan, value_usd_per_day=round(slotted_worth, 4)) if waits else plan)
    return kept


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


def waits_hours(
    situation: Situation, kept: Mapping[VolumeType, float], targets: Sequence[Configuration],
    goals: Sequence[bool], cost: Callable[..., ScheduleCost], ends: Sequence[float],
) -> int | None:  # fmt: skip
    """Hours until which a saving for good waits, as it is as large after load that may come before; None for not.

    On the first day it waits only while the load is so near a limit that the next rise may exceed it. `kept` is
    what each type saves; the first of `targets` is the present one, `goals` says which may be reached, `ends` what
    follows the day at each.
    """
    if not kept:
        return None
    pairs = zip(targets, ends, strict=True)
    then = cost(ends=[usd - kept.get(one.volume_type, 0.0) for one, usd in pairs])
    at_once = min(usd for usd, goal in zip(then.change, goals, strict=True) if goal)
    worth_waiting = FIRST_DAY_USD if situation.past.days < 1.0 else 0.0
    better = at_once > then.stay + worth_waiting
    return then.next_hour if better and (then.next_hour or HOURS) <= WAITS_HOURS else None


def uses_up_the_only_change(situation: Situation) -> bool:
    """Whether a change for money would be the only one of its day, of whose load a day is not known yet.

    By the owner's cooldown or reserve of slots: a raise would have to wait until the next.
    """
    limits = situation.limits
    single = MAX_MODIFICATIONS - limits.slots_reserve < 2 or limits.cooldown_minutes > HOURS * 30
    return single and situation.past.days < 1.0


def without_return(situation: Situation, plan: Plan) -> Plan:
    """The plan; where what it changes would stay so, its value is of the mean day so far.

    So is a saving from where no raise could follow the load, which is worth nothing for the first week: how often the
    load comes is not known by then. And a raise that the owner alone may give back, but not for load that was announced,
    and not to what the owner chose, which Headroom lowered.
    """
    if plan.price_change_usd > 0 and not (
        situation.limits.give_back
        or one_way(plan)
        or situation.known_loads
        or within_choice(situation, plan)
    ):
        blip = 0 < situation.demand.pressed_minutes < STAYS_MIN
        coming = 0.0 if blip else plan.relieved_minutes_per_day
        most = value_for_good(situation, plan, coming_minutes=coming)
        return replace(plan, value_usd_per_day=min(plan.value_usd_per_day, most))
    if plan.price_change_usd >= 0 or not leads_no_further(situation, plan):
        return plan
    past = situation.past
    longer = _minutes_a_day(past, plan.capability) - _minutes_a_day(past, capability(plan.origin))
    usd = situation.limits.relief_value_usd_per_minute * longer
    worth = round(-float(plan.price_change_usd) / MONTH_DAYS - usd, 4)
    most = NOTHING_GAINED_USD if past.days < UNPROVEN_DAYS else worth
    return replace(plan, value_usd_per_day=min(plan.value_usd_per_day, most))


def _minutes_a_day(past: Past, can: Capability) -> float:
    """Minutes of shortfall on a mean day of the past, and those in which what waits is drained."""
    (hours, _), lasting = past.numbered, past.lasting
    rates = can.sustained_iops, can.sustained_mibps
    late = shortfalls(hours, *rates, lasting=lasting)
    return sum(
        times * (late[n] + drained_minutes(hours[n], *rates, lasting=lasting[n]))
        for n, times in past.times.items()
    ) / max(1.0, past.days)


def wished(situation: Situation, plan: Plan) -> bool:
    """Whether a plan leads to the faster type that the owner's latency objective asks for: it need not pay in minutes."""
    return (
        situation.slow and plan.target.volume_type is VolumeType.IO2 is not plan.origin.volume_type
    )


def value_for_good(situation: Situation, plan: Plan, *, coming_minutes: float = 0.0) -> float:
    """The value per day of what can never be undone: what it relieves on a mean day, less its price.

    At least `coming_minutes` count beside the past.

    The present episode alone is no reason: it counts as the past does, over a week at least. It does not
    count where less arrived since it began than is served now: then what waited is drained.
    """
    demand, past = situation.demand, situation.past
    now, then = capability(situation.current), plan.capability
    if wished(situation, plan):
        return 0.0
    hours, numbers = past.numbered
    before = shortfalls(hours, now.sustained_iops, now.sustained_mibps)
    after = shortfalls(hours, then.sustained_iops, then.sustained_mibps)
    shorter: list[float] = list(map(sub, before, after))
    until, end = _hours_that_count(situation), len(past.profile.hours)
    ongoing = demand.pressed_minutes * demand.expected_shortfall(
        iops=now.sustained_iops, mibps=now.sustained_mibps
    )
    if until < end:
        ongoing = 0.0
    ongoing = max(ongoing, coming_minutes)
    a_day = max(  # a load that changed for good is not thinned out by the year before it
        (
            sum([shorter[number] for place, number in numbers.items() if since <= place < until])
            + ongoing
        )
        / max(min(past.days, days), FOR_GOOD_DAYS)
        for since, days in ((0, past.days), (end - LATELY_DAYS * 24, LATELY_DAYS))
    )
    a_day += _announced_minutes(situation, now, then) / MONTH_DAYS
    usd = situation.limits.relief_value_usd_per_minute * a_day
    worth = round(usd - float(plan.price_change_usd) / MONTH_DAYS, 4)
    return worth if worth != 0 else NOTHING_GAINED_USD


def _announced_minutes(situation: Situation, now: Capability, then: Capability) -> float:
    """Minutes of announced load that `then` relieves within a month, if some of it is due within the day."""
    if not situation.known_loads:
        return 0.0
    until = situation.observation.at + timedelta(days=MONTH_DAYS)
    return sum(
        load.minutes_in(load.start, load.end)
        * (
            load.share_late((now.sustained_iops, now.sustained_mibps))
            - load.share_late((then.sustained_iops, then.sustained_mibps))
        )
        for load in situation.announced
        if load.start < until
    )


def _hours_that_count(situation: Situation) -> int:
    """How many hours of the past: without the latest whole ones at a limit, while they drain what waited before."""
    now, hours = capability(situation.current), situation.past.profile.hours
    count = sum(
        1 for _ in takewhile(lambda hour: hour and hour.touched_minutes >= WHOLE_MIN, hours[::-1])
    )
    onset = hours[-count - 1] if count < len(hours) else None
    drained = [hour for hour in hours[len(hours) - count :] if hour is not None]
    if onset is not None and onset.touched_minutes:
        drained.append(onset)
    if count and (
        mean(hour.mean_iops for hour in drained) < DRAINS * now.sustained_iops
        and mean(hour.mean_mibps for hour in drained) < DRAINS * now.sustained_mibps
    ):
        return len(hours) - len(drained)
    return len(hours)
