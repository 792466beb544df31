"""What a hub keeps records with: streams to S3, the policy of a bus, and tables that nothing queries here."""

from __future__ import annotations

import json

from moto.events.models import events_backends

from headroom.localaws.cloudformation.model import LocalResource
from headroom.localaws.events import streams_of
from headroom.localaws.state import current_cloud


class EventBus(LocalResource):
    """AWS::Events::EventBus; its rules stay when it is updated."""

    kind = "AWS::Events::EventBus"
    name_property = "Name"
    attributes = ("Arn", "Name")

    def make(self) -> None:
        backend = self.account_region.backend(events_backends)
        if self.name not in backend.event_buses:
            backend.create_event_bus(name=self.name)
        self.values |= {"Arn": backend.event_buses[self.name].arn, "Name": self.name}

    def remove_resource(self) -> None:
        self.account_region.backend(events_backends).event_buses.pop(self.name, None)


class EventBusPolicy(LocalResource):
    """AWS::Events::EventBusPolicy with one statement."""

    kind = "AWS::Events::EventBusPolicy"

    def make(self) -> None:
        properties = self.properties
        statement = {**properties["Statement"], "Sid": properties["StatementId"]}
        backend = self.account_region.backend(events_backends)
        backend.put_permission(
            event_bus_name=properties["EventBusName"], action="", principal="", statement_id="",
            condition={}, policy=json.dumps({"Statement": [statement]}),
        )  # fmt: skip

    def remove_resource(self) -> None:
        bus = self.account_region.backend(events_backends).event_buses.get(
            self.properties["EventBusName"]
        )
        if bus is not None:
            bus.remove_statement(self.properties["StatementId"])


class DeliveryStream(LocalResource):
    """AWS::KinesisFirehose::DeliveryStream to S3; every record is delivered at once."""

    kind = "AWS::KinesisFirehose::DeliveryStream"
    name_property = "DeliveryStreamName"
    attributes = ("Arn",)

    def make(self) -> None:
        place = self.account_region
        destination = dict(self.properties["ExtendedS3DestinationConfiguration"])
        streams_of(current_cloud(), place).destinations[self.name] = destination
        self.values["Arn"] = (
            f"arn:aws:firehose:{place.region}:{place.account}:deliverystream/{self.name}"
        )

    def remove_resource(self) -> None:
        streams_of(current_cloud(), self.account_region).destinations.pop(self.name, None)


class Database(LocalResource):
    """AWS::Glue::Database, without effect."""

    kind = "AWS::Glue::Database"


class GlueTable(LocalResource):
    """AWS::Glue::Table, without effect."""

    kind = "AWS::Glue::Table"


class WorkGroup(LocalResource):
    """AWS::Athena::WorkGroup, without effect."""

    kind = "AWS::Athena::WorkGroup"
    name_property = "Name"


class NamedQuery(LocalResource):
    """AWS::Athena::NamedQuery, without effect."""

    kind = "AWS::Athena::NamedQuery"


MODELS = (EventBus, EventBusPolicy, DeliveryStream, Database, GlueTable, WorkGroup, NamedQuery)
