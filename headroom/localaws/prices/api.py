"""The Price List API over HTTP: the catalogue's prices in AWS's shapes, with similar products.

Only GetProducts is there, for volumes of AmazonEC2 and for storage of AmazonRDS. Prices do not follow the clock: they are dated as
the catalogue is, so that the same program meets the same prices on every run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headroom.localaws.prices import ebs as ebs_price_list
from headroom.localaws.prices import rds as rds_price_list

PRICE_LIST_TARGET = "AWSPriceListService."
PAGE = 100
_SERVICES: Mapping[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "AmazonEC2": ebs_price_list.products,
    "AmazonRDS": rds_price_list.products,
}


class Refused(Exception):
    """AWS's error code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer_price_list(operation: str, body: bytes) -> tuple[int, bytes]:
    """HTTP status and JSON answer to a request of the JSON 1.1 protocol."""
    try:
        if operation != "GetProducts":
            raise NotImplementedError(f"Price List {operation} is not part of this endpoint.")
        return 200, json.dumps(_get_products(json.loads(body or b"{}"))).encode()
    except Refused as refused:
        error = {"__type": refused.code, "Message": str(refused)}
        return 400, json.dumps(error).encode()


def _get_products(request: Mapping[str, Any]) -> dict[str, Any]:
    products = _SERVICES.get(str(request.get("ServiceCode")))
    if products is None:
        raise Refused("NotFoundException", f"Unknown service {request.get('ServiceCode')!r}.")
    filters = request.get("Filters") or []
    for each in filters:
        if each.get("Type") not in ("TERM_MATCH", "EQUALS"):
            raise NotImplementedError(f"Filter type {each.get('Type')!r} is not part of it.")
    found = [product for product in products() if _matches(product, filters)]
    start, size = _page(request)
    more = {"NextToken": str(start + size)} if start + size < len(found) else {}
    texts = [json.dumps(product) for product in found[start : start + size]]
    return {"FormatVersion": "aws_v1", "PriceList": texts, **more}


def _page(request: Mapping[str, Any]) -> tuple[int, int]:
    token, size = str(request.get("NextToken") or "0"), request.get("MaxResults", PAGE)
    if not token.isdigit():
        raise Refused("InvalidNextTokenException", "The pagination token is invalid.")
    if not 1 <= size <= PAGE:
        raise Refused("InvalidParameterException", f"MaxResults must be 1 to {PAGE}.")
    return int(token), size


def _matches(product: Mapping[str, Any], filters: list[dict[str, str]]) -> bool:
    fields = product["product"]["attributes"] | {
        "productFamily": product["product"]["productFamily"]
    }
    return all(fields.get(f["Field"], "").lower() == f["Value"].lower() for f in filters)
