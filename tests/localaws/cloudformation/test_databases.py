"""CloudFormation creates the same databases as RDS's own calls."""

from __future__ import annotations

import json
from typing import Any

from tests.localaws.cloudformation.test_stacks import deploy
from tests.localaws.conftest import Program

BASE = {
    "DBInstanceIdentifier": "stacked", "Engine": "mysql", "DBInstanceClass": "db.r6g.large",
    "AllocatedStorage": "500", "StorageType": "gp2", "MultiAZ": "true",
}  # fmt: skip


def database(**properties: Any) -> dict[str, Any]:
    return {"Db": {"Type": "AWS::RDS::DBInstance", "Properties": {**BASE, **properties}}}


def test_an_instance_has_what_its_template_says_and_is_changed_in_place(program: Program) -> None:
    tags = [{"Key": "headroom", "Value": "auto"}]
    answer = deploy(program, "one-database", database(Tags=tags))
    assert answer["StackStatus"] == "CREATE_COMPLETE", answer.get("StackStatusReason")
    rds = program.client("rds")
    found = rds.describe_db_instances(DBInstanceIdentifier="stacked")["DBInstances"][0]
    assert (found["StorageType"], found["AllocatedStorage"], found["MultiAZ"]) == ("gp2", 500, True)
    assert found["TagList"] == tags
    changed = database(StorageType="gp3", Iops=13_000, StorageThroughput=500)
    program.client("cloudformation").update_stack(
        StackName="one-database", TemplateBody=json.dumps({"Resources": changed})
    )
    program.tick(6)
    after = rds.describe_db_instances(DBInstanceIdentifier="stacked")["DBInstances"][0]
    assert (after["StorageType"], after["Iops"]) == ("gp3", 13_000)
    program.client("cloudformation").delete_stack(StackName="one-database")
    names = [one["DBInstanceIdentifier"] for one in rds.describe_db_instances()["DBInstances"]]
    assert "stacked" not in names


def test_a_database_that_rds_refuses_fails_the_stack(program: Program) -> None:
    answer = deploy(
        program, "no-database", database(AllocatedStorage=300, StorageType="gp3", Iops=9)
    )
    assert answer["StackStatus"] == "ROLLBACK_COMPLETE"
    assert "takes no IOPS setting" in answer["StackStatusReason"]


def test_an_aurora_cluster_and_its_member_are_made_in_order(program: Program) -> None:
    resources = {
        "Member": {
            "Type": "AWS::RDS::DBInstance",
            "Properties": {
                "DBClusterIdentifier": {"Ref": "Cluster"}, "Engine": "aurora-postgresql",
                "DBInstanceClass": "db.r6g.large",
            },
        },
        "Cluster": {
            "Type": "AWS::RDS::DBCluster",
            "Properties": {"DBClusterIdentifier": "woven", "Engine": "aurora-postgresql"},
        },
    }  # fmt: skip
    answer = deploy(program, "woven", resources)
    assert answer["StackStatus"] == "CREATE_COMPLETE", answer.get("StackStatusReason")
    cluster = program.client("rds").describe_db_clusters(DBClusterIdentifier="woven")
    assert len(cluster["DBClusters"][0]["DBClusterMembers"]) == 1


def test_a_final_snapshot_that_cannot_be_made_fails_the_deletion_and_keeps_the_database(
    program: Program,
) -> None:
    resources = database(DBInstanceIdentifier="kept")
    resources["Db"]["DeletionPolicy"] = "Snapshot"
    deploy(program, "kept", resources)
    program.client("cloudformation").delete_stack(StackName="kept")
    events = program.client("cloudformation").describe_stack_events(StackName="kept")
    reasons = [e.get("ResourceStatusReason", "") for e in events["StackEvents"]]
    assert any("final snapshot" in reason for reason in reasons)
    assert program.client("rds").describe_db_instances(DBInstanceIdentifier="kept")["DBInstances"]
