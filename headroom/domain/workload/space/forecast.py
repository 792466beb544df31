"""What a forecast of free space says: when it is full, by what, and the size that would be enough."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from headroom.domain.resources import LATER

SURGE_HOURS = 7.0
"""How long the rate of the last hour is extrapolated, as RDS's autoscaling does."""
EASED = 1.2
"""Times the reserve that must be left before a shortage counts as over."""


class SpaceBasis(StrEnum):
    """The basis of a free-space forecast."""

    EARLIER_DAYS = "earlier_days"
    RECENT_HOURS = "recent_hours"
    """Less than two days are known: the forecast covers some hours, and growth covers a day."""
    SURGE = "surge"
    LEVEL = "level"
    """Less than the reserve has been free for an hour, or for 15 minutes while it fills."""
    UNCLEAR = "unclear"
    FILE_SYSTEM = "file_system"
    """The volume is larger than its file system, so more of it would not add free space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceForecast:
    """Free space now and ahead, in GiB of one copy of a database's storage, or of a volume."""

    size_gib: int
    free_gib: float
    """Free now; growth that AWS accepted counts before it shows."""
    reserve_gib: float
    """What the owner wants to stay free of this size."""
    lowest_gib: float
    """Least expected within a day; below zero once it would be full."""
    fill_gib_per_day: float
    full_at: datetime | None
    """When nothing would be free; None if that is not expected within the horizon."""
    needed_gib: int
    """Size with which the reserve stays free over the owner's horizon; the present one if enough."""
    basis: SpaceBasis
    short: bool
    """Whether storage should grow now."""
    explanation: str
    young: bool = False
    """Whether it is unclear only because the rise has just begun."""
    pace_gib_per_hour: float = field(default=0.0, metadata=LATER)
    """The rate of the last quarter of an hour, where no earlier day explains it; too short for a forecast."""
    fastest_gib_per_day: float = field(default=0.0, metadata=LATER)
    """The most that it filled within 24 hours, of all that was measured."""
    days_seen: int = field(default=0, metadata=LATER)
    """How many days of it were measured."""

    @property
    def fills_fast(self) -> bool:
        """Whether it would be full within hours at the pace of the last minutes."""
        return 0 < self.free_gib <= self.pace_gib_per_hour * SURGE_HOURS

    @property
    def grows_soon(self) -> bool:
        """Whether some space must be added within a day, so that the reserve stays free for a day more."""
        missing = self.reserve_gib - self.lowest_gib + self.fill_gib_per_day
        known = not self.unclear and self.basis is not SpaceBasis.FILE_SYSTEM
        return known and (self.short or missing > 0)

    @property
    def unclear(self) -> bool:
        """Whether too little is known for growth, which cannot be undone."""
        return self.basis is SpaceBasis.UNCLEAR

    @property
    def low(self) -> bool:
        """Whether so little is free that the owner is notified even if the forecast is unclear."""
        return self.free_gib <= self.reserve_gib / 2

    @property
    def eased(self) -> bool:
        """Whether a notified shortage is clearly over."""
        plenty = self.lowest_gib >= EASED * self.reserve_gib
        known = self.basis not in (SpaceBasis.UNCLEAR, SpaceBasis.FILE_SYSTEM)
        return known and plenty and not self.short
