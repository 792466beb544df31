"""RDS's rules over HTTP, as any program that uses boto3 meets them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program


@pytest.fixture
def rds(program: Program) -> Any:
    return program.client("rds")


def made(rds: Any, name: str, **wanted: Any) -> dict[str, Any]:
    """A PostgreSQL instance, by default on 500 GiB of gp2."""
    request = {
        "DBInstanceIdentifier": name, "Engine": "postgres", "DBInstanceClass": "db.r6g.2xlarge",
        "AllocatedStorage": 500, "StorageType": "gp2", **wanted,
    }  # fmt: skip
    database: dict[str, Any] = rds.create_db_instance(**request)["DBInstance"]
    return database


def trio(rds: Any, name: str, **wanted: Any) -> dict[str, Any]:
    """A Multi-AZ DB cluster, by default on 500 GiB of gp3."""
    request = {
        "DBClusterIdentifier": name, "Engine": "postgres", "AllocatedStorage": 500,
        "DBClusterInstanceClass": "db.m6gd.2xlarge", "StorageType": "gp3", "Iops": 12_000,
        **wanted,
    }  # fmt: skip
    database: dict[str, Any] = rds.create_db_cluster(**request)["DBCluster"]
    return database


def described(rds: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = rds.describe_db_instances(DBInstanceIdentifier=name)["DBInstances"][0]
    return found


def cluster(rds: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = rds.describe_db_clusters(DBClusterIdentifier=name)["DBClusters"][0]
    return found


def to_gp3(rds: Any, name: str, **wanted: Any) -> dict[str, Any]:
    request = {
        "DBInstanceIdentifier": name, "StorageType": "gp3", "AllocatedStorage": 500, "Iops": 12_000,
        "StorageThroughput": 500, "ApplyImmediately": True, **wanted,
    }  # fmt: skip
    database: dict[str, Any] = rds.modify_db_instance(**request)["DBInstance"]
    return database


def test_an_instance_reports_what_it_was_created_with(rds: Any) -> None:
    made(rds, "Fresh", Tags=[{"Key": "headroom", "Value": "auto"}])
    database = described(rds, "fresh")
    assert database["DBInstanceStatus"] == "available"
    assert (database["StorageType"], database["AllocatedStorage"]) == ("gp2", 500)
    assert "Iops" not in database
    assert "StorageOperationStatus" not in database
    assert database["TagList"] == [{"Key": "headroom", "Value": "auto"}]
    tags = rds.list_tags_for_resource(ResourceName=database["DBInstanceArn"])["TagList"]
    assert tags == database["TagList"]


def test_a_change_is_modifying_then_optimized_then_at_rest(program: Program, rds: Any) -> None:
    made(rds, "steps")
    answer = to_gp3(rds, "steps")
    assert answer["DBInstanceStatus"] == "available"  # RDS takes a moment to report it
    assert answer["PendingModifiedValues"] == {
        "StorageType": "gp3", "Iops": 12_000, "StorageThroughput": 500,
    }  # fmt: skip
    program.tick(1)
    during = described(rds, "steps")
    assert (during["DBInstanceStatus"], during["StorageType"]) == ("modifying", "gp2")
    program.tick(5)
    after = described(rds, "steps")
    assert (after["DBInstanceStatus"], after["StorageType"]) == ("storage-optimization", "gp3")
    assert (after["Iops"], after["StorageThroughput"]) == (12_000, 500)
    assert after["StorageOperationStatus"] == "Optimizing"
    assert after["PendingModifiedValues"] == {}
    program.tick(120)
    rest = described(rds, "steps")
    assert rest["DBInstanceStatus"] == "available"
    assert "StorageOperationPercentProgress" not in rest


REFUSED = [
    ({"AllocatedStorage": 400}, "InvalidParameterCombination", "smaller than the allocated"),
    ({"StorageType": "gp3"}, "InvalidParameterCombination", "requires iops"),
    ({"StorageType": "gp4"}, "InvalidParameterValue", "Invalid storage type"),
    ({"StorageType": "gp3", "Iops": 3_000}, "InvalidParameterCombination", "3000"),
    ({"StorageType": "io1", "Iops": 60_000}, "InvalidParameterCombination", "Invalid storage"),
    ({"Iops": 5_000}, "InvalidParameterCombination", "can't specify IOPS"),
    ({"PreferredMaintenanceWindow": "soon"}, "InvalidParameterValue", "maintenance window"),
    ({"MaxAllocatedStorage": 400}, "InvalidParameterCombination", "must be greater than"),
    ({"MaxAllocatedStorage": 520}, "InvalidParameterCombination", "10 percent"),
]


@pytest.mark.parametrize(("wanted", "code", "words"), REFUSED)
def test_an_invalid_change_is_refused_with_rdss_error(
    rds: Any, wanted: dict[str, Any], code: str, words: str
) -> None:
    name = f"refused-{REFUSED.index((wanted, code, words))}"
    made(rds, name)
    before = described(rds, name)
    with pytest.raises(ClientError) as refused:
        rds.modify_db_instance(DBInstanceIdentifier=name, ApplyImmediately=True, **wanted)
    assert refused.value.response["Error"]["Code"] == code
    assert words in refused.value.response["Error"]["Message"]
    assert described(rds, name) == before


def test_below_the_threshold_neither_setting_of_gp3_is_taken(rds: Any) -> None:
    made(rds, "small", AllocatedStorage=300, StorageType="gp3")
    database = described(rds, "small")
    assert (database["Iops"], database["StorageThroughput"]) == (3_000, 125)
    with pytest.raises(ClientError, match="storage size less than 400"):
        rds.modify_db_instance(
            DBInstanceIdentifier="small", AllocatedStorage=300, Iops=4_000, ApplyImmediately=True
        )


def test_size_and_iops_travel_together(rds: Any) -> None:
    made(rds, "coupled", StorageType="io1", Iops=5_000)
    with pytest.raises(ClientError, match="must specify both the storage size and iops"):
        rds.modify_db_instance(DBInstanceIdentifier="coupled", Iops=6_000, ApplyImmediately=True)


def test_a_small_raise_is_rounded_up_to_a_tenth(program: Program, rds: Any) -> None:
    made(rds, "rounded")
    rds.modify_db_instance(
        DBInstanceIdentifier="rounded", AllocatedStorage=501, ApplyImmediately=True
    )
    program.tick(6)
    assert described(rds, "rounded")["AllocatedStorage"] == 550


def test_crossing_the_threshold_takes_hours_of_modifying(program: Program, rds: Any) -> None:
    made(rds, "crossing", AllocatedStorage=300, StorageType="gp3")
    rds.modify_db_instance(
        DBInstanceIdentifier="crossing", AllocatedStorage=500, Iops=12_000, StorageThroughput=500,
        ApplyImmediately=True,
    )  # fmt: skip
    program.tick(150)
    database = described(rds, "crossing")
    assert (database["DBInstanceStatus"], database["AllocatedStorage"]) == ("modifying", 300)
    with pytest.raises(ClientError) as refused:
        rds.describe_valid_db_instance_modifications(DBInstanceIdentifier="crossing")
    assert refused.value.response["Error"]["Code"] == "InvalidDBInstanceState"


def test_what_comes_too_early_is_refused_by_the_code_of_a_wrong_request(
    program: Program, rds: Any
) -> None:
    made(rds, "early")
    to_gp3(rds, "early")
    program.tick(1)
    with pytest.raises(ClientError) as refused:
        to_gp3(rds, "early", Iops=14_000)
    assert refused.value.response["Error"]["Code"] == "InvalidDBInstanceState"
    program.tick(10)
    with pytest.raises(ClientError) as refused:
        to_gp3(rds, "early", Iops=14_000)
    assert refused.value.response["Error"]["Code"] == "InvalidParameterCombination"
    assert "previous storage change is being optimized" in str(refused.value)


def test_the_fifth_change_in_a_day_is_refused(program: Program, rds: Any) -> None:
    made(rds, "fifth")
    for count in range(4):
        to_gp3(rds, "fifth", Iops=12_000 + 2_000 * count)
        program.tick(121)
    with pytest.raises(ClientError, match="four times in the last 24 hours"):
        to_gp3(rds, "fifth", Iops=24_000)


def test_asking_for_what_is_there_uses_no_slot(program: Program, rds: Any) -> None:
    made(rds, "noop", StorageType="gp3")
    to_gp3(rds, "noop")
    program.tick(1)
    assert described(rds, "noop")["DBInstanceStatus"] == "available"


def test_what_waits_for_a_window_is_flushed_by_a_change_at_once(program: Program, rds: Any) -> None:
    made(rds, "flushed")
    rds.modify_db_instance(DBInstanceIdentifier="flushed", DBInstanceClass="db.r6g.4xlarge")
    program.tick(30)
    waiting = described(rds, "flushed")
    assert waiting["PendingModifiedValues"] == {"DBInstanceClass": "db.r6g.4xlarge"}
    assert waiting["DBInstanceStatus"] == "available"
    to_gp3(rds, "flushed")
    program.tick(10)
    assert described(rds, "flushed")["DBInstanceClass"] == "db.r6g.4xlarge"  # and it was restarted


def test_what_waits_is_applied_in_the_maintenance_window(program: Program, rds: Any) -> None:
    now = program.aws.control("tick", {"minutes": 1})["now"]
    hour, minute = int(now[11:13]), int(now[14:16])
    start = (hour * 60 + minute + 30) % 1440
    day = "mon" if hour * 60 + minute + 30 < 1440 else "tue"
    made(
        rds, "window",
        PreferredMaintenanceWindow=f"{day}:{start // 60:02}:{start % 60:02}-{day}:23:59",
    )  # fmt: skip
    rds.modify_db_instance(DBInstanceIdentifier="window", AllocatedStorage=600)
    program.tick(25)
    assert described(rds, "window")["PendingModifiedValues"] == {"AllocatedStorage": 600}
    program.tick(15)
    assert described(rds, "window")["AllocatedStorage"] == 600


def test_a_cluster_is_changed_as_a_cluster_only(program: Program, rds: Any) -> None:
    trio(rds, "trio")
    members = cluster(rds, "trio")["DBClusterMembers"]
    assert len(members) == 3
    with pytest.raises(ClientError, match="member of a cluster"):
        rds.modify_db_instance(
            DBInstanceIdentifier=members[0]["DBInstanceIdentifier"], AllocatedStorage=600,
            Iops=12_000, ApplyImmediately=True,
        )  # fmt: skip
    rds.modify_db_cluster(
        DBClusterIdentifier="trio", AllocatedStorage=500, Iops=16_000, ApplyImmediately=True
    )
    program.tick(6)
    database = cluster(rds, "trio")
    assert (database["Status"], database["Iops"]) == ("storage-optimization", 16_000)
    member = described(rds, members[1]["DBInstanceIdentifier"])
    assert (member["DBClusterIdentifier"], member["Iops"]) == ("trio", 16_000)


def test_aurora_goes_to_io_optimized_once_in_thirty_days(program: Program, rds: Any) -> None:
    rds.create_db_cluster(DBClusterIdentifier="mesh", Engine="aurora-postgresql")
    rds.create_db_instance(
        DBInstanceIdentifier="mesh-1", DBClusterIdentifier="mesh", Engine="aurora-postgresql",
        DBInstanceClass="db.r6g.large",
    )  # fmt: skip
    assert "StorageType" not in cluster(rds, "mesh")
    for mode in ("aurora-iopt1", "aurora"):
        rds.modify_db_cluster(DBClusterIdentifier="mesh", StorageType=mode, ApplyImmediately=True)
        program.tick(2)
        assert cluster(rds, "mesh")["Status"] == "modifying"
        program.tick(5)
        assert cluster(rds, "mesh").get("StorageType", "aurora") == mode
    assert cluster(rds, "mesh")["IOOptimizedNextAllowedModificationTime"] is not None
    with pytest.raises(ClientError) as refused:
        rds.modify_db_cluster(
            DBClusterIdentifier="mesh", StorageType="aurora-iopt1", ApplyImmediately=True
        )
    assert refused.value.response["Error"]["Code"] == "StorageTypeNotAvailableFault"
    assert "less than one month ago" in str(refused.value)


def test_pages_have_twenty_to_a_hundred_and_all_engines_are_in_them(rds: Any) -> None:
    for engine in ("neptune", "docdb"):
        rds.create_db_cluster(DBClusterIdentifier=f"{engine}-1", Engine=engine)
    for number in range(25):
        made(rds, f"many-{number}")
    with pytest.raises(ClientError, match="between 20 and 100"):
        rds.describe_db_instances(MaxRecords=10)
    pages = list(
        rds.get_paginator("describe_db_instances").paginate(PaginationConfig={"PageSize": 20})
    )
    names = [one["DBInstanceIdentifier"] for page in pages for one in page["DBInstances"]]
    assert len(pages) > 1
    assert len(names) == len(set(names))
    engines = {one["Engine"] for one in rds.describe_db_clusters()["DBClusters"]}
    assert {"neptune", "docdb"} <= engines


def test_unknown_names_and_operations_fail_as_they_should(rds: Any) -> None:
    with pytest.raises(ClientError) as gone:
        described(rds, "nobody")
    assert gone.value.response["Error"]["Code"] == "DBInstanceNotFound"
    assert gone.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    with pytest.raises(ClientError) as gone:
        cluster(rds, "nobody")
    assert gone.value.response["Error"]["Code"] == "DBClusterNotFoundFault"
    with pytest.raises(ClientError) as missing:
        rds.reboot_db_instance(DBInstanceIdentifier="nobody")
    assert missing.value.response["ResponseMetadata"]["HTTPStatusCode"] == 501


def test_a_change_sends_events_and_the_call_is_in_the_trail(program: Program, rds: Any) -> None:
    made(rds, "announced")
    url, arn = program.queue("rds-events")
    events = program.client("events")
    events.put_rule(Name="rds", EventPattern=json.dumps({"source": ["aws.rds"]}))
    events.put_targets(Rule="rds", Targets=[{"Id": "queue", "Arn": arn}])
    to_gp3(rds, "announced")
    program.tick(7)
    events_sent = [json.loads(body) for body in program.messages(url)]
    events.remove_targets(Rule="rds", Ids=["queue"])
    ids = [one["detail"]["EventID"] for one in events_sent if "EventID" in one["detail"]]
    assert ids == ["RDS-EVENT-0018", "RDS-EVENT-0017"]
    event = next(one for one in events_sent if one["detail-type"] == "RDS DB Instance Event")
    assert event["detail"]["SourceIdentifier"] == "announced"
    assert event["resources"] == [event["detail"]["SourceArn"]]
    call = next(one for one in events_sent if "CloudTrail" in one["detail-type"])["detail"]
    assert call["eventName"] == "ModifyDBInstance"
    assert call["requestParameters"]["dBInstanceIdentifier"] == "announced"
    assert call["requestParameters"]["allocatedStorage"] == 500
