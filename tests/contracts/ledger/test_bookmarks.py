"""Notes: every change of a text counts, whoever makes it at the same moment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headroom.domain.reports import Priority, parse_rate_window, rate_window_to_text, take_place
from tests.builders import NOW


def test_a_bookmark_nobody_wrote_is_empty(ledger: Any) -> None:
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


@pytest.mark.parametrize("there", ["", "before "])
def test_of_two_changes_at_once_neither_is_lost(ledger: Any, there: str) -> None:
    ledger.amend("one", lambda _: (there, None))
    asked: list[str] = []

    def mine(text: str) -> tuple[str, str]:
        asked.append(text)
        if len(asked) == 1:  # somebody is faster
            ledger.amend("one", lambda before: (f"{before}theirs ", None))
        return f"{text}mine ", text

    ledger.amend("one", mine)
    assert ledger.note("one") == f"{there}theirs mine "


def ask(ledger: Any, priority: Priority, most: int) -> int:
    def change(text: str) -> tuple[str, int]:
        rate_window, places = take_place(parse_rate_window(text), priority, now=NOW, most=most)
        return rate_window_to_text(rate_window), places

    places: int = ledger.amend("messages", change)
    return places


@pytest.mark.parametrize("most", [1, 5, 20])
def test_24_at_once_take_no_more_places_than_the_hour_has(raced: Any, most: int) -> None:
    def one(number: int) -> int:
        return ask(raced, Priority.STOPPED if number % 3 == 0 else Priority.ROUTINE, most)

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(one, range(24)))
    sent = sum(answer > 0 for answer in answers)
    assert sent <= most
    assert len(parse_rate_window(raced.note("messages")).sent) == sent
    chatter = sum(answer > 0 for number, answer in enumerate(answers) if number % 3)
    assert chatter <= most - -(-most // 4)
