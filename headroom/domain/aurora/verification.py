"""Whether a change of storage mode landed, and did what it was made for.

For money only the mode itself can be observed: the saving is in the bills of the following days. For
speed, commits must have become faster, or the owner is notified: where something other than storage
is the bottleneck, faster storage changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from statistics import median

from headroom.domain.aurora.bill_check import CHECK_AFTER
from headroom.domain.decision import (
    Act,
    Decision,
    Diverged,
    Ineffective,
    Pending,
    Reason,
    Relieved,
    RollbackConfirmed,
    Verification,
)
from headroom.domain.planning import Plan
from headroom.domain.resources import AuroraObservation, Series, mode_of

LANDS_WITHIN = timedelta(hours=2)
"""How long AWS is given; it documents no time, and ordinary members are not restarted."""
MEASURED = timedelta(days=1)
"""How long commits are compared for, before and after: one day has every hour."""
ENOUGH = 0.5
"""Share of those days' periods that must have published a commit latency."""
FASTER = 0.9
"""The median must fall to this share of what it was, or nothing was gained."""
NEXT_RECONCILE_AFTER = timedelta(minutes=15)


def assess_cluster(
    decision: Decision, plan: Plan, observation: AuroraObservation, applied_at: datetime
) -> Verification:
    """What became of `plan`, applied at `applied_at`, as far as `observation` shows."""
    cluster, at, target = observation.cluster, observation.at, mode_of(plan.target)
    if cluster.mode is not target:
        being_applied = cluster.pending_storage_mode is target or cluster.status != "available"
        if being_applied or at - applied_at < LANDS_WITHIN:
            return Pending(
                next_reconcile_at=at + NEXT_RECONCILE_AFTER,
                detail=f"still {cluster.mode}, {cluster.status}",
            )
        hours = (at - applied_at).total_seconds() / 3600
        return Diverged(detail=f"{cluster.mode} {hours:.0f} h after the change")
    if decision.rollback_of is not None:
        return RollbackConfirmed(detail=f"rolled back: {target} is in force")
    if isinstance(decision.answer, Act) and decision.answer.reason is Reason.SLOW_COMMITS:
        return _faster(plan, observation, applied_at)
    return _relieved(f"{target} is in force", plan)


def _relieved(detail: str, plan: Plan) -> Relieved:
    before = plan.monthly_usd - plan.price_change_usd
    return Relieved(
        detail=f"{detail}; the forecast is ${plan.monthly_usd:,.2f} a month, it was ${before:,.2f}; the "
        f"bill is compared after {CHECK_AFTER} whole days"
    )


def _faster(plan: Plan, observation: AuroraObservation, applied_at: datetime) -> Verification:
    latency, at = observation.activity.commit_latency_ms, observation.at
    begin = applied_at + LANDS_WITHIN
    if at < begin + MEASURED:
        return Pending(next_reconcile_at=begin + MEASURED, detail="a day of commits is compared")
    before = _median(latency, applied_at - MEASURED, applied_at)
    after = _median(latency, begin, begin + MEASURED)
    if before is not None and after is not None and after <= FASTER * before:
        return _relieved(f"commits take {after:.1f} ms, {before:.1f} before", plan)
    cause = (
        "commit latency was not published on enough of the day before or after: whether it helped "
        "is not known"
        if before is None or after is None
        else "commits are no faster: something other than the storage's mode holds them back; "
        "it can return to Standard at any time"
    )
    numbers = f"{before or 0.0:.1f} ms before, {after or 0.0:.1f} ms after"
    return Ineffective(cause=f"{cause} ({numbers})")


def _median(series: Series, begin: datetime, end: datetime) -> float | None:
    """The median of the values published in [begin, end); None if there are too few."""
    known = [value for at, value in series.points() if begin <= at < end]
    needed = ENOUGH * ((end - begin).total_seconds() / series.period_s)
    return median(known) if known and len(known) >= needed else None
