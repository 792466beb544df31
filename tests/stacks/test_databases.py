"""What looking after databases adds to the deployment, and that without it nothing is added."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from headroom.adapters import actions
from headroom.adapters.cloudwatch import billed_queries, queries
from headroom.adapters.cloudwatch.rds_metrics import glance_queries
from headroom.adapters.events.rds import EVENTS
from headroom.cdk.detection import (
    METRICS_PER_CLUSTER,
    METRICS_PER_DATABASE,
    database_queries,
    databases_usd,
    price_note,
)
from headroom.domain.resources import VolumeType
from headroom.settings import DeploymentConfig, Detection
from tests.adapters.cloudwatch.test_databases import view
from tests.adapters.events.test_rds import call, event
from tests.domain.clusters import cluster
from tests.domain.databases import rds
from tests.stacks.conftest import Synth, Synthesised, properties, resources, text_of
from tests.stacks.test_permissions import _granting, _listed

WITH = DeploymentConfig(kinds="ebs,rds")


@pytest.fixture
def both(synth: Synth) -> Synthesised:
    return synth(kinds="ebs,rds")


def test_without_databases_nothing_of_rds_is_in_the_template(volumes_only: Synthesised) -> None:
    """But for the ceilings that a policy has for them; every deployment publishes the same policy."""
    text = json.dumps(volumes_only.loop).lower()
    for other in ("records", "words", r"\"rds\":64000", r"\"rds\":4000"):
        text = text.replace(other, "")
    assert "rds" not in text


def test_databases_are_seen_everywhere_and_changed_in_this_account_and_region(
    both: Synthesised,
) -> None:
    for action in actions.RDS_READ_ACTIONS:
        assert all(_listed(s["Resource"]) == ["*"] for s in _granting(both, action))
    for action, kind in (("rds:ModifyDBCluster", "cluster"), ("rds:ModifyDBInstance", "db")):
        assert action in actions.RDS_WRITE_ACTIONS
        (statement,) = _granting(both, action)
        assert _listed(statement["Action"]) == [action]
        assert [text_of(r) for r in _listed(statement["Resource"])] == [
            f"arn:<AWS::Partition>:rds:<AWS::Region>:<AWS::AccountId>:{kind}:*"
        ]


def test_the_functions_get_the_setting_and_the_synth_finds_nothing_amiss(both: Synthesised) -> None:
    kinds = {
        f["Environment"]["Variables"].get("HEADROOM_KINDS")
        for f in properties(both.loop, "AWS::Lambda::Function")
        if "HEADROOM_STATE_TABLE" in f.get("Environment", {}).get("Variables", {})
    }
    assert kinds == {"ebs,rds"}
    assert not [note for note in both.notes if "AwsSolutions" in note]


def test_databases_have_alarms_of_their_own_at_the_periods_rds_publishes(synth: Synth) -> None:
    made = synth(kinds="ebs,rds", detection="fleet")
    alarms = {
        a["AlarmName"]: a["Metrics"][0]
        for a in properties(made.loop, "AWS::CloudWatch::Alarm")
        if a["AlarmName"].startswith("headroom-detect-rds-")
    }
    assert {name: metric["Period"] for name, metric in alarms.items()} == {
        "headroom-detect-rds-burst-balance": 60,
        "headroom-detect-rds-io-balance": 300,
        "headroom-detect-rds-byte-balance": 300,
    }
    assert alarms["headroom-detect-rds-io-balance"]["Expression"] == (
        'SELECT MIN("EBSIOBalance%") FROM SCHEMA("AWS/RDS", DBInstanceIdentifier) '
        "GROUP BY DBInstanceIdentifier ORDER BY MIN() ASC"
    )


def test_the_sweep_alone_needs_no_alarm() -> None:
    assert database_queries(DeploymentConfig(kinds="ebs,rds", detection=Detection.SWEEP)) == ()
    assert database_queries(DeploymentConfig(kinds="ebs")) == ()


def test_the_price_of_databases_is_what_is_asked_for_times_its_price() -> None:
    gp2 = glance_queries(view(rds(VolumeType.GP2, 500)).volume)
    assert len(gp2) == METRICS_PER_DATABASE
    # 3 alarms at $0.10, 2,920 scans of 7 metrics at $0.00001
    fleet = DeploymentConfig(kinds="ebs,rds", detection=Detection.FLEET)
    assert databases_usd(fleet, 100) == Decimal("30") + Decimal("20.44")
    assert "100 databases add up to $50.44" in price_note(fleet)
    # At most nine metrics an hour: three that are read first, and six once they stir.
    assert round(databases_usd(WITH, 100), 4) == Decimal("6.57")
    assert "100 databases add up to $6.57" in price_note(WITH)
    assert "databases" not in price_note(DeploymentConfig(kinds="ebs"))


def test_the_rules_and_the_reader_of_events_know_the_same_ids() -> None:
    assert {f"RDS-EVENT-{number}" for number in actions.RDS_EVENTS} == set(EVENTS)


@pytest.mark.java
@pytest.mark.parametrize(
    ("made", "rule"),
    [
        *((event(event_id), "DatabaseEvents") for event_id in EVENTS),
        (event(name="cluster:trio"), "DatabaseEvents"),
        (event("RDS-EVENT-0006"), None),
        ({**event(), "detail-type": "RDS DB Snapshot Event"}, None),
        (call("ModifyDBInstance", dBInstanceIdentifier="orders"), "ModifyDatabaseCalls"),
        (call("ModifyDBCluster", dBClusterIdentifier="trio"), "ModifyDatabaseCalls"),
        (call("DeleteDBInstance", dBInstanceIdentifier="orders"), None),
    ],
)
def test_awss_own_matcher_lets_through_what_is_about_storage(
    ruler: Any, both: Synthesised, made: dict[str, Any], rule: str | None
) -> None:
    matcher = ruler.JClass("software.amazon.event.ruler.Ruler")
    matched = [
        name.removeprefix("SignalsQueue")[:-8]
        for name, body in resources(both.loop, "AWS::Events::Rule").items()
        if matcher.matchesRule(json.dumps(made), json.dumps(body["Properties"]["EventPattern"]))
    ]
    assert matched == ([] if rule is None else [rule])


def test_the_price_of_clusters_is_one_call_a_day() -> None:
    of = cluster(writer="orders-1", serverless_members=("orders-2", "orders-3"))
    assert len(queries(of)) + len(billed_queries(of)) == METRICS_PER_CLUSTER
    assert "Each Aurora cluster adds $0.0024" in price_note(
        DeploymentConfig(kinds="ebs,rds,aurora")
    )
    assert "Aurora" not in price_note(WITH)


@pytest.fixture
def clusters(synth: Synth) -> Synthesised:
    return synth(kinds="ebs,rds,aurora")


def test_aurora_adds_two_rights_to_read_and_no_right_to_change_anything_else(
    both: Synthesised, clusters: Synthesised
) -> None:
    def granted(made: Synthesised) -> set[str]:
        statements = [
            statement
            for role in properties(made.loop, "AWS::IAM::Role")
            for policy in role.get("Policies", ())
            for statement in policy["PolicyDocument"]["Statement"]
        ]
        return {action for s in statements for action in _listed(s["Action"])}

    assert granted(clusters) - granted(both) == set(actions.AURORA_READ_ACTIONS)
    for action in actions.AURORA_READ_ACTIONS:
        assert not _granting(both, action)
        assert all(_listed(s["Resource"]) == ["*"] for s in _granting(clusters, action))


def test_the_functions_get_the_clusters_setting_and_the_synth_finds_nothing_amiss(
    clusters: Synthesised,
) -> None:
    kinds = {
        f["Environment"]["Variables"].get("HEADROOM_KINDS")
        for f in properties(clusters.loop, "AWS::Lambda::Function")
        if "HEADROOM_STATE_TABLE" in f.get("Environment", {}).get("Variables", {})
    }
    assert kinds == {"ebs,rds,aurora"}
    assert not [note for note in clusters.notes if "AwsSolutions" in note]
