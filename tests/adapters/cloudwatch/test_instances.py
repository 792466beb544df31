"""A volume that moves from one instance to another keeps what it published of its limits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.adapters.cloudwatch.instances import instances_of
from headroom.ports import ReadFailed, StorageView
from tests.adapters.cloudwatch.test_metrics import FakeCloudWatch, Published, minutes, of_volume
from tests.builders import ACCOUNT, NOW, REGION, gp3, volume

CHECK = "VolumeIOPSExceededCheck"
MOVED = NOW - timedelta(minutes=2)


def of(metric: str, instance_id: str) -> tuple[str, str, frozenset[tuple[str, str]]]:
    return "AWS/EBS", metric, frozenset({("VolumeId", "vol-1"), ("InstanceId", instance_id)})


class Listing(FakeCloudWatch):
    """Lists what was published, as ListMetrics does; `refuses` is the code that it answers with instead."""

    def __init__(self, published: Published, refuses: str = "") -> None:
        super().__init__(published)
        self.listed: list[dict[str, Any]] = []
        self.refuses = refuses

    def get_paginator(self, operation: str) -> Listing:
        assert operation == "list_metrics"
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        self.listed.append(asked)
        if self.refuses:
            raise ClientError({"Error": {"Code": self.refuses, "Message": "no"}}, "ListMetrics")
        wanted = {(d["Name"], d["Value"]) for d in asked["Dimensions"]}
        return [
            {"Metrics": [{"MetricName": name, "Dimensions": _shapes(dimensions)}]}
            for namespace, name, dimensions in self.published
            if (namespace, name) == (asked["Namespace"], asked["MetricName"])
            and wanted <= dimensions
        ]


def _shapes(dimensions: frozenset[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in dimensions]


def reading(fake: Any, *, moved: bool = True) -> tuple[CloudWatchMetrics, StorageView]:
    one = volume(gp3(), instance_ids=("i-1",), attached_at=MOVED if moved else None)
    view = StorageView(volume=one, modification=None, instance=None)
    return CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION), view


def published() -> Published:
    """At its limit on i-0, then on i-1; something else is called like the instance that nobody knows."""
    return {
        of_volume("VolumeReadOps"): minutes(60, 60, 60, 60),
        of(CHECK, "i-0"): minutes(1, 0, end=MOVED),
        of(CHECK, "i-1"): minutes(0, 1),
        of("VolumeAvgIOPS", "i-0"): {NOW - timedelta(hours=1): 4_000.0},
    }


def test_its_checks_are_read_under_every_instance_it_was_attached_to() -> None:
    fake = Listing(published())
    metrics, view = reading(fake)
    activity, _ = metrics.activity(view, NOW)
    assert activity.iops_exceeded.values[-4:] == (1, 0, 0, 1)
    history = metrics.history(view, NOW)
    assert history is not None
    assert history.busiest_iops is not None
    assert history.busiest_iops.known() == (4_000.0,)
    assert len(fake.listed) == 2  # the recent ones, then all of two weeks


def test_a_volume_that_did_not_move_is_not_looked_for() -> None:
    fake = Listing(published())
    metrics, view = reading(fake, moved=False)
    activity, _ = metrics.activity(view, NOW)
    assert activity.iops_exceeded.values[-4:] == (None, None, 0, 1)
    assert fake.listed == []


def test_without_the_permission_its_load_is_read_all_the_same() -> None:
    for refuses, asked in (("AccessDenied", 1), ("Throttling", 2)):
        fake = Listing(published(), refuses)
        metrics, view = reading(fake)
        for _ in range(2):
            activity, _ = metrics.activity(view, NOW)
            assert activity.iops_exceeded.values[-2:] == (0, 1)
        assert len(fake.listed) == asked


def test_nothing_is_decided_while_earlier_instances_cannot_be_looked_for() -> None:
    """Without their checks a load in bursts looks like none, and would be lowered while it runs."""
    metrics, view = reading(Listing(published(), "Throttling"))
    with pytest.raises(ReadFailed):  # every decision reads earlier days
        metrics.history(view, NOW)
    metrics, view = reading(Listing(published(), "AccessDenied"))
    assert metrics.history(view, NOW) is not None


def test_of_many_instances_those_with_recent_metrics_come_first() -> None:
    many = {of(CHECK, f"i-{number}x"): minutes(0) for number in range(30)}
    assert instances_of(Recent({**many, **published()}), reading(None)[1].volume)[0] == "i-0"  # type: ignore[arg-type]


class Recent(Listing):
    """Of which only the volume's first instance has metrics of the last three hours."""

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        found = super().paginate(**asked)
        mine = [
            page for page in found
            if {"Name": "InstanceId", "Value": "i-0"} in page["Metrics"][0]["Dimensions"]
        ]  # fmt: skip
        return mine if "RecentlyActive" in asked else found
