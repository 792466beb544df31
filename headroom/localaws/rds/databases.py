"""Databases of one account and Region under RDS's rules, and the events they cause."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from headroom.domain.resources import StorageMode
from headroom.localaws.state import AccountRegion, Cloud
from headroom.proving.awsrules import (
    DATABASE_DELAYS,
    AuroraRules,
    DatabaseEvent,
    DatabaseRules,
    Delays,
    Settings,
    VolumeLifecycle,
)

CLUSTER = "cluster:"
"""What the name of a Multi-AZ DB cluster begins with, to tell it from an instance's."""


@dataclass(slots=True, kw_only=True)
class DbInstance:
    """A DB instance; a member of a cluster has no storage of its own."""

    name: str
    engine: str
    created_at: datetime
    resource_id: str
    settings: Settings
    storage_rules: DatabaseRules | None
    cluster: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    told: dict[str, object] = field(default_factory=dict)
    """What else the API tells of it, under the API's names, never changed by the clock."""

    def status(self, now: datetime) -> str:
        """DBInstanceStatus, as far as the instance itself is concerned."""
        own = self.settings.busy(now) or "available"
        return own if self.storage_rules is None else self.storage_rules.status(now)


@dataclass(slots=True, kw_only=True)
class DbCluster:
    """A Multi-AZ DB cluster (with a `life`), an Aurora cluster, or one of Neptune or DocumentDB."""

    name: str
    engine: str
    created_at: datetime
    resource_id: str
    settings: Settings
    storage_rules: DatabaseRules | None = None
    aurora: AuroraRules | None = None
    members: list[str] = field(default_factory=list)
    """DB instances of it, the writer first."""
    parameter_group: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    told: dict[str, object] = field(default_factory=dict)

    def status(self, now: datetime) -> str:
        """Status of the cluster."""
        if self.storage_rules is not None:
            return self.storage_rules.status(now)
        return self.aurora.status(now) if self.aurora is not None else "available"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraMember:
    """A DB instance of an Aurora cluster."""

    name: str
    instance_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraView:
    """An Aurora cluster at one instant; the writer is the first member."""

    name: str
    engine: str
    mode: StorageMode
    members: tuple[AuroraMember, ...]
    next_allowed_at: datetime | None


class DatabaseStore:
    """Every DB instance and cluster of a place. Names are in lower case, as RDS keeps them."""

    def __init__(self, cloud: Cloud, account_region: AccountRegion) -> None:
        self.cloud = cloud
        self.account_region = account_region
        self.lock = threading.RLock()
        self.instances: dict[str, DbInstance] = {}
        self.clusters: dict[str, DbCluster] = {}
        self.reserved: list[Mapping[str, object]] = []
        """Reservations, as DescribeReservedDBInstances tells them."""
        self.parameters: dict[tuple[str, str], str] = {}
        """Values set in cluster parameter groups, by group and parameter."""

    @property
    def delays(self) -> Delays:
        """How long a change in place takes: as of a volume, but `modifying` for minutes."""
        told = self.cloud.options.delays or DATABASE_DELAYS
        modifying = min(told.completed, max(told.modifying, DATABASE_DELAYS.modifying))
        return replace(told, modifying=modifying)

    def names(self) -> list[str]:
        """Databases with storage of their own: instances by id, Multi-AZ DB clusters `cluster:NAME`."""
        with self.lock:
            single = [name for name, one in self.instances.items() if one.storage_rules is not None]
            threes = [
                CLUSTER + name
                for name, one in self.clusters.items()
                if one.storage_rules is not None
            ]
            return single + threes

    def storage_rules(self, name: str) -> DatabaseRules:
        """A database with storage of its own, by a name of `names`; raises KeyError."""
        found: DbInstance | DbCluster = (
            self.clusters[name.removeprefix(CLUSTER)]
            if name.startswith(CLUSTER)
            else self.instances[name]
        )
        if found.storage_rules is None:
            raise KeyError(name)
        return found.storage_rules

    def lifecycle(self, name: str) -> VolumeLifecycle:
        """The storage of a database; raises KeyError."""
        return self.storage_rules(name).lifecycle

    def instance_class(self, name: str) -> str:
        """The class in force, for example `db.r6g.large`; raises KeyError."""
        storage_rules, now = self.storage_rules(name), self.cloud.clock.now()
        of = "DBClusterInstanceClass" if name.startswith(CLUSTER) else "DBInstanceClass"
        return str(storage_rules.settings.value(of, now))

    def engine(self, name: str) -> str:
        """The engine as the API spells it, for example `oracle-ee`; raises KeyError."""
        self.storage_rules(name)
        if name.startswith(CLUSTER):
            return self.clusters[name.removeprefix(CLUSTER)].engine
        return self.instances[name].engine

    def members(self, name: str) -> tuple[str, ...]:
        """DB instances that metrics of a database are published of, the writer first; KeyError."""
        if name.startswith(CLUSTER):
            return tuple(self.clusters[name.removeprefix(CLUSTER)].members)
        return (self.instances[name].name,)

    def aurora_names(self) -> list[str]:
        """Aurora clusters by name."""
        with self.lock:
            return [name for name, one in self.clusters.items() if one.aurora is not None]

    def existed_since(self, name: str, since: datetime) -> None:
        """A cluster of which something was published from `since` on was made by then."""
        with self.lock:
            cluster = self.clusters[name]
            cluster.created_at = min(cluster.created_at, since)

    def aurora(self, name: str) -> AuroraView:
        """An Aurora cluster now; raises KeyError."""
        with self.lock:
            now, cluster = self.cloud.clock.now(), self.clusters[name]
            if cluster.aurora is None:
                raise KeyError(name)
            return AuroraView(
                name=name,
                engine=cluster.engine,
                mode=cluster.aurora.mode(now),
                members=tuple(self._member(each, now) for each in cluster.members),
                next_allowed_at=cluster.aurora.next_allowed_at(),
            )

    def free_space(self, name: str, free_gib: float, gib_per_hour: float = 0.0) -> None:
        """Tell what is left on a database's storage now; raises KeyError."""
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
        """Apply what waited for a maintenance window that has begun."""
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
            found = [
                (each, name)
                for name in self.names()
                for each in self.storage_rules(name).events_due(until)
            ]
        return sorted(found)

    def _member(self, name: str, now: datetime) -> AuroraMember:
        settings = self.instances[name].settings
        return AuroraMember(name=name, instance_class=str(settings.value("DBInstanceClass", now)))


def database_store(cloud: Cloud, account_region: AccountRegion) -> DatabaseStore:
    """The databases of a place and what RDS's rules know of them."""
    return cloud.part(DatabaseStore, account_region, lambda: DatabaseStore(cloud, account_region))
