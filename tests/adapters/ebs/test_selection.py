"""Which volumes are meant, each with what it hangs on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from headroom.adapters.ebs import select_volumes
from headroom.ports import ReadFailed, StorageView
from tests.builders import ACCOUNT, IMAGE, REGION

KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}


@pytest.fixture
def ec2() -> Iterator[Any]:
    with mock_aws():
        yield boto3.client("ec2", region_name=REGION, **KEYS)


def made(ec2: Any, *, attached: bool = False, **tags: str) -> str:
    created = ec2.create_volume(
        AvailabilityZone="us-east-1a",
        Size=100,
        VolumeType="gp3",
        TagSpecifications=[
            {
                "ResourceType": "volume",
                "Tags": [{"Key": k, "Value": v} for k, v in {"made": "here", **tags}.items()],
            }
        ],
    )
    name = str(created["VolumeId"])
    if attached:
        run = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType="m5.xlarge")
        ec2.attach_volume(
            VolumeId=name, InstanceId=run["Instances"][0]["InstanceId"], Device="/dev/sdf"
        )
    return name


def found(ec2: Any, **asked: Any) -> dict[str, StorageView]:
    views = select_volumes(ec2, account_id=ACCOUNT, region=REGION, **asked)
    return {view.volume.ref.resource_id: view for view in views}


def test_all_tags_must_match(ec2: Any) -> None:
    both = made(ec2, team="data", stage="prod")
    made(ec2, team="data", stage="test")
    assert [*found(ec2, tags=[("team", "data"), ("stage", "prod")])] == [both]
    assert found(ec2, tags=[("team", "nobody")]) == {}


def test_ids_and_tags_must_match_together_and_an_id_that_is_not_there_is_left_out(ec2: Any) -> None:
    one, other = made(ec2, team="data"), made(ec2, team="web")
    ids = [one, other, one, "vol-0000000000000dead"]
    assert {*found(ec2, volume_ids=ids)} == {one, other}
    assert [*found(ec2, volume_ids=ids, tags=[("team", "web")])] == [other]


def test_more_ids_than_a_filter_takes_are_asked_in_turns(ec2: Any) -> None:
    real = [made(ec2) for _ in range(3)]
    ids = [f"vol-{n:017x}" for n in range(450)]
    assert {*found(ec2, volume_ids=[real[0], *ids[:250], real[1], *ids[250:], real[2]])} == {*real}


def test_a_volume_comes_with_its_instance_and_a_detached_one_without(ec2: Any) -> None:
    hung, loose = made(ec2, attached=True), made(ec2)
    views = found(ec2, tags=[("made", "here")])
    instance = views[hung].instance
    assert instance is not None
    assert instance.instance_id == views[hung].volume.instance_ids[0]
    assert hung in instance.volume_ids
    assert instance.limits is not None
    assert instance.limits.baseline_iops == 6_000
    assert views[loose].instance is None


def test_a_refused_read_is_said_to_have_failed() -> None:
    class Denied:
        def get_paginator(self, name: str) -> Any:
            raise ClientError(
                {"Error": {"Code": "UnauthorizedOperation", "Message": "not you"}}, name
            )

    denied: Any = Denied()
    with pytest.raises(ReadFailed, match="UnauthorizedOperation: not you"):
        select_volumes(denied, account_id=ACCOUNT, region=REGION)
