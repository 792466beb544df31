"""Database storage: engine, deployment, and the volumes under it.

Source: RDS User Guide, "Amazon RDS DB instance storage" and "Multi-AZ deployments" (checked
2026-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from headroom.domain.resources.later_names import LATER

STRIPES = 4
"""EBS volumes that RDS stripes storage over from the engine's threshold on; one below it."""


class Engine(StrEnum):
    """Engines of RDS by family: editions (`oracle-ee`, `sqlserver-web`) share one set of limits."""

    MYSQL = "mysql"
    MARIADB = "mariadb"
    POSTGRESQL = "postgres"
    ORACLE = "oracle"
    SQL_SERVER = "sqlserver"
    DB2 = "db2"


class Deployment(StrEnum):
    """Deployments: how many copies of the storage exist, and which API call changes them."""

    SINGLE_AZ = "single_az"
    MULTI_AZ = "multi_az"
    """An instance and a standby: ModifyDBInstance changes both."""
    CLUSTER = "cluster"
    """A Multi-AZ DB cluster, a writer and two readable standbys: ModifyDBCluster changes all."""


COPIES: Mapping[Deployment, int] = MappingProxyType(
    {Deployment.SINGLE_AZ: 1, Deployment.MULTI_AZ: 2, Deployment.CLUSTER: 3}
)
"""Copies of the storage that are billed."""

STRIPED_FROM_GIB: Mapping[Engine, int] = MappingProxyType(
    {
        Engine.MYSQL: 400,
        Engine.MARIADB: 400,
        Engine.POSTGRESQL: 400,
        Engine.DB2: 400,
        Engine.ORACLE: 200,
    }
)
"""Size from which RDS stripes; SQL Server is not here because it never does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """The database of a storage configuration."""

    engine: Engine
    deployment: Deployment = Deployment.SINGLE_AZ

    def stripes(self, size_gib: int) -> int:
        """EBS volumes under storage of `size_gib` GiB."""
        threshold = STRIPED_FROM_GIB.get(self.engine)
        return STRIPES if threshold is not None and size_gib >= threshold else 1

    def __str__(self) -> str:
        return f"{self.engine} {self.deployment.value.replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdditionalVolume:
    """An additional storage volume of an Oracle or SQL Server instance, as RDS describes it.

    Nothing is calculated from it: a number that RDS does not report is None.
    """

    name: str
    """`RDSDBDATA2` to `RDSDBDATA4`."""
    volume_type: str
    """`gp3` or `io2`; empty where RDS reports none."""
    size_gib: int | None
    iops: int | None
    mibps: int | None
    status: str
    """StorageVolumeStatus, such as `ACTIVE` or `VOLUME-FULL`; empty where RDS reports none."""
    operation: str | None
    """StorageOperationStatus while RDS works on it."""

    @property
    def at_work(self) -> bool:
        """Whether RDS works on it, or may: any status but those of a volume at rest."""
        return self.operation is not None or self.status.upper() not in AT_REST

    def __str__(self) -> str:
        numbers = ((self.size_gib, "GiB"), (self.iops, "IOPS"), (self.mibps, "MiB/s"))
        amounts = [f"{number} {unit}" for number, unit in numbers if number is not None]
        status = [] if self.status.upper() in ("", "ACTIVE") else [self.status]
        return " ".join(each for each in (self.name, self.volume_type, *amounts, *status) if each)


PRIMARY_VOLUME = "rdsdbdata"
"""RDS's name of the primary volume of an instance that has additional ones. Source: RDS User Guide,
"Working with storage in RDS for Oracle" (2026-11)."""
AT_REST = frozenset({"", "ACTIVE", "NOT-IN-USE", "VOLUME-FULL"})
"""Statuses of an additional volume that RDS does not work on. Source: RDS API 2014-10-31 (botocore 1.44)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseFacts:
    """What RDS reports about a database beside its storage, as far as a storage change depends on it."""

    instance_class: str
    """For example `db.r6g.large`: its EBS limits are those of the storage above it."""
    status: str
    """DBInstanceStatus or the cluster's Status; anything but `available` takes no change."""
    members: tuple[str, ...]
    """DB instances with the storage's metrics; in a cluster the writer first."""
    pending: tuple[str, ...] = ()
    """Names of pending changes, of this storage or anything else, that are not being applied."""
    max_allocated_gib: int | None = None
    """Maximum of RDS storage autoscaling; None if it is off."""
    operation: str | None = None
    """StorageOperationStatus while RDS works on the storage, None while it does not."""
    replica_of: str | None = None
    unusual: str | None = None
    """Why its metrics or its layout cannot be interpreted; None if they can."""
    additional: tuple[AdditionalVolume, ...] = field(default=(), metadata=LATER)
    """Volumes of the instance beside its primary one; the instance's own metrics then add up all of them."""
    volume_name: str | None = field(default=None, metadata=LATER)
    """Which of several volumes this is, in lower case: `rdsdbdata` is the primary one; None where it is the only one."""

    @property
    def grows_by_itself(self) -> bool:
        """Whether RDS's storage autoscaling is on."""
        return self.max_allocated_gib is not None
