"""The cheapest configuration of a type, and of all types, against everything there is to choose."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from math import ceil, nextafter

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from headroom.domain.catalog import CATALOGUE_PRICES, PriceTable, catalogue_prices, why_invalid
from headroom.domain.catalog.ebs import LIMITS, capability, cheapest, max_iops
from headroom.domain.resources import Configuration, VolumeType
from tests.builders import gp2, gp3, io

GP2, GP3, IO1, IO2 = VolumeType.GP2, VolumeType.GP3, VolumeType.IO1, VolumeType.IO2
CHOICE = (GP2, GP3, IO1, IO2)

# Demand lies on a grid that holds every corner of the coupling rules: 4 IOPS per MiB/s of gp3 and of
# io1 up to 500 MiB/s, 64 above, so that what is cheapest at all is a point of the grid below.
IOPS_STEP, MIBPS_STEP = 500, 125


def everything(kind: VolumeType, size_gib: int) -> Iterator[Configuration]:
    """Every valid point of the grid that does not shrink the volume; gp2 at every size."""
    match kind:
        case VolumeType.GP2:
            sizes = {size_gib, *range(size_gib, 16_385, 50), 334, 5_334}
            made = (gp2(size) for size in sizes if size >= size_gib)
        case VolumeType.GP3:
            made = (
                gp3(size_gib, iops, mibps)
                for iops in range(3_000, 80_001, IOPS_STEP)
                for mibps in range(125, 2_001, MIBPS_STEP)
            )
        case VolumeType.IO1:
            settable = {100, 32_001, *range(IOPS_STEP, 64_001, IOPS_STEP)}
            made = (io(IO1, size_gib, iops) for iops in settable)
        case _:
            settable = {100, *range(IOPS_STEP, 256_001, IOPS_STEP)}
            # 0.256 MiB/s an IOPS: the fewest IOPS for each step of MiB/s are no multiples of 500.
            settable |= {ceil(mibps / 0.256) for mibps in range(125, 4_001, MIBPS_STEP)}
            made = (io(IO2, size_gib, iops) for iops in settable)
    return (c for c in made if why_invalid(c) is None)


def enough(configuration: Configuration, iops: float, mibps: float) -> bool:
    can = capability(configuration)
    return can.sustained_iops >= iops and can.sustained_mibps >= mibps


SIZES = st.sampled_from([1, 4, 8, 10, 50, 100, 150, 300, 350, 500, 1_000, 1_300, 5_500, 17_000])
PLENTY = st.integers(0, 520).map(lambda n: n * IOPS_STEP)
COMMON = st.integers(0, 40).map(lambda n: n * IOPS_STEP)
MIBPS = st.integers(0, 33).map(lambda n: n * MIBPS_STEP)
TABLES = st.sampled_from(list(CATALOGUE_PRICES.values()))


@pytest.mark.parametrize("kind", CHOICE)
@settings(max_examples=25, deadline=None)
@given(size=SIZES, iops=st.one_of(PLENTY, COMMON), mibps=MIBPS, table=TABLES)
def test_of_one_type_nothing_on_the_grid_that_is_enough_is_cheaper(
    kind: VolumeType, size: int, iops: int, mibps: int, table: PriceTable
) -> None:
    found = cheapest(kind, size, iops=iops, mibps=mibps)
    rivals = [c for c in everything(kind, size) if enough(c, iops, mibps)]
    if found is None:
        assert rivals == []
        return
    assert why_invalid(found) is None
    assert enough(found, iops, mibps)
    assert found.size_gib >= size
    assert table.monthly(found) <= min((table.monthly(c) for c in rivals), default=Decimal("Inf"))


@settings(max_examples=25, deadline=None)
@given(size=SIZES, iops=st.one_of(PLENTY, COMMON), mibps=MIBPS, table=TABLES)
def test_the_cheapest_of_the_types_is_the_cheapest_of_all(
    size: int, iops: int, mibps: int, table: PriceTable
) -> None:
    alternatives = [cheapest(kind, size, iops=iops, mibps=mibps) for kind in CHOICE]
    best = min((table.monthly(c) for c in alternatives if c), default=None)
    all_of_them = (c for kind in CHOICE for c in everything(kind, size))
    least = min((table.monthly(c) for c in all_of_them if enough(c, iops, mibps)), default=None)
    assert (best is None) == (least is None)
    if best is not None and least is not None:
        assert best <= least


def _near(*corners: int) -> st.SearchStrategy[float]:
    """Just above or below where a rule changes."""
    off = st.sampled_from([-1.0, -0.01, 0.0, 0.01, 0.3, 1.0])
    return st.builds(lambda corner, by: corner + by, st.sampled_from(corners), off)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(CHOICE),
    size=st.one_of(st.integers(1, 400), st.integers(1, 20_000)),
    iops=st.one_of(st.floats(0, 300_000), _near(100, 3_000, 16_000, 32_000, 64_000, 80_000)),
    mibps=st.one_of(st.floats(0, 4_500), _near(125, 128, 250, 500, 750, 1_000, 2_000, 4_000)),
)
def test_one_unit_less_of_anything_is_not_enough_or_not_valid(
    kind: VolumeType, size: int, iops: float, mibps: float
) -> None:
    found = cheapest(kind, size, iops=iops, mibps=mibps)
    assume(found is not None)
    assert found is not None
    for less in smaller(found):
        grown = less.size_gib < size
        assert grown or why_invalid(less) is not None or not enough(less, iops, mibps), str(less)


def smaller(found: Configuration) -> Iterator[Configuration]:
    """The configuration with one GiB, IOPS or MiB/s less, or with 4 IOPS and a MiB/s less."""
    if found.volume_type is GP2:
        yield gp2(found.size_gib - 1)
        return
    iops, mibps = found.iops or 0, found.throughput_mibps
    if mibps is None:
        yield io(found.volume_type, found.size_gib, iops - 1)
        return
    yield gp3(found.size_gib, iops - 1, mibps)
    yield gp3(found.size_gib, iops, mibps - 1)
    yield gp3(found.size_gib, iops - 4, mibps - 1)


def _a_rounding_beside(rate: float) -> st.SearchStrategy[float]:
    """A rate and the floats next to it, a step of rounding above and below."""
    return st.sampled_from([nextafter(rate, 0), rate, nextafter(rate, 1e9)])


BESIDE_WHOLE_IOPS = st.integers(100, 15_624).flatmap(lambda n: _a_rounding_beside(0.256 * n))
BESIDE_WHOLE_GIB = st.integers(34, 5_333).flatmap(lambda n: _a_rounding_beside(3.0 * n))


@settings(max_examples=500, deadline=None)
@given(
    kind=st.sampled_from((GP2, GP3, IO2)),
    iops=st.one_of(st.just(0.0), BESIDE_WHOLE_GIB),
    mibps=st.one_of(st.just(0.0), BESIDE_WHOLE_IOPS),
)
@example(kind=IO2, iops=0.0, mibps=25.600000000000005)
@example(kind=GP2, iops=300.00000000000006, mibps=0.0)
def test_a_demand_a_rounding_beside_a_whole_setting_is_met_and_with_no_unit_to_spare(
    kind: VolumeType, iops: float, mibps: float
) -> None:
    assume(kind is not GP2 or mibps <= 250)
    assume(kind is not GP3 or mibps <= 2_000)
    found = cheapest(kind, 30 if kind is GP2 else 1_000, iops=iops, mibps=mibps)
    assert found is not None
    assert enough(found, iops, mibps)
    for less in smaller(found):
        shrunk = kind is GP2 and less.size_gib < 30
        assert shrunk or why_invalid(less) is not None or not enough(less, iops, mibps), str(less)


@pytest.mark.parametrize("kind", [VolumeType.ST1, VolumeType.SC1, VolumeType.STANDARD])
def test_a_type_no_plan_leads_to_is_taken_at_the_size_it_has(kind: VolumeType) -> None:
    as_it_is = Configuration(volume_type=kind, size_gib=500, iops=None, throughput_mibps=None)
    assert cheapest(kind, 500, iops=1, mibps=1) == as_it_is
    assert cheapest(kind, 500, iops=1, mibps=300) is None


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(CHOICE),
    size=st.integers(1, 20_000),
    iops=st.floats(0, 300_000).map(lambda n: round(n, 6)),
    mibps=st.floats(0, 4_500).map(lambda n: round(n, 6)),
)
def test_what_the_largest_of_a_type_can_do_has_a_cheapest(
    kind: VolumeType, size: int, iops: float, mibps: float
) -> None:
    low, high = LIMITS[kind].size_gib
    assume(low <= size <= high)
    most = {
        GP2: gp2(high),
        GP3: gp3(size, max_iops(GP3, size), min(2_000, max_iops(GP3, size) // 4)),
    }.get(kind, io(kind, size, max_iops(kind, size)))
    assert why_invalid(most) is None
    assert (cheapest(kind, size, iops=iops, mibps=mibps) is not None) == enough(most, iops, mibps)


@settings(max_examples=200, deadline=None)
@given(
    kind=st.sampled_from(CHOICE),
    size=st.integers(4, 16_000),
    iops=st.integers(3_000, 255_000),
    mibps=st.integers(125, 1_999),
    table=TABLES,
)
def test_more_never_costs_less(
    kind: VolumeType, size: int, iops: int, mibps: int, table: PriceTable
) -> None:
    """Prices rise with every unit, through io2's tiers too: what smallest-first relies on."""
    made: list[Configuration] = [gp2(size), gp2(size + 1)]
    if kind is GP3:
        made = [gp3(size, iops, mibps), gp3(size, iops + 1, mibps), gp3(size, iops + 1, mibps + 1)]
    elif kind is not GP2:
        made = [io(kind, size, iops), io(kind, size, iops + 1), io(kind, size + 1, iops + 1)]
    costs = [table.monthly(c) for c in made]
    assert costs == sorted(costs)
    assert len(set(costs)) == len(costs)


@pytest.mark.parametrize(
    ("iops", "usd"),
    [
        (32_000, "2130"),
        (32_001, "2130.0455"),
        (64_000, "3586"),
        (64_001, "3586.03185"),
        (256_000, "9701.2"),
    ],
)
def test_io2_is_billed_by_tiers_one_iops_at_a_time(iops: int, usd: str) -> None:
    assert catalogue_prices("us-east-1").monthly(io(IO2, 400, iops)) == Decimal(usd)
