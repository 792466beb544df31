"""Whether the class of a DB instance is the limit: RDS publishes no check, so it is derived here.

A class gives its baseline once its balance is used up, its maximum before; one that does not burst
always gives its baseline. What was served comes up to what the class gives, and the storage has
more. Source: RDS User Guide, "Amazon RDS DB instance storage"; EC2 User Guide, "EBS-optimized
instances" (checked 2026-10).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import mean

from headroom.domain.resources import Observation, Series
from headroom.domain.workload.demand import Binding
from headroom.domain.workload.instance_balance import STALE
from headroom.domain.workload.pressure import AT_LIMIT, EMPTY_PERCENT, Minute, since

RECENT = timedelta(minutes=15)
LEAST_MINUTES = 2


def class_pressed(observation: Observation, seen: Sequence[Minute]) -> tuple[Binding, str] | None:
    """Which limit of its class a database touches, and why; None for volumes, and where the class's
    limits are unknown or not touched."""
    instance, activity = observation.instance, observation.instance_activity
    database = observation.volume.configuration.database
    if database is None or instance is None or instance.limits is None or activity is None:
        return None
    limits, recent = instance.limits, since(tuple(seen), observation.at - RECENT)
    for binding, unit, balance, baseline, maximum, served in (
        (Binding.INSTANCE_IOPS, "IOPS", activity.io_balance_percent, limits.baseline_iops,
         limits.maximum_iops, [m.iops for m in recent]),
        (Binding.INSTANCE_THROUGHPUT, "MiB/s", activity.byte_balance_percent,
         limits.baseline_mibps, limits.maximum_mibps, [m.mibps for m in recent]),
    ):  # fmt: skip
        gone = _gone(balance, observation.at)
        given = baseline if gone else maximum
        at_it = [rate for rate in served if rate >= AT_LIMIT * given]
        if len(at_it) >= LEAST_MINUTES:
            kind = limits.instance_type
            which = "sustains" if gone or maximum <= baseline else "gives, while its balance lasts,"
            return binding, (
                f"{mean(at_it):.0f} {unit} served, and {kind} {which} {given:.0f} {unit}"
            )
    return None


def _gone(balance: Series, now: datetime) -> bool:
    """Whether the balance is used up; one that is not published is not."""
    points = list(balance.points())
    return bool(points) and now - points[-1][0] <= STALE and points[-1][1] <= EMPTY_PERCENT
