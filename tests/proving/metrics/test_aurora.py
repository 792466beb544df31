"""What CloudWatch has of Aurora clusters: counts of five minutes, and whose dimensions they have."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headroom.domain.catalog.aurora import HOURS_PER_MONTH
from headroom.proving.metrics import AuroraMembers, Datapoint, DbMember, aurora_datapoints
from headroom.proving.workloads import (
    PERIOD,
    AuroraLoad,
    Load,
    Mix,
    Steps,
    Stretch,
    steady_billed_ios,
)

START = datetime(2026, 1, 5, tzinfo=UTC)
LOAD = AuroraLoad(
    storage_gib=100, acus=6, commit_latency_ms=4.0, steady_ios=steady_billed_ios(2_740), trace=None,
    read_share=0.25,
)  # fmt: skip
CLUSTER = AuroraMembers(
    cluster="orders", engine="aurora-postgresql",
    members=[
        DbMember(identifier="orders-1", instance_class="db.serverless", engine="aurora-postgresql"),
        DbMember(identifier="orders-2", instance_class="db.serverless", engine="aurora-postgresql"),
        DbMember(identifier="orders-3", instance_class="db.r7g.large", engine="aurora-postgresql"),
    ],
)  # fmt: skip


def measured(at: datetime = START, load: AuroraLoad = LOAD, **more: bool) -> list[Datapoint]:
    return aurora_datapoints(load, at, CLUSTER, **more)


def where(points: list[Datapoint], name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {p.dimensions: p.sum / p.samples for p in points if p.name == name}


def test_a_month_of_counts_adds_up_to_the_declared_month() -> None:
    reads = where(measured(), "VolumeReadIOPs")[(("DBClusterIdentifier", "orders"),)]
    writes = where(measured(), "VolumeWriteIOPs")[(("DBClusterIdentifier", "orders"),)]
    assert (reads + writes) * 12 * HOURS_PER_MONTH == pytest.approx(2_740e6)
    assert reads == pytest.approx(writes / 3)


def test_billed_io_is_published_under_both_spellings() -> None:
    sets = set(where(measured(), "VolumeReadIOPs"))
    assert sets == {
        (("DBClusterIdentifier", "orders"),),
        (("DbClusterIdentifier", "orders"), ("EngineName", "aurora-postgresql")),
    }


def test_commits_are_the_writers_and_capacity_each_serverless_members() -> None:
    commits, acus = (
        where(measured(), "CommitLatency"),
        where(measured(), "ServerlessDatabaseCapacity"),
    )
    assert (("DBInstanceIdentifier", "orders-1"),) in commits
    assert (("DBInstanceIdentifier", "orders-2"),) not in commits
    assert set(commits.values()) == {4.0}
    assert {v for k, v in acus.items() if k[0][0] == "DBInstanceIdentifier"} == {3.0}
    assert (("DBInstanceIdentifier", "orders-3"),) not in acus


def test_the_size_comes_once_an_hour() -> None:
    hours = [bool(where(measured(START + n * PERIOD), "VolumeBytesUsed")) for n in range(13)]
    assert hours == [True, *[False] * 11, True]
    assert set(where(measured(), "VolumeBytesUsed").values()) == {100 * 1024**3}


def test_without_billed_io_under_io_optimized_the_rest_is_still_published() -> None:
    points = measured(io_published=False)
    assert {p.name for p in points} == {
        "VolumeBytesUsed", "CommitLatency", "ServerlessDatabaseCapacity",
    }  # fmt: skip


def test_what_is_not_declared_is_not_published() -> None:
    plain = replace(LOAD, acus=0.0, commit_latency_ms=None)
    only = AuroraMembers(cluster="c", engine="aurora-mysql", members=CLUSTER.members[2:])
    names = {p.name for p in aurora_datapoints(plain, START, only)}
    assert names == {"VolumeReadIOPs", "VolumeWriteIOPs", "VolumeBytesUsed"}


def test_outside_a_trace_nothing_is_known_but_the_size() -> None:
    mix = Mix(read_share=0.5, read_bytes=8_192.0, write_bytes=8_192.0)
    trace = Steps(START, [Stretch(duration_s=900, load=Load(ops_per_s=10.0, mix=mix))])
    load = replace(LOAD, steady_ios=None, trace=trace)
    counts = [load.ios(START + n * PERIOD) for n in range(-1, 4)]
    assert counts == [None, pytest.approx(3_000), pytest.approx(3_000), pytest.approx(3_000), None]
    after = measured(START + timedelta(hours=1), load)
    assert {p.name for p in after} == {"VolumeBytesUsed"}
