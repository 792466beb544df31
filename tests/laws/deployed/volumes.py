"""EC2 behind the wire: volumes under AWS's rules, described as they were a moment ago."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration
from headroom.localaws.ebs.api import modification_shape
from headroom.proving.awsrules import Delays, ModificationRefused, VolumeLifecycle
from tests.adapters.rds.service import EBS_INFO
from tests.builders import REGION
from tests.laws.deployed.wire import Call, Refusal

DELAYS = Delays(
    modifying=timedelta(minutes=1), effect=timedelta(minutes=3), completed=timedelta(minutes=25)
)
KIB = 16


@dataclass(slots=True, kw_only=True)
class Volume:
    """One volume: its rules, tags and load; `loads` are operations/s from an instant on."""

    volume_id: str
    life: VolumeLifecycle
    owner: Configuration
    """What people set: price increases count from it."""
    loads: list[tuple[datetime, float]]
    measured_since: datetime
    instance_id: str
    tags: dict[str, str] = field(default_factory=lambda: {"headroom": "auto"})

    def load(self, at: datetime) -> float:
        """Operations/s that are wanted at an instant."""
        return next((iops for since, iops in reversed(self.loads) if since <= at), 0.0)

    def minute(self, at: datetime) -> Mapping[str, float]:
        """What CloudWatch publishes of a minute, by metric; sums are of 60 seconds."""
        can, wanted = capability(self.life.effective(at)), self.load(at)
        most = min(can.burst_iops, can.burst_mibps * 1024 / KIB)
        served, pressed = min(wanted, most), float(wanted > most)
        moved, ms = served * KIB * 1024 * 60 / 2, 200.0 if pressed else 1.0
        return {
            "VolumeReadOps": served * 30, "VolumeWriteOps": served * 30,
            "VolumeReadBytes": moved, "VolumeWriteBytes": moved,
            "VolumeQueueLength": served * ms / 1000, "VolumeStalledIOCheck": 0.0,
            "VolumeAvgReadLatency": ms, "VolumeAvgWriteLatency": ms,
            "VolumeIOPSExceededCheck": pressed, "VolumeThroughputExceededCheck": 0.0,
            "VolumeAvgIOPS": served, "VolumeAvgThroughput": served * KIB,
        }  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Ec2:
    """The volumes of an account, each on an instance with room to spare."""

    volumes: dict[str, Volume] = field(default_factory=dict)

    def answer(self, call: Call, now: datetime, lag: timedelta) -> Mapping[str, Any]:
        """One call; what it describes is `lag` old. Raises Refusal."""
        match call.operation:
            case "DescribeVolumes":
                found = self._asked(call)
                return {"Volumes": [self._volume(each, now - lag) for each in found]}
            case "DescribeVolumesModifications":
                return {"VolumesModifications": self._modifications(call, now - lag)}
            case "DescribeInstances":
                return {"Reservations": [{"Instances": self._instances(call)}]}
            case "DescribeInstanceTypes":
                info = {"EbsOptimizedSupport": "default", "EbsOptimizedInfo": EBS_INFO}
                kind = call.listed("InstanceType")[0]
                described = {"InstanceType": kind, "Hypervisor": "nitro", "EbsInfo": info}
                return {"InstanceTypes": [described]}
            case "ModifyVolume":
                return {"VolumeModification": self._modify(call, now)}
        raise NotImplementedError(call.operation)

    def target_of(self, call: Call) -> Configuration:
        """What a ModifyVolume would make of its volume, as far as it names anything."""
        asked, here = call.asked, self.volumes[call.asked["VolumeId"]].owner
        kind = type(here.volume_type)(asked.get("VolumeType", here.volume_type))
        return Configuration(
            volume_type=kind, size_gib=int(asked.get("Size", here.size_gib)),
            iops=int(asked["Iops"]) if "Iops" in asked else None,
            throughput_mibps=int(asked["Throughput"]) if "Throughput" in asked else None,
        )  # fmt: skip

    def _asked(self, call: Call) -> list[Volume]:
        ids = call.listed("VolumeId")
        if unknown := [each for each in ids if each not in self.volumes]:
            raise Refusal("InvalidVolume.NotFound", f"The volume '{unknown[0]}' does not exist.")
        wanted = call.filters()
        return [
            each
            for each in self.volumes.values()
            if (not ids or each.volume_id in ids)
            and each.volume_id in wanted.get("volume-id", [each.volume_id])
            and each.instance_id in wanted.get("attachment.instance-id", [each.instance_id])
        ]

    def _volume(self, one: Volume, at: datetime) -> Mapping[str, Any]:
        here = one.life.described(at)
        return {
            "VolumeId": one.volume_id, "Size": here.size_gib, "VolumeType": here.volume_type,
            "Iops": here.iops, "Throughput": here.throughput_mibps, "State": "in-use",
            "CreateTime": one.life.created_at, "AvailabilityZone": f"{REGION}a",
            "Attachments": [
                {"InstanceId": one.instance_id, "State": "attached", "VolumeId": one.volume_id}
            ],
            "Tags": [{"Key": key, "Value": value} for key, value in one.tags.items()],
        }  # fmt: skip

    def _modifications(self, call: Call, at: datetime) -> list[Mapping[str, Any]]:
        found = []
        for one in self._asked(call):
            change = one.life.modification(at)
            if change is not None:
                found.append(modification_shape(one.volume_id, change))
            elif call.listed("VolumeId"):
                raise Refusal("InvalidVolumeModification.NotFound")
        return found

    def _instances(self, call: Call) -> list[Mapping[str, Any]]:
        wanted = call.listed("InstanceId") or call.filters().get("instance-id", [])
        return [
            {
                "InstanceId": name, "InstanceType": "m5.4xlarge", "EbsOptimized": True,
                "BlockDeviceMappings": [
                    {"Ebs": {"VolumeId": each.volume_id}}
                    for each in self.volumes.values()
                    if each.instance_id == name
                ],
            }
            for name in wanted
        ]  # fmt: skip

    def _modify(self, call: Call, now: datetime) -> Mapping[str, Any]:
        asked = call.asked
        one = self.volumes[asked["VolumeId"]]
        numbers = {
            ours: int(asked[name])
            for name, ours in (("Size", "size_gib"), ("Iops", "iops"), ("Throughput", "throughput_mibps"))
            if name in asked
        }  # fmt: skip
        try:
            change = one.life.modify(now, volume_type=asked.get("VolumeType"), **numbers)  # type: ignore[arg-type]
        except ModificationRefused as refused:
            raise Refusal(refused.code, refused.message) from None
        return modification_shape(one.volume_id, change)
