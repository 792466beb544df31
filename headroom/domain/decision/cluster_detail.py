"""What a decision about an Aurora cluster has beside what all decisions have: days, and both bills."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headroom.domain.catalog.aurora import Bills
from headroom.domain.resources import AuroraCluster, Goal, StorageMode
from headroom.domain.workload import AuroraDemand


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledIoDay:
    """The billed I/O of one whole UTC day, and the mode it was measured under: history of our own."""

    start: datetime
    mode: StorageMode
    ios: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSwitch:
    """A change of ours that is in force, as it was foreseen: USD a month before and after."""

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
    """The bill of the whole days since a switch beside what was foreseen; USD a month."""

    switch: ModeSwitch
    days: int
    actual_usd: Decimal
    counterfactual_usd: Decimal | None
    """What these days would have cost in the mode before; None where their I/O is not published."""

    @property
    def deviation_percent(self) -> float:
        """How far above the forecast the bill is, in percent of it; below where negative."""
        forecast = self.switch.forecast_usd
        return float(100 * (self.actual_usd - forecast) / forecast) if forecast else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDetail:
    """A cluster as it was decided about. `bills` is the month on both sides, None where unknown.

    A stored one outlives the release that wrote it: every field added here needs a default.
    """

    cluster: AuroraCluster
    goal: Goal
    demand: AuroraDemand
    bills: Bills | None
    told: str = ""
    """What the owner must hear of a decision not to act; empty where nothing."""
    noted: tuple[BilledIoDay, ...] = ()
    """Days under the other mode that were noted before it was left."""
    check: BillCheck | None = None
