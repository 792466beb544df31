"""EventBridge over HTTP: what moto leaves out of it."""

from __future__ import annotations

import json

from moto.core.responses import ActionResult
from moto.events.models import EventPattern
from moto.events.responses import EventsHandler

from headroom.localaws.state import AwsError


class EventsApi(EventsHandler):  # type: ignore[misc]
    """As moto's, with TestEventPattern."""

    def test_event_pattern(self) -> ActionResult:
        """Whether an event matches a pattern, by the matcher that rules use here."""
        pattern = EventPattern.load(self._get_param("EventPattern"))
        try:
            event = json.loads(self._get_param("Event"))
        except ValueError as error:
            raise AwsError("ValidationException", "Parameter Event is not valid.") from error
        return ActionResult({"Result": bool(pattern.matches_event(event))})
