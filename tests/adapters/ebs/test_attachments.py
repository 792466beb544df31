"""The volumes of one instance, for sets that are changed together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.ebs.storage import IDS_AT_ONCE
from headroom.ports import ReadFailed
from tests.adapters.ebs.test_storage import FAST, KEYS, Ec2, attached, change, shape
from tests.builders import ACCOUNT, NOW, REGION

ON_IT = {"Filters": [{"Name": "attachment.instance-id", "Values": ["i-1"]}]}


@pytest.fixture
def ec2() -> Iterator[Ec2]:
    client = boto3.client("ec2", region_name=REGION, config=FAST, **KEYS)
    with Stubber(client) as stub:
        yield Ec2(EbsStorage(client, account_id=ACCOUNT, region=REGION), stub)
        stub.assert_no_pending_responses()


def on_it(name: str, **changes: Any) -> dict[str, Any]:
    return shape(VolumeId=name, **{"Attachments": [attached()], **changes})


def says(ec2: Ec2, *volumes: dict[str, Any], modified: list[dict[str, object]]) -> None:
    ec2.stub.add_response("describe_volumes", {"Volumes": list(volumes)}, ON_IT)
    ids = [v["VolumeId"] for v in volumes if v["State"] != "deleting"]
    asked = {"Filters": [{"Name": "volume-id", "Values": ids}]}
    ec2.stub.add_response(
        "describe_volumes_modifications", {"VolumesModifications": modified}, asked
    )
    reservation = {"Instances": [{"InstanceId": "i-1", "InstanceType": "m6i.large"}]}
    ec2.stub.add_response("describe_instances", {"Reservations": [reservation]})
    ec2.stub.add_response("describe_instance_types", {"InstanceTypes": []})


def test_all_volumes_of_an_instance_come_with_their_latest_modification_and_with_it(
    ec2: Ec2,
) -> None:
    tags = [{"Key": "headroom:group", "Value": "data"}]
    latest = change(VolumeId="vol-2", StartTime=NOW)
    says(
        ec2, on_it("vol-1", Tags=tags), on_it("vol-2"), on_it("vol-3", State="deleting"),
        modified=[change(VolumeId="vol-2", StartTime=NOW - timedelta(days=2)), latest],
    )  # fmt: skip
    one, two = ec2.storage.attached("i-1")
    assert (one.volume.ref.resource_id, one.modification) == ("vol-1", None)
    assert one.volume.tag("headroom:group") == "data"
    assert two.modification is not None
    assert two.modification.started_at == NOW
    assert one.instance is not None
    assert one.instance.instance_id == "i-1"


def test_a_volume_of_two_instances_comes_without_either(ec2: Ec2) -> None:
    says(ec2, on_it("vol-1", Attachments=[attached(), attached("i-2")]), modified=[])
    (one,) = ec2.storage.attached("i-1")
    assert one.instance is None
    assert one.volume.instance_ids == ("i-1", "i-2")


def test_an_instance_without_volumes_has_none_and_nothing_more_is_asked(ec2: Ec2) -> None:
    ec2.stub.add_response("describe_volumes", {"Volumes": []}, ON_IT)
    assert ec2.storage.attached("i-1") == ()


@pytest.mark.parametrize(
    "unclear", [{"VolumeType": "gp9"}, {"VolumeType": "io2", "Iops": 0}, {"CreateTime": None}]
)
def test_a_volume_that_is_not_understood_fails_the_whole_answer(
    ec2: Ec2, unclear: dict[str, Any]
) -> None:
    described = {k: v for k, v in on_it("vol-2", **unclear).items() if v is not None}
    ec2.stub.add_response("describe_volumes", {"Volumes": [on_it("vol-1"), described]}, ON_IT)
    with pytest.raises(ReadFailed, match="vol-2"):
        ec2.storage.attached("i-1")


def test_a_modification_that_is_not_understood_is_one_in_flight(ec2: Ec2) -> None:
    says(ec2, on_it("vol-1"), modified=[change(TargetVolumeType="gp9")])
    (one,) = ec2.storage.attached("i-1")
    assert one.modification is not None
    assert one.modification.in_flight


def test_more_volumes_than_a_filter_takes_are_asked_about_in_parts(ec2: Ec2) -> None:
    names = [f"vol-{n}" for n in range(IDS_AT_ONCE + 1)]
    ec2.stub.add_response("describe_volumes", {"Volumes": [on_it(name) for name in names]}, ON_IT)
    for part in (names[:IDS_AT_ONCE], names[IDS_AT_ONCE:]):
        asked = {"Filters": [{"Name": "volume-id", "Values": part}]}
        ec2.stub.add_response("describe_volumes_modifications", {"VolumesModifications": []}, asked)
    ec2.stub.add_response("describe_instances", {"Reservations": []})
    assert len(ec2.storage.attached("i-1")) == len(names)


def test_an_answer_that_fails_is_a_read_that_failed(ec2: Ec2) -> None:
    ec2.stub.add_client_error("describe_volumes", "RequestLimitExceeded", "slow down", 503)
    with pytest.raises(ReadFailed, match="DescribeVolumes of i-1"):
        ec2.storage.attached("i-1")
