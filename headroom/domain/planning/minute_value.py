"""What a minute of shortfall is worth: more than the policy says, where the owner's choice would serve it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from headroom.domain.catalog.ebs import capability
from headroom.domain.planning.plan import Plan
from headroom.domain.planning.schedule import ScheduleCost
from headroom.domain.planning.situation import Situation
from headroom.domain.workload import HOURS, Level

MISSED_MIN = 30.0
"""Minutes a day that may be short of what the owner chose: more than one late raise, less than two."""
LEAST_USD = 0.01
"""What a minute is worth at least that the owner's choice would serve, also to an owner who buys nothing."""
DOUBLINGS = 3
"""Up to eight times the policy's value: load that may never come again is not kept for ever."""
LITTLE = 1e-4


class Worth(NamedTuple):
    """USD of a minute of shortfall, and the best schedules at that value."""

    usd_per_minute: float
    found: ScheduleCost


def as_chosen(
    cost: Callable[[float], ScheduleCost], usd_per_minute: float, levels: Sequence[Level],
    goals: Sequence[bool], usual: float,
) -> Worth:  # fmt: skip
    """The value at which the best schedule is hardly short for longer than the owner's choice would be.

    `goals` says which levels may be reached; `usual` is the shortfall of the coming day, in minutes, at
    the owner's choice where raises follow at once. No value is above 2 ** DOUBLINGS times `usd_per_minute`.
    """
    first = max(LEAST_USD, usd_per_minute)
    worth = Worth(first, cost(first))
    least_usd = HOURS * min(level.usd_per_hour for level in levels)
    if _best(worth.found, goals) - least_usd <= first * (usual + MISSED_MIN):
        return worth  # even if all the rest were for shortfall
    for _ in range(DOUBLINGS):
        dearer = cost(worth.usd_per_minute * (1 + LITTLE))
        usd = _best(dearer, goals) - _best(worth.found, goals)
        if usd / (worth.usd_per_minute * LITTLE) - usual <= MISSED_MIN:
            break
        worth = Worth(2 * worth.usd_per_minute, cost(2 * worth.usd_per_minute))
    return worth


def _best(found: ScheduleCost, goals: Sequence[bool]) -> float:
    """The cost of the best schedule; where it changes at all, a little dearer minutes change none of it."""
    return min(found.stay, *(usd for usd, goal in zip(found.change, goals, strict=True) if goal))


def within_choice(situation: Situation, plan: Plan) -> bool:
    """Whether a plan leaves or restores no more than the owner chose."""
    chosen, then = capability(situation.owners_choice), plan.capability
    return (
        then.sustained_iops <= chosen.sustained_iops
        and then.sustained_mibps <= chosen.sustained_mibps
    )
