"""What CloudWatch's metrics of RDS become, and under which names they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.cloudwatch import CloudWatchRdsMetrics
from headroom.adapters.cloudwatch.rds_metrics import glance_queries, storage_queries
from headroom.application.scan import needs_attention
from headroom.domain.resources import (
    AdditionalVolume,
    Configuration,
    DatabaseFacts,
    Kind,
    ResourceRef,
    VolumeType,
)
from headroom.ports import ReadFailed, StorageView
from tests.builders import ACCOUNT, NOW, REGION, instance, volume
from tests.domain.databases import rds

MIB = 1024 * 1024
Values = Mapping[tuple[str, str], float | Sequence[float | None]]


class Published:
    """A CloudWatch that publishes constant values, or one per period, by (instance, metric)."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.asked: list[dict[str, Any]] = []
        self.lists = 0

    def get_paginator(self, operation: str) -> Any:
        assert operation == "list_metrics"
        return self

    def paginate(self, **asked: Any) -> list[dict[str, Any]]:
        """ListMetrics: the pair as the RDS User Guide spells it, and a metric that is no volume's."""
        assert asked["Dimensions"] == [{"Name": "VolumeName"}]
        self.lists += 1
        pairs = [name.split("/") for name, metric in self.values if metric == asked["MetricName"]]
        found = [
            [{"Name": "DbInstanceIdentifier", "Value": pair[0]},
             {"Name": "VolumeName", "Value": pair[1]}]
            for pair in pairs if len(pair) == 2
        ]  # fmt: skip
        other = [{"Name": "VolumeName", "Value": "rdsdbdata"}, {"Name": "Else", "Value": "x"}]
        return [{"Metrics": [{"Dimensions": each} for each in (*found, other)]}]

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        return {"MetricDataResults": [self._result(q, asked) for q in asked["MetricDataQueries"]]}

    def _result(self, query: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(query)
        stat = query["MetricStat"]
        metric, period = stat["Metric"], timedelta(seconds=stat["Period"])
        dimension, *volume = metric["Dimensions"]
        spelled = "DbInstanceIdentifier" if volume else "DBInstanceIdentifier"
        assert (metric["Namespace"], dimension["Name"]) == ("AWS/RDS", spelled)
        published_as = "/".join([dimension["Value"], *(each["Value"] for each in volume)])
        name = metric["MetricName"] + (" max" if stat["Stat"] == "Maximum" else "")
        value = self.values.get((published_as, name))
        times = []
        at = asked["StartTime"]
        while at < asked["EndTime"]:
            times.append(at)
            at += period
        if value is None:
            points = []
        elif isinstance(value, int | float):
            points = [(t, float(value)) for t in times]
        else:
            newest = list(zip(reversed(times), reversed(value), strict=False))
            points = [(t, v) for t, v in newest if v is not None]
        return {
            "Id": query["Id"], "StatusCode": "Complete",
            "Timestamps": [t for t, _ in points], "Values": [v for _, v in points],
        }  # fmt: skip


def view(
    configuration: Configuration | None = None, members: tuple[str, ...] = ("orders",)
) -> StorageView:
    facts = DatabaseFacts(instance_class="db.r6g.2xlarge", status="available", members=members)
    name = ResourceRef(kind=Kind.RDS, account_id=ACCOUNT, region=REGION, resource_id="orders")
    of = volume(configuration or rds(VolumeType.GP2, 500), ref=name, facts=facts)
    return StorageView(volume=of, modification=None, instance=instance())


LOAD: Values = {
    ("orders", "ReadIOPS"): 900.0, ("orders", "WriteIOPS"): 300.0,
    ("orders", "ReadThroughput"): 30.0 * MIB, ("orders", "WriteThroughput"): 10.0 * MIB,
    ("orders", "ReadLatency"): 0.002, ("orders", "WriteLatency"): 0.006,
    ("orders", "DiskQueueDepth"): 4.5, ("orders", "BurstBalance"): 63.0,
    ("orders", "EBSIOBalance%"): 88.0, ("orders", "EBSByteBalance%"): 97.0,
}  # fmt: skip


def metrics(values: Values) -> tuple[CloudWatchRdsMetrics, Published]:
    published = Published(values)
    return CloudWatchRdsMetrics(published), published  # type: ignore[arg-type]


def test_rates_are_averages_and_not_sums_over_the_period() -> None:
    reader, published = metrics(LOAD)
    seen, machine = reader.activity(view(), NOW)
    assert (seen.read_iops.last(), seen.write_iops.last()) == (900.0, 300.0)
    assert (seen.read_mibps.last(), seen.write_mibps.last()) == (30.0, 10.0)
    assert seen.queue_length.last() == 4.5
    assert seen.latency_ms.last() == pytest.approx((900 * 2 + 300 * 6) / 1200)
    assert seen.burst_balance_percent.last() == 63.0
    assert (seen.read_iops.period_s, len(seen.read_iops.values)) == (60, 180)
    assert {q["MetricStat"]["Stat"] for q in published.asked} == {"Average", "Minimum"}
    assert machine is not None
    assert (machine.iops.last(), machine.mibps.last()) == (1200.0, 40.0)
    assert (machine.io_balance_percent.last(), machine.byte_balance_percent.last()) == (88.0, 97.0)
    assert machine.io_balance_percent.period_s == 300


def test_that_a_limit_was_exceeded_is_never_known() -> None:
    reader, _ = metrics(LOAD)
    seen, machine = reader.activity(view(), NOW)
    assert machine is not None
    for check in (seen.iops_exceeded, seen.throughput_exceeded, machine.iops_exceeded):
        assert check.known() == ()


def test_what_was_not_published_is_no_zero() -> None:
    reader, _ = metrics({("orders", "ReadIOPS"): [900.0, None, 0.0]})
    seen, _ = reader.activity(view(), NOW)
    assert seen.read_iops.values[-3:] == (900.0, None, 0.0)
    assert seen.write_iops.known() == ()
    assert seen.latency_ms.known() == ()  # RDS publishes no latency of an idle minute
    assert reader.history(view(rds(VolumeType.GP3, 500, 12_000, 500), ("other",)), NOW) is None


def test_only_gp2_is_asked_for_its_credits() -> None:
    gp3 = view(rds(VolumeType.GP3, 500, 12_000, 500)).volume
    assert "BurstBalance" not in {q.metric for q in storage_queries(gp3)}
    assert "BurstBalance" in {q.metric for q in storage_queries(view().volume)}
    assert (len(glance_queries(gp3)), len(glance_queries(view().volume))) == (6, 7)


def test_a_class_that_never_bursts_is_not_asked_for_a_balance() -> None:
    seen = view()
    assert seen.instance is not None
    assert seen.instance.limits is not None
    limits = seen.instance.limits
    steady = replace(limits, maximum_iops=limits.baseline_iops, maximum_mibps=limits.baseline_mibps)
    reader, published = metrics(LOAD)
    reader.activity(replace(seen, instance=replace(seen.instance, limits=steady)), NOW)
    asked = {q["MetricStat"]["Metric"]["MetricName"] for q in published.asked}
    assert not asked & {"EBSIOBalance%", "EBSByteBalance%"}


def test_history_keeps_the_busiest_minute_of_each_five() -> None:
    reader, _ = metrics({**LOAD, ("orders", "ReadIOPS max"): 2_000.0,
                       ("orders", "WriteIOPS max"): 2_500.0})  # fmt: skip
    seen = reader.history(view(), NOW)
    assert seen is not None
    assert seen.read_iops.period_s == 300
    assert seen.busiest_iops is not None
    # The two busiest minutes may be two minutes: one of them and the other's average is sure.
    assert seen.busiest_iops.last() == 900.0 + 2_500.0
    assert seen.busiest_mibps is not None
    assert seen.busiest_mibps.last() == 40.0


def test_a_clusters_load_is_that_of_its_busiest_member_and_never_the_sum() -> None:
    reader, _ = metrics({
        ("a", "ReadIOPS"): [100.0, 800.0], ("a", "WriteIOPS"): 300.0,
        ("b", "ReadIOPS"): [700.0, 100.0], ("b", "WriteIOPS"): 300.0,
        ("c", "WriteIOPS"): 300.0, ("a", "DiskQueueDepth"): 1.0, ("b", "DiskQueueDepth"): 9.0,
    })  # fmt: skip
    seen, _ = reader.activity(view(members=("a", "b", "c")), NOW)
    assert seen.read_iops.values[-2:] == (700.0, 800.0)
    assert seen.write_iops.values[-2:] == (300.0, 300.0)
    assert seen.queue_length.values[-2:] == (9.0, 1.0)


def test_a_glance_wakes_a_reconciliation_at_the_limit_of_the_storage() -> None:
    striped = rds(VolumeType.GP3, 500, 12_000, 500)
    busy: Values = {("orders", "ReadIOPS"): [9_000.0, 11_800.0], ("orders", "WriteIOPS"): 100.0}
    calm: Values = {("orders", "ReadIOPS"): 9_000.0, ("orders", "WriteIOPS"): 100.0}
    for load, expected in ((busy, True), (calm, False), ({}, False)):
        reader, _ = metrics(load)
        seen = view(striped)
        glance = reader.glance([seen], NOW)["orders"]
        assert glance.iops_exceeded_minutes is None
        assert needs_attention(seen, glance, NOW, timedelta(hours=1)) is expected


@pytest.mark.parametrize(
    ("operations", "queue", "slowest", "suspected"),
    [
        (500.0, 30.0, 60.0, True),
        (500.0, 20.0, 40.0, False),
        ([500.0, None], [30.0, 500.0], 60.0, True),  # a minute without operations has no latency
        (8.0, 5.0, None, False),  # too few operations to judge
        (500.0, None, None, False),
        (None, 30.0, None, False),
    ],
)
def test_a_scan_examines_operations_that_take_long(
    operations: Any, queue: Any, slowest: float | None, suspected: bool
) -> None:
    load = {("orders", "ReadIOPS"): operations, ("orders", "DiskQueueDepth"): queue}
    reader, _ = metrics({name: value for name, value in load.items() if value is not None})
    seen = view(rds(VolumeType.GP3, 500, 12_000, 500))
    glance = reader.glance([seen], NOW)["orders"]
    assert glance.slowest_ms == slowest
    assert needs_attention(seen, glance, NOW, timedelta(hours=1)) is suspected


def test_a_database_without_a_member_is_not_measured_and_not_guessed() -> None:
    reader, _ = metrics({})
    with pytest.raises(ReadFailed):
        reader.activity(view(members=()), NOW)


def of_several(name: str) -> StorageView:
    """One of the two volumes of an instance."""
    seen = view(rds(VolumeType.GP3, 500, 12_000, 500))
    assert seen.volume.facts is not None
    other = AdditionalVolume(
        name="RDSDBDATA2", volume_type="gp3", size_gib=500, iops=12_000, mibps=500,
        status="ACTIVE", operation=None,
    )  # fmt: skip
    facts = replace(seen.volume.facts, additional=(other,), volume_name=name)
    suffix = "" if name == "rdsdbdata" else f"/{name}"
    ref = replace(seen.volume.ref, resource_id=f"orders{suffix}")
    return replace(seen, volume=replace(seen.volume, ref=ref, facts=facts))


def test_nothing_is_read_of_a_volume_that_cloudwatch_lists_no_metrics_of() -> None:
    reader, published = metrics(LOAD)  # of the whole instance alone
    several = of_several("rdsdbdata")
    load, machine = reader.activity(several, NOW)
    assert machine is not None
    assert not load.read_iops.known() + load.queue_length.known()
    assert machine.iops.last() == 1_200.0
    assert load.free_gib is not None
    assert not load.free_gib.known()
    assert reader.history(several, NOW) is None
    glance = reader.glance([several], NOW)["orders"]
    assert (glance.peak_iops, glance.longest_queue, glance.lowest_free_gib) == (None, None, None)
    assert not needs_attention(several, glance, NOW, timedelta(hours=1))
    assert published.lists == 1


def test_a_list_of_metrics_that_cannot_be_read_is_no_silence_of_a_volume() -> None:
    """What could not be listed is not taken for what was not published; others are glanced at all the same."""
    reader, published = metrics(LOAD)

    def denied(**_: Any) -> list[dict[str, Any]]:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "ListMetrics")

    published.paginate = denied  # type: ignore[method-assign]
    several, single = of_several("rdsdbdata2"), view(rds(VolumeType.GP3, 500, 12_000, 500))
    for read in (
        lambda: reader.activity(several, NOW), lambda: reader.history(several, NOW),
        lambda: reader.older_history(several, NOW, since=NOW - timedelta(days=9), until=NOW),
    ):  # fmt: skip
        with pytest.raises(ReadFailed, match="ListMetrics"):
            read()
    glances = reader.glance([several, single], NOW)
    assert glances["orders"].peak_iops == 1_200.0
    assert glances["orders/rdsdbdata2"].peak_iops is None


def test_each_of_several_volumes_has_its_own_metrics_and_the_instance_those_of_all() -> None:
    reader, published = metrics(
        {
            **LOAD,
            ("orders/rdsdbdata", "ReadIOPS"): 1_000.0, ("orders/rdsdbdata", "DiskQueueDepth"): 1.0,
            ("orders/RDSDBDATA2", "ReadIOPS"): 200.0, ("orders/RDSDBDATA2", "DiskQueueDepth"): 3.5,
            ("orders/RDSDBDATA2", "FreeStorageSpace"): 40.0 * GIB,
        }
    )  # fmt: skip
    both = [of_several(name) for name in ("rdsdbdata", "rdsdbdata2")]
    seen = [reader.activity(each, NOW) for each in both]
    assert [load.read_iops.last() for load, _ in seen] == [1_000.0, 200.0]
    assert [load.queue_length.last() for load, _ in seen] == [1.0, 3.5]
    assert [machine.iops.last() for _, machine in seen if machine] == [1_200.0, 1_200.0]
    assert [machine.io_balance_percent.last() for _, machine in seen if machine] == [88.0, 88.0]
    glances = reader.glance(both, NOW)
    assert [g.peak_iops for g in glances.values()] == [1_000.0, 200.0]
    assert glances["orders/rdsdbdata2"].lowest_free_gib == 40.0
    assert reader.history(both[1], NOW) is not None
    assert published.lists == 1


GIB = 1024**3


def test_free_space_is_reported_in_gib_and_never_zero_where_nothing_was_published() -> None:
    cloudwatch, published = metrics({**LOAD, ("orders", "FreeStorageSpace"): 25.5 * GIB})
    own, _ = cloudwatch.activity(view(), NOW)
    assert own.free_gib is not None
    assert set(own.free_gib.known()) == {25.5}
    past = cloudwatch.history(view(), NOW)
    assert past is not None
    assert past.free_gib is not None
    assert set(past.free_gib.known()) == {25.5}
    asked = [q["MetricStat"] for q in published.asked]
    assert {s["Stat"] for s in asked if s["Metric"]["MetricName"] == "FreeStorageSpace"} == {
        "Minimum"
    }
    nothing, _ = metrics(LOAD)[0].activity(view(), NOW)
    assert nothing.free_gib is not None
    assert nothing.free_gib.known() == ()


def test_a_glance_shows_the_least_that_is_free_and_how_much_was_filled() -> None:
    falling = [(30.0 - 0.1 * i) * GIB for i in range(30)]
    glance = metrics({("orders", "FreeStorageSpace"): falling})[0].glance([view()], NOW)["orders"]
    assert glance.lowest_free_gib == pytest.approx(27.1)
    assert glance.filled_gib == pytest.approx(2.9)
    nothing = metrics(LOAD)[0].glance([view()], NOW)["orders"]
    assert (nothing.lowest_free_gib, nothing.filled_gib) == (None, None)


def test_a_cluster_is_as_full_as_its_fullest_member() -> None:
    of = view(members=("a", "b"))
    found = metrics(
        {
            ("a", "ReadIOPS"): 900.0, ("b", "ReadIOPS"): 100.0,
            ("a", "FreeStorageSpace"): 40.0 * GIB, ("b", "FreeStorageSpace"): 30.0 * GIB,
        }
    )[0]  # fmt: skip
    own, _ = found.activity(of, NOW)
    assert own.free_gib is not None
    assert set(own.free_gib.known()) == {30.0}
    assert found.glance([of], NOW)["orders"].lowest_free_gib == 30.0


def test_older_history_is_the_rates_and_credits_of_each_member_from_its_creation_on() -> None:
    seen = view()
    reader, published = metrics(LOAD)
    old = replace(seen, volume=replace(seen.volume, created_at=NOW - timedelta(days=80)))
    hours, fives = reader.older_history(
        old, NOW, since=NOW - timedelta(days=100), until=NOW - timedelta(days=14)
    )
    assert set(hours.read_iops.known()) == set(fives.read_iops.known()) == {900.0}
    assert set(fives.read_mibps.known()) == {30.0}
    assert set(fives.burst_balance_percent.known()) == {63.0}
    assert hours.read_iops.values.count(None) == 20 * 24
    assert set(fives.iops_exceeded.values) == {None}
    asked = [query["MetricStat"]["Metric"]["MetricName"] for query in published.asked]
    assert len(asked) == 2 * 5


def test_nothing_from_before_a_database_had_its_name_is_its_own() -> None:
    reader, _ = metrics(LOAD)
    seen = view()
    begun = NOW - timedelta(minutes=30)
    young = replace(seen, volume=replace(seen.volume, created_at=begun))
    activity, machine = reader.activity(young, NOW)
    past = reader.history(young, NOW)
    assert past is not None
    assert machine is not None
    for series in (activity.read_iops, past.read_iops, machine.io_balance_percent):
        assert series.known()
        assert all(at >= begun for at, _ in series.points())
    assert len(activity.read_iops.values) == 180  # the grid stays, what is not its own is missing
    assert reader.history(replace(seen, volume=replace(seen.volume, created_at=NOW)), NOW) is None
