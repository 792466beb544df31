"""Requests, answers and wishes: what every ledger keeps of them, and that one answer wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from headroom.domain.decision import Act, Decision
from headroom.domain.policy import Mode
from headroom.domain.state import ApprovalRequest, Record, Refusal, Refused, Step, broken_link
from headroom.ports import AnswerRejected, IllegalStep, Intent, NotIntended
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, hold, intended

HOUR = timedelta(hours=1)
LEASE = NOW + timedelta(hours=30)
EXPIRES = NOW + 8 * HOUR
WHO = "arn:aws:iam::123456789012:user/alice"


def needing(decision_id: str = "d1", volume_id: str = "vol-1", **changes: Any) -> Decision:
    decision = act(decision_id, volume_id, **changes)
    assert isinstance(decision.answer, Act)
    answer = replace(decision.answer, approval="the mode is approve", expires=EXPIRES)
    return replace(decision, answer=answer)


def asked_of(decision: Decision) -> ApprovalRequest:
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    return ApprovalRequest(
        decision_id=decision.decision_id, requested_at=decision.at, expires=EXPIRES,
        origin=plan.origin, target=plan.target, price_change_usd=plan.price_change_usd,
    )  # fmt: skip


def ask(ledger: Any, decision: Decision) -> Any:
    ledger.decided(decision, due_at=None)
    return append(
        ledger, decision, Step.AWAITING, body={"asked": asked_of(decision)}, due_at=EXPIRES
    )


def approve(ledger: Any, decision: Decision, *, at: datetime = NOW + HOUR, who: str = WHO) -> Any:
    return ledger.answer(decision.decision_id, Step.APPROVED, at=at, who=who, reason="ok")


def test_a_request_is_kept_beside_its_resource_and_holds_nothing(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    resource_state = ledger.resource_state(ref(), NOW)
    assert resource_state.approval_request == asked_of(decision)
    assert (resource_state.open_chain, resource_state.account_increase_usd) == (None, 0)
    assert ledger.waiting(NOW) == (ledger.decision("d1"),)
    assert [d.due_at for d in ledger.due(EXPIRES, 5)] == [EXPIRES]


def test_what_needs_a_person_is_not_intended_without_one(ledger: Any) -> None:
    decision = needing()
    refused = intended(ledger, decision, lease_until=LEASE)
    assert isinstance(refused, NotIntended)
    assert refused.why == "unapproved"
    append(ledger, decision, Step.AWAITING, body={"asked": asked_of(decision)}, due_at=EXPIRES)
    waits = ledger.intend(decision, lease_until=LEASE, now=NOW)
    assert isinstance(waits, NotIntended)


@pytest.mark.parametrize("limit", [{"mode": Mode.APPROVE}, {"approve_above_usd": Decimal(0)}])
def test_nothing_is_intended_that_only_claims_to_need_nobody(
    ledger: Any, limit: dict[str, Any]
) -> None:
    decision = act()
    limits = replace(decision.effective.limits, **limit)
    decision = replace(decision, effective=replace(decision.effective, limits=limits))
    refused = intended(ledger, decision, lease_until=LEASE)
    assert isinstance(refused, NotIntended)
    assert refused.why == "unapproved"


def test_an_approved_change_is_intended_in_its_chain_though_more_was_decided_since(
    ledger: Any,
) -> None:
    decision = needing()
    ask(ledger, decision)
    ledger.decided(hold("h1", at=NOW + timedelta(minutes=5)), due_at=EXPIRES)
    record = approve(ledger, decision)
    assert record.summary == f"approved by {WHO}: ok"
    assert ledger.due(NOW + HOUR, 5)[0].due_at == NOW + HOUR
    intent = ledger.intend(decision, lease_until=LEASE, now=NOW + HOUR)
    assert isinstance(intent, Intent)
    chain = ledger.chain("d1")
    assert [r.step for r in chain] == [
        Step.DECIDED, Step.AWAITING, Step.APPROVED, Step.INTENDED,
    ]  # fmt: skip
    assert broken_link(chain) is None
    resource_state = ledger.resource_state(ref(), NOW + HOUR)
    assert resource_state.last_request_at is None
    assert resource_state.account_increase_usd == Decimal(50)
    append(ledger, decision, Step.APPLIED, at=NOW + HOUR)
    assert ledger.resource_state(ref(), NOW + HOUR).approval_request is None


@pytest.mark.parametrize("refusal", [Refusal.THROTTLED, Refusal.DENIED])
def test_only_while_its_approval_stands_a_refused_change_is_intended_again(
    ledger: Any, refusal: Refusal
) -> None:
    decision = needing()
    ask(ledger, decision)
    approve(ledger, decision)
    assert isinstance(ledger.intend(decision, lease_until=LEASE, now=NOW + HOUR), Intent)
    outcome = Refused(refusal=refusal, code="No", message="later", retry_at=None)
    append(
        ledger, decision, Step.REFUSED, at=NOW + HOUR, body={"outcome": outcome},
        due_at=NOW + 24 * HOUR,
    )  # fmt: skip
    stands = refusal is Refusal.THROTTLED
    assert ledger.due(EXPIRES, 5)[0].due_at == EXPIRES if stands else not ledger.due(EXPIRES, 5)
    again = ledger.intend(decision, lease_until=LEASE, now=NOW + HOUR)
    assert isinstance(again, Intent) is stands
    assert broken_link(ledger.chain("d1")) is None
    if not stands:
        with pytest.raises(IllegalStep):
            append(ledger, decision, Step.WITHDRAWN)
        late = ledger.intend(decision, lease_until=LEASE, now=EXPIRES)
        assert isinstance(late, NotIntended)


def test_nothing_else_than_what_was_approved_is_intended(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    approve(ledger, decision)
    assert isinstance(decision.answer, Act)
    plan = decision.answer.plan
    dearer = replace(plan, price_change_usd=plan.price_change_usd + 1)
    for other in (dearer, replace(plan, target=replace(plan.target, iops=16_000))):
        changed = replace(decision, answer=replace(decision.answer, plan=other))
        refused = ledger.intend(changed, lease_until=LEASE, now=NOW + HOUR)
        assert isinstance(refused, NotIntended)
        assert refused.why == "unapproved"
    late = ledger.intend(decision, lease_until=LEASE, now=EXPIRES)
    assert isinstance(late, NotIntended)
    assert "expired" in late.detail


def test_an_answer_is_given_and_never_appended(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    for step in (Step.APPROVED, Step.REJECTED):
        with pytest.raises(IllegalStep):
            append(ledger, decision, step)
    assert len(ledger.chain("d1")) == 2


def test_one_request_waits_for_a_resource_at_a_time(ledger: Any) -> None:
    ask(ledger, needing())
    ledger.decided(needing("d2", at=NOW + HOUR), due_at=None)
    with pytest.raises(IllegalStep, match="d1 waits already"):
        append(ledger, needing("d2", at=NOW + HOUR), Step.AWAITING,
               body={"asked": asked_of(needing("d2"))})  # fmt: skip
    ask(ledger, needing("d3", "vol-2"))
    assert {d.decision_id for d in ledger.waiting(NOW)} == {"d1", "d3"}


def test_a_request_for_load_a_day_ahead_is_listed_until_it_expires(ledger: Any) -> None:
    expires = NOW + timedelta(days=8, hours=1)
    decision = needing()
    ledger.decided(decision, due_at=None)
    late = replace(asked_of(decision), expires=expires)
    append(ledger, decision, Step.AWAITING, body={"asked": late}, due_at=expires)
    for days in (0.0, 7.1, 8.0):
        (listed,) = ledger.waiting(NOW + timedelta(days=days))
        assert isinstance(listed.answer, Act)
        assert listed.answer.expires == expires
    assert ledger.waiting(expires) == ()


@pytest.mark.parametrize("step", [Step.REJECTED, Step.EXPIRED, Step.WITHDRAWN, Step.GONE])
def test_what_ends_a_request_ends_the_waiting(ledger: Any, step: Step) -> None:
    decision = needing()
    ask(ledger, decision)
    if step is Step.REJECTED:
        assert isinstance(ledger.answer("d1", step, at=NOW + HOUR, who=WHO), Record)
    else:
        append(ledger, decision, step, at=NOW + HOUR)
    resource_state = ledger.resource_state(ref(), NOW + HOUR)
    assert resource_state.approval_request is None
    assert [d.rejected for d in resource_state.declined] == {
        Step.REJECTED: [True], Step.EXPIRED: [False],
    }.get(step, [])  # fmt: skip
    assert ledger.waiting(NOW + HOUR) == ()
    assert isinstance(approve(ledger, decision, at=NOW + 2 * HOUR), AnswerRejected)
    with pytest.raises(IllegalStep):
        append(ledger, decision, Step.EXPIRED)


def test_of_two_answers_the_second_hears_who_was_first(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    approve(ledger, decision)
    second = ledger.answer("d1", Step.APPROVED, at=NOW + 2 * HOUR, who="bob")
    assert second == AnswerRejected(why="approved", detail=f"it was approved already by {WHO}")


def test_an_approval_is_taken_back_while_nothing_is_intended_and_both_are_on_record(
    ledger: Any,
) -> None:
    decision = needing()
    ask(ledger, decision)
    approve(ledger, decision)
    record = ledger.answer("d1", Step.REJECTED, at=NOW + 2 * HOUR, who="bob")
    assert isinstance(record, Record)
    chain = ledger.chain("d1")
    assert [r.step for r in chain][2:] == [Step.APPROVED, Step.REJECTED]
    assert broken_link(chain) is None
    assert isinstance(ledger.intend(decision, lease_until=LEASE, now=NOW + 2 * HOUR), NotIntended)
    for step in (Step.APPROVED, Step.REJECTED):
        again = ledger.answer("d1", step, at=NOW + 3 * HOUR, who="eve")
        assert again == AnswerRejected(why="rejected", detail="it was rejected already")


def test_what_is_intended_is_not_taken_back(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    approve(ledger, decision)
    assert isinstance(ledger.intend(decision, lease_until=LEASE, now=NOW + HOUR), Intent)
    late = ledger.answer("d1", Step.REJECTED, at=NOW + 2 * HOUR, who="bob")
    assert isinstance(late, AnswerRejected)


@pytest.mark.parametrize("decision_id", ["nothing", "paused"])
def test_an_answer_to_nothing_is_recorded_nowhere(ledger: Any, decision_id: str) -> None:
    ledger.pause(None, at=NOW, who="bob")
    (paused,) = ledger.by_outcome("paused", since=NOW, until=NOW)
    name = paused.decision_id if decision_id == "paused" else decision_id
    for answer in (ledger.answer(name, Step.APPROVED, at=NOW, who=WHO),
                   ledger.request_rollback(name, at=NOW, who=WHO)):  # fmt: skip
        assert isinstance(answer, AnswerRejected)
        assert answer.why == "unknown"
    assert len(list(ledger.by_time(since=NOW, until=NOW))) == 1


def test_of_many_answers_at_once_each_is_recorded_once_and_a_no_is_the_last(raced: Any) -> None:
    for number in range(3):
        decision = needing(f"d{number}", f"vol-{number}")
        ask(raced, decision)

        def answer(who: int, name: str = decision.decision_id) -> Any:
            step = Step.APPROVED if who % 2 else Step.REJECTED
            return raced.answer(name, step, at=NOW + HOUR, who=str(who))

        with ThreadPoolExecutor(8) as pool:
            given = list(pool.map(answer, range(8)))
        steps = [r.step for r in raced.chain(decision.decision_id)][2:]
        assert sum(isinstance(one, Record) for one in given) == len(steps)
        assert steps in ([Step.REJECTED], [Step.APPROVED, Step.REJECTED])


def test_an_answer_races_the_end_of_the_request_and_one_of_them_counts(raced: Any) -> None:
    for number in range(5):
        decision = needing(f"d{number}", f"vol-{number}")
        ask(raced, decision)

        def end(decision: Decision = decision) -> bool:
            try:
                append(raced, decision, Step.EXPIRED, at=NOW + HOUR)
            except IllegalStep:
                return False
            return True

        with ThreadPoolExecutor(2) as pool:
            ended = pool.submit(end)
            given = pool.submit(approve, raced, decision)
            assert ended.result() is isinstance(given.result(), AnswerRejected)


def test_a_reconciliation_puts_off_neither_an_answer_nor_the_end_of_a_request(ledger: Any) -> None:
    decision = needing()
    ask(ledger, decision)
    for later in (None, EXPIRES + HOUR):
        ledger.reconciled(ref(), at=NOW + HOUR, due_at=later)
        assert [d.due_at for d in ledger.due(EXPIRES, 5)] == [EXPIRES]
    approve(ledger, decision)
    for later in (None, NOW + 2 * HOUR):
        ledger.reconciled(ref(), at=NOW + HOUR, due_at=later)
        assert [d.due_at for d in ledger.due(EXPIRES, 5)] == [NOW + HOUR]


def test_a_decision_that_knows_the_answer_takes_it_in_and_one_that_does_not_leaves_it(
    ledger: Any,
) -> None:
    decision = needing()
    ask(ledger, decision)
    before = ledger.resource_state(ref(), NOW)
    approve(ledger, decision)
    knows = ledger.resource_state(ref(), NOW + HOUR)
    ledger.decided(replace(hold("h1", at=NOW + HOUR), resource_state=before), due_at=EXPIRES)
    assert ledger.resource_state(ref(), NOW + HOUR).last_request_at == NOW + HOUR
    assert ledger.due(NOW + HOUR, 5)
    ledger.decided(replace(hold("h2", at=NOW + HOUR), resource_state=knows), due_at=EXPIRES)
    assert ledger.resource_state(ref(), NOW + HOUR).last_request_at is None
    assert not ledger.due(NOW + HOUR, 5)


def landed(ledger: Any, decision: Decision) -> None:
    intent = intended(ledger, decision, lease_until=LEASE)
    assert isinstance(intent, Intent), intent
    append(ledger, decision, Step.APPLIED, intent=intent)
    append(ledger, decision, Step.RELIEVED, intent=intent)


def test_a_wish_for_a_rollback_is_on_record_and_due_at_once(ledger: Any) -> None:
    landed(ledger, act())
    record = ledger.request_rollback("d1", at=NOW + HOUR, who=WHO, reason="slower")
    assert (record.step, record.summary) == (
        Step.ROLLBACK_REQUESTED, f"rollback of d1 asked for by {WHO}: slower",
    )  # fmt: skip
    assert list(ledger.by_outcome("rollback_requested", since=NOW, until=NOW + HOUR)) == [record]
    assert [d.due_at for d in ledger.due(NOW + HOUR, 5)] == [NOW + HOUR]
    wanted = ledger.resource_state(ref(), NOW + HOUR).rollback
    assert (wanted.decision_id, wanted.who, wanted.expires) == ("d1", WHO, NOW + 25 * HOUR)
    again = ledger.request_rollback("d1", at=NOW + HOUR, who="bob")
    assert isinstance(again, AnswerRejected)
    assert again.why == "asked"


def test_what_changed_nothing_cannot_be_rolled_back(ledger: Any) -> None:
    ledger.decided(act(), due_at=None)
    refused = ledger.request_rollback("d1", at=NOW, who=WHO)
    assert isinstance(refused, AnswerRejected)
    assert refused.why == "not_applied"


def undoing(decision_id: str, *, at: datetime) -> Decision:
    return replace(act(decision_id, increase="0", at=at), rollback_of="d1")


def test_a_rollback_that_aws_took_ends_the_wish_frees_the_increase_and_begins_the_quiet(
    ledger: Any,
) -> None:
    landed(ledger, act())
    ledger.request_rollback("d1", at=NOW + HOUR, who=WHO)
    decision = undoing("d2", at=NOW + HOUR)
    intent = intended(ledger, decision, NOW + HOUR, lease_until=LEASE)
    assert isinstance(intent, Intent), intent
    assert ledger.resource_state(ref(), NOW + HOUR).rollback is not None, "until AWS took it"
    append(ledger, decision, Step.APPLIED, intent=intent, at=NOW + HOUR)
    resource_state = ledger.resource_state(ref(), NOW + HOUR)
    assert resource_state.rollback is None
    assert (resource_state.rolled_back.decision_id, resource_state.rolled_back.until) == (
        "d1",
        NOW + 25 * HOUR,
    )
    append(ledger, decision, Step.ROLLED_BACK, intent=intent, at=NOW + 2 * HOUR)
    after = ledger.resource_state(ref(), NOW + 2 * HOUR)
    assert (after.account_increase_usd, after.open_chain) == (0, None)
    assert "rollback" in {m.by for m in after.modifications}


def test_a_wish_outlives_a_refusal_and_ends_with_its_resource(ledger: Any) -> None:
    landed(ledger, act())
    ledger.request_rollback("d1", at=NOW + HOUR, who=WHO)
    decision = undoing("d2", at=NOW + HOUR)
    intent = intended(ledger, decision, NOW + HOUR, lease_until=LEASE)
    append(ledger, decision, Step.STALE, intent=intent, at=NOW + HOUR)
    assert ledger.resource_state(ref(), NOW + HOUR).rollback is not None
    ledger.forget(ref(), at=NOW + 2 * HOUR)
    resource_state = ledger.resource_state(ref(), NOW + 2 * HOUR)
    assert (resource_state.rollback, resource_state.last_request_at) == (None, None)
    assert not ledger.due(NOW + 30 * HOUR, 5)
