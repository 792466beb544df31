from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.catalog import CATALOGUE_PRICES, PriceTable, catalogue_prices, why_implausible
from headroom.domain.resources import Configuration, Deployment, Engine, PriceUnknown, VolumeType
from headroom.serialization import from_json, to_json
from tests.domain.databases import rds

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
MULTI_AZ, CLUSTER = Deployment.MULTI_AZ, Deployment.CLUSTER


@pytest.mark.parametrize(
    ("region", "configuration", "usd"),
    [
        # Smart Style TECH BLOG, "MySQL Database Service against RDS": 15,000 IOPS need 300 GB of
        # db.r6g.4xlarge in Tokyo, 300 x 0.15 + 15,000 x 0.12 a month.
        ("ap-northeast-1", rds(IO1, 300, 15_000, engine=Engine.MYSQL), "1845.00"),
        # RDS price list, us-east-1, 2026-07-28
        ("us-east-1", rds(GP3, 399), "45.885"),
        ("us-east-1", rds(GP3, 400, 12_000, 500), "46.00"),
        ("us-east-1", rds(GP3, 400, 13_000, 600), "74.00"),
        ("us-east-1", rds(GP3, 400, 13_000, 600, deployment=MULTI_AZ), "148.00"),
        ("us-east-1", rds(GP2, 500), "57.50"),
        ("us-east-1", rds(GP2, 500, deployment=MULTI_AZ), "115.00"),
        ("us-east-1", rds(IO1, 400, 5_000), "550.00"),
        ("us-east-1", rds(IO2, 400, 5_000, deployment=MULTI_AZ), "1100.00"),
        ("us-east-1", rds(GP3, 500, 12_000, deployment=CLUSTER), "172.50"),
        ("ap-northeast-1", rds(GP3, 400, 13_000, 600), "88.80"),
    ],
)
def test_storage_of_a_database_costs_what_the_price_list_says(
    region: str, configuration: Configuration, usd: str
) -> None:
    assert catalogue_prices(region).monthly(configuration) == Decimal(usd)


@pytest.mark.parametrize(
    ("region", "configuration", "fragment"),
    [
        ("us-east-1", rds(GP3, 100, engine=Engine.ORACLE), "gp3 of oracle single-az"),
        ("us-east-1", rds(VolumeType.STANDARD, 100), "no price of standard"),
        ("us-west-2", rds(GP3, 100), "for us-west-2"),
        # Of clusters only the GiB is known.
        ("us-east-1", rds(GP3, 500, 13_000, deployment=CLUSTER), "postgres cluster"),
        ("us-east-1", rds(IO1, 500, 13_000, deployment=CLUSTER), "no price of io1"),
    ],
)
def test_what_no_list_was_at_hand_for_has_no_price_rather_than_a_guess(
    region: str, configuration: Configuration, fragment: str
) -> None:
    with pytest.raises(PriceUnknown, match=fragment):
        catalogue_prices(region).monthly(configuration)


def test_a_table_with_databases_is_the_same_there_and_back() -> None:
    table = catalogue_prices("us-east-1")
    assert from_json(to_json(table), PriceTable) == table
    assert table.databases


def test_a_table_kept_before_databases_were_known_still_reads() -> None:
    table = replace(catalogue_prices("us-east-1"), databases=())
    text = to_json(table).replace('"databases":[],', "")
    assert "databases" not in text
    assert from_json(text, PriceTable) == table


@pytest.mark.parametrize("wrong", ["0", "1.024", "NaN", "-0.1"])
def test_a_price_of_a_database_that_cannot_be_right_discredits_the_whole_table(wrong: str) -> None:
    table = CATALOGUE_PRICES["us-east-1"]
    first, *others = table.databases
    bad = replace(first, gib={**first.gib, GP3: Decimal(wrong)})
    problem = why_implausible(replace(table, databases=(bad, *others)))
    assert problem is not None
    assert "a GiB of gp3 of mysql single-az" in problem
