"""A plan: one change to a target configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import DURABILITY_PERCENT, Capability, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.resources import LATER, Configuration

HOURS_PER_MONTH = 730


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceGrowth:
    """The growth for free space in a plan. Sizes in GiB."""

    needed_gib: int
    """Size that keeps the owner's reserve free over the owner's horizon."""
    target_size_gib: int
    """The smallest valid size that is at least that."""
    free_gib: float
    """Free space at the time of planning."""
    alone: bool
    """Whether nothing changes but the size and what RDS derives from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One change that AWS would accept, with its capability, price and value.

    Prices in USD per month. `value_usd_per_day` is the cost of waiting over the next day, in dollars
    and in starved minutes at the owner's value, less the cost of this plan and the best that can
    follow it; of a small saving after calm days, over as many days as were calm.
    `relieved_minutes_per_day` is negative if more minutes would starve.
    """

    origin: Configuration
    target: Configuration
    why: str
    demand_iops: float
    demand_mibps: float
    meets_need: bool
    capability: Capability
    monthly_usd: Decimal
    price_change_usd: Decimal
    time_to_effect: timedelta
    reversible: bool
    relieved_minutes_per_day: float
    value_usd_per_day: float
    capped_from: Configuration | None
    """The target before a ceiling reduced it, None if none did."""
    growth: SpaceGrowth | None = field(default=None, metadata=LATER)
    """The growth for free space; None if there is none."""

    @property
    def lowers(self) -> bool:
        """Whether IOPS or throughput, sustained or in a burst, end below those of today."""
        now, then = capability(self.origin), self.capability
        return self.sustains_less or (
            then.burst_iops < now.burst_iops or then.burst_mibps < now.burst_mibps
        )

    def gives_back(self, *, draining: bool) -> bool:
        """Whether it lowers performance; while credits drain, only sustained performance counts."""
        return self.sustains_less if draining else self.lowers

    @property
    def sustains_less(self) -> bool:
        """Whether sustained IOPS or throughput end below those of today."""
        now, then = capability(self.origin), self.capability
        return (
            then.sustained_iops < now.sustained_iops or then.sustained_mibps < now.sustained_mibps
        )

    @property
    def sustains_more(self) -> bool:
        """Whether sustained IOPS or throughput end above those of today."""
        now, then = capability(self.origin), self.capability
        return (
            then.sustained_iops > now.sustained_iops or then.sustained_mibps > now.sustained_mibps
        )

    @property
    def grows(self) -> bool:
        """Whether the size grows, which cannot be undone."""
        return self.target.size_gib > self.origin.size_gib

    @property
    def only_for_space(self) -> bool:
        """Whether it only adds free space."""
        return self.growth is not None and self.growth.alone

    @property
    def full_copy(self) -> bool:
        """Whether RDS copies all of a database's data, for hours beside its load."""
        return full_copy(self.origin, self.target)


def a_month(usd: Decimal) -> str:
    """A change of the monthly price in words."""
    return f"${abs(usd):.2f} a month {'less' if usd < 0 else 'more'}"


def one_way(plan: Plan) -> bool:
    """Whether the plan can never be undone: size and durability are never lowered."""
    durability = DURABILITY_PERCENT
    return not plan.reversible or (
        durability[plan.target.volume_type] > durability[plan.origin.volume_type]
    )
