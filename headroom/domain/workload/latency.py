"""Latency of operations, from queue length and rate by Little's law.

This saves the CloudWatch metrics that would otherwise be read and paid for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from statistics import median

from headroom.domain.resources import Observation, VolumeActivity
from headroom.domain.state import LimitHistory
from headroom.domain.workload.demand import Minute

SLOW = 5.0
"""Latency over the resource's own calm latency from which operations wait for a limit."""
LEAST_SLOW_MS = 10.0
LEAST_OUTSTANDING = 0.5
"""Operations under way at a time, in the mean, below which no load is held back."""
LEAST_WAIT_MS = 2.0
"""No shorter latency shows that operations wait."""
FLOWS, FREE_AT = 1.15, 0.6
"""Latency over that of minutes below this share of a limit up to which nothing waits at the limit itself:
load that just fits. A pool would lose a seventh at most."""
LEAST_CALM = 10
"""Calm minutes that make a latency the resource's own; with fewer, SSD_CALM_MS."""
SSD_CALM_MS, HDD_CALM_MS = 2.0, 16.0
BUSY_IOPS = 10.0
"""With fewer operations a second one slow query makes the mean."""
_MS_PER_S = 1_000
LATELY = timedelta(minutes=30)
FAR_BELOW = 0.25
"""Share of the limits below which slow operations have another cause than the load."""
LARGER_IO = 2.0
"""Operations this many times as large take longer by themselves."""
MISSED_DAYS = 3
"""Days of which each must have missed the owner's objective before a type is bought that stays for good."""
LARGE_SLOW_MS, LARGE_QUEUE = 200.0, 128.0
"""Longer than large operations take by themselves (64 outstanding of 256 KiB take 128 ms at 125 MiB/s), and more of
them than workers who read the first blocks of a snapshot, each of which is as slow by itself."""


def periods_below(
    history: VolumeActivity, share: float, limits: tuple[float, float]
) -> list[tuple[float, float, float, int]]:
    """The periods of a history below a share of IOPS and MiB/s: latency in ms, IOPS and MiB/s, place in the history."""
    iops, mibps = share * limits[0], share * limits[1]
    periods = zip(
        history.latency_ms.values, history.read_iops.values, history.write_iops.values,
        history.read_mibps.values, history.write_mibps.values, strict=False,
    )  # fmt: skip
    return [
        (latency, reads + writes, read_mibps + write_mibps, place)
        for place, (latency, reads, writes, read_mibps, write_mibps) in enumerate(periods)
        if latency is not None
        and reads is not None
        and writes is not None
        and read_mibps is not None
        and write_mibps is not None
        and reads + writes < iops
        and read_mibps + write_mibps < mibps
    ]


def free_latency_ms(
    history: VolumeActivity, limits: LimitHistory,
    below: Sequence[tuple[float, float, float, int]] | None = None,
) -> float:  # fmt: skip
    """`flows_up_to_ms` by the periods of a history that are below every limit that was in force.

    Where none are, because little was left lately, by those below the one that was in force then. `below` are
    the `periods_below` a share FREE_AT of them, where the caller has these.
    """
    if not limits.ssd:
        return 0.0
    if below is None:
        below = periods_below(history, FREE_AT, limits.lowest)
    return flows_up_to_ms(latency for latency, *_ in below) or flows_up_to_ms(
        _below_in_force(history, FREE_AT, limits)
    )


def _below_in_force(history: VolumeActivity, share: float, limits: LimitHistory) -> Iterator[float]:
    """The latencies in ms of the periods below a share of the limits that were in force in each."""
    begin, step = history.read_iops.start.timestamp(), history.read_iops.period_s
    for latency, iops, mibps, place in periods_below(history, 1.0, (inf, inf)):
        most_iops, most_mibps = limits.at(begin + place * step, (iops, mibps), empty=True)
        if iops < share * most_iops and mibps < share * most_mibps:
            yield latency


def flows_up_to_ms(free: Iterable[float]) -> float:
    """The latency in ms up to which nothing waits at a limit, by latencies below it; 0 where they show none.

    By the lower ones: bursts inside their minutes may have made the others wait. No latency is none.
    """
    found = sorted(ms for ms in free if ms > 0)
    if len(found) < LEAST_CALM or found[len(found) // 10] >= LEAST_SLOW_MS:
        return 0.0
    return FLOWS * found[len(found) // 10]


def usual_latency_ms(calm: Iterable[float], *, hdd: bool = False) -> float:
    """The median of calm latencies, in ms; the type's own where there are too few."""
    found = sorted(calm)
    if len(found) < LEAST_CALM:
        return HDD_CALM_MS if hdd else SSD_CALM_MS
    return found[len(found) // 2]


def large_waits(latency_ms: float, ops: float) -> bool:
    """Whether large operations (`ops` a second) wait for a limit: for longer, and more of them, than by themselves."""
    return latency_ms > LARGE_SLOW_MS and latency_ms * ops > LARGE_QUEUE * _MS_PER_S


def slowest_ms(minutes: Iterable[tuple[float | None, float | None, float | None]]) -> float | None:
    """Highest mean latency in ms of busy minutes of (read IOPS, write IOPS, queue); None of none."""
    found = (
        _MS_PER_S * queue / ((reads or 0.0) + (writes or 0.0))
        for reads, writes, queue in minutes
        if queue is not None and (reads or 0.0) + (writes or 0.0) >= BUSY_IOPS
    )
    return max(found, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowBelowLimits:
    """Slow minutes in which no limit was touched."""

    minutes: int
    latency_ms: float
    """Their median latency."""
    calm_ms: float
    """The resource's own latency of earlier, calm minutes; the objective where the owner set one."""
    share: float
    """The most of any limit that they used, 0 to 1."""


def _calm_of_days(observation: Observation) -> tuple[float, float] | None:
    """The usual latency in ms, and MiB of an operation, of earlier busy periods far below every limit; None of few."""
    history = observation.history
    if history is None:
        return None
    calm = [
        (latency, mibps / ops)
        for latency, ops, mibps, _ in periods_below(
            history, FAR_BELOW, LimitHistory(observation, ()).lowest
        )
        if ops >= BUSY_IOPS
    ]
    if len(calm) < LEAST_CALM:
        return None
    return median(latency for latency, _ in calm), median(size for _, size in calm)


def slow_below_limits(
    observation: Observation, seen: Sequence[Minute], *, objective_ms: float | None
) -> SlowBelowLimits | None:
    """The slow minutes of the last half hour if they are most of it; None otherwise.

    Slow is above the owner's objective, else far above the resource's own latency of the hours
    or days before: what has been slow for hours is not usual yet. With fewer operations a second than
    BUSY_IOPS one slow query makes the mean.
    """
    busy = [
        m
        for m in seen
        if m.latency_ms is not None
        and m.ops >= BUSY_IOPS
        and not (m.iops_pressed or m.mibps_pressed)
    ]
    since = observation.at - LATELY
    lately = [m for m in busy if m.at >= since]
    least_ms = LEAST_SLOW_MS if objective_ms is None else objective_ms
    if sum((m.latency_ms or 0.0) > least_ms for m in lately) < LEAST_CALM:
        return None
    before = [m for m in busy if m.at < since]
    of_days = _calm_of_days(observation) if objective_ms is None else None
    usual = [] if of_days is None else [of_days]
    if objective_ms is None and len(before) >= LEAST_CALM:
        usual.append(
            (median(m.latency_ms or 0.0 for m in before), median(m.mibps / m.ops for m in before))
        )
    if objective_ms is None and not usual:
        return None
    calm_ms = min((ms for ms, _ in usual), default=0.0)
    slow_ms = max(least_ms, SLOW * calm_ms)
    slow = [m for m in lately if (m.latency_ms or 0.0) > slow_ms]
    if len(slow) < LEAST_CALM or 2 * len(slow) < len(lately):
        return None
    share = max(max(m.iops / m.iops_limit, m.mibps / m.mibps_limit) for m in slow)
    size = median(m.mibps / m.ops for m in slow)
    large = any(size > LARGER_IO * mib for _, mib in usual)
    if objective_ms is None and (share >= FAR_BELOW or large):
        return None  # a batch with large or many operations takes its time
    return SlowBelowLimits(
        minutes=len(slow),
        latency_ms=median(m.latency_ms or 0.0 for m in slow),
        calm_ms=calm_ms if objective_ms is None else objective_ms,
        share=share,
    )


def waits_from_ms(observation: Observation) -> float:
    """From what latency on operations of a volume are known to wait: twice as long as usual, where that is known."""
    latency = (observation.history or observation.activity).latency_ms
    known = sorted(latency.known())
    usual = known[len(known) // 2] if len(known) >= LEAST_CALM else LEAST_SLOW_MS
    return min(LEAST_SLOW_MS, max(LEAST_WAIT_MS, 2 * usual))


def is_waiting(minute: Minute, slow_ms: float) -> bool:
    """Whether there were operations that are known to have taken so long, by Little's law, and enough of them to wait."""
    waited = (
        minute.latency_ms if minute.queue is None else _MS_PER_S * minute.queue / max(1, minute.ops)
    )
    if waited is None or waited < slow_ms:
        return False
    return minute.ops >= 1 and minute.ops * waited >= _MS_PER_S * LEAST_OUTSTANDING


def missed_for_days(observation: Observation, objective_ms: float) -> bool:
    """Whether busy periods of an hour in all took longer than the owner's objective in each of the last three days.

    So is no incident, and mostly no first reads of a volume made from a snapshot.
    """
    history = observation.history
    if history is None:
        return False
    an_hour = 3_600 // history.read_iops.period_s
    end = len(history.read_iops.values)
    slow = Counter(
        (end - place - 1) // (24 * an_hour)
        for latency, ops, _, place in periods_below(
            history, 1.0, LimitHistory(observation, ()).lowest
        )
        if ops >= BUSY_IOPS and latency > objective_ms
    )
    return all(slow[ago] >= an_hour for ago in range(MISSED_DAYS))
