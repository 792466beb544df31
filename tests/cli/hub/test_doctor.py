"""What the hub's doctor finds of the parts that store records."""

from __future__ import annotations

from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.cli.doctor.deployed import StackResource
from headroom.cli.doctor.findings import Finding
from headroom.cli.hub.doctor import _storing
from headroom.cli.main import run

REGION = "eu-central-1"
NAMES = {
    "AWS::Events::EventBus": "hub",
    "AWS::KinesisFirehose::DeliveryStream": "hub-stream",
    "AWS::S3::Bucket": "hub-records",
}


class Hub:
    """A hub's stack in moto's account, with one resource of each kind."""

    def __init__(self) -> None:
        bucket, arn = NAMES["AWS::S3::Bucket"], "arn:aws:iam::123456789012:role/hub"
        self.client("events").create_event_bus(Name="hub")
        self.client("s3").create_bucket(
            Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.client("firehose").create_delivery_stream(
            DeliveryStreamName="hub-stream",
            ExtendedS3DestinationConfiguration={
                "RoleARN": arn, "BucketARN": f"arn:aws:s3:::{bucket}",
            },
        )  # fmt: skip
        self.let_in("put")

    def let_in(self, what: str) -> None:
        events = self.client("events")
        if what == "put":
            events.put_permission(
                EventBusName="hub", StatementId="org", Action="events:PutEvents", Principal="*"
            )
        else:
            events.remove_permission(EventBusName="hub", StatementId="org")

    def client(self, service: str) -> Any:
        return boto3.client(service, region_name=REGION)  # type: ignore[call-overload]

    def of(self, kind: str) -> list[StackResource]:
        return [StackResource(logical=kind, kind=kind, physical=NAMES[kind])]


BROKEN = {
    "the bus hub has no policy: no other account may forward events": lambda hub: hub.let_in("no"),
    "the bus hub was deleted": lambda hub: hub.client("events").delete_event_bus(Name="hub"),
    "the stream hub-stream is missing: no record is stored": lambda hub: hub.client(
        "firehose"
    ).delete_delivery_stream(DeliveryStreamName="hub-stream"),
    "the bucket hub-records was deleted: no record is stored": lambda hub: hub.client(
        "s3"
    ).delete_bucket(Bucket="hub-records"),
}


@mock_aws
def _problems(problem: str | None) -> list[str]:
    hub = Hub()
    if problem is not None:
        BROKEN[problem](hub)
    return [found.problem for found in _storing(hub) if isinstance(found, Finding)]  # type: ignore[arg-type]


@pytest.mark.parametrize("problem", [None, *BROKEN])
def test_each_missing_part_of_the_store_is_one_finding(problem: str | None) -> None:
    assert _problems(problem) == ([] if problem is None else [problem])


@mock_aws
def test_without_a_hub_nothing_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["hub", "doctor", "--region", REGION]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "There is no stack HeadroomHub in eu-central-1" in said.err
    assert "deploy a hub there" in said.err
