"""The bill of running Headroom: its arithmetic by hand, its laws, and that the code reads what it says."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.cloudwatch.ebs_metrics import glance_queries
from headroom.cdk.detection import database_queries, fleet_queries
from headroom.running_cost import PRICES, Fleet, Rates, rates_of, running_cost, suggestion
from headroom.settings import DeploymentConfig, Detection
from tests.builders import gp2, gp3, volume

QUIET = Fleet(volumes=1_000, with_credits=1_000)
counts = st.integers(0, 50_000)


@pytest.mark.parametrize(
    ("fleet", "key", "low", "high"),
    [
        (QUIET, "alarms", "300.00", "300.00"),  # 3 x 1,000 x $0.10
        (replace(QUIET, with_credits=0), "alarms", "200.00", "200.00"),
        (QUIET, "scans", "116.80", "116.80"),  # 2,920 x 4 x 1,000 x $0.01 / 1,000
        (replace(QUIET, with_credits=0), "scans", "87.60", "87.60"),
        (QUIET, "daily", "7.00", "9.43"),  # 730 / 24 x 23-31 x 1,000 x $0.01 / 1,000
        (QUIET, "pressure", "0.00", "0.00"),
        (replace(QUIET, at_risk_percent=5.0), "pressure", "33.58", "135.78"),  # 50 x $0.67-$2.72
        (replace(QUIET, databases=100), "databases", "50.44", "50.44"),
        (QUIET, "own_alarms", "1.70", "1.70"),
        (QUIET, "own_metrics", "3.60", "4.80"),
        (QUIET, "kms", "1.00", "1.00"),
    ],
)
def test_each_item_is_the_arithmetic_by_hand(fleet: Fleet, key: str, low: str, high: str) -> None:
    usd = running_cost(fleet, Rates()).item(key).usd
    assert tuple(round(each, 2) for each in usd) == (Decimal(low), Decimal(high))


@given(volumes=counts, share=st.floats(0, 1), at_risk=st.floats(0, 100), more=st.integers(1, 9))
def test_more_to_watch_never_costs_less_and_the_total_is_the_sum(
    volumes: int, share: float, at_risk: float, more: int
) -> None:
    fleet = Fleet(volumes=volumes, with_credits=int(volumes * share), at_risk_percent=at_risk)
    bill, more_bill = (
        running_cost(each, Rates()) for each in (fleet, replace(fleet, volumes=volumes + more))
    )
    assert bill.usd[0] <= bill.usd[1]
    assert bill.usd[1] < more_bill.usd[1]
    assert bill.usd == tuple(sum(item.usd[n] for item in bill.items) for n in (0, 1))
    for item in bill.items:
        if item.fixed:
            assert item.usd == more_bill.item(item.key).usd


def test_the_rates_are_what_the_code_reads_and_deploys() -> None:
    rates, config = Rates(), DeploymentConfig()
    assert rates == rates_of(config)
    assert len(glance_queries(volume(gp3()))) == rates.metrics_per_glance
    assert len(glance_queries(volume(gp2()))) == rates.metrics_per_glance + rates.credit_metrics
    assert len(fleet_queries(config)) == rates.check_queries + rates.credit_queries
    assert len(database_queries(config)) == rates.database_queries
    assert not rates_of(DeploymentConfig(detection=Detection.SWEEP)).fleet_alarms


def test_every_price_has_a_dated_source() -> None:
    assert all("20" in price.source and price.usd > 0 for price in PRICES.values())


def test_the_setting_that_saves_most_is_suggested_with_what_it_saves() -> None:
    found = suggestion(QUIET, Rates())
    assert found is not None
    assert (found.setting, found.usd) == ("-c detection=sweep", Decimal(300))
    without = Rates(fleet_alarms=False)
    found = suggestion(QUIET, without)
    assert found is not None
    assert found.setting == "-c scan_every_minutes=60"
    after = running_cost(QUIET, replace(without, scan_every_minutes=60))
    assert found.usd == running_cost(QUIET, without).usd[1] - after.usd[1]
    assert suggestion(Fleet(volumes=0, with_credits=0), without) is None
