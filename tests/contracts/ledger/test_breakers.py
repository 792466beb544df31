"""Circuit breakers: what fails again and again is left alone until a person says go on."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from headroom.domain.state import (
    MAX_FAILURES,
    AccountStopState,
    Breaker,
    Refusal,
    Refused,
    Step,
    broken_link,
)
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from headroom.ports import Intent, NotIntended, Scan
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append, broken, failed, hold, intended

VOL = ref("vol-1")
UNTIL = NOW + timedelta(minutes=20)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def refused(refusal: Refusal) -> dict[str, object]:
    return {"outcome": Refused(refusal=refusal, code="Code", message="no", retry_at=None)}


def steps(ledger: Any, outcome: str) -> list[Any]:
    return list(ledger.by_outcome(outcome, since=NOW - DAY, until=NOW + DAY))


def breaks(ledger: Any) -> None:
    """Failures all over the account, two of each volume: no volume's own breaker opens."""
    for number in range(MAX_ACCOUNT_FAILURES):
        failed(ledger, f"a{number}", f"vol-{100 + number // 2}", at=NOW)


def test_so_many_failures_in_a_row_open_a_volumes_breaker_and_one_less_does_not(
    ledger: Any,
) -> None:
    for number in range(MAX_FAILURES - 1):
        failed(ledger, f"d{number}")
    assert ledger.resource_state(VOL, NOW).breaker_opened_at is None
    assert steps(ledger, "breaker_opened") == []
    failed(ledger, "last", at=NOW + HOUR)
    assert ledger.resource_state(VOL, NOW).breaker_opened_at == NOW + HOUR
    assert ledger.resource_state(ref("vol-2"), NOW).breaker_opened_at is None


def test_two_failures_at_once_are_two(ledger: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the read of the account's count and its write, somebody else's failure is counted."""
    failed(ledger, "first", "vol-1")
    client = ledger._client
    send = client.transact_write_items

    def second_first(**request: Any) -> Any:
        if any(
            "#count = " in part.get("Update", {}).get("UpdateExpression", "")
            for part in request["TransactItems"]
        ):
            monkeypatch.undo()
            failed(ledger, "faster", "vol-2")
        return send(**request)

    monkeypatch.setattr(client, "transact_write_items", second_first)
    failed(ledger, "slower", "vol-3")
    assert ledger.stop_state().account.failures_in_a_row == 3


def test_an_opened_breaker_is_on_record_with_what_opened_it(ledger: Any) -> None:
    broken(ledger, at=NOW)
    (record,) = steps(ledger, "breaker_opened")
    assert (record.step, record.resource, record.at) == (Step.BREAKER_OPENED, VOL.arn, NOW)
    assert record.summary.startswith("stopped after 5 failures in a row, until a person closes")
    assert json.loads(record.body)["decision_id"] == "vol-1-failure-4"
    assert broken_link(ledger.chain(record.decision_id)) is None
    assert record in list(ledger.by_resource(VOL.arn, since=NOW - DAY, until=NOW + DAY))


def test_what_is_open_is_reported_oldest_first(ledger: Any) -> None:
    broken(ledger, "vol-2", at=NOW + HOUR)
    append_success(ledger, "vol-7")
    broken(ledger, "vol-1", at=NOW)
    found = ledger.stop_state().breakers
    assert [(b.resource, b.opened_at) for b in found] == [
        (VOL.arn, NOW), (ref("vol-2").arn, NOW + HOUR),
    ]  # fmt: skip
    assert found[0] == Breaker(
        resource=VOL.arn, opened_at=NOW, failures=MAX_FAILURES, why="it is refused"
    )


def append_success(ledger: Any, volume_id: str) -> None:
    """AWS accepts a change of another volume, so that only volumes' own breakers are in play."""
    decision = act(f"ok-{volume_id}", volume_id)
    intended(ledger, decision, lease_until=UNTIL)
    append(ledger, decision, Step.APPLIED)


def test_nothing_is_intended_while_a_breaker_is_open_however_long(ledger: Any) -> None:
    broken(ledger, at=NOW)
    later = NOW + timedelta(days=30)
    refusal = intended(ledger, act("d9", at=later), later, lease_until=later + HOUR)
    assert isinstance(refusal, NotIntended)
    assert refusal.why == "breaker"
    assert "a person closes it" in refusal.detail
    assert [r.step for r in ledger.chain("d9")] == [Step.DECIDED]
    assert isinstance(intended(ledger, act("e1", "vol-2"), lease_until=UNTIL), Intent)


def test_a_breaker_opened_between_decision_and_intent_holds(ledger: Any) -> None:
    for number in range(MAX_FAILURES - 1):
        failed(ledger, f"d{number}")
    first, second = act("d8"), act("d9")
    intended(ledger, first, lease_until=UNTIL)
    ledger.decided(second, due_at=None)
    append(ledger, first, Step.REFUSED, body=refused(Refusal.DENIED))
    assert ledger.intend(second, lease_until=UNTIL, now=NOW).why == "breaker"


def test_only_a_person_closes_a_breaker_and_it_is_on_record(ledger: Any) -> None:
    broken(ledger, at=NOW)
    ledger.decided(hold("h1", at=NOW + HOUR), due_at=None)
    assert ledger.resource_state(VOL, NOW + 7 * HOUR).breaker_opened_at == NOW
    at = NOW + 8 * HOUR
    assert ledger.close_breaker(VOL, at=at, who="alice", reason="role fixed")
    seen = ledger.resource_state(VOL, at)
    assert (seen.breaker_opened_at, seen.failures_in_a_row, seen.retry_not_before) == (
        None,
        0,
        None,
    )
    assert ledger.stop_state().breakers == ()
    (record,) = steps(ledger, "breaker_closed")
    assert record.summary == "breaker closed by alice: role fixed"
    assert json.loads(record.body) == {"reason": "role fixed", "who": "alice"}
    assert isinstance(intended(ledger, act("d9", at=at), at, lease_until=at + HOUR), Intent)


def test_a_volume_is_reconciled_as_soon_as_its_breaker_is_closed(ledger: Any) -> None:
    ledger.claim_scan(NOW, 900)
    broken(ledger, at=NOW)
    ledger.reconciled(VOL, at=NOW, due_at=NOW + DAY)
    assert ledger.due(NOW + HOUR, 10) == ()
    ledger.close_breaker(VOL, at=NOW + HOUR, who="alice")
    assert [d.ref for d in ledger.due(NOW + HOUR, 10)] == [VOL]
    assert ledger.claim_scan(NOW + timedelta(minutes=1), 900) is Scan.AGAIN


def test_closing_what_is_not_open_does_and_records_nothing(ledger: Any) -> None:
    assert not ledger.close_breaker(VOL, at=NOW, who="alice")
    assert not ledger.close_breaker(None, at=NOW, who="alice")
    failed(ledger, "d1")
    assert not ledger.close_breaker(VOL, at=NOW, who="alice")
    assert ledger.resource_state(VOL, NOW).failures_in_a_row == 1
    assert steps(ledger, "breaker_closed") == []


def test_a_breaker_that_opens_again_in_the_same_instant_is_closed_again(ledger: Any) -> None:
    for attempt in ("first", "again"):
        for number in range(MAX_FAILURES):
            failed(ledger, f"{attempt}-{number}", at=NOW)
        assert ledger.close_breaker(VOL, at=NOW, who="alice")
        assert ledger.resource_state(VOL, NOW).breaker_opened_at is None
    assert len(steps(ledger, "breaker_closed")) == 1


def test_a_breaker_opens_again_after_as_many_failures(ledger: Any) -> None:
    broken(ledger, at=NOW)
    ledger.close_breaker(VOL, at=NOW + HOUR, who="alice")
    append_success(ledger, "vol-7")
    for number in range(MAX_FAILURES):
        assert ledger.resource_state(VOL, NOW).breaker_opened_at is None
        failed(ledger, f"again-{number}", at=NOW + 2 * HOUR)
    assert ledger.resource_state(VOL, NOW).breaker_opened_at == NOW + 2 * HOUR
    assert len(steps(ledger, "breaker_opened")) == 2
    assert [b.opened_at for b in ledger.stop_state().breakers] == [NOW + 2 * HOUR]


def test_a_change_that_lands_after_all_does_not_close_it(ledger: Any) -> None:
    slow = act("slow")
    intended(ledger, slow, lease_until=NOW + timedelta(minutes=1))  # its worker died
    broken(ledger, at=NOW + HOUR)
    append(ledger, slow, Step.APPLIED, at=NOW + 2 * HOUR)
    append(ledger, slow, Step.RELIEVED, at=NOW + 2 * HOUR)
    seen = ledger.resource_state(VOL, NOW + 2 * HOUR)
    assert (seen.failures_in_a_row, seen.breaker_opened_at) == (0, NOW + HOUR)
    assert ledger.close_breaker(VOL, at=NOW + 3 * HOUR, who="alice")


@pytest.mark.parametrize(
    "refusal", [Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.THROTTLED, Refusal.REGION_QUOTA]
)
def test_what_time_clears_opens_no_breaker(ledger: Any, refusal: Refusal) -> None:
    for number in range(2 * MAX_ACCOUNT_FAILURES):
        decision = act(f"d{number}")
        intended(ledger, decision, lease_until=UNTIL)
        append(ledger, decision, Step.REFUSED, body=refused(refusal))
    seen = ledger.resource_state(VOL, NOW)
    assert (seen.breaker_opened_at, seen.account_breaker_opened_at) == (None, None)


def test_a_deleted_volumes_breaker_goes_with_it(ledger: Any) -> None:
    broken(ledger, at=NOW)
    ledger.forget(VOL, at=NOW + HOUR)
    assert ledger.stop_state().breakers == ()
    assert ledger.resource_state(VOL, NOW).breaker_opened_at is None


def test_failures_all_over_the_account_open_its_breaker_for_every_volume(ledger: Any) -> None:
    breaks(ledger)
    account = ledger.stop_state().account
    assert account.failures_in_a_row == MAX_ACCOUNT_FAILURES
    assert account.breaker == Breaker(
        resource=f"account#{ACCOUNT}#{REGION}", opened_at=NOW, failures=MAX_ACCOUNT_FAILURES,
        why="it is refused",
    )  # fmt: skip
    assert ledger.stop_state().breakers == ()
    assert ledger.resource_state(ref("vol-999"), NOW).account_breaker_opened_at == NOW
    (record,) = steps(ledger, "breaker_opened")
    assert record.resource == f"account#{ACCOUNT}#{REGION}"
    refusal = intended(ledger, act("d9", "vol-999"), lease_until=UNTIL)
    assert (refusal.why, "account's breaker" in refusal.detail) == ("breaker", True)


def test_one_change_that_aws_accepts_begins_the_accounts_count_anew(ledger: Any) -> None:
    for number in range(MAX_ACCOUNT_FAILURES - 1):
        failed(ledger, f"a{number}", f"vol-{number}")
    append_success(ledger, "vol-77")
    assert ledger.stop_state().account.failures_in_a_row == 0
    failed(ledger, "last", "vol-78")
    assert ledger.stop_state().account.breaker is None


def test_no_resume_and_no_success_closes_the_accounts_breaker(ledger: Any) -> None:
    slow = act("slow", "vol-50")
    intended(ledger, slow, lease_until=UNTIL)
    breaks(ledger)
    append(ledger, slow, Step.APPLIED)
    ledger.pause(None, at=NOW, who="alice")
    ledger.resume(at=NOW, who="alice")
    assert ledger.stop_state().account.breaker.opened_at == NOW
    assert ledger.close_breaker(None, at=NOW + HOUR, who="bob", reason="role fixed")
    assert ledger.stop_state().account == AccountStopState(closed_at=NOW + HOUR)
    (record,) = steps(ledger, "breaker_closed")
    assert record.resource == f"account#{ACCOUNT}#{REGION}"
    assert isinstance(intended(ledger, act("d9", "vol-999"), lease_until=UNTIL), Intent)


def test_what_aws_refused_may_be_asked_again_once_the_accounts_breaker_is_closed(
    ledger: Any,
) -> None:
    slow = act("slow", "vol-50")
    intended(ledger, slow, lease_until=UNTIL)
    append(ledger, slow, Step.REFUSED, body=refused(Refusal.DENIED), due_at=NOW + 6 * HOUR)
    append_success(ledger, "vol-7")
    breaks(ledger)
    assert ledger.resource_state(ref("vol-50"), NOW).retry_not_before == NOW + 6 * HOUR
    ledger.close_breaker(None, at=NOW + HOUR, who="bob")
    assert ledger.resource_state(ref("vol-50"), NOW + HOUR).retry_not_before is None
    again = act("again", "vol-50", at=NOW + 2 * HOUR)
    intended(ledger, again, NOW + 2 * HOUR, lease_until=NOW + 3 * HOUR)
    append(ledger, again, Step.REFUSED, at=NOW + 2 * HOUR, body=refused(Refusal.DENIED),
           due_at=NOW + 8 * HOUR)  # fmt: skip
    assert ledger.resource_state(ref("vol-50"), NOW + 2 * HOUR).retry_not_before == NOW + 8 * HOUR


def test_pause_and_breaker_do_not_undo_each_other(ledger: Any) -> None:
    ledger.pause(NOW + HOUR, at=NOW, who="alice", reason="load test")
    paused = ledger.stop_state().account.pause
    later = NOW + 2 * HOUR  # the pause is over, and was never ended
    for number in range(MAX_ACCOUNT_FAILURES):
        failed(ledger, f"a{number}", f"vol-{number}", at=later)
    both = ledger.stop_state().account
    assert (both.pause, both.breaker.opened_at) == (paused, later)
    ledger.resume(at=later, who="alice")
    assert ledger.stop_state().account.breaker == both.breaker
