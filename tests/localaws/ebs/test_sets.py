"""A volume group is found by the attachments that the endpoint reports."""

from __future__ import annotations

from headroom.adapters.ebs import EbsStorage
from headroom.domain.planning import group_of
from headroom.domain.policy import Policy
from tests.builders import ACCOUNT, REGION
from tests.localaws.conftest import Program


def test_a_set_is_found_on_its_instance_and_nowhere_else(program: Program) -> None:
    ec2 = program.client("ec2")
    spec = [{"ResourceType": "volume", "Tags": [{"Key": "headroom:group", "Value": "data"}]}]
    first = program.volume(attached=True, TagSpecifications=spec)
    instance = ec2.describe_volumes(VolumeIds=[first])["Volumes"][0]["Attachments"][0]["InstanceId"]
    second = program.volume(TagSpecifications=spec)
    ec2.attach_volume(VolumeId=second, InstanceId=instance, Device="/dev/sdg")
    program.volume(attached=True, TagSpecifications=spec)
    ec2.modify_volume(VolumeId=second, Iops=4000)
    views = EbsStorage(ec2, account_id=ACCOUNT, region=REGION).attached(instance)
    policy = Policy(version="test")
    mine = {v.volume.ref.resource_id: v for v in views if group_of(policy, v.volume) == "data"}
    assert set(mine) == {first, second}
    assert len(views) == 3  # and the root volume, which is of no set
    change = mine[second].modification
    assert change is not None
    assert (change.in_flight, change.target.iops) == (True, 4000)
    assert mine[first].modification is None
    held = mine[first].instance
    assert held is not None
    assert {first, second} <= set(held.volume_ids)
