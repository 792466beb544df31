"""Reachable configurations: what one change can make of storage, by the rules of its kind.

`StorageRules` is what Headroom needs to know of a kind of storage; `rules_of` finds the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headroom.domain.catalog.ebs import GP2_BURST_IOPS, volumes_under
from headroom.domain.catalog.ebs import NAMES as EBS_NAMES
from headroom.domain.catalog.ebs import reachable as ebs_rules
from headroom.domain.catalog.rds import ADDITIONAL_NAMES, CLUSTER_NAMES, INSTANCE_NAMES
from headroom.domain.catalog.rds import reachable as rds_rules
from headroom.domain.resources import (
    STORAGE_MODES,
    Configuration,
    Kind,
    ResourceRef,
    SettingNames,
    ValidStorage,
    VolumeType,
)


class StorageRules(Protocol):
    """What one change of one kind of storage can lead to. `valid` is what AWS said at run time."""

    def why_refused(
        self, origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
    ) -> str | None:
        """One sentence on why AWS would not lead from `origin` to `target`, or None."""

    def why_invalid(self, configuration: Configuration) -> str | None:
        """One sentence on why AWS would have no such storage, or None."""

    def included(self, configuration: Configuration) -> tuple[float, float]:
        """IOPS and MiB/s that the type has at its smallest, at the configuration's size."""

    def cheapest(
        self, origin: Configuration, volume_type: VolumeType, *, iops: float, mibps: float,
        valid: tuple[ValidStorage, ...] = (),
    ) -> Configuration | None:  # fmt: skip
        """The cheapest of `volume_type` that sustains both, None if none does."""

    def highest_settings(
        self, origin: Configuration, volume_type: VolumeType, *, mibps: float,
        valid: tuple[ValidStorage, ...] = (),
    ) -> Configuration | None:  # fmt: skip
        """The highest IOPS that `volume_type` takes at the size it needs, None if none."""

    def request(
        self, name: str, origin: Configuration, target: Configuration,
        valid: tuple[ValidStorage, ...] = (),
    ) -> tuple[str, Mapping[str, object]]:  # fmt: skip
        """The API call that makes the change, and its parameters. Raises ValueError."""


EBS: StorageRules = ebs_rules
RDS: StorageRules = rds_rules


def rules_of(configuration: Configuration) -> StorageRules:
    """The rules of the kind of storage that `configuration` is; RDS changes Aurora clusters too."""
    rds = configuration.database is not None or configuration.volume_type in STORAGE_MODES
    return RDS if rds else EBS


def setting_names(ref: ResourceRef) -> SettingNames:
    """What infrastructure as code calls the resource and its settings."""
    if ref.kind is Kind.EBS:
        return EBS_NAMES
    if "/" in ref.resource_id:
        return ADDITIONAL_NAMES
    cluster = ref.kind is Kind.AURORA or ref.resource_id.startswith("cluster:")
    return CLUSTER_NAMES if cluster else INSTANCE_NAMES


def why_invalid(configuration: Configuration) -> str | None:
    """One sentence on why AWS would refuse `configuration`, or None when it is valid."""
    return rules_of(configuration).why_invalid(configuration)


def why_refused(
    origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> str | None:
    """One sentence on why AWS would not lead from `origin` to `target`, or None when it would."""
    owner = target if origin.database is None else origin
    return rules_of(owner).why_refused(origin, target, valid)


def cheapest(
    origin: Configuration, volume_type: VolumeType, *, iops: float, mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:  # fmt: skip
    """The cheapest of `volume_type` from `origin` that sustains `iops` and `mibps`, None if none.

    Size grows only to the type's minimum, for gp2, and where RDS's ratios or stripes require it.
    """
    return rules_of(origin).cheapest(origin, volume_type, iops=iops, mibps=mibps, valid=valid)


def highest_settings(
    origin: Configuration, volume_type: VolumeType, *, iops: float, mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:  # fmt: skip
    """The highest IOPS of the type, for a demand above that; None where demand is not above it."""
    found = rules_of(origin).highest_settings(origin, volume_type, mibps=mibps, valid=valid)
    return found if found is not None and iops > (found.iops or 0) else None


def included(configuration: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that the type has at its smallest, at the configuration's size.

    gp3's are free of charge; gp2's are those of a burst; 1 IOPS where a type has no minimum.
    """
    if configuration.volume_type in (VolumeType.GP2, VolumeType.GP3):
        stripes = volumes_under(configuration)
        if configuration.volume_type is VolumeType.GP2:
            return float(GP2_BURST_IOPS) * stripes, 250.0 * stripes
        return 3_000.0 * stripes, 125.0 * stripes
    return rules_of(configuration).included(configuration)
