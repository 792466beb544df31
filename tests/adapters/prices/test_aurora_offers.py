from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from headroom.adapters.prices.aurora_offers import ParsedAuroraPrices, parse_aurora_offers
from headroom.adapters.prices.offers import PriceListUnreadable
from headroom.domain.catalog.aurora import aurora_prices

TODAY = date(2026, 11, 21)


def product(
    usage: str, usd: str, unit: str, *, engine: str = "Any", region: str = "us-east-1",
    place: str = "AWS Region", begin: str = "0",
) -> str:  # fmt: skip
    """One product as GetProducts gives it: a JSON text."""
    sku = f"{engine}{usage}{usd}".upper().replace(" ", "")[:16]
    return json.dumps(
        {
            "product": {
                "sku": sku, "productFamily": "Database Storage",
                "attributes": {
                    "servicecode": "AmazonRDS", "locationType": place, "regionCode": region,
                    "usagetype": usage, "databaseEngine": engine,
                    "deploymentOption": "Single-AZ",
                },
            },
            "publicationDate": "2026-09-11T00:00:00Z",
            "terms": {"OnDemand": {f"{sku}.JRTCKXETXF": {
                "effectiveDate": "2026-07-01T00:00:00Z",
                "priceDimensions": {f"{sku}.JRTCKXETXF.6YS6EN2CT7": {
                    "unit": unit, "beginRange": begin, "endRange": "Inf",
                    "pricePerUnit": {"USD": usd},
                }},
            }}},
        }
    )  # fmt: skip


PG = "Aurora PostgreSQL"
STORAGE = [
    product("Aurora:StorageUsage", "0.1000000000", "GB-Mo"),
    product("Aurora:IO-OptimizedStorageUsage", "0.2250000000", "GB-Mo"),
    product("Aurora:StorageIOUsage", "0.0000002000", "IOs"),
]
SERVERLESS = [
    product("Aurora:ServerlessV2Usage", "0.1200000000", "ACU-Hr", engine=PG),
    product("Aurora:ServerlessV2IOOptimizedUsage", "0.1600000000", "ACU-Hr", engine=PG),
]
INSTANCES = [
    product("InstanceUsage:db.r6g.large", "0.2600000000", "Hrs", engine=PG),
    product("InstanceUsageIOOptimized:db.r6g.large", "0.3380000000", "Hrs", engine=PG),
    product("InstanceUsage:db.r7g.xlarge", "0.5530000000", "Hrs", engine=PG),
    product("InstanceUsageIOOptimized:db.r7g.xlarge", "0.7190000000", "Hrs", engine=PG),
]
ALL = [*STORAGE, *SERVERLESS, *INSTANCES]


def read(*products: str, engine: str = "aurora-postgresql") -> ParsedAuroraPrices:
    return parse_aurora_offers(products, region="us-east-1", engine=engine, today=TODAY)


def test_the_list_says_what_the_catalogue_says() -> None:
    found = read(*ALL)
    assert replace(found.prices, source="catalogue") == aurora_prices("us-east-1")
    assert found.skipped_offers == ()


DECOYS = {
    "serverless of the first generation": product("Aurora:ServerlessUsage", "0.06", "ACU-Hr"),
    "a preview": product("Aurora:IO-OptimizedStorageUsage-LimitlessPreview", "0.9", "GB-Mo"),
    "a preview at nothing": product("Aurora:StorageUsage", "0.0000000000", "GB-Mo"),
    "another engine": product("InstanceUsage:db.r6g.large", "0.9", "Hrs", engine="Aurora MySQL"),
    "RDS": product("InstanceUsage:db.r6g.large", "0.9", "Hrs", engine="PostgreSQL"),
    "a Local Zone": product("Aurora:StorageUsage", "0.9", "GB-Mo", place="AWS Local Zone"),
    "another Region": product("Aurora:StorageUsage", "0.9", "GB-Mo", region="eu-west-1"),
    "backups": product("Aurora:BackupUsage", "0.021", "GB-Mo"),
}


@pytest.mark.parametrize("decoy", DECOYS)
def test_what_only_looks_like_it_changes_nothing(decoy: str) -> None:
    assert read(*ALL, DECOYS[decoy]) == read(*ALL)


def test_a_class_without_both_prices_has_none() -> None:
    found = read(*STORAGE, *INSTANCES[:3])
    assert list(found.prices.hour) == ["db.r6g.large"]
    assert found.prices.acu_hour is None


@pytest.mark.parametrize("usd", ["0.2", "0.9"])
def test_an_uplift_that_cannot_be_right_is_not_believed(usd: str) -> None:
    wrong = product("InstanceUsageIOOptimized:db.r6g.large", usd, "Hrs", engine=PG)
    found = read(*STORAGE, INSTANCES[0], wrong)
    assert "db.r6g.large" not in found.prices.hour
    assert f"db.r6g.large: 0.26 in Standard and {Decimal(usd)}" in found.skipped_offers[0]


def test_io_priced_by_the_million_is_not_taken_for_one() -> None:
    others = [p for p in STORAGE if "StorageIOUsage" not in p]
    with pytest.raises(PriceListUnreadable, match="no price of StorageIOUsage"):
        read(*others, product("Aurora:StorageIOUsage", "0.20", "1M IOs"))


def test_two_prices_for_one_thing_are_none() -> None:
    found = read(*ALL, product("InstanceUsage:db.r6g.large", "0.3", "Hrs", engine=PG))
    assert "db.r6g.large" not in found.prices.hour
    assert found.skipped_offers == ("InstanceUsage:db.r6g.large: several prices, 0.26, 0.3",)


@pytest.mark.parametrize("text", ["{}", "not json"])
def test_what_is_no_product_is_no_list(text: str) -> None:
    with pytest.raises(PriceListUnreadable):
        read(*ALL, text)
