"""What so much performance costs in every type there is: each type's cheapest, side by side."""

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
    """The cheapest of one type that one change leads to; `target` is None where none does.

    Prices in USD per month, None where they are not known.
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
        """What it can do."""
        return None if self.target is None else capability(self.target)


def alternatives(
    origin: Configuration,
    *,
    iops: float,
    mibps: float,
    prices: PriceTable | None,
    valid: tuple[ValidStorage, ...] = (),
) -> tuple[Alternative, ...]:
    """One offer of each type for `iops` and `mibps` sustained, the cheapest first.

    What has no price comes after what has one, and a type that cannot do it comes last.
    """
    return tuple(sorted(_offers(origin, iops, mibps, prices, valid), key=_order))


def _offers(
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


def _order(offer: Alternative) -> tuple[bool, bool, Decimal]:
    return offer.target is None, offer.monthly_usd is None, offer.monthly_usd or Decimal(0)
