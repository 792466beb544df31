"""Records as they are written, each once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import islice

from headroom.cli.sources.following import LATE, following
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION
from tests.contracts.decisions import hold

MINUTE = timedelta(minutes=1)


class Stop(Exception):
    """Ends the loop, as Ctrl-C does."""


def seen(ledger: InMemoryLedger, *rounds: Callable[[], object], since: datetime = NOW) -> list[str]:
    """The decisions that are listed when `rounds` happen between one read and the next."""
    left = [*rounds]

    def sleep(_: float) -> None:
        if not left:
            raise Stop
        left.pop(0)()

    found: list[str] = []
    try:
        for record in following(ledger, since, now=NOW, sleep=sleep, clock=lambda: 0.0):
            found.append(record.decision_id)
    except Stop:
        pass
    return found


def decided(ledger: InMemoryLedger, name: str, at: datetime) -> Callable[[], object]:
    return lambda: ledger.decided(hold(name, f"vol-{name}", at=at), due_at=None)


def test_each_record_is_listed_once_when_it_appears() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    decided(ledger, "before", NOW - MINUTE)()
    decided(ledger, "first", NOW)()
    later = decided(ledger, "second", NOW + 2 * MINUTE), decided(ledger, "third", NOW + 3 * MINUTE)
    assert seen(ledger, *later, lambda: None) == ["first", "second", "third"]


def test_a_record_that_appears_late_is_listed() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    early, late = decided(ledger, "on time", NOW + LATE), decided(ledger, "late", NOW + MINUTE)
    assert seen(ledger, early, late, lambda: None) == ["on time", "late"]


def test_what_was_listed_long_ago_is_neither_remembered_nor_listed_again() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    rounds = [decided(ledger, f"h{n}", NOW + n * LATE) for n in range(5)]
    assert seen(ledger, *rounds) == [f"h{n}" for n in range(5)]


def test_a_start_in_the_past_lists_what_was_written_since() -> None:
    ledger = InMemoryLedger(ACCOUNT, REGION)
    for n in range(3):
        decided(ledger, f"h{n}", NOW - timedelta(days=n))()
    since = NOW - timedelta(days=2)
    assert [*islice(seen(ledger, since=since), 9)] == ["h2", "h1", "h0"]
