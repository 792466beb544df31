"""What each EBS volume type delivers and may be set to: AWS's limits as tables and functions.

A database's storage consists of EBS volumes, so its capability is computed here; its valid settings
are in `catalog/rds`.

Source: EBS User Guide, "Amazon EBS volume types", "General Purpose SSD volumes",
"Provisioned IOPS SSD volumes", "HDD volumes" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, floor
from types import MappingProxyType

from headroom.domain.resources import EBS_TYPES, Configuration, VolumeType

MIB = 1024 * 1024
SSD_IO_BYTES = 256 * 1024
"""SSD types count an operation per 256 KiB."""
HDD_IO_BYTES = 1024 * 1024
"""HDD types count an operation per 1,024 KiB; a smaller random one costs as much."""
GP2_CREDITS = 5_400_000
"""Capacity of gp2's bucket in I/O credits; BurstBalance is a percentage of it."""
GP2_BURST_IOPS = 3_000
MAX_MODIFICATIONS = 4
"""Volume modifications allowed per rolling 24 hours (since 2026-01-15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeLimits:
    """Ranges of one type. `iops`/`throughput_mibps` are what may be *set*; None if derived."""

    size_gib: tuple[int, int]
    iops: tuple[int, int] | None
    throughput_mibps: tuple[int, int] | None
    iops_per_gib: int | None


LIMITS: Mapping[VolumeType, TypeLimits] = MappingProxyType(
    {
        VolumeType.GP3: TypeLimits(
            size_gib=(1, 65_536),
            iops=(3_000, 80_000),
            throughput_mibps=(125, 2_000),
            iops_per_gib=500,
        ),
        VolumeType.GP2: TypeLimits(
            size_gib=(1, 16_384), iops=None, throughput_mibps=None, iops_per_gib=None
        ),
        VolumeType.IO1: TypeLimits(
            size_gib=(4, 16_384), iops=(100, 64_000), throughput_mibps=None, iops_per_gib=50
        ),
        VolumeType.IO2: TypeLimits(
            size_gib=(4, 65_536), iops=(100, 256_000), throughput_mibps=None, iops_per_gib=1_000
        ),
        VolumeType.ST1: TypeLimits(
            size_gib=(125, 16_384), iops=None, throughput_mibps=None, iops_per_gib=None
        ),
        VolumeType.SC1: TypeLimits(
            size_gib=(125, 16_384), iops=None, throughput_mibps=None, iops_per_gib=None
        ),
        VolumeType.STANDARD: TypeLimits(
            size_gib=(1, 1_024), iops=None, throughput_mibps=None, iops_per_gib=None
        ),
    }
)


DURABILITY_PERCENT: Mapping[VolumeType, float] = MappingProxyType(
    {kind: 99.999 if kind is VolumeType.IO2 else 99.8 for kind in EBS_TYPES}
)
"""Least durability AWS documents for a type, in percent a year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """What a configuration delivers: IOPS (per `io_bytes` of I/O) and MiB/s.

    `sustained` holds for ever; `burst` while credits last (equal to sustained without a bucket).
    `iops_credits` is the bucket of gp2; `mib_credits` the bucket of st1 and sc1; 0 if none.
    Credits refill at the sustained rate and are spent at what is driven above it.
    """

    sustained_iops: float
    sustained_mibps: float
    burst_iops: float
    burst_mibps: float
    iops_credits: float
    mib_credits: float
    io_bytes: int


def capability(configuration: Configuration) -> Capability:
    """What AWS documents that `configuration` delivers.

    A database's storage is striped from its engine's threshold on: over volumes of equal size, whose
    limits and buckets add up.
    """
    return _capability(
        configuration.volume_type, configuration.size_gib, configuration.iops,
        configuration.throughput_mibps,
        1 if configuration.database is None else volumes_under(configuration),
    )  # fmt: skip


@lru_cache(maxsize=4096, typed=True)
def _capability(
    volume_type: VolumeType, size_gib: int, set_iops: int | None, set_mibps: int | None,
    stripes: int,
) -> Capability:  # fmt: skip
    """Cached by type as well: a record distinguishes 3,000 from 3,000.0."""
    size: float = size_gib if stripes == 1 else size_gib / stripes
    iops = (set_iops or 0) / stripes
    match volume_type:
        case VolumeType.GP3:
            return _steady(set_iops or 3_000 * stripes, set_mibps or 125 * stripes)
        case VolumeType.GP2:
            return _striped(_gp2(size), stripes)
        case VolumeType.IO1:
            return _steady(set_iops or 100, stripes * io1_throughput(iops or 100))
        case VolumeType.IO2:
            # One product: `cheapest` inverts it, and rounding must agree.
            return _steady(set_iops or 100, min(4_000.0 * stripes, 0.256 * (set_iops or 100)))
        case VolumeType.ST1:
            return _hdd(size, base=40, burst=250, cap=500)
        case VolumeType.SC1:
            return _hdd(size, base=12, burst=80, cap=250)
        case VolumeType.STANDARD:
            return _steady(100, 40)
        case VolumeType.AURORA | VolumeType.AURORA_IOPT1:
            return _steady(0, 0)  # not settable: it scales with the cluster


def volumes_under(configuration: Configuration) -> int:
    """EBS volumes under the storage; more than one only for a database, and never magnetic."""
    if configuration.database is None or configuration.volume_type is VolumeType.STANDARD:
        return 1
    return configuration.database.stripes(configuration.size_gib)


def io1_throughput(iops: float) -> float:
    """MiB/s of an io1 volume: 256 KiB per IOPS up to 500, above 32,000 IOPS 16 KiB per IOPS."""
    if iops <= 32_000:
        return min(500.0, iops * 256 / 1024)
    return min(1_000.0, iops * 16 / 1024)


def _steady(iops: float, mibps: float) -> Capability:
    return Capability(
        sustained_iops=iops, sustained_mibps=mibps, burst_iops=iops, burst_mibps=mibps,
        iops_credits=0, mib_credits=0, io_bytes=SSD_IO_BYTES,
    )  # fmt: skip


def _striped(one: Capability, stripes: int) -> Capability:
    if stripes == 1:
        return one
    return replace(
        one,
        sustained_iops=stripes * one.sustained_iops,
        sustained_mibps=stripes * one.sustained_mibps,
        burst_iops=stripes * one.burst_iops,
        burst_mibps=stripes * one.burst_mibps,
        iops_credits=stripes * one.iops_credits,
    )


def gp2_baseline(size_gib: int) -> int:
    """Baseline IOPS of gp2: 3 per GiB, at least 100, at most 16,000."""
    return min(16_000, max(100, 3 * size_gib))


def _gp2(size_gib: float) -> Capability:
    baseline = min(16_000, max(100, 3 * size_gib))
    bursts = baseline < GP2_BURST_IOPS
    mibps = 250.0 if size_gib >= 334 else 128.0
    return Capability(
        sustained_iops=baseline,
        sustained_mibps=mibps,
        burst_iops=max(baseline, GP2_BURST_IOPS),
        burst_mibps=250.0 if size_gib > 170 else 128.0,
        iops_credits=GP2_CREDITS if bursts else 0,
        mib_credits=0,
        io_bytes=SSD_IO_BYTES,
    )


def _hdd(size_gib: float, *, base: float, burst: float, cap: float) -> Capability:
    tib = size_gib / 1024
    sustained, peak = min(cap, base * tib), min(cap, burst * tib)
    return Capability(
        sustained_iops=sustained, sustained_mibps=sustained, burst_iops=peak, burst_mibps=peak,
        iops_credits=0, mib_credits=tib * MIB if peak > sustained else 0, io_bytes=HDD_IO_BYTES,
    )  # fmt: skip


def why_invalid(configuration: Configuration) -> str | None:
    """One sentence on why EC2 would refuse this volume configuration, or None when it is valid."""
    limits = LIMITS[configuration.volume_type]
    kind, size = configuration.volume_type.value, configuration.size_gib
    if not limits.size_gib[0] <= size <= limits.size_gib[1]:
        return f"{kind} takes {limits.size_gib[0]} to {limits.size_gib[1]} GiB, not {size}"
    iops, mibps = configuration.iops, configuration.throughput_mibps
    if limits.iops is None and iops is not None:
        return f"{kind} derives its IOPS; none can be set"
    if limits.throughput_mibps is None and mibps is not None:
        return f"{kind} derives its throughput; none can be set"
    if limits.iops is not None:
        if iops is None:
            return f"{kind} needs its IOPS set"
        ceiling = max_iops(configuration.volume_type, size)
        if not limits.iops[0] <= iops <= ceiling:
            return f"{kind} of {size} GiB takes {limits.iops[0]} to {ceiling} IOPS, not {iops}"
    if limits.throughput_mibps is not None:
        if mibps is None:
            return f"{kind} needs its throughput set"
        low, high = limits.throughput_mibps
        ceiling = min(high, floor(0.25 * (iops or 0)))
        if not low <= mibps <= ceiling:
            return f"{kind} with {iops} IOPS takes {low} to {ceiling} MiB/s, not {mibps}"
    return None


def max_iops(volume_type: VolumeType, size_gib: int) -> int:
    """The most IOPS that may be set on a volume of this type and size; 0 where none may be."""
    limits = LIMITS[volume_type]
    if limits.iops is None or limits.iops_per_gib is None:
        return 0
    return min(limits.iops[1], max(limits.iops[0], limits.iops_per_gib * size_gib))


def least_size_for(
    volume_type: VolumeType, size_gib: int, *, iops: float, mibps: float
) -> Configuration | None:
    """The cheapest configuration of a type that grows from `size_gib` as far as its IOPS per GiB require.

    Of what is above the type's maxima, those; None for a type that derives its IOPS.
    """
    ranges = LIMITS[volume_type]
    if ranges.iops is None or ranges.iops_per_gib is None:
        return None
    most_mibps = capability(
        Configuration(
            volume_type=volume_type, size_gib=ranges.size_gib[1], iops=ranges.iops[1],
            throughput_mibps=None if ranges.throughput_mibps is None else ranges.throughput_mibps[1],
        )
    ).sustained_mibps  # fmt: skip
    settings = cheapest(
        volume_type, ranges.size_gib[1],
        iops=min(iops, ranges.iops[1]), mibps=min(mibps, most_mibps),
    )  # fmt: skip
    if settings is None:
        return None
    count = settings.iops or 0
    needed = ceil(count / ranges.iops_per_gib) if count > ranges.iops[0] else 1
    return replace(settings, size_gib=max(size_gib, ranges.size_gib[0], needed))


def cheapest(
    volume_type: VolumeType, size_gib: int, *, iops: float, mibps: float
) -> Configuration | None:
    """The cheapest configuration of one type and size that sustains `iops` and `mibps`.

    Closed form per type; never shrinks, and grows only gp2; st1, sc1 and standard, which no plan
    leads to, keep their size. None when no allowed setting reaches the target.
    """
    match volume_type:
        case VolumeType.GP3:
            tput = max(125, ceil(mibps))
            config = Configuration(
                volume_type=volume_type,
                size_gib=size_gib,
                iops=max(3_000, ceil(iops), ceil(4 * tput)),
                throughput_mibps=tput,
            )
        case VolumeType.IO1:
            by_tput = ceil(mibps * 4) if mibps <= 500 else ceil(mibps * 64)
            if mibps > 500:
                by_tput = max(32_001, by_tput)
            config = Configuration(
                volume_type=volume_type,
                size_gib=size_gib,
                iops=max(100, ceil(iops), by_tput),
                throughput_mibps=None,
            )
        case VolumeType.IO2:
            config = Configuration(
                volume_type=volume_type,
                size_gib=size_gib,
                iops=max(100, ceil(iops), fewest(mibps / 0.256, lambda n: 0.256 * n >= mibps)),
                throughput_mibps=None,
            )
        case VolumeType.GP2:
            by_iops = fewest(iops / 3, lambda n: 3 * n >= iops) if iops > 100 else 1
            size = max(size_gib, by_iops)
            if mibps > 128:
                size = max(size, 334)
            config = Configuration(
                volume_type=volume_type, size_gib=size, iops=None, throughput_mibps=None
            )
        case VolumeType.ST1 | VolumeType.SC1 | VolumeType.STANDARD:
            config = Configuration(
                volume_type=volume_type, size_gib=size_gib, iops=None, throughput_mibps=None
            )
        case VolumeType.AURORA | VolumeType.AURORA_IOPT1:
            return None
    if why_invalid(config) is not None:
        return None
    can = capability(config)
    if can.sustained_iops < iops or can.sustained_mibps < mibps:
        return None
    return config


def fewest(guess: float, enough: Callable[[int], bool]) -> int:
    """The smallest sufficient count; `guess` is right except for rounding."""
    count = ceil(round(guess, 9))
    return count if enough(count) else count + 1
