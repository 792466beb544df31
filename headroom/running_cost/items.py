"""A bill of a month, made of items, made of parts with a quantity and a price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from headroom.running_cost.rates import PRICES, UnitPrice

Range = tuple[Decimal, Decimal]
"""From and to; both the same where nothing is uncertain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A quantity of a month and its price."""

    what: str
    """What is counted, with the arithmetic, in words."""
    quantity: Range
    price: UnitPrice

    @property
    def usd(self) -> Range:
        """USD a month."""
        low, high = self.quantity
        return low * self.price.usd, high * self.price.usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the bill."""

    key: str
    name: str
    parts: tuple[Part, ...]
    fixed: bool = False
    """Whether it does not depend on the fleet."""

    @property
    def usd(self) -> Range:
        """USD a month."""
        return _sum(part.usd for part in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningCost:
    """The bill of a month, in an order that does not depend on the amounts."""

    items: tuple[Item, ...]

    @property
    def usd(self) -> Range:
        """USD a month for everything."""
        return _sum(item.usd for item in self.items)

    def item(self, key: str) -> Item:
        """The line of that key; raises StopIteration."""
        return next(item for item in self.items if item.key == key)

    @property
    def largest(self) -> Item:
        """What costs most."""
        return max(self.items, key=lambda item: item.usd[1])


def part_of(what: str, quantity: Decimal | int | Range, price: str) -> Part:
    """A part at the price of this name; one number where nothing is uncertain."""
    low, high = quantity if isinstance(quantity, tuple) else (Decimal(quantity),) * 2
    return Part(what=what, quantity=(low, high), price=PRICES[price])


def _sum(ranges: Iterable[Range]) -> Range:
    low = high = Decimal(0)
    for one in ranges:
        low, high = low + one[0], high + one[1]
    return low, high
