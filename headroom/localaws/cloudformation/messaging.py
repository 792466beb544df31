"""Queue and topic policies, subscriptions, queues that can be updated, schedules."""

from __future__ import annotations

import json
from typing import Any

from moto.scheduler.models import scheduler_backends
from moto.sns import sns_backends
from moto.sns.models import Topic
from moto.sqs import sqs_backends
from moto.sqs.models import Queue

from headroom.localaws.cloudformation.model import LocalResource, Properties, ShortSignatures
from headroom.localaws.state import AccountRegion


class QueuePolicy(LocalResource):
    """AWS::SQS::QueuePolicy."""

    kind = "AWS::SQS::QueuePolicy"

    def make(self) -> None:
        self._set(json.dumps(self.properties["PolicyDocument"]))

    def remove_resource(self) -> None:
        self._set(None)

    def _set(self, policy: str | None) -> None:
        queues = self.account_region.backend(sqs_backends).queues
        for url in self.properties["Queues"]:
            name = str(url).rsplit("/", 1)[-1]
            if name in queues:
                queues[name].policy = policy
            elif policy is not None:
                raise LookupError(f"No queue {url}")


class TopicPolicy(LocalResource):
    """AWS::SNS::TopicPolicy."""

    kind = "AWS::SNS::TopicPolicy"

    def make(self) -> None:
        backend = self.account_region.backend(sns_backends)
        for arn in self.properties["Topics"]:
            backend.get_topic(arn).policy = json.dumps(self.properties["PolicyDocument"])


class Subscription(LocalResource):
    """AWS::SNS::Subscription."""

    kind = "AWS::SNS::Subscription"
    arn: str | None = None

    def make(self) -> None:
        self.remove_resource()
        properties = self.properties
        backend = self.account_region.backend(sns_backends)
        made = backend.subscribe(
            properties["TopicArn"], properties["Endpoint"], properties["Protocol"]
        )
        self.arn = made.arn
        for name in ("RawMessageDelivery", "FilterPolicy", "RedrivePolicy"):
            value = properties.get(name)
            if value is not None:
                text = str(value).lower() if isinstance(value, bool) else value
                text = text if isinstance(text, str) else json.dumps(text)
                backend.set_subscription_attributes(made.arn, name, text)

    def remove_resource(self) -> None:
        if self.arn is not None:
            self.account_region.backend(sns_backends).unsubscribe(self.arn)

    @property
    def physical_resource_id(self) -> str:
        return self.arn or self.name


class Schedule(LocalResource):
    """AWS::Scheduler::Schedule."""

    kind = "AWS::Scheduler::Schedule"
    name_property = "Name"
    attributes = ("Arn",)

    def make(self) -> None:
        properties = self.properties
        group = properties.get("GroupName") or "default"
        self.remove_resource()
        made = self.account_region.backend(scheduler_backends).create_schedule(
            description=properties.get("Description"),
            end_date=properties.get("EndDate"),
            flexible_time_window=properties["FlexibleTimeWindow"],
            group_name=group,
            kms_key_arn=properties.get("KmsKeyArn"),
            name=self.name,
            schedule_expression=properties["ScheduleExpression"],
            schedule_expression_timezone=properties.get("ScheduleExpressionTimezone"),
            start_date=properties.get("StartDate"),
            state=properties.get("State"),
            target=dict(properties["Target"]),
            action_after_completion=properties.get("ActionAfterCompletion"),
        )
        self.values["Arn"] = made.arn

    def remove_resource(self) -> None:
        backend = self.account_region.backend(scheduler_backends)
        group = backend.schedule_groups.get(self.properties.get("GroupName") or "default")
        if group is not None:
            group.schedules.pop(self.name, None)


class ScheduleGroup(LocalResource):
    """AWS::Scheduler::ScheduleGroup."""

    kind = "AWS::Scheduler::ScheduleGroup"
    name_property = "Name"
    attributes = ("Arn",)

    def make(self) -> None:
        backend = self.account_region.backend(scheduler_backends)
        if self.name not in backend.schedule_groups:
            backend.create_schedule_group(self.name, [])
        self.values["Arn"] = backend.schedule_groups[self.name].arn

    def remove_resource(self) -> None:
        self.account_region.backend(scheduler_backends).schedule_groups.pop(self.name, None)


class UpdatableQueue(ShortSignatures, Queue):  # type: ignore[misc]
    """AWS::SQS::Queue; moto updates two attributes, this one all of them."""

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Set the attributes that the template names."""
        queue = account_region.backend(sqs_backends).get_queue(resource.name)
        fixed = ("QueueName", "Tags", "FifoQueue")
        given = {name: value for name, value in properties.items() if name not in fixed}
        queue._set_attributes({**given, "Policy": queue.policy})
        return queue

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """As moto makes it."""
        return Queue.create_from_cloudformation_json(
            name, {"Properties": properties}, account_region.account, account_region.region
        )


class UpdatableTopic(ShortSignatures, Topic):  # type: ignore[misc]
    """AWS::SNS::Topic; an update keeps the topic, where moto makes another one."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """As moto makes it."""
        return Topic.create_from_cloudformation_json(
            name, {"Properties": properties}, account_region.account, account_region.region
        )

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Another display name or key, without interruption."""
        resource.display_name = properties.get("DisplayName", "")
        resource.kms_master_key_id = properties.get("KmsMasterKeyId", "")
        return resource


MODELS = (
    QueuePolicy, TopicPolicy, Subscription, Schedule, ScheduleGroup, UpdatableQueue, UpdatableTopic,
)  # fmt: skip
