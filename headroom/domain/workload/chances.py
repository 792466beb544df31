"""How likely each coming hour asks for more than a level serves: the forecast as a probability.

The earlier hours that a coming hour is like, and their weights, are those of the forecast in dollars.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from headroom.domain.state import HOUR, ProfileHour, hour_of
from headroom.domain.workload.demand import Level
from headroom.domain.workload.episodes import Episodes, recent_hours
from headroom.domain.workload.forecast import chance_of_more, never_less_for_less, new_onsets
from headroom.domain.workload.history import Past
from headroom.domain.workload.known_load import KnownLoad, loads_at
from headroom.domain.workload.pressed_periods import belief_above_limits
from headroom.domain.workload.recurrence import HOURS, Recurrence
from headroom.domain.workload.rhythms import SURE
from headroom.domain.workload.short_minutes import Belief, above_a_limit, shortfalls


def chances_from_history(
    past: Past,
    levels: Sequence[Level],
    now: datetime,
    known_loads: Sequence[KnownLoad] = (),
    *,
    recurrence: Recurrence | None = None,
) -> tuple[tuple[float, ...], ...]:
    """The probability that some minute of an hour asks for more than a level; `[hour][level]`.

    The first hour is the one of `now`. Load of the past and announced load count, the present load
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
        sure = [
            any(part.load.share_late((level.iops, level.mibps)) > 0 for part in loads)
            for loads in announced
        ]
        by_level.append(
            [1.0 if due else min(SURE, one) for due, one in zip(sure, likely, strict=True)]
        )
    never_less_for_less(by_level, levels)  # a dip parts the load above a level into more onsets
    return tuple(zip(*by_level, strict=True))


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
