"""Asking the Price List API: where, what for, and all of it or nothing."""

from __future__ import annotations

from datetime import date
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError

from headroom.adapters.prices import PriceList, endpoint_region
from headroom.adapters.prices.ebs_offers import parse_volume_offers
from headroom.adapters.prices.price_list import PAGES
from headroom.ports import ReadFailed
from tests.adapters.prices.recorded_offers import REGIONS, RecordedPriceList, products

TODAY = date(2026, 11, 21)


@pytest.mark.parametrize("region", REGIONS)
def test_all_pages_of_all_families_make_the_table(region: str) -> None:
    recorded = RecordedPriceList()
    read = recorded.price_list().read(region, TODAY)
    assert read == parse_volume_offers(products(region), region=region, today=TODAY)
    assert len(recorded.calls) == 4, "storage has two pages, IOPS and throughput one"


def test_only_volumes_of_the_region_itself_are_asked_for() -> None:
    recorded = RecordedPriceList()
    recorded.price_list().read("us-east-1", TODAY)
    client: Any = boto3.client(
        "pricing",
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="testing",
    )
    for call in recorded.calls:
        assert (call["ServiceCode"], call["FormatVersion"]) == ("AmazonEC2", "aws_v1")
        assert {f["Type"] for f in call["Filters"]} == {"TERM_MATCH"}
        wanted = {f["Field"]: f["Value"] for f in call["Filters"]}
        assert (wanted["regionCode"], wanted["locationType"]) == ("us-east-1", "AWS Region")
        shape = client.meta.service_model.operation_model("GetProducts").input_shape
        assert set(call) <= set(shape.members)


@pytest.mark.parametrize(
    "code", ["ThrottlingException", "AccessDeniedException", "ExpiredNextTokenException"]
)
def test_a_refused_call_is_a_failed_read(code: str) -> None:
    recorded = RecordedPriceList()
    recorded.fails = code
    with pytest.raises(ReadFailed, match=f"GetProducts of Storage in us-east-1: {code}"):
        recorded.price_list().read("us-east-1", TODAY)


class Endless(RecordedPriceList):
    """Says after every page that there is one more."""

    def get_products(self, **request: Any) -> dict[str, Any]:
        return super().get_products(**request) | {"NextToken": "more"}


class Breaking(RecordedPriceList):
    """The connection is lost at the last call."""

    def get_products(self, **request: Any) -> dict[str, Any]:
        if len(self.calls) == 3:
            raise EndpointConnectionError(endpoint_url="https://api.pricing.us-east-1")
        return super().get_products(**request)


class Emptied(RecordedPriceList):
    """An answer without its list."""

    def get_products(self, **request: Any) -> dict[str, Any]:
        return {"FormatVersion": "aws_v1"}


@pytest.mark.parametrize(
    ("client", "said"),
    [(Endless(), f"over {PAGES} pages"), (Breaking(), "EndpointConnection"), (Emptied(), "KeyErr")],
)
def test_half_a_list_is_none(client: RecordedPriceList, said: str) -> None:
    with pytest.raises(ReadFailed, match=said):
        client.price_list().read("us-east-1", TODAY)


def test_a_region_that_is_not_listed_is_a_failed_read() -> None:
    with pytest.raises(ReadFailed, match="no EBS prices of eu-west-9"):
        RecordedPriceList().price_list().read("eu-west-9", TODAY)


def test_the_client_is_made_when_it_is_needed_and_not_before() -> None:
    made: list[str] = []

    def client() -> RecordedPriceList:
        made.append("client")
        return RecordedPriceList()

    price_list = PriceList(client)
    assert made == []
    price_list.read("us-east-1", TODAY)
    assert made == ["client"]


@pytest.mark.parametrize(
    ("region", "endpoint"),
    [
        ("us-east-1", "us-east-1"), ("us-west-2", "us-east-1"), ("sa-east-1", "us-east-1"),
        ("ca-central-1", "us-east-1"), ("mx-central-1", "us-east-1"),
        ("eu-west-1", "eu-central-1"), ("af-south-1", "eu-central-1"),
        ("me-central-1", "eu-central-1"), ("il-central-1", "eu-central-1"),
        ("ap-northeast-1", "ap-south-1"), ("ap-south-2", "ap-south-1"),
        ("cn-north-1", None), ("us-gov-west-1", None), ("eusc-de-east-1", None),
        ("us-iso-east-1", None),
    ],
)  # fmt: skip
def test_the_nearest_endpoint_is_asked_and_none_where_no_list_is_in_dollars(
    region: str, endpoint: str | None
) -> None:
    session = boto3.Session("testing", "testing")
    partition = session.get_partition_for_region(region)
    assert endpoint_region(region, partition=partition) == endpoint
    if endpoint is not None:
        assert endpoint in session.get_available_regions("pricing")
