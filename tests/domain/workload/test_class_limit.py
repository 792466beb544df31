"""The class of a DB instance as the limit: inferred from what was served, since RDS publishes no check."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from headroom.domain.decision import Escalate, Reason
from headroom.domain.resources import InstanceActivity, Kind, Observation, ResourceRef, VolumeType
from headroom.domain.workload import Binding
from tests.builders import (
    ACCOUNT,
    NOW,
    REGION,
    activity,
    gp3,
    instance,
    observation,
    series,
    volume,
)
from tests.domain.databases import rds
from tests.domain.decision.test_rds_planning import decided

ROOMY = rds(VolumeType.GP3, 500, 12_000, 500)
"""Storage with more than the classes here let through."""


def served(
    iops: float,
    *,
    io_kib: float = 16,
    io_balance: float | None = None,
    byte_balance: float | None = None,
    baseline: int = 3_600,
    maximum: int = 20_000,
    mibps: tuple[float, float] = (80.0, 600.0),
    ended_minutes_ago: int = 5,
    minutes: int = 20,
    queue: float = 4.0,
) -> Observation:
    """A database that was served `iops` for `minutes`, on a class with such limits."""
    load = activity(
        [500.0] * (60 - minutes) + [iops] * minutes, io_kib=io_kib, iops_check=None,
        mibps_check=None, queue=[1.0] * (60 - minutes) + [queue] * minutes,
        latency_ms=[2.0] * (60 - minutes) + [1_000 * queue / iops] * minutes,
    )  # fmt: skip
    ref = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
    known = instance(baseline_iops=baseline, baseline_mibps=mibps[0])
    assert known.limits is not None
    limits = replace(known.limits, maximum_iops=maximum, maximum_mibps=mibps[1])
    end = NOW - timedelta(minutes=ended_minutes_ago)
    nothing = series([None] * 60)
    return observation(
        load, volume(ROOMY, ref=ref),
        instance=replace(known, limits=limits, volume_ids=("orders",)),
        instance_activity=InstanceActivity(
            iops=series([iops] * 60), mibps=series([iops * io_kib / 1024] * 60),
            iops_exceeded=nothing, throughput_exceeded=nothing,
            io_balance_percent=series([io_balance] * 6, end=end, period_s=300),
            byte_balance_percent=series([byte_balance] * 6, end=end, period_s=300),
        ),
    )  # fmt: skip


def binding(seen: Observation) -> Binding:
    return decided(seen).diagnosis.binding


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (served(3_600, io_balance=0.0), Binding.INSTANCE_IOPS),
        (served(3_600, io_balance=40.0), Binding.NOTHING),  # it may burst yet
        (served(3_600), Binding.NOTHING),  # no balance published: nobody knows that it is gone
        (served(3_400, io_balance=0.0), Binding.NOTHING),
        (served(3_600, io_balance=0.0, minutes=1), Binding.NOTHING),
        (served(3_600, maximum=3_600), Binding.INSTANCE_IOPS),  # a class that does not burst
        (served(9_000, io_balance=60.0, maximum=9_000), Binding.INSTANCE_IOPS),
        (served(3_600, io_balance=0.0, ended_minutes_ago=40), Binding.NOTHING),  # stale
        (served(600, io_kib=140, byte_balance=0.0), Binding.INSTANCE_THROUGHPUT),
        (served(600, io_kib=140, byte_balance=90.0), Binding.NOTHING),
        # Operations wait: more storage would serve none of them.
        (served(3_600, io_balance=0.0, queue=500.0), Binding.INSTANCE_IOPS),
        (served(3_600, io_balance=40.0, queue=500.0), Binding.INSTANCE_IOPS),
    ],
)
def test_a_class_is_the_limit_when_all_that_it_gives_was_served(
    seen: Observation, found: Binding
) -> None:
    assert binding(seen) is found


def test_its_owner_is_notified_once_and_nothing_is_bought() -> None:
    decision = decided(served(3_600, io_balance=0.0))
    assert isinstance(decision.answer, Escalate)
    assert decision.answer.reason is Reason.INSTANCE_LIMITED
    assert "3600 IOPS served, and m6i.2xlarge sustains 3600 IOPS" in decision.summary
    assert "class" in decision.answer.remedy


def test_a_class_with_unknown_limits_is_not_blamed() -> None:
    seen = served(3_600, io_balance=0.0)
    assert seen.instance is not None
    unknown = replace(seen, instance=replace(seen.instance, limits=None))
    assert binding(unknown) is Binding.NOTHING


def test_a_volume_is_diagnosed_by_the_checks_of_its_instance_alone() -> None:
    seen = served(3_600, io_balance=0.0)
    plain = replace(seen, volume=volume(gp3(500, 12_000, 500)))
    assert binding(plain) is Binding.NOTHING
