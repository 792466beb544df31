"""When DynamoDB is busy, slow or silent: what happened is found out, never assumed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from moto import mock_aws

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.ledger.transactions import ATTEMPTS, LedgerOutcomeUnknown
from headroom.adapters.tables import LEDGER_ACTIONS, RECORDS, STATE, create_table
from headroom.domain.state import KnownModification, Step
from headroom.ports import Intent, NotIntended, ReadFailed
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append, broken, failed, hold, intended

UNTIL = NOW + timedelta(minutes=20)
TIMEOUT = ReadTimeoutError(endpoint_url="https://dynamodb.example")


def error(code: str, **more: Any) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "it is so"}, **more}, "Call")


def busy(reason: str) -> ClientError:
    reasons = [{"Code": "None"}, {"Code": reason, "Message": "busy"}]
    return error("TransactionCanceledException", CancellationReasons=reasons)


class Shaky:
    """A client whose next calls go wrong as given, before or after they took effect."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.before: list[Exception] = []
        self.after: list[Exception] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.calls.append((name, arguments))
            if name == "transact_write_items" and self.before:
                raise self.before.pop(0)
            answer = getattr(self.client, name)(**arguments)
            if name == "transact_write_items" and self.after:
                raise self.after.pop(0)
            return answer

        return call


@pytest.fixture
def shaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shaky]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        client = boto3.client("dynamodb", region_name=REGION)
        client.create_table(**create_table(RECORDS, "records"))
        client.create_table(**create_table(STATE, "state"))
        yield Shaky(client)


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def ledger(shaky: Shaky, slept: list[float]) -> DynamoLedger:
    return DynamoLedger(
        shaky, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION,
        sleep=slept.append,
    )  # type: ignore[arg-type]  # fmt: skip


def test_an_intent_whose_answer_got_lost_is_found_to_be_ours(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    ledger.decided(act(), due_at=None)
    shaky.after = [TIMEOUT]
    assert ledger.intend(act(), lease_until=UNTIL, now=NOW) == Intent(decision_id="d1", fencing=1)
    assert ledger.resource_state(ref(), NOW).account_increase_usd == Decimal(50)
    assert len(ledger.chain("d1")) == 2


def test_an_intent_that_never_gets_an_answer_is_nobodys(shaky: Shaky, ledger: DynamoLedger) -> None:
    ledger.decided(act(), due_at=None)
    shaky.before = [TIMEOUT] * ATTEMPTS
    with pytest.raises(LedgerOutcomeUnknown):
        ledger.intend(act(), lease_until=UNTIL, now=NOW)
    assert len(ledger.chain("d1")) == 1
    assert ledger.resource_state(ref(), NOW).open_chain is None


def test_a_rivals_intent_is_not_taken_for_ours_after_a_time_out(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    ledger.decided(act(), due_at=None)
    rival = DynamoLedger(
        shaky.client, records_table="records", state_table="state", account_id=ACCOUNT,
        region=REGION,
    )  # fmt: skip
    sleeps = iter([lambda: rival.intend(act(), lease_until=UNTIL, now=NOW)])
    ledger._transactions._sleep = lambda _: next(sleeps, lambda: None)()  # type: ignore[assignment]
    shaky.before = [TIMEOUT]
    answer = ledger.intend(act(), lease_until=UNTIL, now=NOW)
    assert isinstance(answer, NotIntended)
    assert answer.why == "exists"


@pytest.mark.parametrize(
    "trouble",
    [
        busy("TransactionConflict"), busy("ThrottlingError"), error("ThrottlingException"),
        error("InternalServerError"), error("TransactionInProgressException"), TIMEOUT,
    ],
)  # fmt: skip
def test_what_passes_is_tried_again_with_waits_that_grow(
    shaky: Shaky, ledger: DynamoLedger, slept: list[float], trouble: Exception
) -> None:
    shaky.before = [trouble] * 3
    assert ledger.decided(hold(), due_at=None)
    assert len(slept) == 3
    assert all(0 <= wait <= 0.8 for wait in slept)
    tokens = {c["ClientRequestToken"] for name, c in shaky.calls if "transact" in name}
    assert len(tokens) == 1


@pytest.mark.parametrize(
    "trouble",
    [error("AccessDeniedException"), error("ValidationException"), busy("ItemCollectionSize")],
)
def test_what_does_not_pass_is_reported_at_once(
    shaky: Shaky, ledger: DynamoLedger, slept: list[float], trouble: Exception
) -> None:
    shaky.before = [trouble]
    with pytest.raises(ReadFailed, match=r"it is so"):
        ledger.decided(hold(), due_at=None)
    assert slept == []
    assert ledger.chain("h1") == ()


def test_a_conflict_without_end_is_no_answer(shaky: Shaky, ledger: DynamoLedger) -> None:
    shaky.before = [busy("TransactionConflict")] * ATTEMPTS
    with pytest.raises(LedgerOutcomeUnknown):
        ledger.decided(hold(), due_at=None)


def test_a_decision_whose_answer_got_lost_counts_as_recorded_by_us(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    shaky.after = [TIMEOUT]
    assert ledger.decided(hold(), due_at=None) is True
    assert ledger.decided(hold(), due_at=None) is False


def test_an_outcome_whose_answer_got_lost_is_recorded_once(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    intended(ledger, act(), lease_until=UNTIL)
    shaky.after = [TIMEOUT]
    record = append(ledger, act(), Step.REFUSED)
    assert ledger.chain("d1")[-1] == record
    assert ledger.resource_state(ref(), NOW).failures_in_a_row == 1


def test_a_start_whose_answer_got_lost_is_known_once(shaky: Shaky, ledger: DynamoLedger) -> None:
    shaky.after = [TIMEOUT]
    ledger.save_modifications(ref(), [KnownModification(started_at=NOW, by="other")], now=NOW)
    assert len(ledger.resource_state(ref(), NOW).modifications) == 1


def test_what_is_no_news_is_not_written(shaky: Shaky, ledger: DynamoLedger) -> None:
    seen = [KnownModification(started_at=NOW, by="other")]
    ledger.save_modifications(ref(), seen, now=NOW)
    shaky.calls.clear()
    ledger.save_modifications(ref(), seen, now=NOW)
    assert [name for name, _ in shaky.calls] == ["batch_get_item"]


def test_a_resource_whose_forgetting_got_no_answer_is_forgotten_once(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    for number in range(2):
        decision = act(f"d{number}", f"vol-{number}")
        intended(ledger, decision, lease_until=UNTIL)
        append(ledger, decision, Step.APPLIED)
        append(ledger, decision, Step.RELIEVED)
    shaky.after = [TIMEOUT]
    ledger.forget(ref("vol-0"), at=NOW)
    assert ledger.resource_state(ref("vol-0"), NOW).account_increase_usd == Decimal(50)


def test_what_was_never_seen_or_is_forgotten_is_not_written(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    ledger.decided(act(), due_at=NOW)
    ledger.forget(ref(), at=NOW)
    shaky.calls.clear()
    ledger.forget(ref(), at=UNTIL)
    ledger.forget(ref("vol-9"), at=NOW)
    assert [name for name, _ in shaky.calls] == ["batch_get_item"] * 2


def test_a_withdrawal_whose_answer_got_lost_is_recorded_once(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    ledger.decided(act(), due_at=None)
    shaky.after = [TIMEOUT]
    assert ledger.decided(hold(), due_at=None) is True
    assert [r.step for r in ledger.chain("d1")] == [Step.DECIDED, Step.WITHDRAWN]


def test_keys_that_were_left_out_are_asked_for_again(shaky: Shaky, ledger: DynamoLedger) -> None:
    ledger.decided(hold(), due_at=None)
    answers: list[dict[str, Any]] = []
    real = shaky.client.batch_get_item

    class Stingy:
        def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:
            answers.append(RequestItems)
            if len(answers) == 1:
                return {"Responses": {}, "UnprocessedKeys": RequestItems}
            return real(RequestItems=RequestItems)

    ledger._state._reads._client = Stingy()
    assert ledger.resource_state(ref(), NOW).last_decision_id == "h1"
    assert answers[0] == answers[1]


def test_a_state_nobody_can_read_stops_everything(shaky: Shaky, ledger: DynamoLedger) -> None:
    ledger.decided(act(), due_at=None)
    key = {"owner": {"S": ref().arn}, "item": {"S": "resource_state"}}
    shaky.client.update_item(
        TableName="state", Key=key, UpdateExpression="SET lease_until = :soon",
        ExpressionAttributeValues={":soon": {"S": "soon"}},
    )  # fmt: skip
    with pytest.raises(ReadFailed):
        ledger.resource_state(ref(), NOW)
    with pytest.raises(ReadFailed):
        ledger.intend(act(), lease_until=UNTIL, now=NOW)


def everything(ledger: DynamoLedger) -> None:
    ledger.claim_scan(NOW, 900)
    ledger.reject("e1", reason="no shape", excerpt="{}", at=NOW)
    ledger.reconciled(ref(), at=NOW, due_at=None)
    ledger.due(NOW, 10)
    intended(ledger, act(), lease_until=UNTIL)
    append(ledger, act(), Step.APPLIED)
    append(ledger, act(), Step.FAILED)
    ledger.save_modifications(ref(), [], now=NOW, full_until=UNTIL)
    ledger.decided(act("d2"), due_at=None)
    ledger.decided(act("d3"), due_at=None)
    ledger.forget(ref(), at=NOW)
    ledger.pause(None, at=NOW, who="alice")
    ledger.resume(at=NOW, who="alice")
    broken(ledger, "vol-9")
    ledger.close_breaker(ref("vol-9"), at=NOW, who="alice")
    number = 20
    while ledger.stop_state().account.breaker is None:
        failed(ledger, f"f{number}", f"vol-{(number := number + 1)}")
    ledger.close_breaker(None, at=NOW, who="alice")
    ledger.stop_state()
    ledger.resource_state(ref(), NOW)
    ledger.decision("d1")
    list(ledger.by_time(since=NOW, until=NOW))
    list(ledger.by_outcome("act", since=NOW, until=NOW))
    list(ledger.by_resource(ref().arn, since=NOW, until=NOW))
    ledger.notified(ledger.notices(10))


PARTS = {
    "Put": "PutItem", "Update": "UpdateItem", "ConditionCheck": "ConditionCheckItem",
    "Delete": "DeleteItem",
}  # fmt: skip
CALLS = {
    "put_item": "PutItem", "update_item": "UpdateItem", "query": "Query",
    "batch_get_item": "BatchGetItem", "delete_item": "DeleteItem",
}  # fmt: skip


def used(calls: list[tuple[str, dict[str, Any]]]) -> dict[str, set[str]]:
    """The IAM actions that these calls need, per table."""
    needed: dict[str, set[str]] = {"records": set(), "state": set()}
    for name, arguments in calls:
        if name == "transact_write_items":
            for part in arguments["TransactItems"]:
                for kind, write in part.items():
                    needed[write["TableName"]].add(f"dynamodb:{PARTS[kind]}")
            continue
        named = arguments.get("RequestItems") or [arguments["TableName"]]
        for table in named:
            needed[table].add(f"dynamodb:{CALLS[name]}")
    return needed


def test_the_ledger_needs_the_actions_it_lists_and_no_other(
    shaky: Shaky, ledger: DynamoLedger
) -> None:
    everything(ledger)
    assert used(shaky.calls) == {table: set(a) for table, a in LEDGER_ACTIONS.items()}


def test_records_are_only_ever_put_where_none_is(shaky: Shaky, ledger: DynamoLedger) -> None:
    everything(ledger)
    puts = [c for name, c in shaky.calls if name == "put_item"]
    for name, arguments in shaky.calls:
        if name == "transact_write_items":
            puts += [p["Put"] for p in arguments["TransactItems"] if "Put" in p]
    records = [p for p in puts if p["TableName"] == "records"]
    assert len(records) == 43
    assert {p["ConditionExpression"] for p in records} == {"attribute_not_exists(#id)"}
