"""One product of the Price List API, as GetProducts gives it.

Source: Price List Query API reference (checked 2026-11).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from hashlib import sha256
from typing import Any

IN_REGION, IN_LOCAL_ZONE = "AWS Region", "AWS Local Zone"
_IN_FORCE_SINCE = "2020-12-01T00:00:00Z"
"""Earlier than any likely simulated time."""
_PREFIX = {"us-east-1": "", "us-east-2": "USE2-", "us-west-2": "USW2-", "ap-northeast-1": "APN1-"}


def product(
    service: str, region: str, as_of: date, family: str, usage: str, unit: str, usd: Decimal,
    *, attributes: Mapping[str, str], zone: str = "",
) -> dict[str, Any]:  # fmt: skip
    """A product with its price on demand; `zone` is the prefix of a Local Zone that sells it."""
    usage = f"{_PREFIX.get(region, '')}{zone}{usage}"
    suffix = " ".join(attributes.values()) if service == "AmazonRDS" else ""
    sku = sha256(f"{region} {usage}{suffix}".encode()).hexdigest()[:16].upper()
    term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    what = " ".join(attributes.values())
    dimension = {
        "unit": unit, "beginRange": "0", "endRange": "Inf", "rateCode": rate, "appliesTo": [],
        "description": f"${usd.normalize():f} per {unit} of {what} - {region}",
        "pricePerUnit": {"USD": f"{usd:.10f}"},
    }  # fmt: skip
    offer = {
        "sku": sku, "offerTermCode": "JRTCKXETXF", "effectiveDate": _IN_FORCE_SINCE,
        "termAttributes": {}, "priceDimensions": {rate: dimension},
    }  # fmt: skip
    fields = {
        "servicecode": service, "regionCode": region, "usagetype": usage,
        "locationType": IN_LOCAL_ZONE if zone else IN_REGION, **attributes,
    }  # fmt: skip
    return {
        "serviceCode": service,
        "version": as_of.strftime("%Y%m%d000000"),
        "publicationDate": f"{as_of.isoformat()}T00:00:00Z",
        "product": {"sku": sku, "productFamily": family, "attributes": fields},
        "terms": {"OnDemand": {term: offer}},
    }
