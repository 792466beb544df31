"""The cheapest storage of one type that one change of a database leads to, in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, floor

from headroom.domain.catalog.ebs import LIMITS, capability, fewest
from headroom.domain.catalog.rds.change import request as request
from headroom.domain.catalog.rds.limits import Band, band_of, bands, least_mibps
from headroom.domain.catalog.rds.limits import why_invalid as why_invalid
from headroom.domain.catalog.rds.steps import least_iops, least_size
from headroom.domain.catalog.rds.steps import why_refused as why_refused
from headroom.domain.resources import Configuration, Spans, ValidStorage, VolumeType


def cheapest(
    origin: Configuration,
    volume_type: VolumeType,
    *,
    iops: float,
    mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:
    """The cheapest storage of `volume_type` from `origin` that sustains `iops` and `mibps`.

    Size grows only if nothing smaller is enough, because prices rise with every GiB. None when one change reaches no such storage.
    """
    database = origin.database
    if database is None:
        raise ValueError(f"{origin} is not storage of a database")
    for band in bands(database, volume_type, valid):
        for size in _sizes(origin, volume_type, band, iops, mibps, reported=bool(valid)):
            found = _at(origin, volume_type, band, size, iops, mibps)
            if found is None or why_refused(origin, found, valid) is not None:
                continue
            can = capability(found)
            if can.sustained_iops >= iops and can.sustained_mibps >= mibps:
                return found
    return None


def highest_settings(
    origin: Configuration, volume_type: VolumeType, *, mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:  # fmt: skip
    """The highest IOPS of `volume_type` at the smallest size that one change reaches, and enough MiB/s; None if none."""
    if origin.database is None:
        raise ValueError(f"{origin} is not storage of a database")
    for band in bands(origin.database, volume_type, valid):
        size = _first_size(origin, volume_type, band, reported=bool(valid))
        if size is None or not band.iops:
            continue
        low, high = band.iops_per_gib
        allowed = (span.most(floor(high * size)) for span in band.iops)
        count = max((n for n in allowed if n is not None and n >= low * size), default=None)
        if count is None:
            continue
        enough, most = _enough_mibps(origin, band, count, mibps), _most_mibps(band, count)
        found = replace(
            origin, volume_type=volume_type, size_gib=size, iops=count,
            throughput_mibps=most if enough is None or most is None else min(enough, most),
        )  # fmt: skip
        if why_refused(origin, found, valid) is None:
            return found
    return None


def included(configuration: Configuration) -> tuple[float, float]:
    """IOPS and MiB/s that the type has at its smallest; 1 IOPS where a type has no least."""
    band = band_of(configuration)
    if band is not None:
        return float(band.iops[0].low if band.iops else 1), 125.0
    ranges = LIMITS[configuration.volume_type]
    return float(ranges.iops[0]) if ranges.iops else 1.0, 125.0


def at_size(
    origin: Configuration, volume_type: VolumeType, size_gib: int, *, iops: float, mibps: float,
    valid: tuple[ValidStorage, ...] = (),
) -> Configuration | None:  # fmt: skip
    """The cheapest storage of `volume_type` of at least `size_gib` that may have such settings.

    The smallest size that one change from `origin` reaches; None if there is none, or ratios forbid
    it. Types that derive their IOPS ignore `iops` and `mibps`.
    """
    if origin.database is None:
        raise ValueError(f"{origin} is not storage of a database")
    for band in bands(origin.database, volume_type, valid):
        size = _least(band.size_gib, least_size(origin, size_gib))
        found = None if size is None else _at(origin, volume_type, band, size, iops, mibps)
        if found is not None and why_refused(origin, found, valid) is None:
            return found
    return None


def _enough_mibps(origin: Configuration, band: Band, iops: int, mibps: float) -> int | None:
    """The fewest valid MiB/s that are enough; None where none are, or none can be set."""
    low = max(mibps, least_mibps(origin.database, iops), band.mibps_per_iops[0] * iops)
    return _least(band.mibps, low)


def _most_mibps(band: Band, iops: int) -> int | None:
    bound = floor(band.mibps_per_iops[1] * iops)
    allowed = (span.most(bound) for span in band.mibps)
    return max((n for n in allowed if n is not None), default=None)


def _first_size(
    origin: Configuration, kind: VolumeType, band: Band, *, reported: bool
) -> int | None:
    """The smallest size in the band that one change leads to."""
    size = origin.size_gib
    if reported and kind is origin.volume_type and _side(origin, band):
        return size  # the current size is valid whatever sizes AWS reports
    if any(size in span for span in band.size_gib):
        return size
    return _least(band.size_gib, least_size(origin, size + 1))


def _side(origin: Configuration, band: Band) -> bool:
    """Whether the band has as many volumes as the storage has today, and includes its size."""
    database = origin.database
    if database is None or database.stripes(origin.size_gib) != band.stripes:
        return False
    return origin.size_gib <= max(span.high for span in band.size_gib)


def _sizes(
    origin: Configuration,
    kind: VolumeType,
    band: Band,
    iops: float,
    mibps: float,
    *,
    reported: bool,
) -> Iterator[int]:
    """Candidate sizes of the band, smallest first: the first, and where ratios permit enough."""
    first = _first_size(origin, kind, band, reported=reported)
    if first is None:
        return
    yield first
    wanted = iops / 3  # gp2 derives three IOPS from every GiB
    if band.iops:
        needed = _iops(origin, band, 0, iops, mibps, kind)
        if needed is None:
            return
        wanted = needed / band.iops_per_gib[1]
    sizes = {ceil(wanted), ceil(round(wanted, 9)), floor(wanted) + 1}
    if kind is VolumeType.GP2:  # the size from which 250 MiB/s a volume need no credits
        sizes |= {max(size, 334 * band.stripes) for size in tuple(sizes)}
    for size in sorted(sizes):
        if size > first:
            grown = _least(band.size_gib, least_size(origin, size))
            if grown is not None:
                yield grown


def _at(
    origin: Configuration, kind: VolumeType, band: Band, size: int, iops: float, mibps: float
) -> Configuration | None:
    """The cheapest sufficient settings at one size; None if the band has none."""
    if not band.iops:
        return replace(
            origin, volume_type=kind, size_gib=size, iops=None, throughput_mibps=None
        )  # fmt: skip
    count = _iops(origin, band, size, iops, mibps, kind)
    if count is None or count > band.iops_per_gib[1] * size:
        return None
    tput = _enough_mibps(origin, band, count, mibps)
    if band.mibps and tput is None:
        return None
    return replace(origin, volume_type=kind, size_gib=size, iops=count, throughput_mibps=tput)


def _iops(
    origin: Configuration, band: Band, size: int, iops: float, mibps: float, kind: VolumeType
) -> int | None:
    """The fewest valid IOPS that support `mibps` and are at least `iops`."""
    wanted = max(ceil(iops), ceil(band.iops_per_gib[0] * size), _iops_for(band, kind, mibps))
    if band.mibps:
        tput = _least(band.mibps, mibps)
        if tput is None:
            return None
        wanted = max(wanted, ceil(tput / band.mibps_per_iops[1]))
    count = _least(band.iops, wanted)
    return None if count is None else _least(band.iops, least_iops(origin, count))


def _iops_for(band: Band, kind: VolumeType, mibps: float) -> int:
    """The fewest IOPS from which io1 or io2 derives `mibps`; 0 for other types."""
    if kind is VolumeType.IO2:
        return fewest(mibps / 0.256, lambda n: 0.256 * n >= mibps)
    if kind is not VolumeType.IO1 or not mibps:
        return 0
    each = mibps / band.stripes
    if each <= 500:
        return ceil(4 * mibps)
    return ceil(64 * mibps)  # 16 KiB an IOPS above 32,000 a volume


def _least(spans: Spans, wanted: float) -> int | None:
    found = [n for span in spans if (n := span.least(wanted)) is not None]
    return min(found, default=None)
