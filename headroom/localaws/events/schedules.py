"""EventBridge Scheduler's schedules and EventBridge's scheduled rules, fired by the clock."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from headroom.localaws.events.bus import deliver, deliver_event, event_of
from headroom.localaws.events.expressions import BadSchedule, fires
from headroom.localaws.state import AccountRegion, Cloud

_log = logging.getLogger(__name__)


def start_due_schedules(cloud: Cloud, minute: datetime) -> int:
    """Start everything that is due in this minute; returns how many started."""
    started = [
        _fired(cloud, account_region, schedule, minute)
        for account_region, schedule in list(_schedules())
    ]
    started += [
        _rule_fired(cloud, account_region, rule, minute)
        for account_region, rule in list(_scheduled_rules())
    ]
    return sum(started)


def _harmless(fire: Callable[..., bool]) -> Callable[..., bool]:
    """A schedule that fails is logged; the others still fire and the clock moves on."""

    @wraps(fire)
    def guarded(cloud: Cloud, account_region: AccountRegion, what: Any, minute: datetime) -> bool:
        try:
            return fire(cloud, account_region, what, minute)
        except Exception:
            _log.exception("%s could not fire at %s", what.arn, minute)
            return False

    return guarded


@_harmless
def _fired(cloud: Cloud, account_region: AccountRegion, schedule: Any, minute: datetime) -> bool:
    due = _due(schedule, minute)
    if due:
        _start(cloud, account_region, schedule, minute)
    if schedule.action_after_completion == "DELETE" and _completed(schedule, minute, due):
        _forget(account_region, schedule)
    return due


@_harmless
def _rule_fired(cloud: Cloud, account_region: AccountRegion, rule: Any, minute: datetime) -> bool:
    if not _fires(rule.scheduled_expression, minute, "UTC"):
        return False
    event = event_of(
        cloud, account_region, source="aws.events", detail_type="Scheduled Event",
        resources=[rule.arn], detail={}, at=minute,
    )  # fmt: skip
    for target in rule.targets:
        deliver_event(cloud, account_region, target, event)
    return True


def _completed(schedule: Any, minute: datetime, fired: bool) -> bool:
    """Whether the schedule's last moment has come: its one time, or its end."""
    if schedule.schedule_expression.startswith("at("):
        return fired
    end = _instant(schedule.end_date)
    return end is not None and minute >= end


def _forget(account_region: AccountRegion, schedule: Any) -> None:
    from moto.scheduler.models import scheduler_backends

    groups = account_region.backend(scheduler_backends).schedule_groups
    for group in groups.values():
        if group.schedules.get(schedule.name) is schedule:
            del group.schedules[schedule.name]


def _schedules() -> Iterator[tuple[AccountRegion, Any]]:
    from moto.scheduler.models import scheduler_backends

    for account, region, backend in scheduler_backends.iter_backends():
        for group in list(backend.schedule_groups.values()):
            for schedule in list(group.schedules.values()):
                if schedule.state == "ENABLED":
                    yield AccountRegion(account, region), schedule


def _scheduled_rules() -> Iterator[tuple[AccountRegion, Any]]:
    from moto.events.models import events_backends

    for account, region, backend in events_backends.iter_backends():
        for rule in list(backend.event_buses["default"].rules.values()):
            if rule.scheduled_expression and rule.state.startswith("ENABLED"):
                yield AccountRegion(account, region), rule


def _due(schedule: Any, minute: datetime) -> bool:
    start, end = _instant(schedule.start_date), _instant(schedule.end_date)
    if (start is not None and minute < start) or (end is not None and minute > end):
        return False
    return _fires(schedule.schedule_expression, minute, schedule.schedule_expression_timezone)


def _fires(expression: str, minute: datetime, zone: str) -> bool:
    try:
        return fires(expression, minute, zone)
    except (BadSchedule, KeyError, ValueError, OSError):
        return False


def _start(cloud: Cloud, account_region: AccountRegion, schedule: Any, minute: datetime) -> None:
    target: Mapping[str, Any] = schedule.target
    body = str(target.get("Input") or "{}")
    for name, value in (
        ("schedule-arn", schedule.arn),
        ("scheduled-time", minute.strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("execution-id", cloud.ids.uuid("execution")),
        ("attempt-number", "1"),
    ):
        body = body.replace(f"<aws.scheduler.{name}>", value)
    deliver(cloud, account_region, target, body)


def _instant(value: Any) -> datetime | None:
    if value in (None, ""):
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    try:
        read = datetime.fromisoformat(json.loads(f'"{value}"').replace("Z", "+00:00"))
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
