"""Latency of operations, from queue length and rate by Little's law.

This saves the CloudWatch metrics that would otherwise be read and paid for.
"""

from __future__ import annotations

from collections.abc import Iterable

BUSY_IOPS = 10.0
"""With fewer operations a second one slow query makes the mean."""
_MS_PER_S = 1_000


def slowest_ms(minutes: Iterable[tuple[float | None, float | None, float | None]]) -> float | None:
    """Highest mean latency in ms of busy minutes of (read IOPS, write IOPS, queue); None of none."""
    found = (
        _MS_PER_S * queue / ((reads or 0.0) + (writes or 0.0))
        for reads, writes, queue in minutes
        if queue is not None and (reads or 0.0) + (writes or 0.0) >= BUSY_IOPS
    )
    return max(found, default=None)
