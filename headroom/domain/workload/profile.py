"""The profile of the past from what CloudWatch published: one digest for each whole hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from math import ceil
from statistics import fmean

from headroom.domain.resources import Series, VolumeActivity
from headroom.domain.state import (
    IOPS_LEVELS,
    IOPS_SCALE,
    MIBPS_LEVELS,
    MIBPS_SCALE,
    MOST_HOURS,
    LimitHistory,
    LoadProfile,
    ProfileHour,
    on_scale,
)
from headroom.domain.workload.busy_periods import PeriodRow, period_rows
from headroom.domain.workload.history import load_rates, measured_periods

BUSY_SHARE = 0.7
"""Share of the hour's peak from which a period is busy."""
MEASURED_SHARE = 0.5
"""An hour with fewer of its periods published counts as not measured."""


def digest_of(
    history: VolumeActivity, limits: LimitHistory, *, since: datetime | None = None
) -> LoadProfile:
    """The whole hours of `history` that begin at or after `since`; its periods divide an hour."""
    grid = history.read_iops
    per_hour = 3600 // grid.period_s
    begin = max(grid.start.timestamp(), 0.0 if since is None else since.timestamp())
    begin += -begin % 3600
    history = _without_first(history, int(begin - grid.start.timestamp()) // grid.period_s)
    iops, mibps = load_rates(history)
    rows = period_rows(history, limits, iops, mibps, least=(0.0, 0.0))
    pressed = {row.place: row for row in rows if row.pressed > 0}
    measured = measured_periods(history)
    start = history.read_iops.start
    hours: list[ProfileHour | None] = []
    for first in range(0, len(iops) - per_hour + 1, per_hour):
        known = [place for place in range(first, first + per_hour) if measured[place]]
        if len(known) < per_hour * MEASURED_SHARE:
            hours.append(None)
            continue
        served = [(iops[place], mibps[place]) for place in known]
        touched = [pressed[place] for place in known if place in pressed]
        certain = start.timestamp() + first * grid.period_s >= limits.certain_from
        hours.append(_hour(served, touched, grid.period_s, certain=certain))
    return LoadProfile(start=start, hours=tuple(hours[-MOST_HOURS:]))


def _hour(
    served: Sequence[tuple[float, float]], touched: Sequence[PeriodRow], period_s: int, *,
    certain: bool,
) -> ProfileHour:  # fmt: skip
    """One hour from what its periods served and those that touched a limit.

    Where it is not `certain` which limits were in force, demand was at least what was served.
    """
    iops, mibps = [i for i, _ in served], [m for _, m in served]
    loads = [max(i / IOPS_SCALE, m / MIBPS_SCALE) for i, m in served]
    busy = sum(load >= BUSY_SHARE * max(loads) for load in loads if load > 0)
    return ProfileHour(
        peak_iops=on_scale(max(iops), IOPS_LEVELS),
        peak_mibps=on_scale(max(mibps), MIBPS_LEVELS),
        mean_iops=on_scale(fmean(iops), IOPS_LEVELS),
        mean_mibps=on_scale(fmean(mibps), MIBPS_LEVELS),
        busy_minutes=busy * period_s // 60,
        touched_minutes=min(60, ceil(sum(row.pressed for row in touched))),
        limit_iops=max(
            (
                r.iops_limit if certain else on_scale(r.busiest_iops, IOPS_LEVELS)
                for r in touched
                if r.touched_iops
            ),
            default=0.0,
        ),
        limit_mibps=max(
            (
                r.mibps_limit if certain else on_scale(r.busiest_mibps, MIBPS_LEVELS)
                for r in touched
                if r.touched_mibps
            ),
            default=0.0,
        ),
        coarse=period_s >= 3600,
    )


def _without_first(history: VolumeActivity, periods: int) -> VolumeActivity:
    """The same without its first periods."""
    if not periods:
        return history
    series = {f.name: getattr(history, f.name) for f in fields(history)}
    return replace(
        history,
        **{
            name: replace(
                one, start=one.start + timedelta(seconds=periods * one.period_s),
                values=one.values[periods:],
            )
            for name, one in series.items()
            if isinstance(one, Series)
        },
    )  # fmt: skip
