"""Databases that fill, for tests: free space as a function of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from headroom.domain.resources import (
    Configuration,
    DatabaseFacts,
    Kind,
    Observation,
    ResourceRef,
    Series,
    VolumeActivity,
    VolumeType,
)
from tests.builders import ACCOUNT, NOW, REGION, activity, instance, observation, volume
from tests.domain.databases import rds

ORDERS = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
GP3 = VolumeType.GP3
Free = Callable[[float], float | None]
"""Free GiB so many hours before now."""


def steadily(free_now: float, gib_per_day: float) -> Free:
    return lambda hours: free_now + gib_per_day * hours / 24


def facts(**changes: object) -> DatabaseFacts:
    made = DatabaseFacts(instance_class="db.m6i.2xlarge", status="available", members=("orders",))
    return replace(made, **changes)  # type: ignore[arg-type]


def free_series(free: Free, *, period_s: int, count: int, at: datetime = NOW) -> Series:
    start = at - timedelta(seconds=period_s * count)
    values = tuple(free(period_s * (count - i) / 3600) for i in range(count))
    return Series(start=start, period_s=period_s, values=values)


def filling(
    configuration: Configuration | None = None, free: Free | None = None, *,
    load: VolumeActivity | None = None, days: float = 10.0, about: DatabaseFacts | None = None,
    **changes: object,
) -> Observation:  # fmt: skip
    """A database of 200 GiB of gp3, calm unless given otherwise, seen for `days` days."""
    free = free or steadily(20.5, 2.0)
    load = load or activity([500.0] * 180, iops_check=None, mibps_check=None)
    vol = volume(configuration or rds(GP3, 200), ref=ORDERS, facts=about or facts(), tags=())
    recent = free_series(free, period_s=60, count=180)
    count = int(days * 288)
    past = activity([500.0] * count, iops_check=None, mibps_check=None, period_s=300)
    history = replace(past, free_gib=free_series(free, period_s=300, count=count))
    attached = replace(
        instance(baseline_iops=40_000, baseline_mibps=1_200.0), volume_ids=("orders",)
    )
    seen = observation(replace(load, free_gib=recent), vol, instance=attached, history=history)
    return replace(seen, **changes)  # type: ignore[arg-type]
