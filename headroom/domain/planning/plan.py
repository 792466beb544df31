"""Candidate target configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal

from headroom.domain.catalog.ebs import Capability, capability
from headroom.domain.catalog.rds import full_copy
from headroom.domain.resources import LATER, Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceGrowth:
    """What a plan grows a database for when its free space is short. Sizes in GiB."""

    needed_gib: int
    """Size with which the owner's reserve stays free over the owner's horizon."""
    target_size_gib: int
    """The smallest size RDS takes that is at least that."""
    free_gib: float
    """What was free when it was planned."""
    alone: bool
    """Whether nothing else is changed but what the size brings along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One change AWS would accept, with what it delivers, costs and risks.

    Prices in USD per month. `value_usd_per_day` is what waiting would cost over the next day, in
    dollars and in starved minutes at the owner's value, less what this plan and the best that can
    follow it would; `relieved_minutes_per_day` is negative where more minutes are expected to starve.
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
    """The plan this one was cut down from by a ceiling, None if it was not."""
    growth: SpaceGrowth | None = field(default=None, metadata=LATER)
    """Why the storage grows, where it is for free space; None where it is not."""

    @property
    def lowers(self) -> bool:
        """Whether IOPS or throughput, sustained or in a burst, end below those of today."""
        now, then = capability(self.origin), self.capability
        return self.sustains_less or (
            then.burst_iops < now.burst_iops or then.burst_mibps < now.burst_mibps
        )

    def gives_back(self, *, draining: bool) -> bool:
        """Whether it lowers anything for good reason to wait.

        While credits drain, what counts is what is sustained: the burst is about to end anyway.
        """
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
        """Whether the volume gets bigger, which AWS can never undo."""
        return self.target.size_gib > self.origin.size_gib

    @property
    def only_for_space(self) -> bool:
        """Whether it is for free space and nothing else."""
        return self.growth is not None and self.growth.alone

    @property
    def full_copy(self) -> bool:
        """Whether RDS copies all of a database's data, I/O that its load competes with for hours."""
        return full_copy(self.origin, self.target)
