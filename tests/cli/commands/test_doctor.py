"""`headroom doctor` at the command line: exit codes, JSON, and a stack that is not there."""

from __future__ import annotations

import json

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.commands import doctor as command
from headroom.cli.doctor.findings import Fact
from headroom.cli.main import run
from tests.builders import ACCOUNT, REGION
from tests.cli.commands.test_budget import HERE, ledger

__all__ = ["ledger"]


def test_findings_come_with_their_fix_and_exit_code_2(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", *HERE]) == 2
    output = capsys.readouterr().out
    assert "FINDING  stacks: there is no stack HeadroomLoop." in output
    assert "Fix: deploy again (`cdk deploy --all`)" in output
    assert f" findings in account {ACCOUNT}, {REGION}." in output


def test_the_same_as_json(ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json", *HERE]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] is False
    assert found["findings"] == sum(len(each["findings"]) for each in found["checks"])
    assert [each["check"] for each in found["checks"]] == [name for name, _ in command.CHECKS]
    assert all(one["fix"] for each in found["checks"] for one in each["findings"])


def test_a_healthy_deployment_has_exit_code_0(
    ledger: DynamoLedger, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        command, "CHECKS", (("policy", lambda _: iter([Fact(text="version 1")])),)
    )  # fmt: skip
    assert run(["doctor", *HERE]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ok       policy: version 1",
        f"All is well in account {ACCOUNT}, {REGION}.",
    ]


def test_without_a_deployment_it_is_an_error(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    boto3.client("cloudformation", region_name=REGION).delete_stack(StackName="HeadroomState")
    assert run(["doctor", *HERE]) == 1
    assert "There is no stack HeadroomState in" in capsys.readouterr().err
