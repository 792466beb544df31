"""Creates and deletes databases, for CreateDB* and for CloudFormation.

Source: RDS API 2014-10-31, CreateDBInstance, CreateDBCluster, DeleteDBInstance and DeleteDBCluster
(checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headroom.domain.resources import Database, Deployment, StorageMode
from headroom.localaws.rds.additional import volumes_made
from headroom.localaws.rds.databases import DatabaseStore, DbCluster, DbInstance
from headroom.localaws.rds.events import put_database_event
from headroom.localaws.rds.requests import (
    OF_CLUSTER,
    OF_INSTANCE,
    api_fields_of,
    mode_of,
    new_name,
    refuse_unknown,
    required_parameter,
    settings_of,
    tags_of,
)
from headroom.localaws.state import AwsError
from headroom.proving.awsrules import (
    AURORA_ENGINES,
    OTHER_ENGINES,
    AuroraRules,
    DatabaseRules,
    ModificationRefused,
    Settings,
    engine_of,
    max_allocated_storage,
    storage_made,
)

_MEMBERS = 3
"""DB instances of a Multi-AZ DB cluster."""


def make_instance(store: DatabaseStore, request: Mapping[str, Any]) -> DbInstance:
    """One CreateDBInstance, or CreateDBInstanceReadReplica where a source is named; AwsError."""
    refuse_unknown(request, OF_INSTANCE)
    source = request.get("SourceDBInstanceIdentifier")
    if source is not None:
        request = _as_source(store, str(source).lower(), request)
    name = new_name(request, "DBInstanceIdentifier", store.instances, "DBInstanceAlreadyExists")
    engine = required_parameter(request, "Engine")
    settings = settings_of(
        request, engine, DBInstanceClass=required_parameter(request, "DBInstanceClass")
    )
    cluster = request.get("DBClusterIdentifier")
    made = DbInstance(
        name=name, engine=engine, created_at=store.cloud.clock.now(), settings=settings,
        resource_id=_resource_id(store, "db"), tags=tags_of(request), api_fields=api_fields_of(request),
        storage_rules=None if cluster else _storage_rules(store, request, engine, settings),
        cluster=_joined(store, str(cluster).lower(), engine) if cluster else None,
    )  # fmt: skip
    made.additional = _additional(store, request, made)
    made.api_fields |= _where(store, request, len(store.instances))
    if source is not None:
        made.api_fields["ReadReplicaSourceDBInstanceIdentifier"] = str(source).lower()
    with store.lock:
        store.instances[name] = made
        if made.cluster:
            store.clusters[made.cluster].members.append(name)
    put_database_event(store, made, "RDS-EVENT-0005")
    return made


def make_cluster(store: DatabaseStore, request: Mapping[str, Any]) -> DbCluster:
    """One CreateDBCluster; a Multi-AZ DB cluster gets its three members. Raises AwsError."""
    refuse_unknown(request, OF_CLUSTER)
    name = new_name(request, "DBClusterIdentifier", store.clusters, "DBClusterAlreadyExistsFault")
    engine = required_parameter(request, "Engine")
    own_storage = engine not in (*AURORA_ENGINES, *OTHER_ENGINES)
    of_members = required_parameter(request, "DBClusterInstanceClass") if own_storage else None
    classes = {"DBClusterInstanceClass": str(of_members)} if own_storage else {}
    settings = settings_of(request, engine, **classes)
    group = f"default.{engine}{'8.0' if engine == 'aurora-mysql' else ''}"
    made = DbCluster(
        name=name, engine=engine, created_at=store.cloud.clock.now(), settings=settings,
        resource_id=_resource_id(store, "cluster"), tags=tags_of(request), api_fields=api_fields_of(request),
        parameter_group=str(request.get("DBClusterParameterGroupName") or group),
        aurora=AuroraRules(mode_of(request) or StorageMode.STANDARD, settings=settings) if engine in AURORA_ENGINES else None,
        storage_rules=_storage_rules(store, request, engine, settings, cluster=True) if own_storage else None,
    )  # fmt: skip
    with store.lock:
        store.clusters[name] = made
        if own_storage:
            _with_members(store, made)
    put_database_event(store, made, "RDS-EVENT-0170")
    return made


def delete_instance(store: DatabaseStore, name: str) -> DbInstance:
    """Delete at once; raises AwsError for a protected instance or a member of a Multi-AZ DB cluster."""
    found = instance_of(store, name)
    _refuse_protected(found, "DB Instance")
    with store.lock:
        del store.instances[found.name]
        if found.cluster:
            store.clusters[found.cluster].members.remove(found.name)
    put_database_event(store, found, "RDS-EVENT-0003")
    return found


def delete_cluster(store: DatabaseStore, name: str) -> DbCluster:
    """Delete at once; refused while an Aurora cluster has members."""
    found = cluster_of(store, name)
    _refuse_protected(found, "Cluster")
    if found.storage_rules is None and found.members:
        raise AwsError(
            "InvalidDBClusterStateFault",
            "Cluster cannot be deleted, it still contains DB instances.",
        )
    with store.lock:
        for member in found.members:
            del store.instances[member]
        del store.clusters[found.name]
    put_database_event(store, found, "RDS-EVENT-0171")
    return found


def _refuse_protected(found: DbInstance | DbCluster, kind: str) -> None:
    if found.api_fields.get("DeletionProtection"):
        raise _combination(
            f"Cannot delete protected {kind}, please disable deletion protection and try again."
        )


def instance_of(store: DatabaseStore, name: str) -> DbInstance:
    """By name, however it is spelled; raises AwsError DBInstanceNotFound."""
    found = store.instances.get(name.lower())
    if found is None:
        raise AwsError("DBInstanceNotFound", f"DBInstance {name} not found.")
    return found


def cluster_of(store: DatabaseStore, name: str) -> DbCluster:
    """By name, however it is spelled; raises AwsError DBClusterNotFoundFault."""
    found = store.clusters.get(name.lower())
    if found is None:
        raise AwsError("DBClusterNotFoundFault", f"DBCluster {name} not found.")
    return found


def _storage_rules(
    store: DatabaseStore, request: Mapping[str, Any], engine: str, settings: Settings,
    *, cluster: bool = False,
) -> DatabaseRules:  # fmt: skip
    known = engine_of(engine)
    if known is None:
        raise AwsError("InvalidParameterValue", f"Invalid DB engine: {engine}")
    deployment = Deployment.CLUSTER if cluster else Deployment.SINGLE_AZ
    if request.get("MultiAZ"):
        deployment = Deployment.MULTI_AZ
    try:
        storage = storage_made(request, Database(engine=known, deployment=deployment))
        most = max_allocated_storage(request.get("MaxAllocatedStorage"), storage.size_gib)
    except ModificationRefused as refused:
        raise AwsError(refused.code, refused.message) from refused
    code = "InvalidDBClusterStateFault" if cluster else "InvalidDBInstanceState"
    return DatabaseRules(
        storage, created_at=store.cloud.clock.now(), settings=settings, state_code=code,
        max_allocated_gib=most, delays=store.delays,
    )  # fmt: skip


def _additional(
    store: DatabaseStore, request: Mapping[str, Any], one: DbInstance
) -> dict[str, DatabaseRules]:
    if one.storage_rules is None:
        return {}
    database = one.storage_rules.lifecycle.described(store.cloud.clock.now()).database
    assert database is not None
    try:
        return volumes_made(
            request, database,
            lambda volume: DatabaseRules(
                storage_made(volume, database), created_at=one.created_at,
                settings=Settings({}, window=one.settings.window), delays=store.delays,
            ),
        )  # fmt: skip
    except ModificationRefused as refused:
        raise AwsError(refused.code, refused.message) from refused


def _with_members(store: DatabaseStore, cluster: DbCluster) -> None:
    for number in range(1, _MEMBERS + 1):
        name = f"{cluster.name}-instance-{number}"
        member = DbInstance(
            name=name, engine=cluster.engine, created_at=cluster.created_at, storage_rules=None,
            settings=cluster.settings, resource_id=_resource_id(store, "db"), cluster=cluster.name,
            tags=dict(cluster.tags), api_fields=_where(store, {}, number - 1),
        )  # fmt: skip
        store.instances[name] = member
        cluster.members.append(name)


def _joined(store: DatabaseStore, name: str, engine: str) -> str:
    cluster = cluster_of(store, name)
    if cluster.storage_rules is not None or cluster.engine != engine:
        raise _combination(f"An instance of engine {engine} cannot be made in cluster {name}.")
    return cluster.name


def _as_source(store: DatabaseStore, source: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """A read replica starts with the configuration of its source."""
    found = instance_of(store, source)
    if found.storage_rules is None:
        raise _combination(f"{source} is a member of a cluster.")
    now = store.cloud.clock.now()
    storage = found.storage_rules.lifecycle.described(now)
    given = {
        "AllocatedStorage": storage.size_gib, "StorageType": storage.volume_type.value,
        "Iops": storage.iops, "StorageThroughput": storage.throughput_mibps,
        "DBInstanceClass": found.settings.value("DBInstanceClass", now), "Engine": found.engine,
    }  # fmt: skip
    return {k: v for k, v in given.items() if v is not None} | dict(request)


def _where(store: DatabaseStore, request: Mapping[str, Any], number: int) -> dict[str, object]:
    zone = request.get("AvailabilityZone") or f"{store.account_region.region}{'abc'[number % 3]}"
    return {"AvailabilityZone": zone}


def _resource_id(store: DatabaseStore, kind: str) -> str:
    return f"{kind}-{store.cloud.ids.hexadecimal(kind, 26).upper()}"


def _combination(message: str) -> AwsError:
    return AwsError("InvalidParameterCombination", message)
