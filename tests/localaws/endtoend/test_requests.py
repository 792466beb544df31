"""A person approves a change, then rolls it back: the real adapters, in lock-step."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import boto3
import pytest

from headroom import application, wiring
from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.prices import CataloguePrices
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.domain.decision import Act
from headroom.domain.state import Record, Step, broken_link
from headroom.policy import canonical_json, default_policy
from headroom.ports import Ports
from headroom.settings import FunctionSettings
from tests.localaws.conftest import START, Program

LOAD = {
    "steps": [{"for": "5m", "iops": 500, "io_kib": 16}, {"for": "20h", "iops": 4000, "io_kib": 16}]
}
SETTINGS = FunctionSettings(
    records_table="records", state_table="state", policy_parameter="/headroom/policy",
    topic_arn="arn:aws:sns:us-east-1:123456789012:headroom",
    queue_url="https://sqs.us-east-1.amazonaws.com/123456789012/work",
)  # fmt: skip
WHO = "arn:aws:iam::123456789012:user/alice"


class Account:
    """An account at the endpoint with Headroom's tables, its ports, and its one clock."""

    def __init__(self, program: Program, ports: Ports) -> None:
        self.program, self.ports = program, ports
        self.now = datetime.fromisoformat(START)

    @property
    def ledger(self) -> DynamoLedger:
        assert isinstance(self.ports.ledger, DynamoLedger)
        return self.ports.ledger

    def minutes_until(self, done: Any, most: int) -> Any:
        for _ in range(most):
            self.program.tick()
            self.now += timedelta(minutes=1)
            report = application.sweep(self.ports, self.now)
            assert report.errors == ()
            if found := done():
                return found
        raise AssertionError(f"it did not come in {most} minutes")

    def steps(self, decision_id: str) -> list[Step]:
        return [record.step for record in self.ledger.chain(decision_id)]


@pytest.fixture
def account(program: Program, monkeypatch: pytest.MonkeyPatch) -> Account:
    for name, value in program.aws.environment().items():
        monkeypatch.setenv(name, value)
    program.client("dynamodb").create_table(**create_table(RECORDS, "records"))
    program.client("dynamodb").create_table(**create_table(STATE, "state"))
    program.client("sns").create_topic(Name="headroom")
    program.client("ssm").put_parameter(
        Name="/headroom/policy", Value=canonical_json(default_policy()), Type="String"
    )
    ports = replace(wiring.FleetAccount(
        SETTINGS, region="us-east-1", account_id="123456789012",
        session=boto3.Session(region_name="us-east-1")).ports,
        prices=CataloguePrices(), clock=None)  # fmt: skip
    return Account(program, ports)


def test_what_a_person_approves_lands_and_what_they_want_undone_is_undone(account: Account) -> None:
    program = account.program
    volume = program.volume(
        attached=True,
        TagSpecifications=[
            {"ResourceType": "volume", "Tags": [{"Key": "headroom", "Value": "approve"}]}
        ],
    )
    program.aws.control(
        "load",
        {"volume_id": volume, "workload": LOAD, "attachment": {"instance_type": "m6i.2xlarge"}},
    )
    (decision,) = account.minutes_until(lambda: account.ledger.waiting(account.now), 45)
    assert iops(program, volume) == 3000
    given = account.ledger.answer(decision.decision_id, Step.APPROVED, at=account.now, who=WHO)
    assert isinstance(given, Record)
    account.minutes_until(lambda: Step.APPLIED in account.steps(decision.decision_id), 1)
    assert isinstance(decision.answer, Act)
    ended = account.minutes_until(
        lambda: Step.RELIEVED in account.steps(decision.decision_id) and not busy(program), 600
    )
    assert ended
    assert iops(program, volume) == decision.answer.plan.target.iops

    asked = account.ledger.request_rollback(decision.decision_id, at=account.now, who=WHO)
    assert isinstance(asked, Record)
    (undone,) = account.minutes_until(lambda: rollbacks(account), 1)
    account.minutes_until(lambda: account.steps(undone)[-1] is Step.ROLLED_BACK, 600)
    assert iops(program, volume) == 3000
    for name in (decision.decision_id, undone):
        assert broken_link(account.ledger.chain(name)) is None


def iops(program: Program, volume: str) -> int:
    found = program.client("ec2").describe_volumes(VolumeIds=[volume])["Volumes"]
    return int(found[0]["Iops"])


def busy(program: Program) -> bool:
    changes = program.client("ec2").describe_volumes_modifications()["VolumesModifications"]
    return any(change["ModificationState"] != "completed" for change in changes)


def rollbacks(account: Account) -> list[str]:
    made = account.ledger.by_outcome(
        "applied", since=account.now - timedelta(minutes=2), until=account.now
    )
    return [r.decision_id for r in made if account.ledger.decision(r.decision_id).rollback_of]
