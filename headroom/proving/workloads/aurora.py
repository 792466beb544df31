"""Billed I/O of an Aurora cluster, five minutes at a time: steady, or as a trace recorded it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from headroom.domain.catalog.aurora import HOURS_PER_MONTH, MILLION
from headroom.proving.workloads.workload import Workload

PERIOD = timedelta(minutes=5)
PERIODS_PER_HOUR = 12
READ_SHARE = 0.5
"""Default share of reads: the bill does not separate them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraLoad:
    """What a cluster is asked for. Exactly one of `steady_ios` (billed I/O per five minutes) and `trace`.

    Operations of a trace count as billed I/O, from its own start on; what it did not measure is unknown.
    """

    storage_gib: float
    acus: float
    """Mean capacity of all serverless members together; 0 without any."""
    commit_latency_ms: float | None
    """None where no commit latency is published."""
    steady_ios: float | None
    trace: Workload | None
    read_share: float = READ_SHARE

    def ios(self, at: datetime) -> float | None:
        """Billed I/O of the five minutes that begin at `at`; None where nothing was measured."""
        if self.trace is None:
            return self.steady_ios
        return traced_ios(self.trace, (at - self.trace.start).total_seconds())


def steady_billed_ios(millions_per_month: float) -> float:
    """Billed I/O per five minutes, from millions a month."""
    return millions_per_month * MILLION / (HOURS_PER_MONTH * PERIODS_PER_HOUR)


def traced_ios(trace: Workload, begin_s: float) -> float | None:
    """Operations of the five minutes from `begin_s` seconds after the trace's start.

    None unless all of them were measured.
    """
    end_s = begin_s + PERIOD.total_seconds()
    if begin_s < 0:
        return None
    total, measured = 0.0, 0.0
    for segment in trace.segments(begin_s, end_s):
        if segment.load is not None:
            seconds = min(end_s, segment.end_s) - max(begin_s, segment.start_s)
            total += segment.load.ops_per_s * seconds
            measured += seconds
    return total if measured > PERIOD.total_seconds() - 1 else None
