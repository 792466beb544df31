"""Prices between two reads of the list: kept, aged, refused, and never half of one and the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.prices import ListedPrices, PriceStore, StoredPriceTable
from headroom.adapters.tables import STATE, account_key, create_table
from headroom.domain.catalog import catalogue_prices
from headroom.domain.resources import PriceUnknown, VolumeType
from tests.adapters.prices.recorded_offers import (
    RecordedPriceList,
    changed,
    costing,
    products,
    without,
)
from tests.builders import ACCOUNT, NOW

US, FRANKFURT = "us-east-1", "eu-central-1"
PUBLISHED = date(2026, 11, 18)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass
class World:
    """A state table, a list, a clock, and any number of functions that share them."""

    dynamodb: Any
    listed: RecordedPriceList = field(default_factory=RecordedPriceList)
    now: datetime = NOW

    def function(self, *, may_ask: bool = True) -> StoredPriceTable:
        store = PriceStore(self.dynamodb, table="state", account_id=ACCOUNT)
        price_list = self.listed.price_list() if may_ask else None
        return StoredPriceTable(store, price_list, clock=lambda: self.now)

    @property
    def asked(self) -> int:
        """How many times the list was read from its beginning."""
        return sum(
            call["Filters"][0]["Value"] == "Storage" and "NextToken" not in call
            for call in self.listed.calls
        )

    def lists(self, region: str, texts: list[str]) -> None:
        self.listed.extra_target[region] = texts


@pytest.fixture
def world() -> Iterator[World]:
    with mock_aws():
        client = boto3.client(
            "dynamodb", region_name=US, aws_access_key_id="test", aws_secret_access_key="test"
        )
        client.create_table(**create_table(STATE, "state"))
        yield World(client)


def test_before_anything_was_read_the_catalogue_is_used(world: World) -> None:
    assert world.function().table(US) == catalogue_prices(US)
    with pytest.raises(PriceUnknown, match=FRANKFURT):
        world.function().table(FRANKFURT)
    assert world.asked == 0, "deciding asks nobody"


def test_what_was_read_is_used_with_its_date_by_every_function_from_then_on(world: World) -> None:
    sweep = world.function()
    assert sweep.refresh(FRANKFURT) is None
    for function in (sweep, world.function(may_ask=False)):
        table = function.table(FRANKFURT)
        assert (table.source, table.as_of) == ("price list", PUBLISHED)
        assert table.gib[VolumeType.GP3] == Decimal("0.0952")
    assert world.asked == 1


def test_a_function_that_runs_already_learns_of_a_new_list_within_minutes(world: World) -> None:
    signals = world.function(may_ask=False)
    world.function().refresh(US)
    before = signals.table(US)
    world.lists(US, changed(products(US), "EBS:VolumeUsage.gp2", costing("0.11")))
    world.now += DAY
    assert signals.table(US) == before
    assert world.function().refresh(US) is None
    assert signals.table(US) == before, "remembered"
    world.now += timedelta(minutes=10)
    assert signals.table(US).gib[VolumeType.GP2] == Decimal("0.11")


def test_the_list_is_read_once_a_day_by_whichever_function_comes_first(world: World) -> None:
    sweep = world.function()
    for minute in range(0, 3 * 1_440, 180):
        world.now = NOW + timedelta(minutes=minute)
        assert sweep.refresh(US) is None
        assert world.function().refresh(US) is None, "a cold start"
    assert world.asked == 3


def test_a_region_is_read_apart_from_another(world: World) -> None:
    sweep = world.function()
    sweep.refresh(US)
    sweep.refresh(FRANKFURT)
    assert world.asked == 2
    expected = replace(catalogue_prices(US), source="price list", as_of=PUBLISHED)
    assert sweep.table(US) == expected
    assert sweep.table(FRANKFURT).region == FRANKFURT


def test_a_list_that_cannot_be_read_is_tried_again_hourly_and_the_last_one_stays(
    world: World,
) -> None:
    sweep = world.function()
    sweep.refresh(FRANKFURT)
    before = sweep.table(FRANKFURT)
    world.listed.fails = "AccessDeniedException"
    problems = []
    for minute in range(24 * 60, 27 * 60, 10):
        world.now = NOW + timedelta(minutes=minute)
        problems += [problem for problem in [sweep.refresh(FRANKFURT)] if problem]
        assert sweep.table(FRANKFURT) == before
    assert len(problems) == 3
    assert problems[0].startswith("The prices of eu-central-1 were not read anew: GetProducts")
    assert "AccessDeniedException" in problems[0]


@pytest.mark.parametrize(("days", "source"), [(29.9, "price list"), (30.1, None)])
def test_after_thirty_days_the_catalogue_takes_over_and_says_so(
    world: World, days: float, source: str | None
) -> None:
    world.function().refresh(US)
    world.function().refresh(FRANKFURT)
    world.now += timedelta(days=days)
    table = world.function().table(US)
    assert table.source == source or table == replace(
        catalogue_prices(US), source="catalogue (price list not read for 30 days)"
    )
    if source is None:
        with pytest.raises(PriceUnknown):
            world.function().table(FRANKFURT)


WRONG_UNIT = changed(products(US), "VolumeP-Throughput.gp3", costing("41943.04"))
TEN_TIMES = changed(products(US), "EBS:VolumeUsage.io2", costing("1.25"))
TENTH = changed(products(US), "EBS:VolumeP-IOPS.piops", costing("0.0065"))
NO_GP3 = without(products(US), "EBS:VolumeUsage.gp3")
TIERS_UP = changed(products(US), "EBS:VolumeP-IOPS.io2.tier3", costing("0.047"))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (WRONG_UNIT, "a MiB/s of gp3 costs 40.96 USD, more than 1.5 times off the 0.04"),
        (TEN_TIMES, "a GiB of io2 costs 1.25 USD"),
        (TENTH, "an IOPS of io1 costs 0.0065 USD"),
        (NO_GP3, "it has no price of gp3"),
        (TIERS_UP, "dearer from tier to tier"),
    ],
)
def test_a_list_that_cannot_be_right_is_refused_whole_and_the_record_will_say_so(
    world: World, texts: list[str], said: str
) -> None:
    world.lists(US, texts)
    sweep = world.function()
    problem = sweep.refresh(US)
    assert problem is not None
    assert problem.startswith("The price list of us-east-1 is refused: ")
    assert said in problem
    for function in (sweep, world.function(may_ask=False)):
        assert function.table(US) == replace(
            catalogue_prices(US), source="catalogue (price list refused)"
        )


def test_a_refused_list_leaves_the_last_one_that_was_believed_and_a_good_one_mends_it(
    world: World,
) -> None:
    sweep = world.function()
    sweep.refresh(US)
    good = sweep.table(US)
    world.lists(US, TEN_TIMES)
    world.now += DAY
    assert sweep.refresh(US)
    assert sweep.table(US) == good
    world.now += timedelta(days=30)
    assert sweep.refresh(US)
    assert sweep.table(US).source == "catalogue (price list refused)"
    del world.listed.extra_target[US]
    world.now += HOUR
    assert sweep.refresh(US) is None
    assert sweep.table(US) == good


def test_a_part_that_was_passed_over_is_reported_with_the_refusal(world: World) -> None:
    def in_yuan(_: dict[str, Any], dimension: dict[str, Any]) -> None:
        dimension["pricePerUnit"] = {"CNY": "0.5"}

    world.lists(US, changed(products(US), "EBS:VolumeUsage.gp3", in_yuan))
    assert "EBS:VolumeUsage.gp3: priced in CNY" in str(world.function().refresh(US))


def test_where_no_list_is_in_dollars_nobody_is_asked(world: World) -> None:
    function = world.function(may_ask=False)
    assert function.refresh("cn-north-1") is None
    with pytest.raises(PriceUnknown, match="cn-north-1"):
        function.table("cn-north-1")
    assert world.listed.calls == []


@pytest.mark.parametrize("text", ["", "{}", '{"another":"release"}', "[1]"])
def test_prices_of_another_release_that_are_not_understood_are_read_anew(
    world: World, text: str
) -> None:
    world.function().refresh(US)
    key = {"owner": {"S": account_key(ACCOUNT, US)}, "item": {"S": "prices"}}
    world.dynamodb.update_item(
        TableName="state", Key=key, UpdateExpression="SET prices = :text",
        ExpressionAttributeValues={":text": {"S": text}},
    )  # fmt: skip
    world.now += HOUR
    function = world.function()
    assert function.table(US).source.startswith("catalogue")
    assert function.refresh(US) is None
    assert function.table(US).source == "price list"


def test_kept_prices_that_this_release_knows_to_be_wrong_are_not_used(world: World) -> None:
    dear = replace(catalogue_prices(US), gp3_mibps=Decimal("40.96"))
    PriceStore(world.dynamodb, table="state", account_id=ACCOUNT).keep(dear, now=NOW)
    assert world.function().table(US).source == "catalogue (price list refused)"


def test_a_state_table_that_does_not_answer_leaves_what_is_remembered(world: World) -> None:
    function = world.function()
    function.refresh(FRANKFURT)
    before = function.table(FRANKFURT)
    world.dynamodb.delete_table(TableName="state")
    world.now += DAY
    assert function.table(FRANKFURT) == before
    assert "not read anew" in str(function.refresh(FRANKFURT))
    with pytest.raises(PriceUnknown):
        world.function().table(FRANKFURT)


def test_a_failed_read_of_the_state_table_is_not_remembered(world: World) -> None:
    world.function().refresh(FRANKFURT)
    (item,) = world.dynamodb.scan(TableName="state")["Items"]
    world.dynamodb.delete_table(TableName="state")
    function = world.function(may_ask=False)
    with pytest.raises(PriceUnknown):
        function.table(FRANKFURT)
    world.dynamodb.create_table(**create_table(STATE, "state"))
    world.dynamodb.put_item(TableName="state", Item=item)
    assert function.table(FRANKFURT).source == "price list"


def test_a_command_asks_the_list_once_and_falls_back_on_the_catalogue(world: World) -> None:
    prices = ListedPrices(world.listed.price_list(), clock=lambda: NOW)
    assert prices.table(FRANKFURT) == prices.table(FRANKFURT)
    assert world.asked == 1
    world.listed.fails = "ThrottlingException"
    assert prices.table(US).source == "catalogue (price list not read)"
    with pytest.raises(PriceUnknown):
        prices.table("eu-west-1")
    world.listed.fails = None
    world.lists("us-west-2", [t.replace(US, "us-west-2") for t in TEN_TIMES])
    assert prices.table("us-west-2").source == "catalogue (price list refused)"


def test_that_nothing_is_kept_is_not_remembered(world: World) -> None:
    signals = world.function(may_ask=False)
    assert not signals.knows(FRANKFURT)
    world.function().refresh(FRANKFURT)
    assert signals.knows(FRANKFURT)
