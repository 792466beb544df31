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
from headroom.domain.workload.history import load_rates, measured_periods
from headroom.domain.workload.pressed_periods import PressedPeriod, busiest_minutes, pressed_periods

BUSY_SHARE = 0.7
"""Share of the hour's peak from which a period is busy."""
RAISED = 1.02
UNEVEN = 1.2
"""Load of the busiest part of a run of pressure over its mean."""
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
    busiest = (
        busiest_minutes(history.busiest_iops, iops), busiest_minutes(history.busiest_mibps, mibps)
    )  # fmt: skip
    rows = pressed_periods(history, limits, iops, mibps, busiest)
    pressed = _without_backlogs(rows, iops, mibps)
    for row in rows:  # what it served in its busiest minute is the limit, or an earlier backlog
        busiest[0][row.place], busiest[1][row.place] = iops[row.place], mibps[row.place]
    measured = measured_periods(history)
    start = history.read_iops.start
    hours: list[ProfileHour | None] = []
    for first in range(0, len(iops) - per_hour + 1, per_hour):
        places = range(first, first + per_hour)
        known = [place for place in places if measured[place]]
        if len(known) < per_hour * MEASURED_SHARE:
            hours.append(None)
            continue
        certain = start.timestamp() + first * grid.period_s >= limits.certain_from
        hours.append(
            _hour(
                [(iops[place], mibps[place]) for place in known],
                [(busiest[0][place], busiest[1][place]) for place in known],
                [pressed[place] for place in known if place in pressed],
                grid.period_s, certain=certain,
            )
        )  # fmt: skip
    return LoadProfile(start=start, hours=tuple(hours[-MOST_HOURS:]))


def _without_backlogs(
    rows: Sequence[PressedPeriod], iops: list[float], mibps: list[float]
) -> dict[int, PressedPeriod]:
    """The pressed periods by their place, without those that only drain an earlier backlog.

    Where a limit was raised during a run of pressure that then ended, what waited is served at the
    new limit: the load was no more than the mean of the run, and some.
    """
    found: dict[int, PressedPeriod] = {}
    run: list[PressedPeriod] = []
    for row in (*rows, None):
        if run and (row is None or row.place > run[-1].place + 1):
            raised = [
                r for r in run
                if r.iops_limit > run[0].iops_limit * RAISED
                or r.mibps_limit > run[0].mibps_limit * RAISED
            ]  # fmt: skip
            if raised and run[-1].place < len(iops) - 2:
                mean_iops, mean_mibps = fmean(r.iops for r in run), fmean(r.mibps for r in run)
                for one in raised:
                    iops[one.place] = min(iops[one.place], mean_iops * UNEVEN)
                    mibps[one.place] = min(mibps[one.place], mean_mibps * UNEVEN)
                run = [r for r in run if r not in raised]
            found.update((r.place, r) for r in run)
            run = []
        if row is not None:
            run.append(row)
    return found


def _hour(
    served: Sequence[tuple[float, float]], highest: Sequence[tuple[float, float]],
    touched: Sequence[PressedPeriod], period_s: int, *, certain: bool,
) -> ProfileHour:  # fmt: skip
    """One hour from what its periods served, their highest rates, and those that touched a limit.

    Where it is not `certain` which limits were in force, demand was at least what was served.
    """
    scale = IOPS_SCALE, MIBPS_SCALE
    loads = [max(i / scale[0], m / scale[1]) for i, m in served]
    peaks = [max(i / scale[0], m / scale[1]) for i, m in highest]
    bar = BUSY_SHARE * max(peaks)
    busy = sum(
        period_s / 60 if load >= bar else 1.0 for load, peak in zip(loads, peaks, strict=True)
        if peak >= bar > 0
    )  # fmt: skip
    return ProfileHour(
        peak_iops=on_scale(max(i for i, _ in highest), IOPS_LEVELS),
        peak_mibps=on_scale(max(m for _, m in highest), MIBPS_LEVELS),
        mean_iops=on_scale(fmean(i for i, _ in served), IOPS_LEVELS),
        mean_mibps=on_scale(fmean(m for _, m in served), MIBPS_LEVELS),
        busy_minutes=int(min(60, ceil(busy))),
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
                if not r.touched_iops
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
