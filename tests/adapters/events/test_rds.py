"""Events about databases: RDS's own, alarms of its metrics, and calls by others."""

from __future__ import annotations

from typing import Any

import pytest

from headroom.adapters.events.rds import EVENTS
from headroom.adapters.events.signals import parse
from headroom.domain.resources import Claim, Kind, RejectedSignal, Signal
from tests.adapters.events import deliveries as d

KINDS = (Kind.EBS, Kind.RDS)
PLACE = f"{d.REGION}:{d.ACCOUNT}"


def event(event_id: str | None = "RDS-EVENT-0189", *, name: str = "db:orders") -> dict[str, Any]:
    """An event of RDS in the shape in which they are delivered."""
    cluster = name.startswith("cluster:")
    return {
        "version": "0", "id": "9e2d5576-6dea-0ac1-9d7d-5b4ff263397d", "source": "aws.rds",
        "detail-type": f"RDS DB {'Cluster' if cluster else 'Instance'} Event",
        "account": d.ACCOUNT, "time": "2026-01-05T12:00:03Z", "region": d.REGION,
        "resources": [f"arn:aws:rds:{PLACE}:{name}"],
        "detail": {
            "EventCategories": ["notification"], "SourceType": "CLUSTER" if cluster else "DB_INSTANCE",
            "SourceArn": f"arn:aws:rds:{PLACE}:{name}", "Date": "2026-01-05T12:00:03.630Z",
            "Message": "whatever RDS says", "SourceIdentifier": name.partition(":")[2],
            **({} if event_id is None else {"EventID": event_id}),
        },
    }  # fmt: skip


def alarm(metric: str, dimensions: dict[str, str], state: str = "ALARM") -> dict[str, Any]:
    made = d.metric_alarm(d.VOLUME, state=state)
    stat = made["detail"]["configuration"]["metrics"][0]["metricStat"]
    stat["metric"] = {"namespace": "AWS/RDS", "name": metric, "dimensions": dimensions}
    return made


def call(name: str, **parameters: object) -> dict[str, Any]:
    return {
        **event(), "source": "aws.rds", "detail-type": "AWS API Call via CloudTrail",
        "detail": {"eventSource": "rds.amazonaws.com", "eventName": name,
                   "requestParameters": parameters},
    }  # fmt: skip


def read_bookmark(of: object) -> Signal:
    parsed = parse(of, account_id=d.ACCOUNT, region=d.REGION, kinds=KINDS)
    assert not isinstance(parsed, RejectedSignal), parsed.reason
    (signal,) = parsed
    return signal


def whose(signal: Signal) -> str | None:
    return None if signal.ref is None else signal.ref.arn


@pytest.mark.parametrize("event_id", EVENTS)
def test_an_event_about_storage_asks_for_a_reconciliation_of_its_database(event_id: str) -> None:
    signal = read_bookmark(event(event_id))
    assert whose(signal) == f"arn:aws:rds:{PLACE}:db:orders"
    assert signal.claim in (Claim.HINT, Claim.MODIFICATION)
    assert signal.detail.startswith(event_id)


@pytest.mark.parametrize(
    ("event_id", "claim"),
    [
        ("RDS-EVENT-0017", Claim.MODIFICATION), ("RDS-EVENT-0218", Claim.MODIFICATION),
        ("RDS-EVENT-0189", Claim.HINT), ("RDS-EVENT-0221", Claim.HINT),
        ("RDS-EVENT-0004", Claim.NOTHING), ("RDS-EVENT-0087", Claim.NOTHING),
        ("RDS-EVENT-10217", Claim.NOTHING),
    ],
)  # fmt: skip
def test_changes_hints_and_what_says_nothing_of_storage_are_distinguished(
    event_id: str, claim: Claim
) -> None:
    signal = read_bookmark(event(event_id))
    assert signal.claim is claim
    assert (signal.ref is None) == (claim is Claim.NOTHING)


def test_a_clusters_event_is_about_the_cluster() -> None:
    assert whose(read_bookmark(event(name="cluster:trio"))) == f"arn:aws:rds:{PLACE}:cluster:trio"


@pytest.mark.parametrize(
    "broken",
    [
        event(None), event("RDS-EVENT-X"), event(name="snapshot:orders"), event(name="db:"),
        {**event(), "detail": {"EventID": "RDS-EVENT-0189"}},
        {**event(), "detail": {**event()["detail"],
                               "SourceArn": "arn:aws:rds:eu-west-1:123456789012:db:orders"}},
        {**event(), "detail-type": "RDS DB Snapshot Event"},
        call("ModifyDBInstance"), call("ModifyDBInstance", dBInstanceIdentifier="not a name"),
    ],
)  # fmt: skip
def test_an_unknown_shape_is_rejected_on_record(broken: dict[str, Any]) -> None:
    assert isinstance(parse(broken, kinds=KINDS), RejectedSignal)


@pytest.mark.parametrize("metric", ["BurstBalance", "EBSIOBalance%", "EBSByteBalance%"])
def test_an_alarm_on_a_databases_metric_is_pressure_on_it(metric: str) -> None:
    signal = read_bookmark(alarm(metric, {"DBInstanceIdentifier": "orders"}))
    assert (signal.claim, whose(signal)) == (Claim.PRESSURE, f"arn:aws:rds:{PLACE}:db:orders")


def test_a_contributor_may_be_a_database() -> None:
    signal = read_bookmark(d.contributor(attributes={"DBInstanceIdentifier": "orders"}))
    assert (signal.claim, whose(signal)) == (Claim.PRESSURE, f"arn:aws:rds:{PLACE}:db:orders")


@pytest.mark.parametrize(
    ("made", "of"),
    [
        (call("ModifyDBInstance", dBInstanceIdentifier="orders", iops=12_000), "db:orders"),
        (call("ModifyDBInstance", dBInstanceIdentifier="Orders"), "db:orders"),
        (call("ModifyDBCluster", dBClusterIdentifier="trio"), "cluster:trio"),
        (
            call("ModifyDBInstance", dBInstanceIdentifier=f"arn:aws:rds:{PLACE}:db:orders"),
            "db:orders",
        ),
    ],
)
def test_a_call_by_anybody_is_a_change_of_the_database_under_its_one_name(
    made: dict[str, Any], of: str
) -> None:
    signal = read_bookmark(made)
    assert (signal.claim, whose(signal)) == (Claim.MODIFICATION, f"arn:aws:rds:{PLACE}:{of}")


def test_a_call_that_failed_and_other_calls_are_of_no_consequence() -> None:
    failed = call("ModifyDBInstance", dBInstanceIdentifier="orders")
    failed["detail"]["errorCode"] = "InvalidParameterCombination"
    for made in (failed, call("CreateDBInstance", dBInstanceIdentifier="orders")):
        assert read_bookmark(made).claim is Claim.NOTHING


@pytest.mark.parametrize(
    "made",
    [event(), alarm("BurstBalance", {"DBInstanceIdentifier": "orders"}),
     d.contributor(attributes={"DBInstanceIdentifier": "vol-0123"}),
     call("ModifyDBInstance", dBInstanceIdentifier="orders")],
)  # fmt: skip
def test_where_databases_are_not_covered_no_event_points_at_one(made: dict[str, Any]) -> None:
    parsed = parse(made)
    assert isinstance(parsed, RejectedSignal) or all(
        s.ref is None and s.claim is Claim.NOTHING for s in parsed
    )
