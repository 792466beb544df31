"""Latency of operations, from queue length and rate by Little's law.

This saves the CloudWatch metrics that would otherwise be read and paid for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from headroom.domain.workload.pressure import LEAST_CALM, LEAST_SLOW_MS, SLOW, Minute

BUSY_IOPS = 10.0
"""With fewer operations a second one slow query makes the mean."""
_MS_PER_S = 1_000
LATELY = timedelta(minutes=30)
FAR_BELOW = 0.25
"""Share of the limits below which slow operations have another cause than the load."""
LARGER_IO = 2.0
"""Operations this many times as large take longer by themselves."""


def slowest_ms(minutes: Iterable[tuple[float | None, float | None, float | None]]) -> float | None:
    """Highest mean latency in ms of busy minutes of (read IOPS, write IOPS, queue); None of none."""
    found = (
        _MS_PER_S * queue / ((reads or 0.0) + (writes or 0.0))
        for reads, writes, queue in minutes
        if queue is not None and (reads or 0.0) + (writes or 0.0) >= BUSY_IOPS
    )
    return max(found, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowBelowLimits:
    """Slow minutes in which no limit was touched."""

    minutes: int
    latency_ms: float
    """Their median latency."""
    calm_ms: float
    """The resource's own latency of earlier, calm minutes; the objective where the owner set one."""
    share: float
    """The most of any limit that they used, 0 to 1."""


def slow_below_limits(
    seen: Sequence[Minute], now: datetime, *, objective_ms: float | None
) -> SlowBelowLimits | None:
    """The slow minutes of the last half hour if they are most of it; None otherwise.

    Slow is above the owner's objective, else far above the resource's own latency of the hours
    before. With fewer operations a second than BUSY_IOPS one slow query makes the mean.
    """
    busy = [
        m
        for m in seen
        if m.latency_ms is not None
        and m.ops >= BUSY_IOPS
        and not (m.iops_pressed or m.mibps_pressed)
    ]
    since = now - LATELY
    before = sorted(m.latency_ms or 0.0 for m in busy if m.at < since)
    if objective_ms is None and len(before) < LEAST_CALM:
        return None
    calm_ms = before[len(before) // 2] if before else 0.0
    slow_ms = max(LEAST_SLOW_MS, SLOW * calm_ms) if objective_ms is None else objective_ms
    lately = [m for m in busy if m.at >= since]
    slow = [m for m in lately if (m.latency_ms or 0.0) > slow_ms]
    if len(slow) < LEAST_CALM or 2 * len(slow) < len(lately):
        return None
    share = max(max(m.iops / m.iops_limit, m.mibps / m.mibps_limit) for m in slow)
    sizes = [m.mibps / m.ops for m in slow], [m.mibps / m.ops for m in busy if m.at < since]
    large = sizes[1] and median(sizes[0]) > LARGER_IO * median(sizes[1])
    if objective_ms is None and (share >= FAR_BELOW or large):
        return None  # a batch with large or many operations takes its time
    return SlowBelowLimits(
        minutes=len(slow),
        latency_ms=median(m.latency_ms or 0.0 for m in slow),
        calm_ms=calm_ms if objective_ms is None else objective_ms,
        share=share,
    )
