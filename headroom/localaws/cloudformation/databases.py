"""AWS::RDS::DBInstance and AWS::RDS::DBCluster under the rules of RDS's own calls.

Source: CloudFormation template reference (checked 2026-11). An update is a modification at once, as
CloudFormation sends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from headroom.localaws.cloudformation.model import LocalResource, Properties
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

_SPELLED = {
    "VPCSecurityGroups": "VpcSecurityGroupIds",
    "VpcSecurityGroupIds": "VpcSecurityGroupIds",
}
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
    """What instances and clusters have in common; a replacement is refused."""

    identifier: ClassVar[str]

    @property
    def _book(self) -> DatabaseStore:
        return database_store(current_cloud(), self.account_region)

    def change(self, properties: Properties) -> None:
        before, after = _request(self.properties), _request(properties)
        changed = {k for k in {*before, *after} - {"Tags"} if before.get(k) != after.get(k)}
        for name in sorted(changed - set(_SET)):
            raise NotImplementedError(
                f"A new {name} replaces the database, which is not supported by this endpoint"
            )
        wanted = {name: after[name] for name in changed if name in after}
        if {"AllocatedStorage", "Iops"} & set(wanted) and "Iops" in after:
            wanted |= {name: after[name] for name in ("AllocatedStorage", "Iops")}
        if wanted:
            self._modify({self.identifier: self.name, "ApplyImmediately": True, **wanted})
        self._retag({tag["Key"]: tag.get("Value", "") for tag in after.get("Tags") or ()})
        self.properties = properties

    def snapshot(self) -> None:
        """What DeletionPolicy Snapshot would leave behind."""
        raise NotImplementedError(
            "A final snapshot of a database is not supported by this endpoint; "
            "DeletionPolicy Delete is"
        )

    def _modify(self, request: Mapping[str, Any]) -> None:
        raise NotImplementedError

    def _retag(self, tags: dict[str, str]) -> None:
        raise NotImplementedError


class RdsInstance(_Database):
    """AWS::RDS::DBInstance."""

    kind = "AWS::RDS::DBInstance"
    name_property = "DBInstanceIdentifier"
    identifier = "DBInstanceIdentifier"
    attributes = ("DBInstanceArn", "DbiResourceId", "Endpoint.Address", "Endpoint.Port")

    def make(self) -> None:
        request = _request(self.properties)
        made = make_instance(self._book, {**request, self.identifier: self.name})
        self.name = made.name
        told = instance_shape(self._book, made)
        self.values = {
            "DBInstanceArn": told["DBInstanceArn"],
            "DbiResourceId": told["DbiResourceId"],
            "Endpoint.Address": told["Endpoint"]["Address"],
            "Endpoint.Port": str(told["Endpoint"]["Port"]),
        }

    def remove_resource(self) -> None:
        delete_instance(self._book, self.name)

    def _modify(self, request: Mapping[str, Any]) -> None:
        modify_instance(self._book, request)

    def _retag(self, tags: dict[str, str]) -> None:
        self._book.instances[self.name].tags = tags


class RdsCluster(_Database):
    """AWS::RDS::DBCluster."""

    kind = "AWS::RDS::DBCluster"
    name_property = "DBClusterIdentifier"
    identifier = "DBClusterIdentifier"
    attributes = ("DBClusterArn", "DBClusterResourceId")

    def make(self) -> None:
        request = _request(self.properties)
        made = make_cluster(self._book, {**request, self.identifier: self.name})
        self.name = made.name
        told = cluster_shape(self._book, made)
        self.values = {
            "DBClusterArn": told["DBClusterArn"],
            "DBClusterResourceId": told["DbClusterResourceId"],
        }

    def remove_resource(self) -> None:
        delete_cluster(self._book, self.name)

    def _modify(self, request: Mapping[str, Any]) -> None:
        modify_cluster(self._book, request)

    def _retag(self, tags: dict[str, str]) -> None:
        self._book.clusters[self.name].tags = tags


def _request(properties: Properties) -> dict[str, Any]:
    """Properties as the parameters of the call; numbers and truths may be text in a template."""
    request = {_SPELLED.get(name, name): value for name, value in properties.items()}
    for name in _WHOLE:
        if name in request:
            request[name] = int(request[name])
    for name in _TRUTHS:
        if name in request:
            request[name] = str(request[name]).lower() == "true"
    return request


MODELS = (RdsInstance, RdsCluster)
