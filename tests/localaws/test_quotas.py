"""Request quotas: what is beyond them is refused as AWS refuses it, and nothing else is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from headroom.localaws.daemon import LocalAws
from headroom.localaws.quotas.buckets import Bucket
from tests.localaws.conftest import START, Program

NOW = datetime.fromisoformat("2026-01-05T00:00:00+00:00")
ONCE = Config(retries={"total_max_attempts": 1})
THROTTLED = {"ThrottlingException", "RequestLimitExceeded"}
SELECT = 'SELECT MAX("VolumeIOPSExceededCheck") FROM "AWS/EBS"'


@pytest.fixture(scope="module")
def limited() -> Iterator[LocalAws]:
    with LocalAws(clock="lockstep", seed=7, quotas=True) as aws:
        yield aws


def client(aws: LocalAws, service: str, region: str = "us-east-1") -> Any:
    return boto3.client(
        service, endpoint_url=aws.url, region_name=region, config=ONCE, **aws.credentials
    )


def test_a_bucket_holds_a_burst_and_regains_what_its_rate_gives() -> None:
    bucket = Bucket(3.0, 1.0, tokens=3.0, at=0.0, clock=NOW)
    assert [bucket.take(0.0, NOW) for _ in range(4)] == [True, True, True, False]
    assert [bucket.take(2.0, NOW) for _ in range(3)] == [True, True, False], "by real time"
    minute = NOW + timedelta(minutes=1)
    assert [bucket.take(2.0, minute) for _ in range(4)] == [True, True, True, False], "by the clock"


def codes(call: Callable[[], Any], most: int) -> list[str]:
    """What AWS answers to the same request from eight threads, until one is throttled."""

    def answer(_: int) -> str:
        try:
            call()
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "OK"

    found: list[str] = []
    with ThreadPoolExecutor(max_workers=8) as pool:
        while len(found) < most and not THROTTLED & set(found):
            found += pool.map(answer, range(16))
    return found


def test_what_is_beyond_three_a_second_is_refused_until_time_has_passed(limited: LocalAws) -> None:
    cloudwatch = client(limited, "cloudwatch")
    limited.control("clock", {"set": START})

    def change() -> None:
        cloudwatch.set_alarm_state(AlarmName="none", StateValue="OK", StateReason="test")

    assert set(codes(change, 160)) == {"ResourceNotFound", "ThrottlingException"}
    refused = limited.control("quotas")["refused"]["123456789012/us-east-1"]
    assert refused["cloudwatch:SetAlarmState"] > 0
    limited.control("tick", {"minutes": 1})
    with pytest.raises(ClientError, match="ResourceNotFound"):
        change()


def test_changes_of_volumes_are_refused_long_before_reads(limited: LocalAws) -> None:
    ec2 = client(limited, "ec2")
    found = codes(lambda: ec2.modify_volume(VolumeId="vol-0123456789abcdef0", Size=9), 800)
    assert set(found[:48]) == {"InvalidVolume.NotFound"}, "a burst is let through"
    assert "RequestLimitExceeded" in found
    assert ec2.describe_volumes()["Volumes"] == [], "each API has its own bucket"
    assert client(limited, "ec2", "eu-west-1").describe_volumes()["Volumes"] == []


def test_metrics_insights_has_a_bucket_of_its_own(limited: LocalAws) -> None:
    cloudwatch = client(limited, "cloudwatch")

    def ask(**query: Any) -> None:
        cloudwatch.get_metric_data(
            MetricDataQueries=[{"Id": "q", **query}], StartTime=START,
            EndTime="2026-01-05T01:00:00+00:00",
        )  # fmt: skip

    assert "ThrottlingException" in codes(lambda: ask(Expression=SELECT, Period=60), 800)
    metric = {"Namespace": "AWS/EBS", "MetricName": "VolumeReadOps"}
    ask(MetricStat={"Metric": metric, "Period": 60, "Stat": "Sum"})


def test_nothing_is_refused_where_nobody_asked_for_quotas(program: Program) -> None:
    for _ in range(12):
        program.client("cloudwatch").describe_alarms()
    assert program.aws.control("quotas") == {"enforced": False, "refused": {}}
