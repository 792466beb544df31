"""How long raises wait for a backup, as the ledger remembers it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headroom.domain.decision import Act, Decision, Hold, decide
from headroom.domain.ledger import after_decided
from headroom.domain.resources import DatabaseFacts, ModificationState
from headroom.domain.state import SlowEffect, StoredState
from tests.builders import (
    NOW,
    decision_input,
    gp3,
    modification,
    starved_gp3,
    volume,
)

DAY = timedelta(days=1)


def decided(at: datetime, *, status: str = "available", **changes: object) -> Decision:
    """A starved resource; its raise waits while RDS does not report `available`."""
    facts = DatabaseFacts(instance_class="db.r6g.large", status=status, members=("orders",))
    seen = starved_gp3(vol=replace(volume(), facts=facts), **changes)
    return replace(decide(decision_input(seen)), at=at)


def nights(*waits: tuple[float, float]) -> StoredState:
    """The state after waits of so many minutes, each on such a day."""
    state = StoredState()
    for day, minutes in waits:
        began = NOW + day * DAY
        waiting = decided(began, status="backing-up")
        assert isinstance(waiting.answer, Hold)
        state = after_decided(state, waiting, None)
        state = after_decided(state, waiting, None)
        raised = decided(began + timedelta(minutes=minutes))
        assert isinstance(raised.answer, Act)
        state = after_decided(state, raised, None)
    return state


@pytest.mark.parametrize(
    ("waits", "takes"),
    [
        ([(0, 45)], None),
        ([(0, 45), (1, 30)], 40),
        ([(0, 45), (0.3, 30)], None),
        ([(0, 45), (3, 60)], None),
        ([(0, 45), (3, 60), (4, 50)], 60),
        ([(0, 45), (1, 60), (2, 20)], 55),
        ([(0, 800), (1, 800)], 240),
    ],
    ids=["once", "the next night too", "twice in one night", "three days later", "two nights running",
         "a short one after", "no longer than four hours"],
)  # fmt: skip
def test_the_shorter_of_two_waits_on_two_days_running_counts(
    waits: list[tuple[float, float]], takes: int | None
) -> None:
    found = nights(*waits).slow_effect
    assert (None if found is None else found.minutes) == takes


def test_a_raise_that_was_slower_stays_the_slowest() -> None:
    slow = SlowEffect(minutes=90, seen_at=NOW)
    state = replace(nights((0, 45)), slow_effect=slow)
    waiting = after_decided(state, decided(NOW + DAY, status="backing-up"), None)
    raised = after_decided(waiting, decided(NOW + DAY + timedelta(minutes=45)), None)
    assert raised.slow_effect == slow


def test_what_else_is_under_way_is_no_nightly_backup() -> None:
    for status, waits in (("backing-up", True), ("maintenance", False), ("upgrading", False)):
        decision = decided(NOW, status=status)
        assert isinstance(decision.answer, Hold)
        assert (after_decided(StoredState(), decision, None).wanted_since is not None) is waits
    seen = starved_gp3(modification=modification(gp3(), state=ModificationState.OPTIMIZING))
    under_way = decide(decision_input(seen))
    assert isinstance(under_way.answer, Hold)
    assert after_decided(StoredState(), under_way, None).wanted_since is None
