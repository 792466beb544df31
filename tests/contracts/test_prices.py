"""Every source of prices: a table of the Region asked for, whole types only, or PriceUnknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.prices import CataloguePrices, ListedPrices, PriceStore, StoredPriceTable
from headroom.adapters.tables import STATE, create_table
from headroom.domain.catalog import PriceTable, catalogue_prices, why_implausible
from headroom.domain.resources import Configuration, PriceUnknown, VolumeType
from headroom.ports import Prices
from headroom.proving.memory.ports import FixedPrices
from headroom.serialization import from_json, to_json
from tests.adapters.prices.recorded_offers import RecordedPriceList
from tests.builders import ACCOUNT, NOW, REGION, gp2, gp3, io


def _kept() -> Prices:
    client = boto3.client(
        "dynamodb", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
    )
    client.create_table(**create_table(STATE, "state"))
    prices = StoredPriceTable(
        PriceStore(client, table="state", account_id=ACCOUNT),
        RecordedPriceList().price_list(),
        clock=lambda: NOW,
    )
    prices.refresh(REGION)
    return prices


SOURCES: dict[str, Callable[[], Prices]] = {
    "catalogue": CataloguePrices,
    "price list": lambda: ListedPrices(RecordedPriceList().price_list(), clock=lambda: NOW),
    "kept price list": _kept,
    "scenario": lambda: FixedPrices(prices=catalogue_prices(REGION)),
}


@pytest.fixture(params=SOURCES)
def prices(request: pytest.FixtureRequest) -> Iterator[Prices]:
    with mock_aws():
        yield SOURCES[request.param]()


def test_the_table_is_of_the_region_and_says_where_it_is_from_and_since_when(
    prices: Prices,
) -> None:
    table = prices.table(REGION)
    assert table.region == REGION
    assert table.source
    assert isinstance(table.as_of, date)
    assert why_implausible(table) is None


def test_asked_twice_it_says_the_same(prices: Prices) -> None:
    assert prices.table(REGION) == prices.table(REGION)


@pytest.mark.parametrize(
    ("configuration", "usd"),
    [
        (gp2(400), "40"),
        (gp3(400, 3_000, 125), "32"),
        (gp3(400, 6_000, 250), "52"),
        (io(VolumeType.IO1, 400, 16_000), "1090"),
        (io(VolumeType.IO2, 100, 65_000), "3580.35"),
    ],
)
def test_all_sources_agree_to_the_last_digit(
    prices: Prices, configuration: Configuration, usd: str
) -> None:
    assert prices.table(REGION).monthly(configuration) == Decimal(usd)


def test_a_table_survives_being_stored(prices: Prices) -> None:
    table = prices.table(REGION)
    assert from_json(to_json(table), PriceTable) == table


def test_an_unknown_region_has_no_price(prices: Prices) -> None:
    if isinstance(prices, FixedPrices):
        return  # a scenario has one Region and is never asked for another
    with pytest.raises(PriceUnknown, match="mars-north-1"):
        prices.table("mars-north-1")
