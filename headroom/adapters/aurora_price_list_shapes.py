"""From products of the Price List API to the Aurora prices of one engine in one Region.

Source: Price List Query API reference and the AmazonRDS offer file (checked 2026-11). Instances and
ACUs have products of their own for I/O-Optimized; storage and I/O are sold for any engine. Only exact
usage types count: `Aurora:ServerlessUsage` is Serverless v1, previews of Limitless stand at $0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from headroom.adapters.price_list_shapes import (
    IN_REGION,
    SOURCE,
    PriceListUnreadable,
    in_force,
    published_on,
)
from headroom.domain.aurora_bill import MILLION, AuroraPrices, Pair

ENGINES = {"aurora-postgresql": "Aurora PostgreSQL", "aurora-mysql": "Aurora MySQL"}
"""Engines by the attribute databaseEngine."""
ANY = "Any"
_STORAGE, _IO_STORAGE, _IOS = "StorageUsage", "IO-OptimizedStorageUsage", "StorageIOUsage"
_ACU, _IO_ACU = "ServerlessV2Usage", "ServerlessV2IOOptimizedUsage"
_UNITS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        _STORAGE: ("gb-mo", "gb-month"),
        _IO_STORAGE: ("gb-mo", "gb-month"),
        _IOS: ("ios",),
        _ACU: ("acu-hr", "acu-hrs"),
        _IO_ACU: ("acu-hr", "acu-hrs"),
    }
)
_HOURS = ("hrs", "hours", "hour")
_USAGE = re.compile(r"(?:[A-Z0-9]+-)?Aurora:([\w-]+)")
_INSTANCE = re.compile(r"(?:[A-Z0-9]+-)?(InstanceUsage|InstanceUsageIOOptimized):(db\.[\w.-]+)")
_DEAREST = Decimal("1.6")
"""I/O-Optimized costs about a third more; a class that costs more than this is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAurora:
    """Prices, and one line for each product that should have been part of them and was not."""

    prices: AuroraPrices
    passed_over: tuple[str, ...]


def read_aurora(products: Iterable[str], *, region: str, engine: str, today: date) -> ReadAurora:
    """Aurora prices of `engine` (`aurora-mysql` or `aurora-postgresql`) in `region`.

    A class is in them only with both its prices; what has several has none. Raises
    PriceListUnreadable, also where storage or I/O has no price.
    """
    found: dict[str, set[Decimal]] = {}
    passed_over: list[str] = []
    published: list[date] = []
    for text in products:
        try:
            for name, units, product in _relevant(text, region, engine):
                published.append(published_on(product))
                problem = _take(name, units, product, found, today)
                passed_over += [f"{name}: {problem}"] if problem else []
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise PriceListUnreadable(f"{type(error).__name__}: {error}") from error
    passed_over += [
        f"{name}: several prices, {', '.join(map(str, sorted(usd)))}"
        for name, usd in sorted(found.items())
        if len(usd) > 1
    ]
    clear = {name: next(iter(usd)) for name, usd in found.items() if len(usd) == 1}
    missing = [name for name in (_STORAGE, _IO_STORAGE, _IOS) if name not in clear]
    if missing:
        raise PriceListUnreadable(f"no price of {', '.join(missing)} of {region} in it")
    pairs, strange = _hours(clear)
    acus = (clear[_ACU], clear[_IO_ACU]) if _ACU in clear and _IO_ACU in clear else None
    prices = AuroraPrices(
        region=region, source=SOURCE, as_of=min(published), hour=MappingProxyType(pairs),
        acu_hour=acus, gib=(clear[_STORAGE], clear[_IO_STORAGE]),
        million_ios=(clear[_IOS] * MILLION).normalize(),
    )  # fmt: skip
    return ReadAurora(prices=prices, passed_over=(*passed_over, *strange))


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


def _relevant(
    text: str, region: str, engine: str
) -> Iterator[tuple[str, tuple[str, ...], Mapping[str, Any]]]:
    """The product with what it is the price of and in which units, if it is Aurora's, here."""
    product = json.loads(text)
    attributes = product["product"]["attributes"]
    if attributes.get("regionCode", region) != region:
        return
    if attributes.get("locationType", IN_REGION) != IN_REGION:
        return
    if attributes.get("databaseEngine", ANY) not in (ANY, ENGINES[engine]):
        return
    usage = attributes.get("usagetype", "")
    storage, instance = _USAGE.fullmatch(usage), _INSTANCE.fullmatch(usage)
    if storage and storage[1] in _UNITS:
        yield storage[1], _UNITS[storage[1]], product
    elif instance and attributes.get("databaseEngine") == ENGINES[engine]:
        yield f"{instance[1]}:{instance[2]}", _HOURS, product


def _take(
    name: str, units: tuple[str, ...], product: Mapping[str, Any], found: dict[str, set[Decimal]],
    today: date,
) -> str | None:  # fmt: skip
    """Add the product's price to what was found; or why it has none that is understood."""
    for dimension in in_force(product, today):
        if "USD" not in dimension["pricePerUnit"]:
            return f"priced in {', '.join(sorted(dimension['pricePerUnit'])) or 'no currency'}"
        usd = Decimal(dimension["pricePerUnit"]["USD"])
        if usd == 0:
            continue  # a preview
        if str(dimension["unit"]).lower() not in units:
            return f"priced per {dimension['unit']!r}"
        begin, end = str(dimension.get("beginRange", "0")), str(dimension.get("endRange", "Inf"))
        if Decimal(begin) != 0 or end != "Inf":
            return f"priced from {begin} to {end} only"
        found.setdefault(name, set()).add(usd.normalize())
    return None
