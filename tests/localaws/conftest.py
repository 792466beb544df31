"""One endpoint for all tests, emptied before each, driven by boto3 as any other program would."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from headroom.localaws.daemon import LocalAws
from tests.builders import IMAGE

START = "2026-01-05T00:00:00+00:00"
QUICK = Config(retries={"mode": "standard", "total_max_attempts": 1}, read_timeout=60)


class Program:
    """A boto3 program that knows nothing of the endpoint but its URL and key."""

    def __init__(self, aws: LocalAws) -> None:
        self.aws = aws
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = boto3.client(
                service, endpoint_url=self.aws.url, region_name="us-east-1",
                config=QUICK, **self.aws.credentials,
            )  # fmt: skip
        return self._clients[service]

    def tick(self, minutes: int = 1) -> dict[str, Any]:
        return self.aws.control("tick", {"minutes": minutes})

    def volume(self, attached: bool = False, **wanted: Any) -> str:
        """A new volume, by default 100 GiB of gp3; attached to an instance of its own if asked."""
        ec2 = self.client("ec2")
        request = {"AvailabilityZone": "us-east-1a", "Size": 100, "VolumeType": "gp3", **wanted}
        volume_id = str(ec2.create_volume(**request)["VolumeId"])
        if attached:
            run = ec2.run_instances(
                ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="m6i.2xlarge"
            )
            instance = run["Instances"][0]["InstanceId"]
            ec2.attach_volume(VolumeId=volume_id, InstanceId=instance, Device="/dev/sdf")
        return volume_id

    def queue(self, name: str, **attributes: str) -> tuple[str, str]:
        """A new queue: its URL and ARN."""
        sqs = self.client("sqs")
        url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        answer = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
        return url, answer["Attributes"]["QueueArn"]

    def messages(self, url: str) -> list[str]:
        """Bodies of all visible messages, taken out of the queue."""
        sqs, found = self.client("sqs"), []
        while got := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in got:
                found.append(message["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def function(self, name: str, source: str, **wanted: Any) -> str:
        """Deploy a function whose module `handler` is `source`; its ARN."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("handler.py", source)
        iam = self.client("iam")
        try:
            role = iam.get_role(RoleName="any")["Role"]["Arn"]
        except iam.exceptions.NoSuchEntityException:
            role = iam.create_role(RoleName="any", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
            may_all = {"Effect": "Allow", "Action": "*", "Resource": "*"}
            document = json.dumps({"Version": "2012-10-17", "Statement": [may_all]})
            iam.put_role_policy(RoleName="any", PolicyName="all", PolicyDocument=document)
        return str(
            self.client("lambda").create_function(
                FunctionName=name, Role=role, Runtime="python3.13", Handler="handler.handle",
                Code={"ZipFile": buffer.getvalue()}, **{"Timeout": 10, **wanted},
            )["FunctionArn"]
        )  # fmt: skip


@pytest.fixture(scope="session")
def shared_program() -> Iterator[Program]:
    """A program at the lock-step endpoint that all tests of a process use one after the other."""
    with LocalAws(clock="lockstep", seed=7) as aws:
        yield Program(aws)


@pytest.fixture
def program(shared_program: Program) -> Program:
    """The shared program at its endpoint, which is empty and whose clock stands at START."""
    shared_program.aws.control("reset", {})
    shared_program.aws.control("clock", {"set": START})
    return shared_program


@pytest.fixture(scope="module")
def long_program() -> Iterator[Program]:
    """A program at an endpoint of the module's own, for one long run that several tests read."""
    with LocalAws(clock="lockstep", seed=7) as aws:
        aws.control("clock", {"set": START, "seed": 7})
        yield Program(aws)
