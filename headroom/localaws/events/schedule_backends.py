"""moto's backends of Scheduler and EventBridge, which refuse schedules that can never fire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moto.events import urls as events_urls
from moto.events.models import EventsBackend
from moto.scheduler import urls as scheduler_urls
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend

from headroom.localaws.events.expressions import BadSchedule, check, check_rule
from headroom.localaws.state import AwsError


class LocalScheduler(EventBridgeSchedulerBackend):  # type: ignore[misc]
    """Parses a schedule when it is created."""

    _url_module = scheduler_urls

    def create_schedule(self, **request: Any) -> Any:
        """Refuses an expression that could never fire."""
        _check_schedule(request)
        return super().create_schedule(**request)

    def update_schedule(self, **request: Any) -> Any:
        """Refuses an expression that could never fire."""
        _check_schedule(request)
        return super().update_schedule(**request)


class LocalEvents(EventsBackend):  # type: ignore[misc]
    """Parses the schedule of a rule when it is created."""

    _url_module = events_urls

    def put_rule(self, name: str, **request: Any) -> Any:
        """Refuses a schedule that could never fire."""
        expression = request.get("scheduled_expression")
        if expression:
            try:
                check_rule(expression)
            except BadSchedule as error:
                raise AwsError(
                    "ValidationException", "Parameter ScheduleExpression is not valid."
                ) from error
        return super().put_rule(name, **request)


def _check_schedule(request: Mapping[str, Any]) -> None:
    expression, zone = request["schedule_expression"], request.get("schedule_expression_timezone")
    try:
        check(expression)
    except BadSchedule as error:
        raise ValidationException(f"Invalid Schedule Expression {expression}.") from error
    try:
        check(expression, zone)
    except BadSchedule as error:
        raise ValidationException(f"Invalid Schedule Expression Timezone {zone}.") from error
