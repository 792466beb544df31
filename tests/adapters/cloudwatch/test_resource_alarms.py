"""Alarms on single resources in CloudWatch: what is made is found again, and what others made is left alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from headroom.application.alarms import AlarmsReport, apply_alarm_plan, plan_alarms
from headroom.domain.detection import Candidate, Metric, ResourceAlarm
from headroom.domain.resources import Kind
from headroom.ports import ExistingAlarms
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION

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
SETTINGS = ("AlarmName", "AlarmDescription", "MetricName", "Namespace", "Dimensions", "Statistic", "Period",
            "EvaluationPeriods", "DatapointsToAlarm", "Threshold", "ComparisonOperator", "TreatMissingData")  # fmt: skip


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
    made = {f"{PREFIX}{one.resource_id}": one for one in ALARMS}
    assert alarms.existing() == ExistingAlarms(made=made)
    changed = replace(CHECK, instance_id="i-2")
    alarms.put(changed)
    assert alarms.existing().made[f"{PREFIX}vol-1"] == changed
    alarms.remove([f"{PREFIX}vol-1", f"{PREFIX}vol-0"])
    assert set(alarms.existing().made) == {f"{PREFIX}{one.resource_id}" for one in ALARMS[1:]}


def test_an_alarm_has_no_actions_and_says_whose_it_is(
    alarms: CloudWatchResourceAlarms, client: Any
) -> None:
    alarms.put(CHECK)
    (alarm,) = client.describe_alarms()["MetricAlarms"]
    assert not alarm.get("AlarmActions")
    assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"], alarm["Period"]) == (1, 60, 60)
    tags = client.list_tags_for_resource(ResourceARN=alarm["AlarmArn"])["Tags"]
    assert tags == [{"Key": "headroom:made-by", "Value": "headroom"}]


OTHERS: dict[str, dict[str, Any]] = {
    "described by somebody": {"AlarmDescription": "Mine"},
    "without a description": {"AlarmDescription": ""},
    "of another deployment": {"AlarmDescription": "Made and removed by Headroom (blue): pressure"},
    "with an action of somebody": {"AlarmActions": ["arn:aws:sns:us-east-1:123456789012:pager"]},
    "with an action at its end": {"OKActions": ["arn:aws:sns:us-east-1:123456789012:pager"]},
    "on another volume": {"Dimensions": [{"Name": "VolumeId", "Value": "vol-9"}]},
    "a copy": {"AlarmName": f"{PREFIX}vol-1-copy"},
}


def settings_of(client: Any, name: str) -> dict[str, Any]:
    """What PutMetricAlarm was given for an alarm."""
    (made,) = client.describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return {name: made[name] for name in SETTINGS}


def like_ours(alarms: CloudWatchResourceAlarms, client: Any, **changes: Any) -> None:
    """An alarm as `put` makes it, but for some settings."""
    alarms.put(CHECK)
    made = settings_of(client, alarms.name(CHECK))
    alarms.remove([made["AlarmName"]])
    client.put_metric_alarm(**made | changes)


def applied(client: Any, *, planned: bool) -> AlarmsReport:
    """What a dispatcher does, with an alarm on vol-1 planned or none at all."""
    ledger = InMemoryLedger(account_id=ACCOUNT, region=REGION)
    if planned:
        seen = [Candidate(kind=Kind.EBS, resource_id="vol-1", alarm=CHECK, score=1.0)]
        plan_alarms(ledger, seen, NOW, budget_usd=2, scanned=None)
    alarms = CloudWatchResourceAlarms(client, prefix=PREFIX, deployment="headroom")
    return apply_alarm_plan(ledger, alarms, NOW, budget_usd=2)


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("changes", OTHERS.values(), ids=list(OTHERS))
def test_an_alarm_of_somebody_else_is_neither_replaced_nor_removed(
    alarms: CloudWatchResourceAlarms, client: Any, changes: dict[str, Any], planned: bool
) -> None:
    like_ours(alarms, client, **changes)
    (before,) = client.describe_alarms()["MetricAlarms"]
    report = applied(client, planned=planned)
    assert before in client.describe_alarms()["MetricAlarms"]
    assert (report.removed, report.error) == ([], None)
    same_name = planned and before["AlarmName"] == f"{PREFIX}vol-1"
    assert report.taken == ([before["AlarmName"]] if same_name else [])
    assert report.made == ([f"{PREFIX}vol-1"] if planned and not same_name else [])


def test_a_composite_alarm_of_that_name_is_somebody_elses(client: Any) -> None:
    composite = {"AlarmName": f"{PREFIX}vol-1", "StateValue": "OK", "StateUpdatedTimestamp": NOW}
    with Stubber(client) as stubber:  # moto makes none, and any other call fails
        stubber.add_response(
            "describe_alarms", {"MetricAlarms": [], "CompositeAlarms": [composite]},
            {"AlarmNamePrefix": PREFIX, "AlarmTypes": ["MetricAlarm", "CompositeAlarm"]},
        )  # fmt: skip
        report = applied(client, planned=True)
    assert (report.taken, report.made, report.error) == ([f"{PREFIX}vol-1"], [], None)


def test_ours_is_made_again_where_somebody_changed_it_and_removed_where_it_is_not_planned(
    alarms: CloudWatchResourceAlarms, client: Any
) -> None:
    like_ours(alarms, client, Period=300)
    client.put_metric_alarm(
        **settings_of(client, f"{PREFIX}vol-1") | {"AlarmName": "headroom-detect-mine"}
    )
    assert alarms.existing() == ExistingAlarms(made={f"{PREFIX}vol-1": None})
    assert applied(client, planned=True).made == [f"{PREFIX}vol-1"]
    assert alarms.existing() == ExistingAlarms(made={f"{PREFIX}vol-1": CHECK})
    assert applied(client, planned=False).removed == [f"{PREFIX}vol-1"]
    assert [one["AlarmName"] for one in client.describe_alarms()["MetricAlarms"]] == [
        "headroom-detect-mine"
    ]
