"""Answers of the Price List API in its own shapes, and a client that gives them."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from headroom.adapters.prices import PriceList

FOLDER = Path(__file__).parent / "price_list"
REGIONS = ("ap-northeast-1", "eu-central-1", "us-east-1")


@cache
def _pages(region: str) -> tuple[dict[str, Any], ...]:
    path = FOLDER / f"{region}.json"
    return tuple(json.loads(path.read_text())) if path.exists() else ()


def products(region: str) -> list[str]:
    """Every product of every page, in order."""
    return [text for page in _pages(region) for text in page["PriceList"]]


Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes a product, given with its only price dimension."""


def changed(texts: list[str], usage: str, change: Change) -> list[str]:
    """The products with those of the usage type changed."""
    found = []
    for text in texts:
        product = json.loads(text)
        if product["product"]["attributes"]["usagetype"].endswith(usage):
            (term,) = product["terms"]["OnDemand"].values()
            (dimension,) = term["priceDimensions"].values()
            change(product, dimension)
        found.append(json.dumps(product))
    return found


def without(texts: list[str], usage: str) -> list[str]:
    """The products but those of the usage type."""
    return [t for t in texts if f'{usage}"' not in t]


def costing(usd: str) -> Change:
    """The same product at another price."""

    def change(_: dict[str, Any], dimension: dict[str, Any]) -> None:
        dimension["pricePerUnit"] = {"USD": usd}

    return change


class RecordedPriceList:
    """A client of the Price List API that answers as recorded, page by page.

    `also` stands in for the products of a Region; with `fails` every call is refused.
    """

    def __init__(self) -> None:
        self.begin_again()

    def begin_again(self) -> None:
        """As if nothing had been asked or changed."""
        self.calls: list[dict[str, Any]] = []
        self.extra_target: dict[str, list[str]] = {}
        self.fails: str | None = None

    def get_products(self, **request: Any) -> dict[str, Any]:
        self.calls.append(request)
        if self.fails:
            raise ClientError({"Error": {"Code": self.fails, "Message": "no"}}, "GetProducts")
        wanted = {each["Field"]: each["Value"] for each in request["Filters"]}
        region, family = wanted["regionCode"], wanted["productFamily"]
        if region in self.extra_target:
            of = {
                text: json.loads(text)["product"]["productFamily"]
                for text in self.extra_target[region]
            }
            return {"PriceList": [text for text in self.extra_target[region] if of[text] == family]}
        pages = [page for page in _pages(region) if page["family"] == family]
        tokens = [None, *(page.get("NextToken") for page in pages)]
        for token, page in zip(tokens, pages, strict=False):
            if token == request.get("NextToken"):
                return {name: value for name, value in page.items() if name != "family"}
        return {"FormatVersion": "aws_v1", "PriceList": []}

    def price_list(self) -> PriceList:
        return PriceList(lambda: self)
