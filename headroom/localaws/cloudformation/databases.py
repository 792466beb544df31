"""AWS::RDS::DBInstance and AWS::RDS::DBCluster under the rules of RDS's own calls.

Source: CloudFormation template reference (checked 2026-11). An update is a modification at once, as
CloudFormation sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import getitem
from typing import Any, ClassVar

from headroom.localaws.cloudformation.model import LocalResource, Properties, typed
from headroom.localaws.rds import (
    DatabaseStore,
    cluster_shape,
    database_store,
    delete_cluster,
    delete_instance,
    instance_shape,
    make_cluster,
    make_instance,
    modify_cluster,
    modify_instance,
)
from headroom.localaws.state import current_cloud

_SPELLED = {"VPCSecurityGroups": "VpcSecurityGroupIds"}
_WHOLE = (
    "AllocatedStorage", "Iops", "StorageThroughput", "MaxAllocatedStorage", "Port",
    "BackupRetentionPeriod", "PromotionTier", "MonitoringInterval",
)  # fmt: skip
_TRUTHS = (
    "MultiAZ", "DeletionProtection", "StorageEncrypted", "PubliclyAccessible", "DedicatedLogVolume",
    "CopyTagsToSnapshot", "AutoMinorVersionUpgrade", "ManageMasterUserPassword",
)  # fmt: skip
_SET = (
    "AllocatedStorage", "Iops", "StorageThroughput", "StorageType", "MaxAllocatedStorage",
    "DBInstanceClass", "DBClusterInstanceClass", "EngineVersion", "BackupRetentionPeriod", "Port",
    "DeletionProtection", "PreferredMaintenanceWindow", "DBClusterParameterGroupName",
    "ServerlessV2ScalingConfiguration",
)  # fmt: skip


class _Database(LocalResource):
    """An instance or a cluster, by the calls on one; a replacement is refused."""

    identifier: ClassVar[str]
    paths: ClassVar[Mapping[str, tuple[str, ...]]]
    """Where the API's answer has each attribute."""
    create: ClassVar[staticmethod[..., Any]]
    modify: ClassVar[staticmethod[..., Any]]
    destroy: ClassVar[staticmethod[..., Any]]
    shape: ClassVar[staticmethod[..., Any]]
    tags: dict[str, str]

    @property
    def _store(self) -> DatabaseStore:
        return database_store(current_cloud(), self.account_region)

    def make(self) -> None:
        database = self.create(
            self._store, {**_request(self.properties), self.identifier: self.name}
        )
        self.name, self.tags = database.name, database.tags
        shape = self.shape(self._store, database)
        self.values = {name: str(reduce(getitem, path, shape)) for name, path in self.paths.items()}

    def change(self, properties: Properties) -> None:
        before, after = _request(self.properties), _request(properties)
        changed = {k for k in {*before, *after} - {"Tags"} if before.get(k) != after.get(k)}
        for name in sorted(changed - set(_SET)):
            raise NotImplementedError(
                f"A new {name} replaces the database, which is not supported by this endpoint"
            )
        request = {name: after[name] for name in changed if name in after}
        if {"AllocatedStorage", "Iops"} & set(request) and "Iops" in after:
            request |= {name: after[name] for name in ("AllocatedStorage", "Iops")}
        if request:
            self.modify(
                self._store, {self.identifier: self.name, "ApplyImmediately": True, **request}
            )
        self.tags.clear()
        self.tags.update({tag["Key"]: tag.get("Value", "") for tag in after.get("Tags") or ()})
        self.properties = properties

    def remove_resource(self) -> None:
        self.destroy(self._store, self.name)

    def snapshot(self) -> None:
        """Refuse DeletionPolicy Snapshot."""
        raise NotImplementedError(
            "A final snapshot of a database is not supported by this endpoint; "
            "DeletionPolicy Delete is"
        )


class RdsInstance(_Database):
    """AWS::RDS::DBInstance."""

    kind = "AWS::RDS::DBInstance"
    name_property = identifier = "DBInstanceIdentifier"
    paths: ClassVar = {
        "DBInstanceArn": ("DBInstanceArn",), "DbiResourceId": ("DbiResourceId",),
        "Endpoint.Address": ("Endpoint", "Address"), "Endpoint.Port": ("Endpoint", "Port"),
    }  # fmt: skip
    attributes = tuple(paths)
    create = staticmethod(make_instance)
    modify = staticmethod(modify_instance)
    destroy = staticmethod(delete_instance)
    shape = staticmethod(instance_shape)


class RdsCluster(_Database):
    """AWS::RDS::DBCluster."""

    kind = "AWS::RDS::DBCluster"
    name_property = identifier = "DBClusterIdentifier"
    paths: ClassVar = {
        "DBClusterArn": ("DBClusterArn",), "DBClusterResourceId": ("DbClusterResourceId",)
    }  # fmt: skip
    attributes = tuple(paths)
    create = staticmethod(make_cluster)
    modify = staticmethod(modify_cluster)
    destroy = staticmethod(delete_cluster)
    shape = staticmethod(cluster_shape)


def _request(properties: Properties) -> dict[str, Any]:
    """Properties as the parameters of the call."""
    renamed = {_SPELLED.get(name, name): value for name, value in properties.items()}
    return typed(renamed, whole=_WHOLE, truths=_TRUTHS)


MODELS = (RdsInstance, RdsCluster)
