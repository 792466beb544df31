"""The hours of the coming day: when its schedule begins, and in which a change may start."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from math import ceil

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS, capability
from headroom.domain.planning.announced import (
    SETTLES_HOURS_PER_TIB,
    SLOWER,
    hours_between_two,
    serves,
)
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.schedule import LOCKED_HOURS
from headroom.domain.planning.situation import Situation
from headroom.domain.policy import Mode, next_opening
from headroom.domain.state import HOUR, WINDOW, ProfileHour, hour_of
from headroom.domain.workload import HOURS, Binding, Forecast

FORESEEN_USD = 0.05
"""USD per day that a raise before its load must be worth at least: more than the forecast's noise."""
LEAD = timedelta(minutes=40)
"""How long before load a change is asked for: AWS says minutes to hours until it has its effect."""
IN_FLIGHT_HOURS = 2.0
"""How much longer than a schedule assumes a change may be in flight: AWS says hours."""
STILL = 0.5
"""Chance that the first change which is in flight for longer than a schedule assumes still is an hour later."""
OFF_SINCE = (HOURS, 2 * HOURS, 3 * HOURS), (7 * HOURS, 14 * HOURS)
"""Hours before another: nothing was measured in all of these, so nothing is expected to be. An instance is off."""
MOST_CLOSED_HOURS = 14 * HOURS
"""Load is foreseen for no longer than this."""
SLOTS_OF_A_DAY = 3
"""A raise, its give-back, and the slot that a give-back leaves for the next raise."""


def locked_hours(situation: Situation) -> int:
    """How many hours a change is expected to prevent another: longer where a window may close meanwhile."""
    least = LOCKED_HOURS if all(open_hours(situation)) else LOCKED_HOURS + IN_FLIGHT_HOURS
    took = SLOWER * situation.change_takes_hours
    lasts = max(least, took or hours_between_two(situation), late_hours(situation))
    return min(HOURS, ceil(lasts))


def raise_locked_hours(situation: Situation) -> int:
    """How many hours a raise prevents another change by the owner's cooldown. What was lowered may be raised at once."""
    return min(HOURS, ceil(situation.limits.cooldown_minutes / 60))


def late_hours(situation: Situation) -> int:
    """How many hours earlier than `LEAD` a raise has to begin, as earlier ones had their effect so late."""
    takes = situation.raises_take
    return min(HOURS, ceil((SLOWER * takes - LEAD) / HOUR)) if takes > LEAD else 0


def minutes_in_flight(situation: Situation, forecast: Forecast) -> list[float]:
    """By level: load of certain hours that is late as a change to it is in flight for longer than assumed.

    AWS says minutes to hours, and names no end; where no change was timed yet, it may be any. Less what
    the present level, the first, leaves late; load at any time is in the schedule.
    """
    found = [0.0] * len(forecast.seen_minutes)
    if situation.change_takes_hours:
        return found
    at_any_time = [min(column) for column in zip(*forecast.locked_minutes, strict=True)]
    chance = STILL
    for late in forecast.locked_minutes[locked_hours(situation) :]:
        more = [minutes - least for minutes, least in zip(late, at_any_time, strict=True)]
        for level, minutes in enumerate(more):
            found[level] += chance * max(0.0, minutes - more[0])
        chance *= STILL
    return found


def least_held_hours(situation: Situation) -> float:
    """How many hours a raise is held at least; a day where it may not be given back within the day.

    AWS works on a full volume for 6 hours per TiB, and one slot is kept for the raise after.
    """
    limits = situation.limits
    if (
        not limits.give_back
        or limits.mode is Mode.APPROVE
        or MAX_MODIFICATIONS - limits.slots_reserve < SLOTS_OF_A_DAY
    ):
        return HOURS
    settles = SETTLES_HOURS_PER_TIB * situation.current.size_gib / 1024
    return max(float(locked_hours(situation)), settles, limits.cooldown_minutes / 60)


def begins(situation: Situation) -> datetime:
    """When a change for the first hour of the schedule is due; those for later ones hours after."""
    return hour_of(situation.observation.at + LEAD) - LEAD


def rest_of_hour(situation: Situation) -> float:
    """The share of the present hour that is still to come, where the schedule begins with the next one.

    A raise takes about as long to have its effect. What is given back may be gone within minutes.
    """
    at = situation.observation.at
    return max(0.0, (hour_of(at + LEAD) - at) / HOUR)


def open_hours(situation: Situation) -> list[bool]:
    """Whether a change may start, by hour from now.

    No window is closed, nothing is frozen, and it is not one of the hours in which nothing is measured: without
    metrics of now nothing is changed.
    """
    first, past = begins(situation), situation.past.profile.hours
    may = [True] * HOURS
    if situation.limits.change_windows or situation.freezes:
        may = [_opens(situation, first + hour * HOUR) for hour in range(HOURS)]
    if None in past[-OFF_SINCE[-1][-1] :]:
        place = (hour_of(first) - situation.past.profile.start) // HOUR
        may[1:] = [
            one and not _is_off(past, place + hour) for hour, one in enumerate(may[1:], start=1)
        ]
    return may


def _opens(situation: Situation, hour: datetime) -> bool:
    """Whether a change may start at `hour`, or from some minute of the hour that begins then on."""
    if situation.may_change(hour):
        return True
    opening = next_opening(situation.limits.change_windows, hour)
    return opening is not None and opening < hour + HOUR and situation.may_change(opening)


def closed_hours_after(situation: Situation) -> int:
    """How many hours after the coming day no change may start, if its last hour is not open; no more than two weeks.

    0 where no change may start within the day either, or something is to be done for what the owner announced after it.
    """
    if not (situation.limits.change_windows or situation.freezes) or not any(open_hours(situation)):
        return 0
    now = capability(situation.current)
    if any(load.due is not None and not serves(now, load) for load in situation.known_loads):
        return 0
    after = begins(situation) + HOURS * HOUR
    closed = takewhile(
        lambda hour: not _opens(situation, after + hour * HOUR), range(MOST_CLOSED_HOURS)
    )
    return sum(1 for _ in closed)


def _is_off(past: Sequence[ProfileHour | None], place: int) -> bool:
    """Whether nothing was measured at this hour of the last days or weeks, and something on those days."""

    def was_off(earlier: int) -> bool:
        day = past[max(0, earlier - HOURS // 2) : earlier + HOURS // 2]
        return 0 <= earlier < len(past) and past[earlier] is None and any(day)

    return any(all(was_off(place - back) for back in times) for times in OFF_SINCE)


def free_slots(situation: Situation) -> list[int]:
    """Free modification slots by hour from now, if none is used before; none where no change may start."""
    at, most = situation.observation.at, MAX_MODIFICATIONS - situation.limits.slots_reserve
    return [
        most - sum(start > at + hour * HOUR - WINDOW for start in situation.starts) if may else 0
        for hour, may in enumerate(open_hours(situation))
    ]


def valued_again_in(
    situation: Situation,
    plans: Sequence[tuple[Plan, float]],
    *hours: int | None,
) -> float | None:
    """Hours until plans are to be valued again, if none is taken now.

    A give-back that only load due in the rest of this hour prevents, when the hour ends. A foreseen raise
    that is not yet worth enough, an hour later. `plans` come with what they lose in the rest of the hour.
    Otherwise the first of `hours`: when the best schedule changes something, and when it would if the present load
    ended as earlier ones did, as nobody reports that it did.
    """
    if any(
        plan.sustains_less and plan.value_usd_per_day <= 0 < plan.value_usd_per_day + usd
        for plan, usd in plans
    ):
        return LEAD / HOUR
    foreseen = situation.diagnosis.binding is Binding.NOTHING and any(
        plan.price_change_usd > 0 and 0 < plan.value_usd_per_day < FORESEEN_USD for plan, _ in plans
    )
    if foreseen:
        return 1.0
    return min((hour for hour in hours if hour is not None), default=None)
