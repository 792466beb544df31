"""CloudFormation creates the same volumes as CreateVolume."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.localaws.cloudformation.test_stacks import deploy
from tests.localaws.conftest import Program

BASE = {"AvailabilityZone": "us-east-1a", "Size": 100, "VolumeType": "gp3"}


def volume(**properties: Any) -> dict[str, Any]:
    return {"Vol": {"Type": "AWS::EC2::Volume", "Properties": {**BASE, **properties}}}


def made(program: Program, name: str) -> dict[str, Any]:
    resource = program.client("cloudformation").describe_stack_resource(
        StackName=name, LogicalResourceId="Vol"
    )["StackResourceDetail"]
    answer: dict[str, Any] = program.client("ec2").describe_volumes(
        VolumeIds=[resource["PhysicalResourceId"]]
    )["Volumes"][0]
    return answer


def test_a_volume_has_what_its_template_says(program: Program) -> None:
    tags = [{"Key": "headroom", "Value": "managed"}]
    outputs = {"Id": {"Value": {"Fn::GetAtt": ["Vol", "VolumeId"]}}}
    resources = volume(Iops=4_000, Throughput="250", Tags=tags)
    answer = deploy(program, "one-volume", resources, Outputs=outputs)
    assert answer["StackStatus"] == "CREATE_COMPLETE", answer.get("StackStatusReason")
    found = made(program, "one-volume")
    assert found["VolumeId"] == answer["Outputs"][0]["OutputValue"]
    assert (found["VolumeType"], found["Size"]) == ("gp3", 100)
    assert (found["Iops"], found["Throughput"], found["Tags"]) == (4_000, 250, tags)


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"Size": 10, "Iops": 90_000}, "too high"),
        ({"VolumeType": "gp2", "Throughput": 250}, "throughput is not supported"),
        ({"OutpostArn": "arn:aws:outposts:x"}, "OutpostArn of AWS::EC2::Volume is not supported"),
        ({"AvailabilityZone": "us-east-1q"}, "us-east-1q"),
    ],
)
def test_a_volume_aws_would_not_make_fails_the_stack(
    program: Program, properties: dict[str, Any], words: str
) -> None:
    name = "no-volume"
    answer = deploy(program, name, volume(**properties))
    assert answer["StackStatus"] == "ROLLBACK_COMPLETE"
    assert words in answer["StackStatusReason"]


def test_an_updated_volume_is_modified_in_place(program: Program) -> None:
    deploy(program, "changing", volume(Tags=[{"Key": "a", "Value": "1"}]))
    before = made(program, "changing")
    changed = volume(Iops=5_000, Tags=[{"Key": "b", "Value": "2"}])
    program.client("cloudformation").update_stack(
        StackName="changing", TemplateBody=json.dumps({"Resources": changed})
    )
    program.tick(2)
    after = made(program, "changing")
    assert after["VolumeId"] == before["VolumeId"]
    assert (after["Iops"], after["Tags"]) == (5_000, [{"Key": "b", "Value": "2"}])
    program.client("cloudformation").delete_stack(StackName="changing")
    left = program.client("ec2").describe_volumes()["Volumes"]
    assert before["VolumeId"] not in [v["VolumeId"] for v in left]


def test_a_volume_can_leave_a_snapshot_behind(program: Program) -> None:
    resources = volume()
    resources["Vol"]["DeletionPolicy"] = "Snapshot"
    deploy(program, "snapshotted", resources)
    volume_id = made(program, "snapshotted")["VolumeId"]
    program.client("cloudformation").delete_stack(StackName="snapshotted")
    answer = program.client("ec2").describe_snapshots(
        Filters=[{"Name": "description", "Values": [f"Left by CloudFormation of {volume_id}"]}]
    )["Snapshots"]
    assert [s["VolumeSize"] for s in answer] == [100]
