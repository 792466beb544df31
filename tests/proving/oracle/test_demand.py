"""The load as foresight sees it lacks exactly what a volume lacks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.oracle.demand import KnownDemand, reachable_rates
from headroom.proving.vectorized import VectorizedVolume, pain_if_static
from headroom.proving.workloads import LoadSeries
from tests.proving.series import load_series_of

RATES = st.one_of(
    st.floats(1, 12_000), st.sampled_from([0.0, 2_999.0, 3_000.0, 3_001.0, 9_000.0, np.nan])
)
"""Operations a second: none, or at least one. Behind a billionth of one, whether a backlog is over is a
question of rounding, which the two models answer each in its own way."""

CLOSE = 1e-5


def gp3(iops: int, mibps: int) -> Configuration:
    return Configuration(
        volume_type=VolumeType.GP3, size_gib=400, iops=iops, throughput_mibps=mibps
    )


@st.composite
def any_load_series(draw: st.DrawFn) -> LoadSeries:
    step = draw(st.sampled_from([15, 20, 60, 300]))
    minutes = draw(st.integers(20, 60)) * 5
    count = minutes * 60 // step
    pieces = draw(st.lists(st.tuples(RATES, st.integers(1, 40)), min_size=1, max_size=12))
    rates = [rate for rate, times in pieces for _ in range(times)]
    kib = draw(st.sampled_from([4.0, 16.0, 64.0, 300.0]))
    return load_series_of(
        [rates[i % len(rates)] for i in range(count)], step_s=step, io_kib=kib,
        service_ms=draw(st.sampled_from([None, None, 4.0])),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    load_series=any_load_series(),
    iops=st.sampled_from([3_000, 4_000, 6_500]),
    mibps=st.integers(125, 700),
)
def test_a_level_lacks_exactly_what_a_volume_at_it_lacks(
    load_series: LoadSeries, iops: int, mibps: int
) -> None:
    level = gp3(iops, mibps)
    run = KnownDemand(load_series).stretch(reachable_rates(level), 0, load_series.minutes)
    assert np.allclose(run.shortfall, pain_if_static(load_series, level).shortfall, atol=CLOSE)


@settings(max_examples=60, deadline=None)
@given(load_series=any_load_series(), change=st.integers(0, 60), wide=st.booleans())
def test_a_queue_is_inherited_as_a_change_hands_it_over(
    load_series: LoadSeries, change: int, wide: bool
) -> None:
    small, large = gp3(3_000, 125), gp3(6_000, 400)
    first, then = (large, small) if wide else (small, large)
    volume = VectorizedVolume(load_series, first)
    volume.run(change)
    volume.modify(then)
    volume.run(load_series.minutes)
    load = KnownDemand(load_series)
    before = load.stretch(reachable_rates(first), 0, change + 10)
    after = load.stretch(
        reachable_rates(then), change + 10, load_series.minutes, float(before.position[-1])
    )
    found = np.concatenate((before.shortfall, after.shortfall))
    assert np.allclose(found, volume.shortfall, atol=CLOSE)


@settings(max_examples=60, deadline=None)
@given(load_series=any_load_series(), position=st.floats(0, 1))
def test_after_a_longer_queue_no_minute_lacks_less(
    load_series: LoadSeries, position: float
) -> None:
    load, reach = KnownDemand(load_series), reachable_rates(gp3(3_000, 125))
    begin = load_series.minutes // 2
    empty = load.stretch(reach, begin, load_series.minutes)
    queued = load.stretch(reach, begin, load_series.minutes, position * float(load.edges[begin]))
    assert (queued.shortfall >= empty.shortfall - CLOSE).all()
    assert (queued.position <= empty.position + 1e-6).all()


@settings(max_examples=60, deadline=None)
@given(load_series=any_load_series())
def test_no_run_lacks_less_in_a_minute_than_its_own_load(load_series: LoadSeries) -> None:
    load, reach = KnownDemand(load_series), reachable_rates(gp3(3_000, 125))
    run = load.stretch(reach, 0, load_series.minutes)
    assert (run.shortfall >= load.alone(reach) - CLOSE).all()


@settings(max_examples=40, deadline=None)
@given(load_series=any_load_series(), data=st.data())
def test_what_is_dropped_at_a_minute_leaves_runs_that_begin_with_nothing(
    load_series: LoadSeries, data: st.DataObject
) -> None:
    load, reach = KnownDemand(load_series), reachable_rates(gp3(3_000, 125))
    cuts = sorted(
        data.draw(st.sets(st.integers(1, load_series.minutes - 1), min_size=1, max_size=6))
    )
    found = load.emptied(reach, np.array(cuts))
    edges = [0, *cuts, load_series.minutes]
    pieces = [load.stretch(reach, a, b) for a, b in itertools.pairwise(edges)]
    expected = np.concatenate([piece.shortfall for piece in pieces])
    assert np.allclose(found.shortfall, expected, atol=CLOSE)


def test_an_unmeasured_minute_lacks_nothing_but_its_backlog_drains() -> None:
    load_series = load_series_of([6_000.0] * 10 + [np.nan] * 5 + [100.0] * 20)
    load = KnownDemand(load_series)
    run = load.stretch(reachable_rates(gp3(3_000, 125)), 0, load_series.minutes)
    assert run.shortfall[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert (run.shortfall > 0).tolist() == [True] * 10 + [False] * 5 + [True] * 5 + [False] * 15
    assert run.waiting[15] == pytest.approx(300.0)
