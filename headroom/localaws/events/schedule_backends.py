"""moto's backends of Scheduler and EventBridge, which refuse schedules that can never fire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from moto.events import urls as events_urls
from moto.events.models import EventsBackend
from moto.scheduler import urls as scheduler_urls
from moto.scheduler.exceptions import ValidationException
from moto.scheduler.models import EventBridgeSchedulerBackend

from headroom.localaws.events.bus import event_of, send_to_target
from headroom.localaws.events.expressions import BadSchedule, check, check_rule
from headroom.localaws.events.targets import Undeliverable
from headroom.localaws.state import AccountRegion, AwsError, current_cloud


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

    def put_events(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """To a bus of another account too, if its policy lets this one in; of another Region to none."""
        away = [self._is_away(one.get("EventBusName") or "") for one in events]
        here = iter(super().put_events([e for e, no in zip(events, away, strict=True) if not no]))
        return [
            self._put_away(one) if elsewhere else next(here)
            for one, elsewhere in zip(events, away, strict=True)
        ]

    def _is_away(self, bus: str) -> bool:
        return bus.startswith("arn:") and bus.split(":")[3:5] != [self.region_name, self.account_id]

    def _put_away(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        region, bus = self.region_name, str(entry["EventBusName"])
        if bus.split(":")[3] != region:
            why = f"The event bus {bus} is not in {region}; rules alone forward to other Regions."
            return {"ErrorCode": "InvalidArgument", "ErrorMessage": why}
        cloud, here = current_cloud(), AccountRegion(self.account_id, region)
        given = entry.get("Time")
        event = event_of(
            cloud, here, source=entry["Source"], detail_type=entry["DetailType"],
            resources=entry.get("Resources") or [], detail=json.loads(entry["Detail"]),
            at=None if given is None else datetime.fromtimestamp(float(given), UTC),
        )  # fmt: skip
        try:
            send_to_target(cloud, here, bus, json.dumps(event), {})
        except Undeliverable as error:
            return {"ErrorCode": "NotAuthorizedForDetailTypeException", "ErrorMessage": str(error)}
        return {"EventId": event["id"]}


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
