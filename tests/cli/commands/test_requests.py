"""`headroom approvals`, `approve`, `reject` and `rollback` on the tables of an account."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.cli.main import run
from headroom.domain.decision import Act, Decision
from headroom.domain.planning import Plan
from headroom.domain.resources import Configuration
from headroom.domain.state import Applied, ApprovalRequest, Step
from tests.builders import REGION, gp3
from tests.cli.commands.test_pause import HERE, ledger, recorded, said
from tests.contracts.decisions import about, act, append, intended

__all__ = ["ledger"]
VOLUME = "vol-0abc1"


def needing(decision_id: str = "d1", volume: str = VOLUME, *, hours: float = 8) -> Decision:
    """A decision that waits for a person for so many hours from now."""
    now = datetime.now(UTC)
    decision = about(act(decision_id, volume), volume, now)
    assert isinstance(decision.answer, Act)
    answer = replace(
        decision.answer, approval="the mode is approve", expires=now + timedelta(hours=hours)
    )
    return replace(decision, answer=answer)


def ask(ledger: DynamoLedger, decision: Decision) -> None:
    answer = decision.answer
    assert isinstance(answer, Act)
    assert answer.expires is not None
    asked = ApprovalRequest(
        decision_id=decision.decision_id, requested_at=decision.at, expires=answer.expires,
        origin=answer.plan.origin, target=answer.plan.target,
        price_change_usd=answer.plan.price_change_usd,
    )  # fmt: skip
    ledger.decided(decision, due_at=None)
    append(ledger, decision, Step.AWAITING, at=decision.at, body={"asked": asked},
           due_at=answer.expires)  # fmt: skip


def test_approvals_lists_what_waits_and_nothing_else(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["approvals", *HERE]) == 0
    assert "Nothing waits for approval" in capsys.readouterr().out
    ask(ledger, needing("later", hours=4))
    ask(ledger, needing("sooner", "vol-0abc2", hours=2))
    assert run(["approvals", "--json", *HERE]) == 0
    found = said(capsys)
    assert [each["decision_id"] for each in found] == ["sooner", "later"]
    assert found[1]["resource"].endswith(f"volume/{VOLUME}")
    assert (found[0]["why"], found[0]["from"]) == ("the mode is approve", str(gp3()))
    assert run(["status", *HERE]) == 0
    assert "Waiting for approval: 2; `headroom approvals`" in capsys.readouterr().out
    assert run(["approvals", *HERE]) == 0
    table = capsys.readouterr().out
    assert all(word in table for word in ("sooner", "later", VOLUME, "the mode is approve"))


def test_a_request_that_cannot_be_read_hides_no_other_and_says_what_to_do(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(ledger, needing("fine", hours=4))
    ask(ledger, needing("broken", "vol-0abc2", hours=2))
    boto3.client("dynamodb", region_name=REGION).update_item(
        TableName="records",
        Key={"decision_id": {"S": "broken"}, "sequence": {"N": "0"}},
        UpdateExpression="SET body = :body",
        ExpressionAttributeValues={":body": {"S": '{"format":99}'}},
    )
    assert run(["approvals", "--json", *HERE]) == 1
    printed = capsys.readouterr()
    assert [each["decision_id"] for each in json.loads(printed.out)] == ["fine"]
    assert "vol-0abc2" in printed.err
    assert "format 99" in printed.err
    assert "`headroom reject broken` ends it" in printed.err
    assert run(["status", *HERE]) == 0
    assert "Waiting for approval: 2" in capsys.readouterr().out
    assert run(["reject", "broken", *HERE]) == 0
    capsys.readouterr()
    assert run(["approvals", *HERE]) == 0
    assert "fine" in capsys.readouterr().out


@pytest.mark.parametrize(("word", "step"), [("approve", "approved"), ("reject", "rejected")])
def test_an_answer_is_recorded_with_who_and_why_and_is_due_at_once(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], word: str, step: str
) -> None:
    decision = needing()
    ask(ledger, decision)
    assert run([word, "d1", "--reason", "month end", *HERE]) == 0
    assert capsys.readouterr().out.startswith(f"{step.capitalize()}: d1 is ")
    (summary,) = recorded(ledger, step)
    assert summary.startswith(f"{step} by arn:aws:")
    assert summary.endswith(": month end")
    assert [d.ref.resource_id for d in ledger.due(datetime.now(UTC), 5)] == [VOLUME]


def test_the_same_answer_again_is_no_error_and_a_no_is_final(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    ask(ledger, needing())
    assert run(["approve", "d1", *HERE]) == 0
    assert run(["approve", "d1", "--json", *HERE]) == 0
    answers = capsys.readouterr().out
    assert json.loads(answers[answers.index("{") :]) == {
        "decision_id": "d1", "answer": "approved", "news": False,
    }  # fmt: skip
    assert run(["reject", "d1", *HERE]) == 0
    assert run(["approve", "d1", *HERE]) == 2
    assert "d1 cannot be approved: it was rejected already" in capsys.readouterr().err


def test_what_cannot_be_answered_is_refused_with_one_sentence(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger.decided(about(act("plain"), "vol-0abc3"), due_at=None)
    late = needing("late", "vol-0abc4", hours=-0.5)
    ask(ledger, late)
    over = needing("over", "vol-0abc5")
    ask(ledger, over)
    append(ledger, over, Step.EXPIRED)
    for word, name, why in (
        ("reject", "nothing", "there is no such decision"),
        ("approve", "plain", "it waits for nobody: its last step is decided"),
        ("approve", "late", "it expired at "),
        ("reject", "over", "it expired before anybody answered"),
    ):
        assert run([word, name, *HERE]) == 2
        said_so = " ".join(capsys.readouterr().err.split())
        step = {"approve": "approved", "reject": "rejected"}[word]
        assert said_so.startswith(f"headroom: {name} cannot be {step}: {why}"), said_so
    assert run(["approve", "plain", "--reason", "x" * 501, *HERE]) == 2


@pytest.fixture
def changed(ledger: DynamoLedger) -> tuple[DynamoLedger, str]:
    """A volume that a change of Headroom made what it is, and its ledger."""
    ec2: Any = boto3.client("ec2", region_name=REGION)
    made = ec2.create_volume(
        AvailabilityZone="us-east-1a", Size=100, VolumeType="gp3", Iops=6000, Throughput=250
    )
    now = datetime.now(UTC)
    decision = about(act("d1", made["VolumeId"]), made["VolumeId"], now)
    plan = plan_of(decision)
    decision = to(decision, plan, gp3(100, 6000, 250))
    intent = intended(ledger, decision, now, lease_until=now + timedelta(hours=1))
    append(ledger, decision, Step.APPLIED, intent=intent, at=now,
           body={"outcome": Applied(started_at=now)})  # fmt: skip
    append(ledger, decision, Step.RELIEVED, intent=intent, at=now)
    return ledger, made["VolumeId"]


def plan_of(decision: Decision) -> Plan:
    assert isinstance(decision.answer, Act)
    return decision.answer.plan


def to(decision: Decision, plan: Plan, target: Configuration) -> Decision:
    assert isinstance(decision.answer, Act)
    moved = replace(plan, target=target)
    judged = replace(decision.judgements[0], plan=moved)
    return replace(decision, answer=replace(decision.answer, plan=moved), judgements=(judged,))


def test_a_rollback_says_what_it_would_set_at_what_price_and_for_which_slot(
    changed: tuple[DynamoLedger, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, volume = changed
    assert run(["rollback", "d1", "--dry-run", *HERE]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"{volume}: {gp3(100, 6000, 250)} -> {gp3()}, -$")
    assert "one of AWS's 4 changes in 24 hours, of which 3 are known to be left" in text
    assert recorded(ledger, "rollback_requested") == []


def test_a_rollback_is_asked_for_with_a_record_and_nothing_else(
    changed: tuple[DynamoLedger, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, volume = changed
    assert run(["rollback", "d1", "--reason", "slower", "--json", *HERE]) == 0
    result = said(capsys)
    assert (result["asked"], result["to"], result["slots_left"]) == (True, str(gp3()), 3)
    (summary,) = recorded(ledger, "rollback_requested")
    assert summary.startswith("rollback of d1 asked for by arn:aws:")
    assert summary.endswith(": slower")
    ec2: Any = boto3.client("ec2", region_name=REGION)
    assert ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Iops"] == 6000
    assert run(["rollback", "d1", *HERE]) == 2
    assert "asked for a rollback of d1 already" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_be_set_back_is_refused_with_one_sentence(
    changed: tuple[DynamoLedger, str], capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, volume = changed
    ledger.decided(about(act("plain", volume), volume, datetime.now(UTC)), due_at=None)
    gone = about(act("gone"), "vol-0dead", datetime.now(UTC))
    ledger.decided(gone, due_at=None)
    ec2: Any = boto3.client("ec2", region_name=REGION)
    for name, why in (
        ("nothing", "There is no decision nothing"),
        ("plain", "plain cannot be rolled back: the volume was changed since"),
        ("gone", "gone cannot be rolled back: vol-0dead no longer exists"),
    ):
        assert run(["rollback", name, *HERE]) == 2
        assert why in " ".join(capsys.readouterr().err.split())
    ec2.modify_volume(VolumeId=volume, Iops=9000)
    assert run(["rollback", "d1", *HERE]) == 2
    assert "the volume was changed since" in " ".join(capsys.readouterr().err.split())
    assert recorded(ledger, "rollback_requested") == []


@pytest.mark.parametrize("named", ["d1", VOLUME])
def test_an_open_change_is_released_by_its_id_or_its_volume(
    ledger: DynamoLedger, capsys: pytest.CaptureFixture[str], named: str
) -> None:
    now = datetime.now(UTC)
    intended(ledger, about(act("d1", VOLUME), VOLUME, now), now, lease_until=now)
    assert run(["release", named, "--reason", "left over", *HERE]) == 0
    assert "ended on record" in capsys.readouterr().out
    (summary,) = recorded(ledger, "released")
    assert summary.startswith("released by arn:aws:")
    assert summary.endswith(": left over")
    assert run(["release", named, *HERE]) == 2
    assert "no open change" in capsys.readouterr().err
