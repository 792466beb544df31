"""What in a glance deserves a reconciliation. Thresholds wake the engine; they never decide."""

from __future__ import annotations

from enum import StrEnum

from headroom.domain.catalog.ebs import MIB, capability
from headroom.domain.detection.glance import Glance
from headroom.domain.resources import Configuration
from headroom.domain.workload import AT_LIMIT

SUSPECT_BALANCE_PERCENT = 90.0
SUSPECT_QUEUE = 32.0
SUSPECT_LATENCY_MS = 50.0
"""SSD storage answers within milliseconds; far above that, operations wait for something."""
FAST_S = 0.0005
"""The shortest time that SSD storage takes for an operation: at its limit, a volume that is served so
fast has this many seconds times its IOPS outstanding."""
LARGE_MIB = 0.25
LARGE_S = 0.0007
"""The same of operations of 256 KiB, the largest that EBS counts as one."""
LEAST_STIR = 0.25


class Trouble(StrEnum):
    """Why a resource deserves a reconciliation."""

    IOPS = "iops"
    THROUGHPUT = "throughput"
    CREDITS = "credits"
    QUEUE = "queue"
    LATENCY = "latency"
    SPACE = "space"


def troubles_of(configuration: Configuration, glance: Glance | None) -> frozenset[Trouble]:
    """What is wrong by one glance alone; nothing where nothing was published."""
    if glance is None:
        return frozenset()
    can, balance = capability(configuration), glance.lowest_burst_balance_percent
    iops = (glance.iops_exceeded_minutes or 0) >= 1
    throughput = (glance.throughput_exceeded_minutes or 0) >= 1
    queue = glance.longest_queue
    found = {
        Trouble.IOPS: iops or (glance.peak_iops or 0.0) >= AT_LIMIT * can.burst_iops,
        Trouble.THROUGHPUT: throughput or (glance.peak_mibps or 0.0) >= AT_LIMIT * can.burst_mibps,
        Trouble.CREDITS: balance is not None and balance < SUSPECT_BALANCE_PERCENT,
        Trouble.LATENCY: (glance.slowest_ms or 0.0) >= SUSPECT_LATENCY_MS,
        Trouble.QUEUE: queue is not None
        and queue >= max(SUSPECT_QUEUE, 4 * outstanding_at_limit(configuration)),
    }
    return frozenset(trouble for trouble, there in found.items() if there)


def outstanding_at_limit(configuration: Configuration) -> float:
    """Outstanding operations of a volume at its limit: AWS advises one per 1,000 IOPS."""
    return max(1.0, capability(configuration).sustained_iops / 1_000)


def stirs_at(configuration: Configuration) -> float:
    """The queue below which no limit of the storage can have been reached for a whole minute.

    By Little's law, at what the storage delivers at most and the shortest time it takes.
    """
    can = capability(configuration)
    at_limit = min(can.sustained_iops * FAST_S, can.sustained_mibps / LARGE_MIB * LARGE_S)
    return max(LEAST_STIR, at_limit)


def credits_cover(configuration: Configuration) -> bool:
    """Whether every limit that the storage can reach spends credits, so that the balance shows it."""
    can = capability(configuration)
    if can.mib_credits:
        return can.burst_mibps > can.sustained_mibps
    if not can.iops_credits or can.burst_iops <= can.sustained_iops:
        return False
    return can.sustained_iops * can.io_bytes / MIB < can.burst_mibps
