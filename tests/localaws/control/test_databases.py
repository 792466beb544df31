"""External changes to databases by the control API, and what RDS then reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.aurora.shapes import reservations
from headroom.domain.resources import Member
from headroom.localaws.daemon import EndpointFailed
from tests.localaws.conftest import Program
from tests.localaws.rds.test_databases import cluster, described, made


@pytest.fixture
def rds(program: Program) -> Any:
    return program.client("rds")


def now(program: Program) -> datetime:
    return datetime.fromisoformat(program.aws.control("tick", {"minutes": 1})["now"])


def test_a_cluster_that_switched_before_is_inside_its_gate(program: Program, rds: Any) -> None:
    rds.create_db_cluster(DBClusterIdentifier="gated", Engine="aurora-mysql")
    at = now(program) - timedelta(days=12)
    program.aws.control("database-history", {"database_id": "gated", "switched_at": at.isoformat()})
    answer = cluster(rds, "gated")["IOOptimizedNextAllowedModificationTime"]
    assert answer.astimezone(UTC) == at + timedelta(days=30)
    with pytest.raises(ClientError, match="less than one month ago"):
        rds.modify_db_cluster(
            DBClusterIdentifier="gated", StorageType="aurora-iopt1", ApplyImmediately=True
        )


def test_reservations_and_parallel_query_have_the_shapes_of_rds(program: Program, rds: Any) -> None:
    program.aws.control(
        "reserved",
        {"instances": [{"class": "db.r6g.large", "count": 2, "product": "aurora postgresql"}]},
    )
    answer = rds.describe_reserved_db_instances()["ReservedDBInstances"]
    assert reservations(answer, "aurora-postgresql") == (
        Member(instance_class="db.r6g.large", count=2),
    )
    assert reservations(answer, "aurora-mysql") == ()
    rds.create_db_cluster(DBClusterIdentifier="parallel", Engine="aurora-mysql")
    group = cluster(rds, "parallel")["DBClusterParameterGroup"]
    values = []
    for value in ("OFF", "ON"):
        if value == "ON":
            program.aws.control("cluster-parameter", {"group": group, "value": value})
        found = rds.describe_db_cluster_parameters(DBClusterParameterGroupName=group)
        values += [p["ParameterValue"] for p in found["Parameters"]]
    assert values == ["OFF", "ON"]


def test_a_database_that_fills_is_grown_by_rds_itself_and_the_trail_is_silent(
    program: Program, rds: Any
) -> None:
    made(rds, "fills", MaxAllocatedStorage=1_000)
    url, arn = program.queue("filling-events")
    events = program.client("events")
    events.put_rule(Name="filling", EventPattern=json.dumps({"source": ["aws.rds"]}))
    events.put_targets(Rule="filling", Targets=[{"Id": "queue", "Arn": arn}])
    for _ in range(6):
        program.aws.control("free-space", {"database_id": "fills", "free_gib": 40})
        program.tick(1)
    program.tick(6)
    answer = [json.loads(body) for body in program.messages(url)]
    events.remove_targets(Rule="filling", Ids=["queue"])
    assert [one["detail"].get("EventID") for one in answer] == [
        "RDS-EVENT-0089", "RDS-EVENT-0217", "RDS-EVENT-0218",
    ]  # fmt: skip
    assert described(rds, "fills")["AllocatedStorage"] == 550


def test_a_full_database_says_so_and_takes_only_growth(program: Program, rds: Any) -> None:
    made(rds, "full")
    program.aws.control("free-space", {"database_id": "full", "free_gib": 0})
    assert described(rds, "full")["DBInstanceStatus"] == "storage-full"
    with pytest.raises(ClientError) as refused:
        rds.modify_db_instance(
            DBInstanceIdentifier="full", StorageType="io1", AllocatedStorage=500, Iops=2_000,
            ApplyImmediately=True,
        )  # fmt: skip
    assert refused.value.response["Error"]["Code"] == "InvalidDBInstanceState"
    rds.modify_db_instance(DBInstanceIdentifier="full", AllocatedStorage=600, ApplyImmediately=True)
    program.tick(1)
    assert described(rds, "full")["PendingModifiedValues"] == {"AllocatedStorage": 600}


@pytest.mark.parametrize(
    ("route", "body", "words"),
    [
        ("pending", {"database_id": "nobody", "values": {}}, "no database nobody"),
        ("autoscale", {"database_id": "nobody"}, "no database nobody"),
        ("autoscale", {}, "must contain 'database_id'"),
        ("database-event", {"database_id": "nobody", "event_id": "x"}, "no database nobody"),
        ("cluster-parameter", {"group": "g", "value": "MAYBE"}, "must be ON or OFF"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(
    program: Program, route: str, body: dict[str, Any], words: str
) -> None:
    with pytest.raises(EndpointFailed, match=words):
        program.aws.control(route, body)


def test_a_setting_that_waits_for_no_window_is_not_left_waiting(program: Program, rds: Any) -> None:
    made(rds, "strange")
    with pytest.raises(EndpointFailed, match="DBName is no setting"):
        program.aws.control("pending", {"database_id": "strange", "values": {"DBName": "x"}})


def test_a_change_of_mode_restarts_members_with_a_cache_on_nvme_and_no_others(
    program: Program, rds: Any
) -> None:
    rds.create_db_cluster(DBClusterIdentifier="cached", Engine="aurora-postgresql")
    for name, kind in (("cached-1", "db.r6gd.xlarge"), ("cached-2", "db.r6g.xlarge")):
        rds.create_db_instance(
            DBInstanceIdentifier=name, DBClusterIdentifier="cached", DBInstanceClass=kind,
            Engine="aurora-postgresql",
        )  # fmt: skip
    rds.modify_db_cluster(
        DBClusterIdentifier="cached", StorageType="aurora-iopt1", ApplyImmediately=True
    )
    statuses: dict[str, set[str]] = {"cached-1": set(), "cached-2": set()}
    for _ in range(6):
        program.tick(1)
        for name, found in statuses.items():
            found.add(described(rds, name)["DBInstanceStatus"])
    assert statuses == {"cached-1": {"available", "rebooting"}, "cached-2": {"available"}}
