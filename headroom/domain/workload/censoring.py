"""Censoring: the demand of a load that a limit held back. Served load at a limit is only a floor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import mean, median

from headroom.domain.workload.demand import AT_LIMIT, Estimate, LoadShape, Minute
from headroom.domain.workload.demand_ratio import (
    ABOVE,
    MAX_RATIO,
    MAX_VISIBLE_QUEUE,
    QUEUE_FULL,
    DemandRatio,
    combine_ratios,
    littles_law_bound,
    ratio_from_bursts,
    ratio_from_earlier_days,
    ratio_from_ended_pressure,
    ratio_from_queue_growth,
    same_hours,
)
from headroom.domain.workload.worker_pool import Pool, worker_pool

CENSORED_TAIL = 1.2
"""Tail of demand above a limit it touched; heavy, as storage load is (Pareto)."""
LIKELY_POOL = 0.5
SEEN_FREE = 1.02
RUN_GAP_MIN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandEstimate:
    """Demanded rates, in SSD operations/s and MiB/s, and the basis of the estimate."""

    iops: Estimate
    mibps: Estimate
    tail: float
    shape: LoadShape
    backlog_ops: float = 0.0
    weight: float = 1.0
    basis: str = ""
    pool: float = 0.0
    """Probability that the load is a pool of workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandSamples:
    """The minutes to estimate from. `informative` touched a limit, in this episode or before.

    `ongoing` is the whole present run of pressure, gaps included; empty without one. `earlier`, about
    this time of earlier days, is read only where nothing is more certain, and only as far as it may have
    taken so much: EBS operations/s, else MiB/s.
    """

    at: datetime
    seen: Sequence[Minute]
    earlier: Callable[[bool, float], Sequence[Minute]]
    ongoing: Sequence[Minute]
    informative: Sequence[Minute]


def estimate_demand(basis: DemandSamples) -> DemandEstimate:
    """The demand of the load: all that was served, unless a limit was touched.

    From the most certain basis to the least: the same load without pressure, a pool of workers,
    evidence of how much more it wants, and the typical excess of a censored load.
    """
    informative = basis.informative
    if not informative:
        iops, mibps = (_known(most) for most in _most(_undrained(basis.seen)))
        return DemandEstimate(iops=iops, mibps=mibps, tail=0.0, shape=_shape(basis))
    free = [m for m in basis.seen if not m.pressed]
    peak = _most(free)
    at = _reached(informative, basis.ongoing)
    if all(p >= SEEN_FREE * a for p, a in zip(peak, at, strict=True)):
        # The same load ran without pressure before: credits ran out, or a limit was lowered.
        return DemandEstimate(
            iops=_known(max(peak[0], at[0])), mibps=_known(max(peak[1], at[1])), tail=0.0,
            shape=LoadShape.CENSORED, basis="the same load seen free",
        )  # fmt: skip
    pool = worker_pool(free, informative)
    if pool is not None and pool.probability >= LIKELY_POOL:
        return _of_pool(pool, at, peak, informative)
    ratio = _reach(basis, free, at)
    binds = _binds(informative)
    during = {m.at for m in basis.ongoing}
    peak = _most([m for m in basis.seen if m.at not in during])
    iops, mibps = (
        _censored(a, p, ratio, bound) for a, p, bound in zip(at, peak, binds, strict=True)
    )
    return DemandEstimate(
        iops=iops, mibps=mibps, tail=CENSORED_TAIL, shape=LoadShape.CENSORED,
        backlog_ops=_backlog(basis.ongoing, iops.likely), weight=ratio.weight,
        basis=ratio.source, pool=0.0 if pool is None else pool.probability,
    )  # fmt: skip


def _undrained(seen: Sequence[Minute]) -> list[Minute]:
    """All minutes except those pressed under a raised limit, which may drain a backlog."""
    first = next((m for m in seen if m.iops_pressed or m.mibps_pressed), None)
    if first is None:
        return list(seen)
    iops, mibps = first.iops_limit * SEEN_FREE, first.mibps_limit * SEEN_FREE
    return [m for m in seen if not m.pressed or (m.iops_limit <= iops and m.mibps_limit <= mibps)]


def _most(among: Sequence[Minute]) -> tuple[float, float]:
    return (
        max([m.ssd_iops for m in among], default=0.0),
        max([m.mibps for m in among], default=0.0),
    )


def iops_share(pressed: Sequence[Minute]) -> float:
    """Share of pressed minutes that IOPS held back; minutes that both did count half."""
    held = [(m.iops_pressed, m.mibps_pressed) for m in pressed if m.pressed]
    if not held:
        return 1.0
    return sum(1.0 if not tput else 0.5 if ops else 0.0 for ops, tput in held) / len(held)


def _binds(informative: Sequence[Minute]) -> tuple[bool, bool]:
    return any(m.iops_pressed for m in informative), any(m.mibps_pressed for m in informative)


def _reach(basis: DemandSamples, free: Sequence[Minute], at: tuple[float, float]) -> DemandRatio:
    informative = basis.informative
    by_iops = iops_share(informative) >= 0.5
    served = at[0] if by_iops else at[1]
    earlier = basis.earlier(by_iops, ABOVE * served)
    # Periods of earlier days are too long to show bursts.
    lately = bool(basis.seen) and informative[0].at >= basis.seen[0].at
    bursts = [m for m in informative if not m.saturated and lately]
    reaches = [
        ratio_from_queue_growth(informative) if basis.ongoing else None,
        ratio_from_earlier_days(
            same_hours(earlier, basis.at, by_iops=by_iops, least=ABOVE * served), served
        ),
        ratio_from_bursts(bursts, free, by_iops=by_iops)
        if 2 * len(bursts) >= len(informative)
        else None,
        None
        if basis.ongoing or not lately
        else ratio_from_ended_pressure(_runs(informative), _rest(free, informative, by_iops)),
    ]
    found = combine_ratios(reaches, littles_law_bound(free, informative))
    if any(m.iops_reached or m.mibps_reached for m in informative):
        return found
    return replace(found, least=1.0)  # an average near a limit does not prove that it was reached


def _runs(informative: Sequence[Minute]) -> list[float]:
    """Lengths in minutes of the runs of saturated minutes."""
    found: list[float] = []
    last: datetime | None = None
    for minute in informative:
        if not minute.saturated:
            continue
        if last is None or (minute.at - last).total_seconds() > RUN_GAP_MIN * 60:
            found.append(0.0)
        found[-1] += 1
        last = minute.at
    return found


def _rest(free: Sequence[Minute], informative: Sequence[Minute], by_iops: bool) -> float:
    limit = max(m.iops_limit if by_iops else m.mibps_limit for m in informative)
    rates = [m.iops if by_iops else m.mibps for m in free]
    return min(1.0, median(rates) / limit) if rates and limit else 0.0


def _reached(informative: Sequence[Minute], ongoing: Sequence[Minute]) -> tuple[float, float]:
    """IOPS and MiB/s the load reached: a check of 1 at a low average means it reached the limit.

    A burst of operations has its bytes with it; a burst of bytes is large I/O and no evidence of
    more operations than were served.
    """
    by_iops = [m for m in informative if m.iops_pressed]
    by_mibps = [m for m in informative if m.mibps_pressed]
    beside = by_mibps or ([] if by_iops else informative)
    iops = mean(m.ssd_iops for m in beside) if beside else 0.0
    sized = [m.mibps for m in by_iops or informative if m.bytes_known]
    mibps = mean(sized) if sized else 0.0
    if by_iops:
        took = mean(m.ssd_iops for m in by_iops)
        most = max(_iops_reached(m) for m in by_iops)
        reached = min(most, _arrived(ongoing, most, by_iops=True))
        iops = max(iops, reached)
        carried = mibps * (reached / took if took else 1.0)
        mibps = max(mibps, min(carried, max(m.mibps_limit for m in by_iops)))
    if by_mibps:
        most = max(_mibps_reached(m) for m in by_mibps)
        reached = min(most, _arrived(ongoing, most, by_iops=False))
        mibps = max(mibps, reached)
        # MiB/s that only a burst touched have other operations beside them: they say nothing of its size.
        whole = [m for m in by_mibps if m.mibps >= AT_LIMIT * m.mibps_limit > 0]
        if whole:
            per_mib = sum(m.ssd_iops for m in whole) / sum(m.mibps for m in whole)
            iops = max(iops, per_mib * reached)
    return iops, mibps


def _iops_reached(minute: Minute) -> float:
    if not minute.iops_reached or not minute.iops:
        return max(minute.ssd_iops, minute.iops_limit if minute.iops_reached else 0.0)
    return minute.ssd_iops * max(1.0, minute.iops_limit / minute.iops)


def _mibps_reached(minute: Minute) -> float:
    if not minute.mibps_reached:
        return minute.mibps
    if minute.ssd_iops != minute.iops and minute.iops:  # HDD: small random I/O costs a MiB each
        return minute.mibps * max(1.0, minute.mibps_limit / minute.iops)
    return max(minute.mibps, minute.mibps_limit)


def _arrived(ongoing: Sequence[Minute], most: float, *, by_iops: bool) -> float:
    """The least that arrived under a limit that was raised meanwhile.

    The earlier backlog is served first, so load at the new limit does not prove higher demand.
    """
    pressed = [m for m in ongoing if (m.iops_pressed if by_iops else m.mibps_pressed)]
    limits = [m.iops_limit if by_iops else m.mibps_limit for m in pressed]
    if not limits or max(limits) <= limits[0] * SEEN_FREE:
        return most
    reached = _iops_reached if by_iops else _mibps_reached
    arrived = max(
        reached(m) for m, limit in zip(pressed, limits, strict=True) if limit <= limits[0]
    )
    total = 0.0
    for count, minute in enumerate(ongoing, start=1):
        total += minute.ssd_iops if by_iops else minute.mibps
        arrived = max(arrived, total / count)
    return arrived


def _of_pool(
    pool: Pool, at: tuple[float, float], peak: tuple[float, float], informative: Sequence[Minute]
) -> DemandEstimate:
    """The demand of a pool: from what it has to the rate at which no limit would slow it down."""
    binds = _binds(informative)
    each = [
        Estimate(
            floor=max(a, p), least=max(a, p), likely=max(a, p), upper=max(a, p) * pool.natural,
            censored=bound,
        )
        for a, p, bound in zip(at, peak, binds, strict=True)
    ]  # fmt: skip
    return DemandEstimate(
        iops=each[0], mibps=each[1], tail=CENSORED_TAIL, shape=LoadShape.CLOSED_LOOP,
        weight=pool.probability, pool=pool.probability,
        basis=f"about {pool.outstanding:.0f} operations outstanding all the time",
    )  # fmt: skip


def _backlog(ongoing: Sequence[Minute], likely_iops: float) -> float:
    """Waiting operations if the load has been `likely_iops` since pressure began."""
    waiting = 0.0
    ends = [m.at for m in ongoing]
    for i, minute in enumerate(ongoing):
        seconds = (ends[i + 1] - ends[i]).total_seconds() if i + 1 < len(ends) else 60.0
        if minute.saturated:
            waiting = max(0.0, waiting + (likely_iops - minute.ssd_iops) * seconds)
    newest = ongoing[-1] if ongoing else None
    if newest is None or not newest.saturated or not newest.ops:
        return 0.0  # a burst inside the minute is served within it
    if newest.queue is not None:
        visible = newest.queue * newest.ssd_iops / newest.ops
        # A queue that is not cut off is all there is.
        waiting = (
            visible if newest.queue < QUEUE_FULL * MAX_VISIBLE_QUEUE else max(visible, waiting)
        )
    return round(waiting, 1)


def _known(value: float) -> Estimate:
    return Estimate(floor=value, likely=value, upper=value, censored=False, least=value)


def _censored(at: float, peak: float, ratio: DemandRatio, binds: bool) -> Estimate:
    floor = max(at, peak)
    least = max(floor, at * ratio.least)
    likely = max(least, at * ratio.likely)
    return Estimate(
        floor=floor,
        least=least,
        likely=likely,
        upper=max(likely, at * min(ratio.upper, max(MAX_RATIO, ratio.likely))),
        censored=binds,
        indicated=at * ratio.likely if ratio.weight else 0.0,
        weight=ratio.weight,
    )


def _shape(basis: DemandSamples) -> LoadShape:
    if not basis.seen:
        return LoadShape.UNKNOWN
    return LoadShape.IDLE if max([m.iops for m in basis.seen]) < 1 else LoadShape.UNCONSTRAINED
