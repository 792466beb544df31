"""`headroom audit` and `headroom explain` on the tables of an account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.main import run
from headroom.domain.decision import decide
from headroom.domain.resources import Claim, SourceEvent
from headroom.domain.state import EventOutcome, EventRecord, LedTo, event_record
from tests.builders import ACCOUNT, NOW, REGION, decision_input, ref, starved_gp3, volume
from tests.cli.commands import signed_in
from tests.cli.commands.signed_in import STACK, tables

DECISION = decide(decision_input())


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An account with both tables and one decision in them."""
    with signed_in.account(monkeypatch):
        assert tables().decided(DECISION, due_at=None)
        yield boto3.client("cloudformation", region_name=REGION)


def since() -> list[str]:
    return ["--since", NOW.isoformat()]


def test_the_table_is_found_by_the_stack_that_holds_it(
    account: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    account.create_stack(StackName="HeadroomState", TemplateBody=STACK)
    assert run(["audit", "--region", REGION, "--json", *since()]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [r["decision_id"] for r in found] == [DECISION.decision_id]


@pytest.mark.parametrize("words", [["--resource", "vol-1"], ["--outcome", "act"]])
def test_a_named_table_answers_by_volume_and_by_outcome(
    account: Any, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    place = ["--records-table", "records", "--region", REGION]
    assert run(["audit", *place, *words, "--json", *since()]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert run(["audit", *place, "--resource", "vol-2", "--json", *since()]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_decision_is_explained_from_the_table(
    account: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--records-table", "records", "--region", REGION]
    assert run(["explain", DECISION.decision_id, *place]) == 0
    assert "ACT vol-1 at 2026-01-05 12:00Z" in capsys.readouterr().out


def test_an_account_without_a_deployment_gets_one_sentence(
    account: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--region", REGION]) == 1
    said = capsys.readouterr().err
    assert said.startswith("headroom: There is no stack HeadroomState")
    assert "HeadroomState" in said
    assert said.count("\n") == 1


def test_an_explanation_lists_the_volumes_own_limits_and_their_origin(
    account: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = (("headroom", "auto"), ("headroom:max-iops", "8000"), ("headroom:growth", "true"))
    own = decide(decision_input(starved_gp3(vol=volume(tags=tags))))
    client = boto3.client("dynamodb", region_name=REGION)
    book = DynamoLedger(
        client, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION
    )
    assert book.decided(own, due_at=None)
    assert run(["explain", own.decision_id, "--records-table", "records", "--region", REGION]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "mode auto (from tag)" in output
    assert "max_iops 8,000 (from tag headroom:max-iops)" in output
    assert "tag headroom:growth asks for true where the policy allows false" in output


@pytest.fixture
def at_home(account: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local endpoint an hour after the decision, and nothing else that names an account."""
    account.create_stack(StackName="HeadroomState", TemplateBody=STACK)
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.delenv(f"AWS_{name}")
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    here = SimpleNamespace(url=None, credentials=keys)  # None: whatever AWS is in this process
    found = (here, NOW + timedelta(hours=1))
    monkeypatch.setattr("headroom.cli.sources.account.running", lambda: found)


def test_the_local_endpoint_is_asked_by_its_own_clock(
    at_home: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--local", "--since", "2h", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 1
    assert run(["audit", "--local", "--since", "30m", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert run(["explain", DECISION.decision_id, "--local"]) == 0


def test_the_local_endpoint_is_no_profile_and_no_file(
    at_home: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["audit", "--local", "--profile", "x"]) == 2
    assert run(["audit", "--local", "--file", "records.json"]) == 2


def event(event_id: str, name: str) -> EventRecord:
    source = SourceEvent(event_id=event_id, claimed_at=NOW, claim=Claim.PRESSURE)
    outcome = EventOutcome(led_to=LedTo.DECISION, which=DECISION.decision_id, detail="hold")
    return event_record(source, (ref(name).arn,), outcome, at=NOW)


def test_events_are_listed_with_what_they_led_to(
    account: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    client = boto3.client("dynamodb", region_name=REGION)
    book = DynamoLedger(
        client, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION
    )
    book.record_events([event("e1", "vol-1")])
    book.record_events([event("e2", "vol-2")])
    command = ["audit", "--events", "--region", REGION, "--records-table", "records", *since()]
    assert run([*command, "--resource", "vol-2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["event_id"], row["which"]) == ("e2", DECISION.decision_id)
    assert row["resources"] == [ref("vol-2").arn]
    assert run(command) == 0
    assert "decision" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--outcome", "act"], ["--follow"], ["--csv", "-"]])
def test_events_take_no_option_of_records(words: list[str]) -> None:
    assert run(["audit", "--events", "--region", REGION, *words]) != 0
