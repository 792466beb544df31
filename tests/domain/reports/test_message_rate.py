"""Never more messages than the policy's rate; what does not fit waits for a place."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.reports import (
    Priority,
    RateWindow,
    give_place_back,
    lease_sending,
    parse_rate_window,
    priority_at,
    rate_window_to_text,
    release_sending,
    take_place,
)
from headroom.domain.reports.message_rate import LEASE, PATIENCE, WINDOW, priority_limit
from headroom.domain.state import Notice, Step
from tests.builders import NOW

ASKED = st.lists(st.tuples(st.sampled_from(Priority), st.integers(0, 3_000)), max_size=60)
ROUTINE = Notice(decision_id="d", sequence=2, step=Step.APPLIED, resource="r", at=NOW, text="x")


@pytest.mark.parametrize(
    ("most", "routine", "needs_you", "stopped"),
    [(1, 0, 1, 1), (2, 1, 1, 2), (4, 3, 3, 4), (5, 3, 4, 5), (20, 15, 19, 20), (1000, 750, 999, 1000)],
)  # fmt: skip
def test_a_share_is_kept_for_what_needs_a_person(
    most: int, routine: int, needs_you: int, stopped: int
) -> None:
    assert [priority_limit(p, most) for p in Priority] == [routine, needs_you, stopped]


@given(asked=ASKED, most=st.integers(1, 25))
def test_within_any_hour_no_more_are_sent(asked: list[tuple[Priority, int]], most: int) -> None:
    now, rate_window, sent = NOW, RateWindow(), []
    for priority, seconds in asked:
        now += timedelta(seconds=seconds)
        kept = parse_rate_window(rate_window_to_text(rate_window))
        rate_window, places = take_place(kept, priority, now=now, most=most)
        if places:
            sent.append(now)
        assert sum(at > now - WINDOW for at in sent) <= most
        assert len(rate_window.sent) <= most


@given(chatter=st.integers(0, 200), most=st.integers(2, 40))
def test_chatter_never_starves_what_stops_every_change(chatter: int, most: int) -> None:
    rate_window = RateWindow()
    for priority in (Priority.ROUTINE, Priority.NEEDS_YOU):
        for _ in range(chatter):
            rate_window, _ = take_place(rate_window, priority, now=NOW, most=most)
    assert take_place(rate_window, Priority.STOPPED, now=NOW, most=most)[1]


def test_a_place_is_the_last_one_where_the_next_must_take_all_that_waits() -> None:
    rate_window, found = RateWindow(), []
    for _ in range(5):
        rate_window, places = take_place(rate_window, Priority.ROUTINE, now=NOW, most=4)
        found.append(places)
    assert found == [3, 2, 1, 0, 0]
    later = NOW + WINDOW
    assert take_place(rate_window, Priority.ROUTINE, now=later, most=4)[1] == 3


def test_a_refused_message_gives_its_place_back() -> None:
    rate_window, _ = take_place(RateWindow(), Priority.STOPPED, now=NOW, most=1)
    assert take_place(rate_window, Priority.STOPPED, now=NOW, most=1)[1] == 0
    again = give_place_back(rate_window)
    assert take_place(again, Priority.STOPPED, now=NOW, most=1)[1] == 1
    assert give_place_back(RateWindow()) == RateWindow()


def test_one_function_at_a_time_sends_and_a_dead_one_is_followed() -> None:
    mine = lease_sending(RateWindow(), NOW)
    assert mine is not None
    assert lease_sending(mine, NOW + LEASE - timedelta(seconds=1)) is None
    assert lease_sending(mine, NOW + LEASE) is not None
    assert lease_sending(release_sending(mine), NOW) is not None
    ahead = replace(mine, lease_until=NOW + timedelta(days=9))  # of a clock that was wrong
    assert lease_sending(ahead, NOW) is not None


def test_what_waited_for_long_goes_with_what_needs_a_person() -> None:
    assert priority_at(ROUTINE, NOW + PATIENCE) is Priority.ROUTINE
    late = NOW + PATIENCE + timedelta(seconds=1)
    assert priority_at(ROUTINE, late) is Priority.NEEDS_YOU
    assert priority_at(replace(ROUTINE, step=Step.PAUSED), late) is Priority.STOPPED


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"sent":["yesterday"]}', '{"sent":["2026-01-01"]}']
)
def test_counting_begins_anew_where_nothing_can_be_read(text: str) -> None:
    assert parse_rate_window(text) == RateWindow()
