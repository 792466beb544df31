"""Compute Optimizer for tests: its responses in the documented shapes, from a stubbed client.

botocore checks each request and each response against the service's own model, so no name of a
field can be made up.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Any

import boto3
from botocore.stub import Stubber

from tests.builders import ACCOUNT, NOW, REGION

VOLUMES, DATABASES = "get_ebs_volume_recommendations", "get_rds_database_recommendations"
Shape = dict[str, Any]


@cache
def _client() -> Any:
    return boto3.client("compute-optimizer", "us-east-1", aws_access_key_id="testing",
                        aws_secret_access_key="testing")  # fmt: skip


@contextmanager
def stubbed() -> Iterator[Stubber]:
    """A client without answers yet; all that it is given must be asked for."""
    with Stubber(_client()) as stub:
        yield stub
        stub.assert_no_pending_responses()


def add(stub: Stubber, method: str, answer: Shape | str) -> None:
    """The next answer: a response of the method, or an error code."""
    if isinstance(answer, str):
        stub.add_client_error(method, answer, "no")
    else:
        stub.add_response(method, answer)


@contextmanager
def answering(*answers: tuple[str, Shape | str]) -> Iterator[Any]:
    """A client that gives these answers in turn."""
    with stubbed() as stub:
        for method, answer in answers:
            add(stub, method, answer)
        yield stub.client


def saving(usd: float, currency: str = "USD") -> Shape:
    money = {"currency": currency, "value": usd}
    return {"savingsOpportunityPercentage": 10.0, "estimatedMonthlySavings": money}


def storage(kind: str, size: int, iops: int, mibps: int) -> Shape:
    """A configuration of a volume; what its type derives is named too."""
    return {
        "volumeType": kind, "volumeSize": size, "volumeBaselineIOPS": iops, "volumeBurstIOPS": iops,
        "volumeBaselineThroughput": mibps, "volumeBurstThroughput": mibps, "rootVolume": False,
    }  # fmt: skip


GP3 = storage("gp3", 100, 3_000, 125)


def volume(volume_id: str = "vol-1", *options: Shape, now: Shape = GP3, **changes: Any) -> Shape:
    """A recommendation for a volume, the best option first."""
    return {
        "volumeArn": f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/{volume_id}", "accountId": ACCOUNT,
        "currentConfiguration": now, "finding": "NotOptimized" if options else "Optimized",
        "utilizationMetrics": [
            {"name": "VolumeReadOpsPerSecond", "statistic": "Maximum", "value": 120.0}
        ],
        "lookBackPeriodInDays": 14.0,
        "volumeRecommendationOptions": [
            {"configuration": option, "performanceRisk": 1.0, "rank": rank,
             "savingsOpportunity": saving(4.0), "savingsOpportunityAfterDiscounts": saving(3.2)}
            for rank, option in enumerate(options, start=1)
        ],
        "lastRefreshTimestamp": NOW - timedelta(hours=20), "currentPerformanceRisk": "Low",
        "effectiveRecommendationPreferences": {"savingsEstimationMode": {"source": "PublicPricing"}},
        **changes,
    }  # fmt: skip


def database(arn: str, now: Shape, *options: Shape, **changes: Any) -> Shape:
    """A recommendation for storage of a database, the best option first."""
    return {
        "resourceArn": f"arn:aws:rds:{REGION}:{ACCOUNT}:{arn}", "accountId": ACCOUNT,
        "engine": "postgres", "engineVersion": "16.4", "currentDBInstanceClass": "db.r6g.2xlarge",
        "currentStorageConfiguration": now, "storageFinding": "Overprovisioned",
        "storageFindingReasonCodes": ["EBSVolumeIOPSOverprovisioned"], "lookbackPeriodInDays": 14.0,
        "storageRecommendationOptions": [
            {"storageConfiguration": option, "rank": rank, "savingsOpportunity": saving(4.0),
             "estimatedMonthlyVolumeIOPsCostVariation": "None"}
            for rank, option in enumerate(options, start=1)
        ],
        "lastRefreshTimestamp": NOW - timedelta(hours=20), **changes,
    }  # fmt: skip
