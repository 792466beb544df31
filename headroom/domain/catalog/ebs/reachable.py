"""What one ModifyVolume call can make of an EBS volume, by the rules of its type."""

from __future__ import annotations

from headroom.domain.catalog.ebs import limits as catalogue
from headroom.domain.catalog.ebs.change import request as request
from headroom.domain.catalog.ebs.limits import LIMITS, max_iops
from headroom.domain.catalog.ebs.limits import why_invalid as why_invalid
from headroom.domain.resources import Configuration, ValidStorage, VolumeType


def why_refused(
    origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> str | None:
    """One sentence on why EC2 would not make `target` of a volume, or None when it would."""
    return why_invalid(target)


def included(configuration: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that the type has at its smallest; 1 IOPS where a type has no least."""
    ranges = LIMITS[configuration.volume_type]
    return float(ranges.iops[0]) if ranges.iops else 1.0, 125.0


def cheapest(
    origin: Configuration,
    volume_type: VolumeType,
    *,
    iops: float,
    mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:
    """The cheapest of `volume_type` that sustains `iops` and `mibps`, None if none does."""
    return catalogue.cheapest(volume_type, _size(origin, volume_type), iops=iops, mibps=mibps)


def highest_settings(
    origin: Configuration,
    volume_type: VolumeType,
    *,
    mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:
    """The highest IOPS that the type takes at the volume's size; None where none can be set."""
    size = _size(origin, volume_type)
    count = max_iops(volume_type, size)
    if not count:
        return None
    ranges = LIMITS[volume_type].throughput_mibps
    target = Configuration(
        volume_type=volume_type,
        size_gib=size,
        iops=count,
        throughput_mibps=None
        if ranges is None
        else int(min(ranges[1], count // 4, max(mibps, 125))),
    )
    return target if why_invalid(target) is None else None


def _size(origin: Configuration, volume_type: VolumeType) -> int:
    return max(origin.size_gib, LIMITS[volume_type].size_gib[0])
