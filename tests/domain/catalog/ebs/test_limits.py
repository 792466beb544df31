from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import catalogue_prices, why_invalid
from headroom.domain.catalog.ebs import capability, cheapest, gp2_baseline
from headroom.domain.catalog.ebs.limits import io1_throughput
from headroom.domain.resources import EBS_TYPES, Configuration, VolumeType
from tests.builders import gp2, gp3, io


@pytest.mark.parametrize(
    ("size", "baseline"),
    [(1, 100), (33, 100), (34, 102), (100, 300), (334, 1002), (750, 2250), (1000, 3000),
     (5333, 15999), (5334, 16000), (16384, 16000)],
)  # fmt: skip
def test_gp2_earns_three_iops_per_gib_between_100_and_16000(size: int, baseline: int) -> None:
    assert gp2_baseline(size) == baseline


@pytest.mark.parametrize(
    ("size", "sustained", "burst"),
    [(100, 128, 128), (170, 128, 128), (171, 128, 250), (333, 128, 250), (334, 250, 250)],
)
def test_gp2_throughput_between_171_and_333_gib_needs_credits(
    size: int, sustained: float, burst: float
) -> None:
    can = capability(gp2(size))
    assert (can.sustained_mibps, can.burst_mibps) == (sustained, burst)


def test_gp2_of_1000_gib_or_more_has_no_bucket() -> None:
    assert capability(gp2(999)).iops_credits == 5_400_000
    assert capability(gp2(1000)).iops_credits == 0


@pytest.mark.parametrize(
    ("configuration", "fragment"),
    [
        (gp3(100, 3000, 125), None),
        (gp3(160, 80_000, 2000), None),
        (gp3(159, 80_000, 2000), "79500 IOPS"),
        (gp3(1, 3000, 125), None),
        (gp3(100, 2999, 125), "3000 to"),
        (gp3(100, 3000, 751), "125 to 750"),
        (gp3(65_537, 3000, 125), "65536 GiB"),
        (io(VolumeType.IO1, 100, 5000), None),
        (io(VolumeType.IO1, 100, 5001), "5000 IOPS"),
        (io(VolumeType.IO2, 256, 256_000), None),
        (io(VolumeType.IO2, 255, 256_000), "255000 IOPS"),
        (Configuration(volume_type=VolumeType.GP2, size_gib=10, iops=100, throughput_mibps=None),
         "derives its IOPS"),
        (Configuration(volume_type=VolumeType.ST1, size_gib=124, iops=None, throughput_mibps=None),
         "125 to 16384"),
    ],
)  # fmt: skip
def test_what_aws_would_refuse_is_reported_with_its_numbers(
    configuration: Configuration, fragment: str | None
) -> None:
    problem = why_invalid(configuration)
    assert (problem is None) if fragment is None else (problem and fragment in problem)


@pytest.mark.parametrize(
    ("iops", "mibps"), [(100, 25), (2000, 500), (32_000, 500), (40_000, 625), (64_000, 1000)]
)
def test_io1_throughput_follows_its_documented_curve(iops: int, mibps: float) -> None:
    assert io1_throughput(iops) == mibps


def _brute_force(kind: VolumeType, size: int, iops: float, mibps: float) -> Configuration | None:
    """The cheapest of every valid setting on a grid that contains all corner points."""
    prices = catalogue_prices("us-east-1")
    best = None
    tputs = range(125, 521, 5) if kind is VolumeType.GP3 else (None,)
    lows = {VolumeType.GP3: 3000}.get(kind, 100)
    for tput in tputs:
        if tput is not None and tput < mibps:
            continue
        for step in range(lows, 6001, 1 if tput is None else 4):
            c = Configuration(volume_type=kind, size_gib=size, iops=step, throughput_mibps=tput)
            can = capability(c)
            if why_invalid(c) or can.sustained_iops < iops or can.sustained_mibps < mibps:
                continue
            if best is None or prices.monthly(c) < prices.monthly(best):
                best = c
            break
        if best is not None and tput is not None:
            break
    return best


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from([VolumeType.GP3, VolumeType.IO1, VolumeType.IO2]),
    size=st.integers(4, 500),
    iops=st.integers(0, 1500).map(lambda n: 4 * n),
    mibps=st.integers(0, 100).map(lambda n: 5 * n),
)
def test_the_cheapest_configuration_is_as_cheap_as_brute_force_finds(
    kind: VolumeType, size: int, iops: int, mibps: int
) -> None:
    found = cheapest(kind, size, iops=iops, mibps=mibps)
    best = _brute_force(kind, size, iops, mibps)
    prices = catalogue_prices("us-east-1")
    if best is None:
        assert found is None or (found.iops or 0) > 6000
    else:
        assert found is not None
        assert prices.monthly(found) == prices.monthly(best)


@given(
    kind=st.sampled_from(list(EBS_TYPES)),
    size=st.integers(1, 20_000),
    iops=st.floats(0, 300_000),
    mibps=st.floats(0, 5_000),
)
def test_the_cheapest_configuration_is_valid_meets_the_need_and_never_shrinks(
    kind: VolumeType, size: int, iops: float, mibps: float
) -> None:
    found = cheapest(kind, size, iops=iops, mibps=mibps)
    if found is not None:
        assert why_invalid(found) is None
        assert found.size_gib >= size
        can = capability(found)
        assert can.sustained_iops >= iops
        assert can.sustained_mibps >= mibps


def test_the_smallest_gp2_for_2500_iops_has_834_gib() -> None:
    assert cheapest(VolumeType.GP2, 400, iops=2500, mibps=0) == gp2(834)
