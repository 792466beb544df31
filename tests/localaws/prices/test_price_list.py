"""The Price List API of the endpoint: AWS's shapes, paged, with similar products."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.prices import PriceList
from headroom.adapters.prices.aurora_offers import parse_aurora_offers
from headroom.domain.catalog import CATALOGUE_PRICES, catalogue_prices
from headroom.domain.catalog.aurora import AURORA_PRICES
from headroom.domain.catalog.rds import CATALOGUE_RDS_PRICES
from headroom.ports import ReadFailed
from tests.builders import NOW
from tests.localaws.conftest import Program

HERE = [
    {"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"},
    {"Type": "TERM_MATCH", "Field": "productFamily", "Value": "Storage"},
]


@pytest.mark.parametrize("region", sorted(CATALOGUE_PRICES))
def test_read_as_aws_is_read_it_says_what_the_catalogue_says(program: Program, region: str) -> None:
    client = program.client("pricing")
    table = PriceList(lambda: client).read(region, NOW.date()).table
    known = catalogue_prices(region)
    assert table.source == "price list"
    assert (table.as_of, table.gib, table.iops) == (known.as_of, known.gib, known.iops)
    assert table.gp3_mibps == known.gp3_mibps
    assert (table.io2_tier2, table.io2_tier3) == (known.io2_tier2, known.io2_tier3)


def test_a_region_it_does_not_have_has_no_products(program: Program) -> None:
    client = program.client("pricing")
    with pytest.raises(ReadFailed, match="no EBS prices of eu-central-1"):
        PriceList(lambda: client).read("eu-central-1", NOW.date())


def test_pages_together_hold_every_product_once_with_its_neighbours_in_local_zones(
    program: Program,
) -> None:
    client = program.client("pricing")
    found: list[dict[str, Any]] = []
    for page in client.get_paginator("get_products").paginate(
        ServiceCode="AmazonEC2", Filters=HERE, PaginationConfig={"PageSize": 5}
    ):
        assert len(page["PriceList"]) <= 5
        found += [json.loads(text) for text in page["PriceList"]]
    assert len({product["product"]["sku"] for product in found}) == len(found) == 12
    kinds = {product["product"]["attributes"]["locationType"] for product in found}
    assert kinds == {"AWS Region", "AWS Local Zone"}


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"ServiceCode": "AmazonSNS"}, "NotFoundException"),
        ({"ServiceCode": "AmazonEC2", "NextToken": "x"}, "InvalidNextTokenException"),
        ({"ServiceCode": "AmazonEC2", "MaxResults": 101}, "InvalidParameterException"),
        (
            {
                "ServiceCode": "AmazonEC2",
                "Filters": [{"Type": "CONTAINS", "Field": "usagetype", "Value": "EBS"}],
            },
            "NotImplemented",
        ),
    ],
)
def test_what_it_cannot_answer_it_refuses(
    program: Program, request_: dict[str, Any], code: str
) -> None:
    with pytest.raises(ClientError) as caught:
        program.client("pricing").get_products(**request_)
    assert caught.value.response["Error"]["Code"] == code


def test_another_operation_is_not_there(program: Program) -> None:
    with pytest.raises(ClientError) as caught:
        program.client("pricing").describe_services()
    assert caught.value.response["Error"]["Code"] == "NotImplemented"


def test_storage_of_databases_costs_what_the_catalogue_says(program: Program) -> None:
    read = PriceList(lambda: program.client("pricing"), databases=True).read(
        "us-east-1", NOW.date()
    )
    assert not read.skipped_offers
    answer = {(p.engine, p.deployment): p for p in read.table.databases}
    for known in CATALOGUE_RDS_PRICES["us-east-1"]:
        found = answer[known.engine, known.deployment]
        assert dict(found.gib) == dict(known.gib)
        assert dict(found.iops) == dict(known.iops)
        assert found.gp3_mibps == known.gp3_mibps


@pytest.mark.parametrize("engine", ["aurora-mysql", "aurora-postgresql"])
def test_both_bills_of_aurora_are_priced_as_the_catalogue_says(
    program: Program, engine: str
) -> None:
    pages = (
        program.client("pricing")
        .get_paginator("get_products")
        .paginate(
            ServiceCode="AmazonRDS",
            Filters=[{"Type": "TERM_MATCH", "Field": "regionCode", "Value": "us-east-1"}],
        )
    )
    products = [text for page in pages for text in page["PriceList"]]
    read = parse_aurora_offers(products, region="us-east-1", engine=engine, today=NOW.date())
    assert not read.skipped_offers
    known = AURORA_PRICES["us-east-1"]
    assert dict(read.prices.hour) == dict(known.hour)
    assert read.prices.gib == known.gib
    assert read.prices.million_ios == known.million_ios
    assert read.prices.acu_hour == known.acu_hour
