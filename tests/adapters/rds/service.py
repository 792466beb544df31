"""A small RDS for tests: what it shows while a change of storage goes through its phases.

Answers are checked against botocore's model of RDS, so that no test reads a shape AWS has not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import boto3
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from tests.builders import NOW, REGION

KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
STORAGE = ("AllocatedStorage", "Iops", "StorageThroughput", "StorageType")
VOLUMES = "AdditionalStorageVolumes"
EBS_INFO = {
    "BaselineBandwidthInMbps": 4_750, "BaselineThroughputInMBps": 593.75, "BaselineIops": 20_000,
    "MaximumBandwidthInMbps": 4_750, "MaximumThroughputInMBps": 593.75, "MaximumIops": 20_000,
}  # fmt: skip


def db(**changes: Any) -> dict[str, Any]:
    """A PostgreSQL instance on 500 GiB of gp2, as DescribeDBInstances reports it."""
    return {
        "DBInstanceIdentifier": "orders", "DBInstanceClass": "db.r6g.2xlarge", "Engine": "postgres",
        "DBInstanceStatus": "available", "AllocatedStorage": 500, "StorageType": "gp2",
        "InstanceCreateTime": NOW - timedelta(days=90), "MultiAZ": False,
        "AvailabilityZone": "us-east-1a", "DbiResourceId": "db-ORDERS",
        "PendingModifiedValues": {}, "TagList": [{"Key": "headroom", "Value": "auto"}],
        **changes,
    }  # fmt: skip


def trio(**changes: Any) -> dict[str, Any]:
    """A Multi-AZ DB cluster on gp3, as DescribeDBClusters reports it."""
    return {
        "DBClusterIdentifier": "trio", "DBClusterInstanceClass": "db.m6gd.2xlarge",
        "Engine": "postgres", "Status": "available", "AllocatedStorage": 500,
        "StorageType": "gp3", "Iops": 12_000, "StorageThroughput": 500,
        "ClusterCreateTime": NOW - timedelta(days=90), "MultiAZ": True,
        "DbClusterResourceId": "cluster-TRIO", "TagList": [],
        "AvailabilityZones": ["us-east-1b", "us-east-1a", "us-east-1c"],
        "DBClusterMembers": [
            {"DBInstanceIdentifier": "trio-2", "IsClusterWriter": False},
            {"DBInstanceIdentifier": "trio-1", "IsClusterWriter": True},
            {"DBInstanceIdentifier": "trio-3", "IsClusterWriter": False},
        ],
        **changes,
    }  # fmt: skip


def refusal(code: str, message: str = "no", status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": message},
         "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        "ModifyDBInstance",
    )  # fmt: skip


@dataclass
class RdsService:
    """DB instances and clusters by name; `changes` are the calls that were accepted."""

    instances: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    valid: list[dict[str, Any]] = field(default_factory=list)
    valid_volumes: list[dict[str, Any]] = field(default_factory=list)
    """What is said to be valid for each additional storage volume."""
    changes: list[Mapping[str, Any]] = field(default_factory=list)
    tags: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """By ARN, for shapes without tags."""
    fails_with: Exception | None = None
    """Raised by the next change, before it takes effect."""
    reads: int = 0
    """How often instances were asked for by name or cluster."""
    before_read: Callable[[int], None] = lambda _: None
    """What somebody else does before such a read is answered."""
    times_out: bool = False
    """Whether the next change takes effect and its answer is lost."""

    @classmethod
    def of(cls, *shapes: dict[str, Any]) -> RdsService:
        made = cls()
        for shape in shapes:
            if "DBInstanceIdentifier" in shape:
                made.instances[shape["DBInstanceIdentifier"]] = shape
            else:
                made.clusters[shape["DBClusterIdentifier"]] = shape
        return made

    def get_paginator(self, operation_name: str) -> Any:
        shapes = self.instances if operation_name == "describe_db_instances" else self.clusters
        key = "DBInstances" if operation_name == "describe_db_instances" else "DBClusters"

        class Pages:
            def paginate(self, **_: Any) -> Iterator[Mapping[str, Any]]:
                for shape in shapes.values():
                    yield checked(operation_name, {key: [shape]})

        return Pages()

    def describe_db_instances(
        self, *, DBInstanceIdentifier: str | None = None,
        Filters: Sequence[Mapping[str, Any]] = (),
    ) -> Mapping[str, Any]:  # fmt: skip
        self.reads += 1
        self.before_read(self.reads)
        if DBInstanceIdentifier is None:
            return checked("describe_db_instances", {"DBInstances": self._members(Filters)})
        if DBInstanceIdentifier not in self.instances:
            raise refusal("DBInstanceNotFound", status=404)
        found = self.instances[DBInstanceIdentifier]
        return checked("describe_db_instances", {"DBInstances": [found]})

    def _members(self, filters: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Members of clusters: as they stand among the instances, else at rest."""
        (names,) = [f["Values"] for f in filters if f["Name"] == "db-cluster-id"]
        return [
            self.instances.get(one["DBInstanceIdentifier"])
            or db(DBInstanceIdentifier=one["DBInstanceIdentifier"], DBClusterIdentifier=name)
            for name in names
            for one in self.clusters[name]["DBClusterMembers"]
        ]

    def describe_db_clusters(self, *, DBClusterIdentifier: str) -> Mapping[str, Any]:
        if DBClusterIdentifier not in self.clusters:
            raise refusal("DBClusterNotFoundFault", status=404)
        found = self.clusters[DBClusterIdentifier]
        return checked("describe_db_clusters", {"DBClusters": [found]})

    def list_tags_for_resource(self, *, ResourceName: str) -> Mapping[str, Any]:
        return checked("list_tags_for_resource", {"TagList": self.tags[ResourceName]})

    def describe_valid_db_instance_modifications(
        self, *, DBInstanceIdentifier: str
    ) -> Mapping[str, Any]:
        if self.instances[DBInstanceIdentifier]["DBInstanceStatus"] != "available":
            raise refusal("InvalidDBInstanceState")
        return checked(
            "describe_valid_db_instance_modifications",
            {
                "ValidDBInstanceModificationsMessage": {
                    "Storage": self.valid,
                    "AdditionalStorage": {"Volumes": self.valid_volumes},
                }
            },
        )

    def modify_db_instance(self, **sent: Any) -> Mapping[str, Any]:
        shape = self.instances[sent["DBInstanceIdentifier"]]
        self._change("modify_db_instance", shape, "DBInstanceStatus", sent)
        return {"DBInstance": shape}

    def modify_db_cluster(self, **sent: Any) -> Mapping[str, Any]:
        shape = self.clusters[sent["DBClusterIdentifier"]]
        self._change("modify_db_cluster", shape, "Status", sent)
        return {"DBCluster": shape}

    def _change(
        self, operation: str, shape: dict[str, Any], status: str, sent: dict[str, Any]
    ) -> None:
        failure, self.fails_with = self.fails_with, None
        if failure is not None:
            raise failure
        checked(operation, {}, sent)
        self.changes.append(sent)
        shape["PendingModifiedValues"] = {
            **shape.get("PendingModifiedValues", {}),
            **{name: sent[name] for name in (*STORAGE, VOLUMES) if name in sent},
        }
        shape[status] = "modifying"
        if self.times_out:
            self.times_out = False
            raise TimeoutError("read timed out")

    def optimizes(self, name: str = "orders") -> None:
        """The change has landed, and RDS works on."""
        shape = self.instances[name]
        shape.update(_landed(shape))
        shape.update(
            PendingModifiedValues={}, DBInstanceStatus="storage-optimization",
            StorageOperationStatus="Optimizing", StorageOperationPercentProgress=30,
        )  # fmt: skip

    def settles(self, name: str = "orders") -> None:
        """RDS is done with it."""
        shape = self.instances[name]
        shape.update(_landed(shape))
        shape.update(PendingModifiedValues={}, DBInstanceStatus="available")
        shape.pop("StorageOperationStatus", None)
        shape.pop("StorageOperationPercentProgress", None)


def _landed(shape: dict[str, Any]) -> dict[str, Any]:
    """The pending values in force; those of additional volumes each in its own."""
    pending = dict(shape["PendingModifiedValues"])
    changes = {each["VolumeName"]: each for each in pending.pop(VOLUMES, ())}
    volumes = [
        each | {**changes.get(each["VolumeName"], {}), "VolumeName": each["VolumeName"]}
        for each in shape.get(VOLUMES, ())
    ]
    return pending | ({VOLUMES: volumes} if volumes else {})


_CLIENT: Any = boto3.client("rds", region_name=REGION, **KEYS)  # type: ignore[call-overload]


def checked(
    operation: str, answer: dict[str, Any], sent: dict[str, Any] | None = None
) -> Mapping[str, Any]:
    """The answer, once botocore's model of RDS has both it and what was asked."""
    stub = Stubber(_CLIENT)
    stub.add_response(operation, answer, sent)
    if sent is not None:
        with stub:
            getattr(_CLIENT, operation)(**sent)
    return answer


class InstanceTypes:
    """DescribeInstanceTypes of EC2, which knows the types it is given."""

    def __init__(self, *known: str) -> None:
        self.known = known or ("r6g.2xlarge", "m6gd.2xlarge")

    def describe_instance_types(self, *, InstanceTypes: list[str]) -> Mapping[str, Any]:
        if InstanceTypes[0] not in self.known:
            raise refusal("InvalidInstanceType")
        info = {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": EBS_INFO}
        one = {"InstanceType": InstanceTypes[0], "Hypervisor": "nitro", "EbsInfo": info}
        return {"InstanceTypes": [one]}


@dataclass
class Clock:
    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def later(self, **delta: float) -> datetime:
        self.now += timedelta(**delta)
        return self.now
