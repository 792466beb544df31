"""How long operations took, told from the queue and their number by Little's law.

As many wait at a time as come in the time that one takes: what queue and operations tell need not
be asked of CloudWatch, and paid for, again.
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
