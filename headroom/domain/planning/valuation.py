"""The valuation of plans: what the coming day costs with each, at the value of a minute of shortfall."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from headroom.domain.planning.coming_hours import (
    FORESEEN_USD,
    IN_FLIGHT_HOURS,
    LEAD,
    closed_hours_after,
    free_slots,
    late_hours,
    locked_hours,
    minutes_in_flight,
    open_hours,
    raise_locked_hours,
    rest_of_hour,
    valued_again_in,
)
from headroom.domain.planning.levels import (
    allowed,
    level_of,
    only_from,
    reachable,
    reached_by_two,
    relieved_by_the_next,
    within_goals,
)
from headroom.domain.planning.plan import Plan, one_way
from headroom.domain.planning.plans_from_history import is_merged
from headroom.domain.planning.present_load import PRESSED, present_load, waits_for
from headroom.domain.planning.restoring import leads_no_further, within_choice
from headroom.domain.planning.savings import (
    day_cost,
    keeping_a_slot,
    kept_savings,
    over_calm_days,
    value_for_good,
    waits_hours,
    without_return,
)
from headroom.domain.planning.schedule import ScheduleCost, schedule_cost
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration
from headroom.domain.state import HOUR
from headroom.domain.workload import (
    HOURS,
    Binding,
    Forecast,
    Level,
    LoadShape,
    Recurrence,
    demand_forecast,
    later_minutes,
)

MISSED_MIN = 30.0
"""Minutes a day that may be short of what the owner chose: more than one late raise, less than two."""
LEAST_USD = 0.01
"""What a minute is worth at least that the owner's choice would serve, also to an owner who buys nothing."""
DOUBLINGS = 3
"""Up to eight times the policy's value: load that may never come again is not kept for ever."""
LITTLE = 1e-4
FIRST_HOUR = 1
"""The first hour of a schedule in which it may change what it stays with now."""


class Valued(NamedTuple):
    """Plans with their value, in the order in which they were made, and what it follows from."""

    plans: list[Plan]
    forecast: Forecast
    next_hour: float | None
    """The hour of the next change if none is taken now."""
    saving_hour: int | None
    """Until when a cheaper type waits, if it does."""
    later_minutes: list[float]
    """A day, by plan: relieved by a second change that it alone makes possible, or after load."""


class Valuation:
    """The schedules of the coming day between the levels that plans lead to, and what each plan is worth by them."""

    def __init__(self, situation: Situation, made: Sequence[Plan]) -> None:
        self._situation, self._made = situation, made
        targets, goals = _targets(situation, made)
        self._goals, self._levels = goals, _levels(situation, made, targets, goals)
        effect, locked = situation.observation.at + LEAD, locked_hours(situation)
        recurrence = Recurrence.of(situation.past, effect)
        present = present_load(situation, self._levels, recurrence)
        self._drained = waits_for(situation, self._levels, present, recurrence)
        self._forecast = demand_forecast(
            situation.past, self._levels, effect, present,
            situation.known_loads, rest=rest_of_hour(situation), recurrence=recurrence,
            second_after_hours=locked,
        )  # fmt: skip
        ends = self._until_the_next_opening(closed_hours_after(situation))
        self._origins = only_from(situation, targets, goals)
        self._cost = partial(
            schedule_cost, self._forecast, self._levels, current=0, reachable=goals,
            free=free_slots(situation), only_from=self._origins,
            locked_hours=locked, raise_locked_hours=raise_locked_hours(situation),
            late_hours=late_hours(situation), chosen=(choice := targets.index(situation.owners_choice)),
            usd_per_minute=situation.limits.relief_value_usd_per_minute, ends=ends,
        )  # fmt: skip
        usd_per_minute = situation.limits.relief_value_usd_per_minute
        self._worth = as_chosen(self._cost, usd_per_minute, self._levels, goals, choice, min(ends))
        self._presses = situation.diagnosis.binding is not Binding.NOTHING
        self._kept = kept_savings(made)
        self._saving_hour = (
            None
            if self._presses
            else waits_hours(situation, self._kept, targets, goals, self._cost, ends)
        )
        self._risked = (  # what a raise could have met if giving back, and no raise, were in flight
            usd_per_minute * IN_FLIGHT_HOURS * self._forecast.new_minutes
        )
        first, *others = self._forecast.rest_minutes
        self._in_rest = [  # no raise is in time for it
            usd_per_minute * max(0.0, minutes - first) for minutes in others
        ]

    def _until_the_next_opening(self, hours: int) -> list[float]:
        """USD by level of so many hours after the coming day, in which no change may start: the last level stays.

        Minutes and values per day are those of a mean day until then.
        """
        situation, forecast, self._days = self._situation, self._forecast, 1.0 + hours / HOURS
        if not hours:
            return [0.0] * len(self._levels)
        after = situation.observation.at + LEAD + HOURS * HOUR
        late, seen = later_minutes(situation.past, self._levels, after, hours)
        both = zip(forecast.seen_minutes, seen, strict=True)
        self._forecast = replace(
            forecast, seen_minutes=tuple([(today + later) / self._days for today, later in both])
        )
        usd = situation.limits.relief_value_usd_per_minute
        pairs = zip(late, self._levels, strict=True)
        return [usd * minutes + hours * level.usd_per_hour for minutes, level in pairs]

    def valued(self) -> Valued:
        """The plans with their value."""
        plans = [without_return(self._situation, plan) for plan in self._by_schedules()]
        slot_hour: int | None = None
        lowers = any(plan.sustains_less and plan.value_usd_per_day > 0 for plan in plans)
        if lowers and not self._presses:
            slotted = self._cost(more_usd=self._worth.more_usd, last_for_raises=True)
            plans = keeping_a_slot(plans, self._worth.found, slotted, self._days)
            slot_hour = slotted.next_hour
        plans = self._over_calm_days(plans)
        return Valued(
            plans, self._forecast, self._next_hour(plans, slot_hour), self._saving_hour,
            self._later_minutes(),
        )  # fmt: skip

    def _by_schedules(self) -> list[Plan]:
        """The plans by what the best schedules of the day cost with each, and without any now."""
        situation, forecast, found = self._situation, self._forecast, self._worth.found
        usd_per_minute = situation.limits.relief_value_usd_per_minute
        kept = {} if self._saving_hour is not None else self._kept
        in_flight = [usd_per_minute * minutes for minutes in minutes_in_flight(situation, forecast)]
        seen = forecast.seen_minutes
        plans = []
        for i, plan in enumerate(self._made, start=1):
            if one_way(plan) and not plan.full_copy:
                usd = value_for_good(situation, plan)
            else:
                usd = found.stay - found.change[i] + kept.get(plan.target.volume_type, 0.0)
                if plan.sustains_less and not (self._presses and plan.sustains_more):
                    usd -= self._risked + self._in_rest[i - 1] + in_flight[i]
                if self._drained:
                    usd += usd_per_minute * (self._drained[0] - self._drained[i])
                usd = _value(situation, plan, usd / self._days)
            relieved = round(seen[0] - seen[i], 3)
            plans.append(replace(plan, relieved_minutes_per_day=relieved, value_usd_per_day=usd))
        return plans

    def _over_calm_days(self, plans: list[Plan]) -> list[Plan]:
        """The plans; where nothing is worth its change within the day, give-backs for as many days as were calm."""
        situation = self._situation
        worthless = all(plan.value_usd_per_day <= 0 for plan in plans)
        if self._days > 1 or not (situation.calm and worthless and all(open_hours(situation))):
            return plans

        def a_day(place: int) -> float:
            return day_cost(situation, self._levels, self._forecast, place)

        today = a_day(0)
        plain = self._cost() if self._worth.more_usd else self._worth.found
        if today - plain.stay > self._risked:  # a later change may be worth its risk
            return plans
        return [
            over_calm_days(situation, plan, self._levels[i], today - a_day(i))
            if plan.sustains_less and plan.price_change_usd < 0
            else plan
            for i, plan in enumerate(plans, start=1)
        ]

    def _next_hour(self, plans: Sequence[Plan], slot_hour: int | None) -> float | None:
        """The hour of the next change if none is taken now."""
        goals = self._goals[1 : len(plans) + 1]
        lost = [
            (plan, usd)
            for plan, usd, goal in zip(plans, self._in_rest, goals, strict=False)
            if goal
        ]
        found = self._worth.found.next_hour if self._saving_hour is None else self._saving_hour
        without_present = self._forecast.without_present
        earlier = None
        if without_present is not None and found != FIRST_HOUR:
            earlier = schedule_cost(
                without_present, self._levels, more_usd=self._worth.more_usd, **self._cost.keywords
            ).next_hour
        return valued_again_in(self._situation, lost, found, earlier, slot_hour)

    def _later_minutes(self) -> list[float]:
        further = relieved_by_the_next(self._origins, self._forecast.seen_minutes)
        later = [further.get(i, 0.0) for i in range(1, len(self._made) + 1)]
        if is_merged(self._situation):
            return later
        return [max(more, self._forecast.relieved_afterwards(i)) for i, more in enumerate(later, 1)]


def _targets(situation: Situation, made: Sequence[Plan]) -> tuple[list[Configuration], list[bool]]:
    """The present configuration, those that plans lead to, and the owner's choice; which a schedule may reach."""
    beyond = reached_by_two(situation)
    targets = [situation.current, *(plan.target for plan in (*made, *beyond))]
    goals = [
        True,
        *(
            reachable(situation, plan)
            and not (situation.unanswered and situation.asks_for(plan.target))
            and not (plan.price_change_usd < 0 and leads_no_further(situation, plan))
            for plan in made
        ),
        *(True for _ in beyond),
    ]
    if situation.owners_choice not in targets:
        targets.append(situation.owners_choice)
        goals.append(False)
    return targets, goals


def _levels(
    situation: Situation, made: Sequence[Plan], targets: Sequence[Configuration],
    goals: Sequence[bool],
) -> list[Level]:  # fmt: skip
    """The levels of the targets; no raise follows beyond the goals where a limit of price or consent is in the way."""
    levels = [level_of(situation, target) for target in targets]
    most_usd = situation.baseline_usd + situation.limits.price_increase_usd
    raises = [p for p in made if p.sustains_more and not p.grows and allowed(situation, p)]
    limited = situation.unanswered or any(plan.monthly_usd > most_usd for plan in raises)
    return within_goals(levels, goals) if limited else levels


def _value(situation: Situation, plan: Plan, usd: float) -> float:
    """The value of a plan; restoring what Headroom took from a pool, of what its owner chose, is never negative.

    For a foreseen load, what the owner chose comes back without a margin for the forecast's noise.
    """
    demand = situation.demand
    if not within_choice(situation, plan):
        return round(usd, 4)
    if usd > 0 and plan.price_change_usd > 0:
        usd = max(usd, FORESEEN_USD)
    taken = plan.target == situation.reduced_from and demand.shape is LoadShape.CLOSED_LOOP
    return round(max(0.0, usd) if taken and demand.pressed_minutes >= PRESSED else usd, 4)


class Worth(NamedTuple):
    """USD that a minute is worth more if the owner's choice would serve it, and the best schedules at that value."""

    more_usd: float
    found: ScheduleCost


def as_chosen(
    cost: Callable[..., ScheduleCost], usd_per_minute: float, levels: Sequence[Level],
    goals: Sequence[bool], chosen: int, ends_usd: float = 0.0,
) -> Worth:  # fmt: skip
    """The value at which the best schedule is hardly short where the owner's choice would not be.

    `cost` is `schedule_cost` but for its `more_usd`; `goals` says which levels may be reached, `chosen` is the owner's
    choice, `ends_usd` the least of what follows the day. No minute is worth more than 2 ** DOUBLINGS times
    `usd_per_minute`, and none more than that which the owner's choice would not serve.
    """
    own = levels[chosen]
    reached = (one for one, goal in zip(levels, goals, strict=True) if goal)
    if all(one.iops >= own.iops and one.mibps >= own.mibps for one in reached):
        return Worth(0.0, cost())
    value = max(LEAST_USD, usd_per_minute)
    worth = Worth(value - usd_per_minute, cost(more_usd=value - usd_per_minute))
    least_usd = HOURS * min(level.usd_per_hour for level in levels) + ends_usd
    if _best(worth.found, goals) - least_usd <= value * MISSED_MIN:
        return worth  # even if all the rest were for shortfall
    for _ in range(DOUBLINGS):
        dearer = cost(more_usd=worth.more_usd + value * LITTLE)
        usd = _best(dearer, goals) - _best(worth.found, goals)
        if usd / (value * LITTLE) <= MISSED_MIN:
            break
        value *= 2
        worth = Worth(value - usd_per_minute, cost(more_usd=value - usd_per_minute))
    return worth


def _best(found: ScheduleCost, goals: Sequence[bool]) -> float:
    """The cost of the best schedule; where it changes at all, a little dearer minutes change none of it."""
    return min(found.stay, *(usd for usd, goal in zip(found.change, goals, strict=True) if goal))
