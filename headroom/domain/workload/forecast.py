"""The demand forecast: starved minutes at each level in the coming hours, and the cost of late raises.

The same hours of earlier days say when load recurs, all hours together how often it comes at any
time, and the present how long the current load will stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from headroom.domain.workload.busy_periods import BusyPeriod
from headroom.domain.workload.history import LoadHistory

HOURS = 24
LEAD_MIN = 10
"""A change requested now takes effect in ten minutes."""
REACTION_MIN = 16.0
"""Minutes an unforeseen overload starves before a raise takes effect: two pressed minutes, metrics
two minutes late, ten minutes to effect."""
HOLD_HOURS = 2.0
"""A raise cannot be reverted sooner: the modification is still in flight."""
DECAY = 0.93
"""Weight of a day relative to the day after it."""
SAME_WEEKDAY = 2.0
"""Weight of the same weekday relative to other days of that age."""
ANY_HOUR = 1.0
"""Weight, in days, of the mean over all hours."""
DAILY_PRIOR = 1.0
"""Prior count of hours with and without a starved neighbour."""
BUSY_IOPS, BUSY_MIBPS = 3_000.0, 125.0
"""What gp3 includes, as the scale for comparing loads."""
BUSY = 0.3
"""Below this share of the scale a load is idle, and only the hour predicts what comes."""
ALIKE_WITHIN = 1.3
"""Loads are alike within this factor."""
ALIKE_HOURS = 4
"""How many hours after a similar load are considered."""
ALIKE_PRIOR = 2.0
"""Weight of the same hours relative to the number of similar loads."""
AROUND_MIN = 30
"""How much earlier or later the load of another day may recur."""
TOUCHED_TAIL = 1.2
"""P(a burst that touched a limit has a demand above r times it) = r ** -tail."""
CLEAR_DAYS = 3.0
"""How much a clear day under a higher limit lowers the probability of bursts above it."""
NEW_TAIL, NEW_TAIL_DAYS = 1.0, 2.0
"""P(new load exceeds r times the highest so far) falls with r ** -tail; the tail starts at NEW_TAIL and
grows by one in NEW_TAIL_DAYS."""
NEW_MIN, NEW_LOCKED_MIN = 20.0, 40.0
"""Minutes that new load starves, and the same while a change in flight prevents a raise."""
HISTORY_DAYS = 14


class Level(NamedTuple):
    """What a configuration sustains, and its price in USD per hour."""

    iops: float
    mibps: float
    usd_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected starved minutes by hour from now and by level; `[hour][level]`.

    `reacting_minutes` while a raise can follow at once, `locked_minutes` while none can; `reaction_usd` is what
    such raises would cost; `seen_minutes` excludes load that was never measured so far.
    """

    reacting_minutes: tuple[tuple[float, ...], ...]
    locked_minutes: tuple[tuple[float, ...], ...]
    reaction_usd: tuple[tuple[float, ...], ...]
    seen_minutes: tuple[float, ...]
    """Minutes over all hours, by level, from measured or present load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentLoad:
    """The present load: starved minutes of each hour at a level that is too low for it.

    `shortfall_probability` is how likely each level is too low.
    """

    minutes: tuple[float, ...]
    shortfall_probability: tuple[float, ...]
    iops: float = 0.0
    """The most of the last minutes, in SSD operations/s; MiB/s beside it."""
    mibps: float = 0.0


def demand_forecast(
    load_history: LoadHistory, levels: Sequence[Level], now: datetime, present: PresentLoad
) -> Forecast:
    """The forecast of the next 24 hours for each level."""
    top = max(levels, key=lambda level: level.usd_per_hour)
    hours = _Hours(load_history, now)
    columns = [_column(load_history, level, top) for level in levels]
    same = [hours.of(column) for column in columns]
    places, times = _alike(load_history, present, now)
    trust = times / (times + ALIKE_PRIOR)
    alike = [_after(load_history, column, places) for column in columns]
    new_per_hour = 1.0 / (load_history.days + 1) / HOURS
    reacting, locked, dollars, seen = [], [], [], [0.0] * len(levels)
    unseen = [_unseen(load_history, level) * new_per_hour for level in levels]
    for hour in range(HOURS):
        now_min = present.minutes[hour]
        row_locked, row_reacting, row_usd = [], [], []
        for i, by_hour in enumerate(same):
            all_min, first_min, usd = by_hour[hour]
            here = now_min * present.shortfall_probability[i]
            if hour < len(alike[i]):
                after, first_after = alike[i][hour]
                all_min = trust * after + (1 - trust) * all_min
                first_min = trust * first_after + (1 - trust) * first_min
            seen[i] += max(all_min, here)
            row_locked.append(max(all_min, here) + unseen[i] * NEW_LOCKED_MIN)
            row_reacting.append(max(first_min, here) + unseen[i] * NEW_MIN)
            row_usd.append(usd)
        locked.append(tuple(row_locked))
        reacting.append(tuple(row_reacting))
        dollars.append(tuple(row_usd))
    return Forecast(
        reacting_minutes=tuple(reacting), locked_minutes=tuple(locked), reaction_usd=tuple(dollars),
        seen_minutes=tuple(seen),
    )  # fmt: skip


def _unseen(load_history: LoadHistory, level: Level) -> float:
    """Probability that new load exceeds `level`."""
    most = max(load_history.most_iops / level.iops, load_history.most_mibps / level.mibps)
    return float(min(1.0, most ** (NEW_TAIL + load_history.days / NEW_TAIL_DAYS)))


class _Starved(NamedTuple):
    """A busy period at one level: starved minutes, those before a raise takes effect, and its price."""

    place: int
    minutes: float
    before_raise: float
    usd: float


def _column(load_history: LoadHistory, level: Level, top: Level) -> list[_Starved]:
    """Each busy period of the history at `level`, with the backlog of the one before."""
    found: list[_Starved] = []
    iops, mibps, minutes = load_history.iops, load_history.mibps, load_history.period_s / 60
    belief_iops, belief_mibps = (
        _belief(load_history, level, by_iops=True),
        _belief(load_history, level, by_iops=False),
    )
    hourly = top.usd_per_hour - level.usd_per_hour
    backlog, passed, last, last_overload = 0.0, 0.0, -10, -10
    drained_until = -1
    for period in load_history.busy:
        index = period.place
        if index <= drained_until:
            continue
        peak = max(period.peak_iops / level.iops, period.peak_mibps / level.mibps)
        touched = _touched(period, level, belief_iops, belief_mibps)
        if peak <= 1.0 and touched <= 0.0:
            continue
        if index - last > 2:
            passed = 0.0
        mean = max(iops[index] / level.iops, mibps[index] / level.mibps)
        if mean <= 1.0:
            starved = touched
            if peak > 1.0:
                burst = period.pressed_minutes or minutes * mean / peak
                starved = max(touched, min(minutes, max(1.0, burst)))
            first = min(starved, max(0.0, REACTION_MIN - passed))
            found.append(_Starved(index, starved, first, 0.0))
            passed += starved
            last = index
            continue
        backlog, place = 0.0, index
        while place < len(iops):
            load = max(iops[place] / level.iops, mibps[place] / level.mibps)
            before, backlog = backlog, max(0.0, backlog + load - 1.0)
            starved = minutes
            if load <= 1.0 and backlog <= 0.0:
                starved = minutes * min(1.0, before / max(1e-9, 1.0 - load))
            first = min(starved, max(0.0, REACTION_MIN - passed))
            usd = hourly * minutes / 60 if passed > REACTION_MIN else 0.0
            found.append(_Starved(place, starved, first, usd))
            passed += starved
            last = place
            place += 1
            if backlog <= 0.0:
                break
        drained_until = place - 1
        if passed > REACTION_MIN and last_overload < index - 2:
            found.append(_Starved(index, 0.0, 0.0, hourly * HOLD_HOURS))
        last_overload = drained_until
    return found


def _touched(period: BusyPeriod, level: Level, by_iops: float, by_mibps: float) -> float:
    """Expected minutes in which bursts that touched a limit exceed `level`."""
    if 0 < period.touched_iops <= level.iops * 1.0001:
        return _above(period, by_iops, level.iops / period.touched_iops)
    if 0 < period.touched_mibps <= level.mibps * 1.0001:
        return _above(period, by_mibps, level.mibps / period.touched_mibps)
    return 0.0


def _above(period: BusyPeriod, belief: float, times: float) -> float:
    return period.pressed_minutes * belief * float(times**-TOUCHED_TAIL)


def _belief(load_history: LoadHistory, level: Level, *, by_iops: bool) -> float:
    """Probability weight of bursts above `level`: lower for each clear day.

    Days under a higher limit than the highest touched count: what did not touch that limit would not
    exceed it either.
    """
    own = level.iops if by_iops else level.mibps
    most = max(
        (p.touched_iops if by_iops else p.touched_mibps for p in load_history.busy), default=0.0
    )
    if most >= own * 0.999:
        return 1.0
    clear = sum(
        days for i, m, days in load_history.clear_days if (i if by_iops else m) > most * 1.001
    )
    return 1.0 / (1.0 + CLEAR_DAYS * clear)


def _alike(
    load_history: LoadHistory, present: PresentLoad, now: datetime
) -> tuple[list[int], float]:
    """Periods as busy as the last minutes, and in how many different hours they were."""
    here = max(present.iops / BUSY_IOPS, present.mibps / BUSY_MIBPS)
    newest = int((now - load_history.start).total_seconds() // load_history.period_s) - int(
        ALIKE_HOURS * 3600 // load_history.period_s
    )
    if here < BUSY or newest <= 0:
        return [], 0.0
    low, high = here / ALIKE_WITHIN, here * ALIKE_WITHIN
    places = [
        place
        for place, (iops, mibps) in enumerate(
            zip(load_history.iops[:newest], load_history.mibps[:newest], strict=True)
        )
        if low <= (iops / BUSY_IOPS if iops * BUSY_MIBPS >= mibps * BUSY_IOPS
                   else mibps / BUSY_MIBPS) <= high
    ]  # fmt: skip
    per_hour = 3600 // load_history.period_s
    return places, float(len({place // per_hour for place in places}))


def _after(
    load_history: LoadHistory, column: Sequence[_Starved], places: Sequence[int]
) -> list[tuple[float, float]]:
    """Mean starved minutes, and those before a raise takes effect, in each hour after `places`."""
    if not places:
        return []
    count = len(load_history.iops)
    every, first = [0.0] * (count + 1), [0.0] * (count + 1)
    for one in column:
        every[one.place + 1] += one.minutes
        first[one.place + 1] += one.before_raise
    every, first = list(accumulate(every)), list(accumulate(first))
    lead, per_hour = int(LEAD_MIN * 60 // load_history.period_s), 3600 // load_history.period_s
    found = []
    for hour in range(ALIKE_HOURS):
        begin = lead + hour * per_hour
        end = begin + per_hour
        ends = [(min(count, p + begin), min(count, p + end)) for p in places]
        found.append(
            (
                sum(every[b] - every[a] for a, b in ends) / len(places),
                sum(first[b] - first[a] for a, b in ends) / len(places),
            )
        )
    return found


class _Hours:
    """Which coming hours an earlier period predicts, and with what weight."""

    def __init__(self, load_history: LoadHistory, now: datetime) -> None:
        self._known_min = load_history.known * load_history.period_s / 60
        self._ahead = (now - load_history.start).total_seconds() / 60 + LEAD_MIN
        self._period_min = load_history.period_s / 60
        self._measured = [0, *accumulate(load_history.measured)]
        self._places: dict[int, tuple[tuple[int, float], ...]] = {}
        self._weights = [ANY_HOUR + self._days(hour) for hour in range(HOURS)]

    def of(self, column: Sequence[_Starved]) -> list[tuple[float, float, float]]:
        """Means by hour from now: minutes, minutes before a raise takes effect, USD of such raises."""
        if not self._known_min or not column:
            return [(0.0, 0.0, 0.0)] * HOURS
        every, first, usd = [0.0] * HOURS, [0.0] * HOURS, [0.0] * HOURS
        for one in column:
            for hour, weight in self._hours_predicted_by(one.place):
                every[hour] += weight * one.minutes
                first[hour] += weight * one.before_raise
                usd[hour] += weight * one.usd
        share = 60 / self._known_min
        any_hour = (
            share * sum(one.minutes for one in column),
            share * sum(one.before_raise for one in column),
            share * sum(one.usd for one in column),
        )
        daily = self._daily(column)

        def mixed(same: float, any_one: float, weight: float) -> float:
            return daily * (same + ANY_HOUR * any_one) / weight + (1 - daily) * any_one

        return [
            (mixed(e, any_hour[0], w), mixed(f, any_hour[1], w), mixed(u, any_hour[2], w))
            for e, f, u, w in zip(every, first, usd, self._weights, strict=True)
        ]

    def _daily(self, column: Sequence[_Starved]) -> float:
        """How well hours predict the same hours of other days: the share with a starved neighbour.

        An hour that starved has one if the same hour of the day before or after, or the one beside
        it, starved too; hours without a measured neighbour are left out.
        """
        starved = {int(one.place * self._period_min // 60) for one in column if one.minutes > 0}
        last = int((self._ahead - LEAD_MIN) // 60)
        first = last - int(self._known_min // 60)
        with_neighbour = without = 0
        for hour in starved:
            beside = [hour + 24 * day + k for day in (-1, 1) for k in (-1, 0, 1)]
            if any(one in starved for one in beside):
                with_neighbour += 1
            elif hour - 24 >= first or hour + 24 <= last:
                without += 1
        return (with_neighbour + DAILY_PRIOR) / (with_neighbour + without + 2 * DAILY_PRIOR)

    def _days(self, hour: int) -> float:
        """Total weight of the earlier days whose same hour was measured."""
        last, found = len(self._measured) - 1, 0.0
        for days in range(1, HISTORY_DAYS + 1):
            begin = int((self._ahead + 60 * hour - 1440 * days) // self._period_min)
            end = begin + max(1, int(60 // self._period_min))
            known = (
                self._measured[min(last, max(0, end))] - self._measured[min(last, max(0, begin))]
            )
            found += _weight(days) * known / (end - begin)
        return found

    def _hours_predicted_by(self, place: int) -> tuple[tuple[int, float], ...]:
        found = self._places.get(place)
        if found is None:
            found = self._places[place] = tuple(self._predicted_hours(place))
        return found

    def _predicted_hours(self, place: int) -> Iterator[tuple[int, float]]:
        # From the period to when a change takes effect.
        age = self._ahead - place * self._period_min
        day = int(age // 1440)
        for days in (day, day + 1):
            if not 1 <= days <= HISTORY_DAYS:
                continue
            after = days * 1440 - age  # from then to when the load recurs
            for hour in range(int((after - AROUND_MIN) // 60), int((after + AROUND_MIN) // 60) + 1):
                if 0 <= hour < HOURS:
                    yield hour, _weight(days)


def _weight(days: int) -> float:
    return float(DECAY ** (days - 1) * (SAME_WEEKDAY if days % 7 == 0 else 1.0))
