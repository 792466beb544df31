"""Monthly prices of RDS storage by engine and deployment, exact to the last digit AWS prints.

Source: RDS price list, us-east-1 (PostgreSQL, 2026-07-28) and ap-northeast-1 (2026-09-11); unknown
prices are left out. RDS says GB and MBps where it counts GiB and MiB/s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.catalog.ebs import GP3_INCLUDED_IOPS, GP3_INCLUDED_MIBPS
from headroom.domain.resources import (
    COPIES,
    LATER,
    Configuration,
    Database,
    Deployment,
    Engine,
    VolumeType,
)

SAME_PRICES = (Engine.MYSQL, Engine.MARIADB, Engine.POSTGRESQL)
"""Engines with prices in the catalogue; those with licences need the price list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RdsPrices:
    """Unit prices of the storage of one engine and deployment, USD per month, all copies counted.

    `gib` per GiB allocated; `iops` per IOPS (gp3: above what is included); `gp3_mibps` per MiB/s
    above what is included. What is missing has no price, so no change may add it.
    """

    engine: Engine
    deployment: Deployment
    as_of: date
    gib: Mapping[VolumeType, Decimal]
    iops: Mapping[VolumeType, Decimal]
    gp3_mibps: Decimal | None = None
    source: str = "catalogue"
    read_on: date | None = field(default=None, metadata=LATER)
    """The day on which they were in a price list that was read; None for those of the catalogue."""

    def sells(self, database: Database) -> bool:
        """Whether these are the prices of `database`."""
        return (self.engine, self.deployment) == (database.engine, database.deployment)

    def monthly(self, configuration: Configuration) -> Decimal | None:
        """Price of a database's storage in USD per month; None where a part of it is unknown."""
        kind, database = configuration.volume_type, configuration.database
        usd_per_gib = self.gib.get(kind)
        if database is None or usd_per_gib is None:
            return None
        price = usd_per_gib * configuration.size_gib
        if kind in (VolumeType.IO1, VolumeType.IO2):
            usd_per_iops = self.iops.get(kind)
            return (
                None if usd_per_iops is None else price + usd_per_iops * (configuration.iops or 0)
            )
        if kind is VolumeType.GP3:
            stripes = database.stripes(configuration.size_gib)
            over_iops = max(0, (configuration.iops or 0) - stripes * GP3_INCLUDED_IOPS)
            over_mibps = max(
                0, (configuration.throughput_mibps or 0) - stripes * GP3_INCLUDED_MIBPS
            )
            for units, usd in ((over_iops, self.iops.get(kind)), (over_mibps, self.gp3_mibps)):
                if units and usd is None:
                    return None
                price += units * (usd or 0)
        return price


def _prices(
    deployment: Deployment, as_of: date, single: Mapping[str, str]
) -> tuple[RdsPrices, ...]:
    """The prices of every engine of SAME_PRICES; a standby costs what the instance's storage does."""
    copies = COPIES[deployment]
    usd = {name: copies * Decimal(text) for name, text in single.items()}
    return tuple(
        RdsPrices(
            engine=engine,
            deployment=deployment,
            as_of=as_of,
            gib=MappingProxyType({t: usd[t.value] for t in VolumeType if t.value in usd}),
            iops=MappingProxyType(
                {t: usd[f"{t.value}_iops"] for t in VolumeType if f"{t.value}_iops" in usd}
            ),
            gp3_mibps=usd.get("gp3_mibps"),
        )
        for engine in SAME_PRICES
        if deployment is not Deployment.CLUSTER or engine is not Engine.MARIADB
    )


_US = {
    "gp2": "0.115", "gp3": "0.115", "gp3_iops": "0.02", "gp3_mibps": "0.08",
    "io1": "0.125", "io1_iops": "0.10", "io2": "0.125", "io2_iops": "0.10",
}  # fmt: skip
_TOKYO = {
    "gp2": "0.138", "gp3": "0.138", "gp3_iops": "0.024", "gp3_mibps": "0.096",
    "io1": "0.15", "io1_iops": "0.12", "io2": "0.15", "io2_iops": "0.12",
}  # fmt: skip
_US_DAY, _TOKYO_DAY = date(2026, 7, 28), date(2026, 9, 11)

CATALOGUE_RDS_PRICES: Mapping[str, tuple[RdsPrices, ...]] = MappingProxyType(
    {
        "us-east-1": (
            *_prices(Deployment.SINGLE_AZ, _US_DAY, _US),
            *_prices(Deployment.MULTI_AZ, _US_DAY, _US),
            # Of clusters only the GiB is known (0.345): IOPS above the included have no price.
            *_prices(Deployment.CLUSTER, _US_DAY, {"gp3": "0.115"}),
        ),
        "ap-northeast-1": (
            *_prices(Deployment.SINGLE_AZ, _TOKYO_DAY, _TOKYO),
            *_prices(Deployment.MULTI_AZ, _TOKYO_DAY, _TOKYO),
        ),
    }
)
"""The dated fallback prices; magnetic storage is billed by request and has none."""


PLAUSIBLE_FACTOR = 3
"""Between Regions and engines prices differ by a factor below 2; a wrong unit is 1,000 or 1,024."""


def why_implausible(prices: RdsPrices, region: str) -> str | None:
    """One sentence on why these prices cannot be right, or None.

    Each must be within PLAUSIBLE_FACTOR of what that number of copies costs with the catalogue's engines, in the
    Region or else in us-east-1.
    """
    known = CATALOGUE_RDS_PRICES.get(region) or CATALOGUE_RDS_PRICES["us-east-1"]
    single = next(p for p in known if p.deployment is Deployment.SINGLE_AZ)
    copies = COPIES[prices.deployment]
    about = {
        **{("GiB", kind): usd * copies for kind, usd in single.gib.items()},
        **{("IOPS", kind): usd * copies for kind, usd in single.iops.items()},
        ("MiB/s", VolumeType.GP3): copies * (single.gp3_mibps or Decimal(0)),
    }
    found = {
        **{("GiB", kind): usd for kind, usd in prices.gib.items()},
        **{("IOPS", kind): usd for kind, usd in prices.iops.items()},
    }
    if prices.gp3_mibps is not None:
        found["MiB/s", VolumeType.GP3] = prices.gp3_mibps
    for (unit, kind), usd in found.items():
        near = about.get((unit, kind))
        if near is None or not usd.is_finite():
            return f"{unit} of {kind} costs {usd} USD, which nothing is known to compare with"
        if not near / PLAUSIBLE_FACTOR <= usd <= near * PLAUSIBLE_FACTOR:
            return (
                f"{unit} of {kind} costs {usd.normalize():f} USD, more than {PLAUSIBLE_FACTOR} "
                f"times off the {near.normalize():f} it should be about"
            )
    return None


def unit_prices(prices: RdsPrices) -> dict[str, Decimal]:
    """Every unit price, by what people call it."""
    whose = f"{prices.engine} {prices.deployment.value.replace('_', '-')}"
    named = {f"a GiB of {kind} of {whose}": usd for kind, usd in prices.gib.items()}
    named |= {f"an IOPS of {kind} of {whose}": usd for kind, usd in prices.iops.items()}
    if prices.gp3_mibps is not None:
        named[f"a MiB/s of gp3 of {whose}"] = prices.gp3_mibps
    return named
