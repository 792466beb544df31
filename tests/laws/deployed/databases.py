"""RDS behind the wire: databases and Aurora clusters under AWS's rules, reported as they were a moment ago."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, StorageMode
from headroom.localaws.rds.changes import cluster_parameters, modify_cluster, modify_instance
from headroom.localaws.rds.creation import cluster_of, instance_of
from headroom.localaws.rds.databases import DatabaseStore, DbCluster, DbInstance
from headroom.localaws.rds.requests import settings_of
from headroom.localaws.rds.shapes import cluster_shape, instance_shape, valid_modifications
from headroom.localaws.state import AccountRegion, AwsError, Clock, ClockMode, Cloud, Identifiers
from headroom.localaws.state.cloud import Options
from headroom.proving.awsrules import AuroraRules, DatabaseRules, Delays
from tests.builders import NOW
from tests.laws.deployed.wire import Call, Refusal

DELAYS = Delays(
    modifying=timedelta(minutes=4), effect=timedelta(minutes=4), completed=timedelta(minutes=25)
)
NUMBERS = ("AllocatedStorage", "Iops", "StorageThroughput")
TAGS = {"headroom": "auto"}


@dataclass(slots=True, kw_only=True)
class Load:
    """What a database is asked to do, and what its owner set."""

    owner: Configuration
    loads: list[tuple[datetime, float]]
    free_gib: float = 200.0
    """Of the size at enrolment, at NOW; what is added to the size is free as well."""
    fills_gib_per_hour: float = 0.0

    def at(self, instant: datetime) -> float:
        """Operations/s that are wanted at an instant."""
        return next((iops for since, iops in reversed(self.loads) if since <= instant), 0.0)


@dataclass(slots=True, kw_only=True)
class Rds:
    """The databases of an account."""

    store: DatabaseStore = field(default_factory=lambda: _store())
    loads: dict[str, Load] = field(default_factory=dict)
    ios_a_day: dict[str, float] = field(default_factory=dict)
    """Billed I/O of each Aurora cluster."""

    def add_instance(self, name: str, storage: Configuration, load: Load, since: datetime) -> None:
        """A PostgreSQL instance in use since an instant."""
        settings = settings_of({}, "postgres", DBInstanceClass="db.r6g.2xlarge")
        rules = DatabaseRules(storage, created_at=since, settings=settings, delays=DELAYS)
        self.loads[name] = load
        self.store.instances[name] = DbInstance(
            name=name, engine="postgres", created_at=since, resource_id=f"db-{name.upper()}",
            settings=settings, storage_rules=rules, tags=dict(TAGS),
            api_fields={"AvailabilityZone": "us-east-1a"},
        )  # fmt: skip

    def add_cluster(self, name: str, ios_a_day: float, since: datetime) -> None:
        """An Aurora PostgreSQL cluster of two members."""
        settings = settings_of({"EngineVersion": "16.4"}, "aurora-postgresql")
        members = [f"{name}-1", f"{name}-2"]
        self.ios_a_day[name] = ios_a_day
        self.store.clusters[name] = DbCluster(
            name=name, engine="aurora-postgresql", created_at=since, settings=settings,
            resource_id=f"cluster-{name.upper()}", tags=dict(TAGS), members=members,
            aurora=AuroraRules(StorageMode.STANDARD, settings=settings),
            parameter_group="default.aurora-postgresql16",
        )  # fmt: skip
        for member in members:
            own = settings_of({}, "aurora-postgresql", DBInstanceClass="db.r7g.xlarge")
            self.store.instances[member] = DbInstance(
                name=member, engine="aurora-postgresql", created_at=since, settings=own,
                resource_id=f"db-{member.upper()}", cluster=name,
            )  # fmt: skip

    def answer(self, call: Call, now: datetime, lag: timedelta) -> Mapping[str, Any]:
        """One call; what it describes is `lag` old. Raises Refusal."""
        writes = call.operation.startswith("Modify")
        self.store.cloud.clock.set(now if writes else now - lag)
        try:
            return self._answer(call)
        except AwsError as refused:
            raise Refusal(refused.code, refused.message) from None

    def billed(self, name: str, now: datetime) -> Configuration:
        """What is paid for a database now."""
        rules = self.store.instances[name].storage_rules
        assert rules is not None
        return rules.lifecycle.billed(now)

    def measured(self, dimensions: Mapping[str, str], metric: str, at: datetime) -> float | None:
        """What CloudWatch publishes of a minute."""
        if "DBClusterIdentifier" in dimensions:
            ios = self.ios_a_day[dimensions["DBClusterIdentifier"]] / 1440 / 2
            return {"VolumeReadIOPs": ios, "VolumeWriteIOPs": ios, "VolumeBytesUsed": 1e11}.get(
                metric
            )
        name = dimensions["DBInstanceIdentifier"]
        if name not in self.loads:
            return {"CommitLatency": 2.0}.get(metric)
        rules, load = self.store.instances[name].storage_rules, self.loads[name]
        assert rules is not None
        can = capability(rules.lifecycle.effective(at))
        wanted = load.at(at)
        served = min(wanted, can.sustained_iops, can.sustained_mibps * 64)
        ms = 40.0 if wanted > served else 1.0
        size = rules.lifecycle.usable_size_gib(at)
        filled = load.fills_gib_per_hour * (at - NOW).total_seconds() / 3600
        return {
            "ReadIOPS": served / 2, "WriteIOPS": served / 2,
            "ReadThroughput": served * 8192, "WriteThroughput": served * 8192,
            "ReadLatency": ms / 1000, "WriteLatency": ms / 1000,
            "DiskQueueDepth": served * ms / 1000,
            "FreeStorageSpace": (load.free_gib - filled + size - load.owner.size_gib) * 1024**3,
        }.get(metric)  # fmt: skip

    def _answer(self, call: Call) -> Mapping[str, Any]:
        store, asked = self.store, call.asked
        match call.operation:
            case "DescribeDBInstances":
                only = asked.get("DBInstanceIdentifier")
                of = call.filters().get("db-cluster-id")
                found = [instance_of(store, only)] if only else list(store.instances.values())
                shapes = [instance_shape(store, i) for i in found if of is None or i.cluster in of]
                return {"DBInstances": shapes}
            case "DescribeDBClusters":
                only = asked.get("DBClusterIdentifier")
                clusters = [cluster_of(store, only)] if only else list(store.clusters.values())
                return {"DBClusters": [cluster_shape(store, each) for each in clusters]}
            case "DescribeValidDBInstanceModifications":
                one = instance_of(store, asked["DBInstanceIdentifier"])
                valid = valid_modifications(one, store.cloud.clock.now())
                return {"ValidDBInstanceModificationsMessage": valid}
            case "DescribeReservedDBInstances":
                return {"ReservedDBInstances": []}
            case "DescribeDBClusterParameters":
                group = asked["DBClusterParameterGroupName"]
                return {"Parameters": cluster_parameters(store, None, group)}
            case "ModifyDBInstance":
                return {"DBInstance": modify_instance(store, _typed(asked))}
            case "ModifyDBCluster":
                return {"DBCluster": modify_cluster(store, _typed(asked))}
        raise NotImplementedError(call.operation)


def _typed(asked: Mapping[str, Any]) -> dict[str, Any]:
    typed = {k: int(v) if k in NUMBERS else v for k, v in asked.items() if k != "Version"}
    return typed | {"ApplyImmediately": asked.get("ApplyImmediately") == "true"}


def _store() -> DatabaseStore:
    options = Options(state_dir=Path("."), cloudtrail=False)
    cloud = Cloud(options=options, clock=Clock(ClockMode.LOCKSTEP), ids=Identifiers(1))
    return DatabaseStore(cloud, AccountRegion())
