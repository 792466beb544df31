"""What CloudFormation refuses of an update, the endpoint refuses."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.cloudformation.test_stacks import ALARM, QUEUE, ROLE, TOPIC, deploy, update
from tests.localaws.conftest import Program

NAMED: dict[str, Any] = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "work"}}
EXPORT = {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}, "Export": {"Name": "the-arn"}}
PARAMETER: dict[str, Any] = {
    "Type": "AWS::SSM::Parameter",
    "Properties": {"Name": "taken", "Type": "String", "Value": {"Fn::ImportValue": "the-arn"}},
}


def test_a_name_cannot_move_to_another_logical_id_in_one_update(program: Program) -> None:
    """The new one is made before the old one is deleted."""
    deploy(program, "moves", {"Topic": TOPIC, "Old": ALARM})
    status, why = update(program, "moves", {"Topic": TOPIC, "New": ALARM})
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "New (AWS::CloudWatch::Alarm): made already exists in stack arn:" in why
    assert update(program, "moves", {"Topic": TOPIC})[0] == "UPDATE_COMPLETE"
    assert update(program, "moves", {"Topic": TOPIC, "New": ALARM})[0] == "UPDATE_COMPLETE"


def test_what_has_a_fixed_name_cannot_be_replaced(program: Program) -> None:
    deploy(program, "named", {"Queue": NAMED})
    fifo = {**NAMED, "Properties": {"QueueName": "work", "FifoQueue": True}}
    status, why = update(program, "named", {"Queue": fifo})
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "a custom-named resource requires replacing. Rename work and update" in why


def test_a_logical_id_never_changes_its_type(program: Program) -> None:
    deploy(program, "typed", {"Thing": QUEUE})
    cloudformation, body = (
        program.client("cloudformation"),
        json.dumps({"Resources": {"Thing": TOPIC}}),
    )
    for ask in (
        lambda: cloudformation.update_stack(StackName="typed", TemplateBody=body),
        lambda: cloudformation.create_change_set(
            StackName="typed", ChangeSetName="c", TemplateBody=body, ChangeSetType="UPDATE"
        ),
    ):
        with pytest.raises(
            ClientError, match=r"Update of resource type is not permitted.*\[Thing\]"
        ):
            ask()


def test_an_export_in_use_is_neither_deleted_nor_changed(program: Program) -> None:
    cloudformation = program.client("cloudformation")
    deploy(program, "gives", {"Queue": NAMED}, Outputs={"Arn": EXPORT})
    deploy(program, "takes", {"P": PARAMETER})
    with pytest.raises(
        ClientError, match="Export the-arn cannot be deleted as it is in use by takes"
    ):
        cloudformation.delete_stack(StackName="gives")
    status, why = update(program, "gives", {"Queue": NAMED, "Topic": TOPIC})
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "Export the-arn cannot be deleted as it is in use by takes" in why
    other = {"Queue": NAMED, "Other": QUEUE}
    moved = {"Arn": {**EXPORT, "Value": {"Fn::GetAtt": ["Other", "Arn"]}}}
    status, why = update(program, "gives", other, Outputs=moved)
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "Export the-arn cannot be updated as it is in use by takes" in why
    more = {"Queue": NAMED, "Topic": TOPIC}
    assert update(program, "gives", more, Outputs={"Arn": EXPORT})[0] == "UPDATE_COMPLETE"
    cloudformation.delete_stack(StackName="takes")
    assert update(program, "gives", {"Queue": NAMED})[0] == "UPDATE_COMPLETE"
    cloudformation.delete_stack(StackName="gives")


def test_an_updated_role_has_the_policies_of_the_new_template_and_no_others(
    program: Program,
) -> None:
    def role(*names: str) -> dict[str, Any]:
        may = {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}
        policies = [{"PolicyName": n, "PolicyDocument": {"Statement": [may]}} for n in names]
        return {"Role": {**ROLE, "Properties": {**ROLE["Properties"], "Policies": policies}}}

    deploy(program, "granted", role("first", "second"))
    assert update(program, "granted", role("second", "third"))[0] == "UPDATE_COMPLETE"
    iam = program.client("iam")
    (made,) = [each["RoleName"] for each in iam.list_roles()["Roles"]]
    assert iam.list_role_policies(RoleName=made)["PolicyNames"] == ["second", "third"]


def test_an_updated_log_group_keeps_its_lines_and_has_the_new_retention(program: Program) -> None:
    def logs(**more: object) -> dict[str, Any]:
        properties = {"LogGroupName": "kept-lines", **more}
        return {"Logs": {"Type": "AWS::Logs::LogGroup", "Properties": properties}}

    deploy(program, "logged", logs(RetentionInDays=90))
    client = program.client("logs")
    client.create_log_stream(logGroupName="kept-lines", logStreamName="one")
    for more, expected in (({"RetentionInDays": 30}, 30), ({}, None)):
        assert update(program, "logged", logs(**more))[0] == "UPDATE_COMPLETE"
        (group,) = client.describe_log_groups(logGroupNamePrefix="kept-lines")["logGroups"]
        assert group.get("retentionInDays") == expected
    assert client.describe_log_streams(logGroupName="kept-lines")["logStreams"]


def test_an_updated_managed_policy_has_the_new_document(program: Program) -> None:
    def policy(action: str) -> dict[str, Any]:
        may = {"Effect": "Allow", "Action": action, "Resource": "*"}
        document = {"Version": "2012-10-17", "Statement": [may]}
        properties = {"ManagedPolicyName": "people", "PolicyDocument": document}
        return {"People": {"Type": "AWS::IAM::ManagedPolicy", "Properties": properties}}

    deploy(program, "managed", policy("ec2:DescribeVolumes"))
    assert update(program, "managed", policy("ec2:ModifyVolume"))[0] == "UPDATE_COMPLETE"
    iam = program.client("iam")
    (found,) = [
        p for p in iam.list_policies(Scope="Local")["Policies"] if p["PolicyName"] == "people"
    ]
    version = iam.get_policy_version(PolicyArn=found["Arn"], VersionId=found["DefaultVersionId"])
    (statement,) = version["PolicyVersion"]["Document"]["Statement"]
    assert statement["Action"] == "ec2:ModifyVolume"


def test_a_key_of_a_template_can_be_read_and_disabled(program: Program) -> None:
    owner = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "kms:*", "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [owner]}
    key = {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": policy}}
    deploy(program, "sealed", {"Key": key})
    kms = program.client("kms")
    (found,) = [each["KeyId"] for each in kms.list_keys()["Keys"]]
    assert kms.describe_key(KeyId=found)["KeyMetadata"]["KeyState"] == "Enabled"
    kms.disable_key(KeyId=found)
    assert kms.describe_key(KeyId=found)["KeyMetadata"]["KeyState"] == "Disabled"
