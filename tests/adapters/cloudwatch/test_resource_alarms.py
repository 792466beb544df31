"""Alarms on single resources in CloudWatch: what is made is found again, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from headroom.domain.detection import Metric, ResourceAlarm
from headroom.domain.resources import Kind
from tests.builders import REGION

CHECK = ResourceAlarm(
    kind=Kind.EBS, resource_id="vol-1", metric=Metric.IOPS_CHECK, threshold=1.0, instance_id="i-1"
)  # fmt: skip
ALARMS = (
    CHECK,
    replace(CHECK, resource_id="vol-2", metric=Metric.THROUGHPUT_CHECK),
    ResourceAlarm(kind=Kind.EBS, resource_id="vol-3", metric=Metric.BALANCE, threshold=70.0),
    ResourceAlarm(kind=Kind.EBS, resource_id="vol-4", metric=Metric.QUEUE, threshold=32.0),
    ResourceAlarm(kind=Kind.RDS, resource_id="billing", metric=Metric.BALANCE, threshold=70.0),
    ResourceAlarm(kind=Kind.RDS, resource_id="sales", metric=Metric.QUEUE, threshold=24.0),
)
PREFIX = "headroom-detect-resource-"


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("cloudwatch", region_name=REGION)


@pytest.fixture
def alarms(client: Any) -> CloudWatchResourceAlarms:
    return CloudWatchResourceAlarms(client, prefix=PREFIX, deployment="headroom")


def test_alarms_are_found_as_they_were_made_however_often(alarms: CloudWatchResourceAlarms) -> None:
    for alarm in (*ALARMS, *ALARMS):
        alarms.put(alarm)
    assert alarms.existing() == {f"{PREFIX}{one.resource_id}": one for one in ALARMS}
    changed = replace(CHECK, instance_id="i-2")
    alarms.put(changed)
    assert alarms.existing()[f"{PREFIX}vol-1"] == changed
    alarms.remove([f"{PREFIX}vol-1", f"{PREFIX}vol-0"])
    assert set(alarms.existing()) == {f"{PREFIX}{one.resource_id}" for one in ALARMS[1:]}


def test_an_alarm_has_no_actions_and_says_whose_it_is(
    alarms: CloudWatchResourceAlarms, client: Any
) -> None:
    alarms.put(CHECK)
    (told,) = client.describe_alarms()["MetricAlarms"]
    assert not told.get("AlarmActions")
    assert (told["DatapointsToAlarm"], told["EvaluationPeriods"], told["Period"]) == (1, 60, 60)
    tags = client.list_tags_for_resource(ResourceARN=told["AlarmArn"])["Tags"]
    assert tags == [{"Key": "headroom:made-by", "Value": "headroom"}]


def test_alarms_of_others_are_not_found(alarms: CloudWatchResourceAlarms, client: Any) -> None:
    """Neither under another name, nor under ours without our mark; one that was changed is no plan's."""
    alarms.put(CHECK)
    (told,) = client.describe_alarms()["MetricAlarms"]
    same = {name: told[name] for name in (
        "MetricName", "Namespace", "Dimensions", "Statistic", "Period", "EvaluationPeriods",
        "DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData")}  # fmt: skip
    client.put_metric_alarm(
        AlarmName="headroom-detect-mine", AlarmDescription=told["AlarmDescription"], **same
    )
    client.put_metric_alarm(AlarmName=f"{PREFIX}mine", AlarmDescription="Mine", **same)
    client.put_metric_alarm(AlarmName=f"{PREFIX}vol-1", AlarmDescription=told["AlarmDescription"],
                            **{**same, "Period": 300})  # fmt: skip
    assert alarms.existing() == {f"{PREFIX}vol-1": None}
