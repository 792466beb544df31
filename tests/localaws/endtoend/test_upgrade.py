"""A deployment of an earlier release full of open chains is upgraded in place, rolled back, and upgraded again.

Both releases are really deployed: their own templates, and their own code in the functions. The earlier one
is in `tests/stored/earlier_release.tar.xz` (`tests/upgrade/package.py`). `tests/upgrade/test_upgrade.py` goes
through every step of a chain without an endpoint.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.ledger.items import record_of
from headroom.cli.main import run
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import Record, Step, broken_link
from headroom.localaws.daemon import LocalAws
from tests import ROOT
from tests.localaws.conftest import START, Program
from tests.stacks.conftest import shared_synth
from tests.upgrade.package import Package, present, stored

EARLIER = ROOT / "tests" / "stored" / "earlier_release.tar.xz"
DONE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
BUCKET = "cdk-hnb659fds-assets-123456789012-us-east-1"
AT_ONCE = 3
STARVED = {
    "steps": [{"for": "5m", "iops": 500, "io_kib": 16}, {"for": "20h", "iops": 4000, "io_kib": 16}]
}
CHANGED = "decided intended applied"
APPROVED = "decided awaiting approved intended applied"

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "wheels").exists(), reason="needs the functions' wheels: run `make setup`"
)


class Account:
    """Starving volumes, and stacks that are one release's or the other's."""

    def __init__(self, program: Program) -> None:
        self.program = program
        aws, client = program.aws, program.client
        client("ssm").put_parameter(
            Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String"
        )
        client("s3").create_bucket(Bucket=BUCKET)
        aws.control("clock", {"set": START})
        self.volumes = []
        for mode in ["auto"] * (AT_ONCE + 1) + ["approve"] * 2:
            tags = [{"Key": "headroom", "Value": mode}]
            volume = program.volume(
                attached=True, TagSpecifications=[{"ResourceType": "volume", "Tags": tags}]
            )
            attachment = {"instance_type": "m6i.2xlarge"}
            aws.control(
                "load", {"volume_id": volume, "workload": STARVED, "attachment": attachment}
            )
            self.volumes.append(volume)
        program.tick(20)

    def deploy(self, package: Package) -> None:
        """Create or update both stacks."""
        formation = self.program.client("cloudformation")
        for stack, template in package.templates.items():
            for resource in template["Resources"].values():
                self._prepare(resource, package.code)
            there = [one["StackName"] for one in formation.describe_stacks()["Stacks"]]
            deploy = formation.update_stack if stack in there else formation.create_stack
            try:
                deploy(
                    StackName=stack, TemplateBody=json.dumps(template),
                    Capabilities=["CAPABILITY_IAM"],
                )  # fmt: skip
            except ClientError as refusal:
                if "No updates are to be performed" not in str(refusal):
                    raise
            (made,) = formation.describe_stacks(StackName=stack)["Stacks"]
            assert made["StackStatus"] in DONE, made.get("StackStatusReason")

    def _prepare(self, resource: dict[str, Any], code: bytes) -> None:
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Lambda::Function":
            key = properties["Code"]["S3Key"]
            self.program.client("s3").put_object(Bucket=BUCKET, Key=key, Body=code)
        if resource["Type"] == "AWS::SSM::Parameter":
            shipped = properties["Value"]
            properties["Value"] = shipped.replace(
                '"max_in_flight":20', f'"max_in_flight":{AT_ONCE}'
            )

    @property
    def ledger(self) -> DynamoLedger:
        """What is stored, read by this release."""
        stacks = self.program.client("cloudformation").describe_stacks()["Stacks"]
        outputs = {o["OutputKey"]: o["OutputValue"] for s in stacks for o in s.get("Outputs", ())}
        return DynamoLedger(
            self.program.client("dynamodb"), records_table=outputs["RecordsTable"],
            state_table=outputs["StateTable"], account_id="123456789012", region="us-east-1",
        )  # fmt: skip

    def chains(self) -> list[list[Record]]:
        """Every chain, oldest record first."""
        client, found = self.program.client("dynamodb"), dict[str, list[Record]]()
        (table,) = [name for name in client.list_tables()["TableNames"] if "Records" in name]
        for page in client.get_paginator("scan").paginate(TableName=table):
            for item in page["Items"]:
                if "step" in item:
                    record = record_of(item)
                    found.setdefault(record.decision_id, []).append(record)
        return [sorted(chain, key=lambda r: r.sequence) for chain in found.values()]

    def steps(self) -> Counter[str]:
        """How often there is a chain of these steps; those that are a decision alone do not count."""
        chains = (" ".join(record.step for record in chain) for chain in self.chains())
        return Counter(steps for steps in chains if " " in steps)

    def approve(self) -> None:
        """A person approves one change that waits for it."""
        waiting = (chain for chain in self.chains() if chain[-1].step is Step.AWAITING)
        assert run(["approve", next(waiting)[0].decision_id]) == 0


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    with LocalAws(clock="lockstep", seed=7, effect_minutes=2, completed_minutes=4) as aws:
        for name, value in aws.environment().items():
            monkeypatch.setenv(name, value)
        yield Account(Program(aws))


def test_open_chains_go_on_when_the_release_is_replaced_and_when_it_comes_back(
    account: Account, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    earlier = stored(EARLIER, tmp_path)
    account.deploy(earlier)
    account.program.tick(2)
    account.approve()
    left = {"decided withdrawn": 1}  # the fourth: it has no place, and waits in the queue
    assert account.steps() == {
        CHANGED: AT_ONCE, **left, "decided awaiting": 1, "decided awaiting approved": 1,
    }  # fmt: skip
    assert len(account.ledger.queue(9)) == 1

    later = present(shared_synth(tmp_path_factory)().directory)
    account.deploy(later)
    account.program.tick(12)
    relieved = {f"{CHANGED} relieved": AT_ONCE}
    assert account.steps() == {**relieved, **left, "decided awaiting": 1, CHANGED: 1, APPROVED: 1}
    account.approve()

    account.deploy(earlier)  # which cannot read what the later release decided, and leaves it alone
    account.program.tick(18)
    relieved |= {f"{APPROVED} relieved": 2}
    assert account.steps() == {**relieved, **left, CHANGED: 1}

    account.deploy(later)
    account.program.tick(18)
    relieved |= {f"{CHANGED} relieved": AT_ONCE + 1}
    assert account.steps() == {**relieved, **left}
    nothing_is_lost(account)


def nothing_is_lost(account: Account) -> None:
    """Every chain is whole, nothing is open or parked, and the sum is what the changes cost."""
    assert all(broken_link(tuple(chain)) is None for chain in account.chains())
    ledger, now = account.ledger, account.chains()[-1][-1].at
    refs = [
        ResourceRef(kind=Kind.EBS, account_id="123456789012", region="us-east-1", resource_id=name)
        for name in account.volumes
    ]
    states = [ledger.resource_state(ref, now) for ref in refs]
    assert {(state.open_chain, state.approval_request) for state in states} == {(None, None)}
    assert states[0].concurrency.in_flight == ()
    assert ledger.queue(9) == ()
    assert not any(account.program.aws.control("state")["queues"].values())
    assert account.program.aws.control("iam")["denials"] == []
