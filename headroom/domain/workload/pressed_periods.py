"""Periods of the past in which a limit was touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from headroom.domain.catalog.ebs import MIB
from headroom.domain.resources import Series, VolumeActivity
from headroom.domain.state import (
    HOUR,
    MODIFICATION_RETENTION,
    LimitHistory,
    LoadProfile,
    ProfileHour,
)
from headroom.domain.workload.demand import AT_LIMIT
from headroom.domain.workload.history import Past
from headroom.domain.workload.latency import (
    FREE_AT,
    LEAST_SLOW_MS,
    SLOW,
    free_latency_ms,
    large_waits,
    periods_below,
    usual_latency_ms,
)
from headroom.domain.workload.pressure import (
    EMPTY_PERCENT,
    LARGE_IO_BYTES,
    LARGE_WAITS_AT,
    WAITS_AT,
)
from headroom.domain.workload.recurrence import HOURS
from headroom.domain.workload.short_minutes import (
    SEEN_ABOVE,
    WHOLE,
    Belief,
    hidden_in_its_minutes,
)

SATURATED = 0.9
"""Share of a limit from which a period's mean is censored demand, if its busiest minute was at it.

A load that has the usual tenth to spare runs at 0.91 of its limit, and is free.
"""

CLEAR_DAYS = 3.0
"""How much a measured day since lowers the belief in bursts above a limit that was touched."""
SHOWN_MIN = 10
"""Minutes at a limit in an hour that show bursts inside its minutes."""
ALIKE = 0.8
"""Share of such an hour's load from which on, up to as much more, another hour's is of the same kind."""
LARGER = 1.02
A_WEEK = 7 * 24
"""Hours for which bursts are believed in that nothing shows any more."""
KNOWN_HOURS = MODIFICATION_RETENTION // HOUR


class PressedPeriod(NamedTuple):
    """A period in which a limit was touched: what was served, and the limits then in force."""

    place: int
    iops: float
    mibps: float
    busiest_iops: float
    busiest_mibps: float
    iops_limit: float
    mibps_limit: float
    touched_iops: bool
    """Whether the IOPS limit was touched, else the one of MiB/s was."""
    pressed: float
    """Minutes in which it was."""


def pressed_periods(
    history: VolumeActivity, limits: LimitHistory, iops: Sequence[float], mibps: Sequence[float],
    busiest: tuple[Sequence[float], Sequence[float]], *, earlier: VolumeActivity | None = None,
) -> list[PressedPeriod]:  # fmt: skip
    """The pressed periods, oldest first; `iops` and `mibps` are the means of all periods.

    The usual latency is that of `earlier`, which goes further back, if it is given.

    Where no check was published, bursts inside its minutes show by operations that wait far below the
    limits of the means.
    """
    by_iops, by_mibps = history.iops_exceeded.values, history.throughput_exceeded.values
    least_iops, least_mibps = limits.lowest
    bars = WAITS_AT * least_iops, WAITS_AT * least_mibps
    places = [
        place
        for place, (a, b, c, d) in enumerate(zip(iops, mibps, by_iops, by_mibps, strict=True))
        if c or d or (c is None and d is None and (a >= bars[0] or b >= bars[1]))
    ]
    unchecked = any(by_iops[i] is None and by_mibps[i] is None for i in places)
    latency = _latency(earlier or history, limits) if unchecked else _Latency(0.0, 0.0)
    rows = (
        _period(history, limits, i, (iops[i], mibps[i]), (busiest[0][i], busiest[1][i]), latency)
        for i in places
    )
    return [row for row in rows if row.pressed > 0]


class _Latency(NamedTuple):
    """In ms: up to which operations flow though a limit is touched, and from which they wait below it."""

    free: float
    slow: float


def _latency(history: VolumeActivity, limits: LimitHistory) -> _Latency:
    """By the latency of the periods that are below every limit."""
    below = periods_below(history, FREE_AT, limits.lowest)
    iops, mibps = (WAITS_AT * limit for limit in limits.lowest)
    usual = usual_latency_ms(ms for ms, ops, size, _ in below if ops < iops and size < mibps)
    return _Latency(free_latency_ms(history, limits, below), max(LEAST_SLOW_MS, SLOW * usual))


def _waits(
    history: VolumeActivity, place: int, slow_ms: float, mean: tuple[float, float],
    limits: tuple[float, float],
) -> bool:  # fmt: skip
    """Whether operations of a period waited while bursts used up a limit, of which the mean is a share."""
    waited = history.latency_ms.values[place]
    if waited is None or waited <= slow_ms:
        return False
    ops = (history.read_iops.values[place] or 0.0) + (history.write_iops.values[place] or 0.0)
    large = mean[1] * MIB > LARGE_IO_BYTES * mean[0] and not large_waits(waited, ops)
    share = max(mean[0] / limits[0], mean[1] / limits[1])
    return share >= (LARGE_WAITS_AT if large else WAITS_AT)


def busiest_minutes(series: Series | None, means: Sequence[float]) -> list[float]:
    """The busiest minute of each period, no less than its mean; the means where none was read."""
    if series is None:
        return list(means)
    return [m if v is None or v < m else v for v, m in zip(series.values, means, strict=True)]


def _period(
    history: VolumeActivity, limits: LimitHistory, place: int, mean: tuple[float, float],
    peak: tuple[float, float], latency: _Latency,
) -> PressedPeriod:  # fmt: skip
    iops, mibps = mean
    by_iops, by_mibps = (
        history.iops_exceeded.values[place], history.throughput_exceeded.values[place]
    )  # fmt: skip
    step = history.read_iops.period_s
    balance = history.burst_balance_percent.values[place]
    at, empty = (
        history.read_iops.start.timestamp() + place * step,
        balance is not None and balance <= EMPTY_PERCENT,
    )
    iops_limit, mibps_limit = limits.at(at, peak, empty=empty)
    at_iops, at_mibps = _at(iops, peak[0], iops_limit), _at(mibps, peak[1], mibps_limit)
    if by_iops is None and by_mibps is None:  # no check: a mean at the limit has to do
        waited = history.latency_ms.values[place]
        if waited is not None and waited <= latency.free:
            at_iops = at_mibps = False
        of_iops = iops * mibps_limit >= mibps * iops_limit
        waits = (
            not (at_iops or at_mibps)
            and limits.ssd
            and limits.at(at, peak, empty=not empty)
            == (iops_limit, mibps_limit)  # no credits that run out
            and _waits(history, place, latency.slow, mean, (iops_limit, mibps_limit))
            and limits.before_instance(iops_limit if of_iops else mibps_limit, of_iops=of_iops)
        )
        pressed = step / 60 if at_iops or at_mibps or waits else 0.0
    else:
        pressed = min(step / 60, max(by_iops or 0.0, by_mibps or 0.0))
    if by_iops is not None and by_mibps is not None and bool(by_iops) != bool(by_mibps):
        by_operations = bool(by_iops)  # also of sequential operations, which EBS merges
    else:
        by_operations = peak[0] * mibps_limit >= peak[1] * iops_limit
    return PressedPeriod(
        place, iops, mibps, peak[0], peak[1], iops_limit, mibps_limit, by_operations, pressed
    )


def _at(mean: float, peak: float, limit: float) -> bool:
    return mean >= SATURATED * limit and peak >= AT_LIMIT * limit


def with_hidden_bursts(profile: LoadProfile, limits: LimitHistory) -> LoadProfile:
    """The profile in which hours of the same load under a larger limit have the bursts inside their minutes too.

    A raise hides such bursts: what is served then is far below the limit in the mean. An hour is given the
    limit that the nearest hour of the same load touched within a week, where as many such hours showed bursts
    as did not under that limit. Only hours from which on changes are known: under which limit others were is not.
    """
    first = max(0, len(profile.hours) - KNOWN_HOURS)
    known = {
        place: hour
        for place, hour in enumerate(profile.hours[first:], start=first)
        if hour is not None
    }
    shown = {
        place: hour
        for place, hour in known.items()
        if hour.touched_minutes >= SHOWN_MIN
        and hidden_in_its_minutes(hour)
        and _surely_touched(limits, (profile.start + place * HOUR).timestamp(), hour)
    }
    if not shown:
        return profile
    near = {
        place: min(like, key=lambda at: abs(at - place))
        for place, hour in known.items()
        if not hour.touched_minutes and (like := _like(shown, place, hour))
    }
    larger = {
        place
        for place, at in near.items()
        if _larger(limits, _middle(profile, place), known[place], shown[at])
    }
    mostly = {
        at
        for at in {near[place] for place in larger}
        if len(_like(shown, at, shown[at]))
        >= sum(
            place not in larger and abs(at - place) < A_WEEK and same_load(shown[at], known[place])
            for place in near
        )
    }
    hours = list(profile.hours)
    for place in larger:
        one = shown[near[place]]
        if near[place] in mostly:
            hours[place] = known[place]._replace(
                touched_minutes=known[place].busy_minutes,
                limit_iops=one.limit_iops,
                limit_mibps=one.limit_mibps,
            )
    return LoadProfile(start=profile.start, hours=tuple(hours))


def _like(shown: Mapping[int, ProfileHour], place: int, hour: ProfileHour) -> list[int]:
    """The places within a week of those of the hours that had the same load."""
    return [at for at, one in shown.items() if abs(at - place) < A_WEEK and same_load(one, hour)]


def _surely_touched(limits: LimitHistory, begin: float, hour: ProfileHour) -> bool:
    """Whether the limits that an hour touched were in force from its begin on, and not those of a change of it."""
    iops, mibps = limits.at(begin - 1, (0.0, 0.0), empty=False)
    lasting = limits.at(begin - 1, (0.0, 0.0), empty=True) == (iops, mibps)
    return lasting and hour.limit_iops <= iops * LARGER and hour.limit_mibps <= mibps * LARGER


def _middle(profile: LoadProfile, place: int) -> float:
    """The middle of an hour as a POSIX timestamp."""
    return (profile.start + place * HOUR + HOUR / 2).timestamp()


def same_load(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two loads are about as high: hours, or IOPS and MiB/s alone."""
    iops, mibps, other_iops, other_mibps = *one[:2], *other[:2]
    return (ALIKE * iops <= other_iops and ALIKE * other_iops <= iops) and (
        ALIKE * mibps <= other_mibps and ALIKE * other_mibps <= mibps
    )


def _larger(limits: LimitHistory, at: float, hour: ProfileHour, shown: ProfileHour) -> bool:
    """Whether every limit that `shown` touched was larger in another hour."""
    iops, mibps = limits.at(at, (hour.peak_iops, hour.peak_mibps), empty=False)
    return (not shown.limit_iops or iops > shown.limit_iops * LARGER) and (
        not shown.limit_mibps or mibps > shown.limit_mibps * LARGER
    )


def belief_above_limits(past: Past, anyhow: float) -> Belief:
    """How far load above a limit that was touched is still believed in.

    Less with every hour in which more was served freely, busy or not, and with every day that runs clear for longer
    than load ever stayed away before. A visible load that skips one turn lowers the belief in its rhythm,
    not in its height. It may stay away twice as long, less so the more of it follows no rhythm (`anyhow`).
    What comes every day is soon seen again.
    """
    hours, numbers = past.numbered
    minutes = [hour.touched_minutes for hour in hours]
    if not any(minutes):
        return WHOLE
    touched = [hour for hour in hours if hour.touched_minutes]
    others = [hour for hour in past.profile.hours if hour is not None and not hour.touched_minutes]
    places = [place for place, number in numbers.items() if minutes[number]]
    usual = max([after - before for before, after in pairwise(places)], default=0)
    since = past.profile.hours[places[-1] + 1 :]
    hidden = sum(map(hidden_in_its_minutes, touched)) / len(touched)
    may_stay_away = usual * (1.0 + (1.0 - hidden) * (1.0 - anyhow) if usual > HOURS else 1.0)
    clear = max(0.0, len(since) - since.count(None) - may_stay_away) / 24
    limit_iops = max([hour.limit_iops for hour in touched]) * SEEN_ABOVE
    limit_mibps = max([hour.limit_mibps for hour in touched]) * SEEN_ABOVE
    doubt = 1.0 + CLEAR_DAYS * clear
    return Belief(
        1.0 / (doubt + sum([hour.peak_iops > limit_iops for hour in others])),
        1.0 / (doubt + sum([hour.peak_mibps > limit_mibps for hour in others])),
    )
