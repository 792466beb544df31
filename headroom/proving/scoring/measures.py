"""Measures of a run besides its score: episodes, slots, days left alone, depletions foreseen.

Definitions are this module's docstrings; the page and the documentation quote `DEFINITIONS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from headroom.domain.catalog import why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Decision
from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.scoring.rows import Measures
from headroom.proving.trials import TrialChange, TrialRun, UncontrolledVolume
from headroom.proving.workloads import Bools, Floats

DAY_MIN = 1_440
FLIGHT_MIN = 120
"""How long a modification is in flight; shorter gaps do not separate episodes."""
LEAD_MIN = 30
"""Metrics' delay, a scan every 15 minutes, ten minutes to effect and three to spare."""
SLOPE_MIN, METRIC_DELAY_MIN = 15, 2
EMPTY_PERCENT = 1.0
SAME_HOUR_MIN, EARLIER_DAYS, LEAST_DAYS = 60, 7, 2

DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "starvation episode": (
            "A stretch of minutes in which the run was starved, or the volume would have been as "
            "it started or as gp3 with 3,000 IOPS and 125 MiB/s; gaps under two hours are joined."
        ),
        "volume-day left alone": (
            "Days are stretches of 24 hours from the start. One counts when, until two hours after "
            "its end, neither the volume as it started nor as it was configured when the day began "
            "would have been starved. It was left alone when nothing started in it that raises the "
            "monthly price, or adds IOPS or MiB/s without lowering it: a cheaper type that serves as "
            "much or more leaves it alone."
        ),
        "foreseeable depletion": (
            "An episode of a gp2 volume left alone that begins with at most 1 % BurstBalance, where "
            "half an hour before either the last 15 published minutes, drawn on, empty the bucket "
            "within an hour, or at least two and at least half of the last seven days had a "
            "depletion within an hour of the same time. Only those count that begin before the "
            "run changes the volume, and the next one. It was acted on in time when the change "
            "started before its first starved minute."
        ),
        "out of slots": (
            "A starved minute with nothing in flight in which the last 24 hours held as many "
            "modifications as the policy lets (three of four; one is kept for people)."
        ),
    }
)


def measures_of(run: TrialRun, uncontrolled: UncontrolledVolume, *, whole: bool) -> Measures:
    """The measures of one run; days and depletions only if `whole`, since they cost time."""
    starts = np.array([change.minute for change in run.changes], dtype=np.int64)
    calm = _days(run, uncontrolled) if whole else (0, 0, 0)
    foreseen = _depletions(run, uncontrolled) if whole else (0, 0)
    troubled = (
        run.starved | uncontrolled.alone.starved | uncontrolled.static.starved(uncontrolled.plain)
    )
    return Measures(
        price_raising=sum(change.usd_change > 0 for change in run.changes),
        episodes=len(episodes(troubled)),
        foreseeable=foreseen[0],
        foreseen=foreseen[1],
        calm_days=calm[0],
        disturbed_days=calm[1],
        sped_up_days=calm[2],
        slotless_minutes=_slotless(
            run.starved & ~uncontrolled.unavoidable, starts, uncontrolled.slots
        ),
        most_in_24h=int(max((_within_day(starts, at) for at in starts), default=0)),
        invalid_plans=_invalid(run.decisions, run.changes) if whole else 0,
    )


def episodes(starved: Bools, gap_min: int = FLIGHT_MIN) -> list[tuple[int, int]]:
    """First and one past the last minute of every episode; gaps under `gap_min` are joined."""
    minutes = np.flatnonzero(starved)
    if not minutes.size:
        return []
    ends = np.flatnonzero(np.diff(minutes) > gap_min)
    firsts = minutes[np.concatenate(([0], ends + 1))]
    lasts = minutes[np.concatenate((ends, [len(minutes) - 1]))]
    return [(int(first), int(last) + 1) for first, last in zip(firsts, lasts, strict=True)]


def _days(run: TrialRun, uncontrolled: UncontrolledVolume) -> tuple[int, int, int]:
    """Calm days, those of them disturbed, and those on which anything was made faster."""
    calm = disturbed = sped_up = 0
    for first in range(0, uncontrolled.load_series.minutes, DAY_MIN):
        last = min(first + DAY_MIN, uncontrolled.load_series.minutes)
        span = slice(first, last + FLIGHT_MIN)
        before = [change for change in run.changes if change.minute < first]
        configured = before[-1].target if before else uncontrolled.start
        if (
            uncontrolled.alone.starved[span].any()
            or uncontrolled.static.starved(configured)[span].any()
        ):
            continue
        inside = [change for change in run.changes if first <= change.minute < last]
        calm += 1
        dearer = [change.usd_change > 0 for change in inside]
        faster = [_faster(change.origin, change.target) for change in inside]
        free = [change.usd_change >= 0 for change in inside]
        disturbed += any(d or (f and n) for d, f, n in zip(dearer, faster, free, strict=True))
        sped_up += any(d or f for d, f in zip(dearer, faster, strict=True))
    return calm, disturbed, sped_up


def _faster(origin: Configuration, target: Configuration) -> bool:
    now, then = capability(origin), capability(target)
    return then.sustained_iops > now.sustained_iops or then.sustained_mibps > now.sustained_mibps


def _depletions(run: TrialRun, uncontrolled: UncontrolledVolume) -> tuple[int, int]:
    """Foreseeable depletions of the volume while it was as it started, and those acted on."""
    if not capability(uncontrolled.start).iops_credits:
        return 0, 0
    balance = uncontrolled.alone.balance_percent
    firsts = [
        first
        for first, _ in episodes(uncontrolled.alone.starved)
        if np.nanmin(balance[max(0, first - 1) : first + 1], initial=100.0) <= EMPTY_PERCENT
    ]
    left = next((c.minute for c in run.changes if _leaves(c)), uncontrolled.load_series.minutes)
    met = [first for first in firsts if first <= left]
    met += [first for first in firsts if first > left][:1]
    expected = [first for first in met if foreseeable(first, firsts, balance)]
    return len(expected), sum(left < first for first in expected)


def _leaves(change: TrialChange) -> bool:
    gp2 = change.target.volume_type is VolumeType.GP2
    return not gp2 or _faster(change.origin, change.target)


def foreseeable(first: int, firsts: Sequence[int], balance: Floats) -> bool:
    """Whether the slope or earlier days predicted the empty bucket half an hour before."""
    known = first - LEAD_MIN - METRIC_DELAY_MIN
    if known >= SLOPE_MIN:
        level, fall = balance[known], balance[known - SLOPE_MIN] - balance[known]
        if fall > 0 and level / (fall / SLOPE_MIN) <= 2 * LEAD_MIN:
            return True
    days = min(EARLIER_DAYS, first // DAY_MIN)
    same = sum(
        any(abs(first - day * DAY_MIN - other) <= SAME_HOUR_MIN for other in firsts)
        for day in range(1, days + 1)
    )
    return same >= max(LEAST_DAYS, days / 2)


def _slotless(starved: Bools, starts: np.ndarray, slots: int) -> int:
    if len(starts) < slots:
        return 0
    minutes = np.flatnonzero(starved)
    used = np.searchsorted(starts, minutes, "right") - np.searchsorted(
        starts, minutes - DAY_MIN, "right"
    )
    latest = np.searchsorted(starts, minutes, "right") - 1
    quiet = (latest >= 0) & (minutes - starts[latest] >= FLIGHT_MIN)
    return int(((used >= slots) & quiet).sum())


def _within_day(starts: np.ndarray, at: int) -> int:
    return int(((starts > at - DAY_MIN) & (starts <= at)).sum())


def _invalid(decisions: Sequence[Decision], changes: Sequence[TrialChange]) -> int:
    """Configurations, planned or made, that AWS would refuse, each counted once."""
    planned = {plan.target for decision in decisions for plan in decision.considered}
    return sum(why_invalid(t) is not None for t in planned | {c.target for c in changes})
