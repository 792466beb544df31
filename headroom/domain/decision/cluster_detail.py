"""What a decision about an Aurora cluster has in addition to other decisions: days, and both bills."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from statistics import mean

from headroom.domain.catalog.aurora import HOURS_PER_MONTH, Bills
from headroom.domain.resources import AuroraCluster, Goal, StorageMode
from headroom.domain.workload import AuroraDemand

MONTH_DAYS = 30
"""Days of a month of the longer past."""
CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledIoDay:
    """The billed I/O of one whole UTC day, and the storage mode it was measured under."""

    start: datetime
    mode: StorageMode
    ios: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSwitch:
    """Our own change that is in force, with its forecast: USD a month before and after."""

    decision_id: str
    at: datetime
    origin: StorageMode
    target: StorageMode
    before_usd: Decimal
    forecast_usd: Decimal
    checked: bool = False
    """Whether the bill of the days after it was compared with the forecast."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillCheck:
    """The bill of the whole days since a switch beside the forecast; USD a month."""

    switch: ModeSwitch
    days: int
    actual_usd: Decimal
    counterfactual_usd: Decimal | None
    """What these days would have cost in the earlier mode; None where their I/O is not published."""

    @property
    def deviation_percent(self) -> float:
        """How far above the forecast the bill is, in percent of it; below where negative."""
        forecast = self.switch.forecast_usd
        return float(100 * (self.actual_usd - forecast) / forecast) if forecast else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDetail:
    """The cluster that was decided about. `bills` is the month in both modes, None where unknown.

    A stored one outlives the release that wrote it: every field added here needs a default.
    """

    cluster: AuroraCluster
    goal: Goal
    demand: AuroraDemand
    bills: Bills | None
    owner_note: str = ""
    """What the owner should know about a decision not to act; empty for nothing."""
    earlier_days: tuple[BilledIoDay, ...] = ()
    """Days under the other mode, recorded before it was left."""
    check: BillCheck | None = None

    def by_longer_past(self, usd: Decimal) -> tuple[int, Decimal] | None:
        """What leaving the mode changes a month by the whole months of the longer past: their days, and USD.

        `usd` is the same by the bills' days. After the busy days of a month it says too much. None where no whole
        month is known, or where it comes to as much or more, or to the opposite: then the load has a new level.
        """
        past, both = self.demand.past_ios, self.bills
        days = len(past) // MONTH_DAYS * MONTH_DAYS
        if both is None or not days or both.break_even_ios <= 0:
            return None
        more = both.io_optimized.total_usd - (both.standard.total_usd - both.standard.io_usd)
        ios = mean(past[-days:]) * HOURS_PER_MONTH / 24
        change = more * (1 - Decimal(repr(ios / both.break_even_ios)))
        if self.cluster.mode is StorageMode.IO_OPTIMIZED:
            change = -change
        change = change.quantize(CENT)
        return (days, change) if change * usd > 0 and abs(change) < abs(usd) else None
