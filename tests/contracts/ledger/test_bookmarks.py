"""Notes: every change of a text counts, whoever makes it at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.reports import (
    Priority,
    RateDecision,
    admit_message,
    parse_rate_window,
    rate_window_to_text,
)
from tests.builders import NOW


def test_a_note_nobody_wrote_is_empty(ledger: Any) -> None:
    assert ledger.note("one") == ""


def test_what_is_written_is_read_under_its_name_only(ledger: Any) -> None:
    assert ledger.amend("one", lambda text: (f"{text}a", len(text))) == 0
    assert ledger.amend("one", lambda text: (f"{text}b", len(text))) == 1
    assert ledger.note("one") == "ab"
    assert ledger.note("two") == ""


def test_a_change_that_raises_changes_nothing(ledger: Any) -> None:
    ledger.amend("one", lambda _: ("kept", None))
    with pytest.raises(ValueError, match="no"):
        ledger.amend("one", lambda _: (_ for _ in ()).throw(ValueError("no")))
    assert ledger.note("one") == "kept"


def test_of_two_changes_at_once_neither_is_lost(ledger: Any) -> None:
    asked: list[str] = []

    def mine(text: str) -> tuple[str, str]:
        asked.append(text)
        if len(asked) == 1:  # somebody is faster
            ledger.amend("one", lambda before: (f"{before}theirs ", None))
        return f"{ledger.note('one')}mine ", text

    ledger.amend("one", mine)
    assert ledger.note("one") == "theirs mine "


def ask(ledger: Any, kind: str, priority: Priority, most: int) -> RateDecision:
    def change(text: str) -> tuple[str, RateDecision]:
        rate_window, told = admit_message(
            parse_rate_window(text), kind, priority, now=NOW, most=most
        )
        return rate_window_to_text(rate_window), told

    admitted: RateDecision = ledger.amend("messages", change)
    return admitted


@pytest.mark.parametrize("most", [1, 5, 20])
def test_24_at_once_send_no_more_than_the_hour_allows_and_every_other_is_counted(
    raced: Any, most: int
) -> None:
    def one(number: int) -> RateDecision:
        priority = Priority.STOPPED if number % 3 == 0 else Priority.ROUTINE
        return ask(raced, "chatter" if priority is Priority.ROUTINE else "breaker", priority, most)

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(one, range(24)))
    sent = sum(answer.allowed for answer in answers)
    assert sent <= most
    rate_window = parse_rate_window(raced.note("messages"))
    assert len(rate_window.sent) == sent
    assert sum(count for _, count in rate_window.of_day) == 24 - sent
    told = sum(count for answer in answers for _, count in answer.dropped)
    assert told + sum(count for _, count in rate_window.dropped) == 24 - sent
    chatter = sum(a.allowed for number, a in enumerate(answers) if number % 3)
    assert chatter <= most - -(-most // 4)


def test_an_hour_later_there_is_room_again(ledger: Any) -> None:
    assert [ask(ledger, "x", Priority.STOPPED, 2).allowed for _ in range(3)] == [True, True, False]
    moved = parse_rate_window(ledger.note("messages"))
    later, told = admit_message(
        moved, "x", Priority.STOPPED, now=NOW + timedelta(minutes=60), most=2
    )
    assert told.allowed
    assert told.dropped == (("x", 1),)
    assert later.dropped == ()
