"""The value of plans against each other and against waiting, in dollars of the next day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from statistics import median

from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.build_plan import plan_to
from headroom.domain.planning.coming_hours import begins, least_held_hours
from headroom.domain.planning.full_copy import full_copy_valued, may_copy_now
from headroom.domain.planning.levels import allowed, reachable
from headroom.domain.planning.plan import HOURS_PER_MONTH, Plan, one_way
from headroom.domain.planning.planner import candidates
from headroom.domain.planning.present_load import latest_load
from headroom.domain.planning.restoring import (
    could_come_back,
    longest_closed,
    may_be_restored,
    within_choice,
)
from headroom.domain.planning.savings import uses_up_the_only_change, wished
from headroom.domain.planning.situation import Situation, hardly_less
from headroom.domain.planning.valuation import Valuation
from headroom.domain.resources import Configuration
from headroom.domain.state import HOUR
from headroom.domain.workload import HOURS, ON_INSTANCE, Binding, Forecast, checked_days

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
    if not made or situation.diagnosis.binding in ON_INSTANCE:  # which lets nothing more through
        return replace(NO_VALUED_PLANS, plans=made, known_days=_known_days(situation))
    valued = Valuation(situation, made).valued()
    in_place = [p.capability for p in valued.plans if not p.full_copy and allowed(situation, p)]
    without = (capability(situation.current), *in_place)
    valued_plans = [
        full_copy_valued(situation, p, without) if p.full_copy and p.growth is None else p
        for p in valued.plans
    ]
    used = cache(lambda: what_is_used(situation))
    kept = [
        plan
        for plan, later in zip(valued_plans, valued.later_minutes, strict=True)
        if _sensible(situation, valued.forecast, plan, later, valued_plans)
        and leaves_what_is_used(situation, plan, used)
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
    return {plan.target: plan for plan in Valuation(situation, made).valued().plans} if made else {}


def _sensible(
    situation: Situation, forecast: Forecast, plan: Plan, later_minutes: float,
    others: Sequence[Plan],
) -> bool:  # fmt: skip
    """Whether a plan ends starvation, and is reversible if a reversible one is good enough.

    `later_minutes` a day end with the change that it makes possible, or after the load. A full copy stays among the
    plans, although only a person starts it: the owner should see its price.
    """
    if wished(situation, plan) and not plan.full_copy:  # which no latency is a reason for
        return True
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
        return not (hardly_less(plan) or uses_up_the_only_change(situation))
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


def what_is_used(situation: Situation) -> tuple[float, float]:
    """IOPS and MiB/s that the load takes now, and took in half of the hours of the last day."""
    hours = [hour for hour in situation.past.profile.hours[-HOURS:] if hour is not None]
    iops, mibps = latest_load(situation)
    if hours:
        iops = max(iops, median(hour.mean_iops for hour in hours))
        mibps = max(mibps, median(hour.mean_mibps for hour in hours))
    return iops, mibps


def leaves_what_is_used(
    situation: Situation, plan: Plan, used: Callable[[], tuple[float, float]] | None = None
) -> bool:
    """Whether a plan takes nothing that the owner chose and the load uses, whatever it costs.

    The load uses `what_is_used`; and all that it takes at times, where Headroom could not raise to it again. Where
    no change may follow for longer than a day, what the load took in twice that time stays, whoever chose it.
    `used` says what is used, where several plans are asked about.
    """
    if not situation.calm or not plan.sustains_less:
        return True
    if not _leaves_the_latest(situation, plan):
        return False
    chosen, now = capability(situation.owners_choice), capability(situation.current)
    iops, mibps = what_is_used(situation) if used is None else used()
    most_iops = min(chosen.sustained_iops, now.sustained_iops)
    most_mibps = min(chosen.sustained_mibps, now.sustained_mibps)
    then_iops, then_mibps = situation.sustains(plan.target)
    return (
        then_iops >= min(iops, most_iops)
        and then_mibps >= min(mibps, most_mibps)
        and may_be_restored(situation, plan, *could_come_back(situation))
    )


def _leaves_the_latest(situation: Situation, plan: Plan) -> bool:
    """Whether a plan leaves what the load took while no change could have followed, and as long before.

    What comes within the coming day is in the value of the plan; what comes after it, while windows that close
    by then or the owner's cooldown let nothing change, is not.
    """
    cooldown = timedelta(minutes=situation.limits.cooldown_minutes)
    locked = max(longest_closed(situation, within=HOURS * HOUR), cooldown) // HOUR
    if locked <= HOURS:
        return True
    hours = [hour for hour in situation.past.profile.hours[-2 * locked :] if hour is not None]
    now, then = capability(situation.current), plan.capability
    iops = max((max(hour.peak_iops, hour.limit_iops) for hour in hours), default=0.0)
    mibps = max((max(hour.peak_mibps, hour.limit_mibps) for hour in hours), default=0.0)
    return then.sustained_iops >= min(iops, now.sustained_iops) and then.sustained_mibps >= min(
        mibps, now.sustained_mibps
    )
