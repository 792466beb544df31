"""Loads on databases and Aurora clusters: their metrics and alarms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.cloudwatch import CloudWatchRdsMetrics, read
from headroom.adapters.cloudwatch.metric_data import Query, Window
from headroom.adapters.events.signals import parse
from headroom.adapters.rds import RdsStorage
from headroom.cdk.detection import database_queries
from headroom.domain.resources import Claim, Kind, Series, Signal
from headroom.localaws.daemon import EndpointFailed
from headroom.ports import StorageView
from headroom.proving.workloads import steady_billed_ios
from headroom.settings import DeploymentConfig, Detection
from tests.localaws.conftest import Program

ACCOUNT, REGION = "123456789012", "us-east-1"
BUSY = {
    "steps": [{"for": "10m", "iops": 500, "io_kib": 8}, {"for": "3h", "iops": 2_500, "io_kib": 8}]
}


class NoBookmarks:
    """A scan stores nothing."""

    def note(self, name: str) -> str:
        return ""

    def amend(self, name: str, change: Callable[[str], tuple[str, Any]]) -> Any:
        raise AssertionError(f"{name} was stored by a scan")


def now(program: Program) -> datetime:
    return datetime.fromisoformat(program.aws.control("clock")["now"])


def database(program: Program, name: str, **wanted: Any) -> str:
    program.client("rds").create_db_instance(
        DBInstanceIdentifier=name,
        **{
            "Engine": "postgres", "DBInstanceClass": "db.m6i.8xlarge", "AllocatedStorage": 100,
            "StorageType": "gp2", "MasterUsername": "a", "MasterUserPassword": "12345678", **wanted,
        },
    )  # fmt: skip
    return name


def seen(program: Program, name: str) -> StorageView:
    """The database as the real adapter's scan finds it."""
    storage = RdsStorage(
        program.client("rds"), program.client("ec2"), notes=NoBookmarks(),
        clock=lambda: now(program), account_id=ACCOUNT, region=REGION,
    )  # fmt: skip
    return next(v for v in storage.fleet() if v.volume.ref.resource_id == name)


def last(series: Series, count: int) -> list[float | None]:
    return [v if v is None else round(v, 6) for v in series.values[-count:]]


def test_the_real_adapter_reads_the_minutes_that_the_physics_simulated(program: Program) -> None:
    name = database(program, "orders")
    request = {"database_id": name, "workload": BUSY, "burst_balance_percent": 30}
    assert name in program.aws.control("load", request)["loaded"]
    minutes = [m for m in program.tick(22)["minutes"] if m.get("database_id") == name]
    assert len(minutes) == 22
    view = seen(program, name)
    metrics = CloudWatchRdsMetrics(program.client("cloudwatch"))
    activity, _ = metrics.activity(view, now(program))
    answer = minutes[:20]  # two minutes are not published yet
    for series, key, unit in (
        (activity.read_iops, "served_read_ops", 60),
        (activity.write_iops, "served_write_ops", 60),
        (activity.write_mibps, "served_write_bytes", 60 * 1024**2),
        (activity.queue_length, "queue_seen_avg", 1),
        (activity.burst_balance_percent, "burst_balance_percent", 1),
    ):
        assert last(series, 22) == [*(round(m[key] / unit, 6) for m in answer), None, None], key
    assert last(activity.latency_ms, 22)[:9] == [0.5] * 9
    glance = metrics.glance([view], now(program))[name]
    assert glance.peak_iops == pytest.approx(2_500)
    assert glance.lowest_burst_balance_percent == pytest.approx(answer[-1]["burst_balance_percent"])
    assert glance.iops_exceeded_minutes is None


def test_a_class_that_bursts_is_the_limit_and_its_balances_say_so(program: Program) -> None:
    name = database(program, "small", DBInstanceClass="db.t3.medium", AllocatedStorage=500)
    load = {"steps": [{"for": "3h", "iops": 8_000, "io_kib": 4}]}
    program.aws.control("load", {"database_id": name, "workload": load})
    minutes = [m for m in program.tick(56)["minutes"] if m.get("database_id") == name]
    assert round(minutes[-1]["ebs_iops"]) == 2_000, "a t3.medium's baseline"
    view = seen(program, name)
    span = Window(start=now(program) - timedelta(minutes=40), period_s=300, periods=8)
    query = Query(
        namespace="AWS/RDS", metric="EBSIOBalance%", statistic="Minimum",
        dimensions=(("DBInstanceIdentifier", name),),
    )  # fmt: skip
    program.tick(3)
    balances = read(program.client("cloudwatch"), [query], span)[query].known()
    assert balances[-1] == 0
    assert sorted(balances, reverse=True) == list(balances)
    assert view.volume.facts is not None
    assert view.volume.facts.members == (name,)


def test_members_of_a_cluster_each_publish(program: Program) -> None:
    program.client("rds").create_db_cluster(
        DBClusterIdentifier="three", Engine="postgres", DBClusterInstanceClass="db.m6gd.large",
        AllocatedStorage=400, StorageType="io1", Iops=3_000, MasterUsername="a",
        MasterUserPassword="12345678",
    )  # fmt: skip
    program.aws.control("load", {"database_id": "cluster:three", "workload": BUSY})
    program.tick(5)
    view = seen(program, "cluster:three")
    assert view.volume.facts is not None
    assert len(view.volume.facts.members) == 3
    activity, _ = CloudWatchRdsMetrics(program.client("cloudwatch")).activity(view, now(program))
    assert last(activity.read_iops, 5) == [250, 250, 250, None, None]
    assert last(activity.write_iops, 5) == [250, 250, 250, None, None]


def test_free_space_shrinks_as_the_storage_fills(program: Program) -> None:
    name = database(program, "filling")
    program.aws.control(
        "load",
        {"database_id": name, "workload": BUSY, "free_storage_gib": 50, "fill_gib_per_hour": 60},
    )
    program.tick(6)
    view = seen(program, name)
    metrics = CloudWatchRdsMetrics(program.client("cloudwatch"))
    activity, _ = metrics.activity(view, now(program))
    assert activity.free_gib is not None
    assert last(activity.free_gib, 7) == [None, 49, 48, 47, 46, None, None]
    glance = metrics.glance([view], now(program))[name]
    assert (glance.lowest_free_gib, glance.filled_gib) == (46, 3)


def test_rds_grows_what_fills_where_its_owner_left_that_to_it(program: Program) -> None:
    url = heard(
        program, "grown", {"source": ["aws.rds"], "detail": {"EventID": ["RDS-EVENT-0217"]}}
    )
    name = database(program, "left-to-rds", MaxAllocatedStorage=399)
    load = {"database_id": name, "workload": BUSY, "free_storage_gib": 12, "fill_gib_per_hour": 30}
    program.aws.control("load", load)
    program.tick(45)
    view = seen(program, name)
    activity, _ = CloudWatchRdsMetrics(program.client("cloudwatch")).activity(view, now(program))
    assert activity.free_gib is not None
    free = activity.free_gib.known()
    assert view.volume.configuration.size_gib > 100
    assert min(free) > 0, "it grew before it was full"
    assert max(free[-10:]) > 12, "what was added is free"
    assert [s.ref.resource_id for s in signals(program, url) if s.ref is not None] == [name]


def test_rds_grows_by_what_came_and_not_by_the_rate_of_the_moment(program: Program) -> None:
    """60 GiB an hour for eight minutes are 8 GiB: 56 more, where 420 would be above the maximum."""
    name = database(program, "jumped", MaxAllocatedStorage=399)
    load = {"database_id": name, "workload": BUSY, "free_storage_gib": 12, "fill_gib_per_hour": 60}
    program.aws.control("load", load)
    program.tick(20)
    assert 140 < seen(program, name).volume.configuration.size_gib < 170


@pytest.mark.parametrize(
    ("query_name", "held", "minutes"),
    [("rds-burst-balance", "db.m6i.8xlarge", 8), ("rds-io-balance", "db.t3.medium", 70)],
)
def test_the_deployed_alarm_names_the_database_that_runs_out(
    program: Program, query_name: str, held: str, minutes: int
) -> None:
    config = DeploymentConfig(kinds="ebs,rds", detection=Detection.FLEET)
    query = next(q for q in database_queries(config) if q.name == query_name)
    program.client("cloudwatch").put_metric_alarm(
        AlarmName=query_name, Threshold=query.threshold, EvaluationPeriods=config.alarm_periods,
        DatapointsToAlarm=config.alarm_datapoints, ComparisonOperator="LessThanThreshold",
        TreatMissingData="notBreaching",
        Metrics=[{"Id": "worst", "Expression": query.text(None), "Period": query.period_s,
                  "ReturnData": True}],
    )  # fmt: skip
    url = heard(program, query_name, {"detail": {"alarmName": [query_name]}})
    short, full = (
        database(program, f"{which}-{query_name[4:6]}", DBInstanceClass=held, AllocatedStorage=500)
        for which in ("short", "full")
    )
    storage = query_name == "rds-burst-balance"
    for name, percent, iops in ((short, 4, 8_000), (full, 100, 300)):
        program.aws.control(
            "load",
            {
                "database_id": name, "burst_balance_percent": percent if storage else 100,
                "workload": {"steps": [{"for": "3h", "iops": iops, "io_kib": 4}]},
            },
        )  # fmt: skip
    program.tick(minutes)
    answer = [signal for signal in signals(program, url) if signal.claim is Claim.PRESSURE]
    named = {signal.ref.resource_id for signal in answer if signal.ref is not None}
    assert short in named
    assert full not in named


def test_rds_reports_low_credits_once(program: Program) -> None:
    url = heard(program, "low", {"source": ["aws.rds"], "detail": {"EventID": ["RDS-EVENT-0189"]}})
    name = database(program, "low")
    program.aws.control(
        "load", {"database_id": name, "workload": BUSY, "burst_balance_percent": 10.1}
    )
    program.tick(20)
    answer = signals(program, url)
    assert [(s.claim, s.ref.resource_id if s.ref else None) for s in answer] == [(Claim.HINT, name)]


def heard(program: Program, name: str, pattern: dict[str, Any]) -> str:
    """A queue that hears every event of a pattern."""
    url, arn = program.queue(name)
    events = program.client("events")
    events.put_rule(Name=name, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=name, Targets=[{"Id": "q", "Arn": arn}])
    return url


def signals(program: Program, url: str) -> list[Signal]:
    """What the deployed reader of events makes of those in a queue."""
    return [s for body in program.messages(url) for s in _signals(json.loads(body))]


def _signals(event: Mapping[str, Any]) -> tuple[Signal, ...]:
    found = parse(event, account_id=ACCOUNT, region=REGION, kinds=(Kind.EBS, Kind.RDS))
    return found if isinstance(found, tuple) else ()


def aurora(program: Program, name: str, **wanted: Any) -> str:
    rds = program.client("rds")
    rds.create_db_cluster(
        DBClusterIdentifier=name, Engine="aurora-postgresql", MasterUsername="a",
        MasterUserPassword="12345678", **wanted,
    )  # fmt: skip
    for number, held in enumerate(("db.r7g.xlarge", "db.serverless"), start=1):
        rds.create_db_instance(
            DBInstanceIdentifier=f"{name}-{number}", DBClusterIdentifier=name,
            Engine="aurora-postgresql", DBInstanceClass=held,
        )  # fmt: skip
    return name


def billed(program: Program, name: str, days: int, metric: str = "VolumeReadIOPs") -> Series:
    at = now(program)
    end = at.replace(minute=at.minute // 5 * 5, second=0)
    span = Window(start=end - timedelta(days=days), period_s=300, periods=days * 288)
    query = Query(
        namespace="AWS/RDS", metric=metric, statistic="Sum",
        dimensions=(("DBClusterIdentifier", name),),
    )  # fmt: skip
    return read(program.client("cloudwatch"), [query], span)[query]


def test_a_clusters_past_is_there_at_once_and_once(program: Program) -> None:
    name = aurora(program, "bill")
    request = {
        "cluster_id": name, "io_millions_per_month": 2_740, "storage_gib": 100, "acus": 2,
        "commit_latency_ms": 3.5,
    }  # fmt: skip
    for _ in range(2):
        program.aws.control("load", request)
    program.tick(13)
    series = billed(program, name, 18)
    counts = series.known()
    each = steady_billed_ios(2_740) / 2
    assert all(count == pytest.approx(each) for count in counts), "published twice adds up"
    assert 16 * 288 <= len(counts) <= 16 * 288 + 3
    assert series.values[0] is None, "nothing from before the declared days"


def test_a_recorded_trace_may_lie_in_the_past(program: Program, tmp_path: Path) -> None:
    name = aurora(program, "traced")
    start = now(program).replace(hour=0, minute=0, second=0) - timedelta(days=3)
    rows = [
        f"{start + timedelta(minutes=5 * n):%Y-%m-%dT%H:%M:%SZ},{n},{n},0,0" for n in range(577)
    ]
    (tmp_path / "io.csv").write_text(
        "timestamp,read_ops,write_ops,read_bytes,write_bytes\n" + "\n".join(rows) + "\n"
    )
    program.aws.control(
        "load",
        {
            "cluster_id": name, "trace": {"file": "io.csv"}, "base": str(tmp_path),
            "storage_gib": 20, "read_fraction": 1,
        },
    )  # fmt: skip
    program.tick(5)
    counts = billed(program, name, 4).known()
    assert len(counts) >= 575, "two days, and nothing of the day since"
    assert counts[100] - counts[99] == pytest.approx(2), "both directions are billed"


def test_another_class_brings_its_own_limits(program: Program) -> None:
    name = database(program, "grows", DBInstanceClass="db.t3.medium", AllocatedStorage=500)
    load = {"steps": [{"for": "3h", "iops": 12_000, "io_kib": 4}]}
    program.aws.control("load", {"database_id": name, "workload": load})
    before = [m for m in program.tick(2)["minutes"] if m.get("database_id") == name][-1]
    program.client("rds").modify_db_instance(
        DBInstanceIdentifier=name, DBInstanceClass="db.m6i.8xlarge", ApplyImmediately=True
    )
    after = [m for m in program.tick(15)["minutes"] if m.get("database_id") == name][-1]
    assert round(before["ebs_iops"]) == 11_800, "what a t3.medium bursts to"
    assert round(after["ebs_iops"]) == 12_000, "what the storage bursts to"


@pytest.mark.parametrize("published", [True, False])
def test_billed_io_under_io_optimized_is_published_or_not_as_declared(
    program: Program, published: bool
) -> None:
    name = aurora(program, f"flat-{published}".lower(), StorageType="aurora-iopt1")
    program.aws.control(
        "load",
        {
            "cluster_id": name, "io_millions_per_month": 100, "storage_gib": 10, "acus": 2,
            "days_before": 1, "io_published_when_optimized": published,
        },
    )  # fmt: skip
    program.tick(5)
    assert bool(billed(program, name, 1).known()) is published
    assert billed(program, name, 1, "VolumeBytesUsed").known()


@pytest.fixture
def known(program: Program) -> None:
    """A database `plain` and a cluster `idle`, without loads."""
    database(program, "plain")
    aurora(program, "idle")


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"database_id": "nobody", "workload": BUSY}, "no database nobody"),
        ({"cluster_id": "nobody", "storage_gib": 1}, "no Aurora cluster nobody"),
        ({"database_id": "d", "volume_id": "v", "workload": BUSY}, "one thing at a time"),
        ({"database_id": "d", "workload": BUSY, "acus": 1}, "unknown key 'acus'"),
        (
            {"database_id": "plain", "workload": BUSY, "fill_gib_per_hour": 1},
            "without free_storage",
        ),
        ({"database_id": "plain", "workload": BUSY, "free_storage_gib": 101}, "has 100 GiB"),
        ({"database_id": "plain", "workload": BUSY, "free_storage_gib": "x"}, "must be a number"),
        (
            {"cluster_id": "idle", "storage_gib": 1},
            "exactly one of io_millions_per_month and trace",
        ),
        (
            {"cluster_id": "idle", "storage_gib": "x", "io_millions_per_month": 1},
            "must be a number",
        ),
        ({"cluster_id": "idle", "io_millions_per_month": 1}, "storage_gib is missing"),
    ],
)
def test_an_impossible_load_is_refused_with_a_sentence(
    program: Program, request_: dict[str, Any], words: str
) -> None:
    with pytest.raises(EndpointFailed, match=words):
        program.aws.control("load", request_)


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("key", "name", "more"),
    [
        ("database_id", "plain", {"workload": BUSY}),
        ("cluster_id", "idle", {"storage_gib": 1, "io_millions_per_month": 1, "days_before": 0}),
    ],
)
def test_a_load_can_be_removed(program: Program, key: str, name: str, more: dict[str, Any]) -> None:
    program.aws.control("load", {key: name, **more})
    assert name in program.aws.control("state")["loads"]
    assert program.aws.control("unload", {key: name}) == {"unloaded": True}
    assert program.aws.control("unload", {key: name}) == {"unloaded": False}
    assert name not in program.aws.control("state")["loads"]
