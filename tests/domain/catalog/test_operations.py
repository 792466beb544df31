"""EBS counts an operation per 256 KiB (SSD) or 1 MiB (HDD); CloudWatch publishes operations and bytes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, ModificationState, Observation, VolumeActivity
from headroom.domain.workload import estimate, minutes
from tests.builders import NOW, activity, gp3, modification, observation, series, volume
from tests.proving.build import configuration, steady
from tests.proving.observed import observed


def two_kinds(
    reads: tuple[float, float], writes: tuple[float, float], *, check: float | None = 0
) -> VolumeActivity:
    """An hour of reads and writes, each (operations/s, KiB per operation)."""
    load = activity([1.0] * 60, iops_check=check, mibps_check=check)
    each = {
        "read_iops": reads[0], "read_mibps": reads[0] * reads[1] / 1024,
        "write_iops": writes[0], "write_mibps": writes[0] * writes[1] / 1024,
    }  # fmt: skip
    fields = {name: getattr(load, name) for name in load.__dataclass_fields__}
    return VolumeActivity(**fields | {k: series([v] * 60) for k, v in each.items()})


@pytest.mark.parametrize(
    ("reads", "writes", "what", "counted"),
    [
        ((100, 16), (100, 16), gp3(), 200),
        ((100, 256), (100, 256), gp3(), 200),
        ((100, 1024), (0, 0), gp3(), 400),
        ((50, 1024), (400, 4), gp3(), 600),  # together 450 operations of 130 KiB: 450 is too few
        ((100, 16), (100, 16), configuration("st1", 1024), 200),
        ((20, 2048), (0, 0), configuration("st1", 1024), 40),
    ],
)
def test_each_direction_is_split_by_itself(
    reads: tuple[float, float], writes: tuple[float, float], what: Configuration, counted: float
) -> None:
    found = minutes(two_kinds(reads, writes), capability(what))
    assert {round(m.iops, 6) for m in found} == {counted}


def test_small_sequential_io_is_merged_where_more_was_served_than_the_limit_lets_through() -> None:
    found = minutes(activity([8_000.0] * 60, io_kib=16), capability(gp3()))
    assert {m.iops for m in found} == {500.0}
    assert {m.ops for m in found} == {8_000.0}


def test_what_was_merged_in_one_minute_is_merged_in_others_of_the_same_size() -> None:
    found = minutes(activity([8_000.0] * 5 + [2_000.0] * 5, io_kib=16), capability(gp3()))
    assert [m.iops for m in found] == [500.0] * 5 + [125.0] * 5


def test_minutes_under_a_higher_limit_of_before_are_not_taken_for_merged() -> None:
    lowered = modification(
        gp3(), origin=gp3(100, 9_000, 125), started_at=NOW - timedelta(minutes=30)
    )
    load = activity([8_000.0] * 20 + [2_000.0] * 40, io_kib=4)
    found = minutes(load, capability(gp3()), lowered)
    assert [m.iops for m in found[:20]] == [8_000.0] * 20
    assert {m.iops_limit for m in found[:20]} == {9_000}


def test_a_limit_still_to_land_is_not_taken_for_reached() -> None:
    rising = modification(
        gp3(100, 6_000, 125), origin=gp3(), state=ModificationState.OPTIMIZING,
        started_at=NOW - timedelta(minutes=10),
    )  # fmt: skip
    load = activity([3_000.0] * 60, iops_check=1, queue=1_024.0)
    seen = observation(load, volume(gp3(100, 6_000, 125)), modification=rising)
    assert estimate(seen).iops.floor == 3_000


@pytest.mark.parametrize(
    ("load", "what", "iops", "mibps"),
    [  # what is wanted at twice the throughput limit, in SSD operations/s and MiB/s
        (steady(16_000, 16, sequential=True), gp3(), 1_000, 250),
        (steady(2_000, 128), gp3(), 2_000, 250),
        (steady(250, 1024), gp3(), 1_000, 250),
        (steady(500, 1024, sequential=True), configuration("st1", 1024), 2_000, 500),
    ],
)
def test_large_and_merged_io_is_estimated_in_ebs_operations(
    load: object, what: Configuration, iops: float, mibps: float
) -> None:
    demand = estimate(observed(load, what, 10))  # type: ignore[arg-type]
    assert demand.iops_share == 0
    assert demand.iops.floor == pytest.approx(iops / 2, rel=0.02)
    assert demand.mibps.floor == pytest.approx(mibps / 2, rel=0.02)
    assert demand.iops.likely == pytest.approx(iops, rel=0.15)
    assert demand.mibps.likely == pytest.approx(mibps, rel=0.15)


def test_small_random_io_on_hdd_wants_operations_and_hardly_any_throughput() -> None:
    demand = estimate(
        observed(steady(400, 16), configuration("st1", 1024), 30, burst_balance_percent=2)
    )
    assert demand.iops.floor == pytest.approx(250)
    assert demand.mibps.upper < 100


def without(seen: Observation, *names: str) -> Observation:
    """The observation without some series, as if they had not been published."""
    load = seen.activity
    fields = {name: getattr(load, name) for name in load.__dataclass_fields__}
    gone = {name: series([None] * len(load.read_iops.values)) for name in names}
    return observation(VolumeActivity(**fields | gone), seen.volume)


def test_bytes_nobody_published_are_unknown_and_lower_the_confidence() -> None:
    load = activity([1500.0] * 30 + [3000.0] * 30, iops_check=[0.0] * 30 + [1.0] * 30, queue=1024.0)
    whole = estimate(observation(load))
    blind = estimate(without(observation(load), "read_mibps", "write_mibps"))
    assert blind.iops.floor == whole.iops.floor
    assert blind.confidence < whole.confidence


def test_a_direction_nobody_published_leaves_a_floor_of_what_is_known() -> None:
    seen = observation(activity([1500.0] * 60))
    demand = estimate(without(seen, "write_iops", "write_mibps"))
    assert demand.iops.floor == 750
    assert demand.confidence == 0.5
