"""What RDS says of an Aurora cluster, as a volume like any other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC

from headroom.adapters.aurora.shapes import Shape, status_of
from headroom.domain.aurora import ClusterMemory, ObservedMode, configuration_of
from headroom.domain.catalog.rds import flushed
from headroom.domain.resources import (
    DatabaseFacts,
    Kind,
    Modification,
    ModificationState,
    ResourceRef,
    StorageMode,
    Volume,
    has_nvme,
)

AVAILABLE, MODIFYING = "available", "modifying"
LEAVING = ("deleting", "deleted")
NO_WRITER = "no member of it writes"
"""It has no members, whose bill is then of another time, or it is the secondary of a Global
Database: the writes that are replicated to it are billed alike in both modes."""


def storage_mode_of(shape: Shape) -> StorageMode:
    """The mode in force, which AWS leaves out for Standard; raises ValueError for another type."""
    return StorageMode(shape.get("StorageType") or StorageMode.STANDARD)


def pending_storage_mode(shape: Shape) -> StorageMode | None:
    """The mode that is pending; raises ValueError for another type."""
    pending = (shape.get("PendingModifiedValues") or {}).get("StorageType")
    return None if pending is None else StorageMode(pending)


def observed_mode(shape: Shape) -> ObservedMode:
    """What a cluster's shape says of its mode; raises KeyError or ValueError."""
    return ObservedMode(
        identity=shape.get("DbClusterResourceId") or shape["DBClusterIdentifier"],
        mode=storage_mode_of(shape),
        pending=pending_storage_mode(shape),
        applying=shape["Status"] == MODIFYING,
    )


def volume_of(
    shape: Shape, members: Sequence[Shape], *, account_id: str, region: str,
    memory: ClusterMemory | None = None,
) -> Volume:  # fmt: skip
    """A cluster's storage as a `Volume`; raises KeyError or ValueError.

    What is pending of our own change, or of one that is on its way, is nobody else's.
    """
    reported = sorted(
        shape.get("DBClusterMembers") or (), key=lambda m: not m.get("IsClusterWriter")
    )
    classes = sorted({one["DBInstanceClass"] for one in members})
    pending = set(flushed(shape.get("PendingModifiedValues") or {}))
    if memory is not None and memory.mode is not storage_mode_of(shape):
        pending -= {"StorageType"}
    ref = ResourceRef(
        kind=Kind.AURORA, account_id=account_id, region=region,
        resource_id=shape["DBClusterIdentifier"],
    )  # fmt: skip
    created = shape["ClusterCreateTime"].astimezone(UTC)
    return Volume(
        ref=ref,
        configuration=configuration_of(storage_mode_of(shape)),
        availability_zone=", ".join(sorted(shape.get("AvailabilityZones") or ())),
        state=shape["Status"],
        created_at=created,
        instance_ids=(),
        multi_attach=False,
        managed_by=None,
        on_outpost=False,
        tags=tuple(sorted((t["Key"], t.get("Value", "")) for t in shape.get("TagList") or ())),
        facts=DatabaseFacts(
            instance_class=", ".join(classes),
            status=status_of(shape, members),
            members=tuple(one["DBInstanceIdentifier"] for one in reported),
            pending=(*sorted(pending), *_of_members(shape, members)),
            unusual=None if any(m.get("IsClusterWriter") for m in reported) else NO_WRITER,
        ),
    )


def modification_of(shape: Shape, memory: ClusterMemory) -> Modification | None:
    """The latest change of mode that was seen, in flight while RDS does not show its target."""
    change = memory.last_change
    if change is None:
        return None
    there = storage_mode_of(shape) is change.target and pending_storage_mode(shape) in (
        None,
        change.target,
    )
    return Modification(
        state=ModificationState.COMPLETED if there else ModificationState.MODIFYING,
        started_at=change.at,
        ended_at=None,
        origin=configuration_of(change.origin),
        target=configuration_of(change.target),
        progress_percent=100 if there else 0,
    )


def _of_members(shape: Shape, members: Iterable[Shape]) -> Iterable[str]:
    """What is left pending on members: it changes the bill, or comes with a restart of them."""
    groups = {
        one["DBInstanceIdentifier"]: one.get("DBClusterParameterGroupStatus", "in-sync")
        for one in shape.get("DBClusterMembers") or ()
    }
    for one in sorted(members, key=lambda m: str(m["DBInstanceIdentifier"])):
        name = one["DBInstanceIdentifier"]
        for what in flushed(one.get("PendingModifiedValues") or {}):
            yield f"{what} of {name}"
        if not has_nvme(one["DBInstanceClass"]):
            continue  # it restarts for nothing of ours
        own = [g.get("ParameterApplyStatus") for g in one.get("DBParameterGroups") or ()]
        if "pending-reboot" in (groups.get(name), *own):
            yield f"parameters of {name}"
