"""The daily digest on every ledger: the same, and sent by one of many sweeps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

from headroom.domain.reports.daily_digest import SETTLING
from headroom.domain.state import Step
from tests.application.reporting.test_digest import BEFORE, SEVEN, Harness, observing
from tests.contracts.decisions import escalate


def test_of_24_sweeps_at_once_one_sends_the_digest(raced: Any) -> None:
    harness = Harness(raced)
    harness.changed("a")
    with ThreadPoolExecutor(24) as pool:
        days = list(pool.map(harness.send, [SEVEN + SETTLING] * 24))
    assert len(harness.people.days) == 1
    assert sum(day is not None for day in days) == 1


def test_every_ledger_has_the_same_day(ledger: Any) -> None:
    harness = Harness(ledger)
    harness.changed("a", Step.RELIEVED)
    ledger.decided(observing("o"), due_at=None)
    ledger.decided(escalate("e", "max_iops", at=BEFORE), due_at=None)
    day = harness.day()
    assert (day.changed.count, day.escalated.count, day.held) == (1, 1, 1)
    assert [c.ended for c in day.changes] == [Step.RELIEVED]
    assert day.increase_usd == Decimal(50)
