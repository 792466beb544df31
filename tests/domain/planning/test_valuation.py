"""What a minute is worth where the owner's choice would serve it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headroom.domain.planning.schedule import CHANGE_USD, ScheduleCost, schedule_cost
from headroom.domain.planning.valuation import (
    DOUBLINGS,
    LEAST_USD,
    MISSED_MIN,
    Worth,
    as_chosen,
)
from headroom.domain.workload import HOURS, Forecast, Level


def forecast(minutes: float, hours: range) -> Forecast:
    """Level 0 serves all, level 1 is short for so many minutes in some hours, and a raise takes half."""
    late = tuple((0.0, minutes if hour in hours else 0.0) for hour in range(HOURS))
    return Forecast(
        reacting_minutes=tuple((0.0, short / 2) for _, short in late), locked_minutes=late,
        reaction_usd=((0.0, 0.0),) * HOURS, seen_minutes=(0.0, minutes * len(hours)),
    )  # fmt: skip


def worth_of(
    usd_per_minute: float, *, saved_usd_per_hour: float, minutes: float = 60.0,
    hours: range = range(9, 17), slots: Sequence[int] = (3,) * HOURS, current: int = 0,
) -> tuple[Worth, ScheduleCost]:  # fmt: skip
    """What a minute is worth, and the best schedules at the policy's value; level 0 is the owner's choice."""
    levels = [Level(100, 100, 1.0 + saved_usd_per_hour), Level(10, 10, 1.0)]
    cost = partial(
        schedule_cost, forecast(minutes, hours), levels, usd_per_minute, current=current,
        reachable=(True, True), free=slots, chosen=0,
    )  # fmt: skip
    return as_chosen(cost, usd_per_minute, levels, (True, True), 0), cost()


def test_what_a_schedule_hardly_misses_leaves_the_policys_value() -> None:
    """At ten cents eight starved hours cost more than the owner's choice: it is there in time."""
    worth, found = worth_of(0.1, saved_usd_per_hour=1.0)
    assert worth == Worth(0.0, found)
    assert found.change[1] < found.stay  # given back until nine o'clock


def test_what_the_policys_value_would_let_starve_is_worth_more() -> None:
    """A minute at a cent: eight starved hours, $2.40 with late raises, save $8."""
    worth, found = worth_of(0.01, saved_usd_per_hour=1.0)
    assert found.change[1] == pytest.approx(24 + 2.4 + CHANGE_USD, abs=0.1)
    assert worth.more_usd in {0.01, 0.03, 0.07}
    up_and_down = 24 + 8 * 1.0 + 2 * CHANGE_USD
    assert worth.found.change[1] == pytest.approx(up_and_down, abs=1.5)


def test_a_day_on_which_nothing_can_be_raised_again_is_no_day_for_giving_back() -> None:
    worth, found = worth_of(0.05, saved_usd_per_hour=1.2, slots=(1, *(0,) * 23))
    assert found.change[1] < found.stay
    assert worth.found.change[1] > worth.found.stay


def test_the_value_ends_where_the_choice_costs_far_more_than_what_it_serves() -> None:
    worth, _ = worth_of(0.1, saved_usd_per_hour=100.0)
    assert worth.more_usd == pytest.approx(0.1 * (2**DOUBLINGS - 1))


def test_where_nothing_is_below_the_choice_a_minute_is_worth_what_the_policy_says() -> None:
    levels = [Level(10, 10, 1.0), Level(100, 100, 2.0)]
    found = ScheduleCost(stay=900.0, change=(900.1, 48.0), next_hour=None)
    for usd in (0.0, 0.1):
        assert as_chosen(lambda: found, usd, levels, (True, True), 0) == Worth(0.0, found)


def test_an_owner_who_buys_nothing_keeps_what_is_used() -> None:
    worth, _ = worth_of(0.0, saved_usd_per_hour=0.1)
    assert worth.more_usd >= LEAST_USD


@settings(max_examples=80, deadline=None)
@given(
    usd=st.sampled_from([0.01, 0.1, 1.0]), saved=st.floats(0.001, 20), minutes=st.floats(0, 60),
    first=st.integers(0, 20), long=st.integers(0, 10), slots=st.integers(0, 3),
    current=st.integers(0, 1),
)  # fmt: skip
def test_the_value_is_the_least_double_at_which_little_is_missed(
    usd: float, saved: float, minutes: float, first: int, long: int, slots: int, current: int
) -> None:
    """The best cost grows by no more than the minutes missed, the less the more a minute is worth."""

    def best(value: float) -> float:
        _, found = worth_of(
            value, saved_usd_per_hour=saved, minutes=minutes, slots=(slots,) * HOURS, current=current,
            hours=range(first, min(HOURS, first + long)),
        )  # fmt: skip
        return min(found.stay, *found.change)

    value = worth_of(
        usd, saved_usd_per_hour=saved, minutes=minutes, slots=(slots,) * HOURS, current=current,
        hours=range(first, min(HOURS, first + long)),
    )[0].more_usd + usd  # fmt: skip
    little = MISSED_MIN
    if value < usd * 2**DOUBLINGS:
        assert best(2 * value) <= best(value) + value * little * 1.001 + 1e-6
    if value > usd:
        assert best(value / 2) >= best(0.0) + value / 2 * little * 0.999 - 1e-6
