"""Monthly prices of EBS volumes and of databases' storage, exact to the last digit AWS prints.

Source: EBS price list, us-east-1 and ap-northeast-1 checked 2026-09; a month is 730 hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.catalog.rds import CATALOGUE_RDS_PRICES, RdsPrices, unit_prices
from headroom.domain.resources import Configuration, Database, PriceUnknown, VolumeType

SECONDS_PER_MONTH = 730 * 3600
GP3_INCLUDED_IOPS = 3_000
GP3_INCLUDED_MIBPS = 125
IO2_TIERS = (32_000, 64_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable:
    """EBS unit prices of one Region in USD per month.

    `gib` per GiB; `iops` per IOPS (gp3: above 3,000; io2: first tier); `io2_tier2`, `io2_tier3`
    per IOPS in 32,001-64,000 and above; `gp3_mibps` per MiB/s above 125. A type that is not in
    `gib` has no price here; what only it would use of the last three is then infinite.
    `source` names where the prices are from (`catalogue`, `price list`), `as_of` when they held.
    """

    region: str
    source: str
    as_of: date
    gib: Mapping[VolumeType, Decimal]
    iops: Mapping[VolumeType, Decimal]
    io2_tier2: Decimal
    io2_tier3: Decimal
    gp3_mibps: Decimal
    databases: tuple[RdsPrices, ...] = ()
    """Prices of RDS storage, one for each engine and deployment that is known here."""

    def monthly(self, configuration: Configuration) -> Decimal:
        """Price of `configuration` in USD per month.

        Raises PriceUnknown when the table lacks the type, or a part of its price.
        """
        kind = configuration.volume_type
        if configuration.database is not None:
            return self._of_database(configuration, configuration.database)
        if kind not in self.gib:
            raise PriceUnknown(f"no {kind} price for {self.region} ({self.source})")
        price = self.gib[kind] * configuration.size_gib
        iops = configuration.iops or 0
        if kind is VolumeType.GP3:
            price += self.iops[kind] * max(0, iops - GP3_INCLUDED_IOPS)
            over = max(0, (configuration.throughput_mibps or 0) - GP3_INCLUDED_MIBPS)
            price += self.gp3_mibps * over
        elif kind is VolumeType.IO1:
            price += self.iops[kind] * iops
        elif kind is VolumeType.IO2:
            first, second = IO2_TIERS
            price += self.iops[kind] * min(iops, first)
            price += self.io2_tier2 * max(0, min(iops, second) - first)
            price += self.io2_tier3 * max(0, iops - second)
        return price

    def source_of(self, configuration: Configuration) -> tuple[str, date]:
        """Where the price of `configuration` is from, and when it held."""
        database = configuration.database
        for prices in self.databases if database is not None else ():
            if database is not None and prices.sells(database):
                return prices.source, prices.as_of
        return self.source, self.as_of

    def _of_database(self, configuration: Configuration, database: Database) -> Decimal:
        for prices in self.databases:
            if prices.sells(database):
                usd = prices.monthly(configuration)
                if usd is not None:
                    return usd
        raise PriceUnknown(
            f"no price of {configuration.volume_type} of {database} for {self.region} "
            f"({self.source})"
        )


def _table(region: str, factors: dict[str, str]) -> PriceTable:
    d = {k: Decimal(v) for k, v in factors.items()}
    return PriceTable(
        region=region,
        source="catalogue",
        as_of=date(2026, 9, 11),
        gib=MappingProxyType({t: d[t.value] for t in VolumeType if t.value in d}),
        iops=MappingProxyType(
            {t: d[f"{t.value}_iops"] for t in VolumeType if f"{t.value}_iops" in d}
        ),
        io2_tier2=d["io2_tier2"],
        io2_tier3=d["io2_tier3"],
        gp3_mibps=d["gp3_mibps"],
        databases=CATALOGUE_RDS_PRICES.get(region, ()),
    )


_US = {
    "gp2": "0.10", "gp3": "0.08", "io1": "0.125", "io2": "0.125", "st1": "0.045", "sc1": "0.015",
    "gp3_iops": "0.005", "gp3_mibps": "0.04", "io1_iops": "0.065",
    "io2_iops": "0.065", "io2_tier2": "0.0455", "io2_tier3": "0.03185",
}  # fmt: skip
_TOKYO = {
    "gp2": "0.12", "gp3": "0.096", "io1": "0.142", "io2": "0.142", "st1": "0.054", "sc1": "0.018",
    "gp3_iops": "0.006", "gp3_mibps": "0.048", "io1_iops": "0.074",
    "io2_iops": "0.074", "io2_tier2": "0.0518", "io2_tier3": "0.03626",
}  # fmt: skip

CATALOGUE_PRICES: Mapping[str, PriceTable] = MappingProxyType(
    {
        "us-east-1": _table("us-east-1", _US),
        "us-east-2": _table("us-east-2", _US),
        "us-west-2": _table("us-west-2", _US),
        "ap-northeast-1": _table("ap-northeast-1", _TOKYO),
    }
)


def catalogue_prices(region: str) -> PriceTable:
    """The dated fallback table of `region`; raises PriceUnknown when the catalogue has none."""
    try:
        return CATALOGUE_PRICES[region]
    except KeyError:
        known = ", ".join(sorted(CATALOGUE_PRICES))
        raise PriceUnknown(
            f"no EBS prices for Region {region}; the catalogue has {known}"
        ) from None


def with_databases(table: PriceTable) -> PriceTable:
    """The table, with the catalogue's prices of databases where it has none of its own."""
    if table.databases:
        return table
    return replace(table, databases=CATALOGUE_RDS_PRICES.get(table.region, ()))


PLAUSIBLE_FACTOR = 3
"""Between Regions AWS's prices differ by a factor below 2; a wrong unit is 8, 1,000 or 1,024."""
_REFERENCE = "us-east-1"
_EVERYWHERE = frozenset({VolumeType.GP3})
"""Types that every Region sells."""


def why_implausible(table: PriceTable) -> str | None:
    """One sentence on why `table` cannot be right, or None; the catalogue is the yardstick.

    Every price must be within PLAUSIBLE_FACTOR of the catalogue's for the Region, or of
    us-east-1's where the catalogue lacks the Region; no type the catalogue has may be missing;
    io2's IOPS may not become dearer from tier to tier, which AWS has never done.
    """
    own = CATALOGUE_PRICES.get(table.region)
    yardstick = own or CATALOGUE_PRICES[_REFERENCE]
    needed = frozenset(own.gib) if own else _EVERYWHERE
    missing = sorted(kind.value for kind in needed - table.gib.keys())
    if missing:
        return f"it has no price of {', '.join(missing)}"
    expected = _unit_prices(yardstick)
    for name, usd in _unit_prices(table).items():
        about = expected.get(name)
        if not usd.is_finite() or usd <= 0:
            return f"{name} costs {usd} USD"
        if about is None:
            continue
        if not about / PLAUSIBLE_FACTOR <= usd <= about * PLAUSIBLE_FACTOR:
            return (
                f"{name} costs {usd.normalize():f} USD, more than {PLAUSIBLE_FACTOR} times off "
                f"the {about.normalize():f} of {yardstick.region} in the catalogue"
            )
    if VolumeType.IO2 in table.gib:
        tiers = (table.iops[VolumeType.IO2], table.io2_tier2, table.io2_tier3)
        if tiers != tuple(sorted(tiers, reverse=True)):
            return f"io2's IOPS become dearer from tier to tier: {', '.join(map(str, tiers))} USD"
    return None


def _unit_prices(table: PriceTable) -> dict[str, Decimal]:
    """Every unit price that the table's types use, by what people call it."""
    named = {f"a GiB of {kind}": usd for kind, usd in table.gib.items()}
    named |= {f"an IOPS of {kind}": usd for kind, usd in table.iops.items() if kind in table.gib}
    if VolumeType.IO2 in table.gib:
        named["an IOPS of io2's second tier"] = table.io2_tier2
        named["an IOPS of io2's third tier"] = table.io2_tier3
    if VolumeType.GP3 in table.gib:
        named["a MiB/s of gp3"] = table.gp3_mibps
    for prices in table.databases:
        named |= unit_prices(prices)
    return named
