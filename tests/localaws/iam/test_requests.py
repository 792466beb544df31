"""What each request of Headroom asks IAM for."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from headroom.adapters import actions
from headroom.adapters.tables import LEDGER_ACTIONS
from headroom.localaws.iam.incoming import call_of
from headroom.localaws.iam.reference import known_actions
from headroom.localaws.iam.requests import Call, UnknownRequest, accesses_of
from tools.iam_actions import NO_ACTION, NO_OPERATION, SERVICES
from tools.iam_actions import actions as generated

HERE = "us-east-1:123456789012"
TABLE = f"arn:aws:dynamodb:{HERE}:table/t"
QUEUE = {"QueueUrl": "http://127.0.0.1:1/123456789012/work"}


def asked(service: str, operation: str, **parameters: Any) -> list[tuple[str, str]]:
    call = Call(
        service=service, operation=operation, parameters=parameters, region="us-east-1",
        account="123456789012",
    )  # fmt: skip
    return [(one.action, one.resource) for one in accesses_of(call)]


@pytest.mark.parametrize(
    ("service", "operation", "parameters", "expected"),
    [
        ("ec2", "DescribeVolumes", {}, [("ec2:DescribeVolumes", "*")]),
        ("ec2", "ModifyVolume", {"VolumeId": "vol-1"},
         [("ec2:ModifyVolume", f"arn:aws:ec2:{HERE}:volume/vol-1")]),
        ("dynamodb", "Query", {"TableName": "t"}, [("dynamodb:Query", TABLE)]),
        ("dynamodb", "Query", {"TableName": TABLE, "IndexName": "due"},
         [("dynamodb:Query", f"{TABLE}/index/due")]),
        ("dynamodb", "BatchGetItem", {"RequestItems": {"t": {}, "u": {}}},
         [("dynamodb:BatchGetItem", TABLE), ("dynamodb:BatchGetItem", TABLE[:-1] + "u")]),
        ("dynamodb", "TransactWriteItems", {"TransactItems": [
            {"Put": {"TableName": "t"}}, {"Update": {"TableName": "t"}},
            {"Delete": {"TableName": "t"}}, {"ConditionCheck": {"TableName": "t"}}]},
         [(f"dynamodb:{name}", TABLE)
          for name in ("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")]),
        ("dynamodb", "TransactGetItems", {"TransactItems": [{"Get": {"TableName": "t"}}]},
         [("dynamodb:GetItem", TABLE)]),
        ("cloudwatch", "DescribeAlarms", {"AlarmNames": ["a", "b"]},
         [("cloudwatch:DescribeAlarms", f"arn:aws:cloudwatch:{HERE}:alarm:{a}") for a in "ab"]),
        ("cloudwatch", "DescribeAlarms", {"AlarmTypes": ["MetricAlarm", "CompositeAlarm"]},
         [("cloudwatch:DescribeAlarms", "*"),
          ("cloudwatch:DescribeAlarms", f"arn:aws:cloudwatch:{HERE}:alarm:*")]),
        ("cloudwatch", "DescribeAlarms", {},
         [("cloudwatch:DescribeAlarms", f"arn:aws:cloudwatch:{HERE}:alarm:*")]),
        ("sqs", "SendMessageBatch", QUEUE, [("sqs:SendMessage", f"arn:aws:sqs:{HERE}:work")]),
        ("sqs", "ChangeMessageVisibility", QUEUE,
         [("sqs:ChangeMessageVisibility", f"arn:aws:sqs:{HERE}:work")]),
        ("ssm", "GetParameter", {"Name": "/headroom/policy"},
         [("ssm:GetParameter", f"arn:aws:ssm:{HERE}:parameter/headroom/policy")]),
        ("ssm", "GetCalendarState", {"CalendarNames": ["closed"]},
         [("ssm:GetCalendarState", f"arn:aws:ssm:{HERE}:document/closed")]),
        ("events", "PutEvents", {"Entries": [{"Source": "headroom"}]},
         [("events:PutEvents", f"arn:aws:events:{HERE}:event-bus/default")]),
        ("rds", "DescribeDBInstances", {}, [("rds:DescribeDBInstances", f"arn:aws:rds:{HERE}:db:*")]),
        ("rds", "ModifyDBInstance", {"DBInstanceIdentifier": "d", "OptionGroupName": "o"},
         [("rds:ModifyDBInstance", f"arn:aws:rds:{HERE}:db:d"),
          ("rds:ModifyDBInstance", f"arn:aws:rds:{HERE}:og:o")]),
        ("rds", "ModifyDBCluster", {"DBClusterIdentifier": "c"},
         [("rds:ModifyDBCluster", f"arn:aws:rds:{HERE}:cluster:c")]),
        ("lambda", "Invoke", {"FunctionName": "f"},
         [("lambda:InvokeFunction", f"arn:aws:lambda:{HERE}:function:f")]),
        ("ec2", "TerminateInstances", {}, [("ec2:TerminateInstances", "*")]),
    ],
)  # fmt: skip
def test_a_request_asks_for_its_actions_on_its_resources(
    service: str, operation: str, parameters: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert asked(service, operation, **parameters) == expected


def test_an_event_carries_its_source_as_a_condition_key() -> None:
    call = Call(
        service="events", operation="PutEvents", parameters={"Entries": [{"Source": "headroom"}]},
        region="us-east-1", account="123456789012",
    )  # fmt: skip
    assert [one.context for one in accesses_of(call)] == [(("events:source", ("headroom",)),)]


@pytest.mark.parametrize(
    ("service", "operation"),
    [("ec2", "MakeVolumeLarger"), ("s3", "GetObject"), ("ec2", "ModifyVolume"), ("ec2", "")],
)
def test_what_is_not_known_is_an_error(service: str, operation: str) -> None:
    with pytest.raises(UnknownRequest):
        asked(service, operation)


def request(service: str, body: bytes, **headers: str) -> dict[str, Any]:
    scope = f"AWS4-HMAC-SHA256 Credential=ASIA1/20260105/eu-west-1/{service}/aws4_request, x"
    return {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/", "HTTP_AUTHORIZATION": scope,
        "wsgi.input": io.BytesIO(body), **headers,
    }  # fmt: skip


def test_calls_are_read_from_json_and_from_forms_and_the_body_stays() -> None:
    body = json.dumps({"TableName": "t"}).encode()
    environ = request("dynamodb", body, HTTP_X_AMZ_TARGET="DynamoDB_20120810.Query")
    call = call_of(environ, "123456789012")
    assert (call.service, call.operation, call.region) == ("dynamodb", "Query", "eu-west-1")
    assert call.parameters == {"TableName": "t"}
    assert environ["wsgi.input"].read() == body
    form = b"Action=ModifyVolume&VolumeId=vol-1&Version=2016-11-15"
    kind = "application/x-www-form-urlencoded; charset=utf-8"
    call = call_of(request("ec2", form, CONTENT_TYPE=kind), "123456789012")
    assert (call.operation, call.one("VolumeId")) == ("ModifyVolume", "vol-1")


def test_an_operation_of_another_service_than_the_signed_one_is_not_understood() -> None:
    environ = request("pricing", b"{}", HTTP_X_AMZ_TARGET="DynamoDB_20120810.PutItem")
    with pytest.raises(UnknownRequest):
        call_of(environ, "123456789012")


def test_every_action_that_headroom_names_is_one_that_iam_knows() -> None:
    named = {
        *(name for group in vars(actions).values() if isinstance(group, tuple) for name in group),
        *(name for group in LEDGER_ACTIONS.values() for name in group),
    }  # fmt: skip
    assert {name for name in named if ":" in name} <= known_actions()


def test_the_list_of_actions_is_what_its_generator_writes() -> None:
    made = {f"{service}:{name}" for service in SERVICES for name in generated(service)}
    assert made == known_actions(), "python -m tools.iam_actions"
    for service in NO_ACTION.keys() | NO_OPERATION.keys():
        assert service in SERVICES
