"""Whether what is given back could be had again when the load that uses it returns."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import inf

from headroom.domain.planning.plan import Plan
from headroom.domain.planning.situation import Situation
from headroom.domain.policy import Freeze, Mode, Windows, next_closing, next_opening
from headroom.domain.state import hour_of
from headroom.domain.workload import HOURS, Level, Past, calm_days, shortfalls

ENDED_DAYS = 35.0
"""Calm days beyond the longest pause so far after which a load has ended: what comes each month has not."""
UNPROVEN_DAYS = 7.0
"""Measured days before which nothing is lowered that the ceilings would never let back."""
AHEAD = timedelta(days=15)
"""How far ahead closed windows and freezes count."""


def may_be_restored(situation: Situation, plan: Plan, most_iops: float, most_mibps: float) -> bool:
    """Whether Headroom could by itself raise to `most_iops` and `most_mibps` again, or nothing uses them.

    The ceilings may forbid it, a person would have to approve the price, or no change may start for
    longer than a schedule looks ahead. Where a person has to, what nothing has used yet counts as used
    until `ENDED_DAYS` were measured; where a ceiling forbids it for good, until `UNPROVEN_DAYS`. What the
    owner announced counts as used.
    """
    limits, then = situation.limits, plan.capability
    above, iops, mibps = limits.approve_above_usd, then.sustained_iops, then.sustained_mibps
    asks = above is not None and -plan.price_change_usd > above
    forbidden = iops < most_iops > limits.max_iops or (
        plan.origin.throughput_mibps is not None  # nobody chose MiB/s that come with IOPS
        and mibps < most_mibps > limits.max_throughput_mibps
    )
    if situation.past.days < (ENDED_DAYS if asks else UNPROVEN_DAYS if forbidden else 0.0):
        return iops >= most_iops and mibps >= most_mibps
    if not (
        limits.mode is Mode.APPROVE
        or asks
        or _longest_closed(limits.change_windows, situation.freezes, situation.observation.at)
        > timedelta(hours=HOURS)
    ):
        iops, mibps = max(iops, limits.max_iops), max(mibps, limits.max_throughput_mibps)
    if any(
        load.share_late((iops, mibps)) > load.share_late((most_iops, most_mibps))
        for load in situation.announced
    ):
        return False
    return has_ended(
        situation.past,
        inf if iops >= most_iops else iops,
        inf if mibps >= most_mibps else mibps,
    )


def has_ended(past: Past, iops: float, mibps: float) -> bool:
    """Whether load above `iops` or `mibps` was never seen, or has stayed away for long enough."""
    if not any(shortfalls(past.numbered[0], iops, mibps)):
        return True
    return calm_days(past, Level(iops=iops, mibps=mibps, usd_per_hour=0.0)) >= ENDED_DAYS


def _longest_closed(windows: Windows, freezes: tuple[Freeze, ...], at: datetime) -> timedelta:
    """The longest time within `AHEAD` in which no change may start."""
    found = [
        freeze.until - max(at, freeze.begins) for freeze in freezes if freeze.begins < at + AHEAD
    ]
    then: datetime | None = hour_of(at)
    while then is not None and windows and then < at + AHEAD:
        closing = next_closing(windows, then)
        if closing is None:
            break
        then = next_opening(windows, closing)
        found.append(AHEAD if then is None else then - closing)
    return max(found, default=timedelta(0))
