"""After a part of the fleet was glanced at: who gets an alarm, who keeps it, who loses it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from headroom.domain.detection import AlarmPlan, Candidate, most_alarms, planned
from headroom.ports import AlarmPlans


def plan_alarms(
    plans: AlarmPlans, seen: Sequence[Candidate], now: datetime, *, budget_usd: float,
    scanned: datetime | None,
) -> AlarmPlan:  # fmt: skip
    """The plan after these were seen, of any number of workers at once. Raises ReadFailed.

    `scanned` is when the last complete scan began.
    """
    most = most_alarms(budget_usd)
    return plans.amend_alarm_plan(
        lambda before: planned(before, seen, now, most=most, scanned=scanned)
    )
