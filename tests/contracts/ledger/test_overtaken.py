"""Acts that nobody began: a crash between `decided` and `intend` leaves no chain open for good."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from headroom.domain.state import Step, broken_link
from headroom.ports import Intent, NotIntended
from tests.builders import NOW
from tests.contracts.decisions import act, append, hold, intended

UNTIL = NOW + timedelta(minutes=20)
LATER = NOW + timedelta(minutes=5)


def steps(ledger: Any, decision_id: str) -> list[Step]:
    chain = ledger.chain(decision_id)
    assert broken_link(chain) is None
    return [record.step for record in chain]


def test_a_later_decision_withdraws_the_act_nobody_began(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    ledger.decided(hold("h1", at=LATER), due_at=None)
    assert steps(ledger, "d1") == [Step.DECIDED, Step.WITHDRAWN]
    last = ledger.chain("d1")[-1]
    assert last.summary == "withdrawn before acting: superseded by h1"
    assert last.body == '{"detail":"superseded by h1","why":"superseded"}'
    assert last.at == LATER
    assert ledger.resource_state(act().observation.volume.ref, NOW).last_decision_id == "h1"


def test_it_is_withdrawn_once(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    for _ in range(2):
        ledger.decided(hold("h1"), due_at=None)
    ledger.decided(hold("h2"), due_at=None)
    assert steps(ledger, "d1") == [Step.DECIDED, Step.WITHDRAWN]
    assert steps(ledger, "h1") == steps(ledger, "h2") == [Step.DECIDED]


def test_its_worker_that_comes_back_may_not_begin_it(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    ledger.decided(act("d2"), due_at=None)
    refused = ledger.intend(act(), lease_until=UNTIL, now=NOW)
    assert isinstance(refused, NotIntended)
    assert refused.why == "exists"
    assert isinstance(ledger.intend(act("d2"), lease_until=UNTIL, now=NOW), Intent)


def test_the_same_act_recorded_again_withdraws_nothing(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    assert ledger.decided(act(), due_at=None) is False
    assert steps(ledger, "d1") == [Step.DECIDED]
    assert isinstance(ledger.intend(act(), lease_until=UNTIL, now=NOW), Intent)


def test_what_was_begun_or_withdrawn_already_is_left_alone(ledger: Any) -> None:
    intended(ledger, act("d0"), lease_until=UNTIL)
    ledger.decided(act("d1"), due_at=None)
    append(ledger, act("d1"), Step.WITHDRAWN)
    ledger.decided(hold("h1"), due_at=None)
    assert steps(ledger, "d0") == [Step.DECIDED, Step.INTENDED]
    assert steps(ledger, "d1") == [Step.DECIDED, Step.WITHDRAWN]


def test_an_act_about_another_resource_is_left_alone(ledger: Any) -> None:
    ledger.decided(act("d1", "vol-1"), due_at=None)
    ledger.decided(hold("h1", "vol-2"), due_at=None)
    assert steps(ledger, "d1") == [Step.DECIDED]
