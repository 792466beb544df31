"""The adapters on answers that AWS really gave; tests/recorded/README.md says who recorded them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headroom.adapters.aurora import shapes as clusters
from headroom.adapters.aurora.volumes import storage_mode_of
from headroom.adapters.ebs import EbsStorage
from headroom.adapters.ebs import shapes as volumes
from headroom.adapters.rds import RdsStorage
from headroom.adapters.rds import shapes as databases
from headroom.domain.resources import Configuration, ModificationState, StorageMode, VolumeType
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, gp2, gp3, io
from tests.domain.databases import rds

FOLDER = Path(__file__).parent.parent / "recorded"
KEYS: Any = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
NAMES = {
    "DescribeVolumes": "describe_volumes", "ModifyVolume": "modify_volume",
    "DescribeVolumesModifications": "describe_volumes_modifications",
    "DescribeDBInstances": "describe_db_instances", "ModifyDBInstance": "modify_db_instance",
    "DescribeDBClusters": "describe_db_clusters",
}  # fmt: skip
EBS = "test_ebs_modify_iops_percent_gp3.ec2"


def recorded(name: str) -> Any:
    """An answer as boto3 gives it."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text, object_hook=_dated)["data"]


def _dated(value: dict[str, Any]) -> Any:
    if value.pop("__class__", None) == "datetime":
        return datetime(**value, tzinfo=UTC)
    return value


def answering(*names: str) -> Any:
    """A client that gives these answers, each checked against botocore's model."""
    service: Any = names[0].split(".")[1]
    client = boto3.client(service, region_name=REGION, **KEYS)
    stub = Stubber(client)
    for name in names:
        operation = name.split(".")[2].partition("_")[0]
        stub.add_response(NAMES[operation], recorded(name))
    stub.activate()
    return client


def test_every_recorded_answer_is_one_of_its_operation() -> None:
    files = sorted(path.stem for path in FOLDER.glob("*.json"))
    assert len(files) == 12
    for name in files:
        operation = NAMES[name.split(".")[2].partition("_")[0]]
        needed = {
            "modify_volume": {"VolumeId": "vol-1"},
            "modify_db_instance": {"DBInstanceIdentifier": "d"},
        }
        assert getattr(answering(name), operation)(**needed.get(operation, {}))


def test_a_volume_that_was_never_modified() -> None:
    names = (f"{EBS}.DescribeVolumesModifications_1", f"{EBS}.DescribeVolumes_1")
    (view,) = EbsStorage(answering(*names), account_id=ACCOUNT, region=REGION).fleet()
    assert view.volume.configuration == gp3(8)
    assert view.volume.ref.resource_id == "vol-0b0d1b4c01088ed2c"
    assert (view.volume.managed_by, view.volume.instance_ids, view.modification) == (None, (), None)


def test_a_volume_after_its_change_to_io1() -> None:
    (shape,) = recorded("test_ebs_modifyable_action.ec2.DescribeVolumes_2")["Volumes"]
    volume = volumes.volume(shape, account_id=ACCOUNT, region=REGION)
    assert volume.configuration == io(VolumeType.IO1, 64, 500)
    assert volume.instance_ids == ("i-0557d390667870549",)


@pytest.mark.parametrize(
    ("name", "state", "origin", "target", "percent"),
    [
        (f"{EBS}.ModifyVolume_1", ModificationState.MODIFYING, gp3(8), gp3(8, 3_900), 0),
        ("test_ebs_modifyable_action.ec2.ModifyVolume_1", ModificationState.MODIFYING,
         gp2(32), io(VolumeType.IO1, 64, 500), 0),
        ("test_ebs_modifyable_filter.ec2.DescribeVolumesModifications_1",
         ModificationState.OPTIMIZING, gp2(8), io(VolumeType.IO1, 64, 1_000), 99),
    ],
)  # fmt: skip
def test_modifications(
    name: str, state: ModificationState, origin: Configuration, target: Configuration, percent: int
) -> None:
    answer = recorded(name)
    (shape,) = answer.get("VolumesModifications") or (answer["VolumeModification"],)
    found = volumes.modification(shape)
    assert (found.state, found.origin, found.target) == (state, origin, target)
    assert found.progress_percent == percent


def seen(name: str) -> Any:
    """What a listing of databases makes of an answer."""
    answer = recorded(name)
    shapes = answer.get("DBInstances") or [answer["DBInstance"]]
    return databases.instance(shapes[0], account_id=ACCOUNT, region=REGION)


def test_storage_of_databases() -> None:
    small = seen("test_rds_resize_up_immediately.rds.DescribeDBInstances_2").volume.configuration
    assert (small.volume_type, small.size_gib, small.iops) == (VolumeType.GP2, 6, None)
    assert small.database.engine.value == "mariadb"
    other = seen("test_rds_sg_add_by_tag.rds.DescribeDBInstances_1").volume
    assert (other.configuration.volume_type, other.configuration.size_gib) == (VolumeType.GP2, 20)
    assert (other.facts.status, other.facts.pending) == ("available", ())


def test_growth_that_rds_accepted_is_what_it_heads_for() -> None:
    growing = seen("test_rds_resize_up_immediately.rds.ModifyDBInstance_1")
    assert growing.seen.configuration.size_gib == 5
    assert growing.seen.target.size_gib == 6
    assert growing.volume.facts.pending == ("AllocatedStorage",)


def test_databases_that_are_being_created_hide_no_other() -> None:
    """RDS does not say yet when they were created."""
    name = "test_security_hub_rds.rds.DescribeDBInstances_1"
    creating = recorded(name)["DBInstances"]
    assert {d["DBInstanceStatus"] for d in creating} == {"creating"}
    assert all("InstanceCreateTime" not in each for each in creating)
    ready = recorded("test_rds_sg_add_by_tag.rds.DescribeDBInstances_1")["DBInstances"]
    client = boto3.client("rds", region_name=REGION, **KEYS)
    with Stubber(client) as stub:
        stub.add_response("describe_db_instances", {"DBInstances": [*creating, *ready]})
        stub.add_response("describe_db_clusters", {"DBClusters": []})
        storage = RdsStorage(
            client, boto3.client("ec2", region_name=REGION, **KEYS),
            notes=InMemoryLedger(ACCOUNT, REGION), clock=lambda: NOW, account_id=ACCOUNT,
            region=REGION,
        )  # fmt: skip
        assert [view.volume.ref.resource_id for view in storage.fleet()] == ["database-1"]
    assert creating[0]["StorageThroughput"] == 0
    of = rds(VolumeType.IO1, 400).database
    assert of is not None
    found = databases.configuration(creating[0], of)
    assert (found.iops, found.throughput_mibps) == (3_000, None)


def test_members_and_clusters_of_aurora() -> None:
    (member,) = recorded("test_rds_delete_aurora_filter.rds.DescribeDBInstances_1")["DBInstances"]
    assert not databases.ours(member)
    one, serverless = recorded("test_modify_rds_cluster_provisoned.rds.DescribeDBClusters_1")[
        "DBClusters"
    ]
    assert clusters.ours(one)
    assert not clusters.ours(serverless)
    assert storage_mode_of(one) is StorageMode.STANDARD
