"""Load history: demand over the earlier days in CloudWatch, corrected by the limits of that time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from math import ceil

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES
from headroom.domain.resources import Observation, VolumeActivity
from headroom.domain.state import KnownModification, LimitHistory
from headroom.domain.workload.busy_periods import (
    BusyPeriod,
    burst_ratios,
    period_of,
    period_rows,
    restore_censored,
)

OPS_PER_MIB = MIB / SSD_IO_BYTES
SHARES = (0.25, 0.5, 0.75, 0.88, 0.94, 0.97, 0.985, 0.9925, 0.9965, 0.9985, 1.0)
ABOVE_ALL = (1.0, 1.25, 1.5, 2.0, 4.0)
"""Factors above the highest measured demand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHistory:
    """Periods from `start` on; `iops` and `mibps` are mean demand, 0 where unknown."""

    start: datetime
    period_s: int
    iops: Sequence[float]
    mibps: Sequence[float]
    busy: tuple[BusyPeriod, ...]
    measured: Sequence[bool]
    """Whether each period was measured; one that was not shows neither load nor idleness."""
    known: int
    """How many were measured."""
    most_iops: float
    most_mibps: float
    clear_days: tuple[tuple[float, float, float], ...]
    """(IOPS limit, MiB/s limit, days that ran under them without touching either)."""

    checked: int | None = None
    """Of those, periods in which an Exceeded check was published; None where none ever was."""

    @property
    def informative_days(self) -> float:
        """Days that also show bursts: those with checks, where the volume has any.

        Checks are published under the pair of instance and volume: those of an instance that was
        replaced are not read.
        """
        return (self.known if self.checked is None else self.checked) * self.period_s / 86_400

    @property
    def days(self) -> float:
        """Days that were measured."""
        return self.known * self.period_s / 86_400


NOTHING = LoadHistory(
    start=datetime.min.replace(tzinfo=UTC), period_s=300, iops=(), mibps=(), busy=(), measured=(),
    known=0, most_iops=0.0, most_mibps=0.0, clear_days=(),
)  # fmt: skip


def load_history(
    observation: Observation,
    modifications: Sequence[KnownModification],
    *,
    least_iops: float,
    least_mibps: float,
) -> LoadHistory:
    """The load history of `observation`; periods below `least_iops` and `least_mibps` are not busy.

    `modifications` say which limits were in force when; before the first, its origin's.
    """
    history = observation.history
    if history is None:
        return NOTHING
    limits = LimitHistory(observation, modifications)
    iops, mibps = load_rates(history)
    rows = restore_censored(
        period_rows(history, limits, iops, mibps, least=(least_iops, least_mibps)), len(iops)
    )
    by_iops, by_mibps = burst_ratios(rows)
    periods = [period_of(row, by_iops, by_mibps) for row in rows]
    for row in rows:
        iops[row.place], mibps[row.place] = row.iops, row.mibps
    measured = measured_periods(history)
    pressed = {row.place for row in rows if row.pressed > 0}
    most_iops, most_mibps = max(iops, default=0.0), max(mibps, default=0.0)
    return LoadHistory(
        start=history.read_iops.start, period_s=history.read_iops.period_s, iops=iops, mibps=mibps,
        busy=tuple(
            p for p in periods
            if p.peak_iops > least_iops or p.peak_mibps > least_mibps or p.pressed_minutes > 0
        ),
        measured=measured,
        known=sum(measured),
        checked=_checked(history),
        most_iops=max((p.peak_iops for p in periods), default=most_iops),
        most_mibps=max((p.peak_mibps for p in periods), default=most_mibps),
        clear_days=limits.clear_days(history, pressed),
    )  # fmt: skip


def measured_periods(history: VolumeActivity) -> tuple[bool, ...]:
    """Whether each period was measured."""
    return tuple(
        r is not None or w is not None
        for r, w in zip(history.read_iops.values, history.write_iops.values, strict=True)
    )


def _checked(history: VolumeActivity) -> int | None:
    checks = zip(history.iops_exceeded.values, history.throughput_exceeded.values, strict=True)
    return sum(i is not None or t is not None for i, t in checks) or None


def load_rates(history: VolumeActivity) -> tuple[list[float], list[float]]:
    """Means of each period in SSD operations/s and MiB/s, 0 where nothing is known."""
    mibps = [
        (r or 0.0) + (w or 0.0)
        for r, w in zip(history.read_mibps.values, history.write_mibps.values, strict=True)
    ]
    iops = [
        max((r or 0.0) + (w or 0.0), m * OPS_PER_MIB)
        for r, w, m in zip(history.read_iops.values, history.write_iops.values, mibps, strict=True)
    ]
    return iops, mibps


def demand_levels(
    load_history: LoadHistory, usd: Callable[[float, float], float]
) -> tuple[tuple[float, float], ...]:
    """IOPS and MiB/s that would have been enough for increasing shares of the busy periods.

    From zero to more than was ever measured; `usd` orders levels by price.
    """
    found = {(0.0, 0.0)}
    ordered = sorted(
        (usd(p.peak_iops, p.peak_mibps), p.peak_iops, p.peak_mibps) for p in load_history.busy
    )
    if ordered:
        iops = list(accumulate((i for _, i, _ in ordered), max))
        mibps = list(accumulate((m for _, _, m in ordered), max))
        for share in SHARES:
            place = max(0, ceil(share * len(ordered)) - 1)
            found.add((iops[place], mibps[place]))
    for factor in ABOVE_ALL:
        found.add((load_history.most_iops * factor, load_history.most_mibps))
        found.add((load_history.most_iops, load_history.most_mibps * factor))
        found.add((load_history.most_iops * factor, load_history.most_mibps * factor))
    return tuple(sorted(found))
