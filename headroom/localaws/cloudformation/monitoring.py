"""Alarms, and resources that have no effect here."""

from __future__ import annotations

from typing import Any

from moto.logs.models import LogGroup

from headroom.localaws.alarms import alarm_store
from headroom.localaws.cloudformation.model import (
    LocalResource,
    Properties,
    ShortSignatures,
    typed,
)
from headroom.localaws.state import AccountRegion, current_cloud

_WHOLE = ("EvaluationPeriods", "DatapointsToAlarm", "Period")


class Alarm(LocalResource):
    """AWS::CloudWatch::Alarm with all its properties."""

    kind = "AWS::CloudWatch::Alarm"
    name_property = "AlarmName"
    attributes = ("Arn",)

    def make(self) -> None:
        request = typed(self.properties, whole=_WHOLE, truths=("ActionsEnabled",))
        request["AlarmName"] = self.name
        if request.get("Threshold") is not None:
            request["Threshold"] = float(request["Threshold"])
        if request.get("Metrics"):
            request["Metrics"] = [_query(query) for query in request["Metrics"]]
        alarm = alarm_store(current_cloud(), self.account_region).put(request)
        self.values["Arn"] = alarm.arn

    def remove_resource(self) -> None:
        alarm_store(current_cloud(), self.account_region).delete([self.name])


class CdkMetadata(LocalResource):
    """AWS::CDK::Metadata, without effect."""

    kind = "AWS::CDK::Metadata"


class QueryDefinition(LocalResource):
    """AWS::Logs::QueryDefinition: saved queries are not run here."""

    kind = "AWS::Logs::QueryDefinition"
    name_property = "Name"


class DeployedLogGroup(ShortSignatures, LogGroup):  # type: ignore[misc]
    """AWS::Logs::LogGroup with the ARN that CloudFormation gives, which names its streams too."""

    @classmethod
    def made(cls, name: str, properties: Properties, account_region: AccountRegion) -> Any:
        """As moto makes it."""
        made = LogGroup.create_from_cloudformation_json(
            name, {"Properties": properties}, account_region.account, account_region.region
        )
        made.__class__ = cls
        return made

    @classmethod
    def changed(cls, resource: Any, properties: Properties, account_region: AccountRegion) -> Any:
        """Another retention, or none; the streams stay."""
        resource.set_retention_policy(properties.get("RetentionInDays"))
        return resource

    def get_cfn_attribute(self, attribute_name: str) -> str:
        """The value of Fn::GetAtt."""
        value = str(super().get_cfn_attribute(attribute_name))
        return f"{value}:*" if attribute_name == "Arn" else value


def _query(query: Properties) -> dict[str, Any]:
    request = typed(query, whole=("Period",), truths=("ReturnData",))
    if request.get("MetricStat"):
        request["MetricStat"] = typed(request["MetricStat"], whole=("Period",))
    return request


MODELS = (Alarm, CdkMetadata, DeployedLogGroup, QueryDefinition)
