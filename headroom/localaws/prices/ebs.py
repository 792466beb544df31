"""EBS volumes among the products of AmazonEC2, at the catalogue's prices."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from headroom.domain.catalog import CATALOGUE_PRICES, PriceTable
from headroom.domain.resources import VolumeType
from headroom.localaws.prices.product import product

_NAMES = {VolumeType.IO1: "piops"}


def products() -> Iterator[dict[str, Any]]:
    """Those of every Region of the catalogue."""
    for table in CATALOGUE_PRICES.values():
        yield from _products(table)


def _products(table: PriceTable) -> Iterator[dict[str, Any]]:
    """Every product of a Region, and a similar one at twice the price in a Local Zone."""
    for kind, usd in table.gib.items():
        usage = f"EBS:VolumeUsage.{_NAMES.get(kind, kind.value)}"
        unit = "GB-month" if kind is VolumeType.IO2 else "GB-Mo"
        yield _product(table, "Storage", kind, usage, unit, usd)
        yield _product(table, "Storage", kind, usage, unit, usd * 2, zone="LZ1-")
    iops = {f"{_NAMES.get(k, k.value)}": (k, usd) for k, usd in table.iops.items()}
    iops["io2.tier2"] = (VolumeType.IO2, table.io2_tier2)
    iops["io2.tier3"] = (VolumeType.IO2, table.io2_tier3)
    for name, (kind, usd) in iops.items():
        yield _product(table, "System Operation", kind, f"EBS:VolumeP-IOPS.{name}", "IOPS-Mo", usd)
    yield _product(
        table, "Provisioned Throughput", VolumeType.GP3, "EBS:VolumeP-Throughput.gp3", "GiBps-mo",
        table.gp3_mibps * 1_024,
    )  # fmt: skip


def _product(
    table: PriceTable, family: str, kind: VolumeType, usage: str, unit: str, usd: Decimal,
    *, zone: str = "",
) -> dict[str, Any]:  # fmt: skip
    return product(
        "AmazonEC2", table.region, table.as_of, family, usage, unit, usd,
        attributes={"volumeApiName": kind.value}, zone=zone,
    )  # fmt: skip
