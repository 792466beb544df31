"""Monthly prices of every kind of storage in one table, and whether a table can be right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.catalog.ebs import CATALOGUE_EBS_PRICES, EbsPrices
from headroom.domain.catalog.rds import CATALOGUE_RDS_PRICES, RdsPrices, unit_prices
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType

SECONDS_PER_MONTH = 730 * 3600


def after_discount_text(source: str, percent: float) -> str:
    """The name of a source of prices, with the owner's discount if there is one."""
    return f"{source} after {percent:g} % discount" if percent else source


def paid_share(percent: float) -> Decimal:
    """The share of a list price that is paid after a discount."""
    return 1 - Decimal(str(percent)) / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceTable(EbsPrices):
    """All unit prices of one Region in USD per month: those of EBS, and of databases."""

    databases: tuple[RdsPrices, ...] = ()
    """Prices of RDS storage, one for each engine and deployment that is known here."""
    discount_percent: float = 0.0
    """What the owner pays less than each unit price, in percent."""

    def after_discount(self, percent: float) -> PriceTable:
        """The table less a discount; one that has a discount already stays as it is."""
        return (
            self
            if self.discount_percent or not percent
            else replace(self, discount_percent=percent)
        )

    def monthly(self, configuration: Configuration) -> Decimal:
        """Price of `configuration` in USD per month, after the discount.

        Raises PriceUnknown when the table lacks the type, or a part of its price.
        """
        usd = self._listed(configuration)
        return usd * paid_share(self.discount_percent) if self.discount_percent else usd

    def _listed(self, configuration: Configuration) -> Decimal:
        database = configuration.database
        if database is None:
            return self.volume_monthly(configuration)
        for prices in self.databases:
            if prices.sells(database) and (usd := prices.monthly(configuration)) is not None:
                return usd
        raise PriceUnknown(
            f"no price of {configuration.volume_type} of {database} for {self.region} "
            f"({self.source})"
        )

    def source_of(self, configuration: Configuration) -> tuple[str, date]:
        """Source and date of the price of `configuration`, and the discount."""
        database, source, as_of = configuration.database, self.source, self.as_of
        for prices in self.databases:
            sold = database is not None and prices.sells(database)
            if sold and prices.monthly(configuration) is not None:
                source, as_of = prices.source, prices.as_of
                break
        return after_discount_text(source, self.discount_percent), as_of


CATALOGUE_PRICES: Mapping[str, PriceTable] = MappingProxyType(
    {
        region: PriceTable(
            databases=CATALOGUE_RDS_PRICES.get(region, ()),
            **{f.name: getattr(prices, f.name) for f in fields(EbsPrices)},
        )
        for region, prices in CATALOGUE_EBS_PRICES.items()
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
    """The table, with the catalogue's prices of databases if it has none."""
    if table.databases:
        return table
    return replace(table, databases=CATALOGUE_RDS_PRICES.get(table.region, ()))


PLAUSIBLE_FACTOR = 3
"""Between Regions AWS's prices differ by a factor below 2; a wrong unit is 8, 1,000 or 1,024."""
PLAUSIBLE_FACTOR_KNOWN = Decimal("1.5")
"""The same where the catalogue has the Region: limits in dollars follow the list that far."""
_REFERENCE = "us-east-1"
_EVERYWHERE = frozenset({VolumeType.GP3})
"""Types that every Region sells."""


def why_implausible(table: PriceTable) -> str | None:
    """One sentence on why `table` cannot be right, or None.

    Every price must be within PLAUSIBLE_FACTOR_KNOWN of the catalogue's for the Region, or within
    PLAUSIBLE_FACTOR of us-east-1's if the catalogue lacks the Region. No type of the catalogue may be missing, and io2's IOPS may
    not cost more from tier to tier.
    """
    own = CATALOGUE_PRICES.get(table.region)
    yardstick = own or CATALOGUE_PRICES[_REFERENCE]
    factor = PLAUSIBLE_FACTOR_KNOWN if own else PLAUSIBLE_FACTOR
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
        if not about / factor <= usd <= about * factor:
            return (
                f"{name} costs {usd.normalize():f} USD, more than {factor} times off "
                f"the {about.normalize():f} of {yardstick.region} in the catalogue"
            )
    if VolumeType.IO2 in table.gib:
        tiers = (table.iops[VolumeType.IO2], table.io2_tier2, table.io2_tier3)
        if tiers != tuple(sorted(tiers, reverse=True)):
            return f"io2's IOPS become dearer from tier to tier: {', '.join(map(str, tiers))} USD"
    return None


def _unit_prices(table: PriceTable) -> dict[str, Decimal]:
    """Every unit price of the table, by what people call it."""
    named = table.unit_prices()
    for prices in table.databases:
        named |= unit_prices(prices)
    return named
