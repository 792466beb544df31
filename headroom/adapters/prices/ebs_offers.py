"""From products of the Price List API to one Region's table of EBS prices.

Source: Price List Query API reference and the AmazonEC2 offer file (checked 2026-11). Of a Region's
many products only those count whose usage type is exactly a known one, in its known unit, in USD,
in the Region itself: Local Zones and Outposts sell under similar names, and previews at $0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.adapters.prices.offers import SOURCE, Priced, PriceListUnreadable, read_products
from headroom.domain.catalog import GP3_INCLUDED_IOPS, GP3_INCLUDED_MIBPS, PriceTable
from headroom.domain.resources import VolumeType

STORAGE = "Storage"
IOPS = "System Operation"
THROUGHPUT = "Provisioned Throughput"
FAMILIES = (STORAGE, IOPS, THROUGHPUT)

_UNITS: Mapping[str, Mapping[str, int]] = {
    STORAGE: {"gb-mo": 1, "gb-month": 1},
    IOPS: {"iops-mo": 1, "iops-month": 1},
    THROUGHPUT: {"gibps-mo": 1_024, "mibps-mo": 1},
}
"""Units by product family, with how many of ours (GiB, IOPS, MiB/s) one of them is."""

_BEGINS: Mapping[str, tuple[Decimal, ...]] = {
    STORAGE: (Decimal(0),),
    IOPS: (Decimal(0), Decimal(GP3_INCLUDED_IOPS)),
    THROUGHPUT: (Decimal(0), Decimal(GP3_INCLUDED_MIBPS), Decimal(GP3_INCLUDED_MIBPS) / 1_024),
}
"""Where a price's range may begin: at nothing, or at what gp3 includes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    family: str
    volume_type: VolumeType


PARTS: Mapping[str, _Part] = MappingProxyType(
    {
        f"EBS:{usage}": _Part(family=family, volume_type=VolumeType(kind))
        for usage, family, kind in (
            ("VolumeUsage.gp2", STORAGE, "gp2"),
            ("VolumeUsage.gp3", STORAGE, "gp3"),
            ("VolumeUsage.piops", STORAGE, "io1"),
            ("VolumeUsage.io2", STORAGE, "io2"),
            ("VolumeUsage.st1", STORAGE, "st1"),
            ("VolumeUsage.sc1", STORAGE, "sc1"),
            ("VolumeP-IOPS.gp3", IOPS, "gp3"),
            ("VolumeP-IOPS.piops", IOPS, "io1"),
            ("VolumeP-IOPS.io2", IOPS, "io2"),
            ("VolumeP-IOPS.io2.tier2", IOPS, "io2"),
            ("VolumeP-IOPS.io2.tier3", IOPS, "io2"),
            ("VolumeP-Throughput.gp3", THROUGHPUT, "gp3"),
        )
    }
)
"""Every part of a price by usage type without its Region; io2's tiers are types of their own.

Magnetic volumes (`standard`) are left out: they are billed by request, which no table here has.
"""

_USAGE = re.compile(r"(?:[A-Z0-9]+-)?(EBS:[\w.-]+)")
"""`EBS:VolumeUsage.gp3` in us-east-1, `APN1-EBS:VolumeUsage.gp3` elsewhere."""
_NEVER = Decimal("Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPrices:
    """A table and one line for each product that should have been part of it and was not.

    `databases_unread` is why it has no prices of databases; None where it has some, or nobody asked for them.
    """

    table: PriceTable
    skipped_offers: tuple[str, ...]
    databases_unread: str | None = None


def parse_volume_offers(products: Iterable[str], *, region: str, today: date) -> ParsedPrices:
    """The EBS prices of `region` in products as GetProducts gives them, each a JSON text.

    A type is in the table only with every part of its price. Dated by the oldest publication among
    them. Raises PriceListUnreadable.
    """
    found = read_products(products, _relevant, region=region, today=today)
    if not found.published:
        raise PriceListUnreadable(f"no EBS prices of {region} in it")
    table = _table(region, found.usd, min(found.published))
    return ParsedPrices(table=table, skipped_offers=found.skipped_offers)


def _relevant(family: str, attributes: Mapping[str, str]) -> Priced[str] | None:
    usage = _USAGE.fullmatch(attributes.get("usagetype", ""))
    part = PARTS.get(usage[1]) if usage else None
    if usage is None or part is None or family != part.family:
        return None
    return Priced(key=usage[1], name=usage[1], units=_UNITS[family], begins=_BEGINS[family])


def _table(region: str, usd: Mapping[str, Decimal], as_of: date) -> PriceTable:
    """The table of every type that has all its parts."""
    whole = {
        kind
        for kind in VolumeType
        if (needs := {usage for usage, part in PARTS.items() if part.volume_type is kind})
        and needs <= usd.keys()
    }

    def of(family: str) -> Mapping[VolumeType, Decimal]:
        return MappingProxyType(
            {
                part.volume_type: usd[usage]
                for usage, part in PARTS.items()
                if part.family == family and part.volume_type in whole and "tier" not in usage
            }
        )

    def only(kind: VolumeType, usage: str) -> Decimal:
        return usd[usage] if kind in whole else _NEVER

    return PriceTable(
        region=region,
        source=SOURCE,
        as_of=as_of,
        gib=of(STORAGE),
        iops=of(IOPS),
        io2_tier2=only(VolumeType.IO2, "EBS:VolumeP-IOPS.io2.tier2"),
        io2_tier3=only(VolumeType.IO2, "EBS:VolumeP-IOPS.io2.tier3"),
        gp3_mibps=only(VolumeType.GP3, "EBS:VolumeP-Throughput.gp3"),
    )
