"""How records move the state of a resource, where the ledgers' own tests do not look."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headroom.domain.ledger import after_decided
from headroom.domain.resources import ModificationState
from headroom.domain.state import StoredState
from tests.builders import gp2, modification
from tests.contracts.decisions import ENROLMENT, hold


@pytest.mark.parametrize(
    ("state", "price"),
    [
        (ModificationState.MODIFYING, None),
        (ModificationState.OPTIMIZING, ENROLMENT),
        (ModificationState.COMPLETED, ENROLMENT),
        (ModificationState.FAILED, ENROLMENT),
    ],
)
def test_a_volume_is_not_enrolled_at_a_price_that_is_about_to_change(
    state: ModificationState, price: Decimal | None
) -> None:
    """While a change of its owner lands AWS describes, and prices, what was before it."""
    decision = hold("h1")
    seen = replace(decision.observation, modification=modification(gp2(), state=state))
    moved = after_decided(StoredState(), replace(decision, observation=seen), None)
    assert moved.enrolment_usd == price
