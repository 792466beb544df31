"""Many volumes in one read are each as the single read finds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.ebs import EbsFleet
from headroom.ports import CursorRejected, ReadFailed
from tests.builders import ACCOUNT, IMAGE, NOW, REGION, ref


@dataclass
class Account:
    ec2: Any
    cloudwatch: Any
    storage: EbsFleet
    metrics: CloudWatchMetrics

    def machine(self) -> str:
        ran = self.ec2.run_instances(
            ImageId=IMAGE, InstanceType="m5.4xlarge", MinCount=1, MaxCount=1
        )
        return str(ran["Instances"][0]["InstanceId"])

    def volume(self, *machines: str, device: str = "/dev/sdf", **changes: Any) -> str:
        asked = {"AvailabilityZone": "us-east-1a", "Size": 100, "VolumeType": "gp3"} | changes
        volume_id = str(self.ec2.create_volume(**asked)["VolumeId"])
        for machine in machines:
            self.ec2.attach_volume(VolumeId=volume_id, InstanceId=machine, Device=device)
        return volume_id

    def publish(self, volume_id: str, metric: str, value: float) -> None:
        data = [
            {
                "MetricName": metric, "Dimensions": [{"Name": "VolumeId", "Value": volume_id}],
                "Timestamp": NOW - timedelta(minutes=minute), "Value": value + minute,
            }
            for minute in range(1, 10)
        ]  # fmt: skip
        self.cloudwatch.put_metric_data(Namespace="AWS/EBS", MetricData=data)


@pytest.fixture
def account() -> Iterator[Account]:
    with mock_aws():
        session = boto3.Session("testing", "testing", region_name=REGION)
        ec2, cloudwatch = session.client("ec2"), session.client("cloudwatch")
        yield Account(
            ec2, cloudwatch, EbsFleet(ec2, account_id=ACCOUNT, region=REGION),
            CloudWatchMetrics(cloudwatch, account_id=ACCOUNT, region=REGION),
        )  # fmt: skip


def test_volumes_read_together_are_what_each_alone_is(account: Account) -> None:
    shared, own = account.machine(), account.machine()
    names = [
        account.volume(shared),
        account.volume(shared, device="/dev/sdg", VolumeType="gp2"),
        account.volume(own, VolumeType="io2", Iops=5000),
        account.volume(),
    ]
    account.ec2.modify_volume(VolumeId=names[0], Iops=4000)
    for number, name in enumerate(names):
        account.publish(name, "VolumeReadOps", 1_000.0 * number)
    refs = [ref(name) for name in names]
    views = account.storage.views([*refs, ref("vol-0123456789abcdef0")])
    assert views == {one.arn: account.storage.view(one) for one in refs}
    assert views[refs[0].arn].modification is not None
    found = account.metrics.activities(list(views.values()), NOW)
    assert found == {arn: account.metrics.activity(view, NOW) for arn, view in views.items()}
    assert found[refs[1].arn][0].read_iops.known()


def test_pages_follow_each_other_and_miss_nobody(account: Account) -> None:
    names = {account.volume() for _ in range(3)}
    page = account.storage.page("")
    assert {view.volume.ref.resource_id for view in page.views} >= names
    assert page.following is None


def test_a_page_is_asked_for_by_its_cursor() -> None:
    client = boto3.client(
        "ec2", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
    )
    storage = EbsFleet(client, account_id=ACCOUNT, region=REGION)
    with Stubber(client) as stub:
        asked = {"MaxResults": 500, "NextToken": "here"}
        stub.add_response("describe_volumes", {"Volumes": [], "NextToken": "there"}, asked)
        assert storage.page("here").following == "there"
        stub.add_client_error("describe_volumes", "InvalidParameterValue", expected_params=asked)
        with pytest.raises(CursorRejected):
            storage.page("here")
        stub.add_client_error("describe_volumes", "InvalidParameterValue")
        with pytest.raises(ReadFailed):
            storage.page("")
        stub.add_client_error("describe_volumes", "RequestLimitExceeded", expected_params=asked)
        with pytest.raises(ReadFailed):
            storage.page("here")
