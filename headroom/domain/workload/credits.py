"""The forecast of burst credits: the documented bucket run forward.

Source: EBS User Guide, "I/O credits and burst performance" (gp2) and "HDD volumes" (st1, sc1).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.catalog.ebs import HDD_IO_BYTES, MIB, SSD_IO_BYTES, Capability
from headroom.domain.resources import Series, VolumeActivity
from headroom.domain.workload.demand import CreditForecast, Minute
from headroom.domain.workload.pressure import EMPTY_PERCENT

SLOPE_MINUTES = 10
"""Minutes over which the present load is averaged."""
HORIZON = timedelta(hours=12)
STEP = timedelta(minutes=5)
MINUTE = timedelta(minutes=1)
AS_BEFORE = 0.8
"""Share of the present load from which earlier days had the same load in the same minutes."""
PRESENT_LOAD_LASTS = timedelta(minutes=30)
"""How long the present load counts before the same hours of earlier days take over."""
NEW_EPISODE_MINUTES = 60.0
"""How long pressure that has only just begun is expected to last (see `lasting`)."""


def lasting(so_far_minutes: float) -> float:
    """Expected remaining minutes of something that has lasted `so_far_minutes`.

    The longer it has lasted the longer it will (Lindy's law), from a prior of one hour.
    """
    return NEW_EPISODE_MINUTES + so_far_minutes


def forecast_credits(
    *,
    now: datetime,
    seen: tuple[Minute, ...],
    balance: Series,
    history: VolumeActivity | None,
    can: Capability,
) -> CreditForecast | None:
    """When the bucket runs empty; None for a volume without a bucket or without a balance.

    The present load holds for half an hour, then the mean of the same hours of earlier days if
    there are any, else the present load for ever. Load that earlier days did not have at this hour
    holds for as long again as it has lasted; load that they had in these minutes goes on as theirs did.
    """
    capacity = can.iops_credits or can.mib_credits
    points = list(balance.points())
    recent = seen[-SLOPE_MINUTES:]
    if not capacity or not points or not recent:
        return None
    read_at, percent = points[-1]
    credits = capacity * percent / 100
    hdd = can.io_bytes == HDD_IO_BYTES
    sustained = can.sustained_mibps if hdd else can.sustained_iops
    load = sum(_driven(m, hdd=hdd) for m in recent) / len(recent)
    drain = load - sustained
    if hdd:  # random I/O below 1 MiB costs more than its bytes: use the balance itself
        drain = max(drain, _measured_drain(points, capacity))
    credits -= max(0.0, drain) * max(0.0, (now - read_at).total_seconds() - balance.period_s)
    above = _minutes_above(seen, sustained, hdd=hdd)
    if percent <= EMPTY_PERCENT:
        empty_at: datetime | None = now if drain > -0.05 * sustained else None
        basis, starved = "empty_now", lasting(above) if empty_at else 0.0
    else:
        profile = _profile(history, now, hdd=hdd)
        lasts = PRESENT_LOAD_LASTS
        before = _profile(history, now - SLOPE_MINUTES * MINUTE, hdd=hdd) if profile else ()
        if before and before[0] >= AS_BEFORE * (drain + sustained):
            lasts = STEP
        elif profile and profile[0] <= sustained:  # earlier days do not know this load
            lasts = max(lasts, timedelta(minutes=above))
        empty_at = _credits_empty_at(
            now, credits, drain + sustained, sustained, capacity, profile, lasts
        )
        basis = "earlier_days" if profile else "present_slope"
        starved = 0.0
        if empty_at is not None:
            wait = (empty_at - now).total_seconds() / 60
            starved = lasting(above) * lasting(above) / (lasting(above) + wait)
    return CreditForecast(
        balance_percent=percent, drain_per_s=drain, empty_at=empty_at, basis=basis,
        starved_minutes=starved,
    )  # fmt: skip


def _driven(minute: Minute, *, hdd: bool) -> float:
    return minute.mibps if hdd else minute.iops


def _measured_drain(points: list[tuple[datetime, float]], capacity: float) -> float:
    window = points[-SLOPE_MINUTES:]
    seconds = (window[-1][0] - window[0][0]).total_seconds()
    return (window[0][1] - window[-1][1]) / 100 * capacity / seconds if seconds else 0.0


def _minutes_above(seen: tuple[Minute, ...], sustained: float, *, hdd: bool) -> float:
    run = 0.0
    for minute in reversed(seen):
        if _driven(minute, hdd=hdd) <= sustained and not minute.pressed:
            break
        run += 1
    return run


def _credits_empty_at(
    now: datetime,
    credits: float,
    load: float,
    sustained: float,
    capacity: float,
    profile: tuple[float, ...],
    lasts: timedelta,
) -> datetime | None:
    """First instant with no credits left within the horizon, by steps of five minutes."""
    step_s = STEP.total_seconds()
    for i in range(int(HORIZON / STEP)):
        believed = load
        if profile and STEP * i >= lasts:
            believed = profile[i % len(profile)]
        net = sustained - believed
        if credits + net * step_s <= 0:
            return now + STEP * i + timedelta(seconds=credits / -net if net else 0)
        credits = min(capacity, credits + net * step_s)
    return None


def _profile(history: VolumeActivity | None, now: datetime, *, hdd: bool) -> tuple[float, ...]:
    """Mean load of the same five minutes on earlier days, from `now` on for one horizon.

    Empty unless at least three earlier days were measured for at least half of it.
    """
    if history is None:
        return ()
    period = history.read_iops.period_s
    per_day = 86_400 // period
    wanted = int(HORIZON.total_seconds() // period)
    offset = int((now - history.read_iops.start).total_seconds() // period)
    sums, counts = [0.0] * wanted, [0] * wanted
    days = 0
    for first in range(offset - per_day, -wanted, -per_day):
        known = 0
        for i in range(wanted):
            value = _load_at(history, first + i, hdd=hdd)
            if value is not None:
                sums[i] += value
                counts[i] += 1
                known += 1
        days += known * 2 >= wanted
    if days < 3:
        return ()
    profile = [s / c if c else 0.0 for s, c in zip(sums, counts, strict=True)]
    per_step = max(1, int(STEP.total_seconds() // period))
    return tuple(profile[::per_step])


def _load_at(history: VolumeActivity, i: int, *, hdd: bool) -> float | None:
    if not 0 <= i < len(history.read_iops.values):
        return None
    reads, writes = history.read_iops.values[i], history.write_iops.values[i]
    if reads is None and writes is None:
        return None
    mibps = (history.read_mibps.values[i] or 0.0) + (history.write_mibps.values[i] or 0.0)
    return mibps if hdd else max((reads or 0.0) + (writes or 0.0), mibps * MIB / SSD_IO_BYTES)
