"""What messages say of requests and rollbacks: all that is needed to decide, on one page."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from headroom.adapters.notifications.batch import summary_message
from headroom.adapters.notifications.messages import decision_message, priority_of
from headroom.adapters.notifications.text import text_of_message
from headroom.domain.decision import Act, Decision, decide
from headroom.domain.policy import Mode
from headroom.domain.reports import Priority
from headroom.domain.state import Notice, Step
from tests.application.harness import starving
from tests.builders import NOW, decision_input, observation, policy, ref
from tests.builders import volume as vol


def needing() -> Decision:
    seen = observation(starving(), vol(tags=(("Name", "orders-db"),)))
    decision = decide(decision_input(seen, rules=policy(mode=Mode.APPROVE)))
    assert isinstance(decision.answer, Act)
    assert decision.answer.expires == NOW + timedelta(hours=8)
    return decision


def test_a_request_carries_what_why_price_proof_expiry_and_both_commands() -> None:
    decision = needing()
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    text = text_of_message(decision_message(decision, Step.AWAITING, decision.summary))
    name = decision.decision_id
    for part in (
        "vol-1", "orders-db", f"{plan.origin} -> {plan.target}",
        f"{plan.price_change_usd:+,.2f} USD a month", "the mode is approve",
        "2026-01-05 20:00 UTC; without an answer nothing is changed",
        f"headroom approve {name} --region us-east-1",
        f"headroom reject {name} --region us-east-1",
        f"headroom explain {name} --region us-east-1",
    ):  # fmt: skip
        assert part in text, part


def test_a_request_among_several_messages_keeps_until_when_it_waits_and_how_to_answer() -> None:
    why = "it adds more than $20 a month, and the policy requires approval above that; it has to begin before noon"
    asks = Notice(
        decision_id="ab" * 10, sequence=2, step=Step.AWAITING, resource=ref("vol-1").arn, at=NOW,
        text=f"{'vol-1: a long story ' * 20}; it waits for a person until 2026-01-05 20:00 UTC: {why}",
    )  # fmt: skip
    text = text_of_message(summary_message([asks, asks]))
    command = f"headroom approve {'ab' * 10} --region us-east-1"
    end = f"; it waits for a person until 2026-01-05 20:00 UTC: {why}; {command}"
    assert sum(line.endswith(end) for line in text.splitlines()) == 2


def test_a_request_goes_before_what_needs_nobody() -> None:
    assert priority_of("awaiting") is Priority.NEEDS_YOU
    for step in ("expired", "withdrawn", "rolled_back"):
        assert priority_of(step) is Priority.ROUTINE


def test_what_was_changed_says_how_to_undo_it() -> None:
    decision = replace(needing(), decision_id="d1")
    for step in (Step.APPLIED, Step.RELIEVED, Step.INEFFECTIVE):
        commands = dict(decision_message(decision, step, "done").commands)
        assert commands == {"Undo": "headroom rollback d1 --region us-east-1"}
