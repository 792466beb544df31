"""Products of the Price List API, whatever they are the price of: which count, and at what price.

Source: Price List Query API reference (checked 2026-11). Of a Region's many products only those
count that are in USD, in a known unit and in the Region itself: Local Zones and Outposts sell under
similar names, and previews at $0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Generic, TypeVar

SOURCE = "price list"
IN_REGION = "AWS Region"
"""Location type of a Region; Local Zones, Wavelength Zones and Outposts have others."""
_FROM_NOTHING = (Decimal(0),)

K = TypeVar("K")


class PriceListUnreadable(ValueError):
    """An answer of the Price List API is not what AWS documents; nothing of it is used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced(Generic[K]):
    """What one product is the price of, and how its price is written."""

    key: K
    name: str
    """The key in words."""
    units: Mapping[str, int]
    """Units that are understood, with how many of ours one of them is."""
    begins: tuple[Decimal, ...] = _FROM_NOTHING
    """Where a price's range may begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Products(Generic[K]):
    """What products say: the prices that are clear, what has several, and what was passed over."""

    usd: Mapping[K, Decimal]
    several: frozenset[K]
    skipped_offers: tuple[str, ...]
    """One line for each product that should have been part of the prices and was not."""
    published: tuple[date, ...]


def read_products(
    texts: Iterable[str],
    relevant: Callable[[str, Mapping[str, str]], Priced[K] | None],
    *,
    region: str,
    today: date,
) -> Products[K]:
    """The prices in products as GetProducts gives them, each a JSON text.

    `relevant` says what a product of the Region is the price of, by its family and attributes.
    Raises PriceListUnreadable.
    """
    found: dict[K, set[Decimal]] = {}
    names: dict[K, str] = {}
    skipped_offers: list[str] = []
    published: list[date] = []
    for text in texts:
        try:
            product = json.loads(text)
            attributes = product["product"]["attributes"]
            if attributes.get("regionCode", region) != region:
                continue
            if attributes.get("locationType", IN_REGION) != IN_REGION:
                continue
            priced = relevant(product["product"].get("productFamily"), attributes)
            if priced is None:
                continue
            published.append(_day(product["publicationDate"]))
            names[priced.key] = priced.name
            problem = _take(priced, product, found, today)
            skipped_offers += [f"{priced.name}: {problem}"] if problem else []
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
            raise PriceListUnreadable(f"{type(error).__name__}: {error}") from error
    several = {key: usd for key, usd in found.items() if len(usd) > 1}
    skipped_offers += sorted(
        f"{names[key]}: several prices, {', '.join(map(str, sorted(usd)))}"
        for key, usd in several.items()
    )
    return Products(
        usd={key: next(iter(usd)) for key, usd in found.items() if len(usd) == 1},
        several=frozenset(several),
        skipped_offers=tuple(skipped_offers),
        published=tuple(published),
    )


def _take(
    priced: Priced[K], product: Mapping[str, Any], found: dict[K, set[Decimal]], today: date
) -> str | None:
    """Add the product's price to what was found; or why it has none that is understood."""
    for dimension in _in_force(product, today):
        if "USD" not in dimension["pricePerUnit"]:
            return f"priced in {', '.join(sorted(dimension['pricePerUnit'])) or 'no currency'}"
        usd = Decimal(dimension["pricePerUnit"]["USD"])
        if usd == 0:
            continue  # what is included, or a preview
        ours = priced.units.get(str(dimension["unit"]).lower())
        if ours is None:
            return f"priced per {dimension['unit']!r}"
        begin, end = str(dimension.get("beginRange", "0")), str(dimension.get("endRange", "Inf"))
        if Decimal(begin) not in priced.begins or end != "Inf":
            return f"priced from {begin} to {end} only"
        found.setdefault(priced.key, set()).add((usd / ours).normalize())
    return None


def _in_force(product: Mapping[str, Any], today: date) -> Iterator[Mapping[str, Any]]:
    """On-demand prices that are in force; AWS also publishes future ones."""
    for term in product["terms"].get("OnDemand", {}).values():
        begins = term.get("effectiveDate")
        if begins is None or _day(begins) <= today:
            yield from term["priceDimensions"].values()


def _day(instant: str) -> date:
    return datetime.fromisoformat(instant).astimezone(UTC).date()
