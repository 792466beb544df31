"""The forecast of free space: when it is full, and the size that would be enough. Pure.

Of a database's storage, or of the one file system on a volume where an agent publishes it.

It uses three things: what earlier days did after this hour, how their highest hours rose, and for
some hours the rate of the last one, if it is steady and no earlier day explains it. A rise that has
just begun, or too little data, is unclear, and Headroom does not grow storage for it.

Source: RDS User Guide, "Managing capacity automatically with Amazon RDS storage autoscaling"
(checked 2026-11), for how far ahead RDS itself extrapolates the last hour.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from statistics import median, median_low

from headroom.domain.policy import Limits
from headroom.domain.resources import Observation, Series
from headroom.domain.state import KnownModification
from headroom.domain.workload.space.fill_history import (
    Point,
    began,
    by_hour,
    daily_slope,
    fastest_day,
    growths,
    merge_series,
    paces,
    rises,
    slope,
    thinned,
    used,
)
from headroom.domain.workload.space.forecast import SURGE_HOURS, SpaceBasis, SpaceForecast

LEAD_HOURS = 24
"""How long before a shortage storage grows: an earlier change may block the next one for a day."""
FRESH = timedelta(minutes=30)
LEAST_MINUTES = 15
"""Measured minutes of the last hour below which there is no forecast."""
HOURS_TIMES = 2
"""The most that storage multiplies by when only hours are known."""
PACE = timedelta(minutes=15)
"""Over how much of the latest the present pace is taken."""
SURGE_LEAD_HOURS = 2.0
"""How near full a surge must come before storage grows: many surges end by themselves."""
USUAL = 1.2
"""A rate up to this factor of the fastest of earlier days at this hour is no surge."""
LEAST_DAYS = 2
"""Earlier days that are enough for a forecast."""
LEAST_HOURS = 6
"""Measured hours that are enough for a database of less than two days, and its horizon."""
TELLING_DAYS = 6.5
"""Measured days that are enough to extrapolate a trend over the whole horizon."""
DOUBTED = timedelta(days=3)
"""How long Headroom does not grow storage again after a growth that free space never showed."""
OTHER_STORAGE = 0.02
"""Share of the size by which no more can be free than there is, whatever units are rounded."""
FILE_SYSTEM_LESS = 0.05
"""Share of a volume, and GiB, up to which its file system may be smaller: boot partitions, metadata.
Any growth must be larger, or one that never reached the file system would not be noticed."""
FILE_SYSTEM_LESS_GIB = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ahead:
    """Used space now and its expected rise, in GiB."""

    now_gib: float
    day_rise: float
    soon_rise: float
    """The rise within the lead time: a day, or a few hours with less than two known days."""
    per_day: float
    surge_per_hour: float
    """0 where there is none."""
    sudden: bool
    """Whether it fills fast, but for too short a time to be sure."""
    pace_per_hour: float
    """The rate of the last minutes, whatever becomes of it; 0 where earlier days explain it."""
    fastest_day: float
    hours_seen: int
    days_seen: int
    looks_ahead: bool
    """Whether enough was measured for the coming hours to be foreseen."""


def space_forecast(
    observation: Observation, modifications: Sequence[KnownModification], limits: Limits
) -> SpaceForecast | None:
    """The forecast; None where no free space was ever published."""
    configuration = observation.volume.configuration
    recent, history = _free_series(observation)
    if recent is None:
        return None
    at, made_at = observation.at, observation.volume.created_at
    # Metrics of an earlier database with the same name are excluded.
    free = merge_series(history, recent)
    free = free[bisect_left(free, made_at, key=began) :]
    if not free:
        return None
    grown = growths([m for m in modifications if m.started_at >= made_at], free, at)
    odd = _odd_file_system(observation, limits, free[-1][1])
    if odd is not None:
        return odd
    taken = _of_this(used(free, configuration.size_gib, grown), configuration.size_gib)
    fresh = taken[bisect_right(taken, at - FRESH, key=began) :]
    lately = taken[bisect_right(taken, at - timedelta(hours=1), key=began) :]
    if not fresh or len(lately) < LEAST_MINUTES:
        return _unclear(configuration.size_gib, limits, taken[-1][1], "too little was measured")
    lost = [g for g in grown if not g.shown and g.landed_at and g.started_at > at - DOUBTED]
    if lost:
        why = f"storage grew by {lost[-1].added_gib} GiB, which what is free does not show"
        return _unclear(configuration.size_gib, limits, taken[-1][1], why)
    # A volume may be years older than what its agent published: hours are not taken for days.
    by_hours = observation.activity.file_system_gib is None
    ahead = _ahead(taken, lately, at, float(configuration.size_gib), by_hours=by_hours)
    return _forecast(configuration.size_gib, limits, ahead, lately, at)


def _odd_file_system(observation: Observation, limits: Limits, free: float) -> SpaceForecast | None:
    """The forecast where the file system is smaller than its volume, or its size is unknown; else None."""
    size, series = observation.volume.configuration.size_gib, observation.activity.file_system_gib
    if series is None:
        return None
    last = series.last()
    if last is None:
        return _unclear(size, limits, size - free, "the size of its file system was not measured")
    if last > size * (1 + OTHER_STORAGE):
        why = f"its file system would have {last:.1f} GiB, more than the volume's {size}"
        return _unclear(size, limits, size - free, why)
    return None if spans(last, size) else _not_spanned(size, limits, free, last)


def spans(file_system_gib: float, size_gib: int) -> bool:
    """Whether a file system takes its volume up, but for metadata and partitions for booting."""
    return size_gib - file_system_gib <= max(FILE_SYSTEM_LESS_GIB, FILE_SYSTEM_LESS * size_gib)


def _of_this(taken: Sequence[Point], size_gib: int) -> Sequence[Point]:
    """What was used since more was last free than there is: that was other storage of the name."""
    least = -OTHER_STORAGE * size_gib
    last = max((i for i, (_, gib) in enumerate(taken) if gib < least), default=-1)
    return taken[last + 1 :] or taken[-1:]


def _free_series(observation: Observation) -> tuple[Series | None, Series | None]:
    history = observation.history
    return observation.activity.free_gib, None if history is None else history.free_gib


def _ahead(
    taken: Sequence[Point], lately: Sequence[Point], at: datetime, size: float, *, by_hours: bool
) -> _Ahead:
    hours = by_hour(taken, at)
    now_gib = median(gib for _, gib in lately[-5:])
    days = rises(hours, LEAD_HOURS)
    per_day = daily_slope(hours, at) or 0.0
    if len(days) >= LEAST_DAYS:
        day_rise = soon_rise = median_low(days)
    else:
        per_hour = _of_recent_hours(hours, at) if by_hours else 0.0
        soon_rise, day_rise = per_hour * LEAST_HOURS, per_hour * LEAD_HOURS
        per_day = max(per_day, day_rise)
    surge, sudden = _surge(lately, hours, now_gib, size)
    return _Ahead(
        now_gib=now_gib, day_rise=max(0.0, day_rise), soon_rise=soon_rise, per_day=per_day, surge_per_hour=surge,
        sudden=sudden, pace_per_hour=_pace(lately, hours, now_gib, size),
        fastest_day=fastest_day(hours),
        hours_seen=len(hours), days_seen=len(days),
        looks_ahead=by_hours or len(days) >= LEAST_DAYS,
    )  # fmt: skip


def _pace(
    lately: Sequence[Point], hours: Mapping[int, float], now_gib: float, size: float
) -> float:
    """GiB per hour of the last minutes; 0 where it does not fill, or no faster than on earlier days."""
    pace = slope([p for p in lately if p[0] > lately[-1][0] - PACE]) or 0.0
    return 0.0 if pace <= 0 or _usual(pace, hours, now_gib, size) else pace


def _usual(per_hour: float, hours: Mapping[int, float], now_gib: float, size: float) -> bool:
    """Whether earlier days filled as fast at this hour, and what they added leaves room."""
    days = rises(hours, int(SURGE_LEAD_HOURS))
    fastest = USUAL * max(paces(hours), default=0.0)
    room = now_gib + USUAL * max(days, default=0.0) < size
    return len(days) >= LEAST_DAYS and per_hour <= fastest and room


def _of_recent_hours(hours: Mapping[int, float], at: datetime) -> float:
    """GiB per hour over the hours of the last day that were seen; 0 with too few of them."""
    recent = [(at - timedelta(hours=h), hours[h]) for h in sorted(hours, reverse=True)]
    per_hour = slope(recent[-LEAD_HOURS:])
    return max(0.0, per_hour or 0.0) if len(recent) >= LEAST_HOURS else 0.0


def _surge(
    lately: Sequence[Point], hours: Mapping[int, float], now_gib: float, size: float
) -> tuple[float, bool]:
    """GiB per hour of a steady rise of the last hour that no earlier day explains, and whether
    there may be one that is near full and too young to tell."""
    latest = lately[-1][0]
    hour = slope(thinned(lately, timedelta(minutes=5)))
    half = slope([p for p in lately if p[0] > latest - timedelta(minutes=30)][::3])
    if half is None or hour is None or half <= 0:
        return 0.0, False
    if _usual(half, hours, now_gib, size):
        return 0.0, False
    steady = max(0.0, min(half, hour))
    if steady > 0 and now_gib + steady * SURGE_LEAD_HOURS >= size:
        return steady, False
    return steady, now_gib + half * SURGE_LEAD_HOURS >= size


def _forecast(
    size: int, limits: Limits, ahead: _Ahead, lately: Sequence[Point], at: datetime
) -> SpaceForecast:
    reserve = size * limits.free_space_percent / 100
    surge = ahead.surge_per_hour * SURGE_HOURS
    peak = ahead.now_gib + max(ahead.day_rise, surge)
    basis = _basis(size, reserve, ahead, lately)
    full_at = _full_at(size, ahead, at, limits.space_horizon_days)
    short = basis is not None and basis is not SpaceBasis.UNCLEAR
    more = max(0.0, ahead.per_day) * max(0.0, _days_ahead(ahead, limits) - 1)
    share = 1 - limits.free_space_percent / 100
    by_days = (ahead.now_gib + ahead.day_rise + more) / share
    by_surge = min((ahead.now_gib + surge) / share, HOURS_TIMES * size)
    if ahead.days_seen < LEAST_DAYS:
        by_days = min(by_days, HOURS_TIMES * size)
    needed = ceil(round(max(by_days, by_surge), 6)) if short else size
    reported_basis = basis or (
        SpaceBasis.EARLIER_DAYS if ahead.days_seen >= LEAST_DAYS else SpaceBasis.RECENT_HOURS
    )
    return SpaceForecast(
        size_gib=size,
        free_gib=round(size - ahead.now_gib, 3),
        reserve_gib=round(reserve, 3),
        lowest_gib=round(size - peak, 3),
        fill_gib_per_day=round(max(ahead.per_day, ahead.surge_per_hour * 24), 3),
        full_at=full_at,
        needed_gib=max(size + 1 if short else size, needed),
        basis=reported_basis,
        short=short,
        explanation=_explained(size, ahead, reported_basis, full_at, reserve, short=short),
        young=basis is SpaceBasis.UNCLEAR,
        pace_gib_per_hour=round(ahead.pace_per_hour, 3),
        fastest_gib_per_day=round(ahead.fastest_day, 3),
        days_seen=ahead.days_seen,
    )


def _days_ahead(ahead: _Ahead, limits: Limits) -> float:
    """For how many days it is grown: the owner's horizon, but no more than were seen of a few.

    One hour for a database observed for less than two days; never less than the forecast's own horizon.
    """
    seen = ahead.hours_seen / 24
    if ahead.days_seen < LEAST_DAYS:
        return 1.0
    return (
        limits.space_horizon_days if seen >= TELLING_DAYS else min(limits.space_horizon_days, seen)
    )


def _basis(size: int, reserve: float, ahead: _Ahead, lately: Sequence[Point]) -> SpaceBasis | None:
    """Why storage should grow now, UNCLEAR where it may have to, None where it need not."""
    near = ahead.now_gib + ahead.surge_per_hour * SURGE_LEAD_HOURS >= size
    if ahead.surge_per_hour > 0 and near:
        return SpaceBasis.SURGE
    if ahead.sudden:
        return SpaceBasis.UNCLEAR
    informative = lately[-LEAST_MINUTES:] if ahead.surge_per_hour > 0 else lately
    if all(size - gib < reserve for _, gib in informative):
        trend = slope(thinned(lately, timedelta(minutes=5)))
        falling_back = trend is not None and trend < -0.001 * size
        return SpaceBasis.UNCLEAR if falling_back else SpaceBasis.LEVEL
    if ahead.soon_rise > 0 and size - ahead.now_gib - ahead.soon_rise < reserve:
        few = ahead.days_seen < LEAST_DAYS
        return SpaceBasis.RECENT_HOURS if few else SpaceBasis.EARLIER_DAYS
    return None


def _full_at(size: int, ahead: _Ahead, at: datetime, horizon_days: int) -> datetime | None:
    """When it is full by what is believed of the coming hours and days, if within the horizon."""
    left, found = size - ahead.now_gib, []
    if left <= 0:
        return at
    if ahead.surge_per_hour * SURGE_HOURS >= left:
        found.append(left / ahead.surge_per_hour)
    if ahead.day_rise >= left:
        found.append(LEAD_HOURS * left / ahead.day_rise)
    elif ahead.per_day > 0:
        found.append(LEAD_HOURS * (1 + (left - ahead.day_rise) / ahead.per_day))
    hours = min(found, default=None)
    if hours is None or hours > LEAD_HOURS * horizon_days:
        return None
    return at + timedelta(minutes=int(hours * 60))


def _explained(
    size: int, ahead: _Ahead, basis: SpaceBasis, full_at: datetime | None, reserve: float, *,
    short: bool,
) -> str:  # fmt: skip
    free = f"{size - ahead.now_gib:.1f} of {size} GiB are free"
    end = "" if full_at is None else f", full by {full_at:%Y-%m-%d %H:%M} UTC"
    match basis:
        case SpaceBasis.SURGE:
            return f"{free}; {ahead.surge_per_hour:.1f} GiB an hour more for the last hour{end}"
        case SpaceBasis.UNCLEAR:
            return f"{free}; what became of it in the last hour is not clear yet"
        case SpaceBasis.LEVEL:
            return f"{free}, less than the reserve of {reserve:.1f}{end}"
        case _ if not ahead.looks_ahead:
            return f"{free}; less than two days were measured, too little to look a day ahead{end}"
        case _:
            rate = f"{ahead.day_rise:.1f} GiB more expected within a day"
            below = ", which leaves less than the reserve of " if short else ", the reserve is "
            return f"{free}; {rate}{below}{reserve:.1f}{end}"


def _not_spanned(size: int, limits: Limits, free: float, file_system: float) -> SpaceForecast:
    why = f"its file system has {file_system:.1f} of {size} GiB, {free:.1f} free"
    found = _unclear(size, limits, size - free, "")
    return replace(found, basis=SpaceBasis.FILE_SYSTEM, explanation=why)


def _unclear(size: int, limits: Limits, gib: float, why: str) -> SpaceForecast:
    reserve = size * limits.free_space_percent / 100
    return SpaceForecast(
        size_gib=size, free_gib=round(size - gib, 3), reserve_gib=round(reserve, 3),
        lowest_gib=round(size - gib, 3), fill_gib_per_day=0.0, full_at=None, needed_gib=size,
        basis=SpaceBasis.UNCLEAR, short=False,
        explanation=f"free space is not known well enough: {why}",
    )  # fmt: skip
