"""The bill of running Headroom: its arithmetic by hand, its laws, and that the code reads what it says."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.cloudwatch.ebs_queries import glance_queries
from headroom.cdk.detection import database_queries, fleet_queries
from headroom.running_cost import PRICES, Fleet, Rates, rates_of, running_cost, suggestion
from headroom.settings import DeploymentConfig, Detection
from tests.builders import gp2, gp3, volume

QUIET = Fleet(volumes=1_000, with_credits=1_000)
BY_ALARMS = rates_of(DeploymentConfig(detection=Detection.FLEET))
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
        (QUIET, "own_alarms", "1.00", "1.00"),
        (QUIET, "own_metrics", "0.30", "0.30"),
        (replace(QUIET, at_risk_percent=5.0), "resource_alarms", "0.00", "0.00"),
        (QUIET, "kms", "0.00", "0.00"),
    ],
)
def test_each_item_is_the_arithmetic_by_hand(fleet: Fleet, key: str, low: str, high: str) -> None:
    usd = running_cost(fleet, BY_ALARMS).item(key).usd
    assert tuple(round(each, 2) for each in usd) == (Decimal(low), Decimal(high))


@pytest.mark.parametrize(
    ("fleet", "key", "low", "high"),
    [
        (QUIET, "alarms", "0.00", "0.00"),
        (Fleet(volumes=7, with_credits=0, databases=1), "resource_alarms", "0.00", "0.80"),
        (QUIET, "resource_alarms", "0.00", "2.00"),  # the budget
        (QUIET, "scans", "8.82", "9.43"),  # 730 / 24 x 29-31 x 1,000 x $0.01 / 1,000
        (replace(QUIET, at_risk_percent=5.0), "scans", "11.65", "12.38"),  # 950 so, 50 x 215-225
        (QUIET, "daily", "1.00", "1.35"),  # 730 / 24 / 7 x 23-31 x 1,000 x $0.01 / 1,000
        (
            replace(QUIET, paid=1_000),
            "daily",
            "7.00",
            "9.43",
        ),  # 730 / 24 x 23-31 x 1,000 x $0.01 / 1,000
        (
            replace(QUIET, paid=300),
            "daily",
            "2.80",
            "3.77",
        ),  # the same with 1,000 / 7 + 300 x 6 / 7
        (replace(QUIET, databases=100), "databases", "1.46", "6.57"),  # 730 x 2-9 x 100
    ],
)
def test_adaptive_glances_are_the_arithmetic_by_hand(
    fleet: Fleet, key: str, low: str, high: str
) -> None:
    usd = running_cost(fleet, Rates()).item(key).usd
    assert tuple(round(each, 2) for each in usd) == (Decimal(low), Decimal(high))


def test_adaptive_detection_keeps_its_price() -> None:
    """At most $25 per 1,000 volumes and month in total with 5 % at risk, $2 before use."""
    month = running_cost(replace(QUIET, at_risk_percent=5.0), Rates())
    assert month.usd[1] <= 25
    assert running_cost(Fleet(volumes=0, with_credits=0), Rates()).usd[1] < 2


def test_a_hub_costs_an_alarm_and_each_event_once_more() -> None:
    busy = replace(QUIET, at_risk_percent=5.0)
    bus = "arn:aws:events:us-east-1:999988887777:event-bus/hub"
    with_hub = running_cost(busy, rates_of(DeploymentConfig(hub_bus=bus)))
    without = running_cost(busy, rates_of(DeploymentConfig()))
    assert with_hub.item("own_alarms").usd[0] - without.item("own_alarms").usd[0] == Decimal("0.10")
    assert with_hub.item("events").usd[0] == 2 * without.item("events").usd[0] > 0


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
    rates, config = Rates(), DeploymentConfig(detection=Detection.FLEET)
    assert rates == rates_of(DeploymentConfig())
    assert len(glance_queries(volume(gp3()))) == rates.metrics_per_glance
    assert len(glance_queries(volume(gp2()))) == rates.metrics_per_glance + rates.credit_metrics
    assert len(fleet_queries(config)) == rates.check_queries + rates.credit_queries
    assert len(database_queries(config)) == rates.database_queries
    assert not rates_of(DeploymentConfig(detection=Detection.SWEEP)).fleet_alarms


def test_a_dashboard_costs_three_dollars_where_it_is_asked_for_and_no_setting_saves_it() -> None:
    without, asked = (rates_of(DeploymentConfig(dashboard=each)) for each in ("off", "on"))
    bills = [running_cost(QUIET, rates) for rates in (without, asked)]
    assert [bill.item("dashboard").usd[1] for bill in bills] == [0, 3]
    assert bills[1].usd[0] - bills[0].usd[0] == 3
    by_alarms = rates_of(DeploymentConfig(detection=Detection.FLEET, dashboard="on"))
    found = suggestion(QUIET, by_alarms)
    assert found is not None
    assert found.usd == running_cost(QUIET, by_alarms).usd[1] - bills[1].usd[1]


def test_every_price_has_a_dated_source() -> None:
    assert all("20" in price.source and price.usd > 0 for price in PRICES.values())


def test_the_setting_that_saves_most_is_suggested_with_what_it_saves() -> None:
    for detection in (Detection.FLEET, Detection.SWEEP):
        rates = rates_of(DeploymentConfig(detection=detection))
        found = suggestion(QUIET, rates)
        assert found is not None
        assert found.setting == "-c detection=adaptive"
        after = running_cost(QUIET, Rates())
        assert found.usd == running_cost(QUIET, rates).usd[1] - after.usd[1]
        assert suggestion(Fleet(volumes=0, with_credits=0), rates) is None
    assert suggestion(QUIET, Rates()) is None
