"""The Price List API over HTTP: the catalogue's EBS prices in AWS's own shapes, decoys included.

Only GetProducts for AmazonEC2 volumes is there. Prices do not follow the clock: they are dated as
the catalogue is, so that the same program meets the same prices on every run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any

from headroom.domain.pricing import CATALOGUE_PRICES, PriceTable
from headroom.domain.resources import VolumeType

TARGET = "AWSPriceListService."
_IN_FORCE_SINCE = "2020-12-01T00:00:00Z"
"""Before any instant that a clock here is likely to be set to."""
PAGE = 100
_PREFIX = {"us-east-1": "", "us-east-2": "USE2-", "us-west-2": "USW2-", "ap-northeast-1": "APN1-"}
_NAMES = {VolumeType.IO1: "piops"}


class Refused(Exception):
    """AWS's error code and message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def answer(operation: str, body: bytes) -> tuple[int, bytes]:
    """HTTP status and JSON answer to a request of the JSON 1.1 protocol."""
    try:
        if operation != "GetProducts":
            raise NotImplementedError(f"Price List {operation} is not part of this endpoint.")
        return 200, json.dumps(_get_products(json.loads(body or b"{}"))).encode()
    except Refused as refused:
        told = {"__type": refused.code, "Message": str(refused)}
        return 400, json.dumps(told).encode()


def _get_products(request: Mapping[str, Any]) -> dict[str, Any]:
    if request.get("ServiceCode") != "AmazonEC2":
        raise Refused("NotFoundException", f"Unknown service {request.get('ServiceCode')!r}.")
    filters = request.get("Filters") or []
    for each in filters:
        if each.get("Type") not in ("TERM_MATCH", "EQUALS"):
            raise NotImplementedError(f"Filter type {each.get('Type')!r} is not part of it.")
    found = [p for table in CATALOGUE_PRICES.values() for p in _products(table) if _is(p, filters)]
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


def _is(product: Mapping[str, Any], filters: list[dict[str, str]]) -> bool:
    said = product["product"]["attributes"] | {"productFamily": product["product"]["productFamily"]}
    return all(said.get(f["Field"], "").lower() == f["Value"].lower() for f in filters)


def _products(table: PriceTable) -> Iterator[dict[str, Any]]:
    """Every product of a Region, and one like it that a Local Zone sells dearer."""
    for kind, usd in table.gib.items():
        usage = f"EBS:VolumeUsage.{_NAMES.get(kind, kind.value)}"
        unit = "GB-month" if kind is VolumeType.IO2 else "GB-Mo"
        yield _product(table, "Storage", kind, usage, unit, usd)
        yield _product(table, "Storage", kind, usage, unit, usd * 2, zone="LZ1-")
    iops = {f"{_NAMES.get(k, k.value)}": (k, usd) for k, usd in table.iops.items()}
    iops["io2.tier2"] = (VolumeType.IO2, table.io2_tier2)
    iops["io2.tier3"] = (VolumeType.IO2, table.io2_tier3)
    for name, (kind, usd) in iops.items():
        yield _product(table, "System Operation", kind, f"EBS:VolumeP-IOPS.{name}", "IOPS-Mo", usd)
    yield _product(
        table, "Provisioned Throughput", VolumeType.GP3, "EBS:VolumeP-Throughput.gp3", "GiBps-mo",
        table.gp3_mibps * 1_024,
    )  # fmt: skip


def _product(
    table: PriceTable, family: str, kind: VolumeType, usage: str, unit: str, usd: Decimal,
    *, zone: str = "",
) -> dict[str, Any]:  # fmt: skip
    usage = f"{_PREFIX.get(table.region, '')}{zone}{usage}"
    sku = sha256(f"{table.region} {usage}".encode()).hexdigest()[:16].upper()
    published = f"{table.as_of.isoformat()}T00:00:00Z"
    term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    dimension = {
        "unit": unit, "beginRange": "0", "endRange": "Inf", "rateCode": rate, "appliesTo": [],
        "description": f"${usd.normalize():f} per {unit} of {kind} - {table.region}",
        "pricePerUnit": {"USD": f"{usd:.10f}"},
    }  # fmt: skip
    offer = {
        "sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": _IN_FORCE_SINCE,
        "termAttributes": {}, "priceDimensions": {rate: dimension},
    }  # fmt: skip
    attributes = {
        "servicecode": "AmazonEC2", "regionCode": table.region, "usagetype": usage,
        "locationType": "AWS Local Zone" if zone else "AWS Region", "volumeApiName": kind.value,
    }  # fmt: skip
    return {
        "serviceCode": "AmazonEC2",
        "version": table.as_of.strftime("%Y%m%d000000"),
        "publicationDate": published,
        "product": {"sku": sku, "productFamily": family, "attributes": attributes},
        "terms": {"OnDemand": {term: offer}},
    }
