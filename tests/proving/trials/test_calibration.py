"""Forecasts are compared with what the load asked for, and the run is the same with or without them."""

from __future__ import annotations

import numpy as np
import pytest

from headroom.domain.resources import Configuration, VolumeType
from headroom.proving.scoring.comparison import drawn_conditions
from headroom.proving.trials import STARTS, Calibration, bands, run_engine
from headroom.proving.trials.calibration import calibration_of, hours_above
from headroom.proving.workloads import shape_load_series
from tests.proving.series import load_series_of

SMALL = Configuration(
    volume_type=VolumeType.GP3, size_gib=400, iops=3_000, throughput_mibps=125
)  # fmt: skip


def test_a_burst_that_is_served_by_the_end_of_its_minute_is_in_time() -> None:
    """Fifteen seconds at 9,000 IOPS are 2,250 in the minute; at 15,000 they are 3,750."""
    minute = [9_000.0, 0.0, 0.0, 0.0]
    late = [15_000.0, 0.0, 0.0, 0.0]
    steps = minute * 60 + minute * 59 + late
    above, whole = hours_above(load_series_of(steps, step_s=15), SMALL)
    assert above.tolist() == [False, True]
    assert whole.all()


def test_an_hour_counts_where_any_minute_asks_for_more_than_is_served() -> None:
    minutes = [300.0] * 60 + [300.0] * 59 + [3_200.0] + [3_000.0] * 60
    above, whole = hours_above(load_series_of(minutes, step_s=60), SMALL)
    assert above.tolist() == [False, True, False]
    assert whole.all()


def test_an_hour_that_was_not_wholly_measured_is_no_evidence() -> None:
    minutes = [300.0] * 30 + [np.nan] * 30 + [300.0] * 60
    _, whole = hours_above(load_series_of(minutes, step_s=60), SMALL)
    assert whole.tolist() == [False, True]


def test_forecasts_are_summed_by_band_and_scored() -> None:
    found = calibration_of([(0.1, False)] * 9 + [(0.1, True)] + [(0.9, True)] * 9 + [(0.9, False)])
    shares = {
        (low, high): (hours, came / hours)
        for (low, high), hours, came in zip(bands(), found.hours, found.came, strict=True)
        if hours
    }
    assert shares == {(0.05, 0.15): (10, 0.1), (0.85, 0.95): (10, 0.9)}
    assert found.mean_log_score == pytest.approx(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    assert found.mean_log_score_of_the_rate == pytest.approx(np.log(0.5))
    twice = found + found
    assert twice.hours[2] == 20
    assert twice.mean_log_score == pytest.approx(found.mean_log_score)


def test_no_forecast_is_no_score() -> None:
    assert Calibration().mean_log_score == Calibration().mean_log_score_of_the_rate == 0.0


@pytest.fixture(scope="module")
def nightly_runs():
    """A load of every night, followed with and without its forecasts."""
    series = shape_load_series("nightly-batch")
    return [
        run_engine(series, STARTS["gp3"], drawn_conditions(), with_forecasts=forecast)
        for forecast in (False, True)
    ]


def test_forecasts_change_nothing_about_a_run(nightly_runs) -> None:
    without, with_forecasts = nightly_runs
    assert without.calibration is None
    assert [d.decision_id for d in without.decisions] == [
        d.decision_id for d in with_forecasts.decisions
    ]
    assert without.changes == with_forecasts.changes
    assert np.array_equal(without.shortfall, with_forecasts.shortfall)


def test_a_nightly_load_is_forecast_far_better_than_by_its_rate(nightly_runs) -> None:
    found = nightly_runs[1].calibration
    assert found.mean_log_score > 0.3 * found.mean_log_score_of_the_rate
    sure = [i for i, (low, _) in enumerate(bands()) if low >= 0.85]
    hours, came = (sum(sums[i] for i in sure) for sums in (found.hours, found.came))
    assert hours > 100
    assert came / hours > 0.9
