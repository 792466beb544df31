"""The profile of a resource's past as a value."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.state import (
    HOUR,
    IOPS_LEVELS,
    MIBPS_LEVELS,
    MOST_HOURS,
    LoadProfile,
    ProfileHour,
    hour_of,
    level_of,
    merged,
    on_scale,
)
from tests.builders import NOW

START = hour_of(NOW)
CALM = ProfileHour(300.0, 10.0, 200.0, 5.0, 60, 0, 0.0, 0.0)
BUSY = ProfileHour(9_000.0, 300.0, 4_000.0, 100.0, 20, 15, 9_000.0, 0.0)
COARSE = CALM._replace(coarse=True)


def profile(*hours: ProfileHour | None, later: int = 0) -> LoadProfile:
    return LoadProfile(start=START + later * HOUR, hours=hours)


@given(st.floats(0.2, 1_000_000), st.sampled_from([(IOPS_LEVELS, 1.0), (MIBPS_LEVELS, 0.05)]))
def test_the_scale_is_exact_to_one_percent(
    rate: float, scale: tuple[tuple[float, ...], float]
) -> None:
    levels, unit = scale
    assert on_scale(rate * unit, levels) == pytest.approx(rate * unit, rel=0.0101)


@pytest.mark.parametrize("levels", [IOPS_LEVELS, MIBPS_LEVELS])
def test_each_rate_of_the_scale_is_its_own_nearest(levels: tuple[float, ...]) -> None:
    assert [level_of(rate, levels) for rate in levels] == [*range(1024)]


def test_the_scale_has_zero_what_gp3_includes_and_an_end() -> None:
    assert on_scale(0.0, IOPS_LEVELS) == 0.0
    assert (on_scale(3_000, IOPS_LEVELS), on_scale(125, MIBPS_LEVELS)) == (3_000, 125)
    assert on_scale(1e12, IOPS_LEVELS) == IOPS_LEVELS[-1]


@pytest.mark.parametrize(
    ("older", "newer", "found"),
    [
        (None, profile(CALM), profile(CALM)),
        (profile(CALM), profile(BUSY, later=1), profile(CALM, BUSY)),
        (profile(CALM, CALM), profile(BUSY, later=1), profile(CALM, BUSY)),
        (profile(COARSE, COARSE), profile(BUSY, CALM), profile(BUSY, CALM)),
        (profile(CALM), profile(BUSY, later=3), profile(CALM, None, None, BUSY)),  # a gap
        (profile(BUSY, CALM), profile(None, None, CALM), profile(BUSY, CALM, CALM)),
        (profile(BUSY, later=1), profile(CALM), profile(CALM, BUSY)),
        (profile(None, CALM), profile(CALM, None, later=2), profile(CALM, CALM, None, later=1)),
        (None, profile(None, None), profile(later=2)),
    ],
)
def test_measured_hours_of_the_newer_win(
    older: LoadProfile | None, newer: LoadProfile, found: LoadProfile
) -> None:
    assert merged(older, newer) == found


def test_the_oldest_of_too_many_hours_go() -> None:
    full = LoadProfile(start=START, hours=(BUSY,) + (CALM,) * (MOST_HOURS - 1))
    found = merged(full, profile(BUSY, later=MOST_HOURS))
    assert (found.start, found.end) == (START + HOUR, full.end + HOUR)
    assert len(found.hours) == MOST_HOURS
    assert BUSY not in found.hours[:-1]


def test_an_hour_far_later_leaves_nothing_of_before() -> None:
    found = merged(profile(BUSY), profile(CALM, later=2 * MOST_HOURS))
    assert found == profile(CALM, later=2 * MOST_HOURS)


@pytest.mark.parametrize(
    "start", [START + timedelta(minutes=30), START.replace(tzinfo=None)], ids=["half", "naive"]
)
def test_a_profile_begins_with_a_whole_hour(start: object) -> None:
    with pytest.raises(ValueError, match="whole hour"):
        LoadProfile(start=start, hours=())  # type: ignore[arg-type]


def test_a_profile_has_at_most_400_days() -> None:
    with pytest.raises(ValueError, match="at most 9600"):
        LoadProfile(start=START, hours=(CALM,) * 9_601)


@pytest.mark.parametrize(
    "other",
    [
        profile(CALM, None, BUSY, later=1),
        profile(CALM, BUSY, None),
        profile(CALM, None, BUSY, None),
        profile(CALM, None, BUSY._replace(touched_minutes=14)),
        profile(COARSE, None, BUSY),
        profile(None, None, BUSY),
    ],
)
def test_the_summary_differs_with_anything_in_the_profile(other: LoadProfile) -> None:
    mine = profile(CALM, None, BUSY)
    assert mine.summary == profile(CALM, None, BUSY).summary
    assert (mine.summary.hours, mine.summary.measured) == (3, 2)
    assert other.summary != mine.summary
