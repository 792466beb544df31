"""What a deployment leaves behind, on moto: tables, policy, topic, a starving volume, a clock.

moto proves shapes and the way through, and nothing about AWS's rules.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any

import boto3
import pytest
from aws_lambda_powertools import Metrics
from moto import mock_aws
from moto.cloudwatch.models import CloudWatchBackend

from headroom import clock, wiring
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.domain.state import EventRecord
from headroom.policy import canonical_json, default_policy
from headroom.settings import FunctionSettings
from tests.adapters.prices.recorded_offers import RecordedPriceList
from tests.builders import ACCOUNT, IMAGE, NOW, REGION

ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:headroom"
LISTED = RecordedPriceList()
"""One for all tests, because functions of one name share their clients."""
HOUR = timedelta(hours=1)
QUEUE_URL = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/work"


@dataclass
class Context:
    """What Lambda hands to a handler."""

    invoked_function_arn: str = ARN
    function_name: str = "headroom"
    memory_limit_in_mb: int = 512
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


@dataclass
class Deployment:
    """Handles on everything that the functions work with."""

    session: boto3.Session
    settings: FunctionSettings
    set_clock: Callable[[datetime], None]
    listed: RecordedPriceList
    """What a function of a name of its own asks for prices; those of ARN may remember some."""

    def client(self, service: str) -> Any:
        return self.session.client(service)  # type: ignore[call-overload]

    def publish_policy(self, text: str) -> None:
        self.client("ssm").put_parameter(
            Name=self.settings.policy_parameter, Value=text, Type="String", Overwrite=True
        )

    def volume(self, *, mode: str | None = "auto") -> str:
        """A gp3 volume on an instance with room to spare; its id."""
        ec2 = self.client("ec2")
        ran = ec2.run_instances(ImageId=IMAGE, InstanceType="m5.4xlarge", MinCount=1, MaxCount=1)
        machine = ran["Instances"][0]
        tags = [] if mode is None else [{"Key": "headroom", "Value": mode}]
        made = ec2.create_volume(
            AvailabilityZone=machine["Placement"]["AvailabilityZone"],
            Size=100,
            VolumeType="gp3",
            Iops=3000,
            Throughput=125,
            **({"TagSpecifications": [{"ResourceType": "volume", "Tags": tags}]} if tags else {}),
        )
        volume_id = str(made["VolumeId"])
        ec2.attach_volume(VolumeId=volume_id, InstanceId=machine["InstanceId"], Device="/dev/sdf")
        return volume_id

    def starve(self, volume_id: str) -> None:
        """Half an hour of 1,500 IOPS, then half an hour at the limit of 3,000 with a queue."""
        ec2 = self.client("ec2")
        (volume,) = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
        alone = {"VolumeId": volume_id}
        pair = alone | {"InstanceId": volume["Attachments"][0]["InstanceId"]}
        data: list[dict[str, Any]] = []
        for i in range(60):
            full = i >= 30
            ops = 3000 * 60 if full else 1500 * 60
            values: list[tuple[str, Mapping[str, str], float]] = [
                ("VolumeReadOps", alone, ops / 2),
                ("VolumeWriteOps", alone, ops / 2),
                ("VolumeReadBytes", alone, ops / 2 * 16_384),
                ("VolumeWriteBytes", alone, ops / 2 * 16_384),
                ("VolumeTotalReadTime", alone, ops / 2 * (0.2 if full else 0.001)),
                ("VolumeTotalWriteTime", alone, ops / 2 * (0.2 if full else 0.001)),
                ("VolumeQueueLength", alone, 900 + 3 * i if full else 1),
                ("VolumeIOPSExceededCheck", pair, float(full)),
                ("VolumeThroughputExceededCheck", pair, 0),
            ]
            data += [
                {
                    "MetricName": metric,
                    "Dimensions": [{"Name": k, "Value": v} for k, v in dimensions.items()],
                    "Timestamp": NOW - timedelta(minutes=60 - i),
                    "Value": value,
                }
                for metric, dimensions, value in values
            ]
        self.client("cloudwatch").put_metric_data(Namespace="AWS/EBS", MetricData=data)

    def received(self) -> list[dict[str, Any]]:
        """Up to ten messages of the work queue, as a worker gets them; taken off the queue."""
        sqs = self.client("sqs")
        answer = sqs.receive_message(QueueUrl=QUEUE_URL, MaxNumberOfMessages=10)
        found = answer.get("Messages", [])
        for one in found:
            sqs.delete_message(QueueUrl=QUEUE_URL, ReceiptHandle=one["ReceiptHandle"])
        return [
            {
                "messageId": one["MessageId"],
                "receiptHandle": one["ReceiptHandle"],
                "body": one["Body"],
            }
            for one in found
        ]

    def iops_of(self, volume_id: str) -> int:
        found = self.client("ec2").describe_volumes(VolumeIds=[volume_id])["Volumes"]
        return int(found[0]["Iops"])

    def steps(self) -> list[str]:
        """The step of every record there is, sorted."""
        archive = wiring.begin(ARN).ports.archive
        day = timedelta(days=1)
        return sorted(r.step.value for r in archive.by_time(since=NOW - day, until=NOW + day))

    def events(self) -> dict[str, EventRecord]:
        """The record of every event there is, by its id; fails where an id has two."""
        archive, day = wiring.begin(ARN).ports.archive, timedelta(days=1)
        found = list(archive.event_records(since=NOW - day, until=NOW + day))
        by_id = {record.event.event_id: record for record in found}
        assert len(by_id) == len(found)
        return by_id


@pytest.fixture(scope="session")
def session() -> boto3.Session:
    """One for all tests: reading AWS's service models is most of the time a client takes."""
    return boto3.Session("testing", "testing", region_name=REGION)


@pytest.fixture(autouse=True)
def only_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """moto looks through all datapoints for each period asked for; spare it those before the first."""
    answer = CloudWatchBackend.get_metric_data

    def from_first(self: CloudWatchBackend, start_time: datetime, **asked: Any) -> Any:
        first = min((datum.timestamp for datum in self.metric_data), default=start_time)
        empty = max(timedelta(), first - start_time) // HOUR
        return answer(self, start_time=start_time + empty * HOUR, **asked)

    monkeypatch.setattr(CloudWatchBackend, "get_metric_data", from_first)


@pytest.fixture
def deployment(session: boto3.Session, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deployment]:
    settings = FunctionSettings(
        records_table="records",
        state_table="state",
        policy_parameter="/headroom/policy",
        topic_arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:headroom",
        queue_url=QUEUE_URL,
    )
    environment = settings.to_environment() | {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(clock, "utc_now", lambda: NOW)
    LISTED.begin_again()
    Metrics().clear_metrics()  # of a test before, whose function did not end
    monkeypatch.setattr(wiring, "price_list_from", lambda *_, **__: LISTED.price_list())
    with mock_aws():
        dynamodb = session.client("dynamodb")
        dynamodb.create_table(**create_table(RECORDS, settings.records_table))
        dynamodb.create_table(**create_table(STATE, settings.state_table))
        session.client("sns").create_topic(Name="headroom")
        session.client("sqs").create_queue(QueueName="work")
        deployed = Deployment(
            session,
            settings,
            lambda now: monkeypatch.setattr(clock, "utc_now", lambda: now),
            LISTED,
        )
        deployed.publish_policy(canonical_json(default_policy()))
        yield deployed


@pytest.fixture
def function(deployment: Deployment) -> Callable[[str], ModuleType]:
    """A module of `lambdas`, loaded as a cold start loads it: after its environment is there."""
    return lambda name: importlib.reload(importlib.import_module(f"lambdas.{name}"))


@pytest.fixture
def sweep(
    deployment: Deployment, function: Callable[[str], ModuleType]
) -> Callable[..., dict[str, Any]]:
    """Runs the dispatcher, then workers until the queue is empty; what the dispatcher returned."""
    dispatcher, worker = function("sweep"), function("signals")

    def run(context: Context | None = None) -> dict[str, Any]:
        result: dict[str, Any] = dispatcher.handler({}, context or Context())
        for _ in range(20):
            if not (records := deployment.received()):
                break
            worker.handler({"Records": records}, context or Context())
        return result

    return run


def emitted(out: str) -> dict[str, float]:
    """The metrics in what a function printed, in CloudWatch's embedded format."""
    found: dict[str, float] = {}
    for line in out.splitlines():
        said = json.loads(line)
        if "_aws" not in said:
            continue
        directive = said["_aws"]["CloudWatchMetrics"][0]
        assert directive["Namespace"] == "Headroom"
        assert directive["Dimensions"] == [["service"]]
        assert said["service"] == "headroom"
        for metric in directive["Metrics"]:
            values = said[metric["Name"]]
            total = sum(values) if isinstance(values, list) else values
            found[metric["Name"]] = found.get(metric["Name"], 0) + total
    return found
