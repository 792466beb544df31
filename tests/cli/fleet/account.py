"""An account of many volumes in memory: EC2 and CloudWatch at the level of their clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.prices import CataloguePrices
from headroom.cli.sources.account import Account
from tests.adapters.rds.service import RdsService, db
from tests.builders import ACCOUNT, NOW, REGION

MIB = 1024 * 1024
PAGE = 500


@dataclass
class FakeVolume:
    """A volume, and what it does: IOPS and MiB/s at an instant; `limit` IOPS where it is held back."""

    volume_id: str
    shape: dict[str, Any]
    iops: Callable[[datetime], float] = lambda _: 100.0
    io_kib: float = 16.0
    limit: float = 3_000.0

    def points(self, metric: str, at: datetime, period_s: int) -> float:
        wanted = self.iops(at)
        if period_s >= 3_600:  # the busiest of the quarters of hours
            steps = [at + timedelta(seconds=s) for s in range(0, period_s, 900)]
            every = [self.iops(step) for step in steps]
            wanted = max(every)
            held = sum(each >= self.limit for each in every) * 15.0
        else:
            held = float(wanted >= self.limit) * (1 if period_s <= 60 else period_s / 60)
        served = min(wanted, self.limit)
        match metric:
            case "VolumeReadOps" | "VolumeWriteOps":
                return served / 2 * period_s
            case "VolumeReadBytes" | "VolumeWriteBytes":
                return served / 2 * period_s * self.io_kib * 1024
            case "VolumeIOPSExceededCheck":
                return held
            case "VolumeAvgIOPS":
                return served
            case "VolumeAvgThroughput":
                return served * self.io_kib
            case "VolumeQueueLength":
                return 200.0 if wanted >= self.limit else served / 1_000
            case "VolumeAvgReadLatency" | "VolumeAvgWriteLatency":
                return 60.0 if wanted >= self.limit else 1.0
            case "BurstBalance" | "EBSIOBalance%" | "EBSByteBalance%":
                return 100.0
            case _:
                return 0.0


@dataclass
class FakeDatabase:
    """What a DB instance of 500 GiB does at an instant: IOPS of 16 KiB, and free space in GiB."""

    iops: Callable[[datetime], float] = lambda _: 100.0
    free_gib: Callable[[datetime], float] = lambda _: 400.0
    limit: float = 12_000.0

    def points(self, metric: str, at: datetime, period_s: int) -> float:
        steps = [at + timedelta(seconds=s) for s in range(0, period_s, min(period_s, 900))]
        wanted = [self.iops(step) for step in steps]
        whole = period_s >= 86_400
        busy = max(wanted) if whole else sum(wanted) / len(wanted)
        served = min(busy, self.limit)
        match metric:
            case "ReadIOPS" | "WriteIOPS":
                return served / 2
            case "ReadThroughput" | "WriteThroughput":
                return served / 2 * 16 * 1024
            case "DiskQueueDepth":
                return 200.0 if busy >= self.limit else served / 2_000
            case "ReadLatency" | "WriteLatency":
                return 0.060 if busy >= self.limit else 0.001
            case "FreeStorageSpace":
                return min(map(self.free_gib, steps)) * 1024**3
            case _:
                return 100.0


@dataclass
class FakeAws:
    """EC2, RDS and CloudWatch of one account; `calls` counts what was called, `unreadable` fails."""

    volumes: dict[str, FakeVolume] = field(default_factory=dict)
    databases: dict[str, FakeDatabase] = field(default_factory=dict)
    rds: RdsService = field(default_factory=RdsService)
    calls: Counter[str] = field(default_factory=Counter)
    unreadable: set[str] = field(default_factory=set)
    instance_iops: int = 40_000

    def add(self, number: int, *, attached: bool = True, tags: dict[str, str] | None = None,
            load: dict[str, Any] | None = None, **shape: Any) -> str:  # fmt: skip
        """A volume of 100 GiB gp3 on an instance of its own; its id."""
        name = f"vol-{number:017x}"
        instance = [{"InstanceId": f"i-{number:017x}", "State": "attached", "Device": "/dev/sdf"}]
        settings = {"VolumeType": "gp3", "Size": 100, "Iops": 3_000, "Throughput": 125} | shape
        self.volumes[name] = FakeVolume(name, {
            "VolumeId": name, "State": "in-use" if attached else "available",
            "CreateTime": NOW - timedelta(days=400), "AvailabilityZone": f"{REGION}a",
            "Attachments": instance if attached else [], "MultiAttachEnabled": False,
            "Tags": [{"Key": k, "Value": v} for k, v in (tags or {}).items()],
            **{k: v for k, v in settings.items() if v is not None},
        }, **(load or {}))  # fmt: skip
        return name

    def add_database(
        self, name: str, load: dict[str, Any] | None = None, **shape: Any
    ) -> FakeDatabase:
        """A DB instance of 500 GiB gp3, tagged with nothing."""
        settings = {"StorageType": "gp3", "Iops": 12_000, "StorageThroughput": 500, "TagList": []}
        self.rds.instances[name] = db(
            DBInstanceIdentifier=name, DbiResourceId=f"db-{name.upper()}", **settings | shape
        )
        self.databases[name] = FakeDatabase(**(load or {}))
        return self.databases[name]

    def account(self) -> Account:
        """It, as commands see it."""
        return Account(
            account_id=ACCOUNT, region=REGION, caller="arn:aws:iam::1:user/me", now=NOW,
            ec2=self, cloudwatch=self, prices=CataloguePrices(), client=lambda name: self.rds if name == "rds" else self,
        )  # type: ignore[arg-type]  # fmt: skip

    def get_paginator(self, name: str) -> Any:
        aws = self

        class Pages:
            def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
                return aws._pages(name, asked)

        return Pages()

    def _pages(self, name: str, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
        filters = {each["Name"]: each["Values"] for each in asked.get("Filters", ())}
        if name == "describe_volumes":
            found = [v.shape for v in self.volumes.values() if _matches(v.shape, filters)]
            for first in range(0, len(found), PAGE):
                self.calls[name] += 1
                yield {"Volumes": found[first : first + PAGE]}
        elif name == "describe_volumes_modifications":
            self.calls[name] += 1
            yield {"VolumesModifications": []}
        elif name == "describe_instances":
            self.calls[name] += 1
            mapped: dict[str, list[Any]] = {}
            for volume in self.volumes.values():
                for each in volume.shape["Attachments"]:
                    device = {"Ebs": {"VolumeId": volume.volume_id}}
                    mapped.setdefault(each["InstanceId"], []).append(device)
            yield {"Reservations": [{"Instances": [
                {"InstanceId": one, "InstanceType": "m6i.8xlarge", "EbsOptimized": True,
                 "BlockDeviceMappings": mapped[one]}
                for one in filters["instance-id"]
            ]}]}  # fmt: skip

    def describe_volumes(self, *, VolumeIds: list[str]) -> dict[str, Any]:
        return {"Volumes": [self.volumes[each].shape for each in VolumeIds]}

    def describe_volumes_modifications(self, **_: Any) -> dict[str, Any]:
        return {"VolumesModifications": []}

    def describe_instances(self, *, InstanceIds: list[str]) -> dict[str, Any]:
        asked = {"Filters": [{"Name": "instance-id", "Values": InstanceIds}]}
        return next(self._pages("describe_instances", asked))

    def describe_instance_types(self, **asked: Any) -> dict[str, Any]:
        self.calls["describe_instance_types"] += 1
        limits = {
            f"{most}{what}": value for most in ("Baseline", "Maximum") for what, value in
            (("BandwidthInMbps", 10_000), ("ThroughputInMBps", 1_250.0),
             ("Iops", self.instance_iops))
        }  # fmt: skip
        info = {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": limits,
                "NvmeSupport": "required"}  # fmt: skip
        return {"InstanceTypes": [
            {"InstanceType": name, "Hypervisor": "nitro", "EbsInfo": info}
            for name in asked.get("InstanceTypes", ["m6i.8xlarge"])
        ]}  # fmt: skip

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        self.calls["get_metric_data"] += 1
        self.calls["metrics"] += len(asked["MetricDataQueries"])
        assert len(asked["MetricDataQueries"]) <= 500
        return {"MetricDataResults": [
            self._result(query, asked["StartTime"], asked["EndTime"])
            for query in asked["MetricDataQueries"]
        ]}  # fmt: skip

    def _result(self, query: Any, start: datetime, end: datetime) -> dict[str, Any]:
        metric, period = query["MetricStat"]["Metric"], query["MetricStat"]["Period"]
        names = {each["Name"]: each["Value"] for each in metric["Dimensions"]}
        volume = self.volumes.get(names.get("VolumeId", ""))
        database = self.databases.get(names.get("DBInstanceIdentifier", ""))
        if volume is not None and volume.volume_id in self.unreadable:
            raise ClientError({"Error": {"Code": "InternalServiceFault"}}, "GetMetricData")
        credit = metric["MetricName"] == "BurstBalance"
        found = database or volume
        if found is None or (credit and volume and volume.shape["VolumeType"] != "gp2"):
            return {"Id": query["Id"], "Timestamps": [], "Values": [], "StatusCode": "Complete"}
        first, last = int(start.timestamp()), int(end.timestamp())
        at = _instants(first, last, period)
        values = [found.points(metric["MetricName"], each, period) for each in at]
        return {"Id": query["Id"], "Timestamps": at, "Values": values, "StatusCode": "Complete"}

    def describe_stacks(self, **_: Any) -> Any:
        message = "Stack with id HeadroomState does not exist"
        raise ClientError({"Error": {"Code": "ValidationError", "Message": message}}, "Describe")

    def get_function_configuration(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": "ResourceNotFoundException", "Message": ""}}, "Get")

    def get_parameter(self, **_: Any) -> Any:
        raise ClientError({"Error": {"Code": "ParameterNotFound", "Message": ""}}, "GetParameter")


@lru_cache(maxsize=64)
def _instants(first: int, last: int, period_s: int) -> tuple[datetime, ...]:
    """The periods of the last 40 days in a window, which all metrics of a call share."""
    every = (datetime.fromtimestamp(each, UTC) for each in range(first, last, period_s))
    return tuple(each for each in every if each > NOW - timedelta(days=40))


def _matches(shape: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    tags = {f"tag:{each['Key']}": each["Value"] for each in shape["Tags"]}
    known = tags | {"volume-id": shape["VolumeId"]}
    return all(known.get(name) in values for name, values in filters.items())
