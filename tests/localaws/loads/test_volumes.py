"""Loads on volumes of one instance: they share what it gives, and its checks say so."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.builders import IMAGE
from tests.localaws.conftest import START, Program

LOAD = {"steps": [{"for": "1h", "iops": 9_000, "io_kib": 16}]}


def on_one_instance(program: Program, instance_type: str, volumes: int) -> tuple[str, list[str]]:
    """An instance, and gp3 volumes of 10,000 IOPS that are asked for 9,000 each."""
    ec2 = program.client("ec2")
    run = ec2.run_instances(ImageId=IMAGE, MinCount=1, MaxCount=1, InstanceType=instance_type)
    instance = str(run["Instances"][0]["InstanceId"])
    ids = [program.volume(Size=500, Iops=10_000, Throughput=250) for _ in range(volumes)]
    for place, volume_id in enumerate(ids):
        device = f"/dev/sd{'fghij'[place]}"
        ec2.attach_volume(VolumeId=volume_id, InstanceId=instance, Device=device)
        program.aws.control("load", {"volume_id": volume_id, "workload": LOAD})
    return instance, ids


def checks(program: Program, instance: str) -> dict[str, list[float]]:
    """The minutes of the instance's own metrics that are published."""
    since = datetime.fromisoformat(START)
    found = {}
    for name in ("InstanceEBSIOPSExceededCheck", "InstanceEBSThroughputExceededCheck"):
        answer = program.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/EC2", MetricName=name, Period=60, Statistics=["Sum"],
            Dimensions=[{"Name": "InstanceId", "Value": instance}],
            StartTime=since, EndTime=since + timedelta(minutes=6),
        )  # fmt: skip
        found[name] = [point["Sum"] for point in answer["Datapoints"]]
    return found


def test_three_busy_volumes_get_a_third_of_their_instance_each(program: Program) -> None:
    instance, ids = on_one_instance(program, "m5.4xlarge", 3)
    played = program.tick(8)["minutes"]
    for number in range(8):
        served = {one["volume_id"]: one["ebs_iops"] for one in played[3 * number : 3 * number + 3]}
        assert served == {name: pytest.approx(6_250) for name in ids}  # 18,750 together
    assert checks(program, instance) == {
        "InstanceEBSIOPSExceededCheck": [1.0] * 6,
        "InstanceEBSThroughputExceededCheck": [0.0] * 6,
    }


def test_a_larger_instance_serves_them_all(program: Program) -> None:
    instance, _ = on_one_instance(program, "r5.8xlarge", 3)
    assert [one["ebs_iops"] for one in program.tick(8)["minutes"]] == pytest.approx([9_000] * 24)
    assert set(checks(program, instance)["InstanceEBSIOPSExceededCheck"]) == {0.0}


def test_a_detached_volume_leaves_its_part_to_the_others(program: Program) -> None:
    instance, ids = on_one_instance(program, "m5.4xlarge", 3)
    program.tick(1)
    program.client("ec2").detach_volume(VolumeId=ids[0], InstanceId=instance, Device="/dev/sdf")
    found = {one["volume_id"]: one["ebs_iops"] for one in program.tick(1)["minutes"]}
    assert [found[name] for name in ids[1:]] == pytest.approx([9_375] * 2)


def test_a_volume_with_limits_of_its_own_shares_with_nobody(program: Program) -> None:
    _, ids = on_one_instance(program, "m5.4xlarge", 2)
    other = {"instance_type": "m5.4xlarge", "other_load": {"iops": 14_750}}
    program.aws.control("load", {"volume_id": ids[0], "workload": LOAD, "attachment": other})
    found = {one["volume_id"]: one["ebs_iops"] for one in program.tick(1)["minutes"]}
    assert found == {ids[0]: pytest.approx(4_000), ids[1]: pytest.approx(9_000)}
