"""What is handed over for a database is read by the parsers of those who get it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml
from cfnlint.api import lint
from cfnlint.config import ManualArgs

from headroom.domain.decision.write_back import WriteBack, write_back
from headroom.domain.resources import (
    DEFAULT_CODE_TAGS,
    Configuration,
    Deployment,
    Kind,
    VolumeType,
    code_owner,
)
from tests.builders import ref, volume
from tests.domain.databases import rds

STACK = {"aws:cloudformation:stack-name": "orders", "aws:cloudformation:logical-id": "Orders"}
STRIPED = rds(VolumeType.GP3, 500, 12_000, 512)
SMALL = rds(VolumeType.GP3, 200)
CLUSTER = rds(VolumeType.IO1, 500, 9_000, deployment=Deployment.CLUSTER)


def handed(tags: dict[str, str], target: Configuration) -> WriteBack:
    owner = code_owner(tuple(tags.items()), DEFAULT_CODE_TAGS)
    assert owner is not None
    name = "cluster:orders" if target is CLUSTER else "orders"
    database = replace(ref(name), kind=Kind.RDS)
    (part,) = write_back(volume(target, ref=database), owner, target)
    return part


@pytest.mark.parametrize("target", [STRIPED, SMALL, CLUSTER], ids=str)
def test_cloudformations_linter_takes_the_database(target: Configuration) -> None:
    resource = yaml.safe_load(handed(STACK, target).text)["Orders"]
    cluster = target is CLUSTER
    assert resource["Type"] == f"AWS::RDS::DB{'Cluster' if cluster else 'Instance'}"
    properties = resource["Properties"]
    assert (properties["StorageType"], int(properties["AllocatedStorage"])) == (
        target.volume_type.value, target.size_gib,
    )  # fmt: skip
    assert properties.get("Iops") == target.iops  # what may not be set is not named
    assert properties.get("StorageThroughput") == target.throughput_mibps
    properties |= {"Engine": "postgres", "MasterUsername": "dba", "ManageMasterUserPassword": True}
    properties |= {"DBClusterInstanceClass" if cluster else "DBInstanceClass": "db.m6gd.large"}
    resource |= {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"}
    template = {"AWSTemplateFormatVersion": "2010-09-09", "Resources": {"Orders": resource}}
    found = lint(json.dumps(template), config=ManualArgs(regions=["us-east-1"]))
    assert [f"{one.rule.id} {one.message}" for one in found if one.rule.id.startswith("E")] == []


@pytest.mark.parametrize(
    ("target", "lines"),
    [
        (STRIPED, ["aws_db_instance", 'storage_type       = "gp3"', "allocated_storage  = 500",
                   "iops               = 12000", "storage_throughput = 512"]),
        (SMALL, ["aws_db_instance", "allocated_storage = 200"]),
        (CLUSTER, ["aws_rds_cluster", "iops              = 9000"]),
    ],
)  # fmt: skip
def test_terraform_gets_the_arguments_of_its_own_resource(
    target: Configuration, lines: list[str]
) -> None:
    part = handed({"ManagedBy": "terraform"}, target)
    assert all(line in part.text for line in lines)
    assert "aws_ebs_volume" not in part.text
    assert ("iops" in part.text) == (target.iops is not None)
    assert "is orders" in part.where


def test_aurora_standard_is_no_storage_type_in_terraform() -> None:
    standard, faster = (
        Configuration(volume_type=mode, size_gib=0, iops=None, throughput_mibps=None)
        for mode in (VolumeType.AURORA, VolumeType.AURORA_IOPT1)
    )
    cluster = volume(standard, ref=replace(ref("orders"), kind=Kind.AURORA))
    for target, text in ((standard, '""'), (faster, '"aurora-iopt1"')):
        owner = code_owner((("ManagedBy", "terraform"),), DEFAULT_CODE_TAGS)
        assert owner is not None
        (part,) = write_back(cluster, owner, target)
        assert f"storage_type = {text}" in part.text
