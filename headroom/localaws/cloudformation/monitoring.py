"""Alarms, dashboards-to-be and what has no effect here."""

from __future__ import annotations

from typing import Any

from headroom.localaws.cloudformation.model import LocalResource
from headroom.localaws.cloudwatch import alarm_store
from headroom.localaws.state import current_cloud

_WHOLE = ("EvaluationPeriods", "DatapointsToAlarm", "Period")
_TRUTHS = {"true": True, "false": False}


class Alarm(LocalResource):
    """AWS::CloudWatch::Alarm with all its properties."""

    kind = "AWS::CloudWatch::Alarm"
    name_property = "AlarmName"
    attributes = ("Arn",)

    def make(self) -> None:
        request: dict[str, Any] = {**self.properties, "AlarmName": self.name}
        for name in _WHOLE:
            if request.get(name) is not None:
                request[name] = int(request[name])
        if request.get("Threshold") is not None:
            request["Threshold"] = float(request["Threshold"])
        if "ActionsEnabled" in request:
            request["ActionsEnabled"] = _truth(request["ActionsEnabled"])
        if request.get("Metrics"):
            request["Metrics"] = [_query(query) for query in request["Metrics"]]
        alarm = alarm_store(current_cloud(), self.account_region).put(request)
        self.values["Arn"] = alarm.arn

    def remove_resource(self) -> None:
        alarm_store(current_cloud(), self.account_region).delete([self.name])


class WithoutEffect(LocalResource):
    """A resource that changes nothing at run time."""

    def make(self) -> None:
        self.values = {}


class CdkMetadata(WithoutEffect):
    """AWS::CDK::Metadata."""

    kind = "AWS::CDK::Metadata"


class QueryDefinition(WithoutEffect):
    """AWS::Logs::QueryDefinition: saved queries are not run here."""

    kind = "AWS::Logs::QueryDefinition"
    name_property = "Name"


def _query(query: dict[str, Any]) -> dict[str, Any]:
    told = dict(query)
    if "ReturnData" in told:
        told["ReturnData"] = _truth(told["ReturnData"])
    if told.get("Period") is not None:
        told["Period"] = int(told["Period"])
    if told.get("MetricStat"):
        told["MetricStat"] = {**told["MetricStat"], "Period": int(told["MetricStat"]["Period"])}
    return told


def _truth(value: Any) -> bool:
    return _TRUTHS[value.lower()] if isinstance(value, str) else bool(value)


MODELS = (Alarm, CdkMetadata, QueryDefinition)
