"""Did storage that grew for free space bring that space? Measured, never assumed. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.decision.verification import Ineffective, Pending, Relieved
from headroom.domain.planning import Plan
from headroom.domain.resources import Observation
from headroom.domain.workload import Point

SHOWN = 0.7
"""Share of what was added by which free space must have risen: file systems keep some of it."""
RECHECK_INTERVAL = timedelta(minutes=5)
MEASURED = 30
"""Measured minutes since the storage has the new size in which nothing rose: it brought nothing."""
VERIFICATION_TIMEOUT = timedelta(hours=30)
BEFORE = timedelta(minutes=10)


def assess_space(
    observation: Observation, plan: Plan, applied_at: datetime
) -> Relieved | Pending | Ineffective:
    """What became of free space, once the storage has the size that `plan` gave it.

    RDS extends the file system by itself. What fills meanwhile is no reason to doubt: it is the
    rise that counts, of what is free.
    """
    added = plan.target.size_gib - plan.origin.size_gib
    series = observation.activity.free_gib
    points = () if series is None else tuple(series.points())
    since = [p for p in points if p[0] >= applied_at - BEFORE]
    risen = max(_rise(since), _over(since, plan))
    if risen >= SHOWN * added:
        free = since[-1][1]
        return Relieved(
            detail=f"free space rose by {risen:.1f} of {added} GiB added; {free:.1f} free"
        )
    said = f"free space rose by {max(0.0, risen):.1f} GiB where {added} were added"
    late = observation.at - applied_at > VERIFICATION_TIMEOUT
    settled = observation.modification is None or not observation.modification.in_flight
    measured = sum(at >= applied_at + BEFORE for at, _ in since)
    if late and not since:
        return Ineffective(
            cause=f"free space was not measured in {VERIFICATION_TIMEOUT.total_seconds() / 3600:.0f} h"
        )
    if late or (settled and measured >= MEASURED):
        return Ineffective(cause=said)
    return Pending(next_reconcile_at=observation.at + RECHECK_INTERVAL, detail=said)


def _rise(points: list[Point]) -> float:
    """The largest rise from any point to a later one."""
    lowest, most = float("inf"), 0.0
    for _, gib in points:
        most = max(most, gib - lowest)
        lowest = min(lowest, gib)
    return most


def _over(points: list[Point], plan: Plan) -> float:
    """By how much more is free than when it was planned, should the minutes before be too old."""
    if not points or plan.growth is None:
        return 0.0
    return points[-1][1] - plan.growth.free_gib
