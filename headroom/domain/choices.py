"""What one change of a volume may lead to: by the rules of EBS, or by RDS's where a database owns it."""

from __future__ import annotations

from headroom.domain import catalogue, rds_catalogue, rds_cheapest
from headroom.domain.catalogue import LIMITS, max_iops
from headroom.domain.rds_catalogue import ValidStorage
from headroom.domain.resources import Configuration, VolumeType


def cheapest(
    origin: Configuration,
    volume_type: VolumeType,
    *,
    iops: float,
    mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:
    """The cheapest of `volume_type` from `origin` that sustains `iops` and `mibps`, None if none.

    Size grows only to what the type takes at least, for gp2, and where RDS's ratios or stripes
    ask for it.
    """
    if origin.database is not None:
        return rds_cheapest.cheapest(origin, volume_type, iops=iops, mibps=mibps, valid=valid)
    size = _size(origin, volume_type)
    return catalogue.cheapest(volume_type, size, iops=iops, mibps=mibps)


def most(
    origin: Configuration,
    volume_type: VolumeType,
    *,
    iops: float,
    mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:
    """All that the type has at its size, for a demand of more IOPS than that; None where it is not."""
    if origin.database is not None:
        found = rds_cheapest.most(origin, volume_type, valid)
        return found if found is not None and iops > (found.iops or 0) else None
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
    return target if catalogue.why_invalid(target) is None and iops > count else None


def why_refused(
    origin: Configuration, target: Configuration, valid: tuple[ValidStorage, ...] = ()
) -> str | None:
    """One sentence on why AWS would not lead from `origin` to `target`, or None when it would."""
    if origin.database is not None or target.database is not None:
        return rds_catalogue.why_refused(origin, target, valid)
    return catalogue.why_invalid(target)


def _size(origin: Configuration, volume_type: VolumeType) -> int:
    return max(origin.size_gib, LIMITS[volume_type].size_gib[0])
