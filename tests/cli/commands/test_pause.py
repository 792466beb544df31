"""`headroom pause`, `resume`, `breaker` and `status` on the tables of an account."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.main import run
from headroom.domain.state import INDEFINITE
from headroom.domain.state.breakers import MAX_ACCOUNT_FAILURES
from headroom.policy import default_policy
from tests.builders import ACCOUNT, NOW, REGION, ref
from tests.cli.commands.signed_in import account, deployed
from tests.cli.deployed import deploy
from tests.contracts.decisions import broken, failed

VOLUME = "vol-0abc1"
HERE = ["--region", REGION]


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Iterator[DynamoLedger]:
    """The ledger of an account with a deployment and a published policy."""
    deploy(monkeypatch)
    with account(monkeypatch):
        yield deployed()


def said(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def recorded(ledger: DynamoLedger, outcome: str) -> list[str]:
    now = datetime.now(UTC)
    found = ledger.by_outcome(outcome, since=now - timedelta(hours=1), until=now)
    return [record.summary for record in found]


def test_a_pause_stops_the_account_at_once_and_says_who_and_why(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pause", "--reason", "load test", *HERE]) == 0
    assert capsys.readouterr().out == (
        f"Paused: no changes in account {ACCOUNT}, {REGION} until somebody resumes.\n"
    )
    pause = ledger.stop_state().account.pause
    assert pause is not None
    assert (pause.until, pause.reason) == (INDEFINITE, "load test")
    assert pause.who.startswith(f"arn:aws:sts::{ACCOUNT}:")
    (summary,) = recorded(ledger, "paused")
    assert summary == f"paused without end by {pause.who}: load test"


def test_a_pause_for_a_time_ends_by_itself(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    before = datetime.now(UTC)
    assert run(["pause", "--for", "2h", "--json", *HERE]) == 0
    pause = ledger.stop_state().account.pause
    assert pause is not None
    assert before <= pause.until - timedelta(hours=2) <= datetime.now(UTC)
    assert said(capsys)["paused"]["until"] == pause.until.isoformat()


def test_a_shorter_pause_leaves_the_longer_one_in_force_and_says_so(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pause", "--reason", "incident", *HERE]) == 0
    capsys.readouterr()
    assert run(["pause", "--for", "1h", *HERE]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Paused: no changes in account {ACCOUNT}, {REGION} until somebody resumes.",
        "Note: a pause without end is in force and stays; `headroom resume` ends it.",
    ]
    pause = ledger.stop_state().account.pause
    assert pause is not None
    assert (pause.until, pause.reason) == (INDEFINITE, "incident")
    assert len(recorded(ledger, "paused")) == 1


@pytest.mark.parametrize("text", ["2", "h", "-2h", "0m", "91d", "2 hours", "1h30m", "9999999m"])
def test_a_time_that_is_none_is_refused_and_nothing_is_paused(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert run(["pause", f"--for={text}", *HERE]) == 2
    assert "write 30m, 2h or 7d" in capsys.readouterr().err
    assert ledger.stop_state().account.pause is None


def test_a_reason_is_one_line_and_not_a_novel(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pause", "--reason", "x" * 501, *HERE]) == 2
    assert "500 is the most" in capsys.readouterr().err
    assert run(["pause", "--reason", "load\n test \udcff", *HERE]) == 0
    pause = ledger.stop_state().account.pause
    assert pause is not None
    assert pause.reason == "load test ?"


def test_a_resume_ends_the_pause_and_the_accounts_breaker_and_lists_the_rest(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(ledger, VOLUME)
    for number in range(MAX_ACCOUNT_FAILURES - 5):
        failed(ledger, f"f{number}", f"vol-{number}")
    assert run(["pause", *HERE]) == 0
    capsys.readouterr()
    assert run(["resume", "--reason", "role fixed", *HERE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Resumed: Headroom makes changes in account {ACCOUNT}, {REGION}."
    assert lines[1].startswith(f"Still stopped: {VOLUME}, since 2026-01-05 12:00Z, after 5")
    assert f"`headroom breaker close {VOLUME}`" in lines[1]
    stop_state = ledger.stop_state()
    assert (stop_state.account.pause, stop_state.account.breaker) == (None, None)
    assert len(stop_state.breakers) == 1
    assert [s.partition(": ")[2] for s in recorded(ledger, "resumed")] == ["role fixed"]
    assert len(recorded(ledger, "breaker_closed")) == 1


def test_a_resume_of_what_runs_records_nothing(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["resume", *HERE]) == 0
    assert "Nothing was paused" in capsys.readouterr().out
    assert recorded(ledger, "resumed") == []


def test_a_breaker_is_listed_and_closed_with_a_reason(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["breaker", "list", *HERE]) == 0
    assert "No breaker is open" in capsys.readouterr().out
    broken(ledger, VOLUME)
    assert run(["breaker", "list", "--json", *HERE]) == 1
    (row,) = said(capsys)
    assert (row["resource"], row["failures"]) == (ref(VOLUME).arn, 5)
    assert run(["breaker", "close", VOLUME, "--reason", "role fixed", *HERE]) == 0
    assert f"Closed: Headroom changes {VOLUME} again" in capsys.readouterr().out
    assert ledger.resource_state(ref(VOLUME), NOW).breaker_opened_at is None
    assert recorded(ledger, "breaker_closed")[0].endswith(": role fixed")
    assert run(["breaker", "close", ref(VOLUME).arn, *HERE]) == 0
    assert "was not open" in capsys.readouterr().out


def test_the_accounts_breaker_is_closed_by_name_only(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(MAX_ACCOUNT_FAILURES):
        failed(ledger, f"f{number}", f"vol-{number}")
    assert run(["breaker", "list", *HERE]) == 1
    assert "the whole account, since" in capsys.readouterr().out
    assert run(["breaker", "close", "--account", "--json", *HERE]) == 0
    assert said(capsys)["closed"] is True
    assert ledger.stop_state().account.breaker is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["close"], "Name a volume or database, or use --account"),
        (["close", VOLUME, "--account"], "Either name a volume or database, or use --account"),
        (["close", "db-1"], "is not a volume id"),
    ],
)
def test_what_cannot_be_closed_is_one_sentence(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], words: list[str], says: str
) -> None:
    assert run(["breaker", *words, *HERE]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_the_status_lists_policy_pause_and_breakers(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", *HERE]) == 0
    output = capsys.readouterr().out
    assert f"Policy: version {default_policy().version}, default mode observe" in output
    assert "Nothing is paused" in output
    broken(ledger, VOLUME)
    run(["pause", "--for", "2h", "--reason", "load test", *HERE])
    capsys.readouterr()
    assert run(["status", *HERE]) == 0
    output = capsys.readouterr().out
    assert "Paused until " in output
    assert ": load test" in output
    assert f"Stopped: {VOLUME}" in output
    assert run(["status", "--json", *HERE]) == 0
    found = said(capsys)
    assert found["policy_version"] == default_policy().version
    assert found["paused"]["reason"] == "load test"
    assert len(found["breakers"]) == 1


def test_the_status_reports_an_unreadable_policy(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    boto3.client("ssm", region_name=REGION).delete_parameter(Name="/headroom/policy")
    assert run(["status", *HERE]) == 0
    assert "Policy: unreadable, so Headroom changes nothing" in capsys.readouterr().out


def test_an_audit_says_what_is_stopped_beside_the_records(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(ledger, VOLUME)
    ledger.pause(None, at=NOW, who="alice", reason="load test")
    assert run(["audit", "--outcome", "paused", "--since", NOW.isoformat(), *HERE]) == 0
    printed = capsys.readouterr()
    assert (
        "Paused until somebody resumes, since 2026-01-05 12:00Z by alice: load test" in printed.err
    )
    assert f"Stopped: {VOLUME}" in printed.err
    assert "paused without end by" in printed.out


@pytest.mark.parametrize("outcome", ["paused", "breaker_opened"])
def test_what_stopped_it_can_be_explained(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], outcome: str
) -> None:
    broken(ledger, VOLUME)
    ledger.pause(None, at=NOW, who="alice", reason="load test")
    (record,) = ledger.by_outcome(outcome, since=NOW, until=NOW)
    assert run(["explain", record.decision_id, *HERE]) == 0
    assert record.summary in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("words", [["pause"], ["resume"], ["status"], ["breaker", "list"]])
def test_an_account_without_a_deployment_gets_one_sentence(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run([*words, "--stack", "Elsewhere", *HERE]) == 1
    error = capsys.readouterr().err
    assert "There is no stack Elsewhere in us-east-1." in error
    assert error.count("\n") == 1
