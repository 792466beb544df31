"""People are asked once, their answer counts once, and what they agreed to is judged again."""

from __future__ import annotations

import pytest

from headroom.application import look, sweep
from headroom.domain.decision import Act, Decision
from headroom.domain.limits import Mode
from headroom.domain.records import Record, Step
from headroom.domain.resources import ResourceRef
from headroom.ports import NotAnswered
from tests.application.stage import Stage
from tests.builders import policy, volume

WHO = "arn:aws:iam::123456789012:user/alice"


@pytest.fixture
def stage() -> Stage:
    return Stage(rules=policy(mode=Mode.APPROVE))


def asked(stage: Stage) -> tuple[ResourceRef, Decision]:
    """A starving volume, looked at: the request that waits for a person."""
    ref = stage.add(volume(tags=()))
    decision = look(stage.ports, ref, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert stage.steps(ref) == ["act", "awaiting"]
    return ref, decision


def minutes(stage: Stage, count: int, *, each: int = 1) -> None:
    for _ in range(count):
        stage.later(minutes=each)
        sweep(stage.ports, stage.now)


def answer(stage: Stage, decision: Decision, step: Step, *, who: str = WHO) -> Record | NotAnswered:
    return stage.ledger.answer(decision.decision_id, step, at=stage.now, who=who)


def test_what_a_person_approves_lands_within_a_minute_under_the_same_chain(stage: Stage) -> None:
    ref, decision = asked(stage)
    assert isinstance(answer(stage, decision, Step.APPROVED), Record)
    minutes(stage, 1)
    assert stage.steps(ref)[:5] == ["act", "awaiting", "approved", "intended", "applied"]
    assert [r.step.value for r in stage.ledger.chain(decision.decision_id)][1:] == [
        "awaiting", "approved", "intended", "applied",
    ]  # fmt: skip
    assert isinstance(decision.answer, Act)
    assert stage.view(ref).modification.target == decision.answer.plan.target  # type: ignore[union-attr]
