"""Episodes, days left alone, depletions foreseen and slots used up, on runs made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from headroom.domain.resources import Configuration
from headroom.proving.scoring.measures import episodes, foreseeable, measures_of
from headroom.proving.scoring.rows import Measures
from headroom.proving.trials import STARTS, Conditions, StaticRuns, UncontrolledVolume, run_schedule
from tests.proving.build import gp3
from tests.proving.series import load_series_of

HOUR, DAY = 12, 288


def measures(load: Sequence[float], start: str, *schedule: tuple[int, Configuration]) -> Measures:
    load_series = load_series_of(load, step_s=300)
    conditions = Conditions()
    uncontrolled = UncontrolledVolume(StaticRuns(load_series), STARTS[start], conditions)
    run = run_schedule(load_series, STARTS[start], schedule, conditions)
    return measures_of(run, uncontrolled, whole=True)


@pytest.mark.parametrize(
    ("starved", "found"),
    [((), []), ((5, 6, 7), [(5, 8)]), ((5, 125), [(5, 126)]), ((5, 126), [(5, 6), (126, 127)])],
)
def test_gaps_under_two_hours_part_no_episodes(
    starved: tuple[int, ...], found: list[tuple[int, int]]
) -> None:
    minutes = np.zeros(300, dtype=np.bool_)
    minutes[list(starved)] = True
    assert episodes(minutes) == found


QUIET, BUSY = [100.0], [9_000.0]


def test_raises_and_episodes_are_counted() -> None:
    load = QUIET * 6 * HOUR + BUSY * HOUR + QUIET * 6 * HOUR + BUSY * HOUR + QUIET * 10 * HOUR
    found = measures(load, "gp3", (300, gp3(400, 9_000)), (540, gp3(400)), (700, gp3(400, 12_000)))
    assert (found.episodes, found.price_raising, found.most_in_24h) == (2, 2, 3)


def test_a_calm_day_is_disturbed_by_what_raises_the_price() -> None:
    found = measures(QUIET * 3 * DAY, "gp3", (1_500, gp3(400, 4_000)))
    assert (found.calm_days, found.disturbed_days, found.sped_up_days) == (3, 1, 1)


def test_a_cheaper_type_disturbs_no_day_but_does_speed_it_up() -> None:
    found = measures(QUIET * 3 * DAY, "gp2", (10, gp3(400)))
    assert (found.calm_days, found.disturbed_days, found.sped_up_days) == (3, 0, 1)


def test_a_day_that_would_have_starved_is_not_calm() -> None:
    load = QUIET * DAY + BUSY * HOUR + QUIET * (DAY - HOUR) + QUIET * DAY
    assert measures(load, "gp3").calm_days == 1, "the first ends where the load begins"
    given_back = measures(load, "io1", (0, gp3(400)))
    assert given_back.calm_days == 2, "on the second it would have starved as it then was"
    assert measures(load, "io1").calm_days == 3


def test_a_starved_minute_without_a_slot_left_is_counted() -> None:
    load = QUIET * 8 * HOUR + BUSY * HOUR + QUIET * HOUR
    changes = ((0, gp3(400, 4_000)), (121, gp3(400, 3_500)), (242, gp3(400)))
    found = measures(load, "gp3", *changes)
    assert found.slotless_minutes >= 60
    assert measures(load, "gp3", *changes[:2]).slotless_minutes == 0


NIGHTS = ([3_000.0] * HOUR + QUIET * 23 * HOUR) * 4
"""Far more than gp2 of 400 GiB has credits for is asked in the first hour of each day."""
LONG_NIGHTS = ([3_000.0] * 3 * HOUR + QUIET * 21 * HOUR) * 4


def test_a_steep_slope_makes_a_depletion_foreseeable() -> None:
    missed = measures(LONG_NIGHTS, "gp2")
    assert missed.foreseeable == 4
    assert missed.foreseen == 0


def test_a_change_before_the_first_starved_minute_counts_as_foreseen() -> None:
    in_time = measures(LONG_NIGHTS, "gp2", (30, gp3(400)))
    assert (in_time.foreseeable, in_time.foreseen) == (1, 1)
    late = measures(LONG_NIGHTS, "gp2", (100, gp3(400)))
    assert (late.foreseeable, late.foreseen) == (2, 1), "the first was missed, the next was not"


def test_other_types_have_no_depletions() -> None:
    assert measures(LONG_NIGHTS, "gp3").foreseeable == 0


def test_earlier_days_make_a_sudden_depletion_foreseeable() -> None:
    flat = np.full(6 * 1_440, 80.0)
    daily = [day * 1_440 + 200 for day in range(6)]
    assert not foreseeable(daily[1], daily, flat), "one earlier day is not two"
    assert foreseeable(daily[2], daily, flat)
    assert not foreseeable(daily[2] + 120, daily, flat), "not at that hour"
    weekly = [200, 5 * 1_440 + 200]
    assert not foreseeable(weekly[1], weekly, flat)
