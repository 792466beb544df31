"""The best schedule of levels over the next day: the exact optimum over hours, changes and slots."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from operator import add
from types import MappingProxyType
from typing import NamedTuple

from headroom.domain.workload import HOURS, Forecast, Level

CHANGE_USD = 0.1
"""Nominal cost of one modification, so that ties go to fewer changes."""
LOCKED_HOURS = 2
"""How long a modification is assumed to be in flight at least, which prevents another."""
MOST_CHANGES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCost:
    """The cost in USD of the best schedules of the next day.

    `stay` keeps the present level for at least an hour, `change[i]` goes to level i now. `next_hour`
    is the first hour in which the best schedule that stays for now changes; None if in none.
    """

    stay: float
    change: tuple[float, ...]
    next_hour: int | None


def schedule_cost(
    demand_forecast: Forecast,
    levels: Sequence[Level],
    usd_per_minute: float,
    *,
    current: int,
    reachable: Sequence[bool],
    free: Sequence[int],
    only_from: Mapping[int, Sequence[int]] = MappingProxyType({}),
    locked_hours: int = LOCKED_HOURS,
    raise_locked_hours: int = 0,
    late_hours: int = 0,
    ends: Sequence[float] | None = None,
    last_for_raises: bool = False,
    chosen: int = 0,
    more_usd: float = 0.0,
) -> ScheduleCost:
    """Cost of staying and of each change now, by dynamic programming from the last hour back.

    `free[hour]` is how many modifications are left in that hour if none is made before it;
    `reachable[i]` whether a later change may lead to level i, `only_from[i]` from which levels alone,
    if not from all. A change prevents others for `locked_hours`, one now that lowers nothing, and
    leads beyond the `chosen` level, for `raise_locked_hours` if that is longer. For `late_hours` of it, a raise serves no
    more than the level before it, and none follows at once when load comes. `ends` is what follows the day at each
    level, in USD; nothing if not given. With `last_for_raises`, the last slot is never for lowering: the
    guardrail `give_back_slot`. A minute that level `chosen` would serve is worth `more_usd` more, in USD.
    """
    count = len(levels)
    ways = _Ways.of(levels, reachable, only_from, last_for_raises=last_for_raises)
    worth = _Worth(usd_per_minute, more_usd, chosen)
    ends = [0.0] * count if ends is None else list(ends)
    held = ends  # after a change now that prevents others for longer
    # after[used][lock][level]: cost of the hours that follow, `lock` more of them locked. Without a
    # change none is locked.
    after = [[ends], *([ends] * locked_hours for _ in range(MOST_CHANGES))]
    prices = [level.usd_per_hour for level in levels]
    next_hour: int | None = None
    for hour in range(HOURS - 1, 0, -1):
        costs = _Costs.of(demand_forecast, prices, worth, hour, late_hours)
        now = after[:]
        most = -(-hour // locked_hours)  # changes by then
        for used in range(min(MOST_CHANGES, most) + 1):
            left = free[hour] - used
            rows = [list(map(add, costs.locked, following)) for following in after[used][:-1]]
            # without a free slot it is as with a change in flight
            unlocked = costs.reacting if left > 0 else costs.locked
            row = list(map(add, unlocked, after[used][0]))
            if used < MOST_CHANGES and left > 0 and ways.lead_anywhere:
                before = row[current]
                row = ways.taken(
                    row, costs, after[used + 1][-1], last=last_for_raises and left == 1
                )
                if used == 0 and row[current] < before - 1e-9:
                    next_hour = hour
            now[used] = [row, *rows]
        after = now
        if hour < raise_locked_hours:
            held = list(map(add, costs.locked, held))
        elif hour == raise_locked_hours:
            held = after[1][0]
    costs = _Costs.of(demand_forecast, prices, worth, 0, late_hours)
    unlocked = costs.reacting if free[0] > 0 else costs.locked
    following = after[1][-1]
    if raise_locked_hours > locked_hours:
        rises, choice = _not_below(levels, current), levels[chosen]
        following = [
            held[i] if i in rises and (one.iops > choice.iops or one.mibps > choice.mibps) else usd
            for i, (one, usd) in enumerate(zip(levels, following, strict=True))
        ]
    change = [a + b + CHANGE_USD for a, b in zip(costs.locked, following, strict=True)]
    if late_hours:
        own = costs.short[current]
        change = [usd + max(0.0, own - less) for usd, less in zip(change, costs.short, strict=True)]
    return ScheduleCost(
        stay=unlocked[current] + after[0][0][current], change=tuple(change), next_hour=next_hour
    )


class _Worth(NamedTuple):
    """USD of a minute of shortfall, and how much more it is worth if the `chosen` level would serve it."""

    usd: float
    more_usd: float
    chosen: int

    def of(self, minutes: Sequence[float], at_chosen: float) -> list[float]:
        """USD of minutes of shortfall by level, of which so many are short at the chosen level too."""
        usd, more = self.usd, self.more_usd
        if not more:
            return [usd * m for m in minutes]
        return [usd * m + (more * (m - at_chosen) if m > at_chosen else 0.0) for m in minutes]


class _Costs(NamedTuple):
    """USD of one hour, by level: while no raise can follow, while one can, and of what comes while one lands."""

    locked: list[float]
    reacting: list[float]
    short: list[float]

    @classmethod
    def of(
        cls, demand_forecast: Forecast, prices: Sequence[float], worth: _Worth, hour: int,
        late_hours: int,
    ) -> _Costs:  # fmt: skip
        late, early = demand_forecast.locked_minutes[hour], demand_forecast.reacting_minutes[hour]
        if demand_forecast.locked_drained:
            late = tuple(map(add, late, demand_forecast.locked_drained[hour]))
            early = tuple(map(add, early, demand_forecast.reacting_drained[hour]))
        at_chosen, raises = late[worth.chosen], demand_forecast.reaction_usd[hour]
        locked = list(map(add, worth.of(late, at_chosen), prices))
        # a raise that costs more than waiting, or comes too late, would not follow
        if not late_hours:
            waits = worth.of(early, at_chosen)
            reacting = [
                a if a <= (b := wait + raising + usd) else b
                for a, wait, raising, usd in zip(locked, waits, raises, prices, strict=True)
            ]
            return cls(locked, reacting, [0.0] * len(prices))
        coming = demand_forecast.locked_minutes[hour : hour + late_hours]
        sums = [sum(minutes) for minutes in zip(*coming, strict=True)]
        short = worth.of(sums, sums[worth.chosen])
        return cls(locked, locked, short)


class _Ways(NamedTuple):
    """Which levels a later change may lead to: `goals` from any, `only_from` from some alone."""

    goals: Sequence[int]
    only_from: Mapping[int, Sequence[int]]
    rises: Sequence[frozenset[int]]
    """By origin, the levels that lower nothing of it, where the last slot is for raises; else empty."""

    @classmethod
    def of(
        cls, levels: Sequence[Level], reachable: Sequence[bool],
        only_from: Mapping[int, Sequence[int]], *, last_for_raises: bool,
    ) -> _Ways:  # fmt: skip
        count = range(len(levels))
        return cls(
            [i for i in count if reachable[i] and i not in only_from],
            only_from,
            [_not_below(levels, origin) for origin in count] if last_for_raises else [],
        )

    @property
    def lead_anywhere(self) -> bool:
        return bool(self.goals or self.only_from)

    def taken(
        self, staying: list[float], costs: _Costs, following: Sequence[float], *, last: bool
    ) -> list[float]:
        """By origin, the least cost of staying and of a change now, which costs `following` afterwards."""
        locked, short = costs.locked, costs.short
        usd = [locked[i] + following[i] for i in self.goals]
        # Comparisons instead of `min`, which takes three times as long on two numbers.
        if last or any(short):
            usd = [one + CHANGE_USD for one in usd]
            best = self._best_raise(usd, short) if last else self._least_missed(usd, short)
            row = [a if a <= b else b for a, b in zip(staying, best, strict=True)]
        else:
            least = min(usd, default=inf) + CHANGE_USD
            row = [a if a <= least else least for a in staying]
        for goal, origins in self.only_from.items():
            going = locked[goal] + following[goal] + CHANGE_USD
            for origin in origins:
                if last and goal not in self.rises[origin]:
                    continue
                missed = short[origin] - short[goal]
                usd_from = going + missed if missed > 0 else going
                if usd_from < row[origin]:
                    row[origin] = usd_from
        return row

    def _best_raise(self, usd: Sequence[float], short: Sequence[float]) -> list[float]:
        """By origin, the least cost of a change that lowers nothing of it."""
        pairs = list(zip(self.goals, usd, strict=True))
        return [
            min(
                [
                    going + short[origin] - short[i] if short[origin] > short[i] else going
                    for i, going in pairs
                    if i in above
                ],
                default=inf,
            )
            for origin, above in enumerate(self.rises)
        ]

    def _least_missed(self, usd: Sequence[float], short: Sequence[float]) -> list[float]:
        """By origin, the least cost of a change, with what the origin is short of beside the goal while it lands."""
        order = sorted([(short[i], going) for i, going in zip(self.goals, usd, strict=True)])
        shorter = [inf, *accumulate((going - missed for missed, going in order), min)]
        others = [inf, *accumulate((going for _, going in reversed(order)), min)][::-1]
        found = []
        for own in short:
            place = bisect_left(order, (own,))
            found.append(min(others[place], shorter[place] + own))
        return found


def _not_below(levels: Sequence[Level], origin: int) -> frozenset[int]:
    """The levels that lower nothing of one."""
    iops, mibps = levels[origin].iops, levels[origin].mibps
    return frozenset(
        i for i, level in enumerate(levels) if level.iops >= iops and level.mibps >= mibps
    )
