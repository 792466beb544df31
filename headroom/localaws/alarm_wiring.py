"""The alarms of one account and Region, joined to its metrics, event bus, targets and tags."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headroom.localaws.alarms.book import Act, AlarmBook, Emit
from headroom.localaws.bus import put_event, send_to_target
from headroom.localaws.cloud import Cloud, Place
from headroom.localaws.databases import database_book
from headroom.localaws.metrics.insights import TagsOf
from headroom.localaws.targets import Undeliverable, publish_to_topic


def alarm_book(cloud: Cloud, place: Place) -> AlarmBook:
    """The alarms of a place."""
    return cloud.part(
        AlarmBook,
        place,
        lambda: AlarmBook(
            account=place.account,
            region=place.region,
            store=cloud.store(place),
            now=cloud.clock.now,
            emit=_emitter(cloud, place),
            act=_action(cloud, place),
            tags=tags_of(cloud, place),
        ),
    )


def tags_of(cloud: Cloud, place: Place) -> TagsOf:
    """Resource tags for Metrics Insights: a volume's before an instance's, a database's."""
    from moto.ec2 import ec2_backends

    def tags(namespace: str, dimensions: Mapping[str, str]) -> Mapping[str, str]:
        of_database = database_book(cloud, place).tags(dimensions)
        if of_database is not None:
            return of_database
        backend = ec2_backends[place.account][place.region]
        for name in ("VolumeId", "InstanceId"):
            if name in dimensions:
                return dict(backend.tags.get(dimensions[name], {}))
        return {}

    return tags


def _emitter(cloud: Cloud, place: Place) -> Emit:
    """Puts alarm events of a place on its bus."""

    def emit(detail_type: str, arn: str, detail: Mapping[str, object]) -> None:
        put_event(
            cloud, place, source="aws.cloudwatch", detail_type=detail_type, resources=[arn],
            detail=detail,
        )  # fmt: skip

    return emit


def _action(cloud: Cloud, place: Place) -> Act:
    """Executes alarm actions: SNS topics and Lambda functions; others do nothing here."""

    def act(arn: str, subject: str, message: str) -> None:
        try:
            if arn.split(":")[2] == "sns":
                publish_to_topic(place, arn, message, subject)
            elif arn.split(":")[2] == "lambda":
                send_to_target(
                    cloud, place, arn, json.dumps({"alarmData": json.loads(message)}), {}
                )
        except Undeliverable:
            return

    return act
