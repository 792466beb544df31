"""Demand ratios: demand over served load, by small estimators with one kind of evidence each.

A ratio of 1 is what was served at the limit. Where the device's queue is cut off, a backlog grows
unseen, and the queue shows only part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from math import ceil
from statistics import mean, median
from typing import NamedTuple

from headroom.domain.workload.demand import Minute

MAX_VISIBLE_QUEUE = 1024.0
"""Most operations that an EBS device reports as waiting; more wait unseen in the application."""
QUEUE_FULL = 0.97
"""Share of that from which a queue counts as cut off."""
MAX_RATIO = 16.0
"""Upper estimate over what was served where queue and latency give no bound."""
TYPICAL_RATIO = 1.8
"""Median demand of a censored load over what it got: the median of a Pareto tail of 1.2."""
GROWTH_WEIGHT = 0.9
CUT_WEIGHT = 0.5
"""Weight of growth that was observed before the queue was cut off."""
WHOLE_STEPS = 2
"""Complete steps from minute to minute that are enough to measure a queue's growth."""
BURST_WEIGHT = 0.6
MOST_OF_BURSTS = 0.9
CLIENTS_QUEUE, HARDLY_ABOVE, LONG_S, EVEN = 32.0, 1.05, 10.0, 2.0
"""From so many waiting operations on, in long bursts hardly above a limit, clients bound the queue: 32, 64 or 128 each.
Then it is about as long in each, within a factor."""
BEFORE, AFTER = timedelta(minutes=30), timedelta(minutes=60)
"""The same hours: from half an hour before this time of day to an hour after it."""
WEEKLY = 2.0
ABOVE = 1.02
"""Earlier days are evidence of higher demand only if they reached this factor more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandRatio:
    """Demand over served load by one kind of evidence.

    `least` is the lowest consistent ratio, `likely` the best estimate with a `weight` from 0 (a
    guess) to 1 (known), `upper` a bound.
    """

    least: float = 1.0
    likely: float = 1.0
    upper: float = MAX_RATIO
    weight: float = 0.0
    source: str = ""


def ratio_from_queue_growth(pressed: Sequence[Minute]) -> DemandRatio | None:
    """Served plus growth of the queue is the arrival rate of an open load, while it can be seen.

    None when the queue does not grow, or is cut off in all but one minute of those saturated.
    """
    whole: list[float] = []
    cut: list[float] = []
    seen = [m for m in pressed if m.saturated and m.queue is not None and m.ops > 0]
    for before, after in pairwise(seen):
        if (
            before.queue is None
            or after.queue is None
            or before.queue >= QUEUE_FULL * MAX_VISIBLE_QUEUE
        ):
            continue
        seconds = (after.at - before.at).total_seconds()
        rate = 1 + (after.queue - before.queue) / seconds / after.ops
        (cut if after.queue >= QUEUE_FULL * MAX_VISIBLE_QUEUE else whole).append(rate)
    ratio = mean(whole or cut or [1.0])
    if ratio <= 1.0:
        return None
    if len(whole) < WHOLE_STEPS:  # it kept growing unseen
        return DemandRatio(least=ratio, likely=ratio, source="queue growth, cut off")
    weight = CUT_WEIGHT if cut else GROWTH_WEIGHT
    return DemandRatio(least=ratio, likely=ratio, weight=weight, source="queue growth")


def ratio_from_earlier_days(levels: Sequence[float], served: float) -> DemandRatio | None:
    """The ratio from the same hours of earlier days, if they took more than `served`.

    The second highest day counts, so that one outlier does not; None if no day took more.
    """
    higher = sorted((level for level in levels if level >= ABOVE * served), reverse=True)
    if not higher or not served:
        return None
    likely = higher[min(1, len(higher) - 1)] / served
    return DemandRatio(
        least=likely if len(higher) > 1 else 1.0,
        likely=likely,
        upper=max(MAX_RATIO, higher[0] / served),
        weight=len(higher) / (len(higher) + 1),
        source=f"same hours of {len(higher)} earlier days",
    )


def same_hours(
    earlier: Sequence[Minute], now: datetime, *, by_iops: bool, least: float = 0.0
) -> tuple[float, ...]:
    """The most that each earlier day took (EBS operations/s, else MiB/s) about this time of day.

    At a limit only where it took less than `least` at all others: under a raised limit, what waited is served there
    too. A day of this weekday is there twice if it took twice the usual: what comes once a week is no outlier on its day.
    """
    levels: dict[int, float] = {}
    free: dict[int, float] = {}
    before_s, after_s = BEFORE.total_seconds(), AFTER.total_seconds()
    for minute in earlier:
        ago_s = (now - minute.at).total_seconds()
        days = round(ago_s / 86_400)
        if days < 1 or not -before_s <= days * 86_400 - ago_s <= after_s:
            continue
        took = minute.ssd_iops if by_iops else minute.mibps
        levels[days] = max(levels.get(days, 0.0), took)
        if not minute.pressed:
            free[days] = max(free.get(days, 0.0), took)
    levels |= {day: took for day, took in free.items() if took >= least > 0}
    usual = median(levels.values()) if levels else 0.0
    return tuple(
        level
        for day, level in sorted(levels.items())
        for _ in range(2 if day % 7 == 0 and level >= WEEKLY * usual else 1)
    )


def ratio_from_bursts(
    bursts: Sequence[Minute], calm: Sequence[Minute], *, by_iops: bool
) -> DemandRatio | None:
    """How far bursts inside the minute went above the limit, from their share and their queue.

    Busy at the limit for `b` seconds, a burst of `t` seconds left a backlog that drained in the
    rest of them. Where the queue shows it whole, `t` follows; where it is cut off, by the device or the clients,
    any `t` is as likely as another and half of `b` is the median. Nine of ten bursts fit below `likely`.
    """
    idle_queue = median([m.queue for m in calm if m.queue is not None] or [0.0]) if calm else None

    @cache
    def rest(limit: float) -> float:
        return median([(m.iops if by_iops else m.mibps) / limit for m in calm]) if calm else 0.0

    rates = [(m.iops, m.iops_limit) if by_iops else (m.mibps, m.mibps_limit) for m in bursts]
    found = [
        _burst(minute, took, limit, rest(limit), idle_queue)
        for minute, (took, limit) in zip(bursts, rates, strict=True)
        if took and limit
    ]
    if not found:
        return None
    queues = [one.queue for one in found if one.queue]
    even = max(queues, default=0.0) <= EVEN * min(queues, default=0.0)
    place = ceil(MOST_OF_BURSTS * len(found)) - 1
    return DemandRatio(
        likely=sorted(one.usual if even and one.queue else one.likely for one in found)[place],
        upper=min(MAX_RATIO, max(one.upper for one in found)),
        weight=BURST_WEIGHT,
        source="bursts inside the minute",
    )


class _Burst(NamedTuple):
    """The likely ratio of a minute, its bound, and the usual one of a queue that is cut off."""

    likely: float
    upper: float
    usual: float
    queue: float = 0.0
    """The operations that waited at most, where clients may have bounded them; 0 where they did not."""


def _burst(
    minute: Minute, took: float, limit: float, rest: float, idle_queue: float | None
) -> _Burst:
    """What a minute with a burst inside says.

    `rest` is the share of the limit that calm minutes use, `idle_queue` their queue, None without any.
    """
    share = min(1.0, took / limit)
    rest = min(rest, share)
    busy_s = 60.0 if rest >= 1 else min(60.0, max(1.0, 60 * (share - rest) / (1 - rest)))
    usual = 2 - rest
    upper = min(MAX_RATIO, max(usual, rest + (1 - rest) * busy_s))
    if minute.queue is None or not minute.ops or idle_queue is None:
        # without a calm minute, bursts cannot be separated from the rest
        return _Burst(usual, upper, usual)
    peak = 2 * 60 * max(0.0, minute.queue - idle_queue) / busy_s
    if peak >= QUEUE_FULL * MAX_VISIBLE_QUEUE:
        return _Burst(usual, upper, usual)
    drain_s = peak / (minute.ops / took * limit * (1 - rest)) if rest < 1 else 0.0
    burst_s = busy_s - drain_s
    if burst_s <= 0:
        return _Burst(upper, upper, usual)
    ratio = 1 + peak / (minute.ops / took * limit * burst_s)
    bounded = ratio < HARDLY_ABOVE and peak >= 2 * CLIENTS_QUEUE and busy_s >= LONG_S
    return _Burst(min(upper, ratio), upper, max(ratio, usual), peak if bounded else 0.0)


def ratio_from_ended_pressure(runs_min: Sequence[float], rest: float) -> DemandRatio | None:
    """Pressure that ended by itself: all that arrived in it was served before it ended.

    On average the load of such a run is what was served; how much of the run it took to arrive is
    open, half of it is the median. `rest` is the share of the limit that is used at other times.
    """
    if not runs_min:
        return None
    usual = 2 - min(1.0, rest)
    upper = rest + (1 - rest) * max(runs_min) * 60
    return DemandRatio(
        likely=usual, upper=min(MAX_RATIO, max(usual, upper)), weight=BURST_WEIGHT,
        source="pressure that ended by itself",
    )  # fmt: skip


def littles_law_bound(free: Sequence[Minute], pressed: Sequence[Minute]) -> float:
    """Most the load could be over what it got, by Little's law; never a target.

    No bound where the queue is cut off: the rest of it waits unseen.
    """
    queues = [m.queue for m in pressed if m.queue is not None]
    calm = [m.latency_ms for m in free if m.latency_ms and m.ops > 1]
    took = mean(m.ops for m in pressed) if pressed else 0.0
    if not queues or not calm or not took or max(queues) >= QUEUE_FULL * MAX_VISIBLE_QUEUE:
        return MAX_RATIO
    return min(MAX_RATIO, max(1.0, median(queues) / (median(calm) / 1000) / took))


def combine_ratios(reaches: Sequence[DemandRatio | None], bound: float) -> DemandRatio:
    """All evidence combined: the highest certain ratio and the highest likely one.

    Without evidence the typical excess of a censored load, at most `bound`.
    """
    known = [r for r in reaches if r is not None]
    least = max((r.least for r in known), default=1.0)
    informative = [r for r in known if r.weight > 0]
    upper = max(least, min(bound, max((r.upper for r in informative), default=MAX_RATIO)))
    likely = max((r.likely for r in informative), default=min(TYPICAL_RATIO, upper))
    return DemandRatio(
        least=least,
        likely=max(least, likely),
        upper=max(least, likely, upper),
        weight=max((r.weight for r in informative), default=0.0),
        source=", ".join(r.source for r in known),
    )
