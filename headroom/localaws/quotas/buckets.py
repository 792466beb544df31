"""Request quotas in front of the endpoint: a token bucket for each API, account and Region.

Sources: EC2 Developer Guide, "Request throttling for the Amazon EC2 API" (one bucket for each API;
non-mutating 100 tokens and 20 a second, mutating 50 and 5); CloudWatch User Guide, "CloudWatch service
quotas" (transactions per second); both 2026-11. AWS publishes no figures for RDS: nothing is throttled
there.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from wsgiref.types import WSGIEnvironment

from headroom.localaws.iam import UnknownRequest, call_of, session_of
from headroom.localaws.state import AccountRegion, Cloud

EC2_READ, EC2_WRITE = (100.0, 20.0), (50.0, 5.0)
"""Size of a bucket, and tokens that it regains in a second."""
CLOUDWATCH = {
    "DeleteAlarms": 3.0, "DescribeAlarmContributors": 9.0, "DescribeAlarms": 9.0,
    "GetMetricData": 500.0, "ListMetrics": 25.0, "PutMetricAlarm": 3.0, "SetAlarmState": 3.0,
}  # fmt: skip
"""Transactions a second; a bucket holds one second's."""
INSIGHTS = 10.0
"""GetMetricData a second where a query is one of Metrics Insights."""

Key = tuple[str, str, str]
"""Service, operation and, for GetMetricData with Metrics Insights, `insights`."""


class Throttled(Exception):
    """A request beyond a quota."""

    def __init__(self, service: str) -> None:
        super().__init__(service)
        self.service = service


@dataclass(slots=True)
class Bucket:
    """Tokens for the requests of one API; regained by the endpoint's clock or by real time."""

    most: float
    refill: float
    tokens: float
    at: float
    clock: datetime

    def take(self, at: float, clock: datetime) -> bool:
        """Whether there is a token for one request now.

        A clock in lock-step stands still while functions run, and jumps by minutes: the longer of
        both times counts.
        """
        passed = max(at - self.at, (clock - self.clock).total_seconds(), 0.0)
        self.tokens = min(self.most, self.tokens + passed * self.refill)
        self.at, self.clock = at, clock
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True


@dataclass(slots=True)
class Buckets:
    """Those of one account and Region, and how many requests were refused."""

    of: dict[Key, Bucket] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


def take_token(cloud: Cloud, environ: WSGIEnvironment, access_key: str) -> None:
    """Raise Throttled if a request is beyond its quota, where the endpoint has quotas."""
    if not cloud.options.quotas:
        return
    session = session_of(access_key)
    account = AccountRegion().account if session is None else session.account
    try:
        call = call_of(environ, account)
    except (UnknownRequest, ValueError):
        return  # none of the services below
    size = _size(call.service, call.operation, call.parameters)
    if size is None:
        return
    buckets = cloud.part(Buckets, AccountRegion(account, call.region), Buckets)
    key = call.service, call.operation, "insights" if size == (INSIGHTS, INSIGHTS) else ""
    at, clock = time.monotonic(), cloud.clock.now()
    with buckets.lock:
        bucket = buckets.of.setdefault(key, Bucket(*size, tokens=size[0], at=at, clock=clock))
        if bucket.take(at, clock):
            return
        buckets.refused[f"{call.service}:{call.operation}"] += 1
    raise Throttled(call.service)


def _size(service: str, operation: str, parameters: Any) -> tuple[float, float] | None:
    """Size and refill of the bucket of an API; None where no quota is known."""
    if service == "ec2":
        return EC2_READ if operation.startswith(("Describe", "Get")) else EC2_WRITE
    if service != "cloudwatch" or operation not in CLOUDWATCH:
        return None
    queries = parameters.get("MetricDataQueries") or ()
    if any(str(query.get("Expression", "")).upper().startswith("SELECT") for query in queries):
        return INSIGHTS, INSIGHTS
    return CLOUDWATCH[operation], CLOUDWATCH[operation]


def too_many(error: Throttled) -> tuple[str, list[tuple[str, str]], bytes]:
    """AWS's answer to a request beyond a quota: status, headers, body."""
    if error.service == "ec2":
        detail = "<Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error>"
        body = f"<Response><Errors>{detail}</Errors></Response>".encode()
        return "503 Service Unavailable", [("Content-Type", "text/xml")], body
    body = json.dumps({"__type": "ThrottlingException", "message": "Rate exceeded"}).encode()
    headers = [
        ("Content-Type", "application/x-amz-json-1.0"), ("X-Amzn-ErrorType", "ThrottlingException"),
    ]  # fmt: skip
    return "400 Bad Request", headers, body


def refusals(cloud: Cloud) -> dict[str, Any]:
    """How many requests were refused, by account, Region and API."""
    return {
        "enforced": cloud.options.quotas,
        "refused": {
            f"{where.account}/{where.region}": dict(buckets.refused)
            for where, buckets in cloud.parts(Buckets)
            if buckets.refused
        },
    }
