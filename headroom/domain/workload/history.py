"""Load by the period, as CloudWatch measured it, and the levels of demand of the past."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from math import ceil

from headroom.domain.catalog.ebs import MIB, SSD_IO_BYTES
from headroom.domain.resources import VolumeActivity
from headroom.domain.workload.past import Past

OPS_PER_MIB = MIB / SSD_IO_BYTES
SHARES = (0.25, 0.5, 0.75, 0.88, 0.94, 0.97, 0.985, 0.9925, 0.9965, 0.9985, 1.0)
ABOVE_ALL = (1.0, 1.25, 1.5, 2.0, 4.0)
"""Factors above the highest measured demand."""


def measured_periods(history: VolumeActivity) -> tuple[bool, ...]:
    """Whether each period was measured."""
    return tuple(
        r is not None or w is not None
        for r, w in zip(history.read_iops.values, history.write_iops.values, strict=True)
    )


def checked_days(history: VolumeActivity) -> float | None:
    """Days in which an Exceeded check was published; None where none ever was.

    Checks are published under the pair of instance and volume: days on another instance do not show
    bursts inside a minute.
    """
    checks = zip(history.iops_exceeded.values, history.throughput_exceeded.values, strict=True)
    unchecked = [mibps for iops, mibps in checks if iops is None].count(None)
    found = len(history.iops_exceeded.values) - unchecked
    return found * history.read_iops.period_s / 86_400 if found else None


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
    past: Past, usd: Callable[[float, float], float]
) -> tuple[tuple[float, float], ...]:
    """IOPS and MiB/s that would have been enough for increasing shares of the busy hours.

    From zero to more than was ever measured; `usd` orders levels by price.
    """
    found = {(0.0, 0.0)}
    most_iops, most_mibps = past.most_iops, past.most_mibps
    hours, numbers = past.numbered
    wanted = [
        (max(hour.peak_iops, hour.limit_iops), max(hour.peak_mibps, hour.limit_mibps))
        for hour in hours
    ]
    times = Counter(numbers.values())
    by_price = sorted((usd(*rates), *rates, times[number]) for number, rates in enumerate(wanted))
    ordered = [rates for rates in by_price for _ in range(rates[-1])]
    if ordered:
        iops = list(accumulate((i for _, i, _, _ in ordered), max))
        mibps = list(accumulate((m for _, _, m, _ in ordered), max))
        most_iops, most_mibps = max(most_iops, iops[-1]), max(most_mibps, mibps[-1])
        for share in SHARES:
            place = max(0, ceil(share * len(ordered)) - 1)
            found.add((iops[place], mibps[place]))
    for factor in ABOVE_ALL:
        found.add((most_iops * factor, most_mibps))
        found.add((most_iops, most_mibps * factor))
        found.add((most_iops * factor, most_mibps * factor))
    return tuple(sorted(found))
