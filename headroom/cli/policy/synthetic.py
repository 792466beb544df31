"""Synthetic storage from the command line, to show which limits a policy sets for it."""

from __future__ import annotations

from collections.abc import Mapping

from headroom.cli.terminal.problems import BadRequest
from headroom.domain.aurora import configuration_of
from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import LIMITS
from headroom.domain.catalog.rds import band_of
from headroom.domain.resources import (
    STORAGE_MODES,
    Configuration,
    Database,
    Engine,
    Kind,
    ResourceRef,
    StorageMode,
    Volume,
    VolumeType,
)
from headroom.proving.policy_tests import described_volume

_NAMES = {
    Kind.EBS: "a synthetic volume",
    Kind.RDS: "a synthetic database",
    Kind.AURORA: "a synthetic cluster",
}


def synthetic_volume(
    kind: Kind, volume_type: VolumeType | None, size: int, tags: Mapping[str, str], *,
    account_id: str, region: str,
) -> Volume:  # fmt: skip
    """Storage of that kind, type and size with the least it can have; raises BadRequest.

    A database is of PostgreSQL: what a policy says of it does not depend on the engine.
    """
    ref = ResourceRef(kind=kind, account_id=account_id, region=region, resource_id=_NAMES[kind])
    storage_type = volume_type or (VolumeType.AURORA if kind is Kind.AURORA else VolumeType.GP3)
    if (storage_type in STORAGE_MODES) is not (kind is Kind.AURORA):
        raise BadRequest(f"There is no {storage_type.value} storage of kind {kind.value}.")
    if kind is Kind.AURORA:
        return described_volume(ref, configuration_of(StorageMode(storage_type.value)), tags)
    made = _volume(storage_type, size) if kind is Kind.EBS else _database(storage_type, size)
    problem = why_invalid(made)
    if problem is not None:
        of = "volume" if kind is Kind.EBS else "storage"
        raise BadRequest(f"There is no {storage_type.value} {of} of {size} GiB: {problem}.")
    return described_volume(ref, made, tags)


def _volume(volume_type: VolumeType, size: int) -> Configuration:
    ranges = LIMITS[volume_type]
    return Configuration(
        volume_type=volume_type, size_gib=size,
        iops=None if ranges.iops is None else ranges.iops[0],
        throughput_mibps=None if ranges.throughput_mibps is None else ranges.throughput_mibps[0],
    )  # fmt: skip


def _database(volume_type: VolumeType, size: int) -> Configuration:
    database = Database(engine=Engine.POSTGRESQL)
    plain = Configuration(
        volume_type=volume_type, size_gib=size, iops=None, throughput_mibps=None, database=database
    )
    band = band_of(plain)
    return Configuration(
        volume_type=volume_type, size_gib=size,
        iops=band.iops[0].low if band is not None and band.iops else None,
        throughput_mibps=band.mibps[0].low if band is not None and band.mibps else None,
        database=database,
    )  # fmt: skip
