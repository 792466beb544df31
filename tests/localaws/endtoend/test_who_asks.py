"""The deployed Requests function at the endpoint: who asked is the signer, whatever a request says."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from headroom.adapters.actions import SEAL_ACTIONS
from headroom.adapters.callers import prove
from headroom.adapters.ledger import DynamoLedger
from headroom.adapters.tables import LEDGER_ACTIONS, RECORDS, STATE, create_table
from headroom.cli.main import run
from headroom.domain.state.records import seal as sealed_by_hash
from headroom.settings import REQUESTS_FUNCTION, FunctionSettings
from tests.localaws.conftest import START, Program

ROOT = Path(__file__).resolve().parents[3]
ACCOUNT, REGION = "123456789012", "us-east-1"
SETTINGS = FunctionSettings(
    records_table="records", state_table="state", policy_parameter="/headroom/policy",
    topic_arn=f"arn:aws:sns:{REGION}:{ACCOUNT}:headroom",
    queue_url=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/work",
)  # fmt: skip
STACK = {
    "Resources": {
        "Key": {
            "Type": "AWS::KMS::Key",
            "Properties": {
                "KeySpec": "HMAC_256", "KeyUsage": "GENERATE_VERIFY_MAC",
                "KeyPolicy": {"Version": "2012-10-17", "Statement": []},
            },
        },
    },
    "Outputs": {
        "RecordsTable": {"Value": "records"}, "StateTable": {"Value": "state"},
        "SealKeyArn": {"Value": {"Fn::GetAtt": ["Key", "Arn"]}},
    },
}  # fmt: skip
ALICE = f"arn:aws:sts::{ACCOUNT}:assumed-role/operators/alice"
FORGED = f"arn:aws:sts::{ACCOUNT}:assumed-role/owner/boss"


@pytest.fixture
def deployed(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Tables, and this project's own sources as the function."""
    dynamodb, formation = program.client("dynamodb"), program.client("cloudformation")
    dynamodb.create_table(**create_table(RECORDS, "records"))
    dynamodb.create_table(**create_table(STATE, "state"))
    formation.create_stack(StackName="HeadroomState", TemplateBody=json.dumps(STACK))
    outputs = formation.describe_stacks(StackName="HeadroomState")["Stacks"][0]["Outputs"]
    (key,) = [one["OutputValue"] for one in outputs if one["OutputKey"] == "SealKeyArn"]
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as archive:
        for package in ("headroom", "lambdas"):
            for path in sorted((ROOT / package).rglob("*.py")):
                archive.write(path, path.relative_to(ROOT))
    iam = program.client("iam")
    role = iam.create_role(RoleName="any", AssumeRolePolicyDocument="{}")
    document = {"Version": "2012-10-17", "Statement": _may(key)}
    iam.put_role_policy(RoleName="any", PolicyName="Headroom", PolicyDocument=json.dumps(document))
    program.client("lambda").create_function(
        FunctionName=REQUESTS_FUNCTION, Role=role["Role"]["Arn"], Runtime="python3.13",
        Handler="lambdas.requests.handler", Code={"ZipFile": code.getvalue()}, Timeout=60,
        Environment={"Variables": replace(SETTINGS, seal_key=key).to_environment()},
    )  # fmt: skip
    for name, value in program.aws.environment().items():
        monkeypatch.setenv(name, value)
    return program


def _may(key: str) -> list[dict[str, object]]:
    """What the template gives the function."""
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/"
    allowed = {
        f"{arn}records": LEDGER_ACTIONS["records"], f"{arn}records/index/*": ["dynamodb:Query"],
        f"{arn}state": LEDGER_ACTIONS["state"], key: SEAL_ACTIONS,
        f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:*": ["logs:CreateLogStream", "logs:PutLogEvents"],
    }  # fmt: skip
    return [
        {"Effect": "Allow", "Action": list(names), "Resource": resource}
        for resource, names in allowed.items()
    ]


def ledger(program: Program) -> DynamoLedger:
    return DynamoLedger(
        program.client("dynamodb"), records_table="records", state_table="state",
        account_id=ACCOUNT, region=REGION,
    )  # fmt: skip


def assumed(program: Program, name: str = "alice") -> dict[str, str]:
    return dict(
        program.client("sts").assume_role(
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/operators", RoleSessionName=name
        )["Credentials"]
    )


def request(**more: Any) -> str:
    content = {"verb": "pause", "state_table": "state", "reason": "", "seconds": None, **more}
    return json.dumps(content)


def proof(program: Program, text: str, given: dict[str, str]) -> dict[str, str]:
    session = boto3.Session(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
    frozen: Any = session.get_credentials()
    return prove(
        text, frozen.get_frozen_credentials(), account_id=ACCOUNT, region=REGION,
        url=program.aws.url,
    ).as_object()  # fmt: skip


def sent(program: Program, payload: object) -> dict[str, str]:
    answer = program.client("lambda").invoke(
        FunctionName=REQUESTS_FUNCTION, Payload=json.dumps(payload).encode()
    )
    found: dict[str, str] = json.load(answer["Payload"])
    return found


def test_a_role_that_asks_is_named_by_sts_and_the_time_is_the_functions(
    deployed: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = assumed(deployed)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", given["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", given["SecretAccessKey"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", given["SessionToken"])
    assert run(["pause", "--reason", "load test", "--region", REGION]) == 0
    pause = ledger(deployed).stop_state().account.pause
    assert pause is not None
    assert (pause.who, pause.reason, pause.since) == (
        ALICE, "load test", datetime.fromisoformat(START),
    )  # fmt: skip
    assert run(["resume", "--region", REGION]) == 0
    assert ledger(deployed).stop_state().account.pause is None


def test_no_event_however_it_is_made_up_names_another_caller(deployed: Program) -> None:
    text, given = request(), assumed(deployed)
    good = proof(deployed, text, given)
    forged_context = {
        "requestContext": {"authorizer": {"iam": {"userArn": FORGED}}}, "who": FORGED,
        "headers": {"x-amzn-caller": FORGED},
    }  # fmt: skip
    other_table = request(state_table="another")
    for payload in (
        {"request": text},
        {"request": text, "proof": None, **forged_context},
        {"request": text, "proof": {**good, "who": FORGED}},
        {"request": request(who=FORGED), "proof": good},
        {"request": request(reason="changed on the way"), "proof": good},
        {"request": text, "proof": {**good, "token": ""}},
        {"request": text, "proof": proof(deployed, text, {**given, "SecretAccessKey": "guess"})},
        {"request": text, "proof": {**good, "date": "20260105T000000Z"}},
        {"request": other_table, "proof": proof(deployed, other_table, given)},
        forged_context, [], "pause", None,
    ):  # fmt: skip
        answer = sent(deployed, payload)
        assert answer["status"] == "refused", payload
    assert ledger(deployed).stop_state().account.pause is None
    assert sent(deployed, {"request": text, "proof": good, **forged_context})["status"] == "done"
    pause = ledger(deployed).stop_state().account.pause
    assert pause is not None
    assert pause.who == ALICE


def test_a_signature_for_somebody_else_is_no_proof(deployed: Program) -> None:
    """One that does not sign the request's hash, as other services ask for, is refused unseen."""
    good = proof(deployed, request(), assumed(deployed))
    elsewhere = good["authorization"].replace(";x-headroom-request", "")
    answer = sent(deployed, {"request": request(), "proof": {**good, "authorization": elsewhere}})
    assert answer["status"] == "refused"
    assert "does not sign this request" in answer["detail"]


def test_what_the_function_wrote_is_sealed_and_what_was_written_past_it_is_noticed(
    deployed: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pause", "--region", REGION]) == 0
    start = datetime.fromisoformat(START)
    day = timedelta(days=1)
    kept = ledger(deployed)
    (record,) = kept.by_outcome("paused", since=start - day, until=start + day)
    audit = ["audit", "--decision", record.decision_id, "--region", REGION]
    assert run(audit) == 0
    assert "All 1 seals hold" in capsys.readouterr().err

    forged = sealed_by_hash(
        decision_id=record.decision_id, sequence=0, step=record.step, resource=record.resource,
        at=record.at, outcome=record.outcome, summary=f"paused by {FORGED}", body=record.body,
        previous_hash=record.previous_hash,
    )  # fmt: skip
    table = {"TableName": "records"}
    key = {"decision_id": {"S": record.decision_id}, "sequence": {"N": "0"}}
    item = deployed.client("dynamodb").get_item(**table, Key=key)["Item"]
    item |= {"summary": {"S": forged.summary}, "hash": {"S": forged.hash}}
    deployed.client("dynamodb").put_item(**table, Item=item)
    assert run(audit) == 1
    output = capsys.readouterr().err
    assert "all hashes match" in output
    assert "The seal does not hold of record 0" in output

    del item["seal"]
    deployed.client("dynamodb").put_item(**table, Item=item)
    assert run(audit) == 1
    assert "No seal is on record 0" in capsys.readouterr().err
