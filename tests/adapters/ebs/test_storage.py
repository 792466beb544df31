"""Volumes as EC2 reports them, and the one write there is.

Shapes are held against botocore's models (Stubber) and moto; neither knows AWS's rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber
from moto import mock_aws

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.ebs.shapes import instance_limits, weighted
from headroom.adapters.ebs.shapes import volume as read_volume
from headroom.domain.resources import Configuration, ModificationState, VolumeType
from headroom.domain.state import (
    AlreadyThere,
    Applied,
    Refusal,
    Refused,
    Stale,
    Step,
    Unknown,
    is_failure,
)
from headroom.ports import ReadFailed, ResourceGone
from tests.builders import ACCOUNT, NOW, REGION, gp2, gp3, io, ref

FAST = Config(retries={"total_max_attempts": 1, "mode": "standard"})
KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
STARTED = NOW - timedelta(hours=3)


@dataclass
class Ec2:
    """A storage whose EC2 answers exactly what was put in, in that order."""

    storage: EbsStorage
    stub: Stubber

    def says_volume(self, **changes: object) -> None:
        self.stub.add_response(
            "describe_volumes", {"Volumes": [shape(**changes)]}, {"VolumeIds": ["vol-1"]}
        )

    def says_modifications(self, *found: dict[str, object]) -> None:
        self.stub.add_response(
            "describe_volumes_modifications",
            {"VolumesModifications": [*found]},
            {"VolumeIds": ["vol-1"]},
        )


@pytest.fixture
def ec2() -> Iterator[Ec2]:
    client = boto3.client("ec2", region_name=REGION, config=FAST, **KEYS)
    with Stubber(client) as stub:
        yield Ec2(EbsStorage(client, account_id=ACCOUNT, region=REGION), stub)
        stub.assert_no_pending_responses()


def shape(**changes: object) -> dict[str, Any]:
    return {
        "VolumeId": "vol-1",
        "VolumeType": "gp3",
        "Size": 100,
        "Iops": 3000,
        "Throughput": 125,
        "State": "in-use",
        "AvailabilityZone": "us-east-1a",
        "CreateTime": NOW - timedelta(days=90),
        "Attachments": [],
        "MultiAttachEnabled": False,
        **changes,
    }


def change(**changes: object) -> dict[str, object]:
    return {
        "VolumeId": "vol-1",
        "ModificationState": "completed",
        "OriginalVolumeType": "gp3",
        "OriginalSize": 100,
        "OriginalIops": 3000,
        "OriginalThroughput": 125,
        "TargetVolumeType": "gp3",
        "TargetSize": 100,
        "TargetIops": 6000,
        "TargetThroughput": 250,
        "Progress": 100,
        "StartTime": STARTED,
        "EndTime": STARTED + timedelta(hours=1),
        **changes,
    }


def attached(instance: str | None = "i-1", **more: object) -> dict[str, object]:
    return {"State": "attached", "VolumeId": "vol-1", **({"InstanceId": instance} if instance else {}), **more}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "configuration"),
    [
        ({}, gp3()),
        ({"Iops": 12_000, "Throughput": 500}, gp3(iops=12_000, mibps=500)),
        ({"Iops": None, "Throughput": None}, gp3()),
        ({"VolumeType": "gp2", "Size": 400, "Iops": 1200, "Throughput": None}, gp2()),
        ({"VolumeType": "io2", "Size": 400, "Iops": 5000, "Throughput": None}, io()),
        (
            {"VolumeType": "st1", "Size": 500, "Iops": None, "Throughput": None},
            Configuration(
                volume_type=VolumeType.ST1, size_gib=500, iops=None, throughput_mibps=None
            ),
        ),
    ],
)
def test_a_configuration_holds_what_may_be_set_and_nothing_derived(
    ec2: Ec2, said: dict[str, object], configuration: Configuration
) -> None:
    described = {key: value for key, value in shape(**said).items() if value is not None}
    ec2.stub.add_response("describe_volumes", {"Volumes": [described]})
    ec2.says_modifications()
    assert ec2.storage.view(ref()).volume.configuration == configuration


def test_a_volume_carries_its_tags_zone_age_and_place(ec2: Ec2) -> None:
    ec2.says_volume(
        Tags=[{"Key": "headroom", "Value": "auto"}, {"Key": "Name", "Value": "db"}],
        OutpostArn="arn:aws:outposts:us-east-1:123456789012:outpost/op-1",
        MultiAttachEnabled=True,
    )
    ec2.says_modifications()
    volume = ec2.storage.view(ref()).volume
    assert volume.ref == ref()
    assert volume.tag("headroom") == "auto"
    assert volume.availability_zone == "us-east-1a"
    assert volume.created_at == NOW - timedelta(days=90)
    assert volume.on_outpost
    assert volume.multi_attach


@pytest.mark.parametrize(
    ("attachments", "since"),
    [
        ([attached(AttachTime=NOW - timedelta(days=3))], NOW - timedelta(days=3)),
        ([attached(AttachTime=NOW - timedelta(days=90, minutes=-5))], None),  # as it was made
        ([attached()], None),
        ([attached(AttachTime=NOW), attached("i-2", AttachTime=NOW)], None),
        ([], None),
    ],
)
def test_a_volume_that_was_attached_later_than_it_was_made_may_have_moved(
    attachments: list[dict[str, object]], since: datetime | None
) -> None:
    described = shape(Attachments=attachments)
    assert read_volume(described, account_id=ACCOUNT, region=REGION).attached_at == since


@pytest.mark.parametrize(
    ("said", "owner"),
    [
        ({}, None),
        ({"Operator": {"Managed": False}}, None),
        ({"Operator": {"Managed": True, "Principal": "eks.amazonaws.com"}}, "eks.amazonaws.com"),
        ({"Operator": {"Managed": True}}, "an AWS service"),
        ({"Attachments": [attached(None, InstanceOwningService="ecs")]}, "ecs"),
        ({"Attachments": [attached(None, AssociatedResource="arn:task")]}, "arn:task"),
    ],
)
def test_a_volume_of_a_service_names_the_service(
    ec2: Ec2, said: dict[str, object], owner: str | None
) -> None:
    ec2.says_volume(**said)
    ec2.says_modifications()
    volume = ec2.storage.view(ref()).volume
    assert volume.managed_by == owner
    assert volume.instance_ids == ()


def test_of_several_modifications_the_one_that_started_last_counts(ec2: Ec2) -> None:
    ec2.says_volume()
    later = change(StartTime=NOW, ModificationState="optimizing", Progress=40)
    del later["EndTime"]
    ec2.says_modifications(change(), later, change(StartTime=STARTED - timedelta(hours=1)))
    modification = ec2.storage.view(ref()).modification
    assert modification is not None
    assert modification.started_at == NOW
    assert modification.state is ModificationState.OPTIMIZING
    assert modification.in_flight
    assert modification.ended_at is None
    assert modification.target == gp3(iops=6000, mibps=250)
    assert modification.progress_percent == 40


def test_an_unknown_state_of_modification_counts_as_in_flight(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications(change(ModificationState="reticulating"))
    modification = ec2.storage.view(ref()).modification
    assert modification is not None
    assert modification.in_flight


def test_a_volume_never_modified_has_no_modification(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.stub.add_client_error(
        "describe_volumes_modifications", "InvalidVolumeModification.NotFound", "none", 400
    )
    assert ec2.storage.view(ref()).modification is None


@pytest.mark.parametrize("code", ["InvalidVolume.NotFound", "InvalidVolumeID.Malformed"])
def test_a_volume_that_does_not_exist_is_gone(ec2: Ec2, code: str) -> None:
    ec2.stub.add_client_error("describe_volumes", code, "no such volume", 400)
    with pytest.raises(ResourceGone):
        ec2.storage.view(ref())


@pytest.mark.parametrize("state", ["deleting", "deleted"])
def test_a_volume_on_its_way_out_is_gone(ec2: Ec2, state: str) -> None:
    ec2.says_volume(State=state)
    with pytest.raises(ResourceGone):
        ec2.storage.view(ref())


@pytest.mark.parametrize("said", [{"VolumeType": "gp9"}, {"VolumeType": "io2", "Iops": 0}])
def test_a_volume_that_is_not_understood_is_not_decided_on(
    ec2: Ec2, said: dict[str, object]
) -> None:
    ec2.says_volume(**said)
    with pytest.raises(ReadFailed):
        ec2.storage.view(ref())


def test_a_denied_read_is_a_failed_read(ec2: Ec2) -> None:
    ec2.stub.add_client_error("describe_volumes", "UnauthorizedOperation", "no", 403)
    with pytest.raises(ReadFailed, match="UnauthorizedOperation"):
        ec2.storage.view(ref())


def instance_answer(**changes: object) -> dict[str, object]:
    instance = {
        "InstanceId": "i-1",
        "InstanceType": "m5.large",
        "EbsOptimized": True,
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sda1", "Ebs": {"VolumeId": "vol-root"}},
            {"DeviceName": "/dev/sdf", "Ebs": {"VolumeId": "vol-1"}},
        ],
        **changes,
    }
    return {"Reservations": [{"Instances": [instance]}]}


def type_answer(**changes: object) -> dict[str, object]:
    ebs = {
        "EbsOptimizedSupport": "default",
        "EbsOptimizedInfo": {
            "BaselineBandwidthInMbps": 650,
            "BaselineThroughputInMBps": 81.25,
            "BaselineIops": 3600,
            "MaximumBandwidthInMbps": 4750,
            "MaximumThroughputInMBps": 593.75,
            "MaximumIops": 18750,
        },
    }
    described = {"InstanceType": "m5.large", "Hypervisor": "nitro", "EbsInfo": ebs, **changes}
    return {"InstanceTypes": [described]}


def test_an_instance_comes_with_all_its_volumes_and_its_limits_in_mebibytes(ec2: Ec2) -> None:
    ec2.says_volume(Attachments=[attached()])
    ec2.says_modifications()
    ec2.stub.add_response("describe_instances", instance_answer(), {"InstanceIds": ["i-1"]})
    ec2.stub.add_response("describe_instance_types", type_answer(), {"InstanceTypes": ["m5.large"]})
    instance = ec2.storage.view(ref()).instance
    assert instance is not None
    assert instance.volume_ids == ("vol-root", "vol-1")
    assert instance.limits is not None
    assert instance.limits.nitro
    assert (instance.limits.baseline_iops, instance.limits.maximum_iops) == (3600, 18750)
    assert instance.limits.baseline_mibps == pytest.approx(77.486, abs=0.001)
    assert instance.limits.maximum_mibps == pytest.approx(566.244, abs=0.001)


@pytest.mark.parametrize(
    ("weighting", "baseline", "maximum"),
    [
        ("default", 77.486, 566.244),
        ("ebs-1", 96.858, 566.244),
        ("vpc-1", None, None),
        ("ebs-2", None, None),
    ],
)
def test_bandwidth_weighting_changes_the_limits_or_makes_them_unknown(
    ec2: Ec2, weighting: str, baseline: float | None, maximum: float | None
) -> None:
    options = {"BandwidthWeighting": weighting}
    ec2.says_volume(Attachments=[attached()])
    ec2.says_modifications()
    ec2.stub.add_response("describe_instances", instance_answer(NetworkPerformanceOptions=options))
    ec2.stub.add_response("describe_instance_types", type_answer())
    instance = ec2.storage.view(ref()).instance
    assert instance is not None
    if baseline is None or instance.limits is None:
        assert instance.limits is baseline
        return
    assert instance.limits.baseline_mibps == pytest.approx(baseline, abs=0.001)
    assert instance.limits.maximum_mibps == pytest.approx(maximum, abs=0.001)
    assert instance.limits.baseline_iops == 3600


def test_a_raised_baseline_is_never_above_the_burst(ec2: Ec2) -> None:
    described = type_answer()["InstanceTypes"][0]  # type: ignore[index]
    described["EbsInfo"]["EbsOptimizedInfo"]["MaximumThroughputInMBps"] = 81.25
    limits = weighted(
        instance_limits(described), {"NetworkPerformanceOptions": {"BandwidthWeighting": "ebs-1"}}
    )
    assert limits is not None
    assert limits.maximum_mibps == limits.baseline_mibps == pytest.approx(96.858, abs=0.001)


def test_the_limits_of_an_instance_type_are_asked_for_once(ec2: Ec2) -> None:
    for _ in range(2):
        ec2.says_volume(Attachments=[attached()])
        ec2.says_modifications()
        ec2.stub.add_response("describe_instances", instance_answer())
        if _ == 0:
            ec2.stub.add_response("describe_instance_types", type_answer())
    assert ec2.storage.view(ref()).instance == ec2.storage.view(ref()).instance


@pytest.mark.parametrize(
    "answer",
    [
        type_answer(EbsInfo={"EbsOptimizedSupport": "unsupported"}),
        type_answer(EbsInfo={"EbsOptimizedInfo": {"BaselineIops": 3600}}),
        {"InstanceTypes": []},
        None,
    ],
)
def test_limits_aws_does_not_publish_are_none(ec2: Ec2, answer: dict[str, object] | None) -> None:
    ec2.says_volume(Attachments=[attached()])
    ec2.says_modifications()
    ec2.stub.add_response("describe_instances", instance_answer())
    if answer is None:
        ec2.stub.add_client_error("describe_instance_types", "InvalidInstanceType", "no", 400)
    else:
        ec2.stub.add_response("describe_instance_types", answer)
    instance = ec2.storage.view(ref()).instance
    assert instance is not None
    assert instance.limits is None


def test_an_old_type_that_is_not_ebs_optimized_has_no_known_limits(ec2: Ec2) -> None:
    ec2.says_volume(Attachments=[attached()])
    ec2.says_modifications()
    ec2.stub.add_response("describe_instances", instance_answer(EbsOptimized=False))
    answer = type_answer()
    answer["InstanceTypes"][0]["EbsInfo"]["EbsOptimizedSupport"] = "supported"  # type: ignore[index]
    ec2.stub.add_response("describe_instance_types", answer)
    instance = ec2.storage.view(ref()).instance
    assert instance is not None
    assert instance.limits is None


@pytest.mark.parametrize(
    "said",
    [
        {"Attachments": []},
        {"Attachments": [attached(State="detached")]},
        {"Attachments": [attached("i-1"), attached("i-2")], "MultiAttachEnabled": True},
        {"Attachments": [attached("i-1")], "MultiAttachEnabled": True},
    ],
)
def test_a_detached_or_shared_volume_has_no_instance(ec2: Ec2, said: dict[str, object]) -> None:
    ec2.says_volume(**said)
    ec2.says_modifications()
    assert ec2.storage.view(ref()).instance is None


@pytest.mark.parametrize("gone", [True, False])
def test_an_instance_that_is_not_ours_to_see_is_none(ec2: Ec2, gone: bool) -> None:
    ec2.says_volume(Attachments=[attached()])
    ec2.says_modifications()
    if gone:
        ec2.stub.add_client_error("describe_instances", "InvalidInstanceID.NotFound", "no", 400)
    else:
        ec2.stub.add_response("describe_instances", {"Reservations": []})
    assert ec2.storage.view(ref()).instance is None


def test_the_fleet_comes_page_by_page_with_modifications(ec2: Ec2) -> None:
    ec2.stub.add_response(
        "describe_volumes_modifications",
        {"VolumesModifications": [change()], "NextToken": "m2"},
        {"MaxResults": 500},
    )
    ec2.stub.add_response(
        "describe_volumes_modifications",
        {"VolumesModifications": [change(StartTime=NOW), change(VolumeId="vol-2")]},
        {"MaxResults": 500, "NextToken": "m2"},
    )
    first = {"Volumes": [shape(), shape(VolumeId="vol-x", VolumeType="gp9")], "NextToken": "v2"}
    ec2.stub.add_response("describe_volumes", first, {"MaxResults": 500})
    second = {"Volumes": [shape(VolumeId="vol-3"), shape(VolumeId="vol-4", State="deleting")]}
    ec2.stub.add_response("describe_volumes", second, {"MaxResults": 500, "NextToken": "v2"})
    views = list(ec2.storage.fleet())
    assert [v.volume.ref.resource_id for v in views] == ["vol-1", "vol-3"]
    assert views[0].modification is not None
    assert views[0].modification.started_at == NOW
    assert views[1].modification is None
    assert all(view.instance is None for view in views)


def malformed() -> list[dict[str, object]]:
    """Modifications that nobody understands (yet)."""
    without_target = change()
    del without_target["TargetVolumeType"]
    without_start = change(TargetVolumeType="gp9")
    del without_start["StartTime"]
    return [
        change(TargetVolumeType="gp9", TargetIops=None),
        change(OriginalVolumeType="gp9"),
        without_target,
        without_start,
    ]


@pytest.mark.parametrize("broken", malformed())
def test_one_modification_nobody_understands_stops_its_own_volume_and_no_other(
    ec2: Ec2, broken: dict[str, object]
) -> None:
    described = {key: value for key, value in broken.items() if value is not None}
    ec2.stub.add_response(
        "describe_volumes_modifications",
        {"VolumesModifications": [change(VolumeId="vol-0"), described, change(VolumeId="vol-2")]},
    )
    volumes = [shape(VolumeId=f"vol-{n}") for n in range(4)]
    ec2.stub.add_response("describe_volumes", {"Volumes": volumes})
    changes = {v.volume.ref.resource_id: v.modification for v in ec2.storage.fleet()}
    in_flight = {name: one is not None and one.in_flight for name, one in changes.items()}
    assert in_flight == {"vol-0": False, "vol-1": True, "vol-2": False, "vol-3": False}
    assert changes["vol-3"] is None


@pytest.mark.parametrize("broken", malformed())
def test_nothing_is_sent_to_a_volume_whose_modification_nobody_understands(
    ec2: Ec2, broken: dict[str, object]
) -> None:
    described = {key: value for key, value in broken.items() if value is not None}
    for _ in range(2):
        ec2.says_volume()
        ec2.says_modifications(described)
    seen = ec2.storage.view(ref()).modification
    assert seen is not None
    assert seen.in_flight
    assert seen.started_at == described.get("StartTime", NOW - timedelta(days=90))
    outcome = apply(ec2, seen=seen.started_at)
    assert isinstance(outcome, Refused)
    assert (outcome.refusal, outcome.code) == (Refusal.IN_FLIGHT, "NotSent")


@pytest.mark.parametrize("missing", ["VolumeId", "VolumeType", "Size", "State", "CreateTime"])
def test_one_malformed_volume_is_passed_over_and_hides_no_other(
    ec2: Ec2, missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    broken = shape(VolumeId="vol-9")
    del broken[missing]
    ec2.stub.add_response("describe_volumes_modifications", {"VolumesModifications": []})
    ec2.stub.add_response("describe_volumes", {"Volumes": [broken, shape()]})
    assert [v.volume.ref.resource_id for v in ec2.storage.fleet()] == ["vol-1"]
    assert "not understood" in caplog.text


def test_a_fleet_that_cannot_be_read_to_the_end_says_so(ec2: Ec2) -> None:
    ec2.stub.add_response("describe_volumes_modifications", {"VolumesModifications": []})
    ec2.stub.add_response("describe_volumes", {"Volumes": [shape()], "NextToken": "v2"})
    ec2.stub.add_client_error("describe_volumes", "RequestLimitExceeded", "slow down", 503)
    views = ec2.storage.fleet()
    next(views)
    with pytest.raises(ReadFailed, match="RequestLimitExceeded"):
        next(views)


TARGET = gp3(iops=6000, mibps=250)


def apply(ec2: Ec2, target: Configuration = TARGET, **seen: Any) -> object:
    known = {"expected": gp3(), "seen": None, **seen}
    return ec2.storage.apply(ref(), target=target, **known)


@pytest.mark.parametrize(
    ("said", "expected", "target", "sent"),
    [
        ({}, gp3(), TARGET, {"VolumeType": "gp3", "Iops": 6000, "Throughput": 250}),
        (
            {"VolumeType": "gp2", "Size": 400, "Iops": 1200},
            gp2(),
            gp3(400, 3000, 250),
            {"VolumeType": "gp3", "Iops": 3000, "Throughput": 250},
        ),
        (
            {"VolumeType": "gp2", "Size": 400, "Iops": 1200},
            gp2(),
            gp2(1000),
            {"VolumeType": "gp2", "Size": 1000},
        ),
        ({}, gp3(), io(size=100, iops=20_000), {"VolumeType": "io2", "Iops": 20_000}),
    ],
)
def test_a_change_names_all_that_can_be_set_and_size_only_to_grow(
    ec2: Ec2,
    said: dict[str, object],
    expected: Configuration,
    target: Configuration,
    sent: dict[str, object],
) -> None:
    ec2.says_volume(**said)
    ec2.says_modifications()
    ec2.stub.add_response(
        "modify_volume",
        {"VolumeModification": {"VolumeId": "vol-1", "StartTime": NOW}},
        {"VolumeId": "vol-1", **sent},
    )
    assert apply(ec2, target, expected=expected) == Applied(started_at=NOW)


def test_a_target_that_is_in_force_is_not_sent_again(ec2: Ec2) -> None:
    ec2.says_volume(Iops=6000, Throughput=250)
    ec2.says_modifications(change())
    assert apply(ec2) == AlreadyThere()


@pytest.mark.parametrize(
    ("said", "changes", "seen"),
    [
        ({"Iops": 4000}, [], None),
        ({"Size": 200}, [], None),
        ({}, [change()], None),
        ({}, [change(StartTime=NOW)], STARTED),
        ({}, [], STARTED),
        ({"Iops": 6000, "Throughput": 250}, [change(ModificationState="optimizing")], None),
    ],
)
def test_whatever_moved_since_the_decision_stops_it(
    ec2: Ec2, said: dict[str, object], changes: list[dict[str, object]], seen: datetime | None
) -> None:
    ec2.says_volume(**said)
    ec2.says_modifications(*changes)
    outcome = apply(ec2, seen=seen)
    assert isinstance(outcome, Stale)
    assert outcome.expected == gp3()


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ({"Tags": [{"Key": "headroom", "Value": "off"}]}, "its tags"),
        ({"Tags": []}, "its tags"),
        ({"Attachments": []}, "its instances"),
        ({"Attachments": [attached("i-2")]}, "its instances"),
        ({"MultiAttachEnabled": True}, "its instances"),
        ({"Operator": {"Managed": True, "Principal": "eks.amazonaws.com"}}, "who manages it"),
    ],
)
def test_a_volume_that_is_not_what_it_was_when_decided_on_is_decided_on_anew(
    ec2: Ec2, then: dict[str, object], said: str
) -> None:
    first: dict[str, Any] = {
        "Tags": [{"Key": "headroom", "Value": "auto"}], "Attachments": [attached()],
    }  # fmt: skip
    before = read_volume(shape(**first), account_id=ACCOUNT, region=REGION)
    ec2.says_volume(**first)
    ec2.says_modifications()
    ec2.stub.add_response("modify_volume", {"VolumeModification": {"StartTime": NOW}})
    assert apply(ec2, decided_on=before) == Applied(started_at=NOW)
    ec2.says_volume(**first | then)
    ec2.says_modifications()
    outcome = apply(ec2, decided_on=before)
    assert isinstance(outcome, Stale)
    assert said in outcome.detail


@pytest.mark.parametrize("state", ["creating", "error"])
def test_a_volume_that_does_not_work_is_not_changed(ec2: Ec2, state: str) -> None:
    ec2.says_volume(State=state)
    ec2.says_modifications()
    outcome = apply(ec2)
    assert isinstance(outcome, Refused)
    assert outcome.message == f"EC2 reports the volume as {state}"


def test_a_modification_in_flight_is_not_added_to(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications(change(ModificationState="optimizing"))
    outcome = apply(ec2, seen=STARTED)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.IN_FLIGHT


def test_a_smaller_size_is_never_sent(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications()
    outcome = apply(ec2, gp3(size=50))
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.INVALID


def test_a_volume_that_vanished_is_a_refusal(ec2: Ec2) -> None:
    ec2.stub.add_client_error("describe_volumes", "InvalidVolume.NotFound", "gone", 400)
    outcome = apply(ec2)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.GONE


def test_a_read_that_aws_throttles_before_the_call_is_no_failure_of_the_change(ec2: Ec2) -> None:
    ec2.stub.add_client_error("describe_volumes", "RequestLimitExceeded", "slow down", 503)
    outcome = apply(ec2)
    assert isinstance(outcome, Refused)
    assert outcome.refusal is Refusal.THROTTLED
    assert not is_failure(Step.REFUSED, {"outcome": outcome})


def test_a_read_that_fails_sends_nothing(ec2: Ec2) -> None:
    ec2.stub.add_client_error("describe_volumes", "InternalError", "oops", 500)
    outcome = apply(ec2)
    assert isinstance(outcome, Refused)
    assert outcome.code == "NotSent"


def test_awss_refusal_keeps_its_words_and_its_instant(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications()
    message = "Wait until 2026-01-06T01:00:00Z before you modify this volume again."
    ec2.stub.add_client_error("modify_volume", "VolumeModificationRateExceeded", message, 400)
    outcome = apply(ec2)
    assert outcome == Refused(
        refusal=Refusal.SLOTS,
        code="VolumeModificationRateExceeded",
        message=message,
        retry_at=datetime(2026, 1, 6, 1, tzinfo=UTC),
    )


def test_a_server_error_on_the_write_is_unknown(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications()
    ec2.stub.add_client_error("modify_volume", "InternalError", "oops", 500)
    assert isinstance(apply(ec2), Unknown)


def test_an_answer_without_a_start_is_unknown(ec2: Ec2) -> None:
    ec2.says_volume()
    ec2.says_modifications()
    ec2.stub.add_response("modify_volume", {"VolumeModification": {"VolumeId": "vol-1"}})
    assert isinstance(apply(ec2), Unknown)


@mock_aws
def test_a_change_made_through_moto_is_seen_by_the_next_reconciliation() -> None:
    client = boto3.client("ec2", region_name=REGION, **KEYS)
    made = client.create_volume(
        AvailabilityZone="us-east-1a",
        Size=100,
        VolumeType="gp3",
        TagSpecifications=[
            {"ResourceType": "volume", "Tags": [{"Key": "headroom", "Value": "auto"}]}
        ],
    )
    # moto reports only those sides of a modification that were asked for, so all are
    bigger = gp3(200, 6000, 250)
    storage = EbsStorage(client, account_id=ACCOUNT, region=REGION)
    before = storage.view(ref(made["VolumeId"]))
    assert before.volume.configuration == gp3()
    assert before.modification is None
    applied = storage.apply(ref(made["VolumeId"]), expected=gp3(), seen=None, target=bigger)
    assert isinstance(applied, Applied)
    after = storage.view(ref(made["VolumeId"]))
    assert after.volume.configuration == bigger
    assert after.modification is not None
    assert after.modification.target == bigger
    assert [v.volume for v in storage.fleet()] == [after.volume]
    again = storage.apply(ref(made["VolumeId"]), expected=gp3(), seen=None, target=bigger)
    assert again == AlreadyThere()
