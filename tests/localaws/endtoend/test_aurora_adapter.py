"""The deployed adapter on Aurora clusters: days, mode, gate, and one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.aurora import AuroraClusterStorage
from headroom.adapters.cloudwatch import CloudWatchAuroraMetrics
from headroom.domain.aurora import configuration_of
from headroom.domain.catalog.aurora import AuroraPrices, aurora_prices
from headroom.domain.resources import AuroraObservation, Kind, ResourceRef, StorageMode
from headroom.domain.state import Applied, Refused
from headroom.domain.workload import DAYS, cluster_demand
from headroom.proving.scenarios.aurora import parse_aurora
from headroom.proving.simulation.aurora_cluster import SimulatedCluster
from tests.localaws.conftest import Program

ACCOUNT, REGION = "123456789012", "us-east-1"
RESOURCE: dict[str, Any] = {
    "kind": "aurora", "members": [{"class": "db.r7g.xlarge", "count": 1},
                                  {"class": "db.serverless", "count": 2}],
    "io_millions_per_month": 2_740, "storage_gib": 100, "acus": 6, "commit_latency_ms": 4,
}  # fmt: skip


class Kept:
    """Notes, kept in memory."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}

    def note(self, name: str) -> str:
        return self.texts.get(name, "")

    def amend(self, name: str, change: Callable[[str], tuple[str, Any]]) -> Any:
        self.texts[name], given = change(self.note(name))
        return given


class Table:
    """The dated prices."""

    def aurora(self, region: str, engine: str) -> AuroraPrices:
        return aurora_prices(region)


def now(program: Program) -> datetime:
    return datetime.fromisoformat(program.aws.control("clock")["now"])


def storage(program: Program) -> AuroraClusterStorage:
    rds = program.client("rds")
    return AuroraClusterStorage(
        rds, metrics=CloudWatchAuroraMetrics(program.client("cloudwatch")), prices=Table(),
        notes=Kept(), clock=lambda: now(program), account_id=ACCOUNT, region=REGION,
    )  # fmt: skip


def cluster(program: Program, name: str, **load: Any) -> ResourceRef:
    rds = program.client("rds")
    rds.create_db_cluster(
        DBClusterIdentifier=name, Engine="aurora-postgresql", MasterUsername="a",
        MasterUserPassword="12345678",
    )  # fmt: skip
    for number, held in enumerate(("db.r7g.xlarge", "db.serverless", "db.serverless")):
        rds.create_db_instance(
            DBInstanceIdentifier=f"{name}-{number}", DBClusterIdentifier=name,
            Engine="aurora-postgresql", DBInstanceClass=held,
        )  # fmt: skip
    keys = ("io_millions_per_month", "storage_gib", "acus", "commit_latency_ms")
    request = {"cluster_id": name, **{key: RESOURCE[key] for key in keys}, **load}
    program.aws.control("load", request)
    return ResourceRef(kind=Kind.AURORA, account_id=ACCOUNT, region=REGION, resource_id=name)


def seen(place: AuroraClusterStorage, ref: ResourceRef, at: datetime) -> AuroraObservation:
    view = place.view(ref)
    assert view.cluster is not None
    return AuroraObservation(at=at, cluster=view.cluster, activity=place.activity(view.cluster, at))


def test_an_observation_equals_a_simulation_of_the_same_load(program: Program) -> None:
    ref = cluster(program, "same")
    program.tick(5)
    at = now(program)
    found = seen(storage(program), ref, at)
    scenario = parse_aurora({"resource": RESOURCE, "start": "2026-01-05T00:00:00Z"},
                            source="same", base=Path())  # fmt: skip
    simulated = SimulatedCluster(scenario).observed(at)
    here, there = (cluster_demand(one, slow_ms=10) for one in (found, simulated))
    assert len(here.days) == len(there.days) == DAYS
    for one, other in zip(here.days, there.days, strict=True):
        assert replace(one, ios=0, acus=0) == replace(other, ios=0, acus=0)
        assert one.ios == pytest.approx(other.ios)
        assert one.acus == pytest.approx(other.acus)
    assert here.storage_gib == there.storage_gib
    assert found.cluster.members == simulated.cluster.members
    assert found.cluster.mode is simulated.cluster.mode


def test_the_mode_is_changed_once_and_the_way_there_is_shut_for_30_days(program: Program) -> None:
    ref, place = cluster(program, "once"), storage(program)
    standard, optimized = (configuration_of(mode) for mode in StorageMode)
    place.view(ref)
    made = place.apply(ref, expected=standard, seen=None, target=optimized)
    assert isinstance(made, Applied)
    program.tick(10)
    found = seen(place, ref, now(program)).cluster
    assert found.mode is StorageMode.IO_OPTIMIZED
    assert found.next_allowed_at == made.started_at + timedelta(days=30)
    assert found.mode_since == made.started_at.astimezone(UTC)
    program.client("rds").modify_db_cluster(
        DBClusterIdentifier="once", StorageType="aurora", ApplyImmediately=True
    )
    program.tick(15)  # an older answer is believed after ten minutes
    change = place.view(ref).modification
    assert change is not None
    again = place.apply(ref, expected=standard, seen=change.started_at, target=optimized)
    assert isinstance(again, Refused)
    assert again.code == "StorageTypeNotAvailableFault"


def test_without_billed_io_under_io_optimized_its_days_are_not_known(program: Program) -> None:
    ref, place = cluster(program, "dark", io_published_when_optimized=False), storage(program)
    program.client("rds").modify_db_cluster(
        DBClusterIdentifier="dark", StorageType="aurora-iopt1", ApplyImmediately=True
    )
    program.tick(10)
    place.view(ref)
    program.aws.control("clock", {"set": (now(program) + timedelta(days=4)).isoformat()})
    program.tick(5)
    found = cluster_demand(seen(place, ref, now(program)), slow_ms=10)
    assert (found.days, found.known) == ((), False)
