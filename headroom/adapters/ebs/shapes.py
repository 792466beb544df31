"""EC2's answers about volumes, modifications and instances, as the domain's nouns.

Shapes: EC2 API 2016-11-15 (botocore 1.44). Every function takes one element of a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.resources import (
    Configuration,
    InstanceLimits,
    Kind,
    Modification,
    ModificationState,
    ResourceRef,
    Volume,
    VolumeType,
)

Shape = Mapping[str, Any]
"""An element of a response; nothing of it leaves this module and `ebs`."""

MALFORMED = (KeyError, ValueError, TypeError, AttributeError)
"""What reading an element raises when it is not as documented, or has an unknown value."""

_MIB_PER_MB = 1_000_000 / (1024 * 1024)
_EBS_WEIGHT = 1.25
OLDER = timedelta(hours=1)
"""How much older than its attachment a volume is that was attached to another instance before, or to none."""
_GP3_INCLUDED = (3_000, 125)
"""IOPS and MiB/s of a gp3 volume that were never set. Source: General Purpose SSD volumes."""


def configuration(
    volume_type: str, size: int, iops: int | None, throughput: int | None
) -> Configuration:
    """What may be set, and nothing that the type derives (AWS reports gp2's baseline as Iops)."""
    kind = VolumeType(volume_type)
    limits = LIMITS[kind]
    if kind is VolumeType.GP3:
        iops, throughput = iops or _GP3_INCLUDED[0], throughput or _GP3_INCLUDED[1]
    return Configuration(
        volume_type=kind,
        size_gib=size,
        iops=iops if limits.iops else None,
        throughput_mibps=throughput if limits.throughput_mibps else None,
    )


def volume(shape: Shape, *, account_id: str, region: str) -> Volume:
    """A volume; raises ValueError for an unknown type."""
    attachments = [a for a in shape.get("Attachments", ()) if a.get("State") != "detached"]
    return Volume(
        ref=ResourceRef(
            kind=Kind.EBS, account_id=account_id, region=region, resource_id=shape["VolumeId"]
        ),
        configuration=configuration(
            shape["VolumeType"], shape["Size"], shape.get("Iops"), shape.get("Throughput")
        ),
        availability_zone=shape.get("AvailabilityZone", ""),
        state=shape["State"],
        created_at=shape["CreateTime"].astimezone(UTC),
        instance_ids=tuple(a["InstanceId"] for a in attachments if a.get("InstanceId")),
        multi_attach=bool(shape.get("MultiAttachEnabled")),
        managed_by=_managed_by(shape, attachments),
        on_outpost=bool(shape.get("OutpostArn")),
        tags=tuple(sorted((t["Key"], t.get("Value", "")) for t in shape.get("Tags", ()))),
        attached_at=_attached_at(shape, attachments),
    )


def _attached_at(shape: Shape, attachments: Sequence[Shape]) -> datetime | None:
    """Since when a volume that existed before is attached to one instance."""
    since = attachments[0].get("AttachTime") if len(attachments) == 1 else None
    if since is None or since - shape["CreateTime"] < OLDER:
        return None
    return cast("datetime", since.astimezone(UTC))


def _managed_by(shape: Shape, attachments: Iterable[Shape]) -> str | None:
    """The service that owns the volume, by EC2's operator mark or by what it is attached to."""
    operator = shape.get("Operator") or {}
    if operator.get("Managed"):
        return operator.get("Principal") or "an AWS service"
    for attachment in attachments:
        owner = attachment.get("InstanceOwningService") or attachment.get("AssociatedResource")
        if owner:
            return str(owner)
    return None


def modification(shape: Shape) -> Modification:
    """A modification; an unknown state counts as in flight, which blocks changes."""
    state, ended = shape["ModificationState"], shape.get("EndTime")
    known = state in list(ModificationState)
    return Modification(
        state=ModificationState(state) if known else ModificationState.MODIFYING,
        started_at=shape["StartTime"].astimezone(UTC),
        ended_at=None if ended is None else ended.astimezone(UTC),
        origin=_side(shape, "Original"),
        target=_side(shape, "Target"),
        progress_percent=int(shape.get("Progress") or 0),
    )


def unreadable_answer(volume: Volume, started_at: datetime | None) -> Modification:
    """What stands for a modification that cannot be read: one in flight, so that nothing acts.

    Without a start it is as old as the volume, which no window of 24 hours counts.
    """
    return Modification(
        state=ModificationState.MODIFYING,
        started_at=started_at or volume.created_at,
        ended_at=None,
        origin=volume.configuration,
        target=volume.configuration,
        progress_percent=0,
    )


def start_of(shape: Shape) -> datetime | None:
    """The start of a modification that is otherwise not understood, if it has one."""
    started = shape.get("StartTime")
    return started.astimezone(UTC) if isinstance(started, datetime) else None


def _side(shape: Shape, side: str) -> Configuration:
    return configuration(
        shape[f"{side}VolumeType"],
        shape[f"{side}Size"],
        shape.get(f"{side}Iops"),
        shape.get(f"{side}Throughput"),
    )


def latest(modifications: Iterable[Modification]) -> Modification | None:
    """The one that started last; AWS returns no other, its imitations return all."""
    return max(modifications, key=lambda m: m.started_at, default=None)


def weighted(limits: InstanceLimits | None, instance: Shape) -> InstanceLimits | None:
    """The limits of an instance with its bandwidth weighting; None where that is not known.

    `ebs-1` adds 25 % to the EBS baseline bandwidth. `vpc-1` takes away as much as it adds to the
    network, which AWS does not publish. IOPS stay. Source: EBS User Guide, "Configurable instance
    bandwidth weighting"; EC2 User Guide, "EC2 instance bandwidth weighting configuration" (2026-11).
    """
    weighting = (instance.get("NetworkPerformanceOptions") or {}).get("BandwidthWeighting")
    if limits is None or weighting in (None, "default"):
        return limits
    if weighting != "ebs-1":
        return None
    baseline = limits.baseline_mibps * _EBS_WEIGHT
    return replace(
        limits, baseline_mibps=baseline, maximum_mibps=max(limits.maximum_mibps, baseline)
    )


def instance_limits(instance_type: Shape) -> InstanceLimits | None:
    """EBS limits of an instance type, None when AWS does not publish them.

    AWS speaks of decimal MB/s; the answer is in MiB/s like everything about volumes.
    """
    info = instance_type.get("EbsInfo", {}).get("EbsOptimizedInfo") or {}
    needed = (
        "BaselineIops", "BaselineThroughputInMBps", "MaximumIops", "MaximumThroughputInMBps",
    )  # fmt: skip
    if not all(info.get(name) for name in needed):
        return None
    return InstanceLimits(
        instance_type=instance_type["InstanceType"],
        nitro=instance_type.get("Hypervisor") == "nitro" or bool(instance_type.get("BareMetal")),
        baseline_iops=int(info["BaselineIops"]),
        baseline_mibps=float(info["BaselineThroughputInMBps"]) * _MIB_PER_MB,
        maximum_iops=int(info["MaximumIops"]),
        maximum_mibps=float(info["MaximumThroughputInMBps"]) * _MIB_PER_MB,
    )
