"""The forecast of the instance's EBS balance: when it is used up, the instance is the limit.

An instance size that bursts drives its maximum while its balance lasts, then its baseline. EBSIOBalance% and
EBSByteBalance% come every five minutes. Source: EC2 User Guide, "EBS-optimized instances" (checked 2026-10): the maximum
for at least 30 minutes a day.

Whether the class of a DB instance is the limit is derived: RDS publishes no check. A class gives its baseline once its
balance is used up, its maximum before; one that does not burst always gives its baseline. What was served comes up to what
the class gives, and the storage has more. Source: RDS User Guide, "Amazon RDS DB instance storage".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import inf
from statistics import mean

from headroom.domain.resources import InstanceActivity, InstanceLimits, Observation, Series
from headroom.domain.state import LoadProfile
from headroom.domain.workload.demand import (
    AT_LIMIT,
    BalanceForecast,
    Binding,
    Diagnosis,
    Minute,
)
from headroom.domain.workload.latency import is_waiting, waits_from_ms
from headroom.domain.workload.pressure import EMPTY_PERCENT, since

BURST_S = 30 * 60
"""How long a full balance lasts at the instance's maximum, at least."""
LEAST_BURST = 0.25
"""Share of what is sustained that a burst adds at least, to count: it lasts for an hour or some, what it costs for a day."""
FOR_OTHERS = 50.0
"""Percent of a balance that a raise leaves for the other volumes of an instance."""
ALL_DAY = 0.9
"""Share of what the instance sustains that is all of it, hour after hour."""
LOAD_MINUTES = 10
SLOPE_POINTS = 4
"""Published balances, five minutes apart, over which the slope is taken: a quarter of an hour."""
STALE = timedelta(minutes=20)
"""A balance older than this is not current."""
STEP = timedelta(minutes=5)
HORIZON = timedelta(hours=6)
PRESENT_LOAD_LASTS = timedelta(minutes=30)
"""How long the present load counts before the same hours of earlier days take over."""
CLASS_WINDOW = timedelta(minutes=15)
LEAST_AT_CLASS = 2
"""Minutes of that window at what a class gives, from which it is the limit."""
LEAST_DAYS = 3
LEAST_NOTICE = timedelta(minutes=10)
FORESEEN_NOTICE = timedelta(minutes=45)
"""Notice given where earlier days say that the load goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """One of the two balances: what it is called, what fills it and what is driven."""

    binding: Binding
    balance: Series
    load: Series
    own: tuple[float, ...]
    """The volume's own load of the latest minutes."""
    baseline: float | None
    maximum: float | None


def forecast_balance(
    observation: Observation, seen: Sequence[Minute], earlier: Sequence[Minute]
) -> BalanceForecast | None:
    """The balance that runs out first under the present load; None if none does.

    `seen` and `earlier` are the volume's own minutes: what it did in the same hours of earlier days counts after half an hour.
    """
    activity = observation.instance_activity
    if activity is None:
        return None
    limits = None if observation.instance is None else observation.instance.limits
    found = [_forecast(observation.at, side, earlier) for side in _sides(activity, limits, seen)]
    return min((f for f in found if f is not None), key=lambda f: f.empty_at, default=None)


def imminent(found: BalanceForecast | None, now: datetime) -> bool:
    """Whether the instance is about to be the limit.

    What has gone on for some time is expected to go on as long again (Lindy's law), so a balance counts as good as gone
    once no more time is left than it has been falling for; where earlier days say so, three quarters of an hour before.
    """
    if found is None:
        return False
    notice = timedelta(minutes=found.draining_minutes)
    if found.basis == "earlier_days":
        notice = max(notice, FORESEEN_NOTICE)
    return found.empty_at - now <= max(LEAST_NOTICE, notice)


def forecast_text(found: BalanceForecast, now: datetime) -> str:
    """The forecast in words."""
    name = "EBSIOBalance%" if found.binding is Binding.INSTANCE_IOPS else "EBSByteBalance%"
    left = max(0, round((found.empty_at - now).total_seconds() / 60))
    if found.basis == "empty_now":
        return f"the instance's own EBS balance is used up ({name} {found.balance_percent:.0f} %)"
    return (
        f"the instance's own EBS balance runs out in {left} min "
        f"({name} {found.balance_percent:.0f} %, {found.basis.replace('_', ' ')})"
    )


def _sides(
    activity: InstanceActivity, limits: InstanceLimits | None, seen: Sequence[Minute]
) -> tuple[_Side, _Side]:
    latest = seen[-LOAD_MINUTES:]
    return (
        _Side(
            binding=Binding.INSTANCE_IOPS,
            balance=activity.io_balance_percent,
            load=activity.iops,
            own=tuple(m.ssd_iops for m in latest),
            baseline=None if limits is None else float(limits.baseline_iops),
            maximum=None if limits is None else float(limits.maximum_iops),
        ),
        _Side(
            binding=Binding.INSTANCE_THROUGHPUT,
            balance=activity.byte_balance_percent,
            load=activity.mibps,
            own=tuple(m.mibps for m in latest),
            baseline=None if limits is None else limits.baseline_mibps,
            maximum=None if limits is None else limits.maximum_mibps,
        ),
    )


def _forecast(now: datetime, side: _Side, earlier: Sequence[Minute]) -> BalanceForecast | None:
    points = list(side.balance.points())
    if not points or now - points[-1][0] > STALE:
        return None
    read_at, percent = points[-1]
    read_at += timedelta(seconds=side.balance.period_s)
    drain = _drain(points, side)
    if drain is None or drain <= 0:
        return None
    falling = _falling_minutes(points)
    if percent <= EMPTY_PERCENT:
        return _found(side, percent, drain, falling, now, "empty_now")
    percent_now = max(0.0, percent - drain * max(0.0, (now - read_at).total_seconds() / 60))
    profile = _profile(now, side, earlier)
    empty_at = _balance_empty_at(now, percent_now, drain, profile)
    if empty_at is None:
        return None
    basis = "earlier_days" if profile else "present_slope"
    return _found(side, percent, drain, falling, empty_at, basis)


def _found(
    side: _Side, percent: float, drain: float, falling: float, empty_at: datetime, basis: str
) -> BalanceForecast:
    return BalanceForecast(
        binding=side.binding, balance_percent=percent, drain_percent_per_min=round(drain, 4),
        draining_minutes=falling, empty_at=empty_at, basis=basis,
    )  # fmt: skip


def _drain(points: Sequence[tuple[datetime, float]], side: _Side) -> float | None:
    """Percent lost per minute. The documented bucket says whether: a balance still falls when the load has just ended."""
    modelled = _modelled(_present(side), side)
    if modelled is not None and modelled <= 0:
        return modelled
    window = points[-SLOPE_POINTS:]
    falling = [(a, b) for a, b in pairwise(window) if b[1] < a[1]]
    if falling and window[-1][1] < window[-2][1]:
        lost = sum(a[1] - b[1] for a, b in falling)
        return lost / sum((b[0] - a[0]).total_seconds() / 60 for a, b in falling)
    return modelled


def _present(side: _Side) -> float | None:
    latest = list(side.load.points())[-LOAD_MINUTES:]
    return mean(value for _, value in latest) if latest else None


def _modelled(load: float | None, side: _Side) -> float | None:
    """Percent lost per minute at `load` by the documented bucket; None where it is not known."""
    if load is None or side.baseline is None or side.maximum is None:
        return None
    if side.maximum <= side.baseline:
        return None
    return 100 * 60 * (load - side.baseline) / (BURST_S * (side.maximum - side.baseline))


def _falling_minutes(points: Sequence[tuple[datetime, float]]) -> float:
    first = points[-1]
    for before, after in reversed(list(pairwise(points))):
        if before[1] <= after[1]:
            break
        first = before
    return (points[-1][0] - first[0]).total_seconds() / 60


def _profile(now: datetime, side: _Side, earlier: Sequence[Minute]) -> tuple[float, ...]:
    """Percent lost per minute in each coming five minutes, as the same hours of earlier days say.

    The volume's own load is that of earlier days, the others' the present one. Empty without three days, or known limits.
    """
    present, own = _present(side), side.own
    if present is None or not own or _modelled(present, side) is None:
        return ()
    others = max(0.0, present - mean(own))
    steps = int(HORIZON / STEP)
    sums, counts, days = [0.0] * steps, [0] * steps, set()
    for minute in earlier:
        ahead = (minute.at - now) % timedelta(days=1)
        place = int(ahead / STEP)
        if place < steps:
            iops = side.binding is Binding.INSTANCE_IOPS
            sums[place] += minute.ssd_iops if iops else minute.mibps
            counts[place] += 1
            days.add((now - minute.at) // timedelta(days=1))
    if len(days) < LEAST_DAYS:
        return ()
    loads = [others + (s / c if c else 0.0) for s, c in zip(sums, counts, strict=True)]
    return tuple(_modelled(load, side) or 0.0 for load in loads)


def _balance_empty_at(
    now: datetime, percent: float, drain: float, profile: tuple[float, ...]
) -> datetime | None:
    """First instant with nothing left within the horizon, by steps of five minutes."""
    step_min = STEP.total_seconds() / 60
    for i in range(int(HORIZON / STEP)):
        rate = profile[i] if profile and STEP * i >= PRESENT_LOAD_LASTS else drain
        if rate > 0 and percent - rate * step_min <= 0:
            return now + STEP * i + timedelta(minutes=percent / rate)
        percent = min(100.0, percent - rate * step_min)
    return None


def given_in_bursts(observation: Observation, pressed_minutes: float) -> tuple[float, float] | None:
    """IOPS and MiB/s that the instance gives for half an hour at least; None where no more than it sustains.

    By what its balances hold now; half of them is for its other volumes, which are held back with this one once they
    are used up. Load that has been pressed for longer is expected to go on as long again (Lindy's law), and has to be
    served for as long.
    """
    instance, activity = observation.instance, observation.instance_activity
    if instance is None or instance.limits is None or activity is None:
        return None
    limits, lasts_s = instance.limits, max(BURST_S, 60 * pressed_minutes)
    kept = 0.0 if set(instance.volume_ids) <= {observation.volume.ref.resource_id} else FOR_OTHERS
    found = []
    for balance, sustained, most in (
        (activity.io_balance_percent, limits.baseline_iops, limits.maximum_iops),
        (activity.byte_balance_percent, limits.baseline_mibps, limits.maximum_mibps),
    ):
        points = list(balance.points()) if most > sustained else [(observation.at, 0.0)]
        if not points or observation.at - points[-1][0] > STALE:
            return None
        burst = max(0.0, points[-1][1] - kept) / 100 * (most - sustained) * BURST_S / lasts_s
        found.append(sustained + (burst if burst >= LEAST_BURST * sustained else 0.0))
    iops, mibps = found
    return None if (iops, mibps) == (limits.baseline_iops, limits.baseline_mibps) else (iops, mibps)


def limited_all_day(
    diagnosis: Diagnosis, profile: LoadProfile | None
) -> tuple[float | None, float | None]:
    """IOPS and MiB/s beyond which the instance let nothing through all day; None for each that was not its limit.

    In each of the last 24 hours it gave all that it sustains, and no bursts; there are none left now.
    """
    balance, hours = diagnosis.instance_balance, () if profile is None else profile.hours[-24:]
    known = [hour for hour in hours if hour is not None]
    if (balance is not None and balance.basis != "empty_now") or len(known) < 24:
        return None, None

    def most(left: float | None, means: list[float], peaks: list[float]) -> float | None:
        if left is None or not left * ALL_DAY <= min(means) <= max(peaks) <= left / ALL_DAY:
            return None
        return max(left, *peaks)

    return (
        most(
            diagnosis.instance_iops_left, [h.mean_iops for h in known], [h.peak_iops for h in known]
        ),
        most(
            diagnosis.instance_mibps_left,
            [h.mean_mibps for h in known],
            [h.peak_mibps for h in known],
        ),
    )


def class_pressed(observation: Observation, seen: Sequence[Minute]) -> tuple[Binding, str] | None:
    """Which limit of its class a database touches, and why; None for volumes, and where its limits are unknown."""
    instance, activity = observation.instance, observation.instance_activity
    database = observation.volume.configuration.database
    if database is None or instance is None or instance.limits is None or activity is None:
        return None
    limits, recent = instance.limits, since(tuple(seen), observation.at - CLASS_WINDOW)
    for binding, unit, balance, baseline, maximum, served in (
        (Binding.INSTANCE_IOPS, "IOPS", activity.io_balance_percent, limits.baseline_iops,
         limits.maximum_iops, [m.iops for m in recent]),
        (Binding.INSTANCE_THROUGHPUT, "MiB/s", activity.byte_balance_percent,
         limits.baseline_mibps, limits.maximum_mibps, [m.mibps for m in recent]),
    ):  # fmt: skip
        gone = _gone(balance, observation.at)
        given = baseline if gone else maximum
        at_it = [rate for rate in served if rate >= AT_LIMIT * given]
        if len(at_it) >= LEAST_AT_CLASS:
            kind = limits.instance_type
            which = "sustains" if gone or maximum <= baseline else "gives, while its balance lasts,"
            return binding, (
                f"{mean(at_it):.0f} {unit} served, and {kind} {which} {given:.0f} {unit}"
            )
    return None


def held_by_instance(observation: Observation, seen: Sequence[Minute]) -> tuple[Minute, ...]:
    """The minutes in which a volume's instance was at its own limit and held this volume back as well.

    By the instance's own Exceeded checks, which RDS does not publish. What the other volumes do holds back nobody
    who takes less than an even share and is not known to wait.
    """
    instance, activity = observation.instance, observation.instance_activity
    if instance is None or activity is None:
        return ()
    held, count, slow_ms = set[datetime](), len(instance.volume_ids), waits_from_ms(observation)
    for check, load, iops in (
        (activity.iops_exceeded, activity.iops, True),
        (activity.throughput_exceeded, activity.mibps, False),
    ):
        reached = {at for at, value in check.points() if value >= 1}
        total = dict(load.points()) if reached else {}
        for m in seen if reached else ():
            own = m.ssd_iops if iops else m.mibps
            fair = count <= 1 or own * count >= total.get(m.at, inf)
            if m.at in reached and (fair or is_waiting(m, slow_ms)):
                held.add(m.at)
    return tuple(m for m in seen if m.at in held)


def _gone(balance: Series, now: datetime) -> bool:
    """Whether the balance is used up; one that is not published is not."""
    points = list(balance.points())
    return bool(points) and now - points[-1][0] <= STALE and points[-1][1] <= EMPTY_PERCENT
