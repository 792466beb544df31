"""From products of the Price List API to the Aurora prices of one engine in one Region.

Source: Price List Query API reference and the AmazonRDS offer file (checked 2026-11). Instances and
ACUs have products of their own for I/O-Optimized; storage and I/O are sold for any engine. Only exact
usage types count: `Aurora:ServerlessUsage` is Serverless v1, previews of Limitless stand at $0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from types import MappingProxyType

from headroom.adapters.prices.offers import SOURCE, Priced, PriceListUnreadable, read_products
from headroom.domain.catalog.aurora import MILLION, AuroraPrices, Pair

ENGINES = {"aurora-postgresql": "Aurora PostgreSQL", "aurora-mysql": "Aurora MySQL"}
"""Engines by the attribute databaseEngine."""
ANY = "Any"
_STORAGE, _IO_STORAGE, _IOS = "StorageUsage", "IO-OptimizedStorageUsage", "StorageIOUsage"
_ACU, _IO_ACU = "ServerlessV2Usage", "ServerlessV2IOOptimizedUsage"
_UNITS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        _STORAGE: {"gb-mo": 1, "gb-month": 1},
        _IO_STORAGE: {"gb-mo": 1, "gb-month": 1},
        _IOS: {"ios": 1},
        _ACU: {"acu-hr": 1, "acu-hrs": 1},
        _IO_ACU: {"acu-hr": 1, "acu-hrs": 1},
    }
)
_HOURS = {"hrs": 1, "hours": 1, "hour": 1}
_USAGE = re.compile(r"(?:[A-Z0-9]+-)?Aurora:([\w-]+)")
_INSTANCE = re.compile(r"(?:[A-Z0-9]+-)?(InstanceUsage|InstanceUsageIOOptimized):(db\.[\w.-]+)")
_DEAREST = Decimal("1.6")
"""I/O-Optimized costs about a third more; a class that costs more than this is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAuroraPrices:
    """Prices, and one line for each product that should have been part of them and was not."""

    prices: AuroraPrices
    skipped_offers: tuple[str, ...]


def parse_aurora_offers(
    products: Iterable[str], *, region: str, engine: str, today: date
) -> ParsedAuroraPrices:
    """Aurora prices of `engine` (`aurora-mysql` or `aurora-postgresql`) in `region`.

    A class is in them only with both its prices; what has several has none. Raises
    PriceListUnreadable, also where storage or I/O has no price.
    """
    found = read_products(products, partial(_relevant, engine=engine), region=region, today=today)
    clear = found.usd
    missing = [name for name in (_STORAGE, _IO_STORAGE, _IOS) if name not in clear]
    if missing:
        raise PriceListUnreadable(f"no price of {', '.join(missing)} of {region} in it")
    pairs, strange = _hours(clear)
    acus = (clear[_ACU], clear[_IO_ACU]) if _ACU in clear and _IO_ACU in clear else None
    prices = AuroraPrices(
        region=region, source=SOURCE, as_of=min(found.published), hour=MappingProxyType(pairs),
        acu_hour=acus, gib=(clear[_STORAGE], clear[_IO_STORAGE]),
        million_ios=(clear[_IOS] * MILLION).normalize(),
    )  # fmt: skip
    return ParsedAuroraPrices(prices=prices, skipped_offers=(*found.skipped_offers, *strange))


def _hours(clear: Mapping[str, Decimal]) -> tuple[dict[str, Pair], list[str]]:
    """Both prices of every class that has them, and what is not believed of the rest."""
    pairs: dict[str, Pair] = {}
    strange: list[str] = []
    for name, usd in sorted(clear.items()):
        kind, _, instance_class = name.partition(":")
        dearer = clear.get(f"InstanceUsageIOOptimized:{instance_class}")
        if kind != "InstanceUsage" or dearer is None:
            continue
        if usd <= dearer <= usd * _DEAREST:
            pairs[instance_class] = (usd, dearer)
        else:
            strange.append(f"{instance_class}: {usd} in Standard and {dearer} in I/O-Optimized")
    return pairs, strange


def _relevant(_: str, attributes: Mapping[str, str], *, engine: str) -> Priced[str] | None:
    name = attributes.get("databaseEngine", ANY)
    if name not in (ANY, ENGINES[engine]):
        return None
    usage = attributes.get("usagetype", "")
    storage, instance = _USAGE.fullmatch(usage), _INSTANCE.fullmatch(usage)
    if storage and storage[1] in _UNITS:
        return Priced(key=storage[1], name=storage[1], units=_UNITS[storage[1]])
    if instance and name == ENGINES[engine]:
        key = f"{instance[1]}:{instance[2]}"
        return Priced(key=key, name=key, units=_HOURS)
    return None
