"""Volumes, their configurations, instances and modifications."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from math import ceil
from types import MappingProxyType

from headroom.domain.resources.databases import Database, DatabaseFacts
from headroom.domain.resources.later_names import LATER


class Kind(StrEnum):
    """Kinds of storage."""

    EBS = "ebs"
    RDS = "rds"
    """Storage of a DB instance or a Multi-AZ DB cluster."""
    AURORA = "aurora"


NOUNS: Mapping[Kind, str] = MappingProxyType(
    {Kind.EBS: "volume", Kind.RDS: "database", Kind.AURORA: "cluster"}
)
"""The noun for a resource of each kind."""


def spoken(kind: Kind, text: str) -> str:
    """`text` about a volume, with the noun of the kind."""
    return text if kind is Kind.EBS else re.sub(r"\bvolume\b", NOUNS[kind], text)


GOVERNED = (Kind.EBS, Kind.RDS, Kind.AURORA)
"""Kinds that a policy may name: those that Headroom changes."""


class VolumeType(StrEnum):
    """EBS volume types and the two storage modes of Aurora, as the APIs spell them."""

    GP3 = "gp3"
    GP2 = "gp2"
    IO1 = "io1"
    IO2 = "io2"
    ST1 = "st1"
    SC1 = "sc1"
    STANDARD = "standard"
    AURORA = "aurora"
    """Aurora Standard: I/O is billed."""
    AURORA_IOPT1 = "aurora-iopt1"
    """Aurora I/O-Optimized."""


STORAGE_MODES = (VolumeType.AURORA, VolumeType.AURORA_IOPT1)
EBS_TYPES = tuple(t for t in VolumeType if t not in STORAGE_MODES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRef:
    """One resource in one account and Region; `arn` is its key everywhere."""

    kind: Kind
    account_id: str
    region: str
    resource_id: str

    @property
    def noun(self) -> str:
        """Volume, database or cluster."""
        return NOUNS[self.kind]

    @property
    def arn(self) -> str:
        """The ARN, for example `arn:aws:ec2:us-east-1:123456789012:volume/vol-1`."""
        place = f"{self.region}:{self.account_id}"
        if self.kind is Kind.EBS:
            return f"arn:aws:ec2:{place}:volume/{self.resource_id}"
        # A Multi-AZ DB cluster is of kind RDS; its id is `cluster:NAME`.
        if self.kind is Kind.AURORA or self.resource_id.startswith("cluster:"):
            return f"arn:aws:rds:{place}:cluster:{self.resource_id.removeprefix('cluster:')}"
        return f"arn:aws:rds:{place}:db:{self.resource_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What one ModifyVolume call may set, or for a database one ModifyDBInstance call.

    `iops` is None for types that derive it (gp2, st1, sc1, standard); `throughput_mibps` is None
    for every type but gp3; both are None for gp3 of a database that is too small to have them
    set. Size in GiB, throughput in MiB/s, of one copy of the storage. An Aurora cluster has only a
    type; its size is 0 here.
    """

    volume_type: VolumeType
    size_gib: int
    iops: int | None
    throughput_mibps: int | None
    database: Database | None = field(default=None, metadata=LATER)
    """The database on RDS; None for a plain EBS volume."""

    @property
    def storage(self) -> Configuration:
        """Without the database, whose deployment its owner may change and Headroom never does."""
        return replace(self, database=None)

    def changed_from(self, then: Configuration) -> str:
        """What it is now and what it was, in words; the database where only that differs."""
        if self.storage == then.storage:
            return f"{self.database} now, it was {then.database}"
        return f"{self} now, it was {then}"

    def __str__(self) -> str:
        parts = [self.volume_type.value]
        if self.volume_type not in STORAGE_MODES:
            parts.append(f"{self.size_gib} GiB")
        if self.iops is not None:
            parts.append(f"{self.iops} IOPS")
        if self.throughput_mibps is not None:
            parts.append(f"{self.throughput_mibps} MiB/s")
        return " ".join(parts)


class ModificationState(StrEnum):
    """States of a volume modification as DescribeVolumesModifications reports them."""

    MODIFYING = "modifying"
    OPTIMIZING = "optimizing"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Modification:
    """The most recent modification of a volume; AWS keeps no other."""

    state: ModificationState
    started_at: datetime
    ended_at: datetime | None
    origin: Configuration
    target: Configuration
    progress_percent: int

    @property
    def in_flight(self) -> bool:
        """Whether AWS would refuse another change because of this one."""
        return self.state in (ModificationState.MODIFYING, ModificationState.OPTIMIZING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """An EBS volume as DescribeVolumes reports it, or the storage of a database."""

    ref: ResourceRef
    configuration: Configuration
    availability_zone: str
    state: str
    created_at: datetime
    instance_ids: tuple[str, ...]
    """Instances it is attached to; more than one only with Multi-Attach."""
    multi_attach: bool
    managed_by: str | None
    """The AWS service that owns it (Operator.Managed, or an attachment owned by a service)."""
    on_outpost: bool
    tags: tuple[tuple[str, str], ...]
    facts: DatabaseFacts | None = field(default=None, metadata=LATER)
    """What RDS reports about the database; None for an EBS volume."""
    attached_at: datetime | None = field(default=None, metadata=LATER)
    """Since when it is attached to its one instance, if it existed before; else None."""

    @property
    def in_local_zone(self) -> bool:
        """Whether it is in a Local or Wavelength Zone, which has prices of its own and fewer metrics.

        The name of a zone of the Region itself is the Region's and a letter.
        """
        zones = self.availability_zone.split(", ") if self.availability_zone else ()
        return any(len(zone) != len(self.ref.region) + 1 for zone in zones)

    def tag(self, key: str) -> str | None:
        """Value of tag `key`, or None if the volume has no such tag."""
        return dict(self.tags).get(key)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceLimits:
    """EBS limits of an instance type: IOPS at 16 KiB, throughput in MiB/s at 128 KiB.

    `baseline` is sustained; `maximum` holds for at least 30 minutes once per 24 h.
    Source: DescribeInstanceTypes EbsOptimizedInfo (which speaks of decimal MB/s).
    """

    instance_type: str
    nitro: bool
    baseline_iops: int
    baseline_mibps: float
    maximum_iops: int
    maximum_mibps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance and its volumes; `limits` is None if AWS does not report them."""

    instance_id: str
    limits: InstanceLimits | None
    volume_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Whole numbers from `low` to `high`, every `step`-th of them."""

    low: int
    high: int
    step: int = 1

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high and (value - self.low) % self.step == 0

    def least(self, wanted: float) -> int | None:
        """The smallest member that is at least `wanted`."""
        found = max(self.low, self.low + self.step * ceil((wanted - self.low) / self.step))
        return found if found <= self.high else None

    def most(self, wanted: float) -> int | None:
        """The largest member that is at most `wanted`."""
        found = self.low + self.step * int((min(wanted, self.high) - self.low) // self.step)
        return found if found >= self.low else None


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidStorage:
    """The settings that AWS reports as valid for one storage type of an instance.

    Source: DescribeValidDBInstanceModifications. Where a field is empty, the catalog's limit applies.
    """

    volume_type: VolumeType
    size_gib: Spans = ()
    iops: Spans = ()
    iops_per_gib: tuple[tuple[float, float], ...] = ()
    mibps: Spans = ()
    mibps_per_iops: tuple[tuple[float, float], ...] = ()


class PriceUnknown(LookupError):
    """No price is known for this Region or type, so no change may add cost there."""
