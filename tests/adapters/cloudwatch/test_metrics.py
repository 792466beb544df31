"""What CloudWatch published, on a grid with its holes left open."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st
from moto import mock_aws

from headroom.adapters.cloudwatch import CloudWatchMetrics, glance_window, window
from headroom.adapters.cloudwatch.metrics import MOST_PAGES
from headroom.domain.detection import Metric
from headroom.domain.resources import Configuration
from headroom.ports import ContributorsUnknown, Glance, GlanceRequest, ReadFailed, StorageView
from tests.builders import ACCOUNT, NOW, REGION, gp2, gp3, instance, io, ref, volume

KEYS = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
Key = tuple[str, str, frozenset[tuple[str, str]]]
Published = Mapping[Key, Mapping[datetime, float]]


def of_volume(metric: str, volume_id: str = "vol-1") -> Key:
    return ("AWS/EBS", metric, frozenset({("VolumeId", volume_id)}))


def of_pair(metric: str) -> Key:
    return ("AWS/EBS", metric, frozenset({("VolumeId", "vol-1"), ("InstanceId", "i-1")}))


def of_instance(metric: str) -> Key:
    return ("AWS/EC2", metric, frozenset({("InstanceId", "i-1")}))


def minutes(*values: float | None, end: datetime = NOW) -> dict[datetime, float]:
    """One value a minute, the last one for the minute that ends at `end`."""
    first = end - timedelta(minutes=len(values))
    return {first + timedelta(minutes=i): v for i, v in enumerate(values) if v is not None}


class FakeCloudWatch:
    """GetMetricData over what was published: points in no order, pages of `page` results."""

    def __init__(self, published: Published, *, page: int = 1_000, status: str = "Complete"):
        self.published = published
        self.page = page
        self.status = status
        self.calls: list[dict[str, Any]] = []

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(asked)
        assert len(asked["MetricDataQueries"]) <= 500
        first = int(asked.get("NextToken", "0"))
        queries = asked["MetricDataQueries"][first : first + self.page]
        more = first + self.page < len(asked["MetricDataQueries"])
        results = [self._result(q, asked["StartTime"], asked["EndTime"]) for q in queries]
        return {
            "MetricDataResults": results,
            **({"NextToken": str(first + self.page)} if more else {}),
        }

    def _result(self, query: Any, start: datetime, end: datetime) -> dict[str, Any]:
        metric = query["MetricStat"]["Metric"]
        dimensions = frozenset((d["Name"], d["Value"]) for d in metric["Dimensions"])
        points = self.published.get((metric["Namespace"], metric["MetricName"], dimensions), {})
        found = [(at, v) for at, v in points.items() if start <= at < end]
        random.Random(1).shuffle(found)
        return {
            "Id": query["Id"],
            "Timestamps": [at for at, _ in found],
            "Values": [v for _, v in found],
            "StatusCode": self.status,
        }


def metrics(published: Published, **how: Any) -> CloudWatchMetrics:
    fake: Any = FakeCloudWatch(published, **how)
    return CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)


def view(configuration: Configuration | None = None, **changes: Any) -> StorageView:
    seen = {"modification": None, "instance": None, **changes}
    return StorageView(volume=volume(configuration), **seen)


@given(
    now=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    length=st.integers(1, 5_000),
    period_s=st.sampled_from([60, 300]),
)
def test_a_window_is_made_of_whole_periods_that_have_ended(
    now: datetime, length: int, period_s: int
) -> None:
    span = window(now, length=timedelta(seconds=period_s * length), period_s=period_s)
    assert span.end <= now < span.end + timedelta(seconds=period_s)
    assert span.start.timestamp() % period_s == 0
    assert span.periods == length


def test_rates_are_sums_divided_by_the_period() -> None:
    activity, _ = metrics(
        {
            of_volume("VolumeReadOps"): minutes(60_000),
            of_volume("VolumeWriteOps"): minutes(30_000),
            of_volume("VolumeReadBytes"): minutes(60 * 100 * 1024 * 1024),
            of_volume("VolumeWriteBytes"): minutes(0),
        }
    ).activity(view(), NOW)
    assert activity.read_iops.last() == 1_000
    assert activity.write_iops.last() == 500
    assert activity.read_mibps.last() == 100
    assert activity.write_mibps.last() == 0


def test_what_was_not_published_is_none_and_never_zero() -> None:
    activity, of_its_instance = metrics(
        {of_volume("VolumeReadOps"): minutes(60, None, 120, None)}
    ).activity(view(), NOW)
    assert activity.read_iops.values[-4:] == (1, None, 2, None)
    assert activity.write_iops.known() == ()
    assert activity.queue_length.known() == ()
    assert activity.iops_exceeded.known() == ()
    assert of_its_instance is None


def test_three_hours_of_minutes_share_one_grid() -> None:
    points = minutes(*range(300))
    activity, _ = metrics({of_volume("VolumeReadOps"): points}).activity(
        view(), NOW + timedelta(seconds=59)
    )
    assert len(activity.read_iops.values) == 180
    assert activity.read_iops.end == NOW
    assert activity.read_iops.values == tuple(v / 60 for v in range(120, 300))
    grids = {(s.start, s.period_s, len(s.values)) for s in _all_series(activity)}
    assert grids == {(NOW - timedelta(hours=3), 60, 180)}


def _all_series(activity: object) -> list[Any]:
    found = [getattr(activity, name) for name in activity.__slots__]  # type: ignore[attr-defined]
    return [series for series in found if series is not None]


def test_latency_is_time_over_operations_and_unknown_without_operations() -> None:
    activity, _ = metrics(
        {
            of_volume("VolumeReadOps"): minutes(1_000, 0, 1_000, None, 500),
            of_volume("VolumeWriteOps"): minutes(1_000, 0, None, None, 500),
            of_volume("VolumeTotalReadTime"): minutes(1, 0, 2, 1, None),
            of_volume("VolumeTotalWriteTime"): minutes(3, 0, 9, 1, 2),
        }
    ).activity(view(), NOW)
    assert activity.latency_ms.values[-5:] == (2.0, None, 2.0, None, 4.0)


def test_on_nitro_the_mean_latency_and_the_check_for_stalled_io_are_read_under_the_pair() -> None:
    published = {
        of_volume("VolumeReadOps"): minutes(1_000, 0, 1_000, 500),
        of_volume("VolumeWriteOps"): minutes(3_000, 0, None, 500),
        of_volume("VolumeTotalReadTime"): minutes(99, 99, 99, 99),
        of_volume("VolumeTotalWriteTime"): minutes(99, 99, 99, 99),
        of_pair("VolumeAvgReadLatency"): minutes(1, 0, 2, None),
        of_pair("VolumeAvgWriteLatency"): minutes(3, 0, 9, 2),
        of_pair("VolumeStalledIOCheck"): minutes(0, 0, 1, None),
    }
    nitro = instance()
    assert nitro.limits is not None
    activity, _ = metrics(published).activity(view(instance=nitro), NOW)
    assert activity.latency_ms.values[-4:] == (2.5, None, 2.0, 2.0)
    assert activity.stalled is not None
    assert activity.stalled.values[-4:] == (0, 0, 1, None)
    silent, _ = metrics({of_volume("VolumeReadOps"): minutes(60)}).activity(
        view(instance=nitro), NOW
    )
    assert silent.stalled is None


@pytest.mark.parametrize(
    ("nitro", "zone", "instances"),
    [(False, "us-east-1a", ("i-1",)), (True, "us-east-1-bos-1a", ("i-1",)),
     (True, "us-east-1a", ("i-1", "i-2"))],
)  # fmt: skip
def test_elsewhere_latency_is_worked_out_from_the_time_that_every_volume_publishes(
    nitro: bool, zone: str, instances: tuple[str, ...]
) -> None:
    published = {
        of_volume("VolumeReadOps"): minutes(1_000),
        of_volume("VolumeTotalReadTime"): minutes(4),
        of_pair("VolumeAvgReadLatency"): minutes(99),
        of_pair("VolumeStalledIOCheck"): minutes(1),
    }
    attached = instance()
    assert attached.limits is not None
    attached = replace(attached, limits=replace(attached.limits, nitro=nitro))
    seen = replace(
        view(instance=attached), volume=volume(availability_zone=zone, instance_ids=instances)
    )
    activity, _ = metrics(published).activity(seen, NOW)
    earlier = metrics(published).history(view(instance=instance()), NOW)
    assert earlier is not None
    for found in (activity, earlier):
        assert found.latency_ms.last() == 4.0
        assert found.stalled is None


def test_the_checks_are_read_under_the_pair_of_instance_and_volume() -> None:
    by_volume_alone = {of_volume("VolumeIOPSExceededCheck"): minutes(1, 1)}
    assert metrics(by_volume_alone).activity(view(), NOW)[0].iops_exceeded.known() == ()
    by_pair = {
        of_pair("VolumeIOPSExceededCheck"): minutes(1, 0),
        of_pair("VolumeThroughputExceededCheck"): minutes(0, 1),
    }
    activity, _ = metrics(by_pair).activity(view(), NOW)
    assert activity.iops_exceeded.known() == (1, 0)
    assert activity.throughput_exceeded.known() == (0, 1)


def test_only_types_with_credits_are_asked_for_a_balance() -> None:
    published = {of_volume("BurstBalance"): minutes(80, 75)}
    for configuration, balance in ((gp2(), (80, 75)), (gp3(), ()), (io(), ())):
        activity, _ = metrics(published).activity(view(configuration), NOW)
        assert activity.burst_balance_percent.known() == balance


def test_an_instance_does_what_all_its_volumes_do_together() -> None:
    published = {
        of_volume(metric, one): minutes(*(60 * n for n in counts))
        for one, counts in (("vol-1", (100, 200)), ("vol-2", (10, 20)))
        for metric in ("VolumeReadOps", "VolumeWriteOps")
    } | {
        of_volume("VolumeReadBytes", "vol-2"): minutes(0, 60 * 1024 * 1024),
        of_instance("InstanceEBSIOPSExceededCheck"): minutes(0, 1),
        of_instance("InstanceEBSThroughputExceededCheck"): minutes(1, 0),
    }
    _, together = metrics(published).activity(view(instance=instance(volumes=("vol-2",))), NOW)
    assert together is not None
    assert together.iops.known() == (220, 440)
    assert together.mibps.known() == (0, 1)
    assert together.iops_exceeded.known() == (0, 1)
    assert together.throughput_exceeded.known() == (1, 0)


def test_a_hole_in_one_volume_is_a_hole_in_the_sum_but_a_silent_volume_is_not() -> None:
    published = {
        of_volume("VolumeReadOps", "vol-1"): minutes(60, 60, 60),
        of_volume("VolumeReadOps", "vol-2"): minutes(60, None, 60),
    }
    attached = instance(volumes=("vol-2", "vol-silent"))
    _, together = metrics(published).activity(view(instance=attached), NOW)
    assert together is not None
    assert together.iops.values[-3:] == (2, None, 2)


def test_balances_of_an_instance_come_on_their_own_five_minute_grid() -> None:
    at = NOW - timedelta(minutes=10)
    published = {of_instance("EBSIOBalance%"): {at: 42.0, at + timedelta(minutes=5): 40.0}}
    now = NOW + timedelta(minutes=3)
    _, together = metrics(published).activity(view(instance=instance()), now)
    assert together is not None
    assert together.io_balance_percent.period_s == 300
    assert together.io_balance_percent.end == NOW
    assert together.io_balance_percent.values[-3:] == (None, 42.0, 40.0)
    assert together.byte_balance_percent.known() == ()


def test_balances_are_not_asked_for_where_the_instance_does_not_burst() -> None:
    steady = instance()
    assert steady.limits is not None
    limits = replace(
        steady.limits,
        maximum_iops=steady.limits.baseline_iops,
        maximum_mibps=steady.limits.baseline_mibps,
    )
    published = {of_instance("EBSIOBalance%"): {NOW - timedelta(minutes=5): 40.0}}
    for one, known in ((replace(steady, limits=limits), ()), (replace(steady, limits=None), (40,))):
        _, together = metrics(published).activity(view(instance=one), NOW)
        assert together is not None
        assert together.io_balance_percent.known() == known


def test_history_is_fourteen_days_of_five_minutes_or_nothing() -> None:
    at = NOW - timedelta(days=13)
    history = metrics({of_volume("VolumeReadOps"): {at: 300.0}}).history(view(), NOW)
    assert history is not None
    assert len(history.read_iops.values) == 14 * 288
    assert list(history.read_iops.points()) == [(at, 1.0)]
    assert metrics({}).history(view(), NOW) is None


def test_older_history_is_hours_then_five_minutes_in_one_call_each() -> None:
    since, until = NOW - timedelta(days=400), NOW - timedelta(days=14)
    long_ago, later = NOW - timedelta(days=100), NOW - timedelta(days=40)
    fake: Any = FakeCloudWatch(
        {
            of_volume("VolumeReadOps"): {long_ago: 3_600.0, later: 300.0},
            of_pair("VolumeIOPSExceededCheck"): {long_ago: 45.0, later: 3.0},
        }
    )
    cloudwatch = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    hours, fives = cloudwatch.older_history(view(), NOW, since=since, until=until)
    assert (hours.read_iops.start, fives.read_iops.end) == (since, until)
    assert hours.read_iops.end == fives.read_iops.start == NOW - timedelta(days=63, hours=-1)
    assert (hours.read_iops.period_s, fives.read_iops.period_s) == (3600, 300)
    assert list(hours.read_iops.points()) == [(long_ago, 1.0)]
    assert list(fives.read_iops.points()) == [(later, 1.0)]
    assert hours.iops_exceeded.known() + fives.iops_exceeded.known() == (45.0, 3.0)
    assert [len(call["MetricDataQueries"]) for call in fake.calls] == [6, 6]
    for call in fake.calls:  # no second page
        period = call["MetricDataQueries"][0]["MetricStat"]["Period"]
        assert 7 * (call["EndTime"] - call["StartTime"]).total_seconds() / period <= 100_800


@pytest.mark.parametrize(
    ("since_days", "until_days", "periods"), [(60, 14, (300,)), (100, 70, (3600,)), (14, 14, ())]
)
def test_only_the_periods_of_that_time_are_asked_for(
    since_days: int, until_days: int, periods: tuple[int, ...]
) -> None:
    fake: Any = FakeCloudWatch({})
    found = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).older_history(
        view(gp2()), NOW, since=NOW - timedelta(days=since_days),
        until=NOW - timedelta(days=until_days),
    )  # fmt: skip
    assert tuple(part.read_iops.period_s for part in found) == periods
    assert [len(call["MetricDataQueries"]) for call in fake.calls] == [7] * len(periods)


def test_a_glance_shows_minutes_lows_and_highs_of_the_last_half_hour() -> None:
    found = metrics(
        {
            of_pair("VolumeIOPSExceededCheck"): minutes(1, *[0] * 28, 1, 1),
            of_pair("VolumeThroughputExceededCheck"): minutes(0, 0),
            of_volume("BurstBalance"): minutes(1, *[90] * 20, 55, None, 60),
            of_volume("VolumeQueueLength"): minutes(3, 17.5, 2),
        }
    ).glance([view(gp2())], NOW)
    assert found == {
        "vol-1": Glance(
            iops_exceeded_minutes=2,
            throughput_exceeded_minutes=0,
            lowest_burst_balance_percent=1,
            longest_queue=17.5,
        )
    }


@pytest.mark.parametrize(
    ("configuration", "attached", "asked"),
    [(gp3(), ("i-1",), 3), (gp2(), ("i-1",), 4), (gp3(), (), 0), (io(), ("i-1", "i-2"), 1)],
)
def test_a_glance_asks_for_as_few_metrics_as_there_may_be(
    configuration: Configuration, attached: tuple[str, ...], asked: int
) -> None:
    fake: Any = FakeCloudWatch({})
    one = replace(view(configuration), volume=volume(configuration, instance_ids=attached))
    found = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).glance([one], NOW)
    assert sum(len(call["MetricDataQueries"]) for call in fake.calls) == asked
    assert found["vol-1"] == Glance(
        iops_exceeded_minutes=None,
        throughput_exceeded_minutes=None,
        lowest_burst_balance_percent=None,
        longest_queue=None,
    )


@pytest.mark.parametrize(
    ("configuration", "metrics", "asked"),
    [
        (gp3(), {Metric.QUEUE}, 1),
        (gp3(), {Metric.IOPS_CHECK}, 1),
        (gp3(), {Metric.BALANCE, Metric.FREE}, 0),  # what the type does not publish
        (gp2(), {Metric.BALANCE}, 1),
        (gp3(), {Metric.IOPS_CHECK, Metric.THROUGHPUT_CHECK}, 2 + 4),  # neither is published
    ],
)
def test_a_planned_glance_reads_only_what_it_asks_for(
    configuration: Configuration, metrics: set[Metric], asked: int
) -> None:
    fake: Any = FakeCloudWatch({})
    one = GlanceRequest(
        view=view(configuration), metrics=frozenset(metrics), back=timedelta(minutes=15)
    )
    CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).glances([one], NOW)
    assert sum(len(call["MetricDataQueries"]) for call in fake.calls) == asked
    assert {call["EndTime"] - call["StartTime"] for call in fake.calls} <= {timedelta(minutes=15)}


@pytest.mark.parametrize("page", [1, 7, 500])
def test_a_fleet_is_glanced_at_in_batches_and_pages_and_nothing_is_mixed_up(page: int) -> None:
    fleet = [replace(view(), volume=volume(ref=ref(f"vol-{i}"))) for i in range(400)]
    published = {of_volume("VolumeQueueLength", f"vol-{i}"): minutes(i) for i in range(400)}
    fake: Any = FakeCloudWatch(published, page=page)
    found = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).glance(fleet, NOW)
    assert {name: g.longest_queue for name, g in found.items()} == {
        f"vol-{i}": i for i in range(400)
    }
    batches = {id(call["MetricDataQueries"]) for call in fake.calls}
    assert len(batches) == 3 + 4  # 1,200 metrics, and 1,600 where there are no checks


class SlowCloudWatch(FakeCloudWatch):
    """Answers in any order, and counts how many calls it works on at once."""

    def __init__(self, published: Published, *, refuse: int | None = None):
        super().__init__(published)
        self.refuse = refuse
        self.begun = 0
        self.now = 0
        self.most = 0
        self.lock = threading.Lock()

    def get_metric_data(self, **asked: Any) -> dict[str, Any]:
        with self.lock:
            self.begun += 1
            number = self.begun
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02 + random.Random(number).random() / 50)
        with self.lock:
            self.now -= 1
        if number == self.refuse:
            raise _error("Throttling")
        return super().get_metric_data(**asked)


def test_at_most_eight_calls_run_at_once_and_the_answer_is_the_same_every_time() -> None:
    fleet = [replace(view(), volume=volume(ref=ref(f"vol-{i}"))) for i in range(2_000)]
    published = {of_volume("VolumeQueueLength", f"vol-{i}"): minutes(i) for i in range(2_000)}
    answers = []
    for _ in range(2):
        slow: Any = SlowCloudWatch(published)
        found = CloudWatchMetrics(slow, account_id=ACCOUNT, region=REGION).glance(fleet, NOW)
        answers.append(list(found.items()))
        assert 1 < slow.most <= 8
    assert answers[0] == answers[1]
    assert [g.longest_queue for _, g in answers[0]] == list(range(2_000))


def test_one_call_of_many_that_fails_is_a_failed_read() -> None:
    fleet = [replace(view(), volume=volume(ref=ref(f"vol-{i}"))) for i in range(2_000)]
    slow: Any = SlowCloudWatch({}, refuse=5)
    with pytest.raises(ReadFailed, match="Throttling"):
        CloudWatchMetrics(slow, account_id=ACCOUNT, region=REGION).glance(fleet, NOW)


SERVED = {
    of_volume("VolumeReadOps"): minutes(60_000, 120_000, None, 60_000),
    of_volume("VolumeWriteOps"): minutes(60_000, 60_000, 180_001, None),
    of_volume("VolumeReadBytes"): minutes(60 * 40 * 1024 * 1024),
    of_volume("VolumeWriteBytes"): minutes(60 * 10 * 1024 * 1024),
    of_volume("VolumeQueueLength"): minutes(28),
}


def test_without_checks_a_glance_shows_the_busiest_minute_of_what_was_served() -> None:
    found = metrics(SERVED).glance([view()], NOW)["vol-1"]
    assert found.peak_iops == pytest.approx(3_000 + 1 / 60)
    assert found.peak_mibps == 50


@pytest.mark.parametrize("check", ["VolumeIOPSExceededCheck", "VolumeThroughputExceededCheck"])
def test_with_a_check_what_was_served_is_not_asked_for(check: str) -> None:
    fake: Any = FakeCloudWatch(SERVED | {of_pair(check): minutes(0)})
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    found = seen.glance([view()], NOW)["vol-1"]
    assert (found.peak_iops, found.peak_mibps) == (None, None)
    assert len(fake.calls) == 1


def test_a_stopped_instances_volume_is_not_asked_for_what_it_served() -> None:
    fake: Any = FakeCloudWatch({})
    CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).glance([view()], NOW)
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("every", "covers"), [(1, 30), (15, 30), (20, 30), (21, 31), (60, 70), (1_440, 1_450)]
)
def test_no_minute_lies_between_two_scans_that_no_glance_covers(every: int, covers: int) -> None:
    length = glance_window(timedelta(minutes=every))
    assert length == timedelta(minutes=covers)
    at = NOW - timedelta(minutes=covers)
    fake: Any = FakeCloudWatch({of_pair("VolumeIOPSExceededCheck"): {at: 1.0}})
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION, glance=length)
    assert seen.glance([view()], NOW)["vol-1"].iops_exceeded_minutes == 1


@pytest.mark.parametrize("status", ["PartialData", "InternalError", "Forbidden"])
def test_an_incomplete_answer_is_a_failed_read(status: str) -> None:
    with pytest.raises(ReadFailed, match=status):
        metrics({}, status=status).activity(view(), NOW)


class SomeFail(FakeCloudWatch):
    """CloudWatch that fails at the queue of some volumes, each for so many calls."""

    def __init__(self, failing: Mapping[str, int]) -> None:
        super().__init__({})
        self.failing = dict(failing)

    def _result(self, query: Any, start: datetime, end: datetime) -> dict[str, Any]:
        metric = query["MetricStat"]["Metric"]
        name = metric["Dimensions"][0]["Value"]
        found = super()._result(query, start, end)
        if metric["MetricName"] == "VolumeQueueLength" and self.failing.get(name, 0) > 0:
            self.failing[name] -= 1
            return found | {"StatusCode": "InternalError"}
        return found


@pytest.mark.parametrize(
    ("failing", "missing"),
    [
        ({"vol-7": 1}, 0),  # asked again, it is answered
        ({"vol-7": 9}, 1),
        ({f"vol-{n}": 9 for n in range(20)}, 20),
    ],
)
def test_what_cloudwatch_does_not_answer_of_a_few_volumes_hides_no_other(
    failing: Mapping[str, int], missing: int
) -> None:
    fake: Any = SomeFail(failing)
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    views = [replace(view(), volume=volume(ref=ref(f"vol-{n}"))) for n in range(100)]
    glances = seen.glance(views, NOW)
    assert len(glances) == 100 - missing
    assert missing == 0 or not failing.keys() & glances.keys()


def test_of_a_small_fleet_too_one_that_is_not_answered_hides_no_other() -> None:
    fake: Any = SomeFail({"vol-1": 9})
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    views = [replace(view(), volume=volume(ref=ref(f"vol-{n}"))) for n in range(3)]
    assert set(seen.glance(views, NOW)) == {"vol-0", "vol-2"}


def test_where_many_are_not_answered_nothing_is() -> None:
    fake: Any = SomeFail({f"vol-{n}": 9 for n in range(40)})
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    views = [replace(view(), volume=volume(ref=ref(f"vol-{n}"))) for n in range(100)]
    with pytest.raises(ReadFailed, match="39 others"):
        seen.glance(views, NOW)


def test_a_decision_needs_every_metric() -> None:
    fake: Any = SomeFail({"vol-1": 9})
    seen = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION)
    with pytest.raises(ReadFailed, match="InternalError"):
        seen.activity(view(), NOW)


def test_a_rate_below_zero_is_not_one() -> None:
    at = NOW - timedelta(minutes=1)
    seen, _ = _stubbed(_answer(3, Timestamps=[at], Values=[-1.0]))
    assert seen.glance([view()], NOW)["vol-1"].longest_queue is None


def _stubbed(*answers: Mapping[str, Any]) -> tuple[CloudWatchMetrics, Stubber]:
    once = Config(retries={"total_max_attempts": 1, "mode": "standard"})
    client = boto3.client("cloudwatch", region_name=REGION, config=once, **KEYS)
    stub = Stubber(client)
    for answer in answers:
        stub.add_response("get_metric_data", dict(answer))
    stub.activate()
    return CloudWatchMetrics(client, account_id=ACCOUNT, region=REGION), stub


def _answer(count: int, **of_each: Any) -> dict[str, Any]:
    each = {"Timestamps": [], "Values": [], "StatusCode": "Complete", **of_each}
    return {"MetricDataResults": [{"Id": f"q{i}", **each} for i in range(count)]}


def test_partial_data_on_a_page_is_no_failure_while_more_pages_come() -> None:
    at = NOW - timedelta(minutes=1)
    first = _answer(3, Timestamps=[at], Values=[1.0], StatusCode="PartialData")
    seen, stub = _stubbed(first | {"NextToken": "more"}, _answer(3))
    glance = seen.glance([view()], NOW)["vol-1"]
    assert glance.longest_queue == 1.0
    stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    "answer",
    [
        _answer(3) | {"Messages": [{"Code": "MaxMetricsExceeded", "Value": "too many"}]},
        _answer(3, Timestamps=[NOW], Values=[]),
    ],
)
def test_an_answer_that_leaves_something_out_is_a_failed_read(answer: dict[str, Any]) -> None:
    seen, _ = _stubbed(answer)
    with pytest.raises(ReadFailed):
        seen.glance([view()], NOW)


def test_a_metric_that_an_answer_leaves_out_is_not_answered() -> None:
    seen, _ = _stubbed(_answer(2), _answer(0))
    assert seen.glance([view()], NOW) == {}


def test_a_point_outside_the_window_is_left_out() -> None:
    outside = [NOW - timedelta(minutes=31), NOW, NOW + timedelta(days=1)]
    seen, _ = _stubbed(_answer(3, Timestamps=outside, Values=[9.0, 9.0, 9.0]))
    assert seen.glance([view()], NOW)["vol-1"].longest_queue is None


def test_a_refused_call_is_a_failed_read() -> None:
    seen, stub = _stubbed()
    stub.add_client_error("get_metric_data", "Throttling", "slow down", 400)
    with pytest.raises(ReadFailed, match="Throttling"):
        seen.activity(view(), NOW)


class FakeAlarms:
    """DescribeAlarmContributors in pages, or an error."""

    def __init__(self, pages: Sequence[Any]):
        self.pages = pages

    def describe_alarm_contributors(self, **asked: Any) -> dict[str, Any]:
        assert asked["AlarmName"] == "headroom-detect-iops"
        page = self.pages[int(asked.get("NextToken", "0"))]
        if isinstance(page, Exception):
            raise page
        number = self.pages.index(page) + 1
        more = {"NextToken": str(number)} if number < len(self.pages) else {}
        return {"AlarmContributors": [{"ContributorAttributes": a} for a in page], **more}


def contributors(*pages: Any) -> tuple[str, ...]:
    fake: Any = FakeAlarms(pages)
    found = CloudWatchMetrics(fake, account_id=ACCOUNT, region=REGION).contributors(
        "headroom-detect-iops"
    )
    assert all((r.account_id, r.region) == (ACCOUNT, REGION) for r in found)
    return tuple(r.resource_id for r in found)


def test_contributors_are_the_volumes_of_all_pages_each_once() -> None:
    pair = {"VolumeId": "vol-2", "InstanceId": "i-1"}
    assert contributors([{"VolumeId": "vol-1"}, pair], [pair, {"TableName": "x"}]) == (
        "vol-1",
        "vol-2",
    )


def _error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "DescribeAlarmContributors")


def test_an_alarm_that_is_gone_has_no_contributors_and_throttling_is_a_failed_read() -> None:
    assert contributors(_error("ResourceNotFoundException")) == ()
    with pytest.raises(ReadFailed, match="Throttling"):
        contributors(_error("Throttling"))


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "ValidationException"])
def test_where_aws_will_not_say_who_contributes_that_is_known_and_not_tried_again(
    code: str,
) -> None:
    with pytest.raises(ContributorsUnknown, match=f"headroom-detect-iops.*{code}"):
        contributors(_error(code))
    assert contributors([{"VolumeId": "vol-1"}], _error(code)) == ("vol-1",), "what is known counts"


def test_a_token_that_repeats_for_ever_ends_the_reading() -> None:
    class Endless:
        calls = 0

        def describe_alarm_contributors(self, **_: Any) -> dict[str, Any]:
            self.calls += 1
            attributes = {"ContributorAttributes": {"VolumeId": "vol-1"}}
            return {"AlarmContributors": [attributes], "NextToken": "again"}

    endless: Any = Endless()
    found = CloudWatchMetrics(endless, account_id=ACCOUNT, region=REGION).contributors("a")
    assert [one.resource_id for one in found] == ["vol-1"]
    assert endless.calls == MOST_PAGES


def test_the_call_for_contributors_has_the_shape_botocore_knows() -> None:
    client = boto3.client("cloudwatch", region_name=REGION, **KEYS)
    with Stubber(client) as stub:
        answer = {
            "AlarmContributors": [
                {
                    "ContributorId": "0f1e2d3c4b5a6978",
                    "ContributorAttributes": {"VolumeId": "vol-1"},
                    "StateReason": "Threshold Crossed",
                    "StateTransitionedTimestamp": NOW,
                }
            ]
        }
        stub.add_response("describe_alarm_contributors", answer, {"AlarmName": "headroom-detect"})
        seen = CloudWatchMetrics(client, account_id=ACCOUNT, region=REGION)
        assert seen.contributors("headroom-detect") == (ref(),)


@mock_aws
def test_what_was_put_into_moto_comes_back_on_the_grid() -> None:
    client = boto3.client("cloudwatch", region_name=REGION, **KEYS)
    at = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    for metric, value in (("VolumeReadOps", 600.0), ("VolumeQueueLength", 4.0)):
        client.put_metric_data(
            Namespace="AWS/EBS",
            MetricData=[
                {
                    "MetricName": metric,
                    "Dimensions": [{"Name": "VolumeId", "Value": "vol-1"}],
                    "Timestamp": at,
                    "Value": value,
                }
            ],
        )
    seen = CloudWatchMetrics(client, account_id=ACCOUNT, region=REGION)
    now = at + timedelta(minutes=2)
    activity, _ = seen.activity(view(), now)
    assert list(activity.read_iops.points()) == [(at, 10.0)]
    assert list(activity.queue_length.points()) == [(at, 4.0)]
    assert seen.glance([view()], now)["vol-1"].longest_queue == 4.0


def test_a_token_of_get_metric_data_that_repeats_for_ever_is_a_failed_read() -> None:
    class Endless:
        calls = 0

        def get_metric_data(self, **_: Any) -> dict[str, Any]:
            self.calls += 1
            return _answer(3) | {"NextToken": "again"}

    endless: Any = Endless()
    with pytest.raises(ReadFailed, match="more than 1000 pages"):
        CloudWatchMetrics(endless, account_id=ACCOUNT, region=REGION).glance([view()], NOW)
    assert endless.calls == 1_000
