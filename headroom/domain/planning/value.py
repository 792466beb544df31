"""The value of plans against each other and against waiting, in dollars of the next day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import NamedTuple

from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.build_plan import plan_to
from headroom.domain.planning.coming_hours import (
    FORESEEN_USD,
    IN_FLIGHT_HOURS,
    LEAD,
    begins,
    free_slots,
    late_hours,
    least_held_hours,
    locked_hours,
    minutes_in_flight,
    open_hours,
    rest_of_hour,
    valued_again_in,
)
from headroom.domain.planning.full_copy import full_copy_valued, may_copy_now
from headroom.domain.planning.levels import (
    allowed,
    level_of,
    only_from,
    reachable,
    reached_by_two,
    relieved_by_the_next,
    within_goals,
)
from headroom.domain.planning.minute_value import as_chosen, within_choice
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan, one_way
from headroom.domain.planning.planner import candidates
from headroom.domain.planning.plans_from_history import is_merged
from headroom.domain.planning.present_load import PRESSED, leaves_what_is_used, present_load
from headroom.domain.planning.savings import (
    day_cost,
    keeping_a_slot,
    kept_savings,
    over_calm_days,
    uses_up_the_only_change,
    value_for_good,
    waits_hours,
    without_return,
)
from headroom.domain.planning.schedule import schedule_cost
from headroom.domain.planning.situation import Situation
from headroom.domain.resources import Configuration
from headroom.domain.state import HOUR
from headroom.domain.workload import (
    HOURS,
    Binding,
    Forecast,
    LoadShape,
    Recurrence,
    checked_days,
    demand_forecast,
)

NEGLIGIBLE_MIN = 0.05
"""Starved minutes a day below which no price increase is justified."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuedPlans:
    """Plans, best first, and when the best schedule that stays for now would change something."""

    plans: tuple[Plan, ...]
    next_change: datetime | None
    known_days: float
    """Days of the past that were measured."""
    saving_at: datetime | None = None
    """Until when a cheaper type waits for a better hour; None where none does."""


NO_VALUED_PLANS = ValuedPlans(plans=(), next_change=None, known_days=0.0)


def value_plans(situation: Situation) -> ValuedPlans:
    """Every candidate with its value per day; best first, then fewer changes, reversible, cheaper."""
    made = candidates(situation)
    if not made:
        return replace(NO_VALUED_PLANS, known_days=_known_days(situation))
    valued = _valued(situation, made)
    in_place = [p.capability for p in valued.plans if not p.full_copy and allowed(situation, p)]
    without = (capability(situation.current), *in_place)
    valued_plans = [
        full_copy_valued(situation, p, without) if p.full_copy and p.growth is None else p
        for p in valued.plans
    ]
    kept = [
        plan
        for plan, later in zip(valued_plans, valued.later_minutes, strict=True)
        if _sensible(situation, valued.forecast, plan, later, valued_plans)
        and leaves_what_is_used(situation, plan)
    ]
    first, next_hour, waits = begins(situation), valued.next_hour, valued.saving_hour
    return ValuedPlans(
        plans=tuple(sorted((*kept, *_priced_beside(situation, valued_plans, kept)), key=_order)),
        next_change=None if next_hour is None else first + next_hour * HOUR,
        known_days=_known_days(situation),
        saving_at=None if waits is None else first + waits * HOUR,
    )


def _known_days(situation: Situation) -> float:
    """Days of the last two weeks that also show bursts: those with checks, where there are any."""
    observation = situation.observation
    known = situation.past.recent_days(observation.at)
    checked = None if observation.history is None else checked_days(observation.history)
    return known if checked is None else min(known, checked)


def value_targets(
    situation: Situation, targets: Sequence[Configuration]
) -> dict[Configuration, Plan]:
    """Valued plans to the given targets, without targets that no plan can reach."""
    made = [plan for target in targets if (plan := plan_to(situation, target)) is not None]
    return {plan.target: plan for plan in _valued(situation, made).plans} if made else {}


class _Valued(NamedTuple):
    """Plans with their value, in the order in which they were made, and what it follows from."""

    plans: list[Plan]
    forecast: Forecast
    next_hour: float | None
    """The hour of the next change if none is taken now."""
    saving_hour: int | None
    """Until when a cheaper type waits, if it does."""
    later_minutes: list[float]
    """A day, by plan: relieved by a second change that it alone makes possible, or after load."""


def _valued(situation: Situation, made: Sequence[Plan]) -> _Valued:
    beyond = reached_by_two(situation)
    targets = [situation.current, *(plan.target for plan in (*made, *beyond))]
    goals = [
        True,
        *(
            reachable(situation, plan)
            and not (situation.unanswered and situation.asks_for(plan.target))
            for plan in made
        ),
        *(True for _ in beyond),
    ]
    if situation.owners_choice not in targets:
        targets.append(situation.owners_choice)
        goals.append(False)
    levels = [level_of(situation, target) for target in targets]
    most_usd = situation.baseline_usd + situation.limits.price_increase_usd
    raises = [p for p in made if p.sustains_more and not p.grows and allowed(situation, p)]
    if situation.unanswered or any(plan.monthly_usd > most_usd for plan in raises):
        levels = within_goals(levels, goals)
    effect = situation.observation.at + LEAD
    recurrence = Recurrence.of(situation.past, effect)
    forecast = demand_forecast(
        situation.past, levels, effect, present_load(situation, levels, recurrence),
        situation.known_loads, rest=rest_of_hour(situation), recurrence=recurrence,
    )  # fmt: skip
    origins = only_from(situation, targets, goals)
    usd_per_minute = situation.limits.relief_value_usd_per_minute
    cost = partial(
        schedule_cost, forecast, levels, current=0, reachable=goals, free=free_slots(situation),
        only_from=origins,
        locked_hours=locked_hours(situation), late_hours=late_hours(situation),
    )  # fmt: skip
    choice = targets.index(situation.owners_choice)
    usual = sum(hour[choice] for hour in forecast.reacting_minutes)
    worth = as_chosen(cost, usd_per_minute, levels, goals, usual)
    found = worth.found if worth.usd_per_minute == usd_per_minute else cost(usd_per_minute)
    presses = situation.diagnosis.binding is not Binding.NOTHING
    kept = kept_savings(made)
    saving_hour = None if presses else waits_hours(situation, kept, targets, goals, cost)
    if saving_hour is not None:
        kept = {}
    risked = (  # what a raise could have met if giving back, and no raise, were in flight
        usd_per_minute * IN_FLIGHT_HOURS * forecast.new_minutes
    )
    in_rest = [
        usd_per_minute * max(0.0, minutes - forecast.rest_minutes[0])  # no raise is in time for it
        for minutes in forecast.rest_minutes
    ]
    in_flight = [usd_per_minute * minutes for minutes in minutes_in_flight(situation, forecast)]
    valued_plans = [
        replace(
            plan,
            relieved_minutes_per_day=round(forecast.seen_minutes[0] - forecast.seen_minutes[i], 3),
            value_usd_per_day=value_for_good(situation, plan)
            if one_way(plan) and not plan.full_copy
            else _value(
                situation,
                plan,
                own.stay
                - own.change[i]
                + kept.get(plan.target.volume_type, 0.0)
                - (
                    risked + in_rest[i] + in_flight[i]
                    if plan.sustains_less and not (presses and plan.sustains_more)
                    else 0.0
                ),
            ),
        )
        for i, plan in enumerate(made, start=1)
        for own in (worth.found if within_choice(situation, plan) else found,)
    ]
    valued_plans = [without_return(situation, plan) for plan in valued_plans]
    slot_hour: int | None = None
    if not presses and any(p.sustains_less and p.value_usd_per_day > 0 for p in valued_plans):
        slotted = cost(worth.usd_per_minute, last_for_raises=True)
        valued_plans = keeping_a_slot(valued_plans, worth.found, slotted)
        slot_hour = slotted.next_hour
    worthless = all(plan.value_usd_per_day <= 0 for plan in valued_plans)
    if situation.calm and worthless and all(open_hours(situation)):
        today = day_cost(situation, levels, forecast, 0)
        if today - found.stay <= risked:  # nor will a later change be worth its risk
            valued_plans = [
                over_calm_days(
                    situation, plan, levels[i], today - day_cost(situation, levels, forecast, i)
                )
                if plan.sustains_less and plan.price_change_usd < 0
                else plan
                for i, plan in enumerate(valued_plans, start=1)
            ]
    next_hour = valued_again_in(
        situation,
        [
            (plan, usd)
            for plan, usd, goal in zip(valued_plans, in_rest[1:], goals[1:], strict=False)
            if goal
        ],
        worth.found.next_hour if saving_hour is None else saving_hour,
        None
        if forecast.without_present is None
        else schedule_cost(
            forecast.without_present, levels, worth.usd_per_minute, **cost.keywords
        ).next_hour,
        slot_hour,
    )
    further = relieved_by_the_next(origins, forecast.seen_minutes)
    later = [further.get(i, 0.0) for i in range(1, len(made) + 1)]
    if not is_merged(situation):
        later = [max(more, forecast.relieved_afterwards(i)) for i, more in enumerate(later, 1)]
    return _Valued(valued_plans, forecast, next_hour, saving_hour, later)


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


def _sensible(
    situation: Situation, forecast: Forecast, plan: Plan, later_minutes: float,
    others: Sequence[Plan],
) -> bool:  # fmt: skip
    """Whether a plan ends starvation, and is reversible if a reversible one is good enough.

    `later_minutes` a day end with the change that it makes possible, or after the load. A full copy stays among the
    plans, although only a person starts it: the owner should see its price.
    """
    if one_way(plan) and not plan.full_copy and any(
        not one_way(other)
        and allowed(situation, other)
        and (other.value_usd_per_day > plan.value_usd_per_day
             or (other.meets_need and reachable(situation, other)
                 and 2 * other.relieved_minutes_per_day >= plan.relieved_minutes_per_day))
        for other in others
    ):  # fmt: skip
        return False
    if plan.full_copy and may_copy_now(situation):  # never to save money alone
        return plan.relieved_minutes_per_day > 0 and plan.value_usd_per_day > 0
    if situation.demand.expected_starved_minutes > 0:
        return True
    if plan.price_change_usd <= 0:
        return not uses_up_the_only_change(situation)
    if situation.slow and one_way(plan):
        return True
    if forecast.seen_minutes[0] <= NEGLIGIBLE_MIN:
        return False
    minutes = max(plan.relieved_minutes_per_day, later_minutes)
    usd = situation.limits.relief_value_usd_per_minute * minutes
    an_hour = float(plan.price_change_usd) / HOURS_PER_MONTH
    most = minutes > forecast.seen_minutes[0] / 2  # it need not pay for a whole day
    return usd > an_hour * HOURS or (
        most
        and (
            forecast.pays(usd, an_hour, least_held_hours(situation))
            or within_choice(situation, plan)
        )
    )


def _priced_beside(
    situation: Situation, valued_plans: Sequence[Plan], kept: Sequence[Plan]
) -> Iterator[Plan]:
    """The cheapest growing plan of each type without another plan, to show its price.

    Plans that the owner's limits permit are excluded: they were rejected as not sensible.
    """
    if situation.diagnosis.binding is Binding.NOTHING:
        return
    for kind in {p.target.volume_type for p in valued_plans} - {p.target.volume_type for p in kept}:
        grown = [
            plan
            for plan in valued_plans
            if plan.target.volume_type is kind
            and plan.grows
            and not (situation.limits.growth and allowed(situation, plan))
        ]
        if grown:
            yield min(grown, key=lambda plan: (not plan.meets_need, plan.monthly_usd))


def _order(plan: Plan) -> tuple[float, int, bool, Decimal, str]:
    changes = sum(
        (
            plan.target.volume_type is not plan.origin.volume_type,
            plan.target.size_gib != plan.origin.size_gib,
            plan.target.iops != plan.origin.iops,
            plan.target.throughput_mibps != plan.origin.throughput_mibps,
        )
    )
    return (
        -round(plan.value_usd_per_day, 2), changes, not plan.reversible, plan.monthly_usd,
        str(plan.target),
    )  # fmt: skip
