"""Additional storage volumes of RDS for Oracle and SQL Server: one of them in the place of an instance's storage.

Each is a resource of its own, `INSTANCE/VOLUME`: read, decided on and changed as if it were the storage of its
instance. Shapes: RDS API 2014-10-31 (botocore 1.44).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headroom.domain.resources import PRIMARY_VOLUME, AdditionalVolume

Shape = Mapping[str, Any]
"""An element of a response; nothing of it leaves this room."""

STORAGE = ("AllocatedStorage", "Iops", "StorageThroughput", "StorageType")
"""Pending values that are of the storage itself."""
_VOLUMES = "AdditionalStorageVolumes"


def volume_names(shape: Shape) -> tuple[str, ...]:
    """The additional storage volumes of a DB instance by name, in lower case as RDS takes it."""
    return tuple(str(v["VolumeName"]).lower() for v in shape.get(_VOLUMES) or ())


def as_storage(shape: Shape, additional: str) -> Shape:
    """The DB instance with an additional volume in the place of its storage; raises KeyError for none such.

    Pending changes of the other volumes stay pending, under names that are not of this storage.
    """
    pending = dict(shape.get("PendingModifiedValues") or {})
    own, others = with_name(pending.pop(_VOLUMES, None) or (), additional)
    found, _ = with_name(shape[_VOLUMES], additional)
    if not found:
        raise KeyError(additional)
    pending = {f"{PRIMARY_VOLUME} {n}" if n in STORAGE else n: v for n, v in pending.items()}
    if others:
        pending[_VOLUMES] = others
    working = found[0].get("StorageOperationStatus") or shape.get("StorageOperationStatus")
    replaced = (*STORAGE, "MaxAllocatedStorage", "StorageOperationPercentProgress")
    return {
        **{name: value for name, value in shape.items() if name not in replaced},
        **_renamed(found[0]),
        "StorageOperationStatus": working,
        "PendingModifiedValues": {**pending, **(_renamed(own[0]) if own else {})},
    }


def is_beside(pending: str) -> bool:
    """Whether the name of a pending change says that it is of other volumes of the instance."""
    return pending == _VOLUMES or pending.startswith(f"{PRIMARY_VOLUME} ")


def with_name(volumes: Iterable[Shape], name: str) -> tuple[list[Shape], list[Shape]]:
    """Those of this name and the others."""
    found = list(volumes)
    own = [each for each in found if str(each["VolumeName"]).lower() == name]
    return own, [each for each in found if each not in own]


def _renamed(volume: Shape) -> Shape:
    """An additional volume under the names that an instance's storage has."""
    own = {"Iops" if name == "IOPS" else name: value for name, value in volume.items()}
    own.pop("VolumeName")
    return own | ({"StorageType": own["StorageType"].lower()} if own.get("StorageType") else {})


def additional_volume(shape: Shape) -> AdditionalVolume:
    """One of AdditionalStorageVolumes."""
    return AdditionalVolume(
        name=shape["VolumeName"], volume_type=shape.get("StorageType", "").lower(),
        size_gib=shape.get("AllocatedStorage"), iops=shape.get("IOPS"),
        mibps=shape.get("StorageThroughput"), status=shape.get("StorageVolumeStatus", ""),
        operation=shape.get("StorageOperationStatus"),
    )  # fmt: skip
