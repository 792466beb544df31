"""What an intent reserves, or why it may not be: each reason stands alone, whatever else holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.decision import Act
from headroom.domain.ledger.reservation import IntentRefusal, Reservation, reservation
from headroom.domain.policy import Mode
from headroom.domain.state import Step, StoredState
from tests.builders import NOW
from tests.contracts.decisions import ENROLMENT, act

LATER = NOW + timedelta(minutes=1)
SOUND = StoredState(last_decision_id="d1", enrolment_usd=ENROLMENT)


def asks_a_person() -> Any:
    decision = act()
    limits = replace(decision.effective.limits, mode=Mode.APPROVE)
    return replace(decision, effective=replace(decision.effective, limits=limits))


def with_approval() -> Any:
    decision = act()
    assert isinstance(decision.answer, Act)
    return replace(decision, answer=replace(decision.answer, approval="it is dear"))


def test_a_sound_intent_reserves_its_increase() -> None:
    found = reservation(SOUND, act(), Step.DECIDED, NOW)
    assert found == Reservation(planned=50_000_000, delta=50_000_000, limit_left=1_950_000_000)


@pytest.mark.parametrize(
    ("state", "decision", "last", "why"),
    [
        ({}, act(), None, "exists"),
        ({}, act(), Step.INTENDED, "exists"),
        ({}, act(), Step.WITHDRAWN, "exists"),
        ({}, act(), Step.AWAITING, "exists"),
        ({"lease_until": LATER}, act(), Step.DECIDED, "leased"),
        ({"breaker_opened_at": NOW}, act(), Step.DECIDED, "breaker"),
        ({"last_decision_id": "d2"}, act(), Step.DECIDED, "moved"),
        ({"last_decision_id": None}, act(), Step.DECIDED, "moved"),
        ({}, asks_a_person(), Step.DECIDED, "unapproved"),
        ({}, with_approval(), Step.DECIDED, "unapproved"),
        ({}, act(), Step.APPROVED, "unapproved"),
        ({}, act(account_limit=None), Step.DECIDED, "budget"),
        ({"enrolment_usd": None}, act(), Step.DECIDED, "budget"),
        ({}, act(resource_limit=Decimal(49)), Step.DECIDED, "budget"),
        ({}, act(account_limit=Decimal(49)), Step.DECIDED, "budget"),
    ],
)
def test_why_an_intent_is_refused(
    state: dict[str, Any], decision: Any, last: Step | None, why: str
) -> None:
    found = reservation(replace(SOUND, **state), decision, last, NOW)
    assert isinstance(found, IntentRefusal)
    assert found.why == why
