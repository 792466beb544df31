"""Stacks are created, fail, roll back, change and are deleted, through CloudFormation's API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from headroom.localaws.cloudformation.intrinsics import Unresolvable, prepared
from tests.localaws.conftest import Program

TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "DeletionPolicy": "Retain",
    "Properties": {
        "TableName": "kept",
        "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": True,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
        "TimeToLiveSpecification": {"AttributeName": "gone", "Enabled": True},
    },
}
QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": 60}}
POLICY = {
    "Type": "AWS::SQS::QueuePolicy",
    "Properties": {
        "Queues": [{"Ref": "Queue"}],
        "PolicyDocument": {
            "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Principal": "*"}]
        },
    },
}
ALARM = {
    "Type": "AWS::CloudWatch::Alarm",
    "Properties": {
        "AlarmName": "made",
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 2,
        "Threshold": 1,
        "TreatMissingData": "notBreaching",
        "AlarmActions": [{"Ref": "Topic"}],
        "Metrics": [
            {
                "Id": "q",
                "Expression": 'SELECT MAX("x") FROM SCHEMA("N", V) GROUP BY V ORDER BY MAX() DESC',
                "Period": 60,
            }
        ],
    },
}
TOPIC = {"Type": "AWS::SNS::Topic", "Properties": {}}
ROLE = {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": []}}}
FUNCTION = {
    "Type": "AWS::Lambda::Function",
    "Properties": {
        "FunctionName": "made",
        "Runtime": "python3.13",
        "Handler": "index.handle",
        "Role": {"Fn::GetAtt": ["Role", "Arn"]},
        "Architectures": ["arm64"],
        "LoggingConfig": {"LogFormat": "JSON"},
        "ReservedConcurrentExecutions": 2,
        "Timeout": 30,
        "Code": {"ZipFile": "def handle(event, context): return 'hello'"},
    },
}
MAPPING = {
    "Type": "AWS::Lambda::EventSourceMapping",
    "Properties": {
        "FunctionName": {"Ref": "Function"},
        "EventSourceArn": {"Fn::GetAtt": ["Queue", "Arn"]},
        "BatchSize": 5,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": 2},
    },
}
SCHEDULE = {
    "Type": "AWS::Scheduler::Schedule",
    "Properties": {
        "Name": "made",
        "ScheduleExpression": "rate(1 minute)",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {"Arn": {"Fn::GetAtt": ["Function", "Arn"]}, "RoleArn": "arn:aws:iam::1:role/x"},
    },
}
EVERYTHING = {
    "Table": TABLE, "Queue": QUEUE, "Policy": POLICY, "Alarm": ALARM, "Topic": TOPIC,
    "Role": ROLE, "Function": FUNCTION, "Mapping": MAPPING, "Schedule": SCHEDULE,
    "Metadata": {"Type": "AWS::CDK::Metadata", "Properties": {}},
}  # fmt: skip


def deploy(program: Program, name: str, resources: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Create a stack and return its status."""
    cloudformation = program.client("cloudformation")
    body = json.dumps({"Resources": resources, **more})
    stack_id = cloudformation.create_stack(StackName=name, TemplateBody=body)["StackId"]
    answer: dict[str, Any] = cloudformation.describe_stacks(StackName=stack_id)["Stacks"][0]
    return answer


def test_every_resource_is_really_there_with_what_its_template_says(program: Program) -> None:
    outputs = {
        "Url": {"Value": {"Ref": "Queue"}},
        "Arn": {"Value": {"Fn::GetAtt": ["Alarm", "Arn"]}},
    }
    answer = deploy(program, "everything", EVERYTHING, Outputs=outputs)
    assert answer["StackStatus"] == "CREATE_COMPLETE", answer.get("StackStatusReason")
    found = {o["OutputKey"]: o["OutputValue"] for o in answer["Outputs"]}
    assert found["Arn"] == "arn:aws:cloudwatch:us-east-1:123456789012:alarm:made"
    dynamodb = program.client("dynamodb")
    table = dynamodb.describe_table(TableName="kept")["Table"]
    assert table["DeletionProtectionEnabled"] is True
    backups = dynamodb.describe_continuous_backups(TableName="kept")["ContinuousBackupsDescription"]
    assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
    expiry = dynamodb.describe_time_to_live(TableName="kept")["TimeToLiveDescription"]
    assert expiry == {"AttributeName": "gone", "TimeToLiveStatus": "ENABLED"}
    attributes = program.client("sqs").get_queue_attributes(
        QueueUrl=found["Url"], AttributeNames=["All"]
    )["Attributes"]
    assert attributes["VisibilityTimeout"] == "60"
    assert "sqs:SendMessage" in attributes["Policy"]
    alarm = program.client("cloudwatch").describe_alarms(AlarmNames=["made"])["MetricAlarms"][0]
    assert (alarm["DatapointsToAlarm"], alarm["TreatMissingData"]) == (2, "notBreaching")
    assert alarm["AlarmActions"][0].startswith("arn:aws:sns:")
    assert "GROUP BY V" in alarm["Metrics"][0]["Expression"]
    client = program.client("lambda")
    function = client.get_function(FunctionName="made")
    assert function["Configuration"]["Architectures"] == ["arm64"]
    assert function["Configuration"]["LoggingConfig"]["LogFormat"] == "JSON"
    assert function["Concurrency"] == {"ReservedConcurrentExecutions": 2}
    mapping = client.list_event_source_mappings(FunctionName="made")["EventSourceMappings"][0]
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert (mapping["BatchSize"], mapping["ScalingConfig"]) == (5, {"MaximumConcurrency": 2})
    schedule = program.client("scheduler").get_schedule(Name="made")
    assert schedule["Target"]["Arn"] == function["Configuration"]["FunctionArn"]
    assert client.invoke(FunctionName="made")["Payload"].read() == b'"hello"'


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ({"Type": "AWS::Athena::DataCatalog"}, "AWS::Athena::DataCatalog is not supported"),
        ({"Type": "Custom::Thing", "Properties": {}}, "Custom::Thing"),
        ({"Type": "AWS::CloudWatch::Alarm", "Properties": {"AlarmName": "x"}}, "required"),
        (
            {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": {"Fn::Riddle": 1}}},
            "Fn::Riddle is not supported",
        ),
        (
            {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": {"Fn::GetStackOutput": {"StackName": "no", "OutputName": "x"}}}},
            "Stack no has no output x",
        ),
    ],
)  # fmt: skip
def test_a_resource_that_cannot_be_created_rolls_the_stack_back(
    program: Program, resource: dict[str, Any], words: str
) -> None:
    fine = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "undone"}}
    odd = {**resource, "DependsOn": ["Fine"]}
    name = "bad"
    answer = deploy(program, name, {"Fine": fine, "Odd": odd})
    assert answer["StackStatus"] == "ROLLBACK_COMPLETE"
    assert words in answer["StackStatusReason"]
    events = program.client("cloudformation").describe_stack_events(StackName=answer["StackId"])
    failed = [e for e in events["StackEvents"] if e["ResourceStatus"] == "CREATE_FAILED"]
    assert [(e["LogicalResourceId"], words in e["ResourceStatusReason"]) for e in failed] == [
        ("Odd", True)
    ]
    assert not program.client("sqs").list_queues(QueueNamePrefix="undone").get("QueueUrls")


@pytest.mark.parametrize(("policy", "left"), [("Retain", True), ("RetainExceptOnCreate", False)])
def test_what_a_failed_creation_made_is_kept_only_where_it_is_retained_in_any_case(
    program: Program, policy: str, left: bool
) -> None:
    name = f"new-{policy}"
    table = {
        **TABLE, "DeletionPolicy": policy,
        "Properties": {
            **TABLE["Properties"], "TableName": name, "DeletionProtectionEnabled": False,
        },  # type: ignore[dict-item]
    }  # fmt: skip
    odd = {"Type": "AWS::Athena::DataCatalog", "DependsOn": ["Table"]}
    assert deploy(program, name, {"Table": table, "Odd": odd})["StackStatus"] == "ROLLBACK_COMPLETE"
    assert (name in program.client("dynamodb").list_tables()["TableNames"]) is left


def update(program: Program, name: str, resources: dict[str, Any], **more: Any) -> tuple[str, str]:
    """Update a stack and return its status."""
    cloudformation = program.client("cloudformation")
    body = json.dumps({"Resources": resources, **more})
    cloudformation.update_stack(StackName=name, TemplateBody=body)
    stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    return stack["StackStatus"], stack.get("StackStatusReason", "")


def test_a_parameter_never_leaves_the_advanced_tier(program: Program) -> None:
    def parameter(tier: str) -> dict[str, Any]:
        properties = {"Name": "/tiered", "Type": "String", "Value": tier, "Tier": tier}
        return {"P": {"Type": "AWS::SSM::Parameter", "Properties": properties}}

    deploy(program, "tiered", parameter("Standard"))
    assert update(program, "tiered", parameter("Advanced"))[0] == "UPDATE_COMPLETE"
    status, reason = update(program, "tiered", parameter("Standard"))
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "can't downgrade" in reason


def test_a_table_gains_or_loses_one_index_per_update(program: Program) -> None:
    def table(*indexes: str) -> dict[str, Any]:
        key = [{"AttributeName": "k", "KeyType": "HASH"}]
        every = [
            {"IndexName": i, "KeySchema": key, "Projection": {"ProjectionType": "KEYS_ONLY"}}
            for i in indexes
        ]
        properties = {
            "TableName": "indexed", "KeySchema": key, "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}],
            **({"GlobalSecondaryIndexes": every} if every else {}),
        }  # fmt: skip
        return {"T": {"Type": "AWS::DynamoDB::Table", "Properties": properties}}

    deploy(program, "indexed", table("a"))
    status, reason = update(program, "indexed", table("a", "b", "c"))
    assert status == "UPDATE_ROLLBACK_COMPLETE"
    assert "more than one GSI" in reason
    assert update(program, "indexed", table("a", "b"))[0] == "UPDATE_COMPLETE"
    found = program.client("dynamodb").describe_table(TableName="indexed")["Table"]
    assert [each["IndexName"] for each in found["GlobalSecondaryIndexes"]] == ["a", "b"]
    assert update(program, "indexed", table("b"))[0] == "UPDATE_COMPLETE"


def test_a_failed_update_leaves_the_stack_as_it_was(program: Program) -> None:
    name = "steady"
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": name, "VisibilityTimeout": 60}}
    deploy(program, name, {"Queue": queue})
    changed = {**queue, "Properties": {"QueueName": name, "VisibilityTimeout": 90}}
    cloudformation = program.client("cloudformation")
    for resources, status, timeout in (
        ({"Queue": changed, "Odd": {"Type": "AWS::Athena::DataCatalog"}}, "UPDATE_ROLLBACK_COMPLETE", "60"),
        ({"Queue": changed}, "UPDATE_COMPLETE", "90"),
    ):  # fmt: skip
        cloudformation.update_stack(
            StackName=name, TemplateBody=json.dumps({"Resources": resources})
        )
        stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        assert stack["StackStatus"] == status
        url = program.client("sqs").get_queue_url(QueueName=name)["QueueUrl"]
        answer = program.client("sqs").get_queue_attributes(
            QueueUrl=url, AttributeNames=["VisibilityTimeout"]
        )
        assert answer["Attributes"]["VisibilityTimeout"] == timeout
    with pytest.raises(ClientError, match="No updates"):
        cloudformation.update_stack(
            StackName=name, TemplateBody=json.dumps({"Resources": {"Queue": changed}})
        )


def test_change_sets_create_change_and_say_when_there_is_nothing_to_do(program: Program) -> None:
    cloudformation = program.client("cloudformation")
    for kind, timeout, expected in (
        ("CREATE", 60, "CREATE_COMPLETE"), ("UPDATE", 90, "UPDATE_COMPLETE"),
    ):  # fmt: skip
        queue = {"Type": "AWS::SQS::Queue", "Properties": {"VisibilityTimeout": timeout}}
        body = json.dumps(
            {"Resources": {"Queue": queue}, "Outputs": {"U": {"Value": {"Ref": "Queue"}}}}
        )
        made = cloudformation.create_change_set(
            StackName="by-change", ChangeSetName="c", ChangeSetType=kind, TemplateBody=body
        )
        cloudformation.execute_change_set(ChangeSetName=made["Id"])
        stack = cloudformation.describe_stacks(StackName="by-change")["Stacks"][0]
        assert stack["StackStatus"] == expected
        assert stack["Outputs"][0]["OutputKey"] == "U"
    same = cloudformation.create_change_set(
        StackName="by-change", ChangeSetName="c", ChangeSetType="UPDATE", TemplateBody=body
    )
    answer = cloudformation.describe_change_set(ChangeSetName=same["Id"])
    assert answer["Status"] == "FAILED"
    assert "didn't contain changes" in answer["StatusReason"]
    cloudformation.delete_change_set(ChangeSetName=same["Id"])
    with pytest.raises(ClientError, match="ChangeSetNotFound"):
        cloudformation.describe_change_set(ChangeSetName=same["Id"])


def test_another_stacks_outputs_and_exports_can_be_used(program: Program) -> None:
    export = {"Value": {"Fn::GetAtt": ["Queue", "Arn"]}, "Export": {"Name": "the-arn"}}
    deploy(program, "gives", {"Queue": QUEUE}, Outputs={"Arn": export})
    takes = {
        f"P{n}": {"Type": "AWS::SSM::Parameter", "Properties": {"Name": f"taken{n}", "Type": "String", "Value": value}}
        for n, value in enumerate((
            {"Fn::ImportValue": "the-arn"},
            {"Fn::GetStackOutput": {"StackName": "gives", "OutputName": "Arn", "Region": {"Ref": "AWS::Region"}}},
        ))
    }  # fmt: skip
    assert deploy(program, "takes", takes)["StackStatus"] == "CREATE_COMPLETE"
    ssm = program.client("ssm")
    values = {ssm.get_parameter(Name=f"taken{n}")["Parameter"]["Value"] for n in (0, 1)}
    assert len(values) == 1
    assert values.pop().startswith("arn:aws:sqs:us-east-1:123456789012:gives-Queue")


def test_a_resource_whose_condition_is_false_is_not_made(program: Program) -> None:
    conditions = {"Never": {"Fn::Equals": ["a", "b"]}, "Always": {"Fn::Equals": ["a", "a"]}}
    resources = {
        name: {"Type": "AWS::SQS::Queue", "Condition": name, "Properties": {"QueueName": name}}
        for name in conditions
    }
    answer = deploy(program, "conditional", resources, Conditions=conditions)
    assert answer["StackStatus"] == "CREATE_COMPLETE"
    found = program.client("cloudformation").describe_stack_resources(StackName="conditional")
    assert [r["LogicalResourceId"] for r in found["StackResources"]] == ["Always"]


@pytest.mark.parametrize("loud", [True, False])
def test_of_a_choice_only_what_is_chosen_counts_and_nothing_is_not_in_its_list(loud: bool) -> None:
    nothing, deny = {"Ref": "AWS::NoValue"}, {"Effect": "Deny"}
    maybe = {"Fn::If": ["IsLoud", deny, nothing]}
    absent = {"Fn::If": ["IsLoud", deny, {"Fn::GetAtt": ["Absent", "Arn"]}]}
    node = {"Statement": [{"Effect": "Allow"}, maybe, nothing], "Id": maybe}
    resources = Choice(IsLoud=loud)
    found = prepared(node, resources, account="123456789012", region="us-east-1")
    assert found == {
        "Statement": [{"Effect": "Allow"}, *([deny] if loud else [])], "Id": deny if loud else nothing
    }  # fmt: skip
    if loud:
        assert prepared(absent, resources, account="1", region="us-east-1") == deny
    else:
        with pytest.raises(Unresolvable, match="Absent has no attribute Arn"):
            prepared(absent, resources, account="1", region="us-east-1")


class Choice(dict[str, None]):
    """The resources of a stack with some conditions and a resource that was not made."""

    def __init__(self, **conditions: bool) -> None:
        super().__init__(Absent=None)
        self.lazy_condition_map = conditions


def test_a_resource_comes_and_goes_with_its_condition(program: Program) -> None:
    template = {
        "Parameters": {"Loud": {"Type": "String", "Default": "no"}},
        "Conditions": {"IsLoud": {"Fn::Equals": [{"Ref": "Loud"}, "yes"]}},
        "Resources": {"Always": QUEUE, "Queue": {**QUEUE, "Condition": "IsLoud"}},
    }
    formation, sqs = program.client("cloudformation"), program.client("sqs")
    formation.create_stack(StackName="s", TemplateBody=json.dumps(template))
    counts = []
    for value in ("yes", "no", "yes"):
        formation.update_stack(
            StackName="s", TemplateBody=json.dumps(template),
            Parameters=[{"ParameterKey": "Loud", "ParameterValue": value}],
        )  # fmt: skip
        status = formation.describe_stacks(StackName="s")["Stacks"][0]["StackStatus"]
        counts.append((status, len(sqs.list_queues()["QueueUrls"])))
    assert counts == [("UPDATE_COMPLETE", 2), ("UPDATE_COMPLETE", 1), ("UPDATE_COMPLETE", 2)]


def test_an_updated_mapping_is_still_the_only_one(program: Program) -> None:
    function = json.loads(json.dumps(FUNCTION))
    function["Properties"]["FunctionName"] = "remapped"
    cloudformation = program.client("cloudformation")
    for batch_size in (5, 7):
        mapping = json.loads(json.dumps(MAPPING))
        mapping["Properties"]["BatchSize"] = batch_size
        body = {"Queue": QUEUE, "Role": ROLE, "Function": function, "Mapping": mapping}
        call = cloudformation.create_stack if batch_size == 5 else cloudformation.update_stack
        call(StackName="remapped", TemplateBody=json.dumps({"Resources": body}))
        stack = cloudformation.describe_stacks(StackName="remapped")["Stacks"][0]
        assert stack["StackStatus"].startswith(("CREATE_COMPLETE", "UPDATE_COMPLETE")), stack
        answer = program.client("lambda").list_event_source_mappings(FunctionName="remapped")
        assert [m["BatchSize"] for m in answer["EventSourceMappings"]] == [batch_size]


def test_deleting_a_stack_keeps_what_is_retained(program: Program) -> None:
    table = json.loads(json.dumps(TABLE))
    table["Properties"]["TableName"] = "outlives"
    queue = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "goes"}}
    answer = deploy(program, "short-lived", {"Table": table, "Queue": queue})
    cloudformation = program.client("cloudformation")
    cloudformation.delete_stack(StackName="short-lived")
    gone = cloudformation.describe_stacks(StackName=answer["StackId"])["Stacks"][0]
    assert gone["StackStatus"] == "DELETE_COMPLETE"
    assert "outlives" in program.client("dynamodb").list_tables()["TableNames"]
    assert not program.client("sqs").list_queues(QueueNamePrefix="goes").get("QueueUrls")


def test_an_operation_the_endpoint_lacks_says_so_at_once(program: Program) -> None:
    with pytest.raises(ClientError, match="NotImplemented"):
        program.client("cloudformation").describe_type(Type="RESOURCE", TypeName="AWS::S3::Bucket")
