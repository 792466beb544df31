"""Closed loops: a fixed number of workers waits for the device and uses up any limit.

fio at 256 outstanding on gp3: doubling the limit doubled the service and left both Exceeded checks
at 1 (DevelopersIO, on VolumeIOPSExceededCheck). Its unmet demand is no reason to buy: no
minute is relieved below the natural rate of all workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median, pstdev

from headroom.domain.workload.demand_ratio import MAX_RATIO, MAX_VISIBLE_QUEUE, QUEUE_FULL
from headroom.domain.workload.pressure import Minute

ENOUGH = 3
"""Saturated minutes with the same queue that distinguish a closed loop from an open load."""
LATEST = 15
FLAT = 0.05
"""Spread of the queue over its mean below which it is flat: an open load's grows or drains."""
LEAST_QUEUE = 8.0
ONLY_GROWS = 0.8
"""Share of minutes with a growing queue from which it is a backlog and no closed loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """What was recognised: operations outstanding, and how often the limit they could use.

    `natural` is outstanding operations over unsaturated latency, as a multiple of what is served:
    an upper bound by Little's law, never a target.
    """

    outstanding: float
    natural: float


def closed_loop(free: Sequence[Minute], pressed: Sequence[Minute]) -> ClosedLoop | None:
    """The closed loop behind this pressure; None for a load that may be open, or too little data.

    A queue that the device cuts off may hide any backlog and proves nothing.
    """
    latest = [m for m in pressed if m.saturated and m.queue is not None and m.ops > 0][-LATEST:]
    queues = [m.queue for m in latest if m.queue is not None]
    if len(queues) < ENOUGH or min(queues) <= LEAST_QUEUE:
        return None
    outstanding = mean(queues)
    if outstanding >= QUEUE_FULL * MAX_VISIBLE_QUEUE or pstdev(queues) > FLAT * outstanding:
        return None
    if sum(b > a for a, b in pairwise(queues)) >= ONLY_GROWS * (len(queues) - 1):
        return None
    calm = [m.latency_ms for m in free if m.latency_ms and m.ops > 1]
    natural = MAX_RATIO
    if calm:
        natural = max(1.0, outstanding / (median(calm) / 1000) / latest[-1].ops)
    return ClosedLoop(outstanding=outstanding, natural=natural)
