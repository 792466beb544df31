"""The dispatcher's part: the alarms in AWS become those of the plan, and no others stay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headroom.domain.detection import AlarmPlan, most_alarms
from headroom.ports import AlarmPlans, ReadFailed, ResourceAlarms

CHECKED_EVERY = timedelta(hours=1)
"""How often the alarms are compared with a plan that did not change: somebody may have removed one."""
AGAIN_AFTER = timedelta(minutes=10)
"""How long after a failure: a missing permission or a full quota does not go away within a minute."""
AT_ONCE = 3
"""Alarms that one run makes: AWS takes three a second from all users of an account and Region."""


@dataclass(slots=True)
class AlarmsReport:
    """What one run did, by names of alarms."""

    made: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    """Planned, but alarms of these names are somebody else's; they are left alone."""
    left: int = 0
    """To be made by the next runs."""
    error: str | None = None
    """The last one."""


def apply_alarm_plan(
    plans: AlarmPlans, alarms: ResourceAlarms, now: datetime, *, budget_usd: float
) -> AlarmsReport:
    """Remove own alarms that are not in the plan, then make those that are missing or different.

    Nothing is read of CloudWatch while the plan is the one that was applied within the hour, or after
    a failure. Any number of dispatchers may run at once: each compares with what there is.
    """
    report = AlarmsReport()
    try:
        plan = plans.alarm_plan()
        if not budget_usd and plan.watched:
            plan = plans.amend_alarm_plan(_emptied)
        if _may_wait(plan, now):
            return report
        try:
            _apply(plan, alarms, report, most=most_alarms(budget_usd))
        except ReadFailed as error:
            report.error = str(error)
        if report.error is not None:
            plans.amend_alarm_plan(lambda held: replace(held, failed_at=now))
        elif not report.left:
            plans.amend_alarm_plan(
                lambda held: replace(
                    held, applied=max(held.applied, plan.version), checked_at=now, failed_at=None
                )
            )
    except ReadFailed as error:
        report.error = str(error)
    return report


def _may_wait(plan: AlarmPlan, now: datetime) -> bool:
    """Whether the alarms are as planned, by the last comparison, or the last run just failed."""
    if plan.failed_at is not None:
        return timedelta(0) <= now - plan.failed_at < AGAIN_AFTER
    if plan.applied != plan.version or plan.checked_at is None:
        return False
    return timedelta(0) <= now - plan.checked_at < CHECKED_EVERY


def _apply(plan: AlarmPlan, alarms: ResourceAlarms, report: AlarmsReport, *, most: int) -> None:
    """Raises ReadFailed where what is there cannot be read or removed: then none is made beside it."""
    wanted = {alarms.name(one.alarm): one.alarm for one in plan.watched[:most]}
    there = alarms.existing()
    extra = sorted(set(there.made) - set(wanted))
    if extra:
        alarms.remove(extra)
        report.removed += extra
    report.taken += sorted(there.others & set(wanted))
    missing = [
        name
        for name, alarm in wanted.items()
        if name not in there.others and there.made.get(name) != alarm
    ]
    report.left = max(0, len(missing) - AT_ONCE)
    for name in missing[:AT_ONCE]:
        try:
            alarms.put(wanted[name])
        except ReadFailed as error:  # the others may still be made
            report.error = str(error)
        else:
            report.made.append(name)


def _emptied(before: AlarmPlan) -> AlarmPlan:
    return replace(before, watched=(), version=before.version + 1)
