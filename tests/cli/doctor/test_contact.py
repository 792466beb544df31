"""What `--contact` writes can be read, replayed and shared: no account, id, name or tag is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from hypothesis import assume, example, given
from hypothesis import strategies as st
from moto import mock_aws

from headroom.adapters.ebs import EbsStorage
from headroom.adapters.ledger import DynamoLedger
from headroom.cli.commands.doctor import CHECKS
from headroom.cli.doctor.contact import Answer, Recorder, bundle, recorded
from headroom.cli.doctor.findings import Examined, Fact, Finding, examine
from headroom.cli.doctor.redaction import EPOCH, Redactor, vocabulary
from headroom.cli.main import run
from tests.builders import ACCOUNT, NOW, REGION
from tests.cli.commands.test_budget import HERE, ledger
from tests.cli.doctor.deployment import Whole, client, whole

__all__ = ["ledger"]
MODEL = botocore.session.get_session().get_service_model("ec2").operation_model("DescribeVolumes")
SECRET = {"project": "blue-heron-7", "Name": "payroll db", "owner": "zoë@example.org"}


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Whole]:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "test")
    with mock_aws():
        client("iam").create_role(RoleName="role", AssumeRolePolicyDocument="{}")
        made = whole()
        (volume,) = client("ec2").describe_volumes()["Volumes"]
        tags = [{"Key": key, "Value": value} for key, value in SECRET.items()]
        client("ec2").create_tags(Resources=[volume["VolumeId"]], Tags=tags)
        yield made


def examined(there: Whole) -> tuple[dict[str, Any], Recorder]:
    """The bundle of all checks of a deployment, as the file has it."""
    recorder, deployed = Recorder(), there.again()
    listened = replace(deployed, here=recorded(deployed.here, recorder))
    found = [examine(name, check, listened) for name, check in CHECKS]
    return json.loads(json.dumps(bundle(found, recorder.answers, deployed.now))), recorder


def test_a_bundle_names_checks_operations_and_no_one(there: Whole) -> None:
    client("events").disable_rule(Name="alarms")
    made, _ = examined(there)
    (volume,) = client("ec2").describe_volumes()["Volumes"]
    text = json.dumps(made, ensure_ascii=False)
    for secret in (ACCOUNT, volume["VolumeId"], "arn:aws", "parked", *SECRET.values(), "project"):
        assert secret not in text
    assert [each["check"] for each in made["checks"]] == [name for name, _ in CHECKS]
    (finding,) = next(each["findings"] for each in made["checks"] if each["check"] == "triggers")
    assert finding["problem"] == "the rule alarms is DISABLED: its events do not wake Headroom"
    operations = {one["operation"] for one in made["answers"]}
    assert {"DescribeVolumes", "GetFunctionConfiguration", "DescribeAlarms"} <= operations
    assert not any(one["service"] == "dynamodb" for one in made["answers"])


def test_the_same_deployment_gives_the_same_bundle(there: Whole) -> None:
    made, recorder = examined(there)
    found = [Examined(name="x", findings=(), facts=())]
    one, two = (bundle(found, recorder.answers, NOW) for _ in range(2))
    assert json.dumps(one) == json.dumps(two)
    assert made["answers"] == examined(there)[0]["answers"]


def restored(value: Any, shape: Any) -> Any:
    """An answer of a bundle with its instants as botocore has them."""
    if shape.type_name == "structure":
        return {name: restored(each, shape.members[name]) for name, each in value.items()}
    if shape.type_name == "list":
        return [restored(each, shape.member) for each in value]
    return datetime.fromisoformat(value) if shape.type_name == "timestamp" else value


def test_an_answer_of_a_bundle_serves_as_a_fixture(there: Whole) -> None:
    made, _ = examined(there)
    answer = next(one["answer"] for one in made["answers"] if one["operation"] == "DescribeVolumes")
    ec2: Any = boto3.client("ec2", region_name=REGION)
    with Stubber(ec2) as stub:
        stub.add_response("describe_volumes_modifications", {"VolumesModifications": []})
        stub.add_response("describe_volumes", restored(answer, MODEL.output_shape))
        (view,) = EbsStorage(ec2, account_id=ACCOUNT, region=REGION).fleet()
    assert str(view.volume.configuration) == "gp3 100 GiB 3000 IOPS 125 MiB/s"
    assert view.volume.ref.resource_id == "vol-1"
    assert abs(view.volume.created_at - EPOCH) < timedelta(minutes=10)
    assert {"Name"} <= dict(view.volume.tags).keys()


def test_what_aws_refused_is_listed_without_its_message(there: Whole) -> None:
    recorder = Recorder()
    sqs = recorder.listen(client("sqs"))
    with pytest.raises(ClientError):
        sqs.get_queue_attributes(QueueUrl=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/missing")
    made = bundle([], recorder.answers, NOW)
    (refused,) = made["refused"]  # type: ignore[misc]
    assert (refused["service"], refused["operation"]) == ("sqs", "GetQueueAttributes")
    assert "NonExistentQueue" in refused["code"]
    assert "missing" not in json.dumps(made)


def made_of(account: str, volume: str, tags: dict[str, str], words: str) -> str:
    """The bundle's text for a deployment with these secrets in every place where one can be."""
    parsed = {
        "Volumes": [{
            "VolumeId": volume, "VolumeType": "gp3", "Size": 100, "State": "in-use",
            "CreateTime": datetime(2026, 1, 1, tzinfo=UTC), "KmsKeyId": f"arn:aws:kms:x:{account}:key/{words}",
            "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
        }],
        "NextToken": words, "ResponseMetadata": {"RequestId": words},
    }  # fmt: skip
    finding = Finding(
        problem=f"could not check: arn:aws:ec2:x:{account}:volume/{volume} is {words}, denied to {account}",
        fix=f"grant {words} to {volume}; {' '.join(tags.values())}",
    )
    code = "AccessDenied" if CODE.fullmatch(words) else words  # a code is a word of AWS, and stays
    refused = {"Error": {"Code": code, "Message": f"{account} {words}"}}
    answers = [
        Answer(service="ec2", operation="DescribeVolumes", status=status, parsed=each, shape=MODEL.output_shape)
        for status, each in ((200, parsed), (403, refused))
    ]  # fmt: skip
    checks = [
        Examined(name="queues", findings=(finding,), facts=(Fact(text=f"{words} {account}"),))
    ]
    return json.dumps(bundle(checks, answers, NOW), ensure_ascii=False)


CODE = re.compile(r"[A-Za-z][A-Za-z.]*")
SECRETS = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Cc"]), min_size=6, max_size=40
)
SHORT_NUMBER = re.compile(r"\W*[\d.,]{1,5}\W*")
"""Stays as it is: it says how many, and nothing of whom."""
PLAIN = made_of("1" * 12, "vol-11111111111111111", {"k1": "§§§§§§", "k2": "¤¤¤¤¤¤"}, "¶¶¶¶¶¶")


@given(
    account=st.from_regex(r"[0-9]{12}", fullmatch=True), hexes=st.from_regex(r"[0-9a-f]{17}", fullmatch=True),
    values=st.lists(SECRETS, min_size=2, max_size=2, unique=True), words=SECRETS,
)  # fmt: skip
@example(account="0" * 12, hexes="0" * 17, values=["k" * 6, "l" * 6], words="::::::")
def test_no_account_id_arn_or_tag_is_ever_in_a_bundle(
    account: str, hexes: str, values: list[str], words: str
) -> None:
    secrets = (account, hexes, f"arn:aws:kms:x:{account}", *values, words)
    assume(not any(secret in PLAIN for secret in secrets))
    assume(not any(SHORT_NUMBER.fullmatch(secret) for secret in secrets))
    assume(not any(re.sub(r"^\W+|\W+$", "", secret) in vocabulary() for secret in secrets))
    text = made_of(account, f"vol-{hexes}", {"k1": values[0], "k2": values[1]}, words)
    for secret in secrets:
        assert secret not in text
        assert json.dumps(secret)[1:-1] not in text


def test_the_command_writes_the_file_and_sends_nothing(
    ledger: DynamoLedger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bundle.json"
    assert run(["doctor", "--contact", str(path), *HERE]) == 2
    assert "Nothing was sent. Read it before you send it." in capsys.readouterr().err
    made = json.loads(path.read_text(encoding="utf-8"))
    assert made["format"] == "headroom contact 1"
    assert ACCOUNT not in path.read_text(encoding="utf-8")
    assert run(["doctor", "--contact", str(tmp_path), *HERE]) == 1
    assert "is a directory" in capsys.readouterr().err


def test_instants_that_are_numbers_are_moved_as_well() -> None:
    now = datetime(2026, 10, 1, tzinfo=UTC)
    service = botocore.session.get_session().get_service_model("logs")
    shape = service.operation_model("DescribeLogGroups").output_shape
    group = {"logGroupName": "lines", "creationTime": round(now.timestamp() * 1_000) - 60_000}
    answer = Redactor(now).answer({"logGroups": [{**group, "storedBytes": 7}]}, shape)
    (redacted,) = answer["logGroups"]
    assert redacted["creationTime"] == round(EPOCH.timestamp() * 1_000) - 60_000
    assert redacted["storedBytes"] == 7
