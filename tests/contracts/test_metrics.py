"""The world's metrics and the CloudWatch adapter say the same of the same datapoints.

The world publishes statistic sets; a CloudWatch of a few lines serves them by period, statistic
and delay, and the adapter reads it. What the simulator sees is then what the function sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headroom.adapters.cloudwatch import CloudWatchMetrics
from headroom.domain.detection import Metric
from headroom.domain.resources import Configuration, Series, VolumeType
from headroom.ports import GlanceRequest, StorageView
from headroom.proving.metrics import (
    BALANCE_EVERY_MIN,
    BALANCES,
    Datapoint,
    PublishedVolume,
    datapoints,
    instance_datapoints,
)
from headroom.proving.physics import Attachment, VolumePhysics
from headroom.proving.simulation.world import SimulatedVolume, World
from tests.builders import ACCOUNT, REGION, instance, ref, volume
from tests.proving import build

DELAY = timedelta(minutes=2)
MINUTES = 200


class StatisticSets:
    """GetMetricData over published datapoints, readable `delay` after their period has ended."""

    def __init__(self, points: Iterable[Datapoint], *, now: datetime, delay: timedelta) -> None:
        self.points = [p for p in points if p.timestamp + period_of(p) + delay <= now]

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        start, end = asked["StartTime"], asked["EndTime"]
        return {"MetricDataResults": [self._one(q, start, end) for q in asked["MetricDataQueries"]]}

    def _one(self, query: Any, start: datetime, end: datetime) -> dict[str, Any]:
        stat = query["MetricStat"]
        metric, period = stat["Metric"], stat["Period"]
        wanted = {(d["Name"], d["Value"]) for d in metric["Dimensions"]}
        buckets: dict[int, list[Datapoint]] = {}
        for p in self.points:
            named = (p.namespace, p.name) == (metric["Namespace"], metric["MetricName"])
            if named and set(p.dimensions) == wanted and start <= p.timestamp < end:
                place = int((p.timestamp - start).total_seconds() // period)
                buckets.setdefault(place, []).append(p)
        return {
            "Id": query["Id"],
            "StatusCode": "Complete",
            "Timestamps": [start + timedelta(seconds=period * place) for place in buckets],
            "Values": [statistic(stat["Stat"], found) for found in buckets.values()],
        }


def period_of(point: Datapoint) -> timedelta:
    return timedelta(minutes=BALANCE_EVERY_MIN if point.name in BALANCES else 1)


def statistic(name: str, found: list[Datapoint]) -> float:
    match name:
        case "Sum":
            return sum(p.sum for p in found)
        case "Average":
            return sum(p.sum for p in found) / sum(p.samples for p in found)
        case "Minimum":
            return min(p.minimum for p in found)
        case _:
            return max(p.maximum for p in found)


def lived(what: Configuration, attachment: Attachment) -> tuple[World, CloudWatchMetrics]:
    """A world in which a volume was driven over its limit for a while, and its CloudWatch."""
    lifecycle = build.volume(what)
    load = build.steps((3_600, 400, 16), (7_200, 4_500, 32), (3_600, 50, 8))
    volume = SimulatedVolume(
        ref=ref(),
        lifecycle=lifecycle,
        physics=VolumePhysics(load, attachment=attachment, burst_balance_percent=30),
        attachment=attachment,
        tags=(),
        published=PublishedVolume(delay=DELAY, other_iops=0, other_mibps=0),
    )
    world = World([volume], now=build.T0)
    points: list[Datapoint] = []
    for _ in range(MINUTES):
        start = world.now
        facts = world.advance()["vol-1"]
        points += datapoints(
            facts,
            volume_id="vol-1",
            instance_id=volume.instance_id,
            configuration=lifecycle.described(start),
            nitro=attachment.limits.nitro,
        )
        points += instance_datapoints(
            facts, instance_id=volume.instance_id, limits=attachment.limits
        )
    cloud: Any = StatisticSets(points, now=world.now, delay=DELAY)
    return world, CloudWatchMetrics(cloud, account_id=ACCOUNT, region=REGION)


NO_CHECKS = replace(
    build.instance(40_000, 2_000), limits=replace(build.instance(40_000, 2_000).limits, nitro=False)
)

CASES = [
    pytest.param(build.gp2(400), build.instance(40_000, 2_000), id="gp2"),
    pytest.param(build.gp3(), build.instance(40_000, 2_000), id="gp3"),
    pytest.param(
        build.configuration(VolumeType.IO2, 100, 3_000), build.instance(40_000, 2_000), id="io2"
    ),
    pytest.param(
        build.gp3(iops=8_000, mibps=500),
        build.instance(2_000, 60, most_iops=6_000, most_mibps=200),
        id="bursting-instance",
    ),
    pytest.param(build.gp3(), NO_CHECKS, id="gp3-without-checks"),
    pytest.param(build.gp2(400), NO_CHECKS, id="gp2-without-checks"),
]


def alike(one: Any, other: Any) -> None:
    """Every series is on the same grid, known in the same places, and equal there."""
    for field in fields(one):
        first: Series | None = getattr(one, field.name)
        second: Series | None = getattr(other, field.name)
        if first is None or second is None:
            assert first is second, field.name
            continue
        grid = (first.start, first.period_s, len(first.values))
        assert grid == (second.start, second.period_s, len(second.values)), field.name
        for mine, its in zip(first.values, second.values, strict=True):
            assert mine == (None if its is None else pytest.approx(its, rel=1e-9, abs=1e-9)), (
                field.name
            )


@pytest.mark.parametrize(("what", "attachment"), CASES)
def test_activity_is_the_same(what: Configuration, attachment: Attachment) -> None:
    world, cloudwatch = lived(what, attachment)
    view = world.view(ref())
    of_world, its_instance = world.activity(view, world.now)
    of_cloud, cloud_instance = cloudwatch.activity(view, world.now)
    assert any(of_cloud.queue_length.known())
    alike(of_cloud, of_world)
    alike(cloud_instance, its_instance)


PROFILED = (
    "read_iops", "write_iops", "read_mibps", "write_mibps", "burst_balance_percent",
    "iops_exceeded", "throughput_exceeded",
)  # fmt: skip
"""What older history is read for; the world publishes more."""


@pytest.mark.parametrize(("days", "period_s"), [(20, 300), (100, 3600)])
@pytest.mark.parametrize(("what", "attachment"), CASES)
def test_older_history_is_the_same(
    what: Configuration, attachment: Attachment, days: int, period_s: int
) -> None:
    world, cloudwatch = lived(what, attachment)
    view, now = world.view(ref()), world.now + timedelta(days=days)
    span = {"since": build.T0 - timedelta(hours=30), "until": build.T0 + timedelta(hours=3)}
    (of_world,) = world.older_history(view, now, **span)
    (of_cloud,) = cloudwatch.older_history(view, now, **span)
    assert of_cloud.read_iops.period_s == period_s
    assert len(of_cloud.read_iops.known()) == 3 * 3600 // period_s
    for name in PROFILED:
        mine, its = getattr(of_cloud, name), getattr(of_world, name)
        assert (mine.start, mine.period_s) == (its.start, its.period_s)
        for one, other in zip(mine.values, its.values, strict=True):
            assert one == (None if other is None else pytest.approx(other, rel=1e-9)), name


@pytest.mark.parametrize(("what", "attachment"), CASES)
def test_a_glance_is_the_same(what: Configuration, attachment: Attachment) -> None:
    world, cloudwatch = lived(what, attachment)
    (view,) = world.fleet()
    now = world.now
    mine, its = cloudwatch.glance([view], now)["vol-1"], world.glance([view], now)["vol-1"]
    assert (mine.iops_exceeded_minutes, mine.throughput_exceeded_minutes) == (
        its.iops_exceeded_minutes,
        its.throughput_exceeded_minutes,
    )
    assert mine.lowest_burst_balance_percent == pytest.approx(its.lowest_burst_balance_percent)
    assert mine.longest_queue == pytest.approx(its.longest_queue)
    assert mine.peak_iops == pytest.approx(its.peak_iops)
    assert mine.peak_mibps == pytest.approx(its.peak_mibps)
    assert (mine.peak_iops is None) == attachment.limits.nitro


def test_a_minute_that_one_volume_did_not_publish_is_unknown_of_the_instance_too() -> None:
    """Never zero, and never the sum of the others."""
    points = [
        Datapoint(
            namespace="AWS/EBS", name=name, dimensions=(("VolumeId", volume),),
            timestamp=build.T0 + i * build.MINUTE, sum=60.0, samples=1.0, minimum=1.0, maximum=1.0,
        )
        for i in range(10) for volume in ("vol-1", "vol-2")
        for name in ("VolumeReadOps", "VolumeWriteOps", "VolumeReadBytes", "VolumeWriteBytes")
        if not (volume == "vol-1" and 4 <= i < 6)
    ]  # fmt: skip
    published = PublishedVolume(delay=DELAY, other_iops=2.0, other_mibps=120 / 60 / 2**20)
    for i in range(10):
        at = build.T0 + i * build.MINUTE
        own = {p.name: p.sum for p in points if p.timestamp == at and p.dimensions[0][1] == "vol-1"}
        published.put(int(at.timestamp() // 60), own)
    now = build.T0 + 12 * build.MINUTE
    cloud: Any = StatisticSets(points, now=now, delay=DELAY)
    both = instance(volumes=("vol-2",))
    view = StorageView(volume=volume(), modification=None, instance=both)
    reader = CloudWatchMetrics(cloud, account_id=ACCOUNT, region=REGION)
    _, mine = reader.activity(view, now)
    _, its = published.activity(now)
    assert mine is not None
    for series in (mine.iops, its.iops, mine.mibps, its.mibps):
        known = [None if value is None else 1 for value in series.values[-12:]]
        assert known == [1] * 4 + [None] * 2 + [1] * 4 + [None] * 2
    alike(mine, its)


@pytest.mark.parametrize(("what", "attachment"), CASES)
def test_history_is_the_same(what: Configuration, attachment: Attachment) -> None:
    world, cloudwatch = lived(what, attachment)
    view = world.view(ref())
    of_world, of_cloud = world.history(view, world.now), cloudwatch.history(view, world.now)
    assert of_world is not None
    alike(of_cloud, of_world)


@pytest.mark.parametrize(
    "metrics",
    [{Metric.QUEUE}, {Metric.BALANCE, Metric.QUEUE}, {Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK}],
)
@pytest.mark.parametrize(("what", "attachment"), CASES)
def test_a_glance_at_few_metrics_is_the_same(
    what: Configuration, attachment: Attachment, metrics: set[Metric]
) -> None:
    world, cloudwatch = lived(what, attachment)
    (view,) = world.fleet()
    asked = [GlanceRequest(view=view, metrics=frozenset(metrics), back=timedelta(minutes=15))]
    mine, its = (each.glances(asked, world.now)["vol-1"] for each in (cloudwatch, world))
    for name in ("iops_exceeded_minutes", "throughput_exceeded_minutes",
                 "lowest_burst_balance_percent", "longest_queue", "peak_iops", "peak_mibps"):  # fmt: skip
        one, other = getattr(mine, name), getattr(its, name)
        assert one == (None if other is None else pytest.approx(other)), name
