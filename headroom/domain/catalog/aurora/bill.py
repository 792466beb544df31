"""What an Aurora cluster costs in each storage mode, and where the two are equal.

Source: Aurora pricing, us-east-1 and ap-northeast-1 (checked 2026-09), USD; a month is 730 hours.
Standard pays for every I/O; I/O-Optimized pays more for instances, ACUs and GiB, and nothing for
I/O. Costs that are the same in both (backup, replication, transfer, backtrack) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.resources import SERVERLESS, Member, PriceUnknown, StorageMode, family, units

HOURS_PER_MONTH = 730
MILLION = 1_000_000

Pair = tuple[Decimal, Decimal]
"""A price in Standard and in I/O-Optimized."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraPrices:
    """Unit prices of one Region: `hour` per instance-hour by class, `acu_hour`, `gib` per month.

    `million_ios` is paid in Standard only.
    """

    region: str
    source: str
    as_of: date
    hour: Mapping[str, Pair]
    acu_hour: Pair | None
    gib: Pair
    million_ios: Decimal
    discount_percent: float = 0.0
    """What the owner pays less than list prices in percent; all prices here are after it."""

    def after_discount(self, percent: float) -> AuroraPrices:
        """The prices less a discount; those that have one already stay as they are."""
        if self.discount_percent or not percent:
            return self
        share = 1 - Decimal(str(percent)) / 100

        def less(pair: Pair) -> Pair:
            return pair[0] * share, pair[1] * share

        return replace(
            self, source=f"{self.source} after {percent:g} % discount", discount_percent=percent,
            hour={name: less(pair) for name, pair in self.hour.items()}, gib=less(self.gib),
            acu_hour=None if self.acu_hour is None else less(self.acu_hour),
            million_ios=self.million_ios * share,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a month of a cluster uses; `acus` is the mean capacity of its serverless members."""

    members: tuple[Member, ...]
    reserved: tuple[Member, ...] = ()
    acus: float = 0.0
    storage_gib: float
    ios: float
    """Billed I/O operations a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """USD a month in one mode; instances beyond what reservations cover."""

    mode: StorageMode
    instances_usd: Decimal
    serverless_usd: Decimal
    storage_usd: Decimal
    io_usd: Decimal

    @property
    def total_usd(self) -> Decimal:
        """The sum of the parts."""
        return self.instances_usd + self.serverless_usd + self.storage_usd + self.io_usd

    @property
    def io_share(self) -> float:
        """Share of I/O in the bill, 0 to 1."""
        return float(self.io_usd / self.total_usd) if self.total_usd else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bills:
    """The bill in both modes, and where they are equal."""

    standard: Bill
    io_optimized: Bill
    break_even_ios: float
    """I/O operations a month above which I/O-Optimized is cheaper; 0 if it always is."""
    covered_percent: tuple[float, float]
    """Share of the instances that reservations cover in Standard and in I/O-Optimized."""

    def of(self, mode: StorageMode) -> Bill:
        """The bill in `mode`."""
        return self.standard if mode is StorageMode.STANDARD else self.io_optimized

    def saving_usd(self, origin: StorageMode) -> Decimal:
        """What leaving `origin` saves a month; negative if it costs more."""
        return self.of(origin).total_usd - self.of(origin.other).total_usd


def bills(usage: Usage, prices: AuroraPrices) -> Bills:
    """The bill of `usage` in both modes. Raises PriceUnknown when any part has no price."""
    instances, covered = _instances(usage, prices)
    serverless = _serverless(usage, prices)
    gib = Decimal(repr(usage.storage_gib))
    storage = prices.gib[0] * gib, prices.gib[1] * gib
    io_usd = prices.million_ios * Decimal(repr(usage.ios)) / MILLION
    standard = Bill(
        mode=StorageMode.STANDARD, instances_usd=instances[0], serverless_usd=serverless[0],
        storage_usd=storage[0], io_usd=io_usd,
    )  # fmt: skip
    optimized = Bill(
        mode=StorageMode.IO_OPTIMIZED, instances_usd=instances[1], serverless_usd=serverless[1],
        storage_usd=storage[1], io_usd=Decimal(0),
    )  # fmt: skip
    more = optimized.total_usd - (standard.total_usd - io_usd)
    return Bills(
        standard=standard,
        io_optimized=optimized,
        break_even_ios=float(max(Decimal(0), more) / prices.million_ios * MILLION),
        covered_percent=covered,
    )


def _serverless(usage: Usage, prices: AuroraPrices) -> Pair:
    if not any(m.instance_class == SERVERLESS and m.count for m in usage.members):
        return Decimal(0), Decimal(0)
    if prices.acu_hour is None:
        raise PriceUnknown(f"no price of an ACU for {prices.region} ({prices.source})")
    hours = Decimal(repr(usage.acus)) * HOURS_PER_MONTH
    return prices.acu_hour[0] * hours, prices.acu_hour[1] * hours


def _instances(usage: Usage, prices: AuroraPrices) -> tuple[Pair, tuple[float, float]]:
    """What instances cost beyond reservations, and the percentage that those cover, by family.

    In I/O-Optimized an instance uses more units of a reservation, in proportion to its higher price,
    so the same reservation covers less. The rest is paid at the mode's price.
    """
    listed: dict[str, list[Decimal]] = {}
    needed: dict[str, Decimal] = {}
    owned: dict[str, Decimal] = {}
    for member in usage.members:
        if member.instance_class == SERVERLESS:
            continue
        name, pair = family(member.instance_class), _hour(prices, member.instance_class)
        hours = member.count * HOURS_PER_MONTH
        both = listed.setdefault(name, [Decimal(0), Decimal(0)])
        both[0] += pair[0] * hours
        both[1] += pair[1] * hours
        if usage.reserved:
            needed[name] = needed.get(name, Decimal(0)) + _units(member)
    for member in usage.reserved:
        name = family(member.instance_class)
        owned[name] = owned.get(name, Decimal(0)) + _units(member)
    paid, total = [Decimal(0), Decimal(0)], [Decimal(0), Decimal(0)]
    for name, both in listed.items():
        uplift = both[1] / both[0]
        for mode, factor in enumerate((Decimal(1), uplift)):
            need = needed.get(name, Decimal(0)) * factor
            share = min(Decimal(1), owned.get(name, Decimal(0)) / need) if need else Decimal(0)
            paid[mode] += both[mode] * (1 - share)
            total[mode] += both[mode]
    covered = [100 * float(1 - p / t) if t else 0.0 for p, t in zip(paid, total, strict=True)]
    return (paid[0], paid[1]), (covered[0], covered[1])


def _units(member: Member) -> Decimal:
    return Decimal(repr(units(member.instance_class))) * member.count


def _hour(prices: AuroraPrices, instance_class: str) -> Pair:
    pair = prices.hour.get(instance_class)
    if pair is None:
        raise PriceUnknown(f"no price of {instance_class} for {prices.region} ({prices.source})")
    return pair


def _pair(standard: str, optimized: str) -> Pair:
    return Decimal(standard), Decimal(optimized)


AURORA_PRICES: Mapping[str, AuroraPrices] = MappingProxyType(
    {
        "us-east-1": AuroraPrices(
            region="us-east-1", source="catalogue", as_of=date(2026, 9, 11),
            hour=MappingProxyType(
                {
                    "db.r6g.large": _pair("0.26", "0.338"),
                    "db.r7g.xlarge": _pair("0.553", "0.719"),
                }
            ),
            acu_hour=_pair("0.12", "0.16"), gib=_pair("0.10", "0.225"), million_ios=Decimal("0.20"),
        ),
        "ap-northeast-1": AuroraPrices(
            region="ap-northeast-1", source="catalogue", as_of=date(2026, 9, 11),
            hour=MappingProxyType(
                {
                    "db.r6g.large": _pair("0.313", "0.407"),
                    "db.r6g.xlarge": _pair("0.627", "0.815"),
                }
            ),
            acu_hour=_pair("0.15", "0.20"), gib=_pair("0.12", "0.27"), million_ios=Decimal("0.24"),
        ),
    }
)  # fmt: skip
"""The dated fallback. It has the few classes whose prices are known; no uplift is guessed."""


def aurora_prices(region: str) -> AuroraPrices:
    """The dated table of `region`; raises PriceUnknown when there is none."""
    try:
        return AURORA_PRICES[region]
    except KeyError:
        known = ", ".join(sorted(AURORA_PRICES))
        raise PriceUnknown(
            f"no Aurora prices for Region {region}; the catalogue has {known}"
        ) from None
