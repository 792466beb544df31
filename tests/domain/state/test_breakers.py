"""The counts behind the circuit breakers, whatever happens in whatever order."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headroom.domain.guardrails import Guardrail, judge
from headroom.domain.ledger import after_closed, after_step, resource_state_of
from headroom.domain.state import (
    FAILURE_STEPS,
    INDEFINITE,
    MAX_FAILURES,
    WORKER_VANISHED,
    AccountStopState,
    Pause,
    Refusal,
    Refused,
    Step,
    StoredState,
    account_after_breaker_closed,
    account_state_after,
    active_pause,
)
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES, SUCCESS_STEPS
from tests.builders import NOW, resource_state
from tests.domain.decision.test_guardrails import case

MINUTE = timedelta(minutes=1)
DENIED = {"outcome": Refused(refusal=Refusal.DENIED, code="C", message="no", retry_at=None)}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            sorted({*FAILURE_STEPS, *SUCCESS_STEPS, Step.STALE, Step.UNKNOWN, Step.DIVERGED})
        ),
        st.booleans(),
    ),
    max_size=40,
)


def body(step: Step, waits: bool) -> dict[str, object]:
    if step is not Step.REFUSED:
        return {}
    refusal = Refusal.SLOTS if waits else Refusal.DENIED
    return {"outcome": Refused(refusal=refusal, code="C", message="no", retry_at=None)}


@given(STEPS)
def test_the_accounts_breaker_opens_at_the_first_run_of_failures_that_is_long_enough(
    steps: list[tuple[Step, bool]],
) -> None:
    account, run, opened = AccountStopState(), 0, None
    for number, (step, waits) in enumerate(steps):
        at = NOW + number * MINUTE
        payload = body(step, waits)
        account = account_state_after(account, "account#1", step, at=at, body=payload, why="no")
        fails = step in FAILURE_STEPS and not (step is Step.REFUSED and waits)
        run = run + 1 if fails else 0 if step in SUCCESS_STEPS else run
        if run >= MAX_ACCOUNT_FAILURES and opened is None:
            opened = at
        assert account.failures_in_a_row == run
        assert (account.breaker and account.breaker.opened_at) == opened


@given(STEPS)
def test_a_volumes_breaker_once_open_stays_open_whatever_follows(
    steps: list[tuple[Step, bool]],
) -> None:
    state, opened = StoredState(), None
    for number, (step, waits) in enumerate(steps):
        at = NOW + number * MINUTE
        state = after_step(state, "d", step, at=at, body=body(step, waits), due_at=None)
        opened = opened or state.breaker_opened_at
        assert state.breaker_opened_at == opened
        if state.failures_in_a_row >= MAX_FAILURES:
            assert opened is not None
    closed = after_closed(state, NOW)
    assert closed.breaker_opened_at is None
    assert (closed is state) == (opened is None)
    assert after_closed(closed, NOW) is closed


def test_a_state_from_before_there_were_breakers_blocks_and_can_be_closed() -> None:
    old = StoredState(failures_in_a_row=MAX_FAILURES + 2)
    known = resource_state_of(old, account_micro_usd=0, stop_state=AccountStopState(), now=NOW)
    assert Guardrail.FAILURES in {v.guardrail for v in judge(case(resource_state=known)).blocking}
    assert after_closed(old, NOW).failures_in_a_row == 0


@pytest.mark.parametrize(
    ("changes", "guardrail", "temporary"),
    [
        ({"failures_in_a_row": MAX_FAILURES - 1}, None, None),
        ({"failures_in_a_row": MAX_FAILURES, "last_refusal_at": NOW - timedelta(days=9)},
         Guardrail.FAILURES, False),
        ({"breaker_opened_at": NOW - timedelta(days=9)}, Guardrail.FAILURES, False),
        ({"account_breaker_opened_at": NOW - timedelta(days=9)}, Guardrail.BREAKER, True),
    ],
)  # fmt: skip
def test_time_closes_no_breaker(
    changes: dict[str, object], guardrail: Guardrail | None, temporary: bool | None
) -> None:
    blocking = judge(case(resource_state=resource_state(**changes))).blocking
    assert [v.guardrail for v in blocking] == ([] if guardrail is None else [guardrail])
    for verdict in blocking:
        assert (verdict.clears_at, verdict.temporary) == (None, temporary)
        assert "headroom breaker close" in verdict.detail


def test_only_what_is_open_can_be_closed() -> None:
    calm = AccountStopState(failures_in_a_row=3)
    assert account_after_breaker_closed(calm, NOW) is calm
    account = calm
    for _ in range(MAX_ACCOUNT_FAILURES):
        account = account_state_after(account, "a", Step.REFUSED, at=NOW, body=DENIED, why="no")
    assert account_after_breaker_closed(account, NOW) == AccountStopState(closed_at=NOW)


@pytest.mark.parametrize(
    ("until", "on"), [(NOW + MINUTE, True), (NOW, False), (NOW - MINUTE, False), (INDEFINITE, True)]
)
def test_a_pause_is_in_force_until_its_instant(until: object, on: bool) -> None:
    pause = Pause(until=until, since=NOW - MINUTE, who="alice")  # type: ignore[arg-type]
    assert active_pause(pause, NOW) == (pause if on else None)
    assert active_pause(None, NOW) is None


def test_what_vanished_workers_left_does_not_count_against_the_account_and_calls_without_an_answer_do() -> (
    None
):
    calm = AccountStopState()
    for body, counted in (({WORKER_VANISHED: True}, 0), ({}, 1)):
        after = account_state_after(calm, "a", Step.NOT_APPLIED, at=NOW, body=body, why="no")
        assert after.failures_in_a_row == counted
