"""EventBridge over HTTP: what moto leaves out of it."""

from __future__ import annotations

import json

from moto.core.responses import ActionResult
from moto.events.models import EventPattern
from moto.events.responses import EventsHandler
from moto.firehose.responses import FirehoseResponse

from headroom.localaws.events.targets import Undeliverable, put_on_stream, streams_of
from headroom.localaws.state import AccountRegion, AwsError, current_cloud


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


class FirehoseApi(FirehoseResponse):  # type: ignore[misc]
    """As moto's, with records for the streams that CloudFormation made here."""

    def put_record_batch(self) -> ActionResult:
        """Every record is an object of its own in the bucket at once."""
        name = self._get_param("DeliveryStreamName")
        arn = f"arn:aws:firehose:{self.region}:{self.current_account}:deliverystream/{name}"
        records = self._get_param("Records")
        try:
            for each in records:
                put_on_stream(current_cloud(), arn, bytes(each["Data"]).decode())
        except Undeliverable as error:
            raise AwsError("ResourceNotFoundException", str(error)) from error
        return ActionResult(
            {
                "FailedPutCount": 0,
                "RequestResponses": [{"RecordId": str(n)} for n, _ in enumerate(records)],
            }
        )

    def describe_delivery_stream(self) -> ActionResult:
        """A stream that CloudFormation made here is active; moto describes any other."""
        name = self._get_param("DeliveryStreamName")
        place = AccountRegion(self.current_account, self.region)
        if name not in streams_of(current_cloud(), place).destinations:
            return super().describe_delivery_stream()
        arn = f"arn:aws:firehose:{self.region}:{self.current_account}:deliverystream/{name}"
        return ActionResult(
            {
                "DeliveryStreamDescription": {
                    "DeliveryStreamName": name, "DeliveryStreamARN": arn,
                    "DeliveryStreamStatus": "ACTIVE", "DeliveryStreamType": "DirectPut",
                    "VersionId": "1", "Destinations": [], "HasMoreDestinations": False,
                }
            }
        )  # fmt: skip
