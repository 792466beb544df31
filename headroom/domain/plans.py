"""Candidate target configurations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from headroom.domain.catalogue import Capability
from headroom.domain.resources import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One change AWS would accept, with what it delivers, costs and risks.

    Prices in USD per month; `value_usd_per_day` is worth of the starvation it should end minus
    its price, both per day.
    """

    origin: Configuration
    target: Configuration
    why: str
    wanted_iops: float
    wanted_mibps: float
    meets_need: bool
    capability: Capability
    monthly_usd: Decimal
    price_change_usd: Decimal
    time_to_effect: timedelta
    reversible: bool
    ended_minutes_per_day: float
    value_usd_per_day: float
    capped_from: Configuration | None
    """The plan this one was cut down from by a ceiling, None if it was not."""

    @property
    def grows(self) -> bool:
        """Whether the volume gets bigger, which AWS can never undo."""
        return self.target.size_gib > self.origin.size_gib
