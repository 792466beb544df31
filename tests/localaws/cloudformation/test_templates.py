"""An invalid template is refused before a stack exists."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.localaws.conftest import Program

QUEUE = {"Type": "AWS::SQS::Queue"}


def queue(**properties: Any) -> str:
    return json.dumps({"Resources": {"Q": {**QUEUE, "Properties": properties}}})


UNUSABLE = [
    ("{", "Template format error: JSON not well-formed."),
    ("Resources: [", "Template format error: YAML not well-formed."),
    ("- a", "Template format error: unsupported structure."),
    ('{"Resources": {}}', "At least one Resources member must be defined."),
    ('{"Resources": {"Q": {}}}', "[/Resources/Q] Every Resources object must contain a Type"),
    ('{"Resources": {"Q": 1}}', "[/Resources/Q] Any Resources member must be an object."),
    (
        queue(QueueName={"Ref": "Nope"}),
        "Template format error: Unresolved resource dependencies [Nope] in the Resources block of "
        "the template",
    ),
    (queue(QueueName={"Fn::Sub": "${AWS::StackName}-${Nope.Arn}"}), "dependencies [Nope]"),
    (queue(QueueName={"Fn::GetAtt": ["Nope", "Arn"]}), "references undefined resource Nope"),
    (queue(QueueName={"Fn::If": ["Nope", "a", "b"]}), "condition dependencies [Nope]"),
    (json.dumps({"Resources": {"Q": {**QUEUE, "DependsOn": "Nope"}}}), "dependencies [Nope]"),
    (json.dumps({"Resources": {"Q": {**QUEUE, "Condition": "Nope"}}}), "dependencies [Nope]"),
    (
        json.dumps({"Resources": {"Q": QUEUE}, "Outputs": {"O": {"Value": {"Ref": "Nope"}}}}),
        "dependencies [Nope] in the Outputs block",
    ),
]


def calls(program: Program) -> list[Any]:
    cloudformation = program.client("cloudformation")
    return [
        lambda body: cloudformation.create_stack(StackName="ghost", TemplateBody=body),
        lambda body: cloudformation.create_change_set(
            StackName="ghost", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body
        ),
        lambda body: cloudformation.validate_template(TemplateBody=body),
    ]


@pytest.mark.parametrize(("body", "words"), UNUSABLE)
def test_an_unusable_template_is_refused_and_leaves_no_stack(
    program: Program, body: str, words: str
) -> None:
    for call in calls(program):
        with pytest.raises(ClientError) as caught:
            call(body)
        answer = caught.value.response
        assert answer["Error"]["Code"] == "ValidationError"
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 400
        assert words in answer["Error"]["Message"]
    stacks = program.client("cloudformation").describe_stacks()["Stacks"]
    assert [s["StackName"] for s in stacks if s["StackName"] == "ghost"] == []


def test_a_parameter_without_a_value_is_named(program: Program) -> None:
    body = json.dumps({"Parameters": {"Size": {"Type": "String"}}, "Resources": {"Q": QUEUE}})
    for call in calls(program)[:2]:
        with pytest.raises(ClientError, match=r"Parameters: \[Size\] must have values"):
            call(body)
    answer = program.client("cloudformation").validate_template(TemplateBody=body)
    assert [p["ParameterKey"] for p in answer["Parameters"]] == ["Size"]


def test_validation_names_unknown_types(program: Program) -> None:
    body = json.dumps({"Resources": {"X": {"Type": "AWS::No::Such"}}})
    with pytest.raises(ClientError, match=r"Unrecognized resource types: \[AWS::No::Such\]"):
        program.client("cloudformation").validate_template(TemplateBody=body)


def test_an_unusable_update_leaves_the_stack_as_it_was(program: Program) -> None:
    cloudformation = program.client("cloudformation")
    cloudformation.create_stack(StackName="kept", TemplateBody=queue(VisibilityTimeout=60))
    for body, _ in UNUSABLE:
        with pytest.raises(ClientError, match="ValidationError"):
            cloudformation.update_stack(StackName="kept", TemplateBody=body)
    stack = cloudformation.describe_stacks(StackName="kept")["Stacks"][0]
    assert stack["StackStatus"] == "CREATE_COMPLETE"


def test_an_output_that_cannot_be_resolved_rolls_the_stack_back(program: Program) -> None:
    resources = {"Q": {**QUEUE, "Properties": {"QueueName": "unresolved"}}}
    outputs = {"O": {"Value": {"Fn::Select": ["9", ["a"]]}}}
    cloudformation = program.client("cloudformation")
    cloudformation.create_stack(
        StackName="unresolved",
        TemplateBody=json.dumps({"Resources": resources, "Outputs": outputs}),
    )
    stack = cloudformation.describe_stacks(StackName="unresolved")["Stacks"][0]
    assert stack["StackStatus"] == "ROLLBACK_COMPLETE"
    assert not program.client("sqs").list_queues(QueueNamePrefix="unresolved").get("QueueUrls")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"How": "weekly"}, "Parameter 'How' must be one of AllowedValues"),
        ({"Bus": "on"}, "Parameter 'Bus' must match pattern off|arn:"),
        ({"Bus": "off!"}, "Parameter 'Bus' must match pattern off|arn:"),
        ({"Name": "toolong"}, "Parameter 'Name' has a length that is not allowed"),
        ({"Nothing": "x"}, "Parameters: \\[Nothing\\] do not exist in the template"),
    ],
)
def test_a_value_that_the_template_does_not_allow_is_refused(
    program: Program, value: dict[str, str], said: str
) -> None:
    text = {"Type": "String"}
    parameters = {
        "How": {**text, "AllowedValues": ["fleet", "sweep"], "Default": "fleet"},
        "Bus": {**text, "AllowedPattern": "off|arn:.+", "Default": "off"},
        "Name": {**text, "MaxLength": 3, "Default": ""},
    }
    body = json.dumps({"Parameters": parameters, "Resources": {"Q": QUEUE}})
    given = [{"ParameterKey": key, "ParameterValue": text} for key, text in value.items()]
    with pytest.raises(ClientError, match=said):
        program.client("cloudformation").create_stack(
            StackName="refused", TemplateBody=body, Parameters=given
        )
