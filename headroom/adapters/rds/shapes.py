"""RDS's answers about DB instances and Multi-AZ DB clusters, as the domain's nouns.

Shapes: RDS API 2014-10-31 (botocore 1.44). Every function takes one element of a response. The same
calls also list Neptune, DocumentDB, Aurora and RDS Custom, which `ours` keeps out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from headroom.adapters.rds.additional import (
    STORAGE,
    Shape,
    additional_volume,
    as_storage,
    with_name,
)
from headroom.domain.catalog.rds import ObservedStorage, band_of, flushed, why_invalid
from headroom.domain.resources import (
    PRIMARY_VOLUME,
    Configuration,
    Database,
    DatabaseFacts,
    Deployment,
    Engine,
    Kind,
    ResourceRef,
    Span,
    Spans,
    ValidStorage,
    Volume,
    VolumeType,
)

MALFORMED = (KeyError, ValueError, TypeError, AttributeError)
"""What reading an element raises when it is not as documented, or has an unknown value."""

CLUSTER = "cluster:"
AVAILABLE = "available"
_MODIFYING = "modifying"
_WORKING = ("storage-optimization", "storage-initialization", "storage-config-upgrade")
"""Statuses in which RDS works on the storage. Source: RDS User Guide, "DB instance status"."""
_FAMILIES = {
    **{engine.value: engine for engine in Engine},
    **{f"oracle-{edition}": Engine.ORACLE
       for edition in ("ee", "ee-cdb", "se2", "se2-cdb", "se1", "se")},
    **{f"sqlserver-{edition}": Engine.SQL_SERVER
       for edition in ("ee", "se", "ex", "web", "dev-ee")},
    **{f"db2-{edition}": Engine.DB2 for edition in ("se", "ae", "ce")},
}  # fmt: skip
_OF_A_STRIPE = (3_000, 125)
"""IOPS and MiB/s that gp3 includes on each of the volumes under the storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedInstance:
    """One response about one database, in parts: its volume, and what RDS does with its storage."""

    volume: Volume
    seen: ObservedStorage

    @property
    def facts(self) -> DatabaseFacts:
        """What RDS says of the database beside its storage."""
        if self.volume.facts is None:
            raise ValueError(f"{self.volume.ref.resource_id} tells nothing of its database")
        return self.volume.facts


def ours(shape: Shape) -> bool:
    """Whether it is storage that ModifyDBInstance or ModifyDBCluster sets IOPS and size of.

    Not Aurora, Neptune or DocumentDB (one storage service under a cluster), not RDS Custom (its
    volumes are the account's own), not a member of a Multi-AZ DB cluster (seen as its cluster).
    """
    engine = str(shape.get("Engine", ""))
    if engine not in _FAMILIES:
        return False
    member = "DBInstanceIdentifier" in shape and bool(shape.get("DBClusterIdentifier"))
    return not member


def is_supported_engine(shape: Shape) -> bool:
    """Whether the engine is one that somebody thought of, ours or left out on purpose."""
    engine = str(shape.get("Engine", ""))
    return engine in _FAMILIES or engine.startswith(("aurora", "neptune", "docdb", "custom-"))


def instance(
    shape: Shape, *, account_id: str, region: str, additional: str | None = None
) -> ReportedInstance:
    """A DB instance's storage, or its `additional` volume; raises one of MALFORMED for what is not understood."""
    several = bool(shape.get("AdditionalStorageVolumes"))
    shape = shape if additional is None else as_storage(shape, additional)
    deployment = Deployment.MULTI_AZ if shape.get("MultiAZ") else Deployment.SINGLE_AZ
    name, status = shape["DBInstanceIdentifier"], shape["DBInstanceStatus"]
    size, most = int(shape["AllocatedStorage"]), shape.get("MaxAllocatedStorage")
    facts = DatabaseFacts(
        instance_class=shape["DBInstanceClass"],
        status=status,
        members=(name,),
        max_allocated_gib=int(most) if most and int(most) > size else None,
        operation=shape.get("StorageOperationStatus"),
        replica_of=shape.get("ReadReplicaSourceDBInstanceIdentifier"),
        unusual=_unusual(shape),
        additional=tuple(map(additional_volume, shape.get("AdditionalStorageVolumes") or ())),
        volume_name=(additional or PRIMARY_VOLUME) if several else None,
    )
    suffix = "" if additional is None else f"/{additional}"
    return _reported(
        shape, name + suffix, deployment, facts, account_id=account_id, region=region,
        identity=shape["DbiResourceId"] + suffix, created_at=shape["InstanceCreateTime"],
    )  # fmt: skip


def cluster(shape: Shape, *, account_id: str, region: str) -> ReportedInstance:
    """A Multi-AZ DB cluster; raises one of MALFORMED for what is not understood."""
    members = sorted(shape["DBClusterMembers"], key=lambda m: not m.get("IsClusterWriter"))
    facts = DatabaseFacts(
        instance_class=shape["DBClusterInstanceClass"],
        status=shape["Status"],
        members=tuple(m["DBInstanceIdentifier"] for m in members),
    )
    return _reported(
        shape, CLUSTER + shape["DBClusterIdentifier"], Deployment.CLUSTER, facts,
        account_id=account_id, region=region, identity=shape["DbClusterResourceId"],
        created_at=shape["ClusterCreateTime"],
    )  # fmt: skip


def cluster_of_member(shape: Shape) -> str | None:
    """The Multi-AZ DB cluster that a DB instance is a member of; None for any other."""
    cluster = shape.get("DBClusterIdentifier")
    member = "DBInstanceIdentifier" in shape and str(shape.get("Engine", "")) in _FAMILIES
    return str(cluster) if member and cluster else None


def with_members(reported: ReportedInstance, members: Iterable[Shape]) -> ReportedInstance:
    """A cluster with what only its members show: a class left pending, work on their storage.

    Source: RDS API 2014-10-31; ClusterPendingModifiedValues has no DBInstanceClass. Raises
    ValueError when RDS lists fewer members than the cluster has.
    """
    found = list(members)
    missing = set(reported.facts.members) - {each["DBInstanceIdentifier"] for each in found}
    if missing or not found:
        raise ValueError(f"RDS tells nothing of {', '.join(sorted(missing)) or 'any member'}")
    pending = set(reported.facts.pending)
    for each in found:  # their storage is the cluster's, which reports it itself
        names = flushed(each.get("PendingModifiedValues") or {})
        pending |= {name for name in names if name not in STORAGE}
    statuses = (reported.facts.status, *(each["DBInstanceStatus"] for each in found))
    status = next((s for s in statuses if s != AVAILABLE), AVAILABLE)
    operations = (reported.facts.operation, *(each.get("StorageOperationStatus") for each in found))
    operation = next((o for o in operations if o is not None), None)
    working = operation is not None or any(s in _WORKING for s in statuses)
    facts = replace(
        reported.facts, status=status, operation=operation, pending=tuple(sorted(pending))
    )
    return ReportedInstance(
        volume=replace(reported.volume, facts=facts, state=status),
        seen=replace(
            reported.seen,
            working=working,
            applying=_MODIFYING in statuses,
            settled=status == AVAILABLE and not working,
        ),
    )


def applied_with(answer: Shape, additional: str | None = None) -> tuple[str, ...]:
    """Names of changes not of the storage that RDS answers to apply with ours; sorted."""
    shape = answer.get("DBInstance") or answer.get("DBCluster") or {}
    shape = shape if additional is None else as_storage(shape, additional)
    pending = shape.get("PendingModifiedValues") or {}
    return tuple(name for name in flushed(pending) if name not in STORAGE)


def _reported(
    shape: Shape, resource_id: str, deployment: Deployment, facts: DatabaseFacts, *,
    account_id: str, region: str, identity: str, created_at: datetime,
) -> ReportedInstance:  # fmt: skip
    database = Database(engine=_FAMILIES[shape["Engine"]], deployment=deployment)
    now = configuration(shape, database)
    pending = shape.get("PendingModifiedValues") or {}
    working = facts.operation is not None or facts.status in _WORKING
    working |= any(each.at_work for each in facts.additional)
    target = _heads_for(shape, pending, now)
    seen = ObservedStorage(
        identity=identity, configuration=now, target=target, working=working,
        applying=facts.status == _MODIFYING, settled=facts.status == AVAILABLE and not working,
        progress_percent=int(shape.get("StorageOperationPercentProgress") or 0),
    )  # fmt: skip
    odd = facts.unusual or why_invalid(now)
    volume = Volume(
        ref=ResourceRef(
            kind=Kind.RDS, account_id=account_id, region=region, resource_id=resource_id
        ),
        configuration=now,
        availability_zone=shape.get("AvailabilityZone")
        or ", ".join(sorted(shape.get("AvailabilityZones") or ())),
        state=facts.status,
        created_at=created_at.astimezone(UTC),
        instance_ids=facts.members[:1],
        multi_attach=False,
        managed_by=None,
        on_outpost=_on_outpost(shape),
        tags=tuple(sorted((t["Key"], t.get("Value", "")) for t in shape.get("TagList") or ())),
        facts=replace(facts, pending=flushed(pending), unusual=odd),
    )
    return ReportedInstance(volume=volume, seen=seen)


def configuration(shape: Shape, database: Database) -> Configuration:
    """What may be set of the storage, and nothing that its type and size derive.

    Raises ValueError for provisioned storage that reports no IOPS, and for an unknown type.
    """
    kind, size = VolumeType(shape["StorageType"]), int(shape["AllocatedStorage"])
    bare = Configuration(
        volume_type=kind, size_gib=size, iops=None, throughput_mibps=None, database=database
    )
    band = band_of(bare)
    iops = int(shape.get("Iops") or 0) or None
    mibps = int(shape.get("StorageThroughput") or 0) or None
    if kind is VolumeType.GP3:
        stripes = database.stripes(size)
        iops, mibps = iops or _OF_A_STRIPE[0] * stripes, mibps or _OF_A_STRIPE[1] * stripes
    if kind in (VolumeType.IO1, VolumeType.IO2) and not iops:
        raise ValueError(f"{kind.value} storage reports no IOPS")
    return replace(
        bare,
        iops=iops if band is not None and band.iops else None,
        throughput_mibps=mibps if band is not None and band.mibps else None,
    )


def _heads_for(shape: Shape, pending: Shape, now: Configuration) -> Configuration | None:
    """What the pending values make of the storage; None where none of them is of the storage."""
    changes = {name: pending[name] for name in STORAGE if pending.get(name)}
    if not changes or now.database is None:
        return None
    target = configuration({**shape, **changes}, now.database)
    return None if target == now else target


def own_pending_only(pending: Iterable[str]) -> bool:
    """Whether all pending names are of the storage itself."""
    return set(pending) <= set(STORAGE)


def _unusual(shape: Shape) -> str | None:
    """Storage whose limits, or whose metrics, are not known here.

    Source: RDS User Guide, "Upgrading the storage file system for a DB instance" (checked 2026-11).
    """
    if shape.get("IsStorageConfigUpgradeAvailable"):
        return "an old file system, which RDS upgrades through a blue/green deployment or a new read replica"
    if shape.get("DedicatedLogVolume"):
        return "a dedicated log volume, which shares the instance's limits"
    return None


def _on_outpost(shape: Shape) -> bool:
    subnets = (shape.get("DBSubnetGroup") or {}).get("Subnets") or ()
    return shape.get("BackupTarget") == "outposts" or any(
        (subnet.get("SubnetOutpost") or {}).get("Arn") for subnet in subnets
    )


def valid_storage(answer: Shape, additional: str | None = None) -> tuple[ValidStorage, ...]:
    """What DescribeValidDBInstanceModifications says of each type; an unknown type is left out.

    Raises ValueError where it says nothing of the `additional` volume.
    """
    message = answer["ValidDBInstanceModificationsMessage"]
    if additional is not None:
        (message,), _ = with_name(message["AdditionalStorage"]["Volumes"], additional)
    known = set(VolumeType)
    return tuple(
        ValidStorage(
            volume_type=VolumeType(one["StorageType"].lower()),
            size_gib=_spans(one.get("StorageSize")),
            iops=_spans(one.get("ProvisionedIops")),
            iops_per_gib=_ratios(one.get("IopsToStorageRatio")),
            mibps=_spans(one.get("ProvisionedStorageThroughput")),
            mibps_per_iops=_ratios(one.get("StorageThroughputToIopsRatio")),
        )
        for one in message.get("Storage") or ()
        if one["StorageType"].lower() in known
    )


def _spans(ranges: Iterable[Shape] | None) -> Spans:
    return tuple(
        Span(low=int(r["From"]), high=int(r["To"]), step=max(1, int(r.get("Step") or 1)))
        for r in ranges or ()
    )


def _ratios(ranges: Iterable[Shape] | None) -> tuple[tuple[float, float], ...]:
    return tuple((float(r["From"]), float(r["To"])) for r in ranges or ())


def class_type(instance_class: str) -> str | None:
    """The EC2 instance type behind an instance class; None where the name does not show it.

    Classes with memory multiples (`db.r5.large.tpc1.mem2x`) run on another, larger type.
    """
    parts = instance_class.split(".")
    return ".".join(parts[1:]) if len(parts) == 3 and parts[0] == "db" else None
