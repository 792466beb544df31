"""The profile of the past from what CloudWatch published: one digest for each whole hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from itertools import compress
from math import ceil, fsum
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
NOT_TOUCHED = 0, 0.0, 0.0
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
    earlier = history
    history = _without_first(history, int(begin - grid.start.timestamp()) // grid.period_s)
    iops, mibps = load_rates(history)
    busiest = (
        busiest_minutes(history.busiest_iops, iops), busiest_minutes(history.busiest_mibps, mibps)
    )  # fmt: skip
    for rates, bytes_of in ((iops, mibps), busiest):  # what EBS counts, where it merged operations
        for place, rate in enumerate(rates):
            rates[place] = limits.counted(begin + place * grid.period_s, rate, bytes_of[place])
    rows = pressed_periods(history, limits, iops, mibps, busiest, earlier=earlier)
    pressed = _without_backlogs(rows, iops, mibps)
    for row in rows:  # what it served in its busiest minute is the limit, or an earlier backlog
        busiest[0][row.place], busiest[1][row.place] = iops[row.place], mibps[row.place]
    measured = measured_periods(history, database=limits.database)
    touched: dict[int, list[PressedPeriod]] = {}
    for place in sorted(pressed):
        if measured[place]:
            touched.setdefault(place // per_hour, []).append(pressed[place])
    columns = (iops, mibps, *busiest, _on_one_scale(iops, mibps), _on_one_scale(*busiest))
    start = history.read_iops.start
    begin, whole = start.timestamp(), (True,) * per_hour
    hours: list[ProfileHour | None] = []
    for number in range(len(iops) // per_hour):
        first = number * per_hour
        last = first + per_hour
        known = measured[first:last]
        parts = [column[first:last] for column in columns]
        if known != whole:
            if sum(known) < per_hour * MEASURED_SHARE:
                hours.append(None)
                continue
            parts = [list(compress(part, known)) for part in parts]
        limit = NOT_TOUCHED
        if number in touched:
            certain = begin + first * grid.period_s >= limits.certain_from
            limit = _touched(touched[number], certain=certain)
        hours.append(_hour(parts, grid.period_s, limit))
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


def _touched(rows: Sequence[PressedPeriod], *, certain: bool) -> tuple[int, float, float]:
    """Minutes at a limit, and the highest limit of IOPS and of MiB/s that was touched, 0 if none.

    Where it is not `certain` which limits were in force, demand was at least what was served.
    """
    by_iops = [
        r.iops_limit if certain else on_scale(r.busiest_iops, IOPS_LEVELS)
        for r in rows
        if r.touched_iops
    ]
    by_mibps = [
        r.mibps_limit if certain else on_scale(r.busiest_mibps, MIBPS_LEVELS)
        for r in rows
        if not r.touched_iops
    ]
    minutes = min(60, ceil(sum(row.pressed for row in rows)))
    return minutes, max(by_iops, default=0.0), max(by_mibps, default=0.0)


def _hour(
    columns: Sequence[Sequence[float]], period_s: int, touched: tuple[int, float, float]
) -> ProfileHour:
    """One hour from what its periods served, their highest rates, and both of these on one scale."""
    iops, mibps, highest_iops, highest_mibps, loads, peaks = columns
    bar, busy = BUSY_SHARE * max(peaks), 0.0
    if bar > 0:
        minutes = period_s / 60
        for load, peak in zip(loads, peaks, strict=True):
            if peak >= bar:
                busy += minutes if load >= bar else 1.0
    return ProfileHour(
        on_scale(max(highest_iops), IOPS_LEVELS),
        on_scale(max(highest_mibps), MIBPS_LEVELS),
        on_scale(fsum(iops) / len(iops), IOPS_LEVELS),
        on_scale(fsum(mibps) / len(mibps), MIBPS_LEVELS),
        int(min(60, ceil(busy))),
        *touched,
        period_s >= 3600,
    )


def _on_one_scale(iops: Sequence[float], mibps: Sequence[float]) -> list[float]:
    """The larger of IOPS and MiB/s, each over the middle of its scale."""
    shares = zip([i / IOPS_SCALE for i in iops], [m / MIBPS_SCALE for m in mibps], strict=True)
    return [i if i >= m else m for i, m in shares]


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
