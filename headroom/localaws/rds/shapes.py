"""Databases in the shapes of the RDS API: DBInstance, DBCluster, what may be set, reservations.

Source: RDS API 2014-10-31 (botocore 1.44). What AWS leaves out is left out: StorageType of a
Standard cluster, StorageOperationStatus at rest, Iops of gp2.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from headroom.domain.catalog.rds import Band, bands, least_size
from headroom.domain.resources import (
    NVME_FAMILIES,
    Configuration,
    Database,
    Deployment,
    Span,
    StorageMode,
    VolumeType,
    family,
)
from headroom.localaws.rds.additional import valid_volumes, volume_shapes
from headroom.localaws.rds.databases import DatabaseStore, DbCluster, DbInstance
from headroom.localaws.rds.events import arn
from headroom.proving.awsrules import DatabaseRules

_OF_A_STRIPE = (3_000, 125)
"""IOPS and MiB/s that RDS reports of gp3 for each volume under storage that has neither set."""
_FARTHEST = 1e8


def instance_shape(store: DatabaseStore, one: DbInstance) -> dict[str, Any]:
    """A DBInstance now."""
    now = store.cloud.clock.now()
    region = store.account_region.region
    address = f"{one.name}.headroomlocal.{region}.rds.amazonaws.com"
    shape: dict[str, Any] = {
        "DBInstanceIdentifier": one.name,
        "DBInstanceArn": arn(store, one),
        "DbiResourceId": one.resource_id,
        "DBInstanceStatus": instance_status(store, one, now),
        "Engine": one.engine,
        "InstanceCreateTime": one.created_at,
        "MultiAZ": False,
        "PendingModifiedValues": {},
        "TagList": tag_list(one.tags),
        "PreferredMaintenanceWindow": one.settings.window,
        "Endpoint": {"Address": address, "Port": one.settings.value("Port", now)},
        "StorageEncrypted": False,
        "DeletionProtection": False,
        **one.api_fields,
    }
    for name in ("DBInstanceClass", "EngineVersion", "BackupRetentionPeriod"):
        shape[name] = one.settings.value(name, now)
    if one.storage_rules is not None:
        shape |= _own_storage(one.storage_rules, now)
        return shape | volume_shapes(one, _own_storage, now)
    assert one.cluster is not None
    pending = {"PendingModifiedValues": one.settings.pending(now)}
    return shape | _of_cluster(store.clusters[one.cluster], now) | pending


def instance_status(store: DatabaseStore, one: DbInstance, now: datetime) -> str:
    """DBInstanceStatus: a member's is its cluster's while that is at work on it."""
    cluster = store.clusters[one.cluster] if one.cluster else None
    if cluster is not None and cluster.storage_rules is not None:
        return cluster.storage_rules.status(now)
    if cluster is not None and cluster.aurora is not None and cluster.aurora.restarts(now):
        name = str(one.settings.value("DBInstanceClass", now))
        if family(name) in NVME_FAMILIES:
            return "rebooting"
    return one.status(now)


def cluster_shape(store: DatabaseStore, one: DbCluster) -> dict[str, Any]:
    """A DBCluster now."""
    now, region = store.cloud.clock.now(), store.account_region.region
    fields = {k: v for k, v in one.api_fields.items() if k != "PromotionTier"}
    shape: dict[str, Any] = {
        "DBClusterIdentifier": one.name,
        "DBClusterArn": arn(store, one),
        "DbClusterResourceId": one.resource_id,
        "Status": one.status(now),
        "Engine": one.engine,
        "EngineVersion": one.settings.value("EngineVersion", now),
        "EngineMode": "provisioned",
        "ClusterCreateTime": one.created_at,
        "AllocatedStorage": 1,
        "AvailabilityZones": [f"{region}{letter}" for letter in "abc"],
        "BackupRetentionPeriod": one.settings.value("BackupRetentionPeriod", now),
        "DBClusterMembers": [
            {"DBInstanceIdentifier": name, "IsClusterWriter": number == 0, "PromotionTier": 1,
             "DBClusterParameterGroupStatus": "in-sync"}
            for number, name in enumerate(one.members)
        ],
        "DBClusterParameterGroup": one.parameter_group,
        "MultiAZ": len(one.members) > 1,
        "Port": one.settings.value("Port", now),
        "PreferredMaintenanceWindow": one.settings.window,
        "TagList": tag_list(one.tags),
        "DeletionProtection": False,
        **fields,
    }  # fmt: skip
    if one.storage_rules is not None:
        storage = _own_storage(one.storage_rules, now)
        for name in ("MultiAZ", "DBInstanceClass"):
            storage.pop(name, None)
        shape |= storage
        shape["DBClusterInstanceClass"] = one.settings.value("DBClusterInstanceClass", now)
    elif one.aurora is not None:
        shape |= _mode(one, now)
    return shape


def valid_modifications(one: DbInstance, now: datetime) -> dict[str, Any]:
    """ValidDBInstanceModificationsMessage: the settings that this instance accepts."""
    assert one.storage_rules is not None
    return _valid_storage(one.storage_rules, now) | valid_volumes(one, _valid_storage, now)


def _valid_storage(storage_rules: DatabaseRules, now: datetime) -> dict[str, Any]:
    here = storage_rules.lifecycle.described(now)
    assert here.database is not None
    return {
        "Storage": [
            _valid(kind, here, found)
            for kind in VolumeType  # magnetic storage is not offered any more
            if kind is not VolumeType.STANDARD and (found := _ahead(here.database, kind, here))
        ],
        "ValidProcessorFeatures": [],
        "SupportsDedicatedLogVolume": False,
    }


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    """Tags as the API lists them."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def _own_storage(storage_rules: DatabaseRules, now: datetime) -> dict[str, Any]:
    here = storage_rules.lifecycle.described(now)
    assert here.database is not None
    shape: dict[str, Any] = {
        "StorageType": here.volume_type.value,
        "AllocatedStorage": here.size_gib,
        "StorageThroughput": here.throughput_mibps or 0,
        "MultiAZ": here.database.deployment is not Deployment.SINGLE_AZ,
        "PendingModifiedValues": storage_rules.pending(now),
    }
    if here.iops is not None:
        shape["Iops"] = here.iops
    if here.volume_type is VolumeType.GP3 and here.iops is None:
        stripes = here.database.stripes(here.size_gib)
        shape |= {"Iops": _OF_A_STRIPE[0] * stripes, "StorageThroughput": _OF_A_STRIPE[1] * stripes}
    if (
        storage_rules.max_allocated_gib is not None
        and storage_rules.max_allocated_gib > here.size_gib
    ):
        shape["MaxAllocatedStorage"] = storage_rules.max_allocated_gib
    working = storage_rules.operation(now)
    if working is not None:
        shape["StorageOperationStatus"], shape["StorageOperationPercentProgress"] = working
    return shape


def _of_cluster(one: DbCluster, now: datetime) -> dict[str, Any]:
    """The storage that a member has from its cluster."""
    shape: dict[str, Any] = {"DBClusterIdentifier": one.name, "AllocatedStorage": 1}
    if one.storage_rules is not None:
        shape |= _own_storage(one.storage_rules, now)
        shape |= {"DBInstanceClass": one.settings.value("DBClusterInstanceClass", now),
                  "MultiAZ": False}  # fmt: skip
    elif one.aurora is not None:
        shape["StorageType"] = one.aurora.mode(now).value
    return shape


def _mode(one: DbCluster, now: datetime) -> dict[str, Any]:
    aurora = one.aurora
    assert aurora is not None
    pending = aurora.settings.pending(now)
    if aurora.pending_storage_mode(now) is not None:
        pending["StorageType"] = aurora.pending_storage_mode(now)
    shape: dict[str, Any] = {"PendingModifiedValues": pending}
    if aurora.mode(now) is not StorageMode.STANDARD:
        shape["StorageType"] = aurora.mode(now).value
    if aurora.next_allowed_at() is not None:
        shape["IOOptimizedNextAllowedModificationTime"] = aurora.next_allowed_at()
    return shape


def _ahead(database: Database, kind: VolumeType, here: Configuration) -> list[Band]:
    """Bands of a type with sizes from the present one on."""
    return [
        band
        for band in bands(database, kind)
        if any(span.high >= here.size_gib for span in band.size_gib)
    ]


def _valid(kind: VolumeType, here: Configuration, found: list[Band]) -> dict[str, Any]:
    low = min(span.low for band in found for span in band.size_gib)
    high = max(span.high for band in found for span in band.size_gib)
    grown = max(low, least_size(here, here.size_gib + 1))
    sizes = [Span(low=here.size_gib, high=here.size_gib)] if low <= here.size_gib else []
    sizes += [Span(low=grown, high=high)] if grown <= high else []
    settable = [band for band in found if band.iops]
    shape: dict[str, Any] = {
        "StorageType": kind.value,
        "StorageSize": [_span(span) for span in sizes],
        "SupportsStorageAutoscaling": True,
    }
    if settable:
        shape["ProvisionedIops"] = [_span(span) for span in settable[-1].iops]
        shape["IopsToStorageRatio"] = [_ratio(settable[-1].iops_per_gib)]
    if settable and settable[-1].mibps:
        shape["ProvisionedStorageThroughput"] = [_span(span) for span in settable[-1].mibps]
        shape["StorageThroughputToIopsRatio"] = [_ratio(settable[-1].mibps_per_iops)]
    return shape


def _span(span: Span) -> dict[str, int]:
    return {"From": span.low, "To": span.high, "Step": span.step}


def _ratio(bounds: tuple[float, float]) -> dict[str, float]:
    return {"From": bounds[0], "To": min(bounds[1], _FARTHEST)}
