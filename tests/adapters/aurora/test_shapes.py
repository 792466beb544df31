from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from headroom.adapters.aurora.shapes import (
    cluster,
    covering,
    ours,
    reservations,
    units_in_use,
)
from headroom.domain.resources import AuroraCluster, Member, StorageMode
from tests.builders import ACCOUNT, NOW, REGION


def db_cluster(**changes: Any) -> dict[str, Any]:
    """An Aurora cluster of two members, as DescribeDBClusters reports it."""
    return {
        "DBClusterIdentifier": "orders", "Engine": "aurora-postgresql", "EngineVersion": "16.4",
        "EngineMode": "provisioned", "Status": "available", "AllocatedStorage": 1,
        "DBClusterMembers": [
            {"DBInstanceIdentifier": "orders-1", "IsClusterWriter": True, "PromotionTier": 1},
            {"DBInstanceIdentifier": "orders-2", "IsClusterWriter": False, "PromotionTier": 1},
        ],
        "TagList": [{"Key": "headroom", "Value": "auto"}],
        **changes,
    }  # fmt: skip


def member(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "DBInstanceIdentifier": name, "DBInstanceClass": "db.r7g.xlarge",
        "Engine": "aurora-postgresql", "DBInstanceStatus": "available",
        "DBClusterIdentifier": "orders", "StorageType": "aurora", "AllocatedStorage": 1, **changes,
    }  # fmt: skip


MEMBERS = [member("orders-1"), member("orders-2"), member("other-1")]


def read(shape: dict[str, Any], *members: dict[str, Any], **changes: Any) -> AuroraCluster:
    asked: dict[str, Any] = {"reserved": (), "parallel_query": None, "first_seen_in_mode": None}
    return cluster(
        through_boto3(shape), [*(members or MEMBERS)], account_id=ACCOUNT, region=REGION,
        **(asked | changes),
    )  # fmt: skip


def through_boto3(shape: dict[str, Any]) -> dict[str, Any]:
    """The shape as boto3 gives it, held to AWS's own model of it."""
    client = boto3.client(
        "rds", region_name=REGION, aws_access_key_id="testing", aws_secret_access_key="testing"
    )
    with Stubber(client) as stub:
        stub.add_response("describe_db_clusters", {"DBClusters": [shape]})
        found: dict[str, Any] = client.describe_db_clusters()["DBClusters"][0]
    return found


def test_a_storage_type_that_is_left_out_is_standard() -> None:
    found = read(db_cluster())
    assert found.mode is StorageMode.STANDARD
    assert found.members == (Member(instance_class="db.r7g.xlarge", count=2),)
    assert (found.status, found.mode_since, found.next_allowed_at) == ("available", None, None)
    assert found.ref.arn == f"arn:aws:rds:{REGION}:{ACCOUNT}:cluster:orders"
    assert found.tags == (("headroom", "auto"),)


def test_the_gate_shows_since_when_it_is_io_optimized() -> None:
    opens = NOW + timedelta(days=12)
    shape = db_cluster(StorageType="aurora-iopt1", IOOptimizedNextAllowedModificationTime=opens)
    found = read(shape)
    assert (found.mode, found.next_allowed_at) == (StorageMode.IO_OPTIMIZED, opens)
    assert found.mode_since == NOW - timedelta(days=18)


@pytest.mark.parametrize(("seen_days_ago", "since_days_ago"), [(None, None), (3, 3), (40, 40)])
def test_without_a_gate_only_what_was_seen_counts(
    seen_days_ago: int | None, since_days_ago: int | None
) -> None:
    def ago(days: int | None) -> datetime | None:
        return None if days is None else NOW - timedelta(days=days)

    found = read(db_cluster(StorageType="aurora-iopt1"), first_seen_in_mode=ago(seen_days_ago))
    assert found.mode_since == ago(since_days_ago)


@pytest.mark.parametrize(
    ("shape", "members", "status"),
    [
        (db_cluster(Status="modifying"), MEMBERS, "modifying"),
        (db_cluster(), [member("orders-1"), member("orders-2", DBInstanceStatus="rebooting")],
         "member orders-2 rebooting"),
    ],
)  # fmt: skip
def test_it_is_available_only_with_all_its_members(
    shape: dict[str, Any], members: list[dict[str, Any]], status: str
) -> None:
    assert read(shape, *members).status == status


def test_a_change_that_waits_is_seen() -> None:
    pending = db_cluster(PendingModifiedValues={"StorageType": "aurora-iopt1"})
    assert read(pending).pending_storage_mode is StorageMode.IO_OPTIMIZED


def test_a_member_that_was_not_listed_is_no_free_member() -> None:
    with pytest.raises(ValueError, match="no instance was listed for member orders-2"):
        read(db_cluster(), member("orders-1"))


def test_an_unknown_mode_is_not_taken_for_standard() -> None:
    with pytest.raises(ValueError, match="aurora-iopt2"):
        read(db_cluster(StorageType="aurora-iopt2"))


@pytest.mark.parametrize(
    ("changes", "is_ours"),
    [
        ({}, True),
        ({"Engine": "aurora-mysql"}, True),
        ({"Engine": "neptune"}, False),
        ({"Engine": "docdb"}, False),
        ({"Engine": "postgres"}, False),
        ({"EngineMode": "serverless"}, False),
        ({"ClusterScalabilityType": "limitless"}, False),
        ({"ClusterScalabilityType": "standard"}, True),
    ],
)
def test_what_has_no_storage_mode_to_choose_is_left_out(
    changes: dict[str, Any], is_ours: bool
) -> None:
    assert ours(db_cluster(**changes)) is is_ours


def reservation(**changes: Any) -> dict[str, Any]:
    return {
        "DBInstanceClass": "db.r7g.xlarge", "DBInstanceCount": 2, "State": "active",
        "ProductDescription": "aurora postgresql", **changes,
    }  # fmt: skip


def test_only_active_reservations_of_the_engine_count() -> None:
    found = reservations(
        [
            reservation(),
            reservation(DBInstanceCount=1),
            reservation(State="retired"),
            reservation(ProductDescription="postgresql"),
            reservation(ProductDescription="aurora mysql"),
        ],
        "aurora-postgresql",
    )
    assert found == (Member(instance_class="db.r7g.xlarge", count=3),)
    older = reservations([reservation(ProductDescription="aurora")], "aurora-mysql")
    assert older == (Member(instance_class="db.r7g.xlarge", count=2),)


@pytest.mark.parametrize(
    ("held", "counted"),
    [
        ([("db.r7g.xlarge", 1)], [("db.r7g.xlarge", 1)]),
        ([("db.r7g.xlarge", 9)], [("db.r7g.xlarge", 2)]),
        ([("db.r7g.4xlarge", 1)], [("db.r7g.xlarge", 2)]),
        ([("db.r6g.xlarge", 9)], []),
    ],
)
def test_reservations_beyond_the_clusters_own_need_may_be_another_clusters(
    held: list[tuple[str, int]], counted: list[tuple[str, int]]
) -> None:
    def made(pairs: list[tuple[str, int]]) -> tuple[Member, ...]:
        return tuple(Member(instance_class=name, count=count) for name, count in pairs)

    own = made([("db.r7g.xlarge", 2), ("db.serverless", 1)])
    assert covering(made(held), own) == made(counted)


@pytest.mark.parametrize(
    ("held", "others", "counted"),
    [
        (3, {}, 3),  # AWS recommends 1.3 times: the uplift of the cluster's own
        (2, {}, 2),
        (9, {"r7g": 100.0}, 2),
        (15, {"r7g": 100.0}, 2),
        (16, {"r7g": 100.0, "r6g": 50.0}, 16),
        (1, {"r7g": 8.0}, 1),
    ],
)  # fmt: skip
def test_in_io_optimized_what_others_leave_of_reservations_pays_for_the_uplift(
    held: int, others: dict[str, float], counted: int
) -> None:
    own = (Member(instance_class="db.r7g.xlarge", count=2),)
    reserved = (Member(instance_class="db.r7g.xlarge", count=held),)
    expected = (Member(instance_class="db.r7g.xlarge", count=counted),)
    assert covering(reserved, own, others) == expected


def test_units_that_others_use_are_those_of_the_engine_in_their_mode() -> None:
    every = [
        member("orders-1"),
        member("billing-1", DBClusterIdentifier="billing"),
        member("billing-2", DBClusterIdentifier="billing", StorageType="aurora-iopt1"),
        member("billing-3", DBClusterIdentifier="billing", DBInstanceClass="db.serverless"),
        member("web-1", DBClusterIdentifier="web", Engine="aurora-mysql"),
        member("new-1", DBClusterIdentifier="new", DBInstanceClass="db.r9x.titanic"),
    ]
    found = units_in_use(every, "aurora-postgresql", beside="orders")
    assert found == {"r7g": pytest.approx(8 + 8 * 1.3), "r9x": math.inf}


@pytest.mark.parametrize(
    ("instance_class", "there"),
    [
        ("db.r6gd.large", True), ("db.r6id.32xlarge", True), ("db.r8gd.xlarge", True),
        ("db.r9gd.xlarge", True), ("db.x2iedn.xlarge", True), ("db.r7g.large", False),
        ("db.r6i.large", False), ("db.t4g.medium", False), ("db.serverless", False),
    ],
)  # fmt: skip
def test_a_class_with_local_nvme_restarts_whatever_its_generation(
    instance_class: str, there: bool
) -> None:
    members = [member(name, DBInstanceClass=instance_class) for name in ("orders-1", "orders-2")]
    assert read(db_cluster(), *members).restarts is there
