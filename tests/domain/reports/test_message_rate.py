"""Never more messages than the policy's rate, and nothing dropped is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.reports import (
    Priority,
    RateDecision,
    RateWindow,
    admit_message,
    after_digest,
    parse_rate_window,
    rate_window_to_text,
    refund,
)
from headroom.domain.reports.message_rate import WINDOW, priority_limit
from tests.builders import NOW

ASKED = st.lists(
    st.tuples(st.sampled_from(Priority), st.sampled_from(["applied", "failed", "x"]),
              st.integers(0, 3_000)),
    max_size=60,
)  # fmt: skip


@pytest.mark.parametrize(
    ("most", "routine", "needs_you", "stopped"),
    [(1, 0, 1, 1), (2, 1, 1, 2), (4, 3, 3, 4), (5, 3, 4, 5), (20, 15, 19, 20), (1000, 750, 999, 1000)],
)  # fmt: skip
def test_a_share_is_kept_for_what_needs_a_person(
    most: int, routine: int, needs_you: int, stopped: int
) -> None:
    assert [priority_limit(p, most) for p in Priority] == [routine, needs_you, stopped]


@given(asked=ASKED, most=st.integers(1, 25))
def test_within_any_hour_no_more_are_sent_and_all_others_are_told_of(
    asked: list[tuple[Priority, str, int]], most: int
) -> None:
    now, rate_window, sent, told, dropped = NOW, RateWindow(), [], 0, 0
    for priority, kind, seconds in asked:
        now += timedelta(seconds=seconds)
        rate_window, answer = admit_message(
            parse_rate_window(rate_window_to_text(rate_window)), kind, priority, now=now, most=most
        )
        if answer.allowed:
            sent.append(now)
            told += sum(count for _, count in answer.dropped)
        else:
            dropped += 1
        assert sum(at > now - WINDOW for at in sent) <= most
    assert told + sum(count for _, count in rate_window.dropped) == dropped
    assert sum(count for _, count in rate_window.of_day) == dropped
    assert len(rate_window.sent) <= most


@given(chatter=st.integers(0, 200), most=st.integers(1, 40))
def test_chatter_never_starves_what_stops_every_change(chatter: int, most: int) -> None:
    rate_window = RateWindow()
    for _ in range(chatter):
        rate_window, _ = admit_message(rate_window, "applied", Priority.ROUTINE, now=NOW, most=most)
    for _ in range(chatter):
        rate_window, _ = admit_message(
            rate_window, "failed", Priority.NEEDS_YOU, now=NOW, most=max(2, most)
        )
    _, answer = admit_message(
        rate_window, "breaker_opened", Priority.STOPPED, now=NOW, most=max(2, most)
    )
    assert answer.allowed


def test_a_message_that_could_not_be_sent_is_told_of_with_what_it_would_have_told() -> None:
    rate_window = RateWindow(dropped=(("applied", 3),), since=NOW - timedelta(minutes=5),
                    of_day=(("applied", 3),))  # fmt: skip
    rate_window, answer = admit_message(rate_window, "failed", Priority.NEEDS_YOU, now=NOW, most=20)
    assert answer == RateDecision(
        allowed=True, dropped=(("applied", 3),), since=NOW - timedelta(minutes=5)
    )
    again = refund(rate_window, "failed", answer, now=NOW)
    assert again.dropped == (("applied", 3), ("failed", 1))
    assert again.since == NOW - timedelta(minutes=5)
    assert again.of_day == (("applied", 3), ("failed", 1))
    assert len(again.sent) == 1


def test_a_digest_takes_off_what_it_told_and_not_what_came_meanwhile() -> None:
    rate_window = RateWindow(of_day=(("applied", 5), ("failed", 1)))
    assert after_digest(rate_window, (("applied", 3), ("gone", 2))).of_day == (
        ("applied", 2),
        ("failed", 1),
    )


def test_a_lower_rate_counts_at_once() -> None:
    rate_window = RateWindow(sent=tuple(NOW - timedelta(minutes=m) for m in (30, 20, 10)))
    _, answer = admit_message(rate_window, "x", Priority.STOPPED, now=NOW, most=2)
    assert not answer.allowed


@pytest.mark.parametrize("text", ["[]", "{", '{"sent":["yesterday"]}', '{"sent":["2026-01-01"]}'])
def test_what_is_no_ration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rate_window(text)
