"""What fourteen days of an Aurora cluster say it uses a month: whole days only, nothing missing is 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headroom.domain.catalog.aurora import HOURS_PER_MONTH, Usage
from headroom.domain.resources import AuroraActivity, AuroraObservation, Series, StorageMode

DAYS = 14
"""Whole days a decision rests on."""
LOOKBACK_WINDOW = timedelta(days=16)
"""How far back they may lie; the rest of today and a hole or two."""
WHOLE = 0.95
"""Share of a day's periods that must be measured; the rest is taken to be like them."""
GIB = 1024**3
FRESH = timedelta(days=2)
"""How old the size may be: VolumeBytesUsed comes a few times a day."""
SLOW_HOURS = 1.0
"""A day has slow commits with so many hours of them."""
SILENT_AFTER = timedelta(days=3)
"""How long a mode is in force before nothing published of it means that nothing will be."""
SETTLES = timedelta(hours=1)
"""How long after a change of mode what is measured may still be of the mode before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDay:
    """One whole UTC day: billed I/O operations, mean ACUs, and hours of slow commits."""

    start: datetime
    ios: float
    acus: float | None
    slow_hours: float
    """Hours whose measured commits were slower than the owner wants; unmeasured ones are none."""
    commits_known: bool
    """Whether any commit latency was published that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraDemand:
    """What the cluster uses, from its whole days under its present mode, oldest first."""

    days: tuple[UsageDay, ...]
    storage_gib: float | None
    """None when no size was published lately."""
    known: bool
    """Whether anything was published of billed I/O under the present mode, or it is early to tell."""

    @property
    def whole(self) -> bool:
        """Whether there are enough whole days, a size, and ACUs wherever they are billed."""
        return len(self.days) >= DAYS and self.storage_gib is not None

    def ios_a_month(self, *, leave_out: int = 0, busiest: int | None = None) -> float:
        """Billed I/O a month as on these days: without the busiest few, or like the busiest ones.

        Raises ValueError when no day is left.
        """
        ordered = sorted(day.ios for day in self.days)
        if leave_out:
            ordered = ordered[:-leave_out]
        if busiest is not None:
            ordered = ordered[-busiest:]
        if not ordered:
            raise ValueError("no whole day to tell a month from")
        return sum(ordered) / len(ordered) * HOURS_PER_MONTH / 24

    @property
    def acus(self) -> float:
        """Mean ACUs over the whole days; 0 without serverless members."""
        known = [day.acus for day in self.days if day.acus is not None]
        return sum(known) / len(known) if known else 0.0

    @property
    def slow_days(self) -> int:
        """Days with an hour or more of slow commits."""
        return sum(day.slow_hours >= SLOW_HOURS for day in self.days)


def cluster_demand(observation: AuroraObservation, *, slow_ms: float) -> AuroraDemand:
    """What the last whole days say; under I/O-Optimized only what was measured under it counts.

    Standard bills what it measures, so that days before a return to it count as well only if their
    I/O was billed: they lie after `mode_since` in either mode when that is known.
    """
    cluster, activity = observation.cluster, observation.activity
    since = cluster.mode_since
    if since is None:
        begin = observation.at - LOOKBACK_WINDOW
        if cluster.mode is StorageMode.IO_OPTIMIZED:
            begin = observation.at  # nobody knows since when: nothing is known to be under it
    else:
        begin = max(observation.at - LOOKBACK_WINDOW, since + SETTLES)
    if cluster.mode_allowed_from is not None:
        begin = max(begin, cluster.mode_allowed_from)
    days = tuple(_days(activity, begin, observation.at, slow_ms, serverless=cluster.serverless))
    ios = activity.read_ios.since(begin).known(), activity.write_ios.since(begin).known()
    return AuroraDemand(
        days=days[-DAYS:],
        storage_gib=_storage(
            activity.bytes_used, midnight(observation.at), cluster.mode_allowed_from
        ),
        known=any(ios) or observation.at - begin < SILENT_AFTER,
    )


def usage(observation: AuroraObservation, seen: AuroraDemand, ios: float) -> Usage:
    """A month of the cluster with so many I/O. Raises ValueError where its size is not known."""
    if seen.storage_gib is None:
        raise ValueError("the cluster's size is not known")
    cluster = observation.cluster
    return Usage(
        members=cluster.members, reserved=cluster.reserved or (), acus=seen.acus,
        storage_gib=seen.storage_gib, ios=ios,
    )  # fmt: skip


def _days(
    activity: AuroraActivity, begin: datetime, end: datetime, slow_ms: float, *, serverless: bool
) -> Iterator[UsageDay]:
    """The whole UTC days in [begin, end), oldest first."""
    start = begin.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if start < begin:
        start += timedelta(days=1)
    while start + timedelta(days=1) <= end:
        reads, writes = _values(activity.read_ios, start), _values(activity.write_ios, start)
        both = [
            r + w for r, w in zip(reads, writes, strict=True) if r is not None and w is not None
        ]
        acus = [v for v in _values(activity.acus, start) if v is not None]
        counted = len(both) >= WHOLE * len(reads)
        if serverless and len(acus) < WHOLE * len(_values(activity.acus, start)):
            counted = False
        if counted and both:
            commits = [v for v in _values(activity.commit_latency_ms, start) if v is not None]
            slow = sum(v > slow_ms for v in commits)
            yield UsageDay(
                start=start,
                ios=sum(both) / len(both) * len(reads),
                acus=sum(acus) / len(acus) if acus else None,
                slow_hours=slow * activity.commit_latency_ms.period_s / 3600,
                commits_known=bool(commits),
            )
        start += timedelta(days=1)


def _values(series: Series, start: datetime) -> tuple[float | None, ...]:
    """The periods of one day; None where the series has none."""
    count = 86_400 // series.period_s
    first = round((start - series.start).total_seconds() / series.period_s)
    before = min(count, max(0, -first))
    there = series.values[max(0, first) : max(0, first + count)]
    return (None,) * before + there + (None,) * (count - before - len(there))


def midnight(at: datetime) -> datetime:
    """The last UTC midnight: what is known of a day is the same all day after it."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _storage(used: Series, end: datetime, mode_allowed_from: datetime | None) -> float | None:
    """GiB as last published of it before `end`, None when that is too long ago.

    Not the size of this minute: whoever agrees to a price in the morning finds it in the evening.
    """
    begin = end - FRESH if mode_allowed_from is None else max(end - FRESH, mode_allowed_from)
    known = [value for at, value in used.since(begin).points() if at < end]
    return known[-1] / GIB if known else None
