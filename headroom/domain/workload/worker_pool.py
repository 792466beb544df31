"""A fixed number of workers that wait for the device: any limit is used up, no natural demand.

fio at 256 outstanding on gp3: doubling the limit doubled the service and left both Exceeded checks
at 1 (DevelopersIO, on VolumeIOPSExceededCheck). What more it would take is no reason to buy: no
minute of it is relieved short of all the workers could do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, median, pstdev

from headroom.domain.workload.demand_ratio import MAX_RATIO, MAX_VISIBLE_QUEUE, QUEUE_FULL
from headroom.domain.workload.pressure import Minute

ENOUGH = 3
"""Saturated minutes with one and the same queue that tell a loop from a load."""
LATEST = 15
FLAT = 0.05
"""Spread of the queue over its mean below which it is flat: an open load's grows or drains."""
LEAST_QUEUE = 8.0
ONLY_GROWS = 0.8
"""Share of minutes with a longer queue than the one before that tells a backlog from a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedLoop:
    """What was recognised: operations outstanding, and how often the limit they could use.

    `natural` is outstanding operations over unsaturated latency, as a multiple of what is served:
    an upper bound by Little's law, never a target.
    """

    outstanding: float
    natural: float


def closed_loop(free: Sequence[Minute], pressed: Sequence[Minute]) -> ClosedLoop | None:
    """The loop behind this pressure; None for a load that may be open, or too little to tell.

    A queue that the device cuts off may hide any backlog and tells nothing.
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
