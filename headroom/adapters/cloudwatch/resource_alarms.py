"""CloudWatch alarms on single resources, which Headroom makes and removes.

An alarm belongs to a deployment if all of this is so: its description begins with the deployment's mark,
its name is that of the resource in its own dimensions, and it has no actions. So a copy under another name,
one that somebody gave an action, and one that somebody made are not the deployment's.

Source: CloudWatch API reference, PutMetricAlarm, DescribeAlarms, DeleteAlarms (2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading, writing
from headroom.adapters.events import rds as events_rds
from headroom.domain.detection import Metric, ResourceAlarm
from headroom.domain.resources import Kind
from headroom.ports import ExistingAlarms

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

MINUTES = 60
"""An alarm goes off at one minute that breaches, and not again before this many without one: once for each
time that pressure comes, like a glance an hour."""
AT_ONCE = 100
"""Alarms in one call of DeleteAlarms or one page of DescribeAlarms."""
GONE = frozenset({"ResourceNotFound", "ResourceNotFoundException"})
TAG = "headroom:made-by"
"""Its value is the prefix of the deployment's names."""
ACTIONS = ("AlarmActions", "OKActions", "InsufficientDataActions")
_METRICS: Mapping[tuple[Kind, Metric], tuple[str, str, str]] = {
    (Kind.EBS, Metric.IOPS_CHECK): ("AWS/EBS", "VolumeIOPSExceededCheck", "Maximum"),
    (Kind.EBS, Metric.THROUGHPUT_CHECK): ("AWS/EBS", "VolumeThroughputExceededCheck", "Maximum"),
    (Kind.EBS, Metric.BALANCE): ("AWS/EBS", "BurstBalance", "Minimum"),
    (Kind.EBS, Metric.QUEUE): ("AWS/EBS", "VolumeQueueLength", "Average"),
    (Kind.RDS, Metric.BALANCE): ("AWS/RDS", "BurstBalance", "Minimum"),
    (Kind.RDS, Metric.QUEUE): ("AWS/RDS", "DiskQueueDepth", "Average"),
}
"""Namespace, name and statistic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAlarm:
    """An alarm whose name begins as those of a deployment, as it is."""

    name: str
    ours: bool
    """Whether the deployment made it."""
    alarm: ResourceAlarm | None
    """None where it is not ours, or not as this release makes one."""
    state: str
    since: datetime


class CloudWatchResourceAlarms:
    """Those of one deployment in one account and Region, whose names begin with `prefix`."""

    def __init__(self, client: CloudWatchClient, *, prefix: str, deployment: str) -> None:
        self._client = client
        self._prefix = prefix
        self._deployment = deployment
        self._mark = f"Made and removed by Headroom ({deployment}): "

    def name(self, alarm: ResourceAlarm) -> str:
        """The prefix and the id of the resource."""
        return f"{self._prefix}{alarm.resource_id}"

    def existing(self) -> ExistingAlarms:
        """Those that there are, by whom they belong to."""
        found = self.found()
        return ExistingAlarms(
            made={one.name: one.alarm for one in found if one.ours},
            others=frozenset(one.name for one in found if not one.ours),
        )

    def found(self) -> tuple[FoundAlarm, ...]:
        """All alarms under the prefix with their states, of every type: types share their names."""
        with reading(f"DescribeAlarms {self._prefix}"):
            pages = self._client.get_paginator("describe_alarms").paginate(
                AlarmNamePrefix=self._prefix, AlarmTypes=["MetricAlarm", "CompositeAlarm"]
            )
            return tuple(
                self._found(one)
                for page in pages
                for one in (*page["MetricAlarms"], *page["CompositeAlarms"])
            )

    def _found(self, described: Mapping[str, Any]) -> FoundAlarm:
        ours = self._made(described)
        return FoundAlarm(
            name=described["AlarmName"], ours=ours, alarm=_alarm(described) if ours else None,
            state=described["StateValue"], since=described["StateUpdatedTimestamp"],
        )  # fmt: skip

    def _made(self, described: Mapping[str, Any]) -> bool:
        """Whether this deployment made it and nobody took it over."""
        names = {f"{self._prefix}{each['Value']}" for each in described.get("Dimensions", ())}
        return (
            str(described.get("AlarmDescription", "")).startswith(self._mark)
            and described["AlarmName"] in names
            and not any(described.get(each) for each in ACTIONS)
        )

    def put(self, alarm: ResourceAlarm) -> None:
        """Make an alarm, or replace the one of that name. Without actions: its event wakes the loop."""
        with writing(f"PutMetricAlarm {self.name(alarm)}"):
            self._client.put_metric_alarm(
                AlarmName=self.name(alarm),
                AlarmDescription=f"{self._mark}pressure on this resource was seen late",
                Tags=[{"Key": TAG, "Value": self._deployment}],
                **_settings(alarm),
            )

    def remove(self, names: Sequence[str]) -> None:
        """Remove alarms, a hundred at a time."""
        for first in range(0, len(names), AT_ONCE):
            with writing(f"DeleteAlarms {self._prefix}"):
                try:
                    self._client.delete_alarms(AlarmNames=list(names[first : first + AT_ONCE]))
                except ClientError as error:
                    if code_of(error) not in GONE:  # those that are there are deleted all the same
                        raise


def _settings(alarm: ResourceAlarm) -> dict[str, Any]:
    namespace, metric, statistic = _METRICS[alarm.kind, alarm.metric]
    lower = alarm.metric is Metric.BALANCE
    return {
        "Namespace": namespace,
        "MetricName": metric,
        "Dimensions": [{"Name": name, "Value": value} for name, value in _dimensions(alarm)],
        "Statistic": statistic,
        "Period": 60,
        "EvaluationPeriods": MINUTES,
        "DatapointsToAlarm": 1,
        "Threshold": alarm.threshold,
        "ComparisonOperator": "LessThanThreshold" if lower else "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "notBreaching",
    }


def _dimensions(alarm: ResourceAlarm) -> list[tuple[str, str]]:
    if alarm.kind is Kind.RDS:
        return [("DBInstanceIdentifier", alarm.resource_id)]
    pair = [("InstanceId", alarm.instance_id)] if alarm.instance_id else []
    return [*pair, ("VolumeId", alarm.resource_id)]


def _alarm(described: Mapping[str, Any]) -> ResourceAlarm | None:
    """The alarm in an answer of DescribeAlarms, if it is one that `put` makes."""
    key = described.get("Namespace"), described.get("MetricName"), described.get("Statistic")
    labels = {each["Name"]: each["Value"] for each in described.get("Dimensions", ())}
    for (kind, metric), names in _METRICS.items():
        if names != key:
            continue
        resource = labels.get("VolumeId") if kind is Kind.EBS else events_rds.of_dimensions(labels)
        alarm = ResourceAlarm(
            kind=kind, resource_id=resource or "", metric=metric,
            threshold=float(described.get("Threshold", 0)), instance_id=labels.get("InstanceId", ""),
        )  # fmt: skip
        expected = _settings(alarm)
        ours = {name: described.get(name) for name in expected if name != "Dimensions"}
        same = ours == {n: v for n, v in expected.items() if n != "Dimensions"}
        return alarm if same and sorted(labels.items()) == sorted(_dimensions(alarm)) else None
    return None
