"""What became of a change of storage mode: landed, and did it do what it was made for?

For money nothing can be seen but the mode itself: what was saved is in the bills of the days that
follow. For speed, commits must have become faster, or the owner is told: past the point where storage
binds, buying more of it changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from headroom.domain.guardrails import AuroraPlan
from headroom.domain.resources import AuroraObservation, Goal, Series, StorageMode

LANDS_WITHIN = timedelta(hours=2)
"""How long AWS is given; it names no time, and ordinary members are not restarted."""
MEASURED = timedelta(days=1)
"""How long commits are compared for, before and after: one day has every hour."""
ENOUGH = 0.5
"""Share of those days' periods that must have published a commit latency."""
FASTER = 0.9
"""The median must fall to this share of what it was, or nothing was gained."""
NEXT_RECONCILE_AFTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModePending:
    """Not known yet; looked at again at `next_reconcile_at`."""

    next_reconcile_at: datetime
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeRelieved:
    """It landed, and did what it was for as far as that can be seen."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeIneffective:
    """It landed and changed nothing: commits are no faster. The owner is told why that may be."""

    before_ms: float
    after_ms: float
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeDiverged:
    """The cluster is in another mode than it was changed to."""

    found: StorageMode
    detail: str


ModeVerification = ModePending | ModeRelieved | ModeIneffective | ModeDiverged


def assess(
    plan: AuroraPlan, observation: AuroraObservation, applied_at: datetime
) -> ModeVerification:
    """What became of `plan`, applied at `applied_at`, as far as `observation` shows."""
    cluster, at = observation.cluster, observation.at
    if cluster.mode is not plan.target:
        waiting = cluster.pending_storage_mode is plan.target or cluster.status != "available"
        if waiting or at - applied_at < LANDS_WITHIN:
            return ModePending(
                next_reconcile_at=at + NEXT_RECONCILE_AFTER,
                detail=f"{cluster.mode} yet, {cluster.status}",
            )
        return ModeDiverged(
            found=cluster.mode,
            detail=f"{cluster.mode} {(at - applied_at).total_seconds() / 3600:.0f} h after the change",
        )
    if plan.goal is Goal.COST:
        return ModeRelieved(detail=f"{plan.target} is in force")
    return _faster(observation, applied_at)


def _faster(observation: AuroraObservation, applied_at: datetime) -> ModeVerification:
    latency, at = observation.activity.commit_latency_ms, observation.at
    begin = applied_at + LANDS_WITHIN
    if at < begin + MEASURED:
        return ModePending(
            next_reconcile_at=begin + MEASURED, detail="a day of commits is compared"
        )
    before = _median(latency, applied_at - MEASURED, applied_at)
    after = _median(latency, begin, begin + MEASURED)
    if before is None or after is None:
        return ModeIneffective(
            before_ms=before or 0.0, after_ms=after or 0.0,
            cause="commit latency was not published on enough of the day before or after: whether it "
            "helped is not known",
        )  # fmt: skip
    if after <= FASTER * before:
        return ModeRelieved(detail=f"commits take {after:.1f} ms, {before:.1f} before")
    return ModeIneffective(
        before_ms=before, after_ms=after,
        cause="commits are no faster: something other than the storage's mode holds them back; "
        "Standard may be had back at any time",
    )  # fmt: skip


def _median(series: Series, begin: datetime, end: datetime) -> float | None:
    """The median of what was published in [begin, end); None where that is too little."""
    known = [value for at, value in series.points() if begin <= at < end]
    wanted = ENOUGH * ((end - begin).total_seconds() / series.period_s)
    return median(known) if known and len(known) >= wanted else None


__all__ = [
    "ModeDiverged",
    "ModeIneffective",
    "ModePending",
    "ModeRelieved",
    "ModeVerification",
    "assess",
]
