"""The storage that a CreateDBInstance or CreateDBCluster call creates: RDS's defaults and refusals.

Source: RDS API 2014-10-31, CreateDBInstance; RDS User Guide, "Amazon RDS DB instance storage"
(checked 2026-11). Messages about MaxAllocatedStorage as reported (github.com/hashicorp/
terraform-provider-aws).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headroom.domain.catalog.rds import band_of
from headroom.domain.resources import Configuration, Database, VolumeType
from headroom.proving.awsrules.database_request import COMBINATION, known_type, refuse_invalid
from headroom.proving.awsrules.volume_request import ModificationRefused

_TENTH = 110


def storage_made(request: Mapping[str, Any], database: Database) -> Configuration:
    """The requested storage; gp3 by default, io1 if IOPS are given; raises ModificationRefused."""
    iops, mibps = request.get("Iops"), request.get("StorageThroughput")
    kind = str(request.get("StorageType") or ("io1" if iops is not None else "gp3"))
    volume_type = known_type(kind)
    if request.get("AllocatedStorage") is None:
        raise ModificationRefused(
            "MissingParameter", "The request must contain the parameter AllocatedStorage."
        )
    plain = Configuration(
        volume_type=volume_type, size_gib=int(request["AllocatedStorage"]), iops=None,
        throughput_mibps=None, database=database,
    )  # fmt: skip
    band = band_of(plain)
    if band is not None and plain.volume_type is VolumeType.GP3:
        iops = band.iops[0].low if iops is None and band.iops else iops
        mibps = band.mibps[0].low if mibps is None and band.mibps else mibps
    found = replace(
        plain,
        iops=None if iops is None else int(iops),
        throughput_mibps=None if mibps is None else int(mibps),
    )
    refuse_invalid(found)
    return found


def max_allocated_storage(most: object, size_gib: int) -> int | None:
    """MaxAllocatedStorage of storage of `size_gib`; None where it switches autoscaling off."""
    if most is None or int(str(most)) == size_gib:
        return None
    gib = int(str(most))
    if gib < size_gib:
        raise ModificationRefused(COMBINATION, "Max storage size must be greater than storage size")
    if gib * 100 < size_gib * _TENTH:
        raise ModificationRefused(
            COMBINATION,
            "The maximum allocated storage must be at least 10 percent more than the storage size.",
        )
    return gib
