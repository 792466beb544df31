"""Monthly prices of EBS volumes, exact to the last digit AWS prints.

Source: EBS price list, us-east-1 and ap-northeast-1 checked 2026-09; a month is 730 hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType

from headroom.domain.resources import Configuration, PriceUnknown, VolumeType

GP3_INCLUDED_IOPS = 3_000
GP3_INCLUDED_MIBPS = 125
IO2_TIERS = (32_000, 64_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class EbsPrices:
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

    def volume_monthly(self, configuration: Configuration) -> Decimal:
        """Price of a volume in USD per month. Raises PriceUnknown."""
        kind = configuration.volume_type
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

    def unit_prices(self) -> dict[str, Decimal]:
        """Every unit price that the table's types use, by what people call it."""
        named = {f"a GiB of {kind}": usd for kind, usd in self.gib.items()}
        named |= {f"an IOPS of {kind}": usd for kind, usd in self.iops.items() if kind in self.gib}
        if VolumeType.IO2 in self.gib:
            named["an IOPS of io2's second tier"] = self.io2_tier2
            named["an IOPS of io2's third tier"] = self.io2_tier3
        if VolumeType.GP3 in self.gib:
            named["a MiB/s of gp3"] = self.gp3_mibps
        return named


def _prices(region: str, factors: dict[str, str]) -> EbsPrices:
    d = {k: Decimal(v) for k, v in factors.items()}
    return EbsPrices(
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

CATALOGUE_EBS_PRICES: Mapping[str, EbsPrices] = MappingProxyType(
    {
        "us-east-1": _prices("us-east-1", _US),
        "us-east-2": _prices("us-east-2", _US),
        "us-west-2": _prices("us-west-2", _US),
        "ap-northeast-1": _prices("ap-northeast-1", _TOKYO),
    }
)
"""The dated fallback prices, by Region."""
