"""How likely each coming hour asks for more than a level serves."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from headroom.domain.state import ProfileHour
from headroom.domain.workload import HOURS, KnownLoad, Level, Past, chances_from_history
from headroom.domain.workload.rhythms import SURE
from tests.domain.earlier import CALM_HOUR, by_hour, hour_at

LEVELS = tuple(Level(iops, 1e6, 0.01) for iops in (3_000.0, 6_000.0, 12_000.0))


def days(count: int, busy: Callable[[int, int], ProfileHour | None]) -> Past:
    """A past of whole days from a Monday on; `busy` gives the hour of a day, None for a calm one."""
    return by_hour([busy(day, hour) or CALM_HOUR for day in range(count) for hour in range(24)])


def chances(past: Past, level: int = 0, **known: object) -> list[float]:
    found = chances_from_history(past, LEVELS, past.profile.end, **known)  # type: ignore[arg-type]
    return [row[level] for row in found]


def test_a_daily_load_is_nearly_certain_at_its_hour_and_unlikely_at_any_other() -> None:
    found = chances(days(10, lambda _, hour: hour_at(5_000) if hour == 2 else None))
    assert 0.9 < found[2] <= SURE
    assert max(found[:2] + found[3:]) < 0.02


def test_a_level_that_served_every_earlier_load_is_left_with_what_is_new() -> None:
    past = days(10, lambda _, hour: hour_at(5_000) if hour == 2 else None)
    assert max(chances(past, level=1)) < 0.02


def test_the_more_of_the_latest_days_it_left_out_the_less_likely_a_daily_load_is() -> None:
    def left_out(skipped: tuple[int, ...]) -> float:
        nights = days(
            20, lambda day, hour: hour_at(5_000) if hour == 2 and day not in skipped else None
        )
        return chances(nights)[2]

    found = [left_out(skipped) for skipped in ((), (15,), (15, 18), (15, 17, 19), (17, 18, 19))]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.9
    assert found[-1] < 0.4


def test_a_touched_limit_leaves_a_higher_level_in_doubt() -> None:
    def held(_: int, hour: int) -> ProfileHour | None:
        at_limit = hour_at(3_000)._replace(touched_minutes=60, limit_iops=3_000.0)
        return at_limit if hour == 2 else None

    past = days(10, held)
    at_3_000, at_6_000, at_12_000 = (chances(past, level)[2] for level in range(3))
    assert at_3_000 > 0.9
    assert 0.05 < at_12_000 < at_6_000 < 0.6


def test_announced_load_is_certain_where_it_is_not_served() -> None:
    past = days(10, lambda *_: None)
    due = past.profile.end + timedelta(hours=5)
    known = (KnownLoad(due, due + timedelta(hours=1), 5_000.0, 0.0),)
    assert chances(past, known_loads=known)[5] == 1.0
    assert max(chances(past, level=1, known_loads=known)) < 0.02


HOUR = st.one_of(
    st.none(),
    st.builds(hour_at, st.sampled_from((300.0, 4_000.0, 7_000.0, 15_000.0))),
    st.sampled_from((3_000.0, 6_000.0)).map(
        lambda iops: hour_at(iops)._replace(touched_minutes=20, limit_iops=iops)
    ),
)


@given(st.lists(HOUR, min_size=1, max_size=24 * 12))
@example([hour_at(7_000.0), hour_at(4_000.0), hour_at(7_000.0)])
def test_a_chance_is_between_0_and_1_and_never_rises_with_the_level(hours) -> None:
    past = by_hour(hours)
    found = chances_from_history(past, LEVELS, past.profile.end)
    assert len(found) == HOURS
    for row in found:
        assert all(0.0 <= chance <= SURE for chance in row)
        assert all(high <= low + 1e-9 for low, high in pairwise(row))
