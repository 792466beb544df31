"""The forecast: expected shortfall at each level in the coming hours, and how likely each asks for more.

The profile of the past says what comes, through rhythms that are weighted by how well they predicted
it; the present says how long the current load will stay; known events come from the owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from headroom.domain.state import HOUR, ProfileHour, hour_of
from headroom.domain.workload.coming_day import (
    ComingDay,
    PresentLoad,
    chance_of_more,
    new_onsets,
)
from headroom.domain.workload.demand import Forecast, Level
from headroom.domain.workload.episodes import Episodes, recent_hours
from headroom.domain.workload.history import HOLD_HOURS, Past
from headroom.domain.workload.known_load import KnownLoad, loads_at
from headroom.domain.workload.pressed_periods import belief_above_limits
from headroom.domain.workload.recurrence import HOURS, Recurrence
from headroom.domain.workload.rhythms import SURE
from headroom.domain.workload.short_minutes import Belief, above_a_limit, shortfalls

NAMED = 0.2
"""Weight from which a rhythm is named as the basis of a forecast."""


def demand_forecast(
    past: Past, levels: Sequence[Level], now: datetime, present: PresentLoad,
    known_loads: Sequence[KnownLoad] = (), *, rest: float = 0.0, recurrence: Recurrence | None = None,
    second_after_hours: float = HOLD_HOURS,
) -> Forecast:  # fmt: skip
    """The forecast of the next 24 hours for each level; the first hour is the one of `now`.

    `rest` is which share of the hour before is still to come. `recurrence` is that of `now`, where it is at hand.
    A second raise for announced load follows the first after `second_after_hours`.
    """
    recurrence = recurrence or Recurrence.of(past, now)
    day = ComingDay(
        past, now, present, known_loads, recurrence, rest=rest, second_after_hours=second_after_hours,
        top_usd_per_hour=max(level.usd_per_hour for level in levels),
    )  # fmt: skip
    found = list(map(day.at, levels, present.shortfall_share))

    def least(by_level: list[list[float]]) -> list[list[float]]:
        return never_less_for_less(by_level, levels) if recurrence.by_level else by_level

    forecast = Forecast(
        reacting_minutes=_by_hour(least([one.reacting for one in found])),
        locked_minutes=_by_hour(least([one.locked for one in found])),
        reaction_usd=_by_hour([one.reaction_usd for one in found]),
        seen_minutes=_by_hour(least([[one.seen] for one in found]))[0],
        new_minutes=found[0].new,
        locked_drained=_by_hour([one.drained for one in found]),
        reacting_drained=_by_hour([one.drained_now for one in found]),
        rest_minutes=tuple([one.rest for one in found]),
        basis=", ".join(
            rhythm.hypothesis.name for rhythm in sorted(recurrence.believed, key=lambda r: -r.weight)
            if rhythm.weight >= NAMED
        ),
    )  # fmt: skip
    if not any(present.minutes) or not any(present.shortfall_share):
        return forecast
    earlier = replace(
        forecast, locked_minutes=_by_hour(least([one.locked_earlier for one in found])),
        reacting_minutes=_by_hour(least([one.reacting_earlier for one in found])),
        reacting_drained=_by_hour([one.drained_raised for one in found]),
    )  # fmt: skip
    return replace(forecast, without_present=earlier)


def later_minutes(
    past: Past, levels: Sequence[Level], now: datetime, hours: int
) -> tuple[list[float], list[float]]:
    """Minutes of shortfall in the next `hours` hours by level, and without load above everything seen.

    No raise follows, and no present load or known event counts: it is about hours after the coming day.
    """
    late, seen = [0.0] * len(levels), [0.0] * len(levels)
    nothing = PresentLoad(minutes=(0.0,) * HOURS, shortfall_share=(0.0,) * len(levels))
    for first in range(0, hours, HOURS):
        found = demand_forecast(past, levels, now + first * HOUR, nothing)
        for level, minutes in enumerate(_by_hour(found.locked_minutes)):
            part = sum(minutes[: hours - first])
            late[level] += part
            seen[level] += found.seen_minutes[level] * part / sum(minutes) if part else 0.0
    return late, seen


def _by_hour(by_level: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(zip(*by_level, strict=True))


def never_less_for_less(
    by_level: Sequence[list[float]], levels: Sequence[Level]
) -> list[list[float]]:
    """A level falls short of no less than any that has more: each may have rhythms of its own."""
    found = list(by_level)
    order = sorted(range(len(levels)), key=lambda i: (-levels[i].iops, -levels[i].mibps))
    for place, less in enumerate(order):
        for more in order[:place]:
            if levels[more].mibps >= levels[less].mibps:
                pairs = zip(found[less], found[more], strict=True)
                found[less] = [a if a >= b else b for a, b in pairs]
    return found


def chances_from_history(
    past: Past,
    levels: Sequence[Level],
    now: datetime,
    known_loads: Sequence[KnownLoad] = (),
    *,
    recurrence: Recurrence | None = None,
) -> tuple[tuple[float, ...], ...]:
    """The probability that some minute of an hour asks for more than a level; `[hour][level]`.

    The earlier hours that a coming hour is like, and their weights, are those of the forecast in minutes. The first hour is the one of `now`. Load of the past and announced load count, the present load
    does not.
    """
    first, begin = (hour_of(now) - past.profile.start) // HOUR, hour_of(now)
    recurrence = recurrence or Recurrence.of(past, now)
    belief, recent = belief_above_limits(past, recurrence.anyhow), recent_hours(past, first)
    hours = past.numbered[0]
    announced = [loads_at(known_loads, begin + hour * HOUR) for hour in range(HOURS)]
    by_level = []
    for level in levels:
        above = [_above(hour, level, belief) for hour in hours]
        short = [chance > 0 for chance in above]
        shorts = shortfalls(hours, level.iops, level.mibps, belief=belief, lasting=past.lasting)
        found = recurrence.at(level.iops, level.mibps, shorts)
        episodes = Episodes.of(past, short, recent, found.coming)
        cases = [above[number] for number, _ in episodes.cases]
        usual = episodes.mean(cases, episodes.hours)
        stray = sum([often * above[number] for number, often in found.strays.items()])
        new = max(level.unproven, chance_of_more(past, level))
        likely = [
            stray + new * onsets + sum([weight * cases[case] for case, weight in hour.like])
            + hour.under_way * usual
            for hour, onsets in zip(episodes.coming, new_onsets(past.days, pressed=False), strict=True)
        ]  # fmt: skip
        for higher in recurrence.if_higher:
            chance = higher.chance_above(level.iops, level.mibps)
            likely = [one + chance * due for one, due in zip(likely, higher.due[1:], strict=True)]
        sure = [any(part.load.late_at(level) > 0 for part in loads) for loads in announced]
        by_level.append(
            [1.0 if due else min(SURE, one) for due, one in zip(sure, likely, strict=True)]
        )
    # a dip parts the load above a level into more onsets
    return _by_hour(never_less_for_less(by_level, levels))


def calm_days(past: Past, level: Level) -> float:
    """Measured days since load above `level`, less the longest time that it stayed away before."""
    hours, numbers = past.numbered
    short = shortfalls(hours, level.iops, level.mibps)
    places = [place for place, number in numbers.items() if short[number]]
    if not places:
        return past.days
    usual = max([after - before for before, after in pairwise(places)], default=0)
    since = past.profile.hours[places[-1] + 1 :]
    return max(0, len(since) - since.count(None) - usual) / 24


def _above(hour: ProfileHour, level: Level, belief: Belief) -> float:
    """The probability that an hour of the past asked for more than a level serves."""
    if hour.peak_iops > level.iops or hour.peak_mibps > level.mibps:
        return 1.0
    return above_a_limit(hour, level.iops, level.mibps, belief) if hour.touched_minutes else 0.0
