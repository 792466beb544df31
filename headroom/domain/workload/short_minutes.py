"""The shortfall of one hour of the past if a configuration had served it.

The shortfall of a minute is what was due by its end and not served, as a share of what was due in
it, at most 1. An open load's backlog soon makes that 1; see docs/decisions for the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from math import inf
from typing import NamedTuple

from headroom.domain.state import ProfileHour
from headroom.domain.workload.demand import INSIDE, INSIDE_FALLS, Demand, Level

BUSY_SHARE = 0.7
"""Load of the busy minutes lies between this share of the peak and the peak."""
MIDDLE = (1 + BUSY_SHARE) / 2
"""The middle of these shares."""
TOUCHED_TAIL = 1.2
"""P(demand that touched a limit exceeds r times it) = r ** -tail."""
SEEN_ABOVE = 1.02
SATURATED = 0.9
REACTION_MIN = 16.0
"""Minutes that an unforeseen overload starves before a raise takes effect: two pressed minutes,
metrics two minutes late, ten minutes to effect."""
MOST_DRAINED_MIN = 120.0
"""After this time another raise is possible."""
FULL = 1.03
"""A rate up to so much above the mean of a load leaves no room to drain what waits beside it."""
EFFECT_MIN = 10.0
"""From a change to its effect, by AWS's word."""
LEAST_BUSY_MIN = 1.0
A_DAY = 24.0


class Belief(NamedTuple):
    """How far an IOPS limit and a MiB/s limit that were touched still prove demand above them, 0 to 1."""

    iops: float = 1.0
    mibps: float = 1.0


WHOLE = Belief()


def shortfalls(
    hours: Sequence[ProfileHour], iops: float, mibps: float, *, belief: Belief = WHOLE,
    lasting: Sequence[float] | None = None,
) -> list[float]:  # fmt: skip
    """`short_minutes` of each hour; most are served whole. `lasting` is how many hours in a row were busy."""
    return [
        short_minutes(hour, iops, mibps, belief=belief, lasting=hours_in_a_row)
        if hour[0] > iops or hour[1] > mibps or hour[5]  # its peaks, and minutes at a limit
        else 0.0
        for hour, hours_in_a_row in zip(hours, lasting or repeat(1.0), strict=False)
    ]


def short_minutes(
    hour: ProfileHour, iops: float, mibps: float, *, belief: Belief = WHOLE, lasting: float = 1.0
) -> float:
    """Minutes of shortfall, 0 to 60, of an hour at sustained IOPS and MiB/s.

    Of an hour that is overloaded in the mean, as are others of `lasting` in a row, the backlog is left to
    the next.
    """
    # Called for every busy hour of the past at every level: plain comparisons take half the time.
    peak_iops, peak_mibps, mean_iops, mean_mibps, busy, touched, _, _, _ = hour
    by_iops, by_mibps = peak_iops / iops, peak_mibps / mibps
    peak, found = by_iops if by_iops > by_mibps else by_mibps, 0.0
    if peak > 1.0:
        by_iops, by_mibps = mean_iops / iops, mean_mibps / mibps
        mean = by_iops if by_iops > by_mibps else by_mibps
        found = _overloaded(peak, mean, busy if busy > LEAST_BUSY_MIN else LEAST_BUSY_MIN)
        if mean > 1.0:
            found = max(found, late_minutes(60 * lasting, mean - 1.0) / lasting)
    if touched:
        above = touched * above_a_limit(hour, iops, mibps, belief)
        found = above if above > found else found
    return found if found < 60.0 else 60.0


def drained_minutes(
    hour: ProfileHour, iops: float, mibps: float, *, lasting: float = 1.0, beside: float = 0.0
) -> float:
    """Minutes of shortfall after the last of `lasting` overloaded hours in a row, while what waits is drained.

    This hour's part of them, with load that takes the share `beside` then; by the same time of the next day
    it ends.
    """
    mean = max(hour.mean_iops / iops, hour.mean_mibps / mibps)
    if mean <= 1.0:
        return 0.0
    most = max(0.0, 60 * (A_DAY / lasting - 1.0))
    return min(60 * (mean - 1.0) / (1.0 - beside), most) if beside < 1.0 else most


def beside_overloads(
    hours: Sequence[ProfileHour], times: Sequence[int], days: float, iops: float, mibps: float
) -> tuple[float, float]:
    """Mean load of the hours that IOPS and MiB/s serve, as a share of them; and hours a day that they do not."""
    shares = [max(hour.mean_iops / iops, hour.mean_mibps / mibps) for hour in hours]
    served = [(share, count) for share, count in zip(shares, times, strict=True) if share <= 1.0]
    count_served = sum([count for _, count in served])
    load = sum([share * count for share, count in served]) / max(1, count_served)
    return load, max(1.0, (sum(times) - count_served) / max(1.0, days))


def waits_for_a_raise(
    hour: ProfileHour, late: tuple[float, float], then: tuple[float, float], reaction_min: float
) -> float:
    """Minutes after an overload in which a raise from `late` drains what came before it took effect.

    None where the load itself leaves room to drain it. In its minutes at a limit it took that at least.
    """
    at_limit = hour.touched_minutes / 60
    means = (
        max(hour.mean_iops, at_limit * hour.limit_iops),
        max(hour.mean_mibps, at_limit * hour.limit_mibps),
    )
    waits = [
        (mean - before) / after
        for mean, before, after in zip(means, late, then, strict=True)
        if before < mean and after < FULL * mean
    ]
    return reaction_min * max(waits, default=0.0)


def above_a_limit(hour: ProfileHour, iops: float, mibps: float, belief: Belief = WHOLE) -> float:
    """The probability that demand which touched a limit exceeded IOPS and MiB/s too.

    More of the same load has operations of the same size: the two limits serve one rate. A rate that is
    infinite is not asked for.
    """
    peak_iops, peak_mibps, _, _, _, _, limit_iops, limit_mibps, _ = hour
    if peak_iops and peak_mibps and iops < inf and mibps < inf:
        per_mib = peak_iops / peak_mibps
        by_mibps, by_iops = mibps * per_mib, iops / per_mib
        iops = by_mibps if by_mibps < iops else iops
        mibps = by_iops if by_iops < mibps else mibps
    # A limit proves nothing where the same hour shows the load above it, under another.
    touched = above = 0.0
    if limit_iops and peak_iops <= limit_iops * SEEN_ABOVE:
        touched = limit_iops / iops
        above = 1.0 if touched >= 1 else belief.iops * float(touched**TOUCHED_TAIL)
    if limit_mibps and peak_mibps <= limit_mibps * SEEN_ABOVE:
        by_mibps = limit_mibps / mibps
        touched = by_mibps if by_mibps > touched else touched
        also = 1.0 if by_mibps >= 1 else belief.mibps * float(by_mibps**TOUCHED_TAIL)
        above = also if also > above else above
    if above <= 0:
        return 0.0
    needed = SATURATED * touched
    hidden = peak_iops / iops < needed and peak_mibps / mibps < needed
    return above * INSIDE * float(min(1.0, touched) ** INSIDE_FALLS) if hidden else above


def backlog_minutes(
    demand: Demand, served: tuple[float, float], levels: Sequence[Level], late: Sequence[float],
    lasts_min: float,
) -> tuple[float, ...]:  # fmt: skip
    """By level: minutes in which what waits is drained beside the load, or after one that the level does not serve.

    From when a change has its effect on. `late` says how likely the load is above each level, `served` is what IOPS and
    MiB/s it gets now. A pool leaves nothing behind. Empty where nothing waits.
    """
    likely = demand.iops.likely
    if not demand.backlog_ops or not likely:
        return ()
    size = demand.mibps.likely / likely

    def rate(iops: float, mibps: float) -> float:
        return min(iops, mibps / size) if size else iops

    now = rate(*served)
    if likely <= now:
        return ()
    waited_min = demand.backlog_ops / (likely - now) / 60 + EFFECT_MIN
    rates = [rate(level.iops, level.mibps) for level in levels]
    loads, below = [], (now, 1.0)
    for most, share in sorted(zip(rates, late, strict=True)):
        if most > below[0] and share < below[1]:
            loads.append(((below[0] + most) / 2, below[1] - share))
            below = most, share
    loads.append((max(below[0], likely), below[1]))

    def drained(most: float, load: float) -> float:
        waits, spare = waited_min * (load - now), max(0.0, most - load)
        left = waits - spare * lasts_min
        return waits / spare if left < 0 else lasts_min * (spare > 0) + left / most

    return tuple(
        (1.0 - demand.pool) * sum([chance * drained(most, load) for load, chance in loads])
        for most in rates
    )


def shows_a_raise(hour: ProfileHour) -> bool:
    """Whether load that touched a limit was served above it in the same hour."""
    return hour.touched_minutes > 0 and (
        hour.peak_iops > hour.limit_iops * SEEN_ABOVE > 0
        or hour.peak_mibps > hour.limit_mibps * SEEN_ABOVE > 0
    )


def hidden_in_its_minutes(hour: ProfileHour) -> bool:
    """Whether limits were touched only in bursts that the means of minutes do not show."""
    return (hour.peak_iops < SATURATED * hour.limit_iops or not hour.limit_iops) and (
        hour.peak_mibps < SATURATED * hour.limit_mibps or not hour.limit_mibps
    )


def minutes_to_react(
    hour: ProfileHour,
    iops: float,
    mibps: float,
    reach: tuple[float, float],
    *,
    belief: Belief = WHOLE,
    reaction_min: float = REACTION_MIN,
) -> float:
    """Shortfall of an onset in `hour` at IOPS and MiB/s until a raise to `reach` has drained it.

    Until the raise takes effect ever more is late, then what waits is drained. What is above even
    `reach` comes on top.
    """
    peak_iops, peak_mibps, mean_iops, mean_mibps, busy, touched, _, _, _ = hour
    peak = max(peak_iops / iops, peak_mibps / mibps)
    before = min(reaction_min, max(LEAST_BUSY_MIN, busy, touched))
    mean = max(mean_iops / iops, mean_mibps / mibps)
    excess = max(0.0, MIDDLE * peak - 1, mean - 1)  # the busy minutes have at least the mean of all
    late = drained = 0.0
    if excess:
        raised = min(reach[0] / iops, reach[1] / mibps)
        drained = before * excess / max(0.1, raised - min(mean, raised))
        late = late_minutes(before, excess)
    if touched:  # how much more was due than the limit let through is unknown
        late = max(late, min(before, touched) * above_a_limit(hour, iops, mibps, belief))
    return late + min(MOST_DRAINED_MIN, drained)


def minutes_at_limit(hour: ProfileHour, iops: float, mibps: float) -> float:
    """Minutes of an hour in which its load, and what then waits of it, uses up IOPS or MiB/s."""
    peak_iops, peak_mibps, mean_iops, mean_mibps, busy, *_ = hour
    peak, mean = (
        max(peak_iops / iops, peak_mibps / mibps),
        max(mean_iops / iops, mean_mibps / mibps),
    )
    if peak <= 1.0:
        return 0.0
    above, _, draining = _above(peak, mean, max(busy, LEAST_BUSY_MIN))
    return above + draining


def _overloaded(peak: float, mean: float, busy: float) -> float:
    """Shortfall where the peak is above what is served; both as multiples of that."""
    above, excess, draining = _above(peak, mean, busy)
    backlog = excess * above
    return late_minutes(above, excess) + draining * (backlog if backlog < 1.0 else 1.0)


def _above(peak: float, mean: float, busy: float) -> tuple[float, float, float]:
    """Minutes of an hour above what is served, by how much in the mean, and minutes in which the backlog is drained."""
    usual = MIDDLE * peak
    rest, least = 1.0, BUSY_SHARE * peak
    if busy < 60:
        rest = (60 * mean - busy * usual) / (60 - busy)
        rest = rest if rest > 0.0 else 0.0
    elif 2 * mean - peak > least:
        least = 2 * mean - peak
    above = busy if least >= 1 else busy * (peak - 1) / (peak - least)
    excess = ((least if least > 1.0 else 1.0) + peak) / 2 - 1
    backlog, draining = excess * above, 60 - above
    if rest < 1 and backlog / (1 - rest) < draining:
        draining = backlog / (1 - rest)
    return above, excess, draining


def late_minutes(minutes: float, excess: float) -> float:
    """Shortfall of `minutes` in a row with `excess` more than is served: the backlog grows."""
    full_after = 1 / excess if excess else minutes
    if minutes <= full_after:
        return excess * minutes * minutes / 2
    return minutes - full_after / 2
