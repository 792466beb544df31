"""The past as CloudWatch keeps it: finer where it is recent, whole, and in as few calls as it takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.adapters.cloudwatch import LONGEST_DAYS, CloudWatchHistory, batches
from headroom.adapters.cloudwatch.history import windows
from headroom.ports import ReadFailed, StorageView
from tests.adapters.cloudwatch.test_metrics import FakeCloudWatch, of_instance, of_pair, of_volume
from tests.builders import NOW, gp2, instance, ref, volume


def view(number: int = 1, *, hung: bool = True) -> StorageView:
    one = volume(gp2(), ref=ref(f"vol-{number}"))
    return StorageView(volume=one, modification=None, instance=instance() if hung else None)


@given(
    st.integers(1, LONGEST_DAYS),
    st.integers(0, 730 * 86_400).map(
        lambda s: datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
    ),
)
def test_windows_join_reach_back_far_enough_and_stay_within_what_is_kept(
    days: int, now: datetime
) -> None:
    spans = windows(now, days)
    assert all(a.end == b.start for a, b in pairwise(spans))
    assert all(a.period_s > b.period_s for a, b in pairwise(spans))
    assert timedelta() <= now - spans[-1].end < timedelta(minutes=1)
    kept = {60: timedelta(days=15), 300: timedelta(days=63), 3_600: timedelta(days=456)}
    for span in spans:
        assert span.start.timestamp() % span.period_s == 0
        assert now - span.start <= kept[span.period_s]
    assert spans[0].start <= now - timedelta(days=days) + timedelta(minutes=1)
    assert now - timedelta(days=days) - spans[0].start < timedelta(hours=2)


@pytest.mark.parametrize(
    ("days", "periods"), [(1, [60]), (14, [60]), (15, [300, 60]), (60, [300, 60]),
                          (63, [3_600, 300, 60]), (90, [3_600, 300, 60])],
)  # fmt: skip
def test_the_period_is_the_finest_that_is_kept(days: int, periods: list[int]) -> None:
    assert [span.period_s for span in windows(NOW, days)] == periods


@given(st.integers(1, 40), st.sampled_from([1, 3, 14, 400]))
def test_every_volume_is_asked_for_once_and_no_call_asks_for_more_than_one_answers(
    count: int, days: int
) -> None:
    views = [view(number) for number in range(count)]
    groups = [*batches(views, NOW, days)]
    assert [one for group in groups for one in group] == views
    longest = max(span.periods for span in windows(NOW, days))
    for group in groups:
        queries = 12 * len(group)
        assert len(group) == 1 or (queries <= 500 and queries * longest <= 110_000)
    if days == 1 and count > 8:
        assert len(groups) < count / 3


def test_what_was_not_published_is_missing_and_never_zero() -> None:
    at = NOW - timedelta(minutes=90)
    published = {
        of_volume("VolumeReadOps"): {at: 600.0},
        of_pair("VolumeIOPSExceededCheck"): {at: 1.0},
    }
    fake: Any = FakeCloudWatch(published)
    ((activity, checks),) = CloudWatchHistory(fake).read([view()], NOW, 1)["vol-1"]
    place = activity.read_iops.values.index(10.0)
    assert activity.read_iops.start + timedelta(minutes=place) == at
    assert len(activity.read_iops.known()) == 1
    assert activity.iops_exceeded.known() == (1.0,)
    assert activity.write_iops.known() == ()
    assert checks is not None
    assert checks.iops_exceeded.known() == ()


def test_the_checks_of_the_instance_come_with_the_volume() -> None:
    at = NOW - timedelta(minutes=90)
    fake: Any = FakeCloudWatch({of_instance("InstanceEBSIOPSExceededCheck"): {at: 1.0}})
    ((_, checks),) = CloudWatchHistory(fake).read([view()], NOW, 1)["vol-1"]
    assert checks is not None
    assert checks.iops_exceeded.known() == (1.0,)


def test_what_all_volumes_of_the_instance_did_together_comes_with_the_volume() -> None:
    at = NOW - timedelta(minutes=90)
    fake: Any = FakeCloudWatch(
        {
            of_volume(metric, name): {at: value}
            for metric, value in (("VolumeReadOps", 600.0), ("VolumeWriteOps", 60.0))
            for name in ("vol-1", "vol-2", "vol-3")
        }
    )
    one = StorageView(
        volume=volume(gp2()), modification=None, instance=instance(volumes=("vol-2", "vol-3"))
    )
    ((activity, together),) = CloudWatchHistory(fake).read([one], NOW, 1)["vol-1"]
    assert together is not None
    assert together.iops.known() == (33.0,)
    assert (activity.read_iops.known(), activity.write_iops.known()) == ((10.0,), (1.0,))


def test_a_detached_volume_has_a_past_without_checks() -> None:
    loose = StorageView(volume=volume(gp2(), instance_ids=()), modification=None, instance=None)
    fake: Any = FakeCloudWatch({of_volume("VolumeReadOps"): {NOW - timedelta(hours=2): 60.0}})
    ((activity, checks),) = CloudWatchHistory(fake).read([loose], NOW, 1)["vol-1"]
    assert activity.read_iops.known() == (1.0,)
    assert activity.iops_exceeded.known() == ()
    assert checks is None


def test_an_answer_that_is_not_whole_is_a_failed_read() -> None:
    fake: Any = FakeCloudWatch({}, status="InternalError")
    with pytest.raises(ReadFailed, match="InternalError"):
        CloudWatchHistory(fake).read([view()], NOW, 1)
