"""AWS's volume rules as a boto3 program meets them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import START, Program


def refused(call: Any, **request: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**request)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.mark.parametrize(
    ("volume", "change", "code", "words"),
    [
        ({}, {"Size": 50}, "InvalidParameterValue", "New size cannot be smaller"),
        ({}, {"Iops": 999_999}, "InvalidParameterValue", "iops"),
        ({}, {"Throughput": 5_000}, "InvalidParameterValue", "hroughput"),
        ({}, {"Throughput": 1_000}, "InvalidParameterValue", "ratio"),
        ({"VolumeType": "gp2"}, {"Iops": 4_000}, "InvalidParameterCombination", "iops"),
        ({"Size": 5}, {"VolumeType": "st1"}, "InvalidParameterValue", "too small"),
        ({}, {"VolumeType": "gp9"}, "InvalidParameterValue", "gp9"),
        ({}, {}, "MissingParameter", "at least one"),
    ],
)
def test_an_invalid_change_is_refused_with_awss_error(
    program: Program, volume: dict[str, Any], change: dict[str, Any], code: str, words: str
) -> None:
    volume_id = program.volume(**volume)
    ec2 = program.client("ec2")
    before = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
    found, message = refused(ec2.modify_volume, VolumeId=volume_id, **change)
    assert (found, words.lower() in message.lower()) == (code, True), message
    after = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
    assert after == before


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"VolumeType": "gp2", "Iops": 3_000}, "InvalidParameterCombination"),
        ({"VolumeType": "io2"}, "MissingParameter"),
        ({"VolumeType": "gp3", "Size": 100_000}, "InvalidParameterValue"),
        ({"VolumeType": "st1", "Size": 10}, "InvalidParameterValue"),
        ({"VolumeType": "gp3", "Iops": 3_000, "Throughput": 900}, "InvalidParameterValue"),
    ],
)
def test_a_volume_aws_would_not_make_is_not_made(
    program: Program, wanted: dict[str, Any], code: str
) -> None:
    ec2 = program.client("ec2")
    request = {"AvailabilityZone": "us-east-1a", "Size": 100, **wanted}
    assert refused(ec2.create_volume, **request)[0] == code


@pytest.mark.parametrize(
    ("wanted", "iops", "throughput"),
    [
        ({"VolumeType": "gp3"}, 3_000, 125),
        ({"VolumeType": "gp2", "Size": 400}, 1_200, None),
        ({"VolumeType": "gp2", "Size": 20}, 100, None),
        ({"VolumeType": "io2", "Iops": 5_000}, 5_000, None),
        ({"VolumeType": "st1", "Size": 500}, None, None),
    ],
)
def test_describe_volumes_reports_the_defaults_of_the_type(
    program: Program, wanted: dict[str, Any], iops: int | None, throughput: int | None
) -> None:
    volume_id = program.volume(**wanted)
    answer = program.client("ec2").describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
    assert (answer.get("Iops"), answer.get("Throughput")) == (iops, throughput)
    assert answer["Operator"] == {"Managed": False}
    assert answer["AvailabilityZoneId"].startswith("use1-az")


def iops_of(program: Program, volume_id: str) -> int:
    answer = program.client("ec2").describe_volumes(VolumeIds=[volume_id])["Volumes"][0]
    return int(answer["Iops"])


def test_a_change_goes_through_its_states_by_the_clock_and_the_fifth_must_wait(
    program: Program,
) -> None:
    ec2, volume_id = program.client("ec2"), program.volume()
    seen = []
    for number in range(1, 5):
        answer = ec2.modify_volume(VolumeId=volume_id, Iops=3_000 + number)["VolumeModification"]
        seen.append(answer["ModificationState"])
        if number == 1:
            code, words = refused(ec2.modify_volume, VolumeId=volume_id, Iops=4_000)
            assert code == "IncorrectModificationState"
            assert "MODIFYING" in words
            first = answer["StartTime"]
        assert iops_of(program, volume_id) == 2_999 + number, "the origin while it is modifying"
        program.tick(2)
        latest = ec2.describe_volumes_modifications(VolumeIds=[volume_id])["VolumesModifications"]
        assert [m["ModificationState"] for m in latest] == ["optimizing"]
        assert iops_of(program, volume_id) == 3_000 + number
        program.tick(120)
        latest = ec2.describe_volumes_modifications(VolumeIds=[volume_id])["VolumesModifications"]
        assert [(m["ModificationState"], m["Progress"]) for m in latest] == [("completed", 100)]
        assert latest[0]["TargetIops"] == 3_000 + number
    assert seen == ["modifying"] * 4
    code, words = refused(ec2.modify_volume, VolumeId=volume_id, Iops=4_000)
    assert code == "VolumeModificationRateExceeded"
    assert f"{first.replace(day=first.day + 1):%Y-%m-%dT%H:%M}" in words


def test_volumes_come_in_pages(program: Program) -> None:
    ec2 = program.client("ec2")
    made = [program.volume(TagSpecifications=_tagged("paged")) for _ in range(12)]
    pages = list(
        ec2.get_paginator("describe_volumes").paginate(
            Filters=[{"Name": "tag:group", "Values": ["paged"]}], PaginationConfig={"PageSize": 5}
        )
    )
    assert [len(page["Volumes"]) for page in pages] == [5, 5, 2]
    assert [v["VolumeId"] for page in pages for v in page["Volumes"]] == made
    assert refused(ec2.describe_volumes, MaxResults=3)[0] == "InvalidParameterValue"
    assert refused(ec2.describe_volumes, MaxResults=5, NextToken="no")[0] == "InvalidParameterValue"


def test_modifications_come_in_pages_and_through_filters(program: Program) -> None:
    ec2 = program.client("ec2")
    made = [program.volume() for _ in range(7)]
    for volume_id in made:
        ec2.modify_volume(VolumeId=volume_id, Throughput=150)
    mine = [{"Name": "volume-id", "Values": made}]
    pages = list(
        ec2.get_paginator("describe_volumes_modifications").paginate(
            Filters=mine, PaginationConfig={"PageSize": 3}
        )
    )
    assert [len(page["VolumesModifications"]) for page in pages] == [3, 3, 1]
    for name, value, count in (
        ("modification-state", "modifying", 7), ("modification-state", "completed", 0),
        ("target-volume-type", "gp3", 7), ("original-size", "100", 7),
    ):  # fmt: skip
        filters = [*mine, {"Name": name, "Values": [value]}]
        answer = ec2.describe_volumes_modifications(Filters=filters)["VolumesModifications"]
        assert len(answer) == count, name
    wrong = [{"Name": "nonsense", "Values": ["x"]}]
    assert refused(ec2.describe_volumes_modifications, Filters=wrong)[0] == "InvalidParameterValue"


def test_a_never_modified_volume_has_no_modification(program: Program) -> None:
    code, _ = refused(
        program.client("ec2").describe_volumes_modifications, VolumeIds=[program.volume()]
    )
    assert code == "InvalidVolumeModification.NotFound"


def test_a_dry_run_is_an_error_that_means_yes(program: Program) -> None:
    ec2, volume_id = program.client("ec2"), program.volume()
    assert refused(ec2.modify_volume, VolumeId=volume_id, DryRun=True)[0] == "DryRunOperation"
    assert refused(ec2.describe_volumes_modifications, VolumeIds=[volume_id])


def test_an_unknown_volume_is_not_found(program: Program) -> None:
    ec2 = program.client("ec2")
    assert refused(ec2.modify_volume, VolumeId="vol-0123", Size=9)[0] == "InvalidVolume.NotFound"


def test_modifications_planned_from_before_use_up_slots(program: Program) -> None:
    ec2, volume_id = program.client("ec2"), program.volume()
    now = datetime.fromisoformat(START)
    starts = [(now - timedelta(hours=back)).isoformat() for back in (8, 6, 5, 3)]
    program.aws.control("history", {"volume_id": volume_id, "starts": starts})
    code, _ = refused(ec2.modify_volume, VolumeId=volume_id, Iops=4_000)
    assert code == "VolumeModificationRateExceeded"


def test_volume_events_reach_a_queue_when_the_clock_passes_them(program: Program) -> None:
    url, arn = program.queue("volume-events")
    events, ec2 = program.client("events"), program.client("ec2")
    pattern = {"source": ["aws.ec2"], "detail": {"event": ["modifyVolume"]}}
    events.put_rule(Name="volumes", EventPattern=json.dumps(pattern))
    trail = {
        "detail-type": ["AWS API Call via CloudTrail"],
        "detail": {"eventName": ["ModifyVolume"]},
    }
    events.put_rule(Name="trail", EventPattern=json.dumps(trail))
    for rule in ("volumes", "trail"):
        events.put_targets(Rule=rule, Targets=[{"Id": "q", "Arn": arn}])
    volume_id = program.volume()
    program.tick()
    program.messages(url)
    ec2.modify_volume(VolumeId=volume_id, Iops=4_000)
    refused(ec2.modify_volume, VolumeId=volume_id, Iops=5_000)
    called = [json.loads(body)["detail"] for body in program.messages(url)]
    assert [c["requestParameters"]["ModifyVolumeRequest"]["Iops"] for c in called] == [4_000, 5_000]
    assert [c.get("errorCode") for c in called] == [None, "Client.IncorrectModificationState"]
    answer = called[0]["responseElements"]["ModifyVolumeResponse"]["volumeModification"]
    assert (answer["volumeId"], answer["originalIops"], answer["targetIops"]) == (
        volume_id,
        3_000,
        4_000,
    )
    arn = f"arn:aws:ec2:us-east-1:123456789012:volume/{volume_id}"
    heard = []
    for minutes in (3, 120):
        program.tick(minutes)
        answer = [json.loads(body) for body in program.messages(url)]
        heard.append([event for event in answer if event["resources"] == [arn]])
    assert [[e["detail"]["result"] for e in part] for part in heard] == [
        ["optimizing"],
        ["completed"],
    ]
    event = heard[1][0]
    assert event["account"] == "123456789012"
    assert event["detail-type"] == "EBS Volume Notification"


@pytest.mark.parametrize("call", ["describe_volumes", "describe_volumes_modifications"])
def test_unknown_volumes_are_named(program: Program, call: str) -> None:
    describe, known = getattr(program.client("ec2"), call), program.volume()
    assert refused(describe, VolumeIds=["vol-0abc", known]) == (
        "InvalidVolume.NotFound", "The volume 'vol-0abc' does not exist.",
    )  # fmt: skip
    _, message = refused(describe, VolumeIds=["vol-0abc", "vol-0def"])
    assert message == "The volumes 'vol-0abc, vol-0def' do not exist."


def test_an_unknown_zone_is_refused(program: Program) -> None:
    code, message = refused(program.volume, AvailabilityZone="us-east-1q")
    assert (code, message) == ("InvalidZone.NotFound", "The zone 'us-east-1q' does not exist.")


def test_creating_and_deleting_a_volume_send_events(program: Program) -> None:
    url, arn = program.queue("made-and-deleted")
    events = program.client("events")
    pattern = {"detail": {"event": ["createVolume", "deleteVolume"]}}
    events.put_rule(Name="made-and-deleted", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="made-and-deleted", Targets=[{"Id": "q", "Arn": arn}])
    volume_id = program.volume()
    program.client("ec2").delete_volume(VolumeId=volume_id)
    answer = [json.loads(body) for body in program.messages(url)]
    assert [(e["detail"]["event"], e["detail"]["result"]) for e in answer] == [
        ("createVolume", "available"), ("deleteVolume", "deleted"),
    ]  # fmt: skip
    assert all(e["resources"][0].endswith(volume_id) for e in answer)


def test_volumes_can_be_chosen_by_multi_attach_and_type(program: Program) -> None:
    shared = program.volume(VolumeType="io2", Iops=500, MultiAttachEnabled=True)
    filters = [
        {"Name": "multi-attach-enabled", "Values": ["true"]},
        {"Name": "volume-type", "Values": ["io*"]},
    ]
    answer = program.client("ec2").describe_volumes(Filters=filters)["Volumes"]
    assert [v["VolumeId"] for v in answer] == [shared]


def _tagged(value: str) -> list[dict[str, Any]]:
    return [{"ResourceType": "volume", "Tags": [{"Key": "group", "Value": value}]}]
