"""RDS over HTTP under AWS's rules: instances, Multi-AZ DB clusters, Aurora clusters.

moto answers for groups, subnets and the like. Operations on moto's own databases are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.rds.responses import RDSResponse

from headroom.localaws.rds import changes as rds_changes
from headroom.localaws.rds.creation import (
    cluster_of,
    delete_cluster,
    delete_instance,
    instance_of,
    make_cluster,
    make_instance,
)
from headroom.localaws.rds.databases import DatabaseStore, database_store
from headroom.localaws.rds.events import put_rds_call
from headroom.localaws.rds.shapes import (
    cluster_shape,
    instance_shape,
    tag_list,
    valid_modifications,
)
from headroom.localaws.state import AccountRegion, AwsError, current_cloud

MOST, LEAST = 100, 20
"""MaxRecords."""
NOT_HERE = (
    "reboot_db_instance", "create_db_snapshot", "copy_db_snapshot", "delete_db_snapshot",
    "restore_db_instance_from_db_snapshot", "restore_db_instance_to_point_in_time",
    "promote_read_replica", "stop_db_instance", "start_db_instance", "start_db_cluster",
    "stop_db_cluster", "create_db_cluster_snapshot", "copy_db_cluster_snapshot",
    "delete_db_cluster_snapshot", "restore_db_cluster_from_snapshot", "failover_db_cluster",
    "restore_db_cluster_to_point_in_time", "promote_read_replica_db_cluster",
    "create_blue_green_deployment", "add_role_to_db_instance", "add_role_to_db_cluster",
    "create_global_cluster", "describe_db_log_files", "describe_events",
)  # fmt: skip
"""Operations that moto has only for its own databases."""


class RdsApi(RDSResponse):  # type: ignore[misc]
    """Databases: create, modify, delete and describe."""

    @property
    def _store(self) -> DatabaseStore:
        store = database_store(current_cloud(), AccountRegion(self.current_account, self.region))
        store.apply_due_changes()
        return store

    @property
    def _request(self) -> dict[str, Any]:
        """Parameters under the API's names."""
        return dict(self.params.original_dict())

    def create_db_instance(self) -> ActionResult:
        """Sizes and ratios are those of the engine; gp3 where no type is named."""
        store = self._store
        return ActionResult(
            {"DBInstance": instance_shape(store, make_instance(store, self._request))}
        )

    def create_db_instance_read_replica(self) -> ActionResult:
        """A replica begins with the storage of its source; neither follows the other."""
        return self.create_db_instance()

    def create_db_cluster(self) -> ActionResult:
        """Multi-AZ DB clusters come with their members, Aurora clusters without."""
        store = self._store
        return ActionResult({"DBCluster": cluster_shape(store, make_cluster(store, self._request))})

    def modify_db_instance(self) -> ActionResult:
        """One change, or AWS's refusal; what waited for a window comes along if it is at once."""
        return self._modify("ModifyDBInstance", "DBInstance", rds_changes.modify_instance)

    def modify_db_cluster(self) -> ActionResult:
        """The storage of a Multi-AZ DB cluster, or the storage mode of an Aurora cluster."""
        return self._modify("ModifyDBCluster", "DBCluster", rds_changes.modify_cluster)

    def delete_db_instance(self) -> ActionResult:
        """Deletes at once."""
        store = self._store
        found = instance_of(store, str(self.params.get("DBInstanceIdentifier")))
        shape = instance_shape(store, found)
        delete_instance(store, found.name)
        return ActionResult({"DBInstance": shape | {"DBInstanceStatus": "deleting"}})

    def delete_db_cluster(self) -> ActionResult:
        """Deletes at once."""
        store = self._store
        found = cluster_of(store, str(self.params.get("DBClusterIdentifier")))
        shape = cluster_shape(store, found)
        delete_cluster(store, found.name)
        return ActionResult({"DBCluster": shape | {"Status": "deleting"}})

    def describe_db_instances(self) -> ActionResult:
        """Those of Aurora, Neptune and DocumentDB among them."""
        store, name = self._store, self.params.get("DBInstanceIdentifier")
        found = [instance_of(store, _bare(name))] if name else list(store.instances.values())
        shapes = [instance_shape(store, one) for one in found]
        return self._paged("DBInstances", self._filtered(shapes, _OF_INSTANCES))

    def describe_db_clusters(self) -> ActionResult:
        """Those of Neptune and DocumentDB among them."""
        store, name = self._store, self.params.get("DBClusterIdentifier")
        found = [cluster_of(store, _bare(name))] if name else list(store.clusters.values())
        shapes = [cluster_shape(store, one) for one in found]
        return self._paged("DBClusters", self._filtered(shapes, _OF_CLUSTERS))

    def describe_valid_db_instance_modifications(self) -> ActionResult:
        """The settings that an available instance accepts."""
        store, now = self._store, current_cloud().clock.now()
        found = instance_of(store, str(self.params.get("DBInstanceIdentifier")))
        if found.storage_rules is None:
            raise AwsError(
                "InvalidParameterCombination",
                f"{found.name} is a member of a cluster, which is what may be modified.",
            )
        if found.status(now) != "available":
            raise AwsError(
                "InvalidDBInstanceState", f"DB instance {found.name} is not in available state."
            )
        shape = valid_modifications(found, now)
        return ActionResult({"ValidDBInstanceModificationsMessage": shape})

    def describe_reserved_db_instances(self) -> ActionResult:
        """Those that the control API set."""
        return self._paged("ReservedDBInstances", list(self._store.reserved))

    def describe_db_cluster_parameters(self) -> ActionResult:
        """The parameters that bear on the storage mode: Aurora MySQL's parallel query."""
        group = str(self.params.get("DBClusterParameterGroupName"))
        found = rds_changes.cluster_parameters(self._store, self.backend, group)
        return self._paged("Parameters", found)

    def list_tags_for_resource(self) -> ActionResult:
        """Tags of a database, else what moto knows."""
        name = str(self.params.get("ResourceName"))
        tags = self._tags_of(name)
        return super().list_tags_for_resource() if tags is None else ActionResult(
            {"TagList": tag_list(tags)}
        )  # fmt: skip

    def add_tags_to_resource(self) -> ActionResult:
        """Tags of a database, else of what moto knows."""
        tags = self._tags_of(str(self.params.get("ResourceName")))
        if tags is None:
            return super().add_tags_to_resource()
        tags |= {each["Key"]: each.get("Value", "") for each in self.params.get("Tags", [])}
        return EmptyResult()

    def remove_tags_from_resource(self) -> ActionResult:
        """Tags of a database, else of what moto knows."""
        tags = self._tags_of(str(self.params.get("ResourceName")))
        if tags is None:
            return super().remove_tags_from_resource()
        for key in self.params.get("TagKeys", []):
            tags.pop(key, None)
        return EmptyResult()

    def _modify(
        self, operation: str, key: str,
        change: Callable[[DatabaseStore, Mapping[str, Any]], dict[str, Any]],
    ) -> ActionResult:  # fmt: skip
        store, request = self._store, self._request
        agent = self.headers.get("User-Agent", "")
        try:
            shape = change(store, request)
        except AwsError as refused:
            error = (refused.code, refused.message)
            put_rds_call(store, operation, request, agent=agent, answer=None, error=error)
            raise
        put_rds_call(store, operation, request, agent=agent, answer=shape, error=None)
        return ActionResult({key: shape})

    def _tags_of(self, resource: str) -> dict[str, str] | None:
        kind, _, name = (
            resource.removeprefix("arn:aws:rds:").partition(":")[2].partition(":")[2].partition(":")
        )
        if kind == "db":
            return instance_of(self._store, name).tags
        return cluster_of(self._store, name).tags if kind == "cluster" else None

    def _filtered(
        self, shapes: Sequence[dict[str, Any]], names: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        found = list(shapes)
        for each in self.params.get("Filters", []):
            field = names.get(each["Name"])
            if field is None:
                raise AwsError("InvalidParameterValue", f"Unrecognized filter name: {each['Name']}")
            values = {_bare(value) for value in each["Values"]}
            found = [shape for shape in found if shape.get(field) in values]
        return found

    def _paged(self, key: str, found: Sequence[Any]) -> ActionResult:
        most, marker = int(self.params.get("MaxRecords") or MOST), self.params.get("Marker")
        if not LEAST <= most <= MOST:
            raise AwsError(
                "InvalidParameterValue",
                f"Invalid value {most} for MaxRecords. Must be between {LEAST} and {MOST}",
            )
        if marker and not str(marker).isdigit():
            raise AwsError("InvalidParameterValue", f"Invalid marker: {marker}")
        start = int(marker or 0)
        more = {"Marker": str(start + most)} if start + most < len(found) else {}
        return ActionResult({key: found[start : start + most], **more})


_OF_INSTANCES = {
    "db-instance-id": "DBInstanceIdentifier", "db-cluster-id": "DBClusterIdentifier",
    "dbi-resource-id": "DbiResourceId", "engine": "Engine",
}  # fmt: skip
_OF_CLUSTERS = {
    "db-cluster-id": "DBClusterIdentifier", "db-cluster-resource-id": "DbClusterResourceId",
    "engine": "Engine",
}  # fmt: skip


def _bare(name: str) -> str:
    """The name in an ARN, or the name itself."""
    return str(name).rsplit(":", 1)[-1]


def _refusing(name: str) -> Callable[[RdsApi], ActionResult]:
    def refuse(_: RdsApi) -> ActionResult:
        raise NotImplementedError(f"RDS {name} is not part of this endpoint.")

    refuse.__name__ = name
    return refuse


for _name in NOT_HERE:
    setattr(RdsApi, _name, _refusing(_name))
