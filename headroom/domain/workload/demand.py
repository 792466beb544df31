"""Demand of a workload, its confidence, the limit that binds, and the forecast. Values only; see estimate.py and forecast.py."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import accumulate
from typing import NamedTuple

from headroom.domain.resources import LATER
from headroom.domain.state import Promised


class LoadShape(StrEnum):
    """Kinds of load."""

    IDLE = "idle"
    UNCONSTRAINED = "unconstrained"
    """Served load is demand: no limit was touched."""
    CENSORED = "censored"
    """Served load touched a limit; demand is at least that."""
    CLOSED_LOOP = "closed_loop"
    """A pool: a number of workers waits for the device, and takes what it gives."""
    UNKNOWN = "unknown"
    """Not enough data to say."""


AT_LIMIT = 0.97
"""Share of a limit that counts as touching it where AWS publishes no Exceeded check."""
INSIDE = 0.15
"""What a minute in which only a burst touched a limit counts for, as a shortfall.

Nearly all of it is served by its end: the shortfall of such minutes is 0 to 0.03 in loads recorded
every 15 seconds. What is above that is for operations that were slow meanwhile.
"""
INSIDE_FALLS = 3.0
"""How much faster that falls with a higher limit than the chance of demand above it: of a burst that is
served sooner, less is left by the minute's end. Measured at r times the limit: r ** -3.5 to r ** -6."""
CATCHES_UP = 0.5
"""What serving more of a load that queues up is worth, next to serving all of it."""
SPREAD = 0.1
"""Relative uncertainty of the rate that evidence indicates."""


class Minute(NamedTuple):
    """One measured minute: EBS operations/s, MiB/s, queue, and whether a volume limit bound."""

    at: datetime
    iops: float
    """EBS operations/s as this volume counts them: per 256 KiB on SSD, per 1 MiB on HDD."""
    mibps: float
    queue: float | None
    latency_ms: float | None
    iops_pressed: bool
    mibps_pressed: bool
    iops_limit: float
    """The limit in force; while a change lands, the lowest that is consistent with the served load."""
    mibps_limit: float
    checked: bool
    """Whether AWS published an Exceeded check for this minute."""
    ops: float = 0.0
    """Operations/s as CloudWatch counts them, before EBS splits or merges any."""
    ssd_iops: float = 0.0
    """EBS operations/s as an SSD volume would count them."""
    iops_reached: bool = False
    """Whether the check itself says that the IOPS limit was reached, whatever the average."""
    mibps_reached: bool = False
    bytes_known: bool = True
    whole: bool = True
    """Whether reads and writes were both published, each with its bytes."""

    @property
    def pressed(self) -> bool:
        """Whether any limit of the volume bound."""
        return self.iops_pressed or self.mibps_pressed

    @property
    def saturated(self) -> bool:
        """Whether a limit was used up for the whole minute, not only in a burst."""
        return (self.iops_pressed or self.mibps_pressed) and (
            self.iops >= AT_LIMIT * self.iops_limit or self.mibps >= AT_LIMIT * self.mibps_limit
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A rate: `floor` was served, `likely` is the best guess, `upper` a bound (never a target)."""

    floor: float
    likely: float
    upper: float
    censored: bool
    least: float = 0.0
    """Lowest rate consistent with all evidence, at least `floor`; 0 in records of before."""
    indicated: float = 0.0
    """The rate that evidence indicates (queue growth, earlier days); 0 without evidence."""
    weight: float = 0.0
    """Confidence in that evidence, 0 to 1."""

    def probability_within(self, rate: float, tail: float) -> float:
        """Probability that demand is at most `rate`; never falls as `rate` rises.

        It mixes the evidence and the Pareto tail of censored load by `weight`; demand is never
        above `upper`.
        """
        if rate < self.floor * (1 - 1e-9):
            return 0.0
        if tail == 0 or rate >= self.upper * (1 - 1e-9):
            return 1.0
        unseen = 1 - math.pow(max(1.0, rate / self.floor), -tail)
        if not self.weight:
            return unseen
        off = (rate / self.indicated - 1 + SPREAD) / (2 * SPREAD)
        return self.weight * min(1.0, max(0.0, off)) + (1 - self.weight) * unseen

    def lost_share(self, rate: float, tail: float) -> float:
        """Share of its free rate that a pool is expected to lose at `rate`, 0 to 1.

        Its free rate is what was served where that was free, else any rate from there to `upper`,
        every multiple as likely as another.
        """
        if not self.floor or rate <= 0:
            return 1.0 if self.floor else 0.0
        if tail == 0 or self.upper <= self.floor * (1 + 1e-9):
            return max(0.0, 1 - rate / self.floor)
        if rate >= self.upper:
            return 0.0
        begin = max(rate, self.floor)
        spread = math.log(self.upper / self.floor)
        return (math.log(self.upper / begin) - rate * (1 / begin - 1 / self.upper)) / spread


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditForecast:
    """The forecast of burst credits. `empty_at` is None if they do not run out within the horizon."""

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
    """The demand of a workload: EBS operations/s and MiB/s.

    Operations are counted as SSD types count them (256 KiB), because all plans lead to those.
    """

    iops: Estimate
    mibps: Estimate
    shape: LoadShape
    tail: float
    """How heavy the tail above `likely` is: P(demand > r x floor) = r ** -tail; 0 when certain."""
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
    backlog_ops: float = 0.0
    """EBS operations that likely wait, most of them unseen by the device; 0 where none is known.

    They are served before pressure ends: a target just above `likely` takes long to relieve.
    """
    basis: str = ""
    """The evidence beside the served load; empty for the typical excess alone."""

    pool: float = 0.0
    """Probability that the load is a pool: workers that wait for the device, and get what it gives."""
    io_mib: tuple[float, ...] = ()
    """Mean MiB per operation of the minutes that IOPS held back, and of those that MiB/s did."""

    saturated_share: float = 1.0
    """Share of the pressed minutes that used a limit up; the rest touched it in a burst inside."""

    def useful_rate(self, iops: float, mibps: float) -> tuple[float, ...]:
        """Operations/s of this load that IOPS and MiB/s let through, for each of its I/O sizes.

        Without a known size the IOPS alone.
        """
        return tuple(min(iops, mibps / size) if size else iops for size in self.io_mib or (0.0,))

    def expected_shortfall(
        self, *, iops: float, mibps: float, touched: tuple[float, float] | None = None
    ) -> float:
        """Share of the present load that is expected to come late at these sustained rates, 0 to 1.

        `touched` are the IOPS and MiB/s that its bursts touched; without, those asked for.
        Above what is served an open load queues up and soon all of it is late, but the more is
        served the sooner it catches up; a pool only loses the share that it is slowed down by. So
        half a relief is worth something to both.
        """
        if not self.iops.floor and not self.mibps.floor:
            return 0.0
        queued = 1.0 - self.probability_within(iops=iops, mibps=mibps)
        slowed = max(self.iops.lost_share(iops, self.tail), self.mibps.lost_share(mibps, self.tail))
        late = queued - CATCHES_UP * max(0.0, queued - slowed)
        share = self.pool * slowed + (1.0 - self.pool) * late
        inside = INSIDE * self._left_of_bursts(iops, mibps, touched or (iops, mibps))
        return share * (self.saturated_share + inside * (1.0 - self.saturated_share))

    def _left_of_bursts(self, iops: float, mibps: float, touched: tuple[float, float]) -> float:
        """What bursts that touched limits leave by the minute's end, as a share of what they left there."""
        by_iops, by_mibps = min(1.0, touched[0] / iops), min(1.0, touched[1] / mibps)
        share = self.iops_share
        return float(share * by_iops**INSIDE_FALLS + (1.0 - share) * by_mibps**INSIDE_FALLS)

    def probability_within(self, *, iops: float, mibps: float) -> float:
        """Probability that a starved minute would not starve with these sustained rates.

        Minutes short of IOPS and minutes short of MiB/s are weighted by their share.
        """
        by_iops = self.iops.probability_within(iops, self.tail)
        by_mibps = self.mibps.probability_within(mibps, self.tail)
        if self.iops_share in (0.0, 1.0):
            return min(by_iops, by_mibps)
        return self.iops_share * by_iops + (1 - self.iops_share) * by_mibps


class Binding(StrEnum):
    """The limit that binds."""

    VOLUME_IOPS = "volume_iops"
    VOLUME_THROUGHPUT = "volume_throughput"
    BURST_CREDITS = "burst_credits"
    INSTANCE_IOPS = "instance_iops"
    INSTANCE_THROUGHPUT = "instance_throughput"
    STORAGE_MODE = "storage_mode"
    """For an Aurora cluster: the storage mode determines its bill."""
    LATENCY = "latency"
    """Operations are slow below every limit."""
    NOTHING = "nothing"
    UNKNOWN = "unknown"


ON_INSTANCE = (Binding.INSTANCE_IOPS, Binding.INSTANCE_THROUGHPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceForecast:
    """The forecast of the instance's EBS balance that runs out first."""

    binding: Binding
    """INSTANCE_IOPS (EBSIOBalance%) or INSTANCE_THROUGHPUT (EBSByteBalance%)."""
    balance_percent: float
    drain_percent_per_min: float
    draining_minutes: float
    """How long it has fallen without a rise."""
    empty_at: datetime
    basis: str
    """`present_slope`, `earlier_days`, or `empty_now`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The limit that binds, with the numbers it follows from."""

    binding: Binding
    volume_iops_limit: float
    volume_mibps_limit: float
    instance_iops_left: float | None
    """IOPS the instance can still give this volume, sustained or in its bursts; None when unknown."""
    instance_mibps_left: float | None
    explanation: str
    slower_than_objective: bool = False
    """Whether operations are slower than the owner's objective although no limit was touched."""
    instance_balance: BalanceForecast | None = None
    """None if it does not fall, is not published, or was not read."""
    promised: Promised | None = field(default=None, metadata=LATER)
    """What raises of the instance's other volumes may still take; left out of the above where that allows a useful raise."""
    measured_left: tuple[float, float] | None = field(default=None, metadata=LATER)
    """IOPS and MiB/s that are left before that; None where nothing is promised."""


class Level(NamedTuple):
    """What a configuration sustains, and its price in USD per hour."""

    iops: float
    mibps: float
    usd_per_hour: float
    unproven: float = 0.0
    """Chance that new load exceeds it where the owner chose more than it sustains: what an owner
    bought is evidence of load that uses some of it. 0 where it sustains no less."""
    reach: tuple[float, float] | None = None
    """IOPS and MiB/s that one change leads to from here; None for any."""
    ceiling: tuple[float, float] | None = None
    """What two changes lead to, the second once the first has completed; None for any."""
    own: tuple[float, float] | None = None
    """What the storage sustains by itself, where the instance sustains less of it; None for all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Expected shortfall in minutes by hour from now and by level; `[hour][level]`.

    `reacting_minutes` while a raise can follow at once, `locked_minutes` while none can;
    `reaction_usd` is what such raises would cost; `seen_minutes` excludes load that was never
    measured so far.
    """

    reacting_minutes: tuple[tuple[float, ...], ...]
    locked_minutes: tuple[tuple[float, ...], ...]
    reaction_usd: tuple[tuple[float, ...], ...]
    seen_minutes: tuple[float, ...]
    """Minutes over all hours, by level, from measured or present load."""
    new_minutes: float = 0.0
    """Minutes an hour at the first level, the present one, from load that was never measured so far."""
    locked_drained: tuple[tuple[float, ...], ...] = ()
    reacting_drained: tuple[tuple[float, ...], ...] = ()
    """Shortfall after the load of an hour, while what waits is drained; without a raise, and with one."""
    rest_minutes: tuple[float, ...] = ()
    """What the rest of the hour before them brings while no raise can follow, by level."""
    without_present: Forecast | None = None
    """The same if the present load ended now; None where it changes nothing."""
    basis: str = ""
    """The rhythms that are believed, the likeliest first."""

    def pays(self, relieved_usd: float, usd_per_hour: float, least_hours: float) -> bool:
        """Whether a raise is worth its price until some hour of the day, of `least_hours` at least.

        `relieved_usd` is what it relieves in the whole day, in the hours in which the first level falls short.
        """
        short = list(accumulate(hour[0] for hour in self.locked_minutes))
        return short[-1] > 0 and any(
            relieved_usd * so_far / short[-1] > usd_per_hour * max(hour, least_hours)
            for hour, so_far in enumerate(short, start=1)
        )

    def relieved_afterwards(self, level: int) -> float:
        """Minutes a day that a level relieves, with those after load that it does not serve whole either."""
        seen = self.seen_minutes[0] - self.seen_minutes[level]
        if self.seen_minutes[level] <= self.seen_minutes[0] / 2:
            return seen
        return seen + sum(hour[0] - hour[level] for hour in self.locked_drained)
