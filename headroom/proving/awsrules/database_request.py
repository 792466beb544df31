"""What one ModifyDBInstance call leads to: RDS's defaults, rounding and refusals, in its own words.

Source: RDS API reference, ModifyDBInstance; RDS User Guide, "Amazon RDS DB instance storage" (checked
2026-10); messages as reported (github.com/hashicorp/terraform-provider-aws, issues 12493 and 28160).
InvalidParameterCombination is the code of invalid requests and of requests that come too early: only
the message differs.
"""

from __future__ import annotations

from dataclasses import replace

from headroom.domain.catalog.rds import band_of, least_iops, least_mibps, least_size, why_invalid
from headroom.domain.resources import STRIPED_FROM_GIB, Configuration, Database, VolumeType
from headroom.domain.state import Refusal
from headroom.proving.awsrules.volume_request import ModificationRefused

OPTIMIZING = (
    "You can't currently modify the storage of this DB instance because the previous storage "
    "change is being optimized."
)
FOUR_USED = (
    "You can't currently modify the storage of this DB instance because it was modified four times "
    "in the last 24 hours."
)
"""The wording is ours: AWS documents the refusal, but not its message."""
COMBINATION = "InvalidParameterCombination"


def refusal_of(message: str) -> Refusal:
    """What a refusal means: its message says so, its code does not."""
    if "previous storage change is being optimized" in message:
        return Refusal.IN_FLIGHT
    return Refusal.SLOTS if message.startswith(FOUR_USED) else Refusal.INVALID


def target_of(
    origin: Configuration,
    *,
    volume_type: str | None,
    size_gib: int | None,
    iops: int | None,
    throughput_mibps: int | None,
) -> Configuration:
    """The storage such a call leads to, small raises rounded up as RDS does, or ModificationRefused."""
    database = origin.database
    if database is None:
        raise ValueError(f"{origin} is not storage of a database")
    kind = origin.volume_type if volume_type is None else known_type(volume_type)
    if size_gib is not None and size_gib < origin.size_gib:
        raise _wrong(
            "Requested storage size is smaller than the allocated storage of the instance."
        )
    provisioned = kind is origin.volume_type and origin.iops is not None
    if provisioned and (size_gib is None) != (iops is None):
        raise _wrong(
            "You must specify both the storage size and iops when modifying the storage size or "
            "iops on a DB instance that has iops."
        )
    size = least_size(origin, origin.size_gib if size_gib is None else size_gib)
    band = band_of(replace(origin, volume_type=kind, size_gib=size))
    settable = band is not None and bool(band.iops)
    if not settable and (iops is not None or throughput_mibps is not None):
        raise _unsettable(database, kind)
    if settable and iops is None and not provisioned:
        raise _wrong(f"The storage type {kind} requires iops.")
    count = origin.iops if iops is None else least_iops(origin, iops)
    if throughput_mibps is None and band is not None and band.mibps:
        # Omitted throughput: kept within the type, else the least of the band.
        least = max(band.mibps[0].low, least_mibps(database, count or 0))
        throughput_mibps = max(least, origin.throughput_mibps or 0)
    target = replace(
        origin, volume_type=kind, size_gib=size, iops=count if settable else None,
        throughput_mibps=throughput_mibps,
    )  # fmt: skip
    refuse_invalid(target)
    return target


def known_type(text: str) -> VolumeType:
    """The storage type of that name; ModificationRefused for any other."""
    if text not in set(VolumeType):
        raise ModificationRefused("InvalidParameterValue", f"Invalid storage type: {text}")
    return VolumeType(text)


def refuse_invalid(target: Configuration) -> None:
    """Raise ModificationRefused for storage that RDS does not offer for the engine."""
    problem, database = why_invalid(target), target.database
    if problem is not None and database is not None:
        raise _wrong(
            f"Invalid storage for engine name {database.engine} and storage type "
            f"{target.volume_type}: {problem}"
        )


def _unsettable(database: Database, kind: VolumeType) -> ModificationRefused:
    threshold = STRIPED_FROM_GIB.get(database.engine)
    if kind is VolumeType.GP3 and threshold is not None:
        return _wrong(
            f"You can't specify IOPS or storage throughput for engine {database.engine} and a "
            f"storage size less than {threshold}."
        )
    return _wrong(f"You can't specify IOPS or storage throughput for storage type {kind}.")


def _wrong(message: str) -> ModificationRefused:
    return ModificationRefused(COMBINATION, message)
