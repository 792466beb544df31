"""An Aurora cluster, as far as it matters to the price and speed of its storage.

Source: Aurora User Guide, "Storage configurations for Amazon Aurora DB clusters" and "Amazon
CloudWatch metrics for Aurora" (checked 2026-10); RDS API 2014-10-31, DBCluster.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from headroom.domain.resources.observation import Series
from headroom.domain.resources.volumes import Configuration, ResourceRef, VolumeType

SERVERLESS = "db.serverless"
"""Class of Serverless v2 members, which are billed by the capacity unit (ACU)."""
GATE = timedelta(days=30)
"""A cluster can change to I/O-Optimized once in this time, and back to Standard at any time."""
NVME_FAMILIES = ("r6gd", "r6id", "r8gd")
"""Families with a cache on local NVMe, whose engine restarts when the storage mode changes."""
_WITH_NVME = re.compile(r"[a-z]+\d+[a-z]*d[a-z]*")
"""Future families are named alike: a `d` after the generation means local NVMe."""


class StorageMode(StrEnum):
    """DBCluster.StorageType; AWS leaves it out for Standard."""

    STANDARD = "aurora"
    IO_OPTIMIZED = "aurora-iopt1"

    @property
    def other(self) -> StorageMode:
        """The mode that a cluster can change to."""
        return next(mode for mode in StorageMode if mode is not self)


class Goal(StrEnum):
    """What the storage mode is chosen for."""

    COST = "cost"
    """The lower bill."""
    PERFORMANCE = "performance"
    """I/O-Optimized where commits are slow, within the price limit; not back for money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """`count` instances of one class; `SERVERLESS` ones are billed by their ACUs."""

    instance_class: str
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenMembers:
    """The members that a cluster had, and the UTC day on which they were last observed."""

    members: tuple[Member, ...]
    day: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraCluster:
    """A cluster as DescribeDBClusters and DescribeDBInstances report it."""

    ref: ResourceRef
    engine: str
    """`aurora-mysql` or `aurora-postgresql`."""
    engine_version: str
    status: str
    mode: StorageMode
    mode_since: datetime | None
    """Since when the present mode is known to be in force; None when unknown."""
    pending_storage_mode: StorageMode | None
    next_allowed_at: datetime | None
    """IOOptimizedNextAllowedModificationTime; None where AWS names none."""
    members: tuple[Member, ...]
    reserved: tuple[Member, ...] | None
    """Instances paid for by reservations that cover this cluster; None when not read."""
    parallel_query: bool | None
    """Whether aurora_parallel_query is on; None when not read, or for PostgreSQL."""
    tags: tuple[tuple[str, str], ...]
    writer: str | None = None
    """The member that commits; None when AWS reports none."""
    serverless_members: tuple[str, ...] = ()
    """Names of the members billed by ACU."""
    metrics_from: datetime | None = None
    """Metrics under its name from before this may be another cluster's, since deleted or renamed;
    None when all are its own."""

    @property
    def restarts(self) -> bool:
        """Whether a change of mode restarts the engine: members with a cache on NVMe."""
        return any(has_nvme(m.instance_class) for m in self.members)

    @property
    def serverless(self) -> bool:
        """Whether any member is billed by ACU."""
        return any(m.instance_class == SERVERLESS and m.count for m in self.members)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraActivity:
    """A cluster's metrics, in periods of five minutes on one grid; None where none was published."""

    read_ios: Series
    """VolumeReadIOPs: billed reads of the five minutes, a count, not a rate."""
    write_ios: Series
    """VolumeWriteIOPs, likewise. An instance's WriteIOPS is not what is billed."""
    bytes_used: Series
    """VolumeBytesUsed."""
    acus: Series
    """ServerlessDatabaseCapacity summed over the serverless members; empty if there are none."""
    commit_latency_ms: Series
    """CommitLatency of the writer."""
    hourly_ios: Series | None = None
    """Billed reads and writes by the hour over a longer past; None when not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraObservation:
    """What is read of one cluster before a decision about it."""

    at: datetime
    cluster: AuroraCluster
    activity: AuroraActivity

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("AuroraObservation.at has no time zone; pass an aware instant.")


def configuration_of(mode: StorageMode) -> Configuration:
    """What ModifyDBCluster sets of an Aurora cluster's storage: its mode alone."""
    return Configuration(
        volume_type=VolumeType(mode.value), size_gib=0, iops=None, throughput_mibps=None
    )


def mode_of(configuration: Configuration) -> StorageMode:
    """The storage mode in a cluster's configuration; raises ValueError for other storage."""
    return StorageMode(configuration.volume_type.value)


def family(instance_class: str) -> str:
    """`r6g` of `db.r6g.xlarge`."""
    parts = instance_class.split(".")
    return parts[1] if len(parts) == 3 else instance_class


def has_nvme(instance_class: str) -> bool:
    """Whether instances of the class have local NVMe, judging by its name."""
    name = family(instance_class)
    return name in NVME_FAMILIES or _WITH_NVME.fullmatch(name) is not None


def units(instance_class: str) -> float:
    """Normalized units of a class's size, in which reservations cover a family.

    Raises ValueError for a size that has none. Source: RDS User Guide, "Reserved DB instances".
    """
    size = instance_class.rsplit(".", 1)[-1]
    small = {"micro": 0.5, "small": 1.0, "medium": 2.0, "large": 4.0, "xlarge": 8.0}
    if size in small:
        return small[size]
    times = size.removesuffix("xlarge")
    if times.isdigit() and size.endswith("xlarge"):
        return 8.0 * int(times)
    raise ValueError(f"{instance_class} has no size whose units are known")
