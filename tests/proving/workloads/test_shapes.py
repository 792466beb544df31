"""The synthetic shapes have the rhythms that their names say."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from headroom.proving.trials import STARTS
from headroom.proving.workloads import SHAPES, LoadSeries, shape_load_series


def busy_starts(load_series: LoadSeries, above: float) -> list[str]:
    """Day and time at which the load rises above a level."""
    over = np.nan_to_num(load_series.ops) > above
    rises = np.flatnonzero(over & ~np.concatenate(([False], over[:-1])))
    at = (load_series.start + timedelta(seconds=int(i) * load_series.step_s) for i in rises)
    return [f"{instant:%m-%d %a %H:%M}" for instant in at]


@pytest.mark.parametrize("name", list(SHAPES))
def test_a_shape_is_the_same_whenever_it_is_made(name: str) -> None:
    one, two = shape_load_series(name), shape_load_series(name)
    assert np.array_equal(one.ops, two.ops, equal_nan=True)
    assert one.minutes == SHAPES[name].days * 1_440
    assert SHAPES[name].start in STARTS
    assert np.nanmin(one.ops) >= 0


def test_nights_are_every_night_and_sundays_are_sundays() -> None:
    nights = busy_starts(shape_load_series("nightly-ten-minutes"), 5_000)
    assert len(nights) == 21
    assert all(each.endswith("02:00") for each in nights)
    sundays = busy_starts(shape_load_series("sundays"), 4_000)
    assert len(sundays) == 6
    assert all(each.endswith("Sun 02:00") for each in sundays)


def test_months_end_where_the_calendar_says() -> None:
    found = [each[:5] for each in busy_starts(shape_load_series("month-end"), 5_000)]
    assert found == ["01-30", "02-27", "03-30", "04-29"]


def test_a_load_that_stops_does_not_come_back() -> None:
    load_series = shape_load_series("stops-for-good")
    assert load_series.ops[: 3 * 288].min() > 6_000
    assert load_series.ops[3 * 288 :].max() < 200


def test_gaps_are_unmeasured_every_second_day() -> None:
    gaps = ~shape_load_series("sensor-gaps").measured().reshape(14, -1)
    assert gaps.sum(axis=1).tolist() == [0, 120] * 7


def test_the_pool_has_64_workers_by_day() -> None:
    load_series = shape_load_series("pool-by-day")
    assert load_series.pooled
    assert load_series.workers[:288].max() == pytest.approx(64)
    assert load_series.workers[5 * 288 : 7 * 288].max() == pytest.approx(4)
