"""Pools: workers that wait for the device, think, and ask again, so that they use what they get.

A connection pool slows down where an open load queues up: half a relief is worth half to it. fio at
256 outstanding on gp3: doubling the limit doubled the service and left both Exceeded checks at 1
(DevelopersIO, on VolumeIOPSExceededCheck). How much it would take without any limit is bounded by
Little's law: its operations outstanding over the latency of a calm minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from statistics import mean, median

from headroom.domain.workload.demand import Minute
from headroom.domain.workload.demand_ratio import MAX_VISIBLE_QUEUE, QUEUE_FULL

LATEST = 15
"""Saturated minutes that are examined."""
LEAST_MINUTES = 2
"""Saturated minutes that are needed: an open load that just exceeds the limit fills a queue within one."""
LEAST_QUEUE = 4.0
"""With fewer operations waiting, a pool cannot be distinguished from a load that just fits."""
NOISE = 0.15
"""Rise of a pool's queue, as a share of it, that measurement alone explains."""
OPEN_RISE = 3.0
"""Rise up to which an open load's queue may have grown, every rise as likely as another."""
UNCUT = 4.0
"""Odds for a pool by a saturated minute whose queue the device did not cut off: an open load would
have to exceed the limit by less than two percent not to fill it within the minute."""
MOST_UNCUT = 3
CALM_S = 0.001
"""Latency of an SSD volume at rest where no calm minute was measured."""
MOST_OVER = 64.0
"""Most that a pool is believed to take over what it got."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The pool that may be behind this pressure."""

    probability: float
    """That the load is a pool and not open, 0 to 1."""
    outstanding: float
    """Operations outstanding, the mean of the latest saturated minutes."""
    natural: float
    """Its rate without any limit over the rate it got: an upper bound, never a target."""


def worker_pool(free: Sequence[Minute], pressed: Sequence[Minute]) -> Pool | None:
    """The pool behind this pressure and how likely it is one; None where that is unclear.

    A queue that the device cuts off may hide any backlog and is no evidence of a pool.
    """
    latest = [m for m in pressed if m.saturated and m.queue is not None and m.ops > 0][-LATEST:]
    queues = [m.queue for m in latest if m.queue is not None]
    if len(queues) < LEAST_MINUTES:
        return None
    outstanding = mean(queues)
    if outstanding < LEAST_QUEUE or max(queues) >= QUEUE_FULL * MAX_VISIBLE_QUEUE:
        return None
    odds = UNCUT ** min(MOST_UNCUT, len(queues))
    part = len(queues) // 3
    if part:
        rise = (mean(queues[-part:]) - mean(queues[:part])) / outstanding
        odds *= exp(-((rise / NOISE) ** 2) / 2) * OPEN_RISE
    calm = [m.latency_ms for m in free if m.latency_ms and m.ops > 1]
    calm_s = median(calm) / 1000 if calm else CALM_S
    natural = max(1.0, outstanding / calm_s / latest[-1].ops)
    return Pool(
        probability=round(odds / (1 + odds), 4), outstanding=outstanding,
        natural=min(MOST_OVER, natural),
    )  # fmt: skip
