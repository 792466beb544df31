"""Shortfall and useful rate of a load as values, whatever estimated them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.workload import Demand, Estimate, LoadShape

PLENTY = 1e9
RATES = st.floats(1, 100_000)
ORDERED = st.tuples(RATES, RATES).map(sorted)


def censored(
    floor: float, *, likely: float = 1.5, upper: float = 16.0, weight: float = 0.0
) -> Estimate:
    """An estimate of which `likely` and `upper` are multiples of `floor`."""
    return Estimate(
        floor=floor, least=floor, likely=floor * likely, upper=floor * upper, censored=True,
        indicated=floor * likely if weight else 0.0, weight=weight,
    )  # fmt: skip


def demand(iops: Estimate, mibps: Estimate | None = None, **changes: object) -> Demand:
    base = Demand(
        iops=iops, mibps=mibps or censored(1.0), shape=LoadShape.CENSORED, tail=1.2,
        confidence=1.0, known_minutes=30, pressed_minutes=20, expected_starved_minutes=60.0,
        credits=None, peak_iops=0.0, peak_mibps=0.0, clear_minutes=0,
    )  # fmt: skip
    return replace(base, **changes)  # type: ignore[arg-type]


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    def estimate() -> Estimate:
        likely = draw(st.floats(1, 8))
        return censored(
            draw(RATES), likely=likely, upper=likely * draw(st.floats(1, 8)),
            weight=draw(st.sampled_from([0.0, 0.5, 0.9])),
        )  # fmt: skip

    return demand(
        estimate(), estimate(), tail=draw(st.sampled_from([0.0, 1.2])),
        pool=draw(st.sampled_from([0.0, 0.3, 0.99])), iops_share=draw(st.floats(0, 1)),
    )  # fmt: skip


@given(demands(), RATES, RATES)
def test_shortfall_is_a_share(load: Demand, iops: float, mibps: float) -> None:
    assert -1e-9 <= load.expected_shortfall(iops=iops, mibps=mibps) <= 1 + 1e-9


@given(demands(), ORDERED, ORDERED)
def test_more_is_never_short_of_more(load: Demand, iops: list[float], mibps: list[float]) -> None:
    less = load.expected_shortfall(iops=iops[0], mibps=mibps[0])
    assert load.expected_shortfall(iops=iops[1], mibps=mibps[0]) <= less + 1e-9
    assert load.expected_shortfall(iops=iops[0], mibps=mibps[1]) <= less + 1e-9


@given(demands())
def test_above_all_that_is_possible_nothing_is_short(load: Demand) -> None:
    iops, mibps = load.iops.upper, load.mibps.upper
    assert load.expected_shortfall(iops=iops, mibps=mibps) == pytest.approx(0.0, abs=1e-9)


def test_of_an_open_load_all_is_late_and_of_a_pool_only_what_it_is_slowed_down_by() -> None:
    """Both are known to want 10,000 IOPS; the more is served, the sooner the open one catches up."""
    known = Estimate(floor=10_000, least=10_000, likely=10_000, upper=10_000, censored=False)
    for iops, slowed in ((2_500, 0.75), (5_000, 0.5), (7_500, 0.25), (10_000, 0.0)):
        queued = (1.0 + slowed) / 2 if slowed else 0.0
        open_load, pool, either = (
            demand(known, tail=0.0, pool=pool).expected_shortfall(iops=iops, mibps=PLENTY)
            for pool in (0.0, 1.0, 0.5)
        )
        assert (open_load, pool) == (pytest.approx(queued), pytest.approx(slowed))
        assert either == pytest.approx((queued + slowed) / 2)


def test_half_the_rate_that_a_pool_would_take_is_half_of_its_relief() -> None:
    """It took 3,000 and would take any rate up to 12,000."""
    pool = demand(censored(3_000, likely=1, upper=4), pool=1.0)
    lost = [pool.expected_shortfall(iops=iops, mibps=PLENTY) for iops in (3_000, 6_000, 12_000)]
    assert lost[0] == pytest.approx(0.459, abs=0.001)
    assert 0.25 < lost[1] / lost[0] < 0.5
    assert lost[2] == 0.0


def test_a_burst_inside_the_minute_is_served_sooner_by_a_higher_limit_and_leaves_less() -> None:
    """All minutes touched 3,000 IOPS in a burst: twice that leaves a tenth, of a load that stays a half."""
    inside = demand(censored(3_000), censored(20.0), saturated_share=0.0)
    whole = demand(censored(3_000), censored(20.0))

    def late(load: Demand, iops: float, mibps: float = 125.0) -> float:
        return load.expected_shortfall(iops=iops, mibps=mibps, touched=(3_000.0, 125.0))

    assert late(inside, 3_000) == pytest.approx(0.15 * late(whole, 3_000))
    assert late(inside, 6_000) < late(inside, 3_000) / 10
    assert late(whole, 6_000) > late(whole, 3_000) / 3
    assert late(inside, 3_000, 1_000.0) == late(inside, 3_000)  # its IOPS bind


def test_without_load_nothing_is_short() -> None:
    idle = Estimate(floor=0.0, likely=0.0, upper=0.0, censored=False)
    assert demand(idle, idle).expected_shortfall(iops=1, mibps=1) == 0.0


@pytest.mark.parametrize(
    ("io_mib", "iops", "mibps", "rates"),
    [
        ((), 4_000, 1_000, (4_000,)),
        ((1 / 64,), 4_000, 1_000, (4_000,)),
        ((0.25,), 4_000, 1_000, (4_000,)),
        ((0.25,), 8_000, 1_000, (4_000,)),  # its throughput binds: more IOPS serve nothing
        ((0.25,), 4_000, 2_000, (4_000,)),  # its IOPS bind: more throughput serves nothing
        ((0.25,), 8_000, 2_000, (8_000,)),
        ((1 / 64, 0.25), 8_000, 1_000, (8_000, 4_000)),
    ],
)
def test_what_a_configuration_serves_is_one_rate_for_each_size_of_operation(
    io_mib: tuple[float, ...], iops: float, mibps: float, rates: tuple[float, ...]
) -> None:
    assert demand(censored(4_000), io_mib=io_mib).useful_rate(iops, mibps) == rates
