"""The hours of the coming day: when its schedule begins, and in which a change may start."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import ceil

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS
from headroom.domain.planning.schedule import LOCKED_HOURS
from headroom.domain.planning.situation import Situation
from headroom.domain.state import HOUR, WINDOW, hour_of
from headroom.domain.workload import HOURS

LEAD = timedelta(minutes=40)
"""How long before load a change is asked for: AWS says minutes to hours until it has its effect."""
IN_FLIGHT_HOURS = 2.0
"""How much longer than a schedule assumes a change may be in flight: AWS says hours."""
SLOWER = 1.5
"""How many times as long as the latest change the next one is expected to take, to be on the safe side."""


def locked_hours(situation: Situation) -> int:
    """How many hours a change is expected to prevent another: longer where a window may close meanwhile."""
    least = LOCKED_HOURS if all(open_hours(situation)) else LOCKED_HOURS + IN_FLIGHT_HOURS
    return min(HOURS, ceil(max(least, SLOWER * situation.change_takes_hours)))


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
    """Whether a change may start, by hour from now: no window is closed and nothing is frozen."""
    if not situation.limits.change_windows and not situation.freezes:
        return [True] * HOURS
    first = begins(situation)
    return [situation.may_change(first + hour * HOUR) for hour in range(HOURS)]


def free_slots(situation: Situation) -> list[int]:
    """Free modification slots by hour from now, if none is used before; none where no change may start."""
    at, most = situation.observation.at, MAX_MODIFICATIONS - situation.limits.slots_reserve
    return [
        most - sum(start > at + hour * HOUR - WINDOW for start in situation.starts) if may else 0
        for hour, may in enumerate(open_hours(situation))
    ]
