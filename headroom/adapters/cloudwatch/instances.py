"""Under which instances a volume has published metrics: it keeps them when it moves to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headroom.adapters.errors import reading
from headroom.domain.resources import Volume

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch import CloudWatchClient

MOST = 10
"""Instances of which metrics are read, those with recent ones first."""


def instances_of(client: CloudWatchClient, volume: Volume) -> tuple[str, ...]:
    """The instances but its present one under which a volume has checks; raises ReadFailed.

    CloudWatch lists metrics of the last two weeks. Source: CloudWatch API reference, ListMetrics (2026-11).
    """
    found: dict[str, None] = {}
    name = volume.ref.resource_id
    asked: dict[str, Any] = {
        "Namespace": "AWS/EBS", "MetricName": "VolumeIOPSExceededCheck",
        "Dimensions": [{"Name": "VolumeId", "Value": name}],
    }  # fmt: skip
    with reading(f"ListMetrics of {name}"):
        for recently in ({"RecentlyActive": "PT3H"}, {}):
            pages = client.get_paginator("list_metrics").paginate(**(asked | recently))
            for metric in (one for page in pages for one in page["Metrics"]):
                dimensions = {d["Name"]: d["Value"] for d in metric["Dimensions"]}
                if set(dimensions) == {"InstanceId", "VolumeId"}:
                    found[dimensions["InstanceId"]] = None
    return tuple(one for one in found if one not in volume.instance_ids)[:MOST]
