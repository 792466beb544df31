"""Every item carries the version of its format, and nothing follows from an unknown one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.ledger import DynamoLedger, read_budget
from headroom.adapters.notifications.messages import plain_message
from headroom.adapters.prices import PriceStore
from headroom.adapters.tables import (
    BREAKER,
    BUDGET,
    CONCURRENCY_ITEM,
    DUE_SHARDS,
    NOTE,
    PAUSE,
    PROFILE,
    RECORDS,
    STATE,
    STATE_ITEM,
    WAITING_SHARD,
    account_key,
    create_table,
)
from headroom.domain.catalog import catalogue_prices
from headroom.domain.state import (
    DECISION_FORMAT,
    RECORD_FORMAT,
    STATE_FORMAT,
    LoadProfile,
    Notify,
    Step,
    broken_link,
    hour_of,
)
from headroom.ports import Intent, NotIntended, ReadFailed
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.contracts.decisions import act, append, intended
from tests.contracts.ledger.test_requests import ask, needing

UNTIL = NOW + timedelta(minutes=20)
INTENT = Intent(decision_id="d1", fencing=1)
Ledger = DynamoLedger
ACTS: tuple[Callable[[Ledger], object], ...] = (
    lambda ledger: ledger.resource_state(ref(), NOW),
    lambda ledger: append(ledger, act(), Step.APPLIED, intent=INTENT),
    lambda ledger: ledger.intend(act("d2"), lease_until=UNTIL, now=NOW),
)


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client(
            "dynamodb", region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test"
        )
        client.create_table(**create_table(RECORDS, "records"))
        client.create_table(**create_table(STATE, "state"))
        yield client


@pytest.fixture
def ledger(client: Any) -> DynamoLedger:
    made = DynamoLedger(
        client, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION
    )
    made.decided(act(), due_at=None)
    intended(made, act(), lease_until=UNTIL)
    return made


def items(client: Any, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.scan(TableName=table)["Items"]
    return found


def rewrite(client: Any, table: str, kind: str, number: int | None) -> None:
    """Give every item whose name or step starts with `kind` this format, or none."""
    changed = 0
    for item in items(client, table):
        if item.get("item", item.get("step"))["S"].startswith(kind):
            del item["format"]
            more = {} if number is None else {"format": {"N": str(number)}}
            client.put_item(TableName=table, Item=item | more)
            changed += 1
    assert changed


def test_every_item_is_written_with_its_format(client: Any, ledger: DynamoLedger) -> None:
    append(ledger, act(), Step.APPLIED, intent=INTENT)
    ledger.reconciled(ref("vol-9"), at=NOW, due_at=UNTIL)
    ledger.claim_scan(NOW, 60)
    ledger.pause(None, at=NOW, who="me")
    ledger.amend("one", lambda _: ("text", None))
    prices = PriceStore(client, table="state", account_id=ACCOUNT)
    prices.claim(REGION, now=NOW, unless_since=NOW)
    prices.keep(catalogue_prices(REGION), now=NOW)
    ledger.reject("event", reason="why", excerpt="what", at=NOW)
    assert {item["format"]["N"] for item in items(client, "records")} == {str(RECORD_FORMAT)}
    assert {item["format"]["N"] for item in items(client, "state")} == {str(STATE_FORMAT)}
    assert len(items(client, "state")) == 9
    assert ledger.notices(9), "that somebody is to be notified of a change is one of them"


@pytest.mark.parametrize("number", [None, 0, STATE_FORMAT + 1])
@pytest.mark.parametrize("act_on", [ACTS[0], ACTS[1]])
@pytest.mark.parametrize("kind", ["resource_state", BUDGET, CONCURRENCY_ITEM])
def test_no_change_follows_from_a_state_in_an_unknown_format(
    client: Any, ledger: DynamoLedger, kind: str, act_on: Callable[[Ledger], object],
    number: int | None,
) -> None:  # fmt: skip
    rewrite(client, "state", kind, number)
    before = items(client, "state"), items(client, "records")
    with pytest.raises(ReadFailed, match=f"the item {kind} has "):
        act_on(ledger)
    assert (items(client, "state"), items(client, "records")) == before


@pytest.mark.parametrize("number", [None, STATE_FORMAT + 1])
def test_a_pause_in_an_unknown_format_is_refused(
    client: Any, ledger: DynamoLedger, number: int | None
) -> None:
    ledger.pause(None, at=NOW, who="me")
    rewrite(client, "state", PAUSE, number)
    with pytest.raises(ReadFailed, match="the item pause has "):
        ledger.resource_state(ref(), NOW)


def test_a_bookmark_in_a_newer_format_is_neither_read_nor_overwritten(
    client: Any, ledger: DynamoLedger
) -> None:
    ledger.amend("one", lambda _: ("text", None))
    rewrite(client, "state", NOTE, STATE_FORMAT + 1)
    before = items(client, "state")
    for use in (lambda: ledger.note("one"), lambda: ledger.amend("one", lambda _: ("new", None))):
        with pytest.raises(ReadFailed, match="upgrade Headroom"):
            use()
    assert items(client, "state") == before


def test_prices_in_a_newer_format_are_not_overwritten(client: Any) -> None:
    prices = PriceStore(client, table="state", account_id=ACCOUNT)
    prices.keep(catalogue_prices(REGION), now=NOW)
    rewrite(client, "state", "prices", STATE_FORMAT + 1)
    assert not prices.claim(REGION, now=NOW, unless_since=NOW)
    with pytest.raises(ReadFailed, match="upgrade Headroom"):
        prices.held(REGION)


@pytest.mark.parametrize("act_on", ACTS[1:])
def test_nothing_follows_a_record_in_a_newer_format(
    client: Any, ledger: DynamoLedger, act_on: Callable[[Ledger], object]
) -> None:
    ledger.decided(act("d2", "vol-2"), due_at=None)
    rewrite(client, "records", "", RECORD_FORMAT + 1)
    with pytest.raises(ReadFailed, match="this release reads formats up to"):
        act_on(ledger)


def test_a_record_in_a_newer_format_is_displayed_but_not_taken_for_verified(
    client: Any, ledger: DynamoLedger
) -> None:
    whole = ledger.chain("d1")
    assert broken_link(whole) is None
    rewrite(client, "records", "intended", RECORD_FORMAT + 1)
    chain = ledger.chain("d1")
    assert [record.summary for record in chain] == [record.summary for record in whole]
    assert broken_link(chain) == chain[1]


def test_a_decision_in_a_newer_format_is_refused_to_whoever_concludes_it(
    client: Any, ledger: DynamoLedger
) -> None:
    (item,) = (i for i in items(client, "records") if i["step"]["S"] == "decided")
    body = item["body"]["S"].replace(
        f'"format":{DECISION_FORMAT}', f'"format":{DECISION_FORMAT + 1}'
    )
    client.put_item(TableName="records", Item=item | {"body": {"S": body}})
    with pytest.raises(ReadFailed, match=f"the stored decision has format {DECISION_FORMAT + 1}"):
        ledger.decision("d1")


def test_a_budget_with_a_state_in_a_newer_format_is_not_summed(
    client: Any, ledger: DynamoLedger
) -> None:
    rewrite(client, "state", "resource_state", STATE_FORMAT + 1)
    with pytest.raises(ReadFailed, match="upgrade Headroom"):
        read_budget(client, table="state", account_id=ACCOUNT, region=REGION)


def test_a_pause_takes_hold_in_any_format_and_keeps_it(client: Any, ledger: DynamoLedger) -> None:
    ledger.pause(None, at=NOW, who="me")
    rewrite(client, "state", PAUSE, STATE_FORMAT + 1)
    ledger.pause(NOW + timedelta(hours=1), at=NOW + timedelta(minutes=1), who="me")
    (item,) = (i for i in items(client, "state") if i["item"]["S"] == PAUSE)
    assert item["format"]["N"] == str(STATE_FORMAT + 1)


@pytest.mark.parametrize("newer", [True, False])
def test_a_pause_that_this_release_cannot_read_is_not_ended_by_it(
    client: Any, ledger: DynamoLedger, newer: bool
) -> None:
    ledger.pause(None, at=NOW, who="me")
    rewrite(client, "state", PAUSE, STATE_FORMAT + 1 if newer else None)
    before = items(client, "state")
    with pytest.raises(ReadFailed):
        ledger.resume(at=NOW + timedelta(minutes=1), who="me")
    assert items(client, "state") == before


@pytest.mark.parametrize("newer", [True, False])
def test_a_resource_that_this_release_cannot_read_stays_unreadable(
    client: Any, ledger: DynamoLedger, newer: bool
) -> None:
    """The sweep's failure path puts off when it is due, and touches nothing else."""
    ledger.reconciled(ref(), at=NOW, due_at=NOW, waiting=None)
    rewrite(client, "state", STATE_ITEM, STATE_FORMAT + 1 if newer else None)
    (before,) = (i for i in items(client, "state") if i["item"]["S"] == STATE_ITEM)
    later = NOW + timedelta(minutes=5)
    ledger.reconciled(ref(), at=NOW, due_at=later, waiting=None)
    (after,) = (i for i in items(client, "state") if i["item"]["S"] == STATE_ITEM)
    for name in ("due_at", "wake_at"):
        assert after.pop(name) != before.pop(name)
    assert after == before


def test_a_breaker_in_a_newer_format_does_not_vanish(client: Any, ledger: DynamoLedger) -> None:
    client.put_item(
        TableName="state",
        Item={
            "owner": {"S": account_key(ACCOUNT, REGION)},
            "item": {"S": f"{BREAKER}#{ref().arn}"},
            "format": {"N": str(STATE_FORMAT + 1)},
        },
    )
    with pytest.raises(ReadFailed):
        ledger.stop_state()


@pytest.mark.parametrize("item", [PAUSE, BUDGET])
@pytest.mark.parametrize("newer", [True, False])
def test_no_intent_passes_an_account_item_that_this_release_cannot_read(
    client: Any, ledger: DynamoLedger, item: str, newer: bool
) -> None:
    """Also where the item changed after the decision: the transaction itself is the check."""
    ledger.pause(NOW, at=NOW, who="me")
    other = act("d2", "vol-2")
    ledger.decided(other, due_at=None)
    rewrite(client, "state", item, STATE_FORMAT + 1 if newer else None)
    got = ledger.intend(other, lease_until=UNTIL, now=NOW + timedelta(minutes=1))
    assert isinstance(got, NotIntended)


# --- the profile of the past, which is derived data


@pytest.mark.parametrize("number", [None, 0, STATE_FORMAT + 1])
def test_a_profile_in_an_unknown_format_counts_as_none_and_is_replaced(
    ledger: DynamoLedger, client: Any, number: int | None
) -> None:
    profile = LoadProfile(start=hour_of(NOW), hours=())
    ledger.save_profile(ref(), profile)
    rewrite(client, "state", PROFILE, number)
    assert ledger.profile(ref()) is None
    ledger.save_profile(ref(), profile)
    assert ledger.profile(ref()) == profile


@pytest.mark.parametrize("hours", [{"B": b"\x02newer"}, {"S": "text"}, {"NULL": True}, None])
def test_a_damaged_profile_counts_as_none(
    ledger: DynamoLedger, client: Any, hours: dict[str, object] | None
) -> None:
    ledger.save_profile(ref(), LoadProfile(start=hour_of(NOW), hours=()))
    (item,) = (i for i in items(client, "state") if i["item"]["S"] == PROFILE)
    del item["hours"]
    client.put_item(TableName="state", Item=item | ({"hours": hours} if hours else {}))
    assert ledger.profile(ref()) is None


def test_a_step_of_a_newer_release_hides_no_record_and_no_message(
    client: Any, ledger: DynamoLedger
) -> None:
    """After a rollback of Headroom: the record keeps its format, and its step is unknown here."""
    append(ledger, act(), Step.APPLIED, intent=INTENT)
    ledger.append(
        "d1", Step.RELIEVED, ref=ref(), at=NOW, summary="it is", body={}, fencing=1, due_at=None,
        notify=Notify(text="it is so"),
    )  # fmt: skip
    known = ledger.notices(9)
    (record,) = (item for item in items(client, "records") if item["step"]["S"] == "applied")
    newer = {"step": {"S": "resized"}, "outcome": {"S": "resized"}, "sequence": {"N": "9"}}
    client.put_item(TableName="records", Item=record | newer)
    (noticed,) = (
        item for item in items(client, "state") if item["item"]["S"].startswith("notice#")
    )
    for number, content in enumerate(
        (noticed["notice"]["M"] | {"step": {"S": "resized"}}, {"step": {"S": "applied"}})
    ):
        key = noticed["item"]["S"].rsplit("#", 2)[0] + f"#000{7 + number}#d1"
        client.put_item(
            TableName="state", Item=noticed | {"item": {"S": key}, "notice": {"M": content}}
        )
    hour = timedelta(hours=1)
    found = [s.step for s in ledger.record_summaries(since=NOW - hour, until=NOW + hour)]
    assert sorted(found) == ["applied", "decided", "intended", "relieved", "resized"]
    (first, resized, unreadable) = ledger.notices(9)
    assert (first, resized.text, resized.step) == (known[0], known[0].text, "resized")
    assert (unreadable.decision_id, unreadable.sequence, unreadable.at) == ("d1", 8, NOW)
    assert ledger.notices(1) == (first,)
    assert "needs you" in plain_message(unreadable).headline
    ledger.notified([unreadable, first])
    assert [n.step for n in ledger.notices(9)] == ["resized"]
    bare = {name: value for name, value in noticed.items() if name != "notice"}
    client.put_item(TableName="state", Item=bare)
    assert {n.step for n in ledger.notices(9)} == {"resized", "unreadable_notice"}


FSX = f"arn:aws:fsx:{REGION}:{ACCOUNT}:file-system/fs-1"


@pytest.mark.parametrize(
    ("owner", "changed"),
    [
        (FSX, {}),
        (ref("vol-9").arn, {"wake_at": {"S": "2026-01-05T12:00:00Z!"}}),
        (ref("vol-9").arn, {"due_at": {"S": "2026-13-01T00:00:00Z"}}),
    ],
)
def test_what_is_due_and_not_understood_hides_nothing_else_that_is(
    client: Any, ledger: DynamoLedger, owner: str, changed: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    for name in ("vol-1", "vol-2"):
        ledger.reconciled(ref(name), at=NOW, due_at=NOW)
    (due,) = (i for i in items(client, "state") if i["owner"]["S"] == ref("vol-2").arn)
    shards = [due["due_shard"], {"S": DUE_SHARDS[0]}]
    for number, shard in enumerate(shards):  # as many as one may ask for
        key = {"owner": {"S": f"{owner}{number or ''}"}, "due_shard": shard}
        client.put_item(TableName="state", Item=due | key | changed)
    later = NOW + timedelta(hours=1)
    assert {each.ref for each in ledger.due(later, 2)} == {ref("vol-1"), ref("vol-2")}
    assert owner in caplog.text
    assert owner in ledger.due(later, 2).left_out


def test_a_place_in_the_queue_that_is_not_understood_hides_no_other(
    client: Any, ledger: DynamoLedger, caplog: pytest.LogCaptureFixture
) -> None:
    strange = {
        "owner": {"S": ref("vol-9").arn}, "item": {"S": STATE_ITEM}, "waiting": {"M": {}},
        "waiting_rank": {"S": "0"}, "waiting_shard": {"S": WAITING_SHARD},
    }  # fmt: skip
    client.put_item(TableName="state", Item=strange)
    assert ledger.queue(10) == ()
    assert "vol-9" in caplog.text


def test_a_record_that_expires_while_it_is_read_is_no_more(
    client: Any, ledger: DynamoLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour, read = timedelta(hours=1), ledger._reads.items

    def expired(*given: Any, **named: Any) -> Any:
        return [i for i in read(*given, **named) if i["step"]["S"] != "intended"]

    monkeypatch.setattr(ledger._reads, "items", expired)
    found = ledger.by_time(since=NOW - hour, until=NOW + hour)
    assert [record.step for record in found] == [Step.DECIDED]


def test_a_damaged_record_of_one_request_hides_no_other(client: Any, ledger: DynamoLedger) -> None:
    for number in (7, 8):
        ask(ledger, needing(f"d{number}", f"vol-{number}"))
    (awaiting,) = (
        i for i in items(client, "records")
        if i["step"]["S"] == "awaiting" and i["resource"]["S"] == ref("vol-7").arn
    )  # fmt: skip
    client.put_item(TableName="records", Item=awaiting | {"at": {"S": "garbage"}})
    found = ledger.waiting(NOW)
    assert len(found) == 2
