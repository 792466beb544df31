"""Races: many at once, and never two holders, never a micro-dollar above the limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from functools import partial
from threading import Barrier
from typing import Any, TypeVar

import pytest

from headroom.domain.decision import Decision
from headroom.domain.state import KnownModification, Refusal, Refused, Step, broken_link
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from headroom.ports import IllegalStep, Intent, NotIntended, ReadFailed, Scan
from headroom.proving.memory import InMemoryLedger
from tests.builders import NOW, ref
from tests.contracts.decisions import act, append, hold, intended

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
UNTIL = NOW + timedelta(minutes=20)
T = TypeVar("T")


def at_once(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """Run all jobs in threads that start together."""
    barrier = Barrier(len(jobs))

    def start(job: Callable[[], T]) -> T:
        barrier.wait(timeout=30)
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(start, jobs))


def a_few_at_once(jobs: Sequence[Callable[[], T]], width: int) -> list[T]:
    """Run all jobs in `width` threads that start together, each with its share of them."""
    shares = [jobs[first::width] for first in range(width)]
    return [a for found in at_once([partial(_in_turn, share) for share in shares]) for a in found]


def _in_turn(jobs: Sequence[Callable[[], T]]) -> list[T]:
    return [job() for job in jobs]


def patiently(job: Callable[[], T]) -> T:
    """What a retried delivery does: ask again when the ledger could not answer."""
    for _ in range(20):
        try:
            return job()
        except ReadFailed:
            continue
    raise AssertionError("the ledger never answered")


def wish(ledger: Any, decision: Decision) -> Callable[[], Intent | NotIntended]:
    return lambda: patiently(lambda: ledger.intend(decision, lease_until=UNTIL, now=NOW))


def test_one_of_many_holds_the_resource(raced: Any) -> None:
    raced.decided(act(), due_at=None)
    answers = at_once([wish(raced, act())] * 24)
    assert [a for a in answers if isinstance(a, Intent)] == [Intent(decision_id="d1", fencing=1)]
    assert {a.why for a in answers if isinstance(a, NotIntended)} <= {"exists", "leased"}
    assert [r.step for r in raced.chain("d1")] == [Step.DECIDED, Step.INTENDED]
    assert raced.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(50)


def test_one_of_many_decisions_about_a_resource_is_carried_out(raced: Any) -> None:
    decisions = [act(f"d{number}") for number in range(24)]

    def decide_and_intend(decision: Decision) -> Callable[[], Intent | NotIntended]:
        def job() -> Intent | NotIntended:
            assert patiently(lambda: raced.decided(decision, due_at=None))
            return wish(raced, decision)()

        return job

    answers = at_once([decide_and_intend(decision) for decision in decisions])
    assert len([a for a in answers if isinstance(a, Intent)]) == 1
    assert raced.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(50)
    for decision in decisions:
        assert broken_link(raced.chain(decision.decision_id)) is None


def test_a_hundred_intents_never_pass_the_accounts_limit(raced: Any) -> None:
    limit = Decimal("333.333333")
    decisions = [
        act(f"d{n}", f"vol-{n}", increase="10.000001", account_limit=limit) for n in range(100)
    ]
    for decision in decisions:
        raced.decided(decision, due_at=None)
    # More at once than functions there are; DynamoDB Local has a hundred mostly wait and retry.
    width = 100 if isinstance(raced, InMemoryLedger) else 8
    answers = a_few_at_once([wish(raced, decision) for decision in decisions], width)
    won = [a for a in answers if isinstance(a, Intent)]
    assert len(won) == 33
    assert {a.why for a in answers if isinstance(a, NotIntended)} == {"budget"}
    total = raced.resource_state(ref("vol-0"), NOW).account_increase_usd
    assert total == 33 * Decimal("10.000001") <= limit
    assert total == sum(
        raced.resource_state(ref(f"vol-{n}"), NOW).resource_increase_usd for n in range(100)
    )


def test_a_decision_written_twice_at_once_is_recorded_once(raced: Any) -> None:
    same = [lambda: patiently(lambda: raced.decided(act(), due_at=None))] * 16
    assert sorted(at_once(same)) == [False] * 15 + [True]
    assert len(raced.chain("d1")) == 1


def test_one_outcome_of_many_is_recorded(raced: Any) -> None:
    intended(raced, act(), lease_until=UNTIL)

    def appending(step: Step) -> Callable[[], bool]:
        def job() -> bool:
            try:
                patiently(lambda: append(raced, act(), step))
            except IllegalStep:
                return False
            return True

        return job

    steps = [Step.APPLIED, Step.REFUSED, Step.STALE, Step.ALREADY_THERE] * 4
    assert sum(at_once([appending(step) for step in steps])) == 1
    assert len(raced.chain("d1")) == 3
    assert broken_link(raced.chain("d1")) is None


def test_no_update_of_a_state_is_lost(raced: Any) -> None:
    def see(minute: int) -> Callable[[], None]:
        start = KnownModification(started_at=NOW - timedelta(minutes=minute), by="other")
        return lambda: patiently(lambda: raced.save_modifications(ref("vol-1"), [start], now=NOW))

    def reconcile() -> None:
        patiently(lambda: raced.reconciled(ref("vol-1"), at=NOW, due_at=UNTIL))

    def decide() -> None:
        patiently(lambda: raced.decided(hold("h1"), due_at=UNTIL))

    at_once([*(see(minute) for minute in range(12)), reconcile, reconcile, decide])
    seen = raced.resource_state(ref("vol-1"), NOW)
    assert len(seen.modifications) == 12
    assert seen.last_decision_id == "h1"
    assert [d.due_at for d in raced.due(UNTIL, 10)] == [UNTIL]


def test_an_act_is_begun_or_overtaken_but_never_both(raced: Any) -> None:
    for number in range(6):
        name, volume = f"d{number}", f"vol-{number}"
        decision, later = act(name, volume), hold(f"h{number}", volume)
        raced.decided(decision, due_at=None)

        def overtake(later: Decision = later) -> None:
            assert patiently(lambda: raced.decided(later, due_at=None))

        intent, *_ = at_once([wish(raced, decision), overtake])
        begun = isinstance(intent, Intent)
        chain = raced.chain(name)
        assert [r.step for r in chain] == [
            Step.DECIDED, Step.INTENDED if begun else Step.WITHDRAWN,
        ]  # fmt: skip
        assert broken_link(chain) is None
        assert (raced.resource_state(ref(volume), NOW).open_chain is not None) is begun


def test_forgetting_at_once_gives_back_once(raced: Any) -> None:
    for name, volume in (("d1", "vol-1"), ("d2", "vol-2")):
        intended(raced, act(name, volume), lease_until=UNTIL)
        append(raced, act(name, volume), Step.APPLIED)
        append(raced, act(name, volume), Step.RELIEVED)
    at_once([lambda: patiently(lambda: raced.forget(ref("vol-1"), at=NOW))] * 8)
    assert raced.resource_state(ref("vol-1"), NOW).account_increase_usd == Decimal(50)


def test_one_of_many_scans(raced: Any) -> None:
    claims = at_once([lambda: patiently(lambda: raced.claim_scan(NOW, 900))] * 16)
    assert [claim for claim in claims if claim] == [Scan.FIRST]


def test_who_crashed_after_the_intent_is_replaced_and_kept_out(raced: Any) -> None:
    crashed = intended(raced, act("d0"), lease_until=UNTIL)
    raced.decided(act("d1"), due_at=None)
    rivals = [
        lambda: patiently(
            lambda: raced.intend(act("d1"), lease_until=UNTIL + timedelta(hours=1), now=UNTIL)
        )
    ] * 8
    won = [a for a in at_once(rivals) if isinstance(a, Intent)]
    assert [intent.fencing for intent in won] == [crashed.fencing + 1]


def test_failures_at_once_are_counted_each_and_open_the_accounts_breaker_once(raced: Any) -> None:
    decisions = [act(f"d{number}", f"vol-{number}") for number in range(MAX_ACCOUNT_FAILURES + 4)]
    for decision in decisions:
        intended(raced, decision, lease_until=UNTIL)
    denied = Refused(refusal=Refusal.DENIED, code="C", message="no", retry_at=None)

    def fail(decision: Decision) -> Callable[[], object]:
        return lambda: patiently(
            lambda: append(raced, decision, Step.REFUSED, body={"outcome": denied})
        )

    for first in range(0, len(decisions), 7):  # more at once than functions there are
        at_once([fail(decision) for decision in decisions[first : first + 7]])
    account = raced.stop_state().account
    assert account.failures_in_a_row == len(decisions)
    assert account.breaker is not None
    opened = list(raced.by_outcome("breaker_opened", since=NOW, until=NOW))
    assert len(opened) == 1
    assert account.breaker.failures == MAX_ACCOUNT_FAILURES


def test_no_intent_is_granted_once_a_pause_has_returned(raced: Any) -> None:
    decisions = [act(f"d{number}", f"vol-{number}", increase="0") for number in range(12)]
    for decision in decisions:
        raced.decided(decision, due_at=None)

    def pause() -> None:
        patiently(lambda: raced.pause(None, at=NOW, who="alice"))
        late = act("late", "vol-99", increase="0")
        raced.decided(late, due_at=None)
        assert wish(raced, late)().why == "paused"  # type: ignore[union-attr]

    answers = at_once([pause, *(wish(raced, decision) for decision in decisions)])
    for decision, answer in zip(decisions, answers[1:], strict=True):
        steps = [record.step for record in raced.chain(decision.decision_id)]
        granted = isinstance(answer, Intent)
        assert steps == [Step.DECIDED, Step.INTENDED][: 1 + granted]
        assert granted or answer.why == "paused"  # type: ignore[union-attr]
