"""`headroom status` lists what is under way, what is closed, and who waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.commands import status
from headroom.cli.main import run
from headroom.domain.state import QueueEntry
from headroom.policy import canonical_json, parse_policy
from headroom.ports.limits import NoCalendars
from tests.builders import REGION, ref
from tests.cli.commands.test_pause import HERE, ledger, said
from tests.contracts.decisions import act, intended

__all__ = ["ledger"]
DOCUMENT = {
    "defaults": {"change_windows": ["Mon-Sun 00:00-24:00 UTC"]},
    "account": {
        "max_in_flight": 7, "max_in_flight_per_az": 3, "max_changes_per_hour": 9,
        "freezes": [{"from": "2020-01-01", "until": "2099-12-31", "reason": "for ever"}],
        "calendars": ["closed-days"],
    },
    "rules": [
        {"match": {"tags": {"tier": "db"}},
         "set": {"change_windows": ["Sat 00:00-24:00 UTC & Sun 00:00-24:00 UTC"]}}
    ],
}  # fmt: skip


@pytest.fixture
def busy(ledger: DynamoLedger, monkeypatch: pytest.MonkeyPatch) -> DynamoLedger:
    monkeypatch.setattr(status, "ManagerCalendars", lambda _: NoCalendars())  # moto knows none
    policy = parse_policy(DOCUMENT, source="policy")
    boto3.client("ssm", region_name=REGION).put_parameter(
        Name="/headroom/policy", Value=canonical_json(policy), Type="String", Overwrite=True
    )
    now = datetime.now(UTC)
    for number in range(2):
        decision = replace(act(f"d{number}", f"vol-{number}", at=now))
        intended(ledger, decision, now, lease_until=now + timedelta(minutes=20))
    waiting = QueueEntry(since=now, starved_minutes=42, zone="us-east-1a")
    ledger.reconciled(ref("vol-9"), at=now, due_at=None, waiting=waiting)
    return ledger


def test_the_status_lists_limits_hours_and_queue(
    busy: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", *HERE]) == 0
    output = capsys.readouterr().out
    assert (
        "In progress: 2 of at most 7 changes, 2 of 3 in us-east-1a; started in the last 60 minutes: "
        "2 of at most 9."
    ) in output
    assert "Frozen until 2100-01-01 00:00Z: for ever" in output
    assert "Frozen: the calendar closed-days cannot be read: " in output
    assert "Change windows of the defaults: open" in output
    assert "Change windows of rule 1: never open" in output
    assert "In the queue: 1, the next of them vol-9 (42 starved minutes, since " in output


def test_the_status_has_them_as_json(
    busy: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["status", "--json", *HERE]) == 0
    found = said(capsys)["concurrency"]
    assert {c["resource"] for c in found["in_flight"]} == {ref("vol-0").arn, ref("vol-1").arn}
    assert (found["begun_in_the_last_hour"], found["max_changes_per_hour"]) == (2, 9)
    assert found["frozen_until"] == "2100-01-01T00:00:00+00:00"
    assert [c["open"] for c in found["calendars"]] == [False]
    assert [w["open"] for w in found["change_windows"]] == [True, False]
    assert [one["starved_minutes"] for one in found["queue"]] == [42]
