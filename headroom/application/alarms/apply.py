"""The dispatcher's part: the alarms in AWS become those of the plan, and no others stay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headroom.domain.detection import AlarmPlan, most_alarms
from headroom.ports import AlarmPlans, ReadFailed, ResourceAlarms

CHECKED_EVERY = timedelta(hours=1)
"""How often the alarms are compared with a plan that did not change: somebody may have removed one."""
AT_ONCE = 20
"""Alarms that one run makes. AWS takes three a second from all users of an account and Region."""


@dataclass(slots=True)
class AlarmsReport:
    """What one run did, by names of alarms."""

    made: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: int = 0
    """To be made by the next runs."""
    error: str | None = None


def apply_alarm_plan(
    plans: AlarmPlans, alarms: ResourceAlarms, now: datetime, *, budget_usd: float
) -> AlarmsReport:
    """Remove alarms that are not in the plan, then make those that are missing or different.

    Nothing is read of CloudWatch while the plan is the one that was applied within the hour. Any number
    of dispatchers may run at once: each compares with what there is. What failed is done by the next run.
    """
    report = AlarmsReport()
    try:
        plan = plans.alarm_plan()
        if not budget_usd and plan.watched:
            plan = plans.amend_alarm_plan(_emptied)
        if _is_applied(plan, now):
            return report
        _apply(plan, alarms, report, most=most_alarms(budget_usd))
        if not report.left:
            plans.amend_alarm_plan(
                lambda held: replace(held, applied=max(held.applied, plan.version), checked_at=now)
            )
    except ReadFailed as error:
        report.error = str(error)
    return report


def _is_applied(plan: AlarmPlan, now: datetime) -> bool:
    if plan.applied != plan.version or plan.checked_at is None:
        return False
    return timedelta(0) <= now - plan.checked_at < CHECKED_EVERY


def _apply(plan: AlarmPlan, alarms: ResourceAlarms, report: AlarmsReport, *, most: int) -> None:
    wanted = {alarms.name(one.alarm): one.alarm for one in plan.watched[:most]}
    there = alarms.existing()
    extra = sorted(set(there) - set(wanted))
    if extra:
        alarms.remove(extra)
        report.removed += extra
    missing = [name for name, alarm in wanted.items() if there.get(name) != alarm]
    report.left = max(0, len(missing) - AT_ONCE)
    for name in missing[:AT_ONCE]:
        alarms.put(wanted[name])
        report.made.append(name)


def _emptied(before: AlarmPlan) -> AlarmPlan:
    return replace(before, watched=(), version=before.version + 1)
