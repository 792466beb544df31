"""Valid settings of RDS storage: AWS's limits by engine, and what AWS reports at run time.

Source: RDS User Guide, "Amazon RDS DB instance storage" (checked 2026-10), RDS API 2014-10-31,
ModifyDBInstance, ModifyDBCluster and DescribeValidDBInstanceModifications. Pages of AWS disagree on
gp3 of SQL Server (80,000 or 16,000 IOPS): the newer figure is here, and what AWS reports for the
instance (`ValidStorage`) replaces it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from types import MappingProxyType

from headroom.domain.resources import (
    STRIPED_FROM_GIB,
    STRIPES,
    Configuration,
    Database,
    Deployment,
    Engine,
    Span,
    Spans,
    ValidStorage,
    VolumeType,
)

CLUSTER_ENGINES = (Engine.MYSQL, Engine.POSTGRESQL)
"""Engines of Multi-AZ DB clusters."""
CLUSTER_TYPES = (VolumeType.GP3, VolumeType.IO1, VolumeType.IO2)
CLUSTER_IOPS_PER_GIB = (0.5, 50.0)
"""ModifyDBCluster takes IOPS between these multiples of the GiB."""
MOVES_PAGES = (Engine.MYSQL, Engine.MARIADB)
"""Engines for which AWS requires 16 KiB/s of throughput per IOPS above PAGED_IOPS."""
PAGED_IOPS = 32_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The valid settings of one storage type of one engine in a range of sizes.

    `stripes` volumes are under it. `iops` and `mibps` are empty if they cannot be set; ratios are
    inclusive bounds.
    """

    size_gib: Spans
    stripes: int = 1
    iops: Spans = ()
    mibps: Spans = ()
    iops_per_gib: tuple[float, float] = (0.0, 1e9)
    mibps_per_iops: tuple[float, float] = (0.0, 1e9)


def _spans(low: int, high: int) -> Spans:
    return (Span(low=low, high=high),)


_RATIO = (0.0, 0.25)
"""MiB/s per IOPS of gp3."""
_LARGEST = 65_536


def _striped(engine: Engine, *, gp2_from: int) -> Mapping[VolumeType, tuple[Band, ...]]:
    """An engine whose storage is striped from a threshold on."""
    above = STRIPED_FROM_GIB[engine]
    small, large = _spans(20, above - 1), _spans(above, _LARGEST)
    provisioned = _spans(100, above - 1)
    bands = {
        VolumeType.GP3: (
            Band(size_gib=small),  # 3,000 IOPS and 125 MiB/s, neither can be set
            Band(
                size_gib=large, stripes=STRIPES, iops=_spans(12_000, 64_000),
                mibps=_spans(500, 4_000), iops_per_gib=(0.0, 500.0), mibps_per_iops=_RATIO,
            ),
        ),
        VolumeType.IO1: tuple(
            Band(size_gib=size, stripes=n, iops=_spans(1_000, 256_000), iops_per_gib=(0.5, 50.0))
            for size, n in ((provisioned, 1), (large, STRIPES))
        ),
        VolumeType.IO2: tuple(
            Band(size_gib=size, stripes=n, iops=_spans(1_000, 256_000), iops_per_gib=(0.5, 1_000.0))
            for size, n in ((provisioned, 1), (large, STRIPES))
        ),
        VolumeType.GP2: (
            Band(size_gib=_spans(gp2_from, above - 1)), Band(size_gib=large, stripes=STRIPES)
        ),
        VolumeType.STANDARD: (Band(size_gib=_spans(5, 3_072)),),
    }  # fmt: skip
    if engine is Engine.DB2:
        del bands[VolumeType.GP2]
    return MappingProxyType(bands)


BANDS: Mapping[Engine, Mapping[VolumeType, tuple[Band, ...]]] = MappingProxyType(
    {
        Engine.MYSQL: _striped(Engine.MYSQL, gp2_from=5),
        Engine.MARIADB: _striped(Engine.MARIADB, gp2_from=5),
        Engine.POSTGRESQL: _striped(Engine.POSTGRESQL, gp2_from=5),
        Engine.DB2: _striped(Engine.DB2, gp2_from=20),
        Engine.ORACLE: _striped(Engine.ORACLE, gp2_from=20),
        Engine.SQL_SERVER: MappingProxyType(
            {
                VolumeType.GP3: (
                    Band(
                        size_gib=_spans(20, _LARGEST), iops=_spans(3_000, 80_000),
                        mibps=_spans(125, 2_000), iops_per_gib=(0.5, 500.0),
                        mibps_per_iops=_RATIO,
                    ),
                ),
                VolumeType.IO1: (
                    Band(
                        size_gib=_spans(20, 16_384), iops=_spans(1_000, 64_000),
                        iops_per_gib=(1.0, 50.0),
                    ),
                ),
                VolumeType.IO2: (
                    Band(
                        size_gib=_spans(20, _LARGEST), iops=_spans(1_000, 256_000),
                        iops_per_gib=(0.5, 1_000.0),
                    ),
                ),
                VolumeType.GP2: (Band(size_gib=_spans(20, 16_384)),),
                VolumeType.STANDARD: (Band(size_gib=_spans(20, 1_024)),),
            }
        ),
    }
)  # fmt: skip
"""Bands by engine and type, by size; no plan leads to magnetic storage."""


def bands(
    database: Database, volume_type: VolumeType, valid: tuple[ValidStorage, ...] = ()
) -> tuple[Band, ...]:
    """The bands of a type for a database, with the ranges that AWS reports for this instance.

    Empty for a type that the engine, or AWS's report, does not have.
    """
    table = BANDS[database.engine].get(volume_type, ())
    if database.deployment is Deployment.CLUSTER:
        if volume_type not in CLUSTER_TYPES or database.engine not in CLUSTER_ENGINES:
            return ()
        table = tuple(_of_cluster(band) for band in table)
    if not valid:
        return table
    reported = next((v for v in valid if v.volume_type is volume_type), None)
    if reported is None:
        return ()
    threshold = STRIPED_FROM_GIB.get(database.engine)
    if volume_type is VolumeType.STANDARD:
        threshold = None
    return tuple(b for band in table for b in _as_reported(band, reported, threshold))


def _of_cluster(band: Band) -> Band:
    """A cluster's throughput follows its IOPS by itself."""
    low, high = CLUSTER_IOPS_PER_GIB
    if not band.iops:
        return band
    ratio = max(low, band.iops_per_gib[0]), min(high, band.iops_per_gib[1])
    return replace(band, mibps=(), iops_per_gib=ratio)


def _as_reported(band: Band, reported: ValidStorage, threshold: int | None) -> Iterator[Band]:
    """The band with the reported ranges; the striping threshold is not part of the report."""
    sizes = band.size_gib
    if reported.size_gib:
        sizes = tuple(_cut(reported.size_gib, band, threshold))
        if not sizes:
            return
    iops, mibps = (
        _settable(band, reported.iops, band.iops),
        _settable(band, reported.mibps, band.mibps),
    )
    if (band.iops and not iops) or (band.mibps and not mibps):
        return
    yield replace(
        band,
        size_gib=sizes,
        iops=iops,
        mibps=mibps,
        iops_per_gib=_highest(reported.iops_per_gib) or band.iops_per_gib,
        mibps_per_iops=_highest(reported.mibps_per_iops) or band.mibps_per_iops,
    )


def _settable(band: Band, reported: Spans, table: Spans) -> Spans:
    """The reported ranges of a setting, else the table's; empty if it cannot be set.

    Reports cover all sizes, but striped gp3 cannot have less than it includes. None may be left.
    """
    if not table or not reported:
        return table
    if band.stripes == 1 or not band.mibps:
        return reported
    floor = min(span.low for span in table)
    lows = ((span, span.least(floor)) for span in reported)
    return tuple(replace(span, low=low) for span, low in lows if low is not None)


def _highest(ratios: tuple[tuple[float, float], ...]) -> tuple[float, float] | None:
    """The range with the highest end: everything in it is valid."""
    return max(ratios, key=lambda ratio: ratio[1]) if ratios else None


def _cut(reported: Spans, band: Band, threshold: int | None) -> Iterator[Span]:
    """The part of the reported sizes on the band's side of the threshold."""
    for span in reported:
        begin: int | None = span.low
        end: int | None = span.high
        if threshold is not None:
            begin = span.least(threshold) if band.stripes > 1 else span.low
            end = span.high if band.stripes > 1 else span.most(threshold - 1)
        if begin is not None and end is not None and begin <= end:
            yield replace(span, low=begin, high=end)


def band_of(configuration: Configuration, valid: tuple[ValidStorage, ...] = ()) -> Band | None:
    """The band of a database's configuration; None if there is none, or for plain EBS."""
    if configuration.database is None:
        return None
    found = bands(configuration.database, configuration.volume_type, valid)
    size = configuration.size_gib
    return next((b for b in found if any(size in span for span in b.size_gib)), None)


def why_invalid(configuration: Configuration, valid: tuple[ValidStorage, ...] = ()) -> str | None:
    """One sentence on why RDS would have no such storage, or None when it would.

    Raises ValueError for what is not storage of a database.
    """
    database, kind = configuration.database, configuration.volume_type
    if database is None:
        raise ValueError(f"{configuration} is not storage of a database")
    found = bands(database, kind, valid)
    size, name = configuration.size_gib, f"{kind.value} of {database}"
    if not found:
        return f"{database} has no {kind.value} storage"
    band = next((b for b in found if any(size in span for span in b.size_gib)), None)
    if band is None:
        takes = ", ".join(_span_text(span) for b in found for span in b.size_gib)
        return f"{name} takes {takes} GiB, not {size}"
    problem = _why_not_iops(band, configuration, name)
    return problem or _why_not_mibps(band, configuration, name)


def _why_not_iops(band: Band, configuration: Configuration, name: str) -> str | None:
    size, iops = configuration.size_gib, configuration.iops
    if not band.iops:
        return None if iops is None else f"{name} of {size} GiB takes no IOPS setting"
    if iops is None:
        return f"{name} of {size} GiB needs its IOPS set"
    low, high = band.iops_per_gib
    if not low * size <= iops <= high * size or not any(iops in span for span in band.iops):
        takes = ", ".join(_span_text(span) for span in band.iops)
        return (
            f"{name} of {size} GiB takes {takes} IOPS and {low:g} to {high:g} per GiB, not {iops}"
        )
    return None


def _why_not_mibps(band: Band, configuration: Configuration, name: str) -> str | None:
    iops, mibps = configuration.iops or 0, configuration.throughput_mibps
    if not band.mibps:
        return None if mibps is None else f"{name} takes no throughput setting at this size"
    if mibps is None:
        return f"{name} needs its throughput set"
    low, high = band.mibps_per_iops
    least = least_mibps(configuration.database, iops)
    fits = any(mibps in span for span in band.mibps) and low * iops <= mibps <= high * iops
    if not fits or mibps < least:
        takes = ", ".join(_span_text(span) for span in band.mibps)
        return (
            f"{name} with {iops} IOPS takes {takes} MiB/s, {max(least, low * iops):g} to "
            f"{high * iops:g} of them, not {mibps}"
        )
    return None


def least_mibps(database: Database | None, iops: int) -> int:
    """The least gp3 throughput that AWS accepts with these IOPS; 0 if it requires none."""
    paged = database is not None and database.engine in MOVES_PAGES
    return ceil(iops * 16 / 1024) if paged and iops > PAGED_IOPS else 0


def _span_text(span: Span) -> str:
    step = f" by {span.step}" if span.step > 1 else ""
    return f"{span.low}" if span.low == span.high else f"{span.low} to {span.high}{step}"
