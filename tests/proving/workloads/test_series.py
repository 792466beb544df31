"""Traces become load series: on a grid that fits minutes, a week at least, scaled by one rule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from headroom.domain.catalog.ebs import MIB
from headroom.proving.inputs import BadInput
from headroom.proving.workloads import LoadSeries, auto_scale, read_load_series
from tests.proving.series import START, load_series_of

HEADER = "timestamp,read_ops,write_ops,read_bytes,write_bytes"
BEGIN = datetime(2026, 1, 5, 0, 0, tzinfo=UTC)


def trace(tmp_path, rows, *, interval_s=60, begin=BEGIN):
    path = tmp_path / "made.csv"
    lines = [
        f"{(begin + timedelta(seconds=i * interval_s)).isoformat()},{row}"
        for i, row in enumerate(rows)
    ]
    path.write_text("\n".join((HEADER, *lines)) + "\n", encoding="utf-8")
    return path


def test_rates_are_per_second_and_counted_as_ssd_volumes_count(tmp_path):
    load_series = read_load_series(
        trace(tmp_path, [f"600,0,{600 * MIB},0", f"0,120,0,{120 * 4096}"]), scale="1"
    )
    assert load_series.ops[:2].tolist() == [10.0, 2.0]
    assert load_series.ebs_ops[:2].tolist() == [40.0, 2.0]  # 1 MiB is four operations of 256 KiB
    assert load_series.bytes[:2].tolist() == [10.0 * MIB, 2.0 * 4096]
    assert load_series.read_share[:2].tolist() == [1.0, 0.0]


def test_bytes_without_operations_are_16_kib_each(tmp_path):
    load_series = read_load_series(trace(tmp_path, [f",,{60 * 100 * 16384},"] * 3), scale="1")
    assert load_series.ops[0] == pytest.approx(100.0)


def test_a_short_trace_is_repeated_whole_to_a_week(tmp_path):
    load_series = read_load_series(trace(tmp_path, ["600,0,6000,0"] * 1_000), scale="1")
    assert load_series.minutes == 11_000
    assert load_series.trace_days == pytest.approx(1_000 / 1_440)


def test_a_trace_of_a_week_is_taken_once(tmp_path):
    load_series = read_load_series(
        trace(tmp_path, ["600,0,6000,0"] * 2_016, interval_s=300), scale="1"
    )
    assert (load_series.minutes, load_series.step_s) == (10_080, 300)


@pytest.mark.parametrize(
    ("interval_s", "step_s"), [(15, 15), (60, 60), (300, 300), (20, 20), (90, 30), (45, 15), (7, 1)]
)
def test_other_intervals_are_put_on_a_grid_that_fits_minutes(tmp_path, interval_s, step_s):
    load_series = read_load_series(
        trace(
            tmp_path, [f"{interval_s * n},0,4096,0" for n in range(1, 41)], interval_s=interval_s
        ),
        scale="1",
    )
    assert load_series.step_s == step_s
    once = 40 * interval_s // step_s
    assert load_series.ops[:once].sum() * step_s == pytest.approx(interval_s * sum(range(1, 41)))
    assert load_series.start == BEGIN


def test_a_row_that_was_not_measured_is_nan_everywhere(tmp_path):
    load_series = read_load_series(
        trace(tmp_path, ["600,0,6000,0", ",,,", "600,0,6000,0"]), scale="1"
    )
    for values in (
        load_series.ops,
        load_series.ebs_ops,
        load_series.bytes,
        load_series.read_share,
        load_series.read_bytes,
    ):
        assert np.isnan(values[1])
        assert not np.isnan(values[[0, 2]]).any()


@pytest.mark.parametrize(
    ("iops", "io_kib", "factor"),
    [(1_000.0, 16.0, 6.0), (100.0, 256.0, 10.0), (500.0, 512.0, 1.0), (9_000.0, 4.0, 1.0)],
    ids=["IOPS bind first", "throughput binds first", "twice it already", "never below 1"],
)
def test_auto_brings_the_99th_percentile_to_twice_gp3s_baseline(iops, io_kib, factor):
    load_series = load_series_of([iops] * 200, io_kib=io_kib)
    assert auto_scale(load_series) == pytest.approx(factor)
    scaled = load_series.scaled(auto_scale(load_series))
    assert scaled.scale == pytest.approx(factor)
    assert scaled.ops[0] == pytest.approx(factor * iops)
    assert scaled.totals.ops[-1] == pytest.approx(200 * 60 * factor * iops)


def test_a_trace_without_any_load_stays_as_it_is():
    assert auto_scale(load_series_of([0.0] * 100)) == 1.0


def test_a_trace_shorter_than_a_minute_is_refused(tmp_path):
    with pytest.raises(BadInput, match="at least one minute"):
        read_load_series(trace(tmp_path, ["1,0,4096,0"] * 3, interval_s=15), scale="1")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": START + timedelta(seconds=5)}, "clock minute"),
        ({"step_s": 45}, "divide 60"),
        ({"ebs_ops": np.ones(3)}, "for 4 steps"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, words):
    fields = {
        "name": "made", "start": START, "step_s": 60, "ops": np.ones(4), "ebs_ops": np.ones(4),
        "bytes": np.ones(4), "read_share": np.ones(4),
    }  # fmt: skip
    with pytest.raises(ValueError, match=words):
        LoadSeries(**{**fields, **change})
