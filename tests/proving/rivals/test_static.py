"""Fixed configurations: the trace's peak, and the best in hindsight against brute force."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.policy import PRESETS
from headroom.proving.rivals import BestStatic, static_peak
from headroom.proving.trials import (
    STARTS,
    Conditions,
    StaticRuns,
    TrialRun,
    UncontrolledVolume,
    run_static,
    score_usd,
)
from tests.proving.build import gp3
from tests.proving.series import load_series_of

HOUR, DAY = 12, 288


def ground_of(load: Sequence[float], start: str = "gp3", io_kib: float = 16) -> UncontrolledVolume:
    load_series = load_series_of(load, step_s=300, io_kib=io_kib)
    return UncontrolledVolume(StaticRuns(load_series), STARTS[start], Conditions())


def scored(run: TrialRun, uncontrolled: UncontrolledVolume, preset: str) -> float:
    return score_usd(run, uncontrolled.unavoidable_shortfall, Conditions(preset=preset))


def test_the_peak_is_served_from_minute_0_on() -> None:
    uncontrolled = ground_of([100.0] * DAY + [7_000.0] * HOUR + [100.0] * DAY)
    run = static_peak(uncontrolled, Conditions())
    assert [(c.minute, c.target) for c in run.changes] == [(0, gp3(400, 7_000, 125))]
    assert not run.starved.any()


def test_a_peak_beyond_the_largest_step_is_reached_in_legal_steps() -> None:
    uncontrolled = ground_of([100.0] * DAY + [50_000.0] * HOUR, io_kib=64)
    run = static_peak(uncontrolled, Conditions())
    assert [(c.minute, c.target) for c in run.changes] == [
        (0, gp3(400, 12_000, 500)), (120, gp3(400, 16_000, 1_000)),
    ]  # fmt: skip
    assert (run.guardrail_violations, run.aws_refusals, run.held) == (0, 0, 0)
    uncontrolled = ground_of([100.0] * DAY + [50_000.0] * HOUR, "io1", io_kib=64)
    (change,) = static_peak(uncontrolled, Conditions()).changes
    assert change.target == gp3(400, 16_000, 1_000)


def test_best_static_goes_beyond_one_step_where_that_pays() -> None:
    uncontrolled = ground_of([100.0] * HOUR + [15_500.0] * DAY * 3)
    conditions = Conditions(preset="performance")
    run = BestStatic(uncontrolled, conditions).run(conditions)
    assert [(c.minute, (c.target.iops or 0) > 12_000) for c in run.changes] == [
        (0, False), (120, True),
    ]  # fmt: skip


def test_best_static_gives_back_what_an_idle_volume_never_needs() -> None:
    uncontrolled = ground_of([20.0] * DAY * 3, "io1")
    run = BestStatic(uncontrolled, Conditions()).run(Conditions())
    assert [c.target for c in run.changes] == [gp3(400)]


def test_best_static_stays_where_nothing_pays() -> None:
    uncontrolled = ground_of([20.0] * DAY * 3)
    assert BestStatic(uncontrolled, Conditions()).run(Conditions()).changes == ()


def test_the_dearer_a_minute_the_more_is_bought() -> None:
    load = [500.0] * HOUR + ([500.0] * 22 * HOUR + [4_500.0] * 2) * 5 + [500.0] * HOUR + [9_000.0]
    uncontrolled = ground_of(load)
    best = BestStatic(uncontrolled, Conditions())
    starved = [
        int(best.run(Conditions(preset=preset)).starved.sum())
        for preset in ("performance", "balanced", "thrift")
    ]
    assert starved[0] < starved[1] < starved[2]


PARTS = st.lists(
    st.tuples(st.integers(6, 48), st.floats(0, 15_000)), min_size=3, max_size=6
)  # hours, IOPS


@settings(max_examples=8)
@given(
    parts=PARTS, start=st.sampled_from(sorted(STARTS)), preset=st.sampled_from(sorted(PRESETS)),
    io_kib=st.sampled_from([8, 48]),
)  # fmt: skip
def test_best_static_beats_every_configuration_of_a_coarse_grid(
    parts: list[tuple[int, float]], start: str, preset: str, io_kib: float
) -> None:
    uncontrolled = ground_of(
        [iops for hours, iops in parts for _ in range(hours * HOUR)], start, io_kib
    )
    conditions = Conditions(preset=preset)
    best = scored(BestStatic(uncontrolled, conditions).run(conditions), uncontrolled, preset)
    for iops in np.geomspace(3_000, 16_000, 13).round():
        for mibps in (125, 250, 500, 1_000):
            if mibps > iops // 4:
                continue
            wish = gp3(400, int(iops), mibps)
            run = run_static(uncontrolled.load_series, uncontrolled.start, wish, conditions)
            assert best <= scored(run, uncontrolled, preset) * 1.01 + 0.01
    assert best <= scored(static_peak(uncontrolled, conditions), uncontrolled, preset) + 1e-9


def test_minutes_that_nothing_could_save_are_known() -> None:
    uncontrolled = ground_of([100.0] * HOUR + [50_000.0] * HOUR + [100.0] * DAY)
    assert uncontrolled.unavoidable[60:120].all()
    assert not uncontrolled.unavoidable[:60].any()


def test_a_static_run_is_made_once() -> None:
    static = StaticRuns(load_series_of([5_000.0] * HOUR, step_s=300))
    assert static.starved(gp3(400)) is static.starved(gp3(400))
    assert static.starved(gp3(400)).sum() == 60
    assert static.shortfall(gp3(400)).sum() == pytest.approx(0.4 + 0.8 + 58)
