"""`headroom alarms` lists the alarms on single resources, and removes those of one deployment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchResourceAlarms
from headroom.cli.main import run
from headroom.settings import Names
from tests.adapters.cloudwatch.test_resource_alarms import CHECK, like_ours
from tests.builders import ACCOUNT, REGION


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """CloudWatch with an alarm of each of two deployments."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        found = boto3.client("cloudwatch", region_name=REGION)
        for prefix in ("headroom", "blue"):
            CloudWatchResourceAlarms(
                found, prefix=Names(prefix).resource_alarms, deployment=prefix
            ).put(CHECK)
        yield found


def test_the_alarms_of_a_deployment_are_listed_with_what_they_cost(
    client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["alarms", "--region", REGION]) == 0
    text = capsys.readouterr().out
    assert "headroom-detect-resource-vol-1" in text
    assert "iops check 1" in text
    assert f"1 alarm in {REGION} of {ACCOUNT}, $0.10 a month." in text
    assert "blue" not in text


def test_they_are_removed_and_those_of_others_stay(
    client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["alarms", "--remove", "--prefix", "blue", "--json", "--region", REGION]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["removed"] is True
    assert [one["resource"] for one in result["alarms"]] == ["vol-1"]
    left = [one["AlarmName"] for one in client.describe_alarms()["MetricAlarms"]]
    assert left == ["headroom-detect-resource-vol-1"]


def test_an_alarm_to_which_somebody_gave_an_action_is_named_and_stays(
    client: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    like_ours(
        CloudWatchResourceAlarms(
            client, prefix=Names("green").resource_alarms, deployment="green"
        ), client, AlarmActions=["arn:aws:sns:us-east-1:123456789012:pager"],
    )  # fmt: skip
    assert run(["alarms", "--remove", "--prefix", "green", "--region", REGION]) == 0
    text = capsys.readouterr().out
    assert f"0 alarms in {REGION} of {ACCOUNT}, $0.00 a month." in text
    assert "Not made by Headroom, and left alone: green-detect-resource-vol-1." in text
    left = {one["AlarmName"] for one in client.describe_alarms()["MetricAlarms"]}
    assert "green-detect-resource-vol-1" in left


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("DeleteAlarms", "The alarms cannot be changed: DeleteAlarms headroom-detect-resource-"),
        ("DescribeAlarms", "The alarms cannot be read: DescribeAlarms headroom-detect-resource-"),
    ],
)
def test_what_failed_is_named_as_a_read_or_a_change(
    client: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    call: str, said: str,
) -> None:  # fmt: skip
    answer = BaseClient._make_api_call

    def denied(self: Any, operation: str, given: Any) -> Any:
        if operation == call:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, operation)
        return answer(self, operation, given)

    monkeypatch.setattr(BaseClient, "_make_api_call", denied)
    assert run(["alarms", "--remove", "--region", REGION]) == 1
    assert said in capsys.readouterr().err
