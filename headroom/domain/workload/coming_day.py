"""The forecast at one level: its shortfall in each coming hour, and the cost of raises that follow load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple

from headroom.domain.state import HOUR, ProfileHour, hour_of
from headroom.domain.workload.demand import Level
from headroom.domain.workload.episodes import HELD, ONSET, REACTING, Episodes, recent_hours
from headroom.domain.workload.history import Past
from headroom.domain.workload.known_load import UNLIMITED, KnownLoad, Rates, loads_at
from headroom.domain.workload.pressed_periods import belief_above_limits
from headroom.domain.workload.recurrence import HOURS, IfHigher, Likely, Recurrence
from headroom.domain.workload.rhythms import Coming
from headroom.domain.workload.short_minutes import (
    FULL,
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
NOTHING = (0.0,) * HOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLoad:
    """The present load: shortfall of each hour at a level that serves nothing of it.

    `shortfall_share` is the share of it that is expected at each level.
    """

    minutes: tuple[float, ...]
    shortfall_share: tuple[float, ...]
    pool: float = 0.0
    """Probability that it is a pool: it only loses the share that it is slowed down by, in earlier hours too."""


class _Shortfalls(dict[int, float]):
    """Shortfall in minutes at some rates by the number of the busy hour, computed when it is asked for."""

    def __init__(self, hours: Sequence[ProfileHour], rates: tuple[float, float]) -> None:
        self._hours, self._rates = hours, rates

    def __missing__(self, number: int) -> float:
        self[number] = found = short_minutes(self._hours[number], *self._rates)
        return found


class ByHour(NamedTuple):
    """Of one level, each by hour: minutes while no raise follows, minutes before one has its effect, and its USD."""

    late: list[float]
    early: list[float]
    usd: list[float]


class LevelForecast(NamedTuple):
    """The coming hours at one level, in minutes of shortfall if nothing else is said."""

    locked: list[float]
    reacting: list[float]
    """While no raise can follow, and while one can at once."""
    locked_earlier: list[float]
    reacting_earlier: list[float]
    """The same if the present load ended now."""
    reaction_usd: list[float]
    drained: Sequence[float]
    drained_raised: Sequence[float]
    drained_now: Sequence[float]
    """After load, while what waits is drained: without a raise, after one, and with the present load."""
    seen: float
    """The sum over all hours of measured or present load."""
    new: float
    """An hour, of load above all that was measured."""
    rest: float
    """In what is still to come of the hour before."""


class ComingDay:
    """What the forecasts of all levels share: the past with its rhythms, the present load and known events."""

    def __init__(
        self, past: Past, now: datetime, present: PresentLoad, known_loads: Sequence[KnownLoad],
        recurrence: Recurrence, *, rest: float, second_after_hours: float, top_usd_per_hour: float,
    ) -> None:  # fmt: skip
        begin = hour_of(now)
        self._past, self._recurrence, self._present, self._rest = past, recurrence, present, rest
        self._top_usd, self._second_after_hours = top_usd_per_hour, second_after_hours
        self._belief = belief_above_limits(past, recurrence.anyhow)
        self._recent = recent_hours(past, (begin - past.profile.start) // HOUR)
        self._new_onsets = new_onsets(past.days, pressed=present.shortfall_share[0] > 0)
        self._new_min = _new_minutes(past)
        self._known = {
            hour: loads
            for hour in range(-1, HOURS)
            if known_loads and (loads := loads_at(known_loads, begin + hour * HOUR))
        }
        hours = past.numbered[0]
        self._most_means = (
            max([hour.mean_iops for hour in hours], default=0.0),
            max([hour.mean_mibps for hour in hours], default=0.0),
        )
        self._after_raise = cache(lambda rates: _Shortfalls(hours, rates))
        self._episodes_by: dict[tuple[tuple[bool, ...], int], Episodes] = {}

    def at(self, level: Level, share: float) -> LevelForecast:
        """The coming hours at a level that falls short of a share of the present load."""
        past, recurrence = self._past, self._recurrence
        hours = past.numbered[0]
        shorts = shortfalls(
            hours, level.iops, level.mibps, belief=self._belief, lasting=past.lasting
        )
        if share and (pool := self._present.pool):
            shorts = [
                short - pool * max(0.0, short - share * hour.touched_minutes)
                if hour.touched_minutes
                else short
                for short, hour in zip(shorts, hours, strict=True)
            ]
        likely = recurrence.at(level.iops, level.mibps, shorts)
        episodes = self._episodes(shorts, likely)
        found = self._of_load(level, shorts, episodes)
        self._add_known(found, level)
        late, early, usd = found.late[:-1], found.early[:-1], found.usd[:-1]
        rest = self._rest * found.late[-1]
        if likely.strays:
            stray = sum([often * shorts[number] for number, often in likely.strays.items()])
            late = [minutes + stray for minutes in late]
            early = [minutes + stray for minutes in early]
        minutes_of_new = max(level.unproven * NEW_MIN, chance_of_more(past, level) * self._new_min)
        new = [minutes_of_new * onsets for onsets in self._new_onsets]
        here = [minutes * share for minutes in self._present.minutes] if share else []
        seen = sum(map(max, late, here)) if share else sum(late)
        dearer = self._top_usd - level.usd_per_hour
        for higher in recurrence.if_higher:
            rest += self._rest * higher.chance_above(level.iops, level.mibps) * higher.late[0]
            late, early, usd = _with_higher(higher, level, ByHour(late, early, usd), dearer)
        locked_earlier, reacting_earlier = _with_new(late, new), _reacting(late, early, new)
        if share:
            late = [a if a >= b else b for a, b in zip(late, here, strict=True)]
            early = [a if a >= b else b for a, b in zip(early, here, strict=True)]
        rates, reach = (level.iops, level.mibps), level.reach or UNLIMITED
        drained = self._drained(episodes, rates, None)
        drained_raised = self._drained(episodes, reach, rates)
        return LevelForecast(
            locked=_with_new(late, new) if share else locked_earlier,
            reacting=_reacting(late, early, new) if share else reacting_earlier,
            locked_earlier=locked_earlier, reacting_earlier=reacting_earlier, reaction_usd=usd,
            drained=drained, drained_raised=drained_raised,
            drained_now=_still_there(drained_raised, drained, self._present.minutes)
            if share else drained_raised,
            seen=seen, new=new[-1], rest=rest,
        )  # fmt: skip

    def _episodes(self, shorts: Sequence[float], likely: Likely) -> Episodes:
        """The episodes of the hours that fall short; levels at which the same ones do share them."""
        falls_short = tuple([minutes > 0 for minutes in shorts])
        alike = falls_short, id(likely)
        if alike not in self._episodes_by:
            rest_of_hour: Coming = (likely.before[0] if self._rest else [], 0.0)
            self._episodes_by[alike] = Episodes.of(
                self._past, falls_short, self._recent, [*likely.coming, rest_of_hour]
            )
        return self._episodes_by[alike]

    def _of_load(self, level: Level, shorts: Sequence[float], episodes: Episodes) -> ByHour:
        """The minutes of load as it came before; the rest of the hour before them is the last."""
        if not episodes.cases:
            return ByHour(*([0.0] * (HOURS + 1) for _ in ByHour._fields))
        minutes = [shorts[number] for number, _ in episodes.cases]
        minutes_an_hour = episodes.mean(minutes, episodes.hours)
        first = self._before_a_raise(level, episodes)
        first_minutes = episodes.mean(first, episodes.onsets)
        lates, earlies = [], []
        for like, under_way, begins, _ in episodes.coming:
            late = early = 0.0
            for case, weight in like:
                late += weight * minutes[case]
                early += weight * first[case]
            lates.append(late + under_way * minutes_an_hour)
            earlies.append(early + begins * first_minutes)
        dearer = max(0.0, self._top_usd - level.usd_per_hour)
        return ByHour(lates, earlies, [hour.busy * dearer for hour in episodes.coming])

    def _before_a_raise(self, level: Level, episodes: Episodes) -> list[float]:
        """By case: the shortfall until a raise takes effect, or what it leaves of a later hour."""
        past, hours = self._past, self._past.numbered[0]
        reach = level.reach or UNLIMITED
        once, twice = self._after_raise(reach), self._after_raise(level.ceiling or UNLIMITED)

        def until_raised(number: int, minutes: float) -> float:
            return once[number] + minutes_to_react(
                hours[number],
                level.iops,
                level.mibps,
                reach,
                belief=self._belief,
                reaction_min=minutes,
            )

        return [
            until_raised(number, past.reaction_min)
            if phase == ONSET
            else once[number]
            if phase == HELD
            else twice[number]
            if phase < REACTING
            else until_raised(number, phase - REACTING)
            for number, phase in episodes.cases
        ]

    def _add_known(self, found: ByHour, level: Level) -> None:
        """Raise the minutes and dollars of a level, by hour, to what known events take in that hour."""
        late, early, usd = found
        dearer = self._top_usd - level.usd_per_hour
        for hour, loads in self._known.items():
            for load in loads:
                short, left = load.shortfalls(
                    level, self._past.reaction_min, self._second_after_hours
                )
                late[hour], early[hour] = max(late[hour], short), max(early[hour], left)
                if short > 0:  # a raise that follows costs as much as one made ahead
                    usd[hour] = max(usd[hour], dearer * load.minutes / 60)
                    usd[hour] += FOLLOWS_USD if load.begun <= 0 else 0.0

    def _drained(self, episodes: Episodes, rates: Rates, late: Rates | None) -> Sequence[float]:
        """By hour, the minutes after its load in which what waits is drained at some rates.

        With what waits for a raise to them, from the `late` rates, where the load leaves no room to drain it.
        """
        past, hours, lasting = self._past, self._past.numbered[0], self._past.lasting
        most_iops, most_mibps = self._most_means
        if rates[0] >= FULL * most_iops and rates[1] >= FULL * most_mibps:
            return NOTHING
        base, peaks = (
            beside_overloads(hours, tuple(past.times.values()), past.days, *rates)
            if max(lasting, default=0.0) >= HOURS  # load that never ends
            else (0.0, 0.0)
        )
        minutes = [
            drained_minutes(
                hours[number], *rates,
                lasting=lasting[number] if lasting[number] < HOURS else peaks,
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
            sum([weight * minutes[case] for case, weight in one.like])
            for one in episodes.coming[:-1]
        ]


def _with_higher(
    higher: IfHigher, level: Level, usual: ByHour, dearer_usd_per_hour: float
) -> ByHour:
    """The minutes and dollars of a level with load that may be higher than the usual."""
    chance = higher.chance_above(level.iops, level.mibps)
    beyond = higher.chance_above(*(level.reach or UNLIMITED))
    dearer = chance * dearer_usd_per_hour
    return ByHour(
        [a + chance * b for a, b in zip(usual.late, higher.late[1:], strict=True)],
        [
            a + beyond * b + (chance - beyond) * c
            for a, b, c in zip(usual.early, higher.late[1:], higher.early[1:], strict=True)
        ],
        [a + dearer * due for a, due in zip(usual.usd, higher.due[1:], strict=True)],
    )


def _still_there(
    raised: Sequence[float], left: Sequence[float], present: Sequence[float]
) -> Sequence[float]:
    """The same for a level at which the present load falls short: without a change no raise follows."""
    if not any(left):
        return raised
    return [max(a, minutes / 60 * b) for a, b, minutes in zip(raised, left, present, strict=True)]


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


def _reacting(late: Sequence[float], early: Sequence[float], new: Sequence[float]) -> list[float]:
    """Minutes while a raise can follow at once; one that costs more than waiting does not follow."""
    return [(b if b <= a else a) + more for a, b, more in zip(late, early, new, strict=True)]


def chance_of_more(past: Past, level: Level) -> float:
    """Probability that new load exceeds `level`."""
    most = max(past.most_iops / level.iops, past.most_mibps / level.mibps)
    return 1.0 if most >= 1.0 else float(most ** (NEW_TAIL + past.days / NEW_TAIL_DAYS))
