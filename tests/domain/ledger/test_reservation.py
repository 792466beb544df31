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
from headroom.domain.resources import Configuration
from headroom.domain.state import Step, StoredState, usd
from tests.builders import NOW, gp3
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


OWNER = gp3(100, 3_000, 125)


@pytest.mark.parametrize(
    ("owner", "planned"),
    [(OWNER, 30), (replace(OWNER, size_gib=101), 50), (None, 50)],
    ids=["by the plan's prices", "the owner changed it since", "not known"],
)
def test_increases_count_from_what_the_owners_part_costs_by_the_same_prices(
    owner: Configuration | None, planned: int
) -> None:
    known = replace(
        act().resource_state, enrolment_usd=ENROLMENT + 20, owner_configuration=owner and OWNER
    )
    state = replace(SOUND, owner_configuration=owner)
    found = reservation(state, replace(act(), resource_state=known), Step.DECIDED, NOW)
    assert isinstance(found, Reservation)
    assert usd(found.planned) == usd(found.delta) == planned


def test_giving_back_reserves_nothing_more_after_a_price_rose() -> None:
    decision = act(increase=60, account_limit=Decimal(0), resource_limit=Decimal(0))
    assert isinstance(decision.answer, Act)
    plan = replace(decision.answer.plan, price_change_usd=Decimal(-5))
    cheaper = replace(decision, answer=replace(decision.answer, plan=plan))
    judged = replace(decision.judgements[0], plan=plan)
    state = replace(SOUND, in_force_micro_usd=40_000_000)
    found = reservation(state, replace(cheaper, judgements=(judged,)), Step.DECIDED, NOW)
    assert found == Reservation(planned=40_000_000, delta=0, limit_left=0)
