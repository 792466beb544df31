"""What is read beside an Aurora cluster: reservations, parameters, pages of anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from botocore.exceptions import ClientError

from headroom.adapters.aurora import shapes
from headroom.adapters.errors import code_of, reading
from headroom.domain.resources import Member, StorageMode
from headroom.ports import ReadFailed

PAGE = 100
"""Clusters, members, reservations or parameters a page, the most RDS takes."""
PARALLEL_QUERY = "aurora_parallel_query"
_DENIED = ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation")


class RdsClient(Protocol):
    """What is called of boto3's client of RDS."""

    def get_paginator(self, operation_name: str) -> Any: ...
    def describe_db_clusters(self, *, DBClusterIdentifier: str) -> Mapping[str, Any]: ...
    def list_tags_for_resource(self, *, ResourceName: str) -> Mapping[str, Any]: ...
    def modify_db_cluster(self, **sent: Any) -> Mapping[str, Any]: ...


class ClusterContext:
    """Reads that more than one cluster may share."""

    def __init__(self, client: RdsClient) -> None:
        self._rds = client

    def reserved(
        self, shape: shapes.Shape, members: tuple[Member, ...]
    ) -> tuple[Member, ...] | None:
        """What of the account's reservations this cluster may be counted to have; None if denied."""
        engine = shape["Engine"]
        try:
            every = tuple(self.pages("describe_reserved_db_instances", "ReservedDBInstances"))
        except ReadFailed as failed:
            if _denied(failed):
                return None
            raise
        held = shapes.reservations(every, engine)
        if not held or shape.get("StorageType") != StorageMode.IO_OPTIMIZED:
            return shapes.covering(held, members)
        instances = self.pages("describe_db_instances", "DBInstances")
        others = shapes.units_in_use(instances, engine, beside=shape["DBClusterIdentifier"])
        return shapes.covering(held, members, others)

    def parallel_query(self, shape: shapes.Shape) -> bool | None:
        """Whether it is on; only MySQL has it, and what nobody set is off. None if denied."""
        if shape["Engine"] != "aurora-mysql":
            return None
        group = shape["DBClusterParameterGroup"]
        try:
            for one in self.pages(
                "describe_db_cluster_parameters", "Parameters",
                DBClusterParameterGroupName=group, Source="user",
            ):  # fmt: skip
                if one.get("ParameterName") == PARALLEL_QUERY:
                    return str(one.get("ParameterValue", "")).strip().lower() in ("1", "on", "true")
        except ReadFailed as failed:
            if _denied(failed):
                return None
            raise
        return False

    def pages(self, operation: str, key: str, **asked: Any) -> Iterator[shapes.Shape]:
        pages = self._rds.get_paginator(operation).paginate(
            PaginationConfig={"PageSize": PAGE}, **asked
        )
        left = iter(pages)
        while True:
            with reading(operation):
                page = next(left, None)
                found = [] if page is None else list(page[key])
            if page is None:
                return
            yield from found


def _denied(failed: ReadFailed) -> bool:
    cause = failed.__cause__
    return isinstance(cause, ClientError) and code_of(cause) in _DENIED
