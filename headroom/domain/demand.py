"""What a workload wants, how sure we are, and what binds it. Values only; see estimate.py."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Shape(StrEnum):
    """What kind of load was seen."""

    IDLE = "idle"
    UNCONSTRAINED = "unconstrained"
    """Served load is demand: no limit was touched."""
    CENSORED = "censored"
    """Served load touched a limit; demand is at least that."""
    CLOSED_LOOP = "closed_loop"
    """A fixed number of workers waits for the device: any limit is used up, no natural demand."""
    UNKNOWN = "unknown"
    """Not enough data to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A rate: `floor` was served, `likely` is the best guess, `upper` a bound (never a target)."""

    floor: float
    likely: float
    upper: float
    censored: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditForecast:
    """The bucket run forward. `empty_at` is None when it does not run out within the horizon."""

    balance_percent: float
    drain_per_s: float
    """Credits lost per second under the present load; negative while it fills."""
    empty_at: datetime | None
    basis: str
    """`present_slope`, `earlier_days`, or `empty_now`."""
    starved_minutes: float
    """Minutes expected below the need once credits are gone, over the next 24 h."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What the workload wants of the volume: EBS operations/s and MiB/s."""

    iops: Estimate
    mibps: Estimate
    shape: Shape
    tail: float
    """How heavy the tail above `likely` is: P(wanted > r x floor) = r ** -tail; 0 when certain."""
    iops_share: float = 1.0
    """Share of the starved minutes that IOPS held back, the rest was held back by MiB/s."""
    confidence: float
    """0 to 1: share of the window's minutes that had data, lowered by censoring."""
    known_minutes: int
    pressed_minutes: int
    """Minutes of the current episode in which a volume limit bound."""
    expected_starved_minutes: float
    """Minutes expected to starve in the next 24 h if nothing changes."""
    credits: CreditForecast | None
    peak_iops: float
    """Highest period measured, of the last hours and of earlier days."""
    peak_mibps: float
    clear_minutes: int
    """Most recent consecutive known minutes without pressure."""


class Binding(StrEnum):
    """The limit that binds."""

    VOLUME_IOPS = "volume_iops"
    VOLUME_THROUGHPUT = "volume_throughput"
    BURST_CREDITS = "burst_credits"
    INSTANCE_IOPS = "instance_iops"
    INSTANCE_THROUGHPUT = "instance_throughput"
    NOTHING = "nothing"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Which limit binds, with the numbers it was told from."""

    binding: Binding
    volume_iops_limit: float
    volume_mibps_limit: float
    instance_iops_left: float | None
    """Sustained IOPS the instance can still give this volume; None when unknown."""
    instance_mibps_left: float | None
    explanation: str
