"""The past of a database under a policy: its own limits, its class, its prices, and RDS's rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.policy import Policy
from headroom.domain.resources import (
    Configuration,
    DatabaseFacts,
    Deployment,
    Kind,
    ResourceRef,
    VolumeActivity,
    VolumeType,
)
from headroom.ports import StorageView
from headroom.proving.replay import Replayed, replay_volume, why_not_replayable
from headroom.proving.replay.volume import policy_in_auto_mode
from tests.builders import ACCOUNT, NOW, REGION, activity, database_policy, instance, volume
from tests.domain.databases import rds

GP2, GP3 = VolumeType.GP2, VolumeType.GP3
ORDERS = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
FACTS = DatabaseFacts(instance_class="db.r6g.4xlarge", status="available", members=("orders",))


def view(configuration: Configuration, *, iops: int = 40_000, **facts: Any) -> StorageView:
    made = volume(configuration, ref=ORDERS)
    limits = instance(baseline_iops=iops, baseline_mibps=1_200.0)
    return StorageView(
        volume=replace(made, tags=(), facts=replace(FACTS, **facts)), modification=None,
        instance=replace(limits, volume_ids=("orders",)),
    )  # fmt: skip


def past(iops: list[float], balance: list[float | None] | None = None) -> VolumeActivity:
    """What RDS published: rates, and no check of anything."""
    return activity(iops, iops_check=None, mibps_check=None, balance=balance or None)


def replayed(seen: StorageView, activity: VolumeActivity, rules: Policy | None = None) -> Replayed:
    start = activity.read_iops.start
    return replay_volume(
        seen, [(activity, None)], rules or database_policy(), catalogue_prices(REGION), since=start
    )


NIGHT = [1_500.0] * 240 + [600.0] * 60
"""Four hours at the baseline of 500 GiB of gp2, its credits gone."""
EMPTY: list[float | None] = [0.0] * 240 + [n / 30 for n in range(60)]


def test_a_gp2_database_that_sat_at_its_baseline_would_have_been_gp3() -> None:
    found = replayed(view(rds(GP2, 500)), past(NIGHT, EMPTY))
    assert found.left_alone.starved_minutes > 60
    (change, *_) = found.headroom.changes
    assert change.target.volume_type is GP3
    assert (change.target.iops or 0) >= 12_000
    assert change.target.database == rds(GP2, 500).database
    assert found.avoided_minutes > 0.5 * found.left_alone.starved_minutes
    assert (found.headroom.aws_refusals, found.headroom.guardrail_violations) == (0, 0)


def test_a_standby_is_billed_in_a_replay_too() -> None:
    single, double = (
        replayed(view(rds(GP2, 500, deployment=each)), past([500.0] * 120))
        for each in (Deployment.SINGLE_AZ, Deployment.MULTI_AZ)
    )
    assert double.usd_per_month == 2 * single.usd_per_month
    paid = single.left_alone.storage_usd, double.left_alone.storage_usd
    assert float(paid[1]) == pytest.approx(2 * float(paid[0]))


def test_where_the_class_was_the_limit_no_storage_is_bought() -> None:
    """The load is never rebuilt above what the class sustains, and that limit is simulated."""
    small = view(rds(GP3, 500, 12_000, 500), iops=6_000)
    found = replayed(small, past([1_000.0] * 60 + [6_000.0] * 180 + [1_000.0] * 60))
    assert found.headroom.changes == ()
    assert found.left_alone.starved_minutes == 0


def test_a_policy_without_databases_is_replayed_as_if_they_were_enrolled() -> None:
    auto = policy_in_auto_mode(
        database_policy(max_iops=9_000), view(rds(GP3, 500, 12_000, 500)).volume
    )
    (rule,) = {dict(rule.settings)["max_iops"] for rule in auto.rules}
    assert rule == 9_000
    assert {rule.selector.kind for rule in auto.rules} == {Kind.RDS}


@pytest.mark.parametrize(("most", "may_grow"), [(None, True), (1_000, False)])
def test_storage_with_rds_autoscaling_is_not_grown_in_a_replay(
    most: int | None, may_grow: bool
) -> None:
    seen = view(rds(GP2, 300), max_allocated_gib=most)
    auto = policy_in_auto_mode(database_policy(growth=True), seen.volume)
    assert {dict(rule.settings)["growth"] for rule in auto.rules} == {may_grow}


def test_a_volume_in_observe_mode_is_not_replayed() -> None:
    seen = view(rds(GP3, 500, 12_000, 500), unusual="a dedicated log volume")
    assert why_not_replayable(seen, database_policy()) == (
        "its storage is unusual (a dedicated log volume), and Headroom only observes it"
    )
    assert why_not_replayable(view(rds(GP3, 500, 12_000, 500)), database_policy()) is None


def test_a_history_of_longer_periods_is_replayed_too() -> None:
    slow = activity(
        [500.0] * 24 + [1_500.0] * 24, iops_check=None, mibps_check=None, period_s=300, end=NOW
    )
    found = replayed(view(rds(GP2, 500)), slow)
    assert found.known.minutes == timedelta(hours=4).total_seconds() / 60
    assert found.known.periods_s == (300,)
