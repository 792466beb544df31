"""Alternatives: the cheapest configuration of each type for a given performance, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from headroom.domain.catalog import PriceTable, cheapest
from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.planning.plans_from_history import TARGETS
from headroom.domain.resources import Configuration, PriceUnknown, ValidStorage, VolumeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """The cheapest configuration of one type that one change reaches; `target` is None if none.

    Prices in USD per month, None if unknown.
    """

    volume_type: VolumeType
    target: Configuration | None
    monthly_usd: Decimal | None
    price_change_usd: Decimal | None
    grows: bool
    """Whether the size grows, which AWS can never undo."""
    full_copy: bool
    """Whether RDS copies all of a database's data for it."""

    @property
    def can(self) -> Capability | None:
        """What the target delivers."""
        return None if self.target is None else capability(self.target)


def alternatives(
    origin: Configuration,
    *,
    iops: float,
    mibps: float,
    prices: PriceTable | None,
    valid: tuple[ValidStorage, ...] = (),
) -> tuple[Alternative, ...]:
    """One alternative of each type for `iops` and `mibps` sustained, the cheapest first.

    Types without a price come after those with one, and types that cannot deliver it come last.
    """
    return tuple(sorted(_each_type(origin, iops, mibps, prices, valid), key=_order))


def _each_type(
    origin: Configuration, iops: float, mibps: float, prices: PriceTable | None,
    valid: tuple[ValidStorage, ...],
) -> Iterator[Alternative]:  # fmt: skip
    before = _price(prices, origin)
    for kind in TARGETS:
        target = cheapest(origin, kind, iops=iops, mibps=mibps, valid=valid)
        monthly = None if target is None else _price(prices, target)
        known = monthly is not None and before is not None
        yield Alternative(
            volume_type=kind,
            target=target,
            monthly_usd=monthly,
            price_change_usd=monthly - before if known else None,  # type: ignore[operator]
            grows=target is not None and target.size_gib > origin.size_gib,
            full_copy=target is not None and full_copy(origin, target),
        )


def _price(prices: PriceTable | None, configuration: Configuration) -> Decimal | None:
    if prices is None:
        return None
    try:
        return prices.monthly(configuration)
    except PriceUnknown:
        return None


def _order(alternative: Alternative) -> tuple[bool, bool, Decimal]:
    return (
        alternative.target is None,
        alternative.monthly_usd is None,
        alternative.monthly_usd or Decimal(0),
    )
