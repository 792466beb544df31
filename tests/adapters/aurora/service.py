"""A small RDS of Aurora clusters for tests; answers are checked against botocore's model of RDS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from headroom.domain.catalog.aurora import AuroraPrices, aurora_prices
from headroom.domain.resources import AuroraActivity, AuroraCluster
from tests.adapters.rds.service import checked, refusal
from tests.builders import NOW
from tests.domain.clusters import activity

GATE_SHUT = (
    "The aurora-iopt1 storage type isn't available, because you modified the DB cluster to use "
    "this storage type less than one month ago."
)


def orders(**changes: Any) -> dict[str, Any]:
    """An Aurora PostgreSQL cluster of two members, as DescribeDBClusters reports it."""
    return {
        "DBClusterIdentifier": "orders", "Engine": "aurora-postgresql", "EngineVersion": "16.4",
        "EngineMode": "provisioned", "Status": "available", "AllocatedStorage": 1,
        "ClusterCreateTime": NOW - timedelta(days=90), "DbClusterResourceId": "cluster-ORDERS",
        "DBClusterArn": "arn:aws:rds:us-east-1:123456789012:cluster:orders",
        "AvailabilityZones": ["us-east-1b", "us-east-1a"], "DBClusterParameterGroup": "default",
        "DBClusterMembers": [
            {"DBInstanceIdentifier": "orders-2", "IsClusterWriter": False},
            {"DBInstanceIdentifier": "orders-1", "IsClusterWriter": True},
        ],
        "TagList": [{"Key": "headroom", "Value": "auto"}],
        **changes,
    }  # fmt: skip


def member(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "DBInstanceIdentifier": name, "DBInstanceClass": "db.r7g.xlarge",
        "Engine": "aurora-postgresql", "DBInstanceStatus": "available",
        "DBClusterIdentifier": "orders", **changes,
    }  # fmt: skip


@dataclass
class AuroraService:
    """One cluster with its members; `changes` are the calls that RDS took."""

    cluster: dict[str, Any] = field(default_factory=orders)
    members: list[dict[str, Any]] = field(
        default_factory=lambda: [member("orders-1"), member("orders-2")]
    )
    reserved: list[dict[str, Any]] = field(default_factory=list)
    parameters: list[dict[str, Any]] = field(default_factory=list)
    changes: list[Mapping[str, Any]] = field(default_factory=list)
    denied: set[str] = field(default_factory=set)
    fails_with: Exception | None = None
    """Raised by the next change, before it takes effect."""
    times_out: bool = False
    """Whether the next change takes effect and its answer is lost."""
    gone: bool = False

    def get_paginator(self, operation_name: str) -> Any:
        key, shapes = {
            "describe_db_clusters": ("DBClusters", [self.cluster]),
            "describe_db_instances": ("DBInstances", self.members),
            "describe_reserved_db_instances": ("ReservedDBInstances", self.reserved),
            "describe_db_cluster_parameters": ("Parameters", self.parameters),
        }[operation_name]

        def paginate(**_: Any) -> Iterator[Mapping[str, Any]]:
            if operation_name in self.denied:
                raise refusal("AccessDenied", status=403)
            yield checked(operation_name, {key: shapes})

        return type("Pages", (), {"paginate": staticmethod(paginate)})

    def describe_db_clusters(self, *, DBClusterIdentifier: str) -> Mapping[str, Any]:
        if self.gone or DBClusterIdentifier != self.cluster["DBClusterIdentifier"]:
            raise refusal("DBClusterNotFoundFault", status=404)
        return checked("describe_db_clusters", {"DBClusters": [self.cluster]})

    def list_tags_for_resource(self, *, ResourceName: str) -> Mapping[str, Any]:
        return checked("list_tags_for_resource", {"TagList": []})

    def modify_db_cluster(self, **sent: Any) -> Mapping[str, Any]:
        failure, self.fails_with = self.fails_with, None
        if failure is not None:
            raise failure
        checked("modify_db_cluster", {}, sent)
        self.changes.append(sent)
        self.cluster["PendingModifiedValues"] = {"StorageType": sent["StorageType"]}
        self.cluster["Status"] = "modifying"
        if self.times_out:
            self.times_out = False
            raise TimeoutError("read timed out")
        return {"DBCluster": self.cluster}

    def lands(self, **changes: Any) -> None:
        """The change of mode is done."""
        pending = self.cluster.pop("PendingModifiedValues", {})
        self.cluster.update(pending, Status="available", **changes)


@dataclass
class Days:
    """Metrics and prices that are said: so many billed I/O on each of the last days."""

    ios_a_day: list[float | None] = field(default_factory=lambda: [100e6] * 16)
    kept: dict[str, Any] = field(default_factory=dict)
    table: AuroraPrices | None = None
    asked: int = 0

    def of_cluster(self, cluster: AuroraCluster, now: Any) -> AuroraActivity:
        self.asked += 1
        return activity(self.ios_a_day, now=now, **self.kept)

    def aurora(self, region: str, engine: str) -> AuroraPrices:
        return self.table or aurora_prices(region)
