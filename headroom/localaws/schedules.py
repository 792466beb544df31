"""EventBridge Scheduler's schedules and EventBridge's scheduled rules, fired by the clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from headroom.localaws import bus, targets
from headroom.localaws.cloud import Cloud, Place
from headroom.localaws.schedule_expressions import BadSchedule, fires


def fire_due(cloud: Cloud, minute: datetime) -> int:
    """Start everything that is due in this minute; tells how many started."""
    count = 0
    for place, schedule in _schedules():
        if _due(schedule, minute):
            _start(cloud, place, schedule, minute)
            count += 1
    for place, rule in _scheduled_rules():
        if _fires(rule.scheduled_expression, minute, "UTC"):
            event = _scheduled_event(cloud, place, rule, minute)
            for target in rule.targets:
                bus.deliver(cloud, place, target, event)
            count += 1
    return count


def _schedules() -> Iterator[tuple[Place, Any]]:
    from moto.scheduler.models import scheduler_backends

    for account, region, backend in scheduler_backends.iter_backends():
        for group in list(backend.schedule_groups.values()):
            for schedule in list(group.schedules.values()):
                if schedule.state == "ENABLED":
                    yield Place(account, region), schedule


def _scheduled_rules() -> Iterator[tuple[Place, Any]]:
    from moto.events.models import events_backends

    for account, region, backend in events_backends.iter_backends():
        for rule in list(backend.event_buses["default"].rules.values()):
            if rule.scheduled_expression and rule.state.startswith("ENABLED"):
                yield Place(account, region), rule


def _due(schedule: Any, minute: datetime) -> bool:
    start, end = _instant(schedule.start_date), _instant(schedule.end_date)
    if (start is not None and minute < start) or (end is not None and minute > end):
        return False
    return _fires(schedule.schedule_expression, minute, schedule.schedule_expression_timezone)


def _fires(expression: str, minute: datetime, zone: str) -> bool:
    try:
        return fires(expression, minute, zone)
    except (BadSchedule, KeyError):
        return False


def _start(cloud: Cloud, place: Place, schedule: Any, minute: datetime) -> None:
    target: Mapping[str, Any] = schedule.target
    body = str(target.get("Input") or "{}")
    for name, value in (
        ("schedule-arn", schedule.arn),
        ("scheduled-time", minute.strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("execution-id", cloud.ids.uuid("execution")),
        ("attempt-number", "1"),
    ):
        body = body.replace(f"<aws.scheduler.{name}>", value)
    try:
        targets.send(cloud, place, str(target["Arn"]), body, target)
    except targets.Undeliverable as error:
        dead = (target.get("DeadLetterConfig") or {}).get("Arn")
        if dead:
            targets.send_dead_letter(place, dead, body, str(error))


def _scheduled_event(cloud: Cloud, place: Place, rule: Any, minute: datetime) -> dict[str, Any]:
    return {
        "version": "0",
        "id": cloud.ids.uuid("event"),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": place.account,
        "time": minute.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": place.region,
        "resources": [rule.arn],
        "detail": {},
    }


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
