"""Earlier days for tests: a load given by the hour, as CloudWatch keeps it at five minutes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from headroom.domain.planning import least_planned
from headroom.domain.policy import Limits
from headroom.domain.resources import Configuration, Observation, VolumeActivity
from headroom.domain.state import KnownModification, LimitHistory, LoadProfile, ProfileHour, hour_of
from headroom.domain.workload import Past, digest_of
from headroom.domain.workload import past_of as read_past
from tests.builders import NOW, activity, gp3, observation, series, volume

DEFAULT_LIMITS = Limits()
PERIOD_S = 300
PER_HOUR = 12
Load = Callable[[datetime], float | None]
"""Operations/s at an instant; None where nothing was measured."""
BIG = gp3(400, 16_000, 1_000)
"""A volume on which everything below 16,000 IOPS runs free."""


def history(
    load: Load,
    *,
    days: float,
    check: Load | float | None = 0.0,
    busiest: Load | None = None,
    end: datetime = NOW,
    io_kib: float = 16,
    balance: float | None = None,
    latency_ms: Load | None = None,
) -> VolumeActivity:
    """`check` is how many minutes of a period touched the IOPS limit; None if none is published.

    Nor is latency then, unless it is given.
    """
    count = int(days * 24 * PER_HOUR)
    starts = [end - timedelta(seconds=PERIOD_S * (count - i)) for i in range(count)]
    checks = [check(at) for at in starts] if callable(check) else [check] * count
    made = activity(
        [load(at) for at in starts], iops_check=checks, end=end, period_s=PERIOD_S, io_kib=io_kib,
        balance=balance, mibps_check=None if check is None else 0.0,
        latency_ms=[latency_ms(at) for at in starts] if latency_ms else None if check is None else 1.0,
    )  # fmt: skip
    if busiest is None:
        return made
    peaks = [busiest(at) for at in starts]
    return replace(
        made,
        busiest_iops=series(peaks, end=end, period_s=PERIOD_S),
        busiest_mibps=series(
            [None if p is None else p * io_kib / 1024 for p in peaks], end=end, period_s=PERIOD_S
        ),
    )


def seen_over(
    metrics: VolumeActivity, configuration: Configuration = BIG, **changes: object
) -> Observation:
    return observation(vol=volume(configuration), history=metrics, **changes)


def past_of(
    metrics: VolumeActivity,
    configuration: Configuration = BIG,
    *,
    known: Sequence[KnownModification] = (),
    **changes: object,
) -> Past:
    """The past of a volume that is `configuration` now, busy above what gp3 includes."""
    return past_seen(seen_over(metrics, configuration, **changes), known)


def past_seen(
    seen: Observation, known: Sequence[KnownModification] = (), limits: Limits = DEFAULT_LIMITS
) -> Past:
    """The past that `seen` brings with it; without a history none."""
    metrics, hour = seen.history, hour_of(seen.at)
    profile = (
        LoadProfile(start=hour, hours=()) if metrics is None
        else digest_of(metrics, LimitHistory(seen, known))
    )  # fmt: skip
    current = seen.volume.configuration
    least_iops, least_mibps = least_planned(current, current, profile, limits)
    return read_past(profile, least_iops=least_iops, least_mibps=least_mibps)


def changed(at: datetime, origin: Configuration, target: Configuration) -> KnownModification:
    return KnownModification(started_at=at, by="headroom", origin=origin, target=target)


CALM_HOUR = ProfileHour(300.0, 5.0, 300.0, 5.0, 60, 0, 0.0, 0.0)
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def hour_at(iops: float, *, busy_minutes: int = 60, mean: float | None = None) -> ProfileHour:
    """A measured hour of such a peak, in operations of 16 KiB; its mean is as high unless said."""
    usual = iops if mean is None else mean
    return ProfileHour(iops, iops / 64, usual, usual / 64, busy_minutes, 0, 0.0, 0.0)


def by_hour(hours: Sequence[ProfileHour | None], start: datetime = MONDAY) -> Past:
    """A past of these hours."""
    profile = LoadProfile(start=start, hours=tuple(hours))
    return read_past(profile, least_iops=3_000, least_mibps=125)


def nightly(at: datetime, *, iops: float = 9_000.0, hour: int = 2, idle: float = 300.0) -> float:
    """An hour of load every night, idle for the rest of the day."""
    return iops if at.hour == hour else idle
