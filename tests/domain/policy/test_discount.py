"""A discount is taken off once, from every price, for the resources that the owner names."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.domain.catalog.aurora import aurora_prices
from headroom.domain.decision import decide
from headroom.domain.policy import Policy, PolicyUnreadable, discount_of, owner_prices
from headroom.domain.resources import Configuration, Database, Engine, Kind, VolumeType
from headroom.policy import parse_policy
from tests.builders import REGION, decision_input, gp2, gp3, io, ref, volume

LISTED = catalogue_prices(REGION)
DATABASE = replace(gp3(400, 20_000, 600), database=Database(engine=Engine.POSTGRESQL))


@pytest.mark.parametrize(
    "stored", [gp3(100, 9_000, 300), gp2(500), io(VolumeType.IO2, 100, 50_000), DATABASE]
)
@pytest.mark.parametrize("percent", [0.0, 12.5, 100.0])
def test_every_price_is_the_listed_one_less_the_discount(
    stored: Configuration, percent: float
) -> None:
    own = LISTED.after_discount(percent)
    listed = LISTED.monthly(stored)
    assert own.monthly(stored) == listed * (1 - Decimal(str(percent)) / 100)
    assert own.after_discount(50).monthly(stored) in (own.monthly(stored), listed / 2)
    source, as_of = own.source_of(stored)
    assert (" % discount" in source) is (percent > 0)
    assert as_of == LISTED.source_of(stored)[1]


def test_a_discount_is_never_taken_off_twice() -> None:
    once = LISTED.after_discount(20)
    assert once.after_discount(20) == once == once.after_discount(10)
    assert LISTED.after_discount(0) is LISTED
    cluster = aurora_prices(REGION).after_discount(20)
    assert cluster.after_discount(20) == cluster
    assert cluster.million_ios == aurora_prices(REGION).million_ios * Decimal("0.8")
    assert cluster.source == "catalogue after 20 % discount"


def test_a_discount_is_by_rule_and_a_tag_gives_none() -> None:
    policy = parse_policy(
        {
            "defaults": {"discount_percent": 5},
            "rules": [
                {"match": {"tags": {"team": "data"}}, "set": {"discount_percent": 20}},
                {"match": {"kind": "rds"}, "set": {"discount_percent": 30}},
            ],
        },
        source="policy",
    )
    database = volume(ref=replace(ref("orders"), kind=Kind.RDS))
    assert discount_of(policy, volume(tags=(("team", "data"),))) == 20
    assert discount_of(policy, volume(tags=(("headroom:discount-percent", "90"),))) == 5
    assert discount_of(policy, database) == 30
    assert discount_of(replace(policy, rules=()), database) == 5
    assert owner_prices(policy, database, LISTED) == LISTED.after_discount(30)
    assert owner_prices(PolicyUnreadable(reason="gone"), database, LISTED) == LISTED
    assert owner_prices(policy, database, None) is None


@pytest.mark.parametrize(
    ("zone", "known"),
    [
        ("us-east-1f", True), ("us-east-1a, us-east-1b", True), ("", True),
        ("us-east-1-bos-1a", False), ("us-east-1-wl1-bos-wlz-1", False),
    ],
)  # fmt: skip
def test_storage_in_a_local_zone_has_no_known_price(zone: str, known: bool) -> None:
    """AWS bills it at other prices than its Region's, so no limit in dollars would hold."""
    prices = owner_prices(Policy(version=""), volume(availability_zone=zone), LISTED)
    assert (prices is not None) is known


def test_a_decision_shows_prices_after_the_discount_and_says_so() -> None:
    listed, own = (decide(decision_input(prices=LISTED.after_discount(p))) for p in (0, 20))
    assert (listed.current_usd, own.current_usd) == (Decimal(8), Decimal("6.4"))
    assert own.price_source == "catalogue after 20 % discount, 2026-09-11"
    assert own.decision_id != listed.decision_id
