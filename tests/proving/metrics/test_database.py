"""What CloudWatch has of databases: names, units, dimensions, and what is not there."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headroom.domain.resources import Configuration, Database, Deployment, Engine, VolumeType
from headroom.proving.awsrules import VolumeLifecycle
from headroom.proving.metrics import Datapoint, DbMember, database_datapoints, datapoints
from headroom.proving.metrics.published import _volume_values
from headroom.proving.physics import (
    BOUNDLESS,
    Attachment,
    Filling,
    MinuteFacts,
    VolumePhysics,
    instance_limits,
)
from headroom.proving.workloads import Load, Mix, Steps, Stretch

START = datetime(2026, 1, 5, tzinfo=UTC)
WRITER = DbMember(identifier="orders", instance_class="db.t3.medium", engine="postgres")
READER = DbMember(identifier="orders-2", instance_class="db.t3.medium", engine="postgres")
GP2 = Configuration(
    volume_type=VolumeType.GP2, size_gib=100, iops=None, throughput_mibps=None,
    database=Database(engine=Engine.POSTGRESQL),
)  # fmt: skip
IO1 = replace(
    GP2, volume_type=VolumeType.IO1, iops=3_000,
    database=Database(engine=Engine.POSTGRESQL, deployment=Deployment.CLUSTER),
)  # fmt: skip


def minute(
    configuration: Configuration, iops: float = 900.0, reads: float = 0.25
) -> tuple[MinuteFacts, VolumePhysics]:
    mix = Mix(read_share=reads, read_bytes=8_192.0, write_bytes=8_192.0)
    load = Steps(START, [Stretch(duration_s=600, load=Load(ops_per_s=iops, mix=mix))])
    physics = VolumePhysics(load, attachment=Attachment(limits=instance_limits("t3.medium")))
    storage_rules = VolumeLifecycle(configuration, created_at=START - timedelta(days=3))
    return physics.minute(START, storage_rules), physics


def measured(
    configuration: Configuration = GP2, *, members: tuple[DbMember, ...] = (WRITER,),
    limits: str | None = "t3.medium", free_gib: float | None = None, iops: float = 900.0,
    reads: float = 0.25,
) -> list[Datapoint]:  # fmt: skip
    facts, _ = minute(configuration, iops, reads)
    return database_datapoints(
        facts, members=members, configuration=configuration, free_gib=free_gib,
        limits=BOUNDLESS if limits is None else instance_limits(limits),
    )  # fmt: skip


def of(points: list[Datapoint], identifier: str = "orders") -> dict[str, float]:
    mine = (("DBInstanceIdentifier", identifier),)
    return {point.name: point.sum for point in points if point.dimensions == mine}


def test_rates_are_per_second_and_waits_in_seconds() -> None:
    values = of(measured(free_gib=40.0))
    assert values["ReadIOPS"] == pytest.approx(225)
    assert values["WriteIOPS"] == pytest.approx(675)
    assert values["WriteThroughput"] == pytest.approx(675 * 8_192)
    assert values["ReadLatency"] == pytest.approx(0.0005)
    assert values["FreeStorageSpace"] == 40 * 1024**3
    assert values["DiskQueueDepth"] == pytest.approx(900 * 0.0005)
    assert set(values) == {
        "ReadIOPS", "WriteIOPS", "ReadThroughput", "WriteThroughput", "ReadLatency", "WriteLatency",
        "DiskQueueDepth", "BurstBalance", "EBSIOBalance%", "EBSByteBalance%", "FreeStorageSpace",
    }  # fmt: skip


@pytest.mark.parametrize("iops", [0.0, 300.0, 900.0, 9_000.0])
def test_a_simulation_reads_the_same_figures(iops: float) -> None:
    """The simulated adapter reads `publish`, the endpoint's programs read this: one source."""
    facts, _ = minute(GP2, iops)
    same = _volume_values(
        {
            p.name: p.sum
            for p in datapoints(facts, volume_id="v", instance_id="i", configuration=GP2)
        }
    )
    values = of(measured(iops=iops))
    assert values["ReadIOPS"] == same["read_iops"]
    assert values["WriteThroughput"] / 1024**2 == pytest.approx(same["write_mibps"])
    assert values["DiskQueueDepth"] == same["queue_length"]
    assert values.get("BurstBalance") == same["burst_balance_percent"]
    latency = same["latency_ms"]
    assert ("ReadLatency" in values) == (latency is not None)
    if latency is not None:
        assert 1_000 * values["ReadLatency"] == pytest.approx(latency)


def test_a_direction_at_rest_has_no_latency() -> None:
    assert {"ReadLatency", "WriteLatency"} & set(of(measured(reads=0.0))) == {"WriteLatency"}
    idle = of(measured(iops=0.0))
    assert not {"ReadLatency", "WriteLatency", "BurstBalance"} & set(idle)
    assert (idle["ReadIOPS"], idle["WriteIOPS"], idle["DiskQueueDepth"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("configuration", "limits", "published"),
    [
        (GP2, "t3.medium", {"BurstBalance", "EBSIOBalance%", "EBSByteBalance%"}),
        (GP2, "m6i.32xlarge", {"BurstBalance"}),
        (GP2, None, {"BurstBalance"}),
        (IO1, "t3.medium", {"EBSIOBalance%", "EBSByteBalance%"}),
        (replace(GP2, size_gib=1_000), "m6i.32xlarge", {"BurstBalance"}),
    ],
)
def test_a_balance_is_published_where_there_is_one(
    configuration: Configuration, limits: str | None, published: set[str]
) -> None:
    assert {n for n in of(measured(configuration, limits=limits)) if "Balance" in n} == published


def test_balances_of_a_class_come_every_five_minutes() -> None:
    facts, physics = minute(GP2)
    storage_rules = VolumeLifecycle(GP2, created_at=START - timedelta(days=3))
    found = []
    for number in range(1, 7):
        facts = physics.minute(START + timedelta(minutes=number), storage_rules)
        points = database_datapoints(
            facts, members=(WRITER,), configuration=GP2, limits=instance_limits("t3.medium")
        )
        found += [number for name in of(points) if name == "EBSIOBalance%"]
    assert found == [5]


def test_every_datapoint_is_also_published_by_class_and_by_engine() -> None:
    sets = {point.dimensions for point in measured() if point.name == "ReadIOPS"}
    assert sets == {
        (("DBInstanceIdentifier", "orders"),), (("DatabaseClass", "db.t3.medium"),),
        (("EngineName", "postgres"),),
    }  # fmt: skip


def test_a_reader_of_a_cluster_writes_what_the_writer_writes_and_reads_nothing() -> None:
    points = measured(IO1, members=(WRITER, READER))
    writer, reader = of(points), of(points, "orders-2")
    assert reader["WriteIOPS"] == writer["WriteIOPS"] > 0
    assert (reader["ReadIOPS"], reader["ReadThroughput"]) == (0, 0)
    assert "ReadLatency" not in reader
    assert reader["WriteLatency"] == writer["WriteLatency"]
    assert reader["DiskQueueDepth"] == pytest.approx(0.75 * writer["DiskQueueDepth"])


def test_a_minute_that_was_not_measured_whole_is_not_published() -> None:
    facts, _ = minute(GP2)
    points = database_datapoints(
        facts._replace(measured_s=30.0), members=(WRITER,), configuration=GP2, limits=BOUNDLESS,
        free_gib=3.0,
    )  # fmt: skip
    assert points == []


def test_storage_fills_and_no_further_than_there_is_room() -> None:
    filling = Filling(used_gib=98, gib_per_hour=60)
    assert [filling.minute(100) for _ in range(4)] == [1, 0, 0, 0]
    assert filling.minute(110) == 9, "what found no room did not come later all at once"
    emptied = Filling(used_gib=1, gib_per_hour=-60)
    assert [emptied.minute(100) for _ in range(3)] == [100, 100, 100]


def test_another_class_brings_its_limits_and_full_balances() -> None:
    _, physics = minute(GP2)
    storage_rules = VolumeLifecycle(GP2, created_at=START - timedelta(days=3))
    for number in range(1, 5):
        facts = physics.minute(START + timedelta(minutes=number), storage_rules)
    physics.attach_to(Attachment(limits=instance_limits("m6i.large")))
    after = physics.minute(START + timedelta(minutes=5), storage_rules)
    assert facts.instance_io_balance_percent is not None
    assert facts.burst_balance_percent is not None
    assert after.burst_balance_percent is not None
    assert after.burst_balance_percent <= facts.burst_balance_percent, "the storage keeps its own"
    physics.attach_to(Attachment(limits=BOUNDLESS))
    free = physics.minute(START + timedelta(minutes=6), storage_rules)
    assert free.instance_io_balance_percent is None
