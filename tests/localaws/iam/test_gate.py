"""Requests signed by deployed roles at the endpoint: allowed, denied, and answered as AWS would."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from headroom.localaws.daemon import LocalAws
from tests.localaws.conftest import QUICK, START, Program

ACCOUNT = "123456789012"
FOR_LAMBDA = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow", "Action": "sts:AssumeRole",
            "Principal": {"Service": "lambda.amazonaws.com"},
        }
    ],
}  # fmt: skip
TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "TableName": "records",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "ResourcePolicy": {
            "PolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [
                    {"Effect": "Deny", "Principal": "*", "Action": "dynamodb:DeleteItem",
                     "Resource": "*"},
                ],
            }
        },
    },
}  # fmt: skip


class Role:
    """A deployed role, and clients with the credentials of its session."""

    def __init__(
        self, program: Program, *statements: Mapping[str, Any], name: str = "worker"
    ) -> None:
        self._program = program
        iam = program.client("iam")
        made = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(FOR_LAMBDA))
        self.arn = made["Role"]["Arn"]
        self.may(*statements, name=name)
        assumed = program.client("sts").assume_role(RoleArn=self.arn, RoleSessionName="me")
        given = assumed["Credentials"]
        self._session = boto3.Session(
            given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"], "us-east-1"
        )

    def may(self, *statements: Mapping[str, Any], name: str = "worker") -> None:
        """Put another policy in the place of the one before."""
        iam, document = self._program.client("iam"), {"Version": "2012-10-17"}
        if statements:
            text = json.dumps({**document, "Statement": list(statements)})
            iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=text)
        elif iam.list_role_policies(RoleName=name)["PolicyNames"]:
            iam.delete_role_policy(RoleName=name, PolicyName="own")

    def client(self, service: str) -> Any:
        made: Any = self._session.client
        return made(service, endpoint_url=self._program.aws.url, config=QUICK)


def allow(*actions: str, on: str = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": list(actions), "Resource": on, **more}


def denials(program: Program) -> list[tuple[str, str]]:
    found = program.aws.control("iam")["denials"]
    return [(one["action"], one["resource"]) for one in found]


def denied(call: Any, **parameters: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(**parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.mark.parametrize(
    ("service", "operation", "parameters", "code", "action"),
    [
        ("ec2", "describe_volumes", {}, "UnauthorizedOperation", "ec2:DescribeVolumes"),
        ("rds", "describe_db_instances", {}, "AccessDenied", "rds:DescribeDBInstances"),
        ("dynamodb", "get_item", {"TableName": "t", "Key": {"id": {"S": "1"}}},
         "AccessDeniedException", "dynamodb:GetItem"),
        ("ssm", "get_parameter", {"Name": "/p"}, "AccessDeniedException", "ssm:GetParameter"),
        ("sns", "publish", {"TopicArn": f"arn:aws:sns:us-east-1:{ACCOUNT}:t", "Message": "m"},
         "AuthorizationError", "sns:Publish"),
        ("sqs", "list_queues", {}, "AccessDenied", "sqs:ListQueues"),
        ("cloudwatch", "get_metric_data",
         {"MetricDataQueries": [], "StartTime": START, "EndTime": START},
         "AccessDenied", "cloudwatch:GetMetricData"),
        ("lambda", "invoke", {"FunctionName": "f"}, "AccessDeniedException", "lambda:InvokeFunction"),
        ("pricing", "get_products", {"ServiceCode": "AmazonEC2"},
         "AccessDeniedException", "pricing:GetProducts"),
    ],
)  # fmt: skip
def test_a_denial_has_the_code_and_the_message_of_the_service(
    program: Program, service: str, operation: str, parameters: dict[str, Any], code: str,
    action: str,
) -> None:  # fmt: skip
    role = Role(program)
    found, message = denied(getattr(role.client(service), operation), **parameters)
    assert found == code
    who = f"User: arn:aws:sts::{ACCOUNT}:assumed-role/worker/me is not authorized to perform: "
    assert f"{who}{action} on resource: " in message
    assert [one[0] for one in denials(program)] == [action]


def test_a_role_may_do_what_its_policy_allows_now_and_nothing_after_it_changed(
    program: Program,
) -> None:
    volume = program.volume()
    arn = f"arn:aws:ec2:us-east-1:{ACCOUNT}:volume/{volume}"
    role = Role(program, allow("ec2:ModifyVolume", on=arn))
    role.client("ec2").modify_volume(VolumeId=volume, Iops=4_000)
    assert denials(program) == []
    assert program.aws.control("iam")["grants"] == [
        {"role": "worker", "sid": "", "action": "ec2:ModifyVolume", "resource": arn, "used": True}
    ]
    role.may(allow("ec2:ModifyVolume", on=f"{arn}0"))
    assert denied(role.client("ec2").modify_volume, VolumeId=volume)[0] == "UnauthorizedOperation"
    assert denials(program) == [("ec2:ModifyVolume", arn)]
    (grant,) = program.aws.control("iam")["grants"]
    assert grant["used"] is False


def test_a_tag_of_the_resource_can_be_a_condition(program: Program) -> None:
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "team", "Value": "db"}]}]
    tagged, other = program.volume(TagSpecifications=tags), program.volume()
    condition = {"StringEquals": {"aws:ResourceTag/team": "db"}}
    ec2 = Role(program, allow("ec2:ModifyVolume", Condition=condition)).client("ec2")
    ec2.modify_volume(VolumeId=tagged, Iops=4_000)
    assert denied(ec2.modify_volume, VolumeId=other, Iops=4_000)[0] == "UnauthorizedOperation"


@pytest.mark.parametrize(
    ("key", "holds"),
    [("aws:ResourceTag/team", True), ("rds:db-tag/team", True), ("rds:cluster-tag/team", False),
     ("ec2:ResourceTag/team", False)],
)  # fmt: skip
def test_tags_of_a_database_are_in_the_keys_of_its_resource_type(
    program: Program, key: str, holds: bool
) -> None:
    program.client("rds").create_db_instance(
        DBInstanceIdentifier="orders", DBInstanceClass="db.r6i.large", Engine="postgres",
        AllocatedStorage=100, StorageType="gp3", MasterUsername="admin1",
        MasterUserPassword="secret99", Tags=[{"Key": "team", "Value": "db"}],
    )  # fmt: skip
    condition = {"StringEquals": {key: "db"}}
    rds = Role(program, allow("rds:ModifyDBInstance", Condition=condition)).client("rds")
    change = {"DBInstanceIdentifier": "orders", "AllocatedStorage": 110}
    if holds:
        rds.modify_db_instance(**change)
    else:
        assert denied(rds.modify_db_instance, **change)[0] == "AccessDenied"


def test_the_policy_of_a_table_denies_what_the_roles_own_policy_allows(program: Program) -> None:
    program.client("cloudformation").create_stack(
        StackName="tables", TemplateBody=json.dumps({"Resources": {"Table": TABLE}})
    )
    dynamodb = Role(program, allow("dynamodb:*")).client("dynamodb")
    item = {"id": {"S": "1"}}
    dynamodb.put_item(TableName="records", Item=item)
    delete = {"Delete": {"TableName": "records", "Key": item}}
    for call, parameters in (
        (dynamodb.delete_item, {"TableName": "records", "Key": item}),
        (dynamodb.transact_write_items, {"TransactItems": [delete]}),
    ):
        assert "explicit deny in a resource-based policy" in denied(call, **parameters)[1]
    assert dynamodb.get_item(TableName="records", Key=item)["Item"] == item
    program.client("dynamodb").delete_item(TableName="records", Key=item)  # the owner


def test_publishing_to_an_encrypted_topic_takes_its_key_through_sns_only(program: Program) -> None:
    key = program.client("kms").create_key()["KeyMetadata"]["Arn"]
    topic = program.client("sns").create_topic(
        Name="people", Attributes={"KmsMasterKeyId": key}
    )["TopicArn"]  # fmt: skip
    role = Role(program, allow("sns:Publish", on=topic))
    sns = role.client("sns")
    assert denied(sns.publish, TopicArn=topic, Message="m")[0] == "KMSAccessDenied"
    through = {"StringEquals": {"kms:ViaService": "sns.us-east-1.amazonaws.com"}}
    use_key = allow("kms:GenerateDataKey", "kms:Decrypt", on=key, Condition=through)
    role.may(allow("sns:Publish", on=topic), use_key)
    sns.publish(TopicArn=topic, Message="m")
    kms = role.client("kms")
    assert denied(kms.generate_data_key, KeyId=key, KeySpec="AES_256")[0] == "AccessDeniedException"


def test_who_one_is_needs_no_permission(program: Program) -> None:
    found = Role(program).client("sts").get_caller_identity()["Arn"]
    assert found == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/me"


def test_a_policy_that_is_not_understood_denies_and_says_so(program: Program) -> None:
    condition = {"StringEquals": {"ec2:VolumeSize": "1"}}
    ec2 = Role(program, allow("ec2:*"), allow("ec2:*", Condition=condition)).client("ec2")
    message = denied(ec2.describe_volumes)[1]
    assert "The condition key 'ec2:VolumeSize' is not known" in message


def test_a_role_that_is_gone_and_a_request_that_is_not_understood_are_denied(
    program: Program,
) -> None:
    role = Role(program, allow("*"))
    assert denied(role.client("s3").list_buckets)[1].endswith("of s3 is not understood here.")
    role.may()
    program.client("iam").delete_role(RoleName="worker")
    assert denied(role.client("ec2").describe_volumes)[0] == "UnauthorizedOperation"


def test_a_boundary_of_the_role_limits_it(program: Program) -> None:
    iam = program.client("iam")
    document = {"Version": "2012-10-17", "Statement": [allow("ec2:DescribeVolumes")]}
    limit = iam.create_policy(PolicyName="limit", PolicyDocument=json.dumps(document))
    ec2 = Role(program, allow("ec2:*")).client("ec2")
    iam.put_role_permissions_boundary(RoleName="worker", PermissionsBoundary=limit["Policy"]["Arn"])
    ec2.describe_volumes()
    assert "no permissions boundary allows" in denied(ec2.describe_instances)[1]


CALLER = """
import boto3
def handle(event, context):
    return boto3.client("sts").get_caller_identity()["Arn"]
"""


def test_a_function_has_the_credentials_of_its_role_and_of_no_other(program: Program) -> None:
    program.function("who", CALLER)
    answer = program.client("lambda").invoke(FunctionName="who")
    assert json.load(answer["Payload"]) == f"arn:aws:sts::{ACCOUNT}:assumed-role/any/who"


def test_lambda_takes_from_a_queue_only_what_the_functions_role_may(program: Program) -> None:
    url, arn = program.queue("work")
    program.function("taker", "def handle(e, c):\n    pass\n")
    program.client("lambda").create_event_source_mapping(
        EventSourceArn=arn, FunctionName="taker", BatchSize=1
    )
    iam = program.client("iam")
    iam.delete_role_policy(RoleName="any", PolicyName="all")
    program.client("sqs").send_message(QueueUrl=url, MessageBody="x")
    program.tick()
    assert ("sqs:ReceiveMessage", arn) in denials(program)
    assert program.messages(url) == ["x"]


@pytest.mark.parametrize("may", [True, False])
def test_a_schedule_invokes_only_what_its_role_may(program: Program, may: bool) -> None:
    arn = program.function("swept", "def handle(e, c):\n    pass\n")
    url, dead = program.queue("dead")
    role = Role(program, allow("lambda:InvokeFunction", on=arn if may else f"{arn}-other"),
                allow("sqs:SendMessage", on=dead))  # fmt: skip
    program.client("scheduler").create_schedule(
        Name="often", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": arn, "RoleArn": role.arn, "Input": "{}", "DeadLetterConfig": {"Arn": dead},
        },
    )  # fmt: skip
    program.tick()
    assert (("lambda:InvokeFunction", arn) in denials(program)) is not may
    assert program.messages(url) == ([] if may else ["{}"])


def test_the_owner_can_turn_it_off() -> None:
    with LocalAws(clock="lockstep", no_iam=True) as aws:
        program = Program(aws)
        Role(program).client("ec2").describe_volumes()
        assert aws.control("iam")["evaluates"] is False
