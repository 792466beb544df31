"""Additional storage volumes of DB instances: each has rules of its own, and one at a time is changed.

Source: RDS API 2014-10-31, ModifyAdditionalStorageVolume and AdditionalStorageVolumeOutput; RDS User Guide,
"Working with storage in RDS for Oracle" and "... for SQL Server" (checked 2026-11). Not here: volumes that
are added or deleted by ModifyDBInstance, and a change of several volumes in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from headroom.domain.catalog.ebs import MAX_MODIFICATIONS
from headroom.domain.resources import Database, Engine, VolumeType
from headroom.localaws.rds.databases import ADDITIONAL, DbInstance
from headroom.proving.awsrules import (
    COMBINATION,
    FOUR_USED,
    MODIFICATION_WINDOW,
    OPTIMIZING,
    DatabaseRules,
    ModificationRefused,
)

ENGINES = (Engine.ORACLE, Engine.SQL_SERVER)
TYPES = (VolumeType.GP3.value, VolumeType.IO2.value)


def volumes_made(
    request: Mapping[str, Any],
    database: Database,
    make: Callable[[Mapping[str, Any]], DatabaseRules],
) -> dict[str, DatabaseRules]:
    """The volumes of a CreateDBInstance by name, each by `make`; raises ModificationRefused."""
    found: dict[str, DatabaseRules] = {}
    for each in request.get("AdditionalStorageVolumes") or ():
        name, volume = _named(each)
        if database.engine not in ENGINES or name in found:
            raise ModificationRefused(
                COMBINATION, f"{database.engine} takes no additional storage volume {name}."
            )
        found[name] = make({"StorageType": "gp3", **volume})
    return found


def modify_volume(one: DbInstance, request: Mapping[str, Any], now: datetime) -> None:
    """A ModifyDBInstance that names one additional volume and nothing else; ModificationRefused."""
    asked = list(request["AdditionalStorageVolumes"])
    if len(asked) != 1 or set(request) - {
        "DBInstanceIdentifier", "ApplyImmediately", "AdditionalStorageVolumes",
    }:  # fmt: skip
        raise NotImplementedError("This endpoint changes one storage volume a call.")
    name, wanted = _named(asked[0])
    rules = one.additional.get(name)
    if rules is None or "SetForDelete" in wanted:
        raise NotImplementedError("This endpoint neither adds nor deletes additional volumes.")
    if not request.get("ApplyImmediately"):
        raise NotImplementedError("This endpoint changes additional volumes at once only.")
    here = rules.lifecycle.described(now)
    size = int(wanted.get("AllocatedStorage", here.size_gib))
    if (
        here.database is not None
        and here.database.engine is Engine.SQL_SERVER
        and size != here.size_gib
    ):
        raise ModificationRefused(
            COMBINATION, f"The size of storage volume {name} can't be changed."
        )
    refuse_beside(one, rules, now)
    if one.settings.pending(now):
        raise NotImplementedError(
            "This endpoint applies no pending setting with a volume's change."
        )
    rules.modify(now, storage=wanted, others={}, at_once=True)


def refuse_beside(one: DbInstance, rules: DatabaseRules, now: datetime) -> None:
    """Raise ModificationRefused while another volume is changed, and after four changes of all in a day."""
    others = [each for each in one.all_rules() if each is not rules]
    changes = (each.lifecycle.modification(now) for each in others)
    if any(change is not None and change.in_flight for change in changes):
        raise ModificationRefused(COMBINATION, OPTIMIZING)
    starts = [start for each in one.all_rules() for start in each.lifecycle.starts]
    if sum(start > now - MODIFICATION_WINDOW for start in starts) >= MAX_MODIFICATIONS:
        raise ModificationRefused(COMBINATION, FOUR_USED)


def volume_shapes(
    one: DbInstance, storage: Callable[[DatabaseRules, datetime], dict[str, Any]], now: datetime
) -> dict[str, Any]:
    """AdditionalStorageVolumes of a DBInstance, and of its pending values; nothing without any."""
    shapes, pending = [], []
    for name, rules in one.additional.items():
        found = storage(rules, now)
        waits = found.pop("PendingModifiedValues")
        found.pop("MultiAZ")
        shapes.append(
            {
                "VolumeName": name, **_output(found),
                "StorageVolumeStatus": _STATUSES.get(rules.status(now), "ACTIVE"),
            }
        )  # fmt: skip
        if waits:
            pending.append({"VolumeName": name, **_output(waits)})
    if not shapes:
        return {}
    own = storage(one.all_rules()[0], now)["PendingModifiedValues"]
    more = {"AdditionalStorageVolumes": pending} if pending else {}
    return {"AdditionalStorageVolumes": shapes, "PendingModifiedValues": own | more}


def valid_volumes(
    one: DbInstance, valid: Callable[[DatabaseRules, datetime], dict[str, Any]], now: datetime
) -> dict[str, Any]:
    """AdditionalStorage of a ValidDBInstanceModificationsMessage; nothing without additional volumes."""
    if not one.additional:
        return {}
    volumes = [
        {
            "VolumeName": name,
            "Storage": [s for s in valid(rules, now)["Storage"] if s["StorageType"] in TYPES],
        }
        for name, rules in one.additional.items()
    ]
    return {"AdditionalStorage": {"SupportsAdditionalStorageVolumes": True, "Volumes": volumes}}


_STATUSES = {
    "modifying": "MODIFYING",
    "storage-optimization": "STORAGE-OPTIMIZATION",
    "storage-full": "VOLUME-FULL",
}


def _named(volume: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Name in lower case, and the settings by the names that an instance's storage has."""
    own = {"Iops" if name == "IOPS" else name: value for name, value in volume.items()}
    name = str(own.pop("VolumeName")).lower()
    kind = str(own.get("StorageType", "gp3")).lower()
    if name not in ADDITIONAL or kind not in TYPES:
        raise ModificationRefused("InvalidParameterValue", f"Invalid storage volume: {name} {kind}")
    return name, own | ({"StorageType": kind} if "StorageType" in own else {})


def _output(settings: Mapping[str, Any]) -> dict[str, Any]:
    found = {"IOPS" if name == "Iops" else name: value for name, value in settings.items()}
    return found | ({"StorageType": found["StorageType"].upper()} if "StorageType" in found else {})
