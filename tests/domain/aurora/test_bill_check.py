from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from headroom.domain.aurora import assess_cluster, check, decide_cluster, mode_switch_of
from headroom.domain.aurora.bill_check import CHECK_AFTER
from headroom.domain.catalog.aurora import aurora_prices
from headroom.domain.decision import Act, Diverged, ModeSwitch, Pending, Relieved, RollbackConfirmed
from headroom.domain.policy import Mode
from headroom.domain.resources import Member
from tests.builders import NOW, REGION, policy
from tests.domain.clusters import IO_OPTIMIZED, STANDARD, cluster, cluster_input, seen

PRICES = aurora_prices(REGION)
SWITCHED = NOW - timedelta(days=10)


def switch(**changes: object) -> ModeSwitch:
    base = ModeSwitch(
        decision_id="d0", at=SWITCHED, origin=STANDARD, target=IO_OPTIMIZED,
        before_usd=Decimal(1426), forecast_usd=Decimal(1000),
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


OPTIMIZED = cluster(mode=IO_OPTIMIZED, mode_since=SWITCHED)


def test_the_bill_of_whole_days_is_compared_with_the_forecast_and_the_other_mode() -> None:
    found = check(switch(), seen(100e6, OPTIMIZED), PRICES)
    assert found is not None
    assert (found.days, found.actual_usd) == (9, Decimal("1072.24"))
    assert found.counterfactual_usd == Decimal("1425.71")
    assert found.deviation_percent == pytest.approx(7.224)


def test_without_billed_io_the_bill_is_known_and_what_the_other_mode_costs_is_not() -> None:
    found = check(switch(), seen([None] * 16, OPTIMIZED), PRICES)
    assert found is not None
    assert (found.actual_usd, found.counterfactual_usd) == (Decimal("1072.24"), None)


@pytest.mark.parametrize(
    ("of", "made"),
    [
        (OPTIMIZED, switch(at=NOW - timedelta(days=CHECK_AFTER))),  # the first day was no whole one
        (OPTIMIZED, switch(checked=True)),
        (OPTIMIZED, switch(at=NOW - timedelta(days=60))),
        (cluster(), switch()),
        (OPTIMIZED, None),
        (replace(OPTIMIZED, members=(Member(instance_class="db.x9.large"),)), switch()),
        (replace(OPTIMIZED, members=(Member(instance_class="db.serverless"),)), switch()),
    ],
)
def test_no_check_without_enough_days_data_or_prices(of: object, made: ModeSwitch | None) -> None:
    assert check(made, seen(100e6, of), PRICES) is None  # type: ignore[arg-type]


def test_no_size_is_no_bill() -> None:
    assert check(switch(), seen(100e6, OPTIMIZED, gib=None), PRICES) is None
    assert check(switch(), seen(100e6, OPTIMIZED), None) is None


def test_a_return_to_standard_is_billed_by_the_io_of_its_days() -> None:
    back = switch(origin=IO_OPTIMIZED, target=STANDARD, forecast_usd=Decimal(900))
    home = cluster(mode_since=SWITCHED)
    found = check(back, seen(10e6, home), PRICES)
    assert found is not None
    assert found.actual_usd == Decimal("878.21")
    assert check(back, seen([None] * 16, home), PRICES) is None


def test_a_change_has_landed_when_its_mode_is_in_force_and_states_its_forecast() -> None:
    decision = decide_cluster(cluster_input(policy(mode=Mode.AUTO)))
    assert isinstance(decision.answer, Act)
    plan, at = decision.answer.plan, NOW - timedelta(minutes=10)
    assert isinstance(assess_cluster(decision, plan, seen(100e6), at), Pending)
    long_ago = NOW - timedelta(hours=5)
    assert isinstance(assess_cluster(decision, plan, seen(100e6), long_ago), Diverged)
    landed = assess_cluster(decision, plan, seen(100e6, OPTIMIZED), at)
    assert isinstance(landed, Relieved)
    assert "the forecast is $1,072.24 a month, it was $1,425.71" in landed.detail
    undone = replace(decision, rollback_of="d0")
    assert isinstance(assess_cluster(undone, plan, seen(100e6, OPTIMIZED), at), RollbackConfirmed)
    made = mode_switch_of(decision, at)
    assert made is not None
    assert (made.before_usd, made.forecast_usd) == (Decimal("1425.71"), Decimal("1072.24"))
