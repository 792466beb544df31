"""What an Aurora cluster uses a month, from fourteen whole days; missing data never counts as 0.

A longer past of whole days shows what comes and goes by the month.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import mean

from headroom.domain.catalog.aurora import HOURS_PER_MONTH, Usage
from headroom.domain.resources import AuroraActivity, AuroraObservation, Series, StorageMode

DAYS = 14
"""Whole days that a decision is based on."""
LOOKBACK_WINDOW = timedelta(days=16)
"""How far back they may be: today's part of a day, and a gap or two."""
PAST_WINDOW = timedelta(days=100)
"""How far back the rhythm of the load is read, by the hour: three month ends."""
LONGER_DAYS = 2 * DAYS
"""Whole days that make a longer past: twice what a decision is based on."""
WHOLE = 0.95
"""Share of a day's periods that must be measured; the rest is assumed to be like them."""
GIB = 1024**3
FRESH = timedelta(days=2)
"""How old the size may be: VolumeBytesUsed is published a few times a day."""
SLOW_HOURS = 1.0
"""Hours of slow commits that make a slow day."""
SILENT_AFTER = timedelta(days=3)
"""How long a mode is in force before missing metrics mean that none will be published."""
SETTLES = timedelta(hours=1)
"""How long after a change of mode metrics may still be of the earlier mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageDay:
    """One whole UTC day: billed I/O operations, mean ACUs, and hours of slow commits."""

    start: datetime
    ios: float
    acus: float | None
    slow_hours: float
    """Hours in which measured commits were slower than the owner's threshold."""
    commits_known: bool
    """Whether any commit latency was published that day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuroraDemand:
    """A cluster's usage, from its whole days under its present mode, oldest first."""

    days: tuple[UsageDay, ...]
    storage_gib: float | None
    """None when no recent size is published."""
    known: bool
    """Whether billed I/O was published under the present mode, or the mode is too young to know."""
    past_ios: tuple[float, ...] = ()
    """Billed I/O of the whole days of the longer past, under whichever mode, oldest first."""

    @property
    def whole(self) -> bool:
        """Whether there are enough whole days, a size, and ACUs wherever they are billed."""
        return len(self.days) >= DAYS and self.storage_gib is not None

    def ios_a_month(self, *, leave_out: int = 0, busiest: int | None = None) -> float:
        """Billed I/O a month at the rate of these days: without the busiest few, or of the busiest only.

        Raises ValueError when no day is left.
        """
        ordered = sorted(day.ios for day in self.days)
        if leave_out:
            ordered = ordered[:-leave_out]
        if busiest is not None:
            ordered = ordered[-busiest:]
        if not ordered:
            raise ValueError("no whole day to estimate a month from")
        return sum(ordered) / len(ordered) * HOURS_PER_MONTH / 24

    def ios_a_month_without_peaks(self, peaks: int) -> float:
        """The same without the busiest `peaks` days, of these or of the longer past, whichever is more.

        A busy day of each week, or of each month, is none of the few that were unusual. The last weeks of the
        longer past must show as much: a load that ended before them counts no more. Their unusual days count as
        the busiest of all others.
        """
        recent = self.ios_a_month(leave_out=min(peaks, len(self.days) - 1))
        if len(self.past_ios) < LONGER_DAYS:
            return recent
        usual_days = sorted(self.past_ios)[:-peaks]
        lately = [min(ios, usual_days[-1]) for ios in self.past_ios[-LONGER_DAYS:]]
        usual = min(mean(usual_days), mean(lately))
        return max(recent, usual * HOURS_PER_MONTH / 24)

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
    """The usage of the last whole days under the present mode; commits above `slow_ms` are slow.

    Days before `mode_since` do not count. Where that is unknown, Standard is assumed to have been in
    force all the time, and no day counts for I/O-Optimized.
    """
    cluster, activity = observation.cluster, observation.activity
    since = cluster.mode_since
    if since is None:
        begin = observation.at - LOOKBACK_WINDOW
        if cluster.mode is StorageMode.IO_OPTIMIZED:
            begin = observation.at
    else:
        begin = max(observation.at - LOOKBACK_WINDOW, since + SETTLES)
    if cluster.metrics_from is not None:
        begin = max(begin, cluster.metrics_from)
    days = tuple(_days(activity, begin, observation.at, slow_ms, serverless=cluster.serverless))
    ios = activity.read_ios.since(begin).known(), activity.write_ios.since(begin).known()
    return AuroraDemand(
        days=days[-DAYS:],
        storage_gib=_storage(activity.bytes_used, midnight(observation.at), cluster.metrics_from),
        known=any(ios) or observation.at - begin < SILENT_AFTER,
        past_ios=_past(activity, days, cluster.metrics_from),
    )


def usage(observation: AuroraObservation, demand: AuroraDemand, ios: float) -> Usage:
    """A month of the cluster with `ios` billed I/O. Raises ValueError when its size is unknown."""
    if demand.storage_gib is None:
        raise ValueError("the cluster's size is not known")
    cluster = observation.cluster
    return Usage(
        members=cluster.members, reserved=cluster.reserved or (), acus=demand.acus,
        storage_gib=demand.storage_gib, ios=ios,
    )  # fmt: skip


def _past(
    activity: AuroraActivity, recent: tuple[UsageDay, ...], metrics_from: datetime | None
) -> tuple[float, ...]:
    """Billed I/O of every whole day that is known: by the hour, `recent` ones by five minutes."""
    found: dict[datetime, float] = {}
    hourly = activity.hourly_ios
    if hourly is not None:
        begin = hourly.start if metrics_from is None else max(hourly.start, metrics_from)
        for start in _midnights(begin, hourly.end):
            hours = _values(hourly, start)
            known = [count for count in hours if count is not None]
            if len(known) >= WHOLE * len(hours):
                found[start] = sum(known) / len(known) * len(hours)
    found |= {day.start: day.ios for day in recent}
    return tuple(round(found[start], 1) for start in sorted(found))


def _midnights(begin: datetime, end: datetime) -> Iterator[datetime]:
    """The starts of the whole UTC days in [begin, end), oldest first."""
    start = midnight(begin)
    if start < begin:
        start += timedelta(days=1)
    while start + timedelta(days=1) <= end:
        yield start
        start += timedelta(days=1)


def _days(
    activity: AuroraActivity, begin: datetime, end: datetime, slow_ms: float, *, serverless: bool
) -> Iterator[UsageDay]:
    """The whole UTC days in [begin, end), oldest first."""
    for start in _midnights(begin, end):
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


def _values(series: Series, start: datetime) -> tuple[float | None, ...]:
    """The values of one day; None outside the series."""
    count = 86_400 // series.period_s
    first = round((start - series.start).total_seconds() / series.period_s)
    before = min(count, max(0, -first))
    there = series.values[max(0, first) : max(0, first + count)]
    return (None,) * before + there + (None,) * (count - before - len(there))


def midnight(at: datetime) -> datetime:
    """The last UTC midnight."""
    return at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _storage(used: Series, end: datetime, metrics_from: datetime | None) -> float | None:
    """GiB as last published before `end`, None when that is too long ago.

    `end` is midnight, so that a price approved in the morning is the same in the evening.
    """
    begin = end - FRESH if metrics_from is None else max(end - FRESH, metrics_from)
    known = [value for at, value in used.since(begin).points() if at < end]
    return known[-1] / GIB if known else None
