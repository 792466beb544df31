"""Databases of one account and Region under RDS's rules, and the events they cause."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.awsrules import (
    DATABASE_DELAYS,
    AuroraRules,
    DatabaseEvent,
    DatabaseRules,
    Delays,
    Settings,
)

CLUSTER = "cluster:"
"""Prefix of the name of a Multi-AZ DB cluster."""
ADDITIONAL = ("rdsdbdata2", "rdsdbdata3", "rdsdbdata4")
"""Names of additional storage volumes."""


@dataclass(slots=True, kw_only=True)
class _Database:
    """Fields of instances and clusters."""

    name: str
    engine: str
    created_at: datetime
    resource_id: str
    settings: Settings
    storage_rules: DatabaseRules | None = None
    """None without storage of its own: a member of a cluster, and an Aurora cluster."""
    tags: dict[str, str] = field(default_factory=dict)
    api_fields: dict[str, object] = field(default_factory=dict)
    """Further fields of the API, under its names, which the clock never changes."""


@dataclass(slots=True, kw_only=True)
class DbInstance(_Database):
    """A DB instance."""

    arn_kind: ClassVar = "db"
    event_type: ClassVar = ("RDS DB Instance Event", "DB_INSTANCE")
    class_setting: ClassVar = "DBInstanceClass"
    cluster: str | None = None
    additional: dict[str, DatabaseRules] = field(default_factory=dict)
    """Additional storage volumes by name."""

    def status(self, now: datetime) -> str:
        """DBInstanceStatus, as far as the instance itself is concerned."""
        own = self.settings.busy(now) or "available"
        found = [each.status(now) for each in self.all_rules()]
        return next((status for status in found if status != "available"), own)

    def all_rules(self) -> tuple[DatabaseRules, ...]:
        """The rules of all volumes, those of the primary one first."""
        primary = () if self.storage_rules is None else (self.storage_rules,)
        return (*primary, *self.additional.values())


@dataclass(slots=True, kw_only=True)
class DbCluster(_Database):
    """A Multi-AZ DB cluster (with storage rules), an Aurora cluster, or of Neptune or DocumentDB."""

    arn_kind: ClassVar = "cluster"
    event_type: ClassVar = ("RDS DB Cluster Event", "CLUSTER")
    class_setting: ClassVar = "DBClusterInstanceClass"
    aurora: AuroraRules | None = None
    members: list[str] = field(default_factory=list)
    """DB instances of it, the writer first."""
    parameter_group: str = ""

    def status(self, now: datetime) -> str:
        """Status of the cluster."""
        if self.storage_rules is not None:
            return self.storage_rules.status(now)
        return self.aurora.status(now) if self.aurora is not None else "available"


class DatabaseStore:
    """Every DB instance and cluster of an account and Region. Names are in lower case, as RDS keeps them."""

    def __init__(self, cloud: Cloud, account_region: AccountRegion) -> None:
        self.cloud = cloud
        self.account_region = account_region
        self.lock = threading.RLock()
        self.instances: dict[str, DbInstance] = {}
        self.clusters: dict[str, DbCluster] = {}
        self.reserved: list[Mapping[str, object]] = []
        """Reservations in the shape of DescribeReservedDBInstances."""
        self.parameters: dict[tuple[str, str], str] = {}
        """Values set in cluster parameter groups, by group and parameter."""

    @property
    def delays(self) -> Delays:
        """How long a change in place takes: as for a volume, but minutes of `modifying`."""
        delays = self.cloud.options.delays or DATABASE_DELAYS
        modifying = min(delays.completed, max(delays.modifying, DATABASE_DELAYS.modifying))
        return replace(delays, modifying=modifying)

    def names(self) -> list[str]:
        """Storage of databases: instances by id, Multi-AZ DB clusters `cluster:NAME`, volumes `ID/VOLUME`."""
        with self.lock:
            own = [
                prefix + name
                for prefix, databases in (("", self.instances), (CLUSTER, self.clusters))
                for name, database in databases.items()
                if database.storage_rules is not None
            ]
            return own + [
                f"{n}/{each}" for n, one in self.instances.items() for each in one.additional
            ]

    def database(self, name: str) -> DbInstance | DbCluster:
        """An instance by id or by one of its volumes, a cluster by `cluster:NAME`; raises KeyError."""
        if name.startswith(CLUSTER):
            return self.clusters[name.removeprefix(CLUSTER)]
        return self.instances[name.partition("/")[0]]

    def storage_rules(self, name: str) -> DatabaseRules:
        """The storage of a database by a name of `names`; raises KeyError."""
        database, volume = self.database(name), name.partition("/")[2]
        if volume:
            if not isinstance(database, DbInstance):
                raise KeyError(name)
            return database.additional[volume]
        if database.storage_rules is None:
            raise KeyError(name)
        return database.storage_rules

    def instance_class(self, name: str) -> str:
        """The class in force, for example `db.r6g.large`; raises KeyError."""
        database = self.database(name)
        return str(database.settings.value(database.class_setting, self.cloud.clock.now()))

    def aurora_names(self) -> list[str]:
        """Aurora clusters by name."""
        with self.lock:
            return [name for name, one in self.clusters.items() if one.aurora is not None]

    def existed_since(self, name: str, since: datetime) -> None:
        """A cluster of which something was published from `since` on was made by then."""
        with self.lock:
            cluster = self.clusters[name]
            cluster.created_at = min(cluster.created_at, since)

    def free_space(self, name: str, free_gib: float, gib_per_hour: float = 0.0) -> None:
        """Set what is left on a database's storage now; raises KeyError."""
        with self.lock:
            self.storage_rules(name).free_space(self.cloud.clock.now(), free_gib, gib_per_hour)

    def tags(self, dimensions: Mapping[str, str]) -> Mapping[str, str] | None:
        """Tags of the database that a metric of AWS/RDS is of; None where it is of none here."""
        for dimension, value in dimensions.items():
            key = dimension.lower()
            if key == "dbinstanceidentifier" and value in self.instances:
                return self.instances[value].tags
            if key == "dbclusteridentifier" and value in self.clusters:
                return self.clusters[value].tags
        return None

    def apply_due_changes(self) -> None:
        """Apply the changes whose maintenance window has begun."""
        now = self.cloud.clock.now()
        with self.lock:
            for name in self.names():
                self.storage_rules(name).apply_due_changes(now)
            for cluster in self.clusters.values():
                if cluster.aurora is not None:
                    cluster.aurora.apply_due_changes(now)

    def events_due(self, until: datetime) -> list[tuple[DatabaseEvent, str]]:
        """Events due by `until` with the database's name, in order of instant."""
        with self.lock:
            return sorted(
                (event, name)
                for name in self.names()
                for event in self.storage_rules(name).events_due(until)
            )


def tags_of_database(cloud: Cloud, arn: str) -> Mapping[str, str]:
    """Tags of the instance or cluster of this ARN; none where there is none."""
    store = database_store(cloud, AccountRegion.of_arn(arn))
    kind, _, name = arn.split(":", 5)[5].partition(":")
    known: Mapping[str, _Database] = store.clusters if kind == "cluster" else store.instances
    return known[name].tags if name in known else {}


def database_store(cloud: Cloud, account_region: AccountRegion) -> DatabaseStore:
    """The databases of an account and Region."""
    return cloud.part(DatabaseStore, account_region, lambda: DatabaseStore(cloud, account_region))
