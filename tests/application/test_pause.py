"""The loop under the kill switch and the circuit breakers: what is stopped, told, and let go on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from headroom.application import sweep
from headroom.domain.decision import Act, Hold, Reason
from headroom.domain.resources import ResourceRef
from headroom.domain.state import MAX_FAILURES, Outcome, Refusal, Refused, Step
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from tests.application.harness import Stage, reconcile_now
from tests.builders import ref, volume

DENIED = Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no", retry_at=None)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def until(stage: Stage, minutes: int, done: Callable[[], bool]) -> None:
    """Sweep as often as it takes; fail when it takes longer than so many minutes."""
    last = stage.now + timedelta(minutes=minutes)
    while not done():
        assert stage.now < last, "it did not come"
        stage.later(minutes=1)
        sweep(stage.ports, stage.now)


def open_breaker(stage: Stage, vol: ResourceRef) -> None:
    stage.answers = [DENIED] * 100
    reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    until(
        stage, 48 * 60,
        lambda: stage.ledger.resource_state(vol, stage.now).breaker_opened_at is not None,
    )  # fmt: skip


def told(stage: Stage, step: Step) -> list[str]:
    return [summary for _, one, summary in stage.told if one is step]


def test_a_change_that_fails_again_and_again_is_tried_so_often_and_never_again(
    stage: Stage,
) -> None:
    vol = stage.add(volume())
    open_breaker(stage, vol)
    tried = len(stage.answers)
    assert stage.steps(vol).count("refused") == MAX_FAILURES
    stage.answers = [DENIED] * tried
    until(stage, 72 * 60 + 1, lambda: stage.now >= opened(stage, vol) + timedelta(days=3))
    assert len(stage.answers) == tried, "AWS was asked again"
    assert stage.steps(vol).count("intended") == MAX_FAILURES


def opened(stage: Stage, vol: ResourceRef) -> datetime:
    at = stage.ledger.resource_state(vol, stage.now).breaker_opened_at
    assert at is not None
    return at


def test_people_are_notified_once_when_a_breaker_opens_and_how_to_close_it(stage: Stage) -> None:
    vol = stage.add(volume())
    open_breaker(stage, vol)
    (summary,) = told(stage, Step.BREAKER_OPENED)
    assert summary.startswith("5 changes of vol-1 in a row failed")
    assert "`headroom breaker close vol-1 --region us-east-1`" in summary
    before = len(stage.told)
    until(stage, 600, lambda: stage.now >= opened(stage, vol) + timedelta(hours=9))
    assert len(stage.told) == before


def test_a_volume_with_an_open_breaker_holds_and_says_why(stage: Stage) -> None:
    vol = stage.add(volume())
    open_breaker(stage, vol)
    stage.later(minutes=10)
    decision = reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Hold)
    blocking = {v.guardrail.value: v for v in decision.judgements[0].blocking}
    assert "failures" in blocking
    assert "headroom breaker close vol-1" in blocking["failures"].detail


def test_what_failed_is_done_within_a_minute_of_a_person_closing_the_breaker(stage: Stage) -> None:
    vol = stage.add(volume())
    open_breaker(stage, vol)
    stage.answers.clear()
    stage.later(hours=30)
    assert stage.ledger.close_breaker(vol, at=stage.now, who="alice", reason="role fixed")
    until(stage, 1, lambda: stage.steps(vol)[-1] == "applied")


def test_failures_all_over_the_account_stop_it_and_are_reported_once(stage: Stage) -> None:
    fleet = [stage.add(volume(ref=ref(f"vol-{number}"))) for number in range(15)]
    stage.answers = list[Outcome]([DENIED] * 1_000)
    for vol in fleet:
        reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert stage.ledger.stop_state().account.breaker is not None
    assert 1_000 - len(stage.answers) == MAX_ACCOUNT_FAILURES
    (summary,) = told(stage, Step.BREAKER_OPENED)
    assert "headroom breaker close --account --region us-east-1" in summary
    late = reconcile_now(
        stage.ports, fleet[-1], stage.later(minutes=5), trigger="alarm", must_record=True
    )
    assert late is not None
    assert isinstance(late.answer, Hold)
    assert late.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert 1_000 - len(stage.answers) == MAX_ACCOUNT_FAILURES


def test_after_the_accounts_breaker_is_closed_every_volume_is_seen_to(stage: Stage) -> None:
    fleet = [
        stage.add(
            volume(ref=ref(f"vol-{number}"), availability_zone=f"us-east-1{'ab'[number % 2]}")
        )
        for number in range(12)
    ]
    stage.pressed = {vol.resource_id for vol in fleet}
    stage.answers = list[Outcome]([DENIED] * MAX_ACCOUNT_FAILURES)
    sweep(stage.ports, stage.now)
    assert stage.ledger.stop_state().account.breaker is not None
    stage.later(hours=1)
    sweep(stage.ports, stage.now)
    assert not any("applied" in stage.steps(vol) for vol in fleet)
    stage.ledger.close_breaker(None, at=stage.now, who="alice")
    until(stage, 1, lambda: all("applied" in stage.steps(vol) for vol in fleet))


def test_a_pause_between_the_decision_and_the_act_stops_the_act(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    vol = stage.add(volume())
    decided = stage.ledger.decided

    def and_then_paused(*args: object, **named: object) -> bool:
        answer: bool = decided(*args, **named)  # type: ignore[arg-type]
        stage.ledger.pause(None, at=stage.now, who="alice", reason="load test")
        return answer

    monkeypatch.setattr(stage.ledger, "decided", and_then_paused)
    decision = reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Act)
    assert stage.steps(vol) == ["act", "withdrawn"]
    assert stage.lifecycles["vol-1"].starts == ()


def test_what_a_pause_held_is_done_within_a_minute_of_the_resume(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.pressed = {"vol-1"}
    sweep(stage.ports, stage.now)
    stage.ledger.pause(None, at=stage.now, who="alice")
    assert stage.steps(vol) == ["act", "intended", "applied"]  # it had begun: that goes on
    other = stage.add(volume(ref=ref("vol-2")))
    stage.pressed = {"vol-2"}
    until(stage, 60, lambda: "hold" in stage.steps(other))
    stage.later(hours=7)
    sweep(stage.ports, stage.now)
    assert "act" not in stage.steps(other)
    stage.ledger.resume(at=stage.now, who="bob")
    until(stage, 1, lambda: stage.steps(other)[-1] == "applied")


def test_a_pause_that_ends_by_itself_is_over_at_its_minute(stage: Stage) -> None:
    vol = stage.add(volume())
    stage.ledger.pause(stage.now + timedelta(hours=2), at=stage.now, who="alice")
    decision = reconcile_now(stage.ports, vol, stage.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == stage.now + timedelta(hours=2)
    until(stage, 121, lambda: stage.steps(vol)[-1] == "applied")
    assert stage.now >= decision.answer.until
