"""From products of the Price List API to the prices of RDS storage in one Region.

Source: Price List Query API reference and the AmazonRDS offer file (checked 2026-11). Each engine and
deployment has products of its own under the same usage type; an engine without one takes that of
`Any`. Only exact usage types count: Aurora's storage, Local Zones, SQL Server's mirrors and previews at
$0 stand beside them under similar names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.adapters.prices.offers import (
    SOURCE,
    Priced,
    PriceListUnreadable,
    Products,
    read_products,
)
from headroom.domain.catalog.rds import RdsPrices, why_implausible
from headroom.domain.resources import Deployment, Engine, VolumeType

STORAGE = "Database Storage"
IOPS = "Provisioned IOPS"
THROUGHPUT = "Provisioned Throughput"
FAMILIES = (STORAGE, IOPS, THROUGHPUT)
ANY = "Any"

_UNITS = {
    STORAGE: {"gb-mo": 1, "gb-month": 1},
    IOPS: {"iops-mo": 1, "iops-month": 1},
    THROUGHPUT: {"mbps-mo": 1, "mibps-mo": 1},
}
_ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        "MySQL": Engine.MYSQL,
        "MariaDB": Engine.MARIADB,
        "PostgreSQL": Engine.POSTGRESQL,
        "Oracle": Engine.ORACLE,
        "SQL Server": Engine.SQL_SERVER,
        "Db2": Engine.DB2,
    }
)
"""Engines by the attribute databaseEngine; "Aurora MySQL" is none of them."""
_DEPLOYMENTS: Mapping[str, tuple[str, Deployment]] = MappingProxyType(
    {
        "": ("Single-AZ", Deployment.SINGLE_AZ),
        "Multi-AZ-": ("Multi-AZ", Deployment.MULTI_AZ),
        "Multi-AZCluster-": ("Multi-AZ (readable standbys)", Deployment.CLUSTER),
    }
)
"""Deployments by what the usage type begins with, and the attribute deploymentOption beside it."""
_PARTS: Mapping[str, tuple[str, VolumeType]] = MappingProxyType(
    {
        "GP2-Storage": (STORAGE, VolumeType.GP2),
        "GP3-Storage": (STORAGE, VolumeType.GP3),
        "PIOPS-Storage": (STORAGE, VolumeType.IO1),
        "IO2-PIOPS-Storage": (STORAGE, VolumeType.IO2),
        "GP3-PIOPS": (IOPS, VolumeType.GP3),
        "PIOPS": (IOPS, VolumeType.IO1),
        "IO2-PIOPS": (IOPS, VolumeType.IO2),
        "GP3-Throughput": (THROUGHPUT, VolumeType.GP3),
    }
)
"""Parts of a price by usage type without its Region and deployment; magnetic storage is left out."""
_USAGE = re.compile(
    rf"(?:[A-Z0-9]+-)?RDS:({'|'.join(sorted(_DEPLOYMENTS, key=len, reverse=True))})"
    rf"({'|'.join(sorted(_PARTS, key=len, reverse=True))})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """What one product is the price of; `engine` None stands for any."""

    engine: Engine | None
    deployment: Deployment
    part: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDatabases:
    """Prices, and one line for each product that should have been part of them and was not."""

    prices: tuple[RdsPrices, ...]
    skipped_offers: tuple[str, ...]


def parse_database_offers(products: Iterable[str], *, region: str, today: date) -> ReadDatabases:
    """RDS storage prices of `region` in products as GetProducts gives them, each a JSON text.

    What has several prices has none. Dated by the oldest publication among them. Raises
    PriceListUnreadable.
    """
    found = read_products(products, _relevant, region=region, today=today)
    if not found.published:
        raise PriceListUnreadable(f"no prices of RDS storage of {region} in it")
    skipped_offers, as_of = list(found.skipped_offers), min(found.published)
    prices: list[RdsPrices] = []
    for deployment in Deployment:
        for engine in Engine:
            made = replace(_prices(engine, deployment, found, as_of), read_on=today)
            problem = why_implausible(made, region)
            if problem is not None:
                skipped_offers.append(f"{engine} {deployment.value.replace('_', '-')}: {problem}")
            elif made.gib:
                prices.append(made)
    return ReadDatabases(prices=tuple(prices), skipped_offers=tuple(skipped_offers))


def _relevant(family: str, attributes: Mapping[str, str]) -> Priced[_Place] | None:
    usage = _USAGE.fullmatch(attributes.get("usagetype", ""))
    if usage is None or family != _PARTS[usage[2]][0]:
        return None
    option, deployment = _DEPLOYMENTS[usage[1]]
    engine = attributes.get("databaseEngine", ANY)
    if attributes.get("deploymentOption", option) != option or engine not in (ANY, *_ENGINES):
        return None
    place = _Place(engine=_ENGINES.get(engine), deployment=deployment, part=usage[2])
    return Priced(key=place, name=_named(place), units=_UNITS[family])


def _named(place: _Place) -> str:
    engine = ANY if place.engine is None else place.engine.value
    return f"{place.part} of {engine} {place.deployment.value.replace('_', '-')}"


def _prices(
    engine: Engine, deployment: Deployment, found: Products[_Place], as_of: date
) -> RdsPrices:
    """What is known of one engine; io1 and io2 only with their IOPS, which are always charged."""

    def of(part: str) -> Decimal | None:
        own = _Place(engine=engine, deployment=deployment, part=part)
        shared = _Place(engine=None, deployment=deployment, part=part)
        return None if own in found.several else found.usd.get(own, found.usd.get(shared))

    usd = {part: price for part in _PARTS if (price := of(part)) is not None}
    gib = {kind: usd[p] for p, (family, kind) in _PARTS.items() if family == STORAGE and p in usd}
    iops = {kind: usd[p] for p, (family, kind) in _PARTS.items() if family == IOPS and p in usd}
    for kind in (VolumeType.IO1, VolumeType.IO2):
        if kind not in iops:
            gib.pop(kind, None)
    return RdsPrices(
        engine=engine, deployment=deployment, as_of=as_of,
        gib=MappingProxyType(gib), iops=MappingProxyType(iops),
        gp3_mibps=usd.get("GP3-Throughput"), source=SOURCE,
    )  # fmt: skip
