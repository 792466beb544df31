"""What RDS says of databases when it is asked: one, its members, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from botocore.exceptions import ClientError

from headroom.adapters.errors import code_of, reading
from headroom.adapters.rds import shapes
from headroom.adapters.rds.additional import volume_names
from headroom.domain.resources import Deployment, Engine, Kind, ResourceRef, Span, ValidStorage
from headroom.ports import ReadFailed, ResourceGone

_GONE = ("DBInstanceNotFound", "DBInstanceNotFoundFault", "DBClusterNotFoundFault")
LEAVING = ("deleting", "deleted")


class RdsClient(Protocol):
    """What is called of boto3's client of RDS."""

    def get_paginator(self, operation_name: str) -> Any: ...
    def describe_db_instances(self, **asked: Any) -> Mapping[str, Any]: ...
    def describe_db_clusters(self, *, DBClusterIdentifier: str) -> Mapping[str, Any]: ...
    def list_tags_for_resource(self, *, ResourceName: str) -> Mapping[str, Any]: ...
    def describe_valid_db_instance_modifications(
        self, *, DBInstanceIdentifier: str
    ) -> Mapping[str, Any]: ...
    def modify_db_instance(self, **sent: Any) -> Mapping[str, Any]: ...
    def modify_db_cluster(self, **sent: Any) -> Mapping[str, Any]: ...


class RdsReads:
    """Reads of single databases of one account and Region."""

    def __init__(self, client: RdsClient, *, account_id: str, region: str) -> None:
        self._rds = client
        self._account_id = account_id
        self._region = region

    def reported(self, ref: ResourceRef) -> shapes.ReportedInstance:
        """One database as it is now, a cluster with its members; raises ResourceGone, ReadFailed."""
        name, cluster = name_of(ref), ref.resource_id.startswith(shapes.CLUSTER)
        call = "DescribeDBClusters" if cluster else "DescribeDBInstances"
        additional = additional_of(ref)
        with reading(f"{call} {name}"):
            shape = self._shape(name, cluster=cluster)
            if additional is not None and additional not in volume_names(shape):
                raise ResourceGone(f"{name} has no volume {additional}")
            read = shapes.cluster if cluster else partial(shapes.instance, additional=additional)
            try:
                reported = read(shape, account_id=self._account_id, region=self._region)
                if cluster and reported.facts.status not in LEAVING:
                    reported = shapes.with_members(reported, self._members(name))
            except AttributeError as problem:
                raise ReadFailed(f"{call} {name}: {problem!r}") from problem
        if reported.volume.ref != ref:  # a name spelled otherwise would be kept in two books
            raise ResourceGone(f"{name} is called {reported.volume.ref.resource_id}")
        if reported.facts.status in LEAVING:
            raise ResourceGone(f"{name} does not exist")
        return reported

    def valid(self, reported: shapes.ReportedInstance) -> tuple[ValidStorage, ...]:
        """What RDS takes now; not asked of clusters, nor while the database is not at rest."""
        database = reported.volume.configuration.database
        if (
            database is None
            or database.deployment is Deployment.CLUSTER
            or not reported.seen.settled
        ):
            return ()
        name, additional = name_of(reported.volume.ref), additional_of(reported.volume.ref)
        with reading(f"DescribeValidDBInstanceModifications {name}"):
            found = shapes.valid_storage(
                self._rds.describe_valid_db_instance_modifications(DBInstanceIdentifier=name),
                additional,
            )
        if additional is None or database.engine is not Engine.SQL_SERVER:
            return found
        size = (
            reported.volume.configuration.size_gib
        )  # whatever the ranges say: it cannot be scaled
        return tuple(replace(one, size_gib=(Span(low=size, high=size),)) for one in found)

    def _shape(self, name: str, *, cluster: bool) -> shapes.Shape:
        try:
            if cluster:
                found = self._rds.describe_db_clusters(DBClusterIdentifier=name)["DBClusters"]
            else:
                answer = self._rds.describe_db_instances(DBInstanceIdentifier=name)
                found = answer["DBInstances"]
        except ClientError as error:
            if code_of(error) in _GONE:
                raise ResourceGone(f"{name} does not exist") from error
            raise
        if not found:
            raise ResourceGone(f"{name} does not exist")
        shape: shapes.Shape = found[0]
        if not shapes.ours(shape):
            raise ResourceGone(
                f"{name} has no storage of its own that RDS sets", instead=self._cluster_of(shape)
            )
        if "TagList" not in shape:  # missing tags are not no tags: one may forbid everything
            arn = shape["DBClusterArn" if cluster else "DBInstanceArn"]
            shape = {**shape, **self._rds.list_tags_for_resource(ResourceName=arn)}
            shape["TagList"]  # it raises where even that has none
        return shape

    def _members(self, name: str) -> tuple[shapes.Shape, ...]:
        """The DB instances of a cluster: DescribeDBClusters does not show their pending changes."""
        asked = [{"Name": "db-cluster-id", "Values": [name]}]
        return tuple(self._rds.describe_db_instances(Filters=asked)["DBInstances"])

    def _cluster_of(self, shape: shapes.Shape) -> ResourceRef | None:
        name = shapes.cluster_of_member(shape)
        if name is None:
            return None
        return ResourceRef(
            kind=Kind.RDS, account_id=self._account_id, region=self._region,
            resource_id=shapes.CLUSTER + name,
        )  # fmt: skip


def name_of(ref: ResourceRef) -> str:
    """The name RDS knows the instance or cluster by."""
    return ref.resource_id.removeprefix(shapes.CLUSTER).partition("/")[0]


def additional_of(ref: ResourceRef) -> str | None:
    """The additional storage volume that `INSTANCE/VOLUME` names; None for an instance's own storage."""
    return ref.resource_id.partition("/")[2] or None
