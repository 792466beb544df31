"""The deployed function asks, and does what a person answered, over the real tables."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from headroom import wiring
from headroom.adapters.ledger import DynamoLedger
from headroom.domain.decision import Decision
from headroom.domain.state import Record, Step
from tests.builders import NOW
from tests.lambdas.conftest import ARN, Deployment

Sweep = Callable[..., dict[str, Any]]
WHO = "arn:aws:iam::123456789012:user/alice"


def ledger() -> DynamoLedger:
    found = wiring.begin(ARN).ports.ledger
    assert isinstance(found, DynamoLedger)
    return found


@pytest.fixture
def asked(deployment: Deployment, sweep: Sweep) -> tuple[Decision, str, Sweep]:
    """A starved volume whose change waits for a person; the decision, the volume, the function."""
    volume = deployment.volume(mode="approve")
    deployment.starve(volume)
    sweep()
    (decision,) = ledger().waiting(NOW)
    assert deployment.iops_of(volume) == 3000
    assert deployment.steps() == ["awaiting", "decided"]
    return decision, volume, sweep


def test_what_a_person_approves_is_changed_in_the_next_minute(
    deployment: Deployment, asked: tuple[Decision, str, Sweep]
) -> None:
    decision, volume, sweep = asked
    given = ledger().answer(decision.decision_id, Step.APPROVED, at=NOW, who=WHO)
    assert isinstance(given, Record)
    deployment.set_clock(NOW + timedelta(minutes=1))
    sweep()
    assert deployment.iops_of(volume) > 3000
    assert [r.step.value for r in ledger().chain(decision.decision_id)] == [
        "decided", "awaiting", "approved", "intended", "applied",
    ]  # fmt: skip


def test_what_a_person_rejects_stays_as_it_is_and_is_not_asked_again(
    deployment: Deployment, asked: tuple[Decision, str, Sweep]
) -> None:
    decision, volume, sweep = asked
    ledger().answer(decision.decision_id, Step.REJECTED, at=NOW, who=WHO)
    for minute in (1, 2, 15):
        deployment.set_clock(NOW + timedelta(minutes=minute))
        sweep()
    assert deployment.iops_of(volume) == 3000
    assert deployment.steps().count("awaiting") == 1
    assert "intended" not in deployment.steps()
