"""The alarms of one account and Region, joined to its metrics, event bus, targets and tags."""

from __future__ import annotations

import json
from collections.abc import Mapping

from headroom.localaws.alarms import Act, AlarmStore, Emit
from headroom.localaws.events import Undeliverable, publish_to_topic, put_event, send_to_target
from headroom.localaws.metrics import TagsOf
from headroom.localaws.rds import database_store
from headroom.localaws.state import AccountRegion, Cloud


def alarm_store(cloud: Cloud, account_region: AccountRegion) -> AlarmStore:
    """The alarms of a place."""
    return cloud.part(
        AlarmStore,
        account_region,
        lambda: AlarmStore(
            account=account_region.account,
            region=account_region.region,
            store=cloud.store(account_region),
            now=cloud.clock.now,
            emit=_emitter(cloud, account_region),
            act=_action(cloud, account_region),
            tags=tags_of(cloud, account_region),
        ),
    )


def tags_of(cloud: Cloud, account_region: AccountRegion) -> TagsOf:
    """Resource tags for Metrics Insights: a volume's before an instance's, a database's."""
    from moto.ec2 import ec2_backends

    def tags(namespace: str, dimensions: Mapping[str, str]) -> Mapping[str, str]:
        of_database = database_store(cloud, account_region).tags(dimensions)
        if of_database is not None:
            return of_database
        backend = ec2_backends[account_region.account][account_region.region]
        for name in ("VolumeId", "InstanceId"):
            if name in dimensions:
                return dict(backend.tags.get(dimensions[name], {}))
        return {}

    return tags


def _emitter(cloud: Cloud, account_region: AccountRegion) -> Emit:
    """Puts alarm events of a place on its bus."""

    def emit(detail_type: str, arn: str, detail: Mapping[str, object]) -> None:
        put_event(
            cloud, account_region, source="aws.cloudwatch", detail_type=detail_type, resources=[arn],
            detail=detail,
        )  # fmt: skip

    return emit


def _action(cloud: Cloud, account_region: AccountRegion) -> Act:
    """Executes alarm actions: SNS topics and Lambda functions; others do nothing here."""

    def act(arn: str, subject: str, message: str) -> None:
        try:
            if arn.split(":")[2] == "sns":
                publish_to_topic(account_region, arn, message, subject)
            elif arn.split(":")[2] == "lambda":
                send_to_target(
                    cloud, account_region, arn, json.dumps({"alarmData": json.loads(message)}), {}
                )
        except Undeliverable:
            return

    return act
