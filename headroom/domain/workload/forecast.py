"""The forecast: expected shortfall at each level in the coming hours, and the cost of late raises.

The profile of the past says what comes, through rhythms that are weighted by how well they predicted
it; the present says how long the current load will stay; known events come from the owner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from math import inf

from headroom.domain.state import HOUR, ProfileHour, hour_of
from headroom.domain.workload.demand import Forecast, Level
from headroom.domain.workload.episodes import HELD, ONSET, Episodes, recent_hours
from headroom.domain.workload.history import Past
from headroom.domain.workload.known_load import HourOfLoad, KnownLoad, Rates, loads_at
from headroom.domain.workload.pressed_periods import belief_above_limits
from headroom.domain.workload.recurrence import HOURS, IfHigher, Recurrence
from headroom.domain.workload.rhythms import Coming
from headroom.domain.workload.short_minutes import (
    FULL,
    Belief,
    beside_overloads,
    drained_minutes,
    minutes_to_react,
    short_minutes,
    shortfalls,
    waits_for_a_raise,
)

NEW_TAIL, NEW_TAIL_DAYS = 1.0, 2.0
"""P(new load exceeds r times the highest so far) falls with r ** -tail; the tail starts at NEW_TAIL
and grows by one in NEW_TAIL_DAYS."""
NEW_MIN = 20.0
"""Minutes that new load lasts before anything is known of how long such load lasts."""
NEW_SHARE = 0.6
"""Shortfall of such a minute: new load exceeds what was there by little more often than by much."""
LOCKED_TIMES = 2.0
"""How many times as long it starves while a change in flight prevents a raise."""
FOLLOWS_USD = 0.1
"""Nominal cost of the modification that follows an announced load, as a schedule counts its own."""
SOON, SETTLED_HOURS = 0.5, 0.75
"""After t measured hours, `SOON / (t + SETTLED_HOURS)` onsets of load above all of it in the next; see `new_onsets`."""
NAMED = 0.2
"""Weight from which a rhythm is named as the basis of a forecast."""
UNLIMITED = (inf, inf)
NOTHING = (0.0,) * HOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLoad:
    """The present load: shortfall of each hour at a level that serves nothing of it.

    `shortfall_share` is the share of it that is expected at each level.
    """

    minutes: tuple[float, ...]
    shortfall_share: tuple[float, ...]


class _Shortfalls(dict[int, float]):
    """Shortfall in minutes at some rates by the number of the busy hour, computed when it is asked for."""

    def __init__(self, hours: Sequence[ProfileHour], rates: tuple[float, float]) -> None:
        self._hours, self._rates = hours, rates

    def __missing__(self, number: int) -> float:
        self[number] = found = short_minutes(self._hours[number], *self._rates)
        return found


def demand_forecast(
    past: Past, levels: Sequence[Level], now: datetime, present: PresentLoad,
    known_loads: Sequence[KnownLoad] = (), *, rest: float = 0.0, recurrence: Recurrence | None = None,
) -> Forecast:  # fmt: skip
    """The forecast of the next 24 hours for each level; the first hour is the one of `now`.

    `rest` is which share of the hour before is still to come. `recurrence` is that of `now`, where it is at hand.
    """
    first = (hour_of(now) - past.profile.start) // HOUR
    recurrence = recurrence or Recurrence.of(past, now)
    top = max(level.usd_per_hour for level in levels)
    belief, recent = belief_above_limits(past, recurrence.anyhow), recent_hours(past, first)
    pressed = present.shortfall_share[0] > 0
    new_per_hour, new_min = new_onsets(past.days, pressed=pressed), _new_minutes(past)
    begin = hour_of(now)
    known = {
        hour: loads
        for hour in range(-1, HOURS)
        if known_loads and (loads := loads_at(known_loads, begin + hour * HOUR))
    }
    locked, reacting, dollars, seen, new_minutes, before = [], [], [], [], [], []
    locked_earlier, reacting_earlier = [], []
    drained: list[Sequence[float]] = []
    drained_raised: list[Sequence[float]] = []
    drained_now: list[Sequence[float]] = []
    same: dict[tuple[tuple[bool, ...], int], Episodes] = {}
    hours = past.numbered[0]
    most_means = (
        max([hour.mean_iops for hour in hours], default=0.0),
        max([hour.mean_mibps for hour in hours], default=0.0),
    )

    @cache
    def after_raise(rates: tuple[float, float]) -> _Shortfalls:
        return _Shortfalls(hours, rates)

    for level, share in zip(levels, present.shortfall_share, strict=True):
        shorts = shortfalls(hours, level.iops, level.mibps, belief=belief, lasting=past.lasting)
        falls_short = tuple([minutes > 0 for minutes in shorts])
        likely = recurrence.at(level.iops, level.mibps, shorts)
        alike = falls_short, id(likely)
        if alike not in same:
            rest_of_hour: Coming = (likely.before[0] if rest else [], 0.0)
            same[alike] = Episodes.of(past, falls_short, recent, [*likely.coming, rest_of_hour])
        episodes = same[alike]
        reach, ceiling = level.reach or UNLIMITED, level.ceiling or UNLIMITED
        reached = after_raise(reach), after_raise(ceiling)
        first_minutes = _minutes_before_a_raise(past, level, belief, episodes, reached)
        late, early, usd = _hours(
            episodes, shorts, first_minutes, max(0.0, top - level.usd_per_hour)
        )
        rates = level.iops, level.mibps
        for most, found, late_rates in ((rates, drained, None), (reach, drained_raised, rates)):
            waits = most[0] < FULL * most_means[0] or most[1] < FULL * most_means[1]
            found.append(_drained(past, episodes, most, late_rates) if waits else NOTHING)
        drained_now.append(
            _still_there(drained_raised[-1], drained[-1], present.minutes)
            if share
            else drained_raised[-1]
        )
        _add_known(late, early, usd, known, level, past.reaction_min, top)
        before.append(rest * late.pop())
        early, usd = early[:-1], usd[:-1]
        if likely.strays:
            stray = sum([often * shorts[number] for number, often in likely.strays.items()])
            late = [minutes + stray for minutes in late]
            early = [minutes + stray for minutes in early]
        minutes_of_new = max(level.unproven * NEW_MIN, chance_of_more(past, level) * new_min)
        new = [minutes_of_new * onsets for onsets in new_per_hour]
        measured = late
        for higher in recurrence.if_higher:
            before[-1] += rest * higher.chance_above(level.iops, level.mibps) * higher.late[0]
            late, early, usd = _with_higher(
                higher, level, reach, late, early, usd, top - level.usd_per_hour
            )
        locked_earlier.append(_with_new(late, new))
        reacting_earlier.append(
            [(b if b <= a else a) + more for a, b, more in zip(late, early, new, strict=True)]
        )
        if share:
            here = [minutes * share for minutes in present.minutes]
            late = [a if a >= b else b for a, b in zip(late, here, strict=True)]
            early = [a if a >= b else b for a, b in zip(early, here, strict=True)]
        new_minutes.append(new[-1])
        locked.append(_with_new(late, new))
        # a raise that costs more than waiting does not follow
        reacting.append(
            [(b if b <= a else a) + more for a, b, more in zip(late, early, new, strict=True)]
        )
        dollars.append(usd)
        seen.append([sum(map(max, measured, here)) if share else sum(measured)])
    if recurrence.by_level:
        for minutes in (locked, reacting, seen, locked_earlier, reacting_earlier):
            never_less_for_less(minutes, levels)
    forecast = Forecast(
        reacting_minutes=tuple(zip(*reacting, strict=True)),
        locked_minutes=tuple(zip(*locked, strict=True)),
        reaction_usd=tuple(zip(*dollars, strict=True)),
        seen_minutes=tuple([minutes for (minutes,) in seen]),
        new_minutes=new_minutes[0],
        locked_drained=tuple(zip(*drained, strict=True)),
        reacting_drained=tuple(zip(*drained_now, strict=True)),
        rest_minutes=tuple(before),
        basis=", ".join(
            rhythm.hypothesis.name for rhythm in sorted(recurrence.believed, key=lambda r: -r.weight)
            if rhythm.weight >= NAMED
        ),
    )  # fmt: skip
    if not any(present.minutes) or not any(present.shortfall_share):
        return forecast
    earlier = replace(
        forecast, locked_minutes=tuple(zip(*locked_earlier, strict=True)),
        reacting_minutes=tuple(zip(*reacting_earlier, strict=True)),
        reacting_drained=tuple(zip(*drained_raised, strict=True)),
    )  # fmt: skip
    return replace(forecast, without_present=earlier)


def _add_known(
    late: list[float], early: list[float], usd: list[float], known: Mapping[int, Sequence[HourOfLoad]],
    level: Level, reaction_min: float, top_usd_per_hour: float,
) -> None:  # fmt: skip
    """Raise the minutes and dollars of a level, by hour, to what known events take in that hour."""
    reach, ceiling = level.reach or UNLIMITED, level.ceiling or UNLIMITED
    for hour, loads in known.items():
        for load in loads:
            short, left = load.shortfalls((level.iops, level.mibps), reach, ceiling, reaction_min)
            late[hour], early[hour] = max(late[hour], short), max(early[hour], left)
            if short > 0:  # a raise that follows costs as much as one made ahead
                dearer = top_usd_per_hour - level.usd_per_hour
                usd[hour] = max(usd[hour], dearer * load.minutes / 60)
                usd[hour] += FOLLOWS_USD if load.hours_since <= 0 else 0.0


def _with_higher(
    higher: IfHigher, level: Level, reach: Rates, late: Sequence[float], early: Sequence[float],
    usd: Sequence[float], dearer_usd_per_hour: float,
) -> tuple[list[float], list[float], list[float]]:  # fmt: skip
    """The minutes and dollars of a level with load that may be higher than the usual."""
    chance, beyond = higher.chance_above(level.iops, level.mibps), higher.chance_above(*reach)
    dearer = chance * dearer_usd_per_hour
    return (
        [a + chance * b for a, b in zip(late, higher.late[1:], strict=True)],
        [
            a + beyond * b + (chance - beyond) * c
            for a, b, c in zip(early, higher.late[1:], higher.early[1:], strict=True)
        ],
        [a + dearer * due for a, due in zip(usd, higher.due[1:], strict=True)],
    )


def never_less_for_less(minutes: list[list[float]], levels: Sequence[Level]) -> None:
    """Make a level fall short of no less than any that has more: each may have rhythms of its own."""
    order = sorted(range(len(levels)), key=lambda i: (-levels[i].iops, -levels[i].mibps))
    for place, less in enumerate(order):
        for more in order[:place]:
            if levels[more].mibps >= levels[less].mibps:
                minutes[less] = list(map(max, minutes[less], minutes[more]))


def _hours(
    episodes: Episodes, shorts: Sequence[float], first: Sequence[float], raise_usd_per_hour: float
) -> tuple[list[float], list[float], list[float]]:
    """Of one level, each by hour: minutes with no raise, minutes before one takes effect, and its USD."""
    if not episodes.cases:
        return [0.0] * (HOURS + 1), [0.0] * (HOURS + 1), [0.0] * (HOURS + 1)
    minutes = [shorts[number] for number, _ in episodes.cases]
    minutes_an_hour = episodes.mean(minutes, episodes.hours)
    first_minutes = episodes.mean(first, episodes.onsets)
    lates, earlies = [], []
    for like, under_way, begins, _ in episodes.coming:
        late = early = 0.0
        for case, weight in like:
            late += weight * minutes[case]
            early += weight * first[case]
        lates.append(late + under_way * minutes_an_hour)
        earlies.append(early + begins * first_minutes)
    return lates, earlies, [hour.busy * raise_usd_per_hour for hour in episodes.coming]


def _drained(past: Past, episodes: Episodes, rates: Rates, late: Rates | None) -> list[float]:
    """By hour, the minutes after its load in which what waits is drained at some rates.

    With what waits for a raise to them, from the `late` rates, where the load leaves no room to drain it.
    """
    hours, lasting = past.numbered[0], past.lasting
    base, peaks = (
        beside_overloads(hours, tuple(past.times.values()), past.days, *rates)
        if max(lasting, default=0.0) >= HOURS  # load that never ends
        else (0.0, 0.0)
    )
    minutes = [
        drained_minutes(
            hours[number], *rates, lasting=lasting[number] if lasting[number] < HOURS else peaks,
            beside=base if lasting[number] >= HOURS else 0.0,
        )
        + (
            waits_for_a_raise(hours[number], late, rates, past.reaction_min)
            if late and phase == ONSET
            else 0.0
        )
        for number, phase in episodes.cases
    ]  # fmt: skip
    return [
        sum([weight * minutes[case] for case, weight in one.like]) for one in episodes.coming[:-1]
    ]


def _still_there(
    raised: Sequence[float], left: Sequence[float], present: Sequence[float]
) -> Sequence[float]:
    """The same for a level at which the present load falls short: without a change no raise follows."""
    if not any(left):
        return raised
    return [max(a, minutes / 60 * b) for a, b, minutes in zip(raised, left, present, strict=True)]


def _minutes_before_a_raise(
    past: Past, level: Level, belief: Belief, episodes: Episodes,
    reached: tuple[_Shortfalls, _Shortfalls],
) -> list[float]:  # fmt: skip
    """By case: the shortfall until a raise takes effect, or what it leaves of a later hour.

    `reached` is the shortfall of each busy hour after one raise, and after a second.
    """
    hours, (once, twice) = past.numbered[0], reached
    iops, mibps, reach = level.iops, level.mibps, level.reach or UNLIMITED
    return [
        once[number]
        + minutes_to_react(
            hours[number], iops, mibps, reach, belief=belief, reaction_min=past.reaction_min
        )
        if phase == ONSET
        else once[number]
        if phase == HELD
        else twice[number]
        for number, phase in episodes.cases
    ]


def _new_minutes(past: Past) -> float:
    """Shortfall of an episode of new load, in minutes: as long as load was busy in the past."""
    usual = (NEW_MIN + sum(hour.busy_minutes for hour in past.busy.values())) / (1 + len(past.busy))
    return NEW_SHARE * min(NEW_MIN, usual)


def new_onsets(days: float, *, pressed: bool) -> tuple[float, ...]:
    """Onsets of load above everything seen, in each hour of the coming day, after so many measured days.

    A maximum of few hours is soon exceeded: of 35 public series, two thirds rose above their first ten
    minutes within an hour, 11 % above their first six hours, 2 % above their first day. Load that is
    `pressed` shows less than it is; what it may be is estimated.
    """
    usual, hours = 1.0 / (days + 1) / HOURS, days * HOURS
    if pressed:
        return (usual,) * HOURS
    return tuple([max(usual, SOON / (hours + hour + SETTLED_HOURS)) for hour in range(HOURS)])


def _with_new(late: Sequence[float], new: Sequence[float]) -> list[float]:
    """Minutes while a change in flight prevents a raise, those of new load among them."""
    return [minutes + more * LOCKED_TIMES for minutes, more in zip(late, new, strict=True)]


def chance_of_more(past: Past, level: Level) -> float:
    """Probability that new load exceeds `level`."""
    most = max(past.most_iops / level.iops, past.most_mibps / level.mibps)
    return 1.0 if most >= 1.0 else float(most ** (NEW_TAIL + past.days / NEW_TAIL_DAYS))
