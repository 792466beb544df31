"""Reads the Price List API: the products of one Region, page by page, as a table of prices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from headroom.adapters.errors import reading
from headroom.adapters.prices.ebs_offers import FAMILIES, ParsedPrices, parse_volume_offers
from headroom.adapters.prices.offers import IN_REGION, PriceListUnreadable
from headroom.adapters.prices.rds_offers import FAMILIES as DATABASE_FAMILIES
from headroom.adapters.prices.rds_offers import parse_database_offers
from headroom.ports import ReadFailed

SERVICE, DATABASES = "AmazonEC2", "AmazonRDS"
PAGE = 100
"""Products a page has at most."""
PAGES = 20
"""A Region has a page or two of each family; an API that never ends is not believed."""

US, EUROPE, ASIA = "us-east-1", "eu-central-1", "ap-south-1"
_NEAREST = {"eu": EUROPE, "af": EUROPE, "il": EUROPE, "me": EUROPE, "ap": ASIA}


def endpoint_region(region: str, *, partition: str) -> str | None:
    """The Region whose Price List endpoint to ask for prices of `region`; None if there is none.

    There are three, all in the partition `aws` (endpoints and quotas, checked 2026-11); the nearest
    is asked, so that a rule that keeps an account within Europe does not stand against it. China's
    list is in CNY, which the policy's limits are not; other partitions have none that is open.
    """
    if partition != "aws":
        return None
    return _NEAREST.get(region.split("-", 1)[0], US)


class PriceList:
    """The Price List API through one client, which is made when it is first needed.

    With `databases` it is asked for storage of RDS too.
    """

    def __init__(self, client: Callable[[], Any], *, databases: bool = False) -> None:
        self._client = client
        self._databases = databases

    def read(self, region: str, today: date) -> ParsedPrices:
        """The EBS prices of `region` in force `today`, all pages or nothing; raises ReadFailed.

        Prices of databases that cannot be read hide nothing: they are missing, and the answer says why.
        """
        try:
            products = self.products(region, SERVICE, FAMILIES)
            found = parse_volume_offers(products, region=region, today=today)
        except PriceListUnreadable as problem:
            raise ReadFailed(f"the price list of {region}: {problem}") from problem
        return self._with_databases(found, region, today) if self._databases else found

    def _with_databases(self, found: ParsedPrices, region: str, today: date) -> ParsedPrices:
        try:
            products = self.products(region, DATABASES, DATABASE_FAMILIES)
            read = parse_database_offers(products, region=region, today=today)
        except (PriceListUnreadable, ReadFailed) as problem:
            return replace(found, databases_unread=str(problem))
        return ParsedPrices(
            table=replace(found.table, databases=read.prices),
            skipped_offers=(*found.skipped_offers, *read.skipped_offers),
        )

    def products(
        self, region: str, service: str, families: tuple[str, ...], **more: str
    ) -> Iterator[str]:
        """Every product of these families in a Region that has `more` attributes as given.

        Page by page; raises ReadFailed.
        """
        with reading("the Price List endpoint"):
            client = self._client()
        for family in families:
            wanted = {"productFamily": family, "regionCode": region, "locationType": IN_REGION}
            wanted |= more
            request: dict[str, Any] = {
                "ServiceCode": service,
                "FormatVersion": "aws_v1",
                "MaxResults": PAGE,
                "Filters": [
                    {"Type": "TERM_MATCH", "Field": field, "Value": value}
                    for field, value in wanted.items()
                ],
            }
            for _ in range(PAGES):
                with reading(f"GetProducts of {family} in {region}"):
                    answer = client.get_products(**request)
                    found, following = answer["PriceList"], answer.get("NextToken")
                yield from found
                if not following:
                    break
                request["NextToken"] = following
            else:
                raise ReadFailed(f"GetProducts of {family} in {region}: over {PAGES} pages")
