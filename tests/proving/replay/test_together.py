"""Volumes of one instance are replayed beside each other's raises: it serves nothing twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from headroom.domain.catalog import catalogue_prices
from headroom.ports import StorageView
from headroom.proving.physics import OtherLoad
from headroom.proving.replay import NotReplayed, Replayed, replay_together
from headroom.proving.replay.added import AddedLoad
from tests.builders import (
    NOW,
    REGION,
    activity,
    gp3,
    instance,
    instance_activity,
    policy,
    ref,
    volume,
)

SINCE = NOW - timedelta(hours=2)
PRESSED = activity(
    [500.0] * 60 + [3_000.0] * 60,
    iops_check=[0.0] * 60 + [1.0] * 60,
    queue=[1.0] * 60 + [900.0] * 60,
)
BOTH = instance_activity(
    [1_000.0] * 60 + [6_000.0] * 60, [1_000 / 64] * 60 + [6_000 / 64] * 60, end=NOW
)


def two(baseline_iops: int) -> list[StorageView]:
    """Two volumes of 3,000 IOPS on one instance."""
    here = instance(
        baseline_iops=baseline_iops, maximum_iops=baseline_iops, volumes=("vol-1", "vol-2")
    )
    return [
        StorageView(volume=volume(gp3(500), ref=ref(name)), modification=None, instance=here)
        for name in ("vol-1", "vol-2")
    ]


def replayed(views: list[StorageView]) -> list[Replayed]:
    found = replay_together(
        [(view, ((PRESSED, BOTH),)) for view in views], policy(), catalogue_prices(REGION),
        since=SINCE,
    )  # fmt: skip
    assert all(isinstance(one, Replayed) for one in found), found
    return [one for one in found if isinstance(one, Replayed)]


def iops(one: Replayed) -> list[int]:
    return [change.target.iops or 0 for change in one.headroom.changes]


def test_the_second_volume_gets_what_the_first_leaves() -> None:
    views = two(14_000)
    alone = [replayed([view])[0] for view in views]
    first, second = replayed(views)
    assert iops(first) == iops(alone[0])
    assert max(iops(alone[1])) > max([3_000, *iops(second)])
    assert first.headroom == alone[0].headroom
    assert second.left_alone == alone[1].left_alone
    assert second.avoided_minutes < alone[1].avoided_minutes
    assert first.added is not None
    assert first.added.raises[0].adds_iops == iops(first)[0] - 3_000
    assert max(first.added.iops) == pytest.approx(14_000 - 6_000)  # beside what both had


def test_on_an_instance_that_gives_more_each_is_replayed_as_if_alone() -> None:
    views = two(60_000)
    together = replayed(views)
    assert [iops(one) for one in together] == [[12_000], [12_000]]
    assert together[1].headroom == replayed(views[1:])[0].headroom


def test_together_they_take_no_more_than_the_instance_gives() -> None:
    first, second = replayed(two(18_000))
    assert first.added is not None
    assert second.added is not None
    assert max(first.added.iops + second.added.iops) + 6_000 <= 18_000.01


def test_one_that_cannot_be_replayed_does_not_hide_the_other() -> None:
    shared, other = two(60_000)
    shared = replace(shared, volume=replace(shared.volume, multi_attach=True))
    prices = catalogue_prices(REGION)
    pairs = [(view, ((PRESSED, BOTH),)) for view in (shared, other)]
    missed, found = replay_together(pairs, policy(), prices, since=SINCE)
    assert isinstance(missed, NotReplayed)
    assert isinstance(found, Replayed)


def test_what_is_added_begins_at_its_own_minute_and_leaves_no_load_below_none() -> None:
    others = OtherLoad(start=NOW, iops=(5.0,) * 4, mibps=(1.0,) * 4, volume_ids=("vol-1",))

    def added(minutes: int, *values: float) -> AddedLoad:
        column = np.array(values)
        start = NOW + timedelta(minutes=minutes)
        return AddedLoad(start=start, iops=column, mibps=column)

    assert added(2, 3, -9, 7).onto(others).iops == (5, 5, 8, 0)
    assert added(-1, 3, 2).onto(others).iops == (7, 5, 5, 5)
    assert added(1, 3).plus(added(1, 1, 1)).onto(others).mibps == pytest.approx((1, 5, 2, 1))
