"""ModifyDBInstance and ModifyDBCluster: the rules a request falls under, and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headroom.localaws.rds.additional import modify_volume, refuse_beside
from headroom.localaws.rds.creation import cluster_of, instance_of
from headroom.localaws.rds.databases import DatabaseStore, DbCluster, DbInstance
from headroom.localaws.rds.requests import mode_of, refuse_unknown, window_of
from headroom.localaws.rds.shapes import cluster_shape, instance_shape, instance_status
from headroom.localaws.state import AwsError
from headroom.proving.awsrules import (
    COMBINATION,
    DEFERRED_SETTINGS,
    STORAGE_FIELDS,
    ModificationRefused,
    max_allocated_storage,
)

_AT_ONCE_ALWAYS = (
    "DeletionProtection", "PreferredMaintenanceWindow", "CopyTagsToSnapshot",
    "AutoMinorVersionUpgrade", "PreferredBackupWindow", "MasterUserPassword",
    "ServerlessV2ScalingConfiguration", "DBClusterParameterGroupName", "AllowMajorVersionUpgrade",
)  # fmt: skip
_COMMON = (*STORAGE_FIELDS, *DEFERRED_SETTINGS, *_AT_ONCE_ALWAYS, "ApplyImmediately")
_OF_INSTANCE = ("DBInstanceIdentifier", "MaxAllocatedStorage", "AdditionalStorageVolumes")
PARALLEL_QUERY = "aurora_parallel_query"


def modify_instance(store: DatabaseStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """One ModifyDBInstance, answering its DBInstance; raises AwsError and then changes nothing."""
    refuse_unknown(request, (*_COMMON, *_OF_INSTANCE))
    one = instance_of(store, str(request.get("DBInstanceIdentifier")))
    window_of(request)  # an invalid request changes nothing
    with store.lock:
        try:
            if one.storage_rules is None:
                _modify_member(store, one, request)
            elif request.get("AdditionalStorageVolumes"):
                modify_volume(one, request, store.cloud.clock.now())
            else:
                _modify_own(store, one, request)
        except ModificationRefused as refused:
            raise AwsError(refused.code, refused.message) from refused
        _apply_at_once(one, request)
        return instance_shape(store, one)


def modify_cluster(store: DatabaseStore, request: Mapping[str, Any]) -> dict[str, Any]:
    """One ModifyDBCluster, answering its DBCluster; raises AwsError and then changes nothing."""
    refuse_unknown(request, (*_COMMON, "DBClusterIdentifier"))
    one = cluster_of(store, str(request.get("DBClusterIdentifier")))
    now, at_once = store.cloud.clock.now(), bool(request.get("ApplyImmediately"))
    storage, others = _parts(request)
    window_of(request)
    with store.lock:
        try:
            if one.storage_rules is not None:
                one.storage_rules.modify(now, storage=storage, others=others, at_once=at_once)
            elif one.aurora is not None:
                _refuse_sizes(storage)
                mode = mode_of(storage)
                one.aurora.modify(now, mode=mode, others=others, at_once=at_once)
            elif storage or others:
                raise NotImplementedError(f"Changes of {one.engine} are not part of this endpoint.")
        except ModificationRefused as refused:
            raise AwsError(refused.code, refused.message) from refused
        _apply_at_once(one, request)
        if request.get("DBClusterParameterGroupName"):
            one.parameter_group = str(request["DBClusterParameterGroupName"])
        return cluster_shape(store, one)


def cluster_parameters(store: DatabaseStore, backend: Any, group: str) -> list[dict[str, Any]]:
    """Parameters of a cluster parameter group that bear on storage; raises AwsError."""
    engines = {one.engine for one in store.clusters.values() if one.parameter_group == group}
    own = getattr(backend, "db_cluster_parameter_groups", {}).get(group)
    if own is None and not group.startswith("default."):
        raise AwsError("DBParameterGroupNotFound", f"DBClusterParameterGroup not found: {group}")
    family = str(getattr(own, "family", "") or getattr(own, "db_parameter_group_family", ""))
    if "aurora-mysql" not in f"{group} {family} {' '.join(engines)}":
        return []
    return [
        {
            "ParameterName": PARALLEL_QUERY,
            "ParameterValue": store.parameters.get((group, PARALLEL_QUERY), "OFF"),
            "Description": "Enables use of parallel query.",
            "Source": "user" if (group, PARALLEL_QUERY) in store.parameters else "engine-default",
            "ApplyType": "dynamic", "DataType": "boolean", "AllowedValues": "ON,OFF",
            "IsModifiable": True, "ApplyMethod": "pending-reboot",
        }
    ]  # fmt: skip


def _modify_own(store: DatabaseStore, one: DbInstance, request: Mapping[str, Any]) -> None:
    assert one.storage_rules is not None
    storage, others = _parts(request)
    now, storage_rules = store.cloud.clock.now(), one.storage_rules
    most = request.get("MaxAllocatedStorage")
    size = max(
        int(storage.get("AllocatedStorage", 0)), storage_rules.lifecycle.described(now).size_gib
    )
    found = max_allocated_storage(most, size)
    at_once = bool(request.get("ApplyImmediately"))
    if storage and one.additional:
        refuse_beside(one, storage_rules, now)
    if storage or others or at_once:
        storage_rules.modify(now, storage=storage, others=others, at_once=at_once)
    if most is not None:
        storage_rules.max_allocated_gib = found


def _modify_member(store: DatabaseStore, one: DbInstance, request: Mapping[str, Any]) -> None:
    storage, others = _parts(request)
    now = store.cloud.clock.now()
    cluster = store.clusters[str(one.cluster)]
    if storage or cluster.storage_rules is not None:
        raise ModificationRefused(
            COMBINATION,
            "The specified DB Instance is a member of a cluster. Modify the DB cluster instead of "
            "the DB instance.",
        )
    if instance_status(store, one, now) != "available":
        raise ModificationRefused(
            "InvalidDBInstanceState", "Database instance is not in available state."
        )
    one.settings.ask(others, now)
    if request.get("ApplyImmediately"):
        one.settings.flush(now)


def _parts(request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The storage settings, and the others that wait for a window unless applied at once."""
    storage = {name: request[name] for name in STORAGE_FIELDS if name in request}
    return storage, {name: request[name] for name in DEFERRED_SETTINGS if name in request}


def _apply_at_once(one: DbInstance | DbCluster, request: Mapping[str, Any]) -> None:
    if "DeletionProtection" in request:
        one.api_fields["DeletionProtection"] = bool(request["DeletionProtection"])
    if "ServerlessV2ScalingConfiguration" in request:
        one.api_fields["ServerlessV2ScalingConfiguration"] = request[
            "ServerlessV2ScalingConfiguration"
        ]
    one.settings.window = window_of(request) or one.settings.window


def _refuse_sizes(storage: Mapping[str, Any]) -> None:
    wrong = sorted(set(storage) - {"StorageType"})
    if wrong:
        raise ModificationRefused(
            COMBINATION, f"Aurora DB clusters don't take the parameter {wrong[0]}."
        )
