"""The loop under the kill switch and the circuit breakers: what stops, what is reported, and what goes on."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from headroom.application import sweep
from headroom.domain.decision import Act, Hold, Reason
from headroom.domain.resources import ResourceRef
from headroom.domain.state import MAX_FAILURES, Outcome, Refusal, Refused, Step
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from tests.application.harness import Harness, reconcile_now
from tests.builders import ref, volume

DENIED = Refused(refusal=Refusal.DENIED, code="UnauthorizedOperation", message="no", retry_at=None)


@pytest.fixture
def harness() -> Harness:
    return Harness()


def until(harness: Harness, minutes: int, done: Callable[[], bool]) -> None:
    """Sweep as often as it takes; fail when it takes longer than so many minutes."""
    last = harness.now + timedelta(minutes=minutes)
    while not done():
        assert harness.now < last, "it did not come"
        harness.later(minutes=1)
        sweep(harness.ports, harness.now)


def open_breaker(harness: Harness, vol: ResourceRef) -> None:
    harness.answers = [DENIED] * 100
    reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    until(
        harness, 48 * 60,
        lambda: harness.ledger.resource_state(vol, harness.now).breaker_opened_at is not None,
    )  # fmt: skip


def summaries(harness: Harness, step: Step) -> list[str]:
    return [summary for _, one, summary in harness.messages if one is step]


def test_a_change_that_fails_again_and_again_is_tried_so_often_and_never_again(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    open_breaker(harness, vol)
    tried = len(harness.answers)
    assert harness.steps(vol).count("refused") == MAX_FAILURES
    harness.answers = [DENIED] * tried
    until(harness, 72 * 60 + 1, lambda: harness.now >= opened(harness, vol) + timedelta(days=3))
    assert len(harness.answers) == tried, "AWS was asked again"
    assert harness.steps(vol).count("intended") == MAX_FAILURES


def opened(harness: Harness, vol: ResourceRef) -> datetime:
    at = harness.ledger.resource_state(vol, harness.now).breaker_opened_at
    assert at is not None
    return at


def test_people_are_notified_once_when_a_breaker_opens_and_how_to_close_it(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    open_breaker(harness, vol)
    (summary,) = summaries(harness, Step.BREAKER_OPENED)
    assert summary.startswith("5 changes of vol-1 in a row failed")
    assert "`headroom breaker close vol-1 --region us-east-1`" in summary
    before = len(harness.messages)
    until(harness, 600, lambda: harness.now >= opened(harness, vol) + timedelta(hours=9))
    assert len(harness.messages) == before


def test_a_volume_with_an_open_breaker_holds_and_says_why(harness: Harness) -> None:
    vol = harness.add(volume())
    open_breaker(harness, vol)
    harness.later(minutes=10)
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Hold)
    blocking = {v.guardrail.value: v for v in decision.judgements[0].blocking}
    assert "failures" in blocking
    assert "headroom breaker close vol-1" in blocking["failures"].detail


def test_what_failed_is_done_within_a_minute_of_a_person_closing_the_breaker(
    harness: Harness,
) -> None:
    vol = harness.add(volume())
    open_breaker(harness, vol)
    harness.answers.clear()
    harness.later(hours=30)
    assert harness.ledger.close_breaker(vol, at=harness.now, who="alice", reason="role fixed")
    until(harness, 1, lambda: harness.steps(vol)[-1] == "applied")


def test_failures_all_over_the_account_stop_it_and_are_reported_once(harness: Harness) -> None:
    fleet = [harness.add(volume(ref=ref(f"vol-{number}"))) for number in range(15)]
    harness.answers = list[Outcome]([DENIED] * 1_000)
    for vol in fleet:
        reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert harness.ledger.stop_state().account.breaker is not None
    assert 1_000 - len(harness.answers) == MAX_ACCOUNT_FAILURES
    (summary,) = summaries(harness, Step.BREAKER_OPENED)
    assert "headroom breaker close --account --region us-east-1" in summary
    assert summary.startswith(
        f"{MAX_ACCOUNT_FAILURES} changes in a row failed in account 123456789012"
    )
    assert "the last of vol-9: AWS refused" in summary
    late = reconcile_now(
        harness.ports, fleet[-1], harness.later(minutes=5), trigger="alarm", must_record=True
    )
    assert late is not None
    assert isinstance(late.answer, Hold)
    assert late.answer.reason is Reason.BLOCKED_TEMPORARILY
    assert 1_000 - len(harness.answers) == MAX_ACCOUNT_FAILURES


def test_after_the_accounts_breaker_is_closed_every_volume_is_seen_to(harness: Harness) -> None:
    fleet = [
        harness.add(
            volume(ref=ref(f"vol-{number}"), availability_zone=f"us-east-1{'ab'[number % 2]}")
        )
        for number in range(12)
    ]
    harness.pressed = {vol.resource_id for vol in fleet}
    harness.answers = list[Outcome]([DENIED] * MAX_ACCOUNT_FAILURES)
    sweep(harness.ports, harness.now)
    assert harness.ledger.stop_state().account.breaker is not None
    harness.later(hours=1)
    sweep(harness.ports, harness.now)
    assert not any("applied" in harness.steps(vol) for vol in fleet)
    harness.ledger.close_breaker(None, at=harness.now, who="alice")
    until(harness, 1, lambda: all("applied" in harness.steps(vol) for vol in fleet))


def test_a_pause_between_the_decision_and_the_act_stops_the_act(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    vol = harness.add(volume())
    decided = harness.ledger.decided

    def and_then_paused(*args: object, **named: object) -> bool:
        answer: bool = decided(*args, **named)  # type: ignore[arg-type]
        harness.ledger.pause(None, at=harness.now, who="alice", reason="load test")
        return answer

    monkeypatch.setattr(harness.ledger, "decided", and_then_paused)
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Act)
    assert harness.steps(vol) == ["act", "withdrawn"]
    assert harness.lifecycles["vol-1"].starts == ()


def test_what_a_pause_held_is_done_within_a_minute_of_the_resume(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.pressed = {"vol-1"}
    sweep(harness.ports, harness.now)
    harness.ledger.pause(None, at=harness.now, who="alice")
    assert harness.steps(vol) == ["act", "intended", "applied"]  # it had begun: that goes on
    other = harness.add(volume(ref=ref("vol-2")))
    harness.pressed = {"vol-2"}
    until(harness, 60, lambda: "hold" in harness.steps(other))
    harness.later(hours=7)
    sweep(harness.ports, harness.now)
    assert "act" not in harness.steps(other)
    harness.ledger.resume(at=harness.now, who="bob")
    until(harness, 1, lambda: harness.steps(other)[-1] == "applied")


def test_a_pause_that_ends_by_itself_is_over_at_its_minute(harness: Harness) -> None:
    vol = harness.add(volume())
    harness.ledger.pause(harness.now + timedelta(hours=2), at=harness.now, who="alice")
    decision = reconcile_now(harness.ports, vol, harness.now, trigger="alarm", must_record=True)
    assert decision is not None
    assert isinstance(decision.answer, Hold)
    assert decision.answer.until == harness.now + timedelta(hours=2)
    until(harness, 121, lambda: harness.steps(vol)[-1] == "applied")
    assert harness.now >= decision.answer.until
