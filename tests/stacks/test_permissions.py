"""Least privilege: the actions of the adapters, on the resources they are for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters import actions
from headroom.adapters.tables import LEDGER_ACTIONS
from headroom.cdk.permissions import LOG_ACTIONS, PLATFORM_ACTIONS, TOPIC_KEY_ACTIONS, TRACE_ACTIONS
from headroom.domain.policy import hard_caps_of
from headroom.settings import REQUESTS_FUNCTION
from tests.stacks.conftest import Synth, Synthesised, properties, resources, text_of
from tests.stacks.test_hub import HUB_SETTINGS

ADAPTER_ACTIONS = {
    *actions.EBS_READ_ACTIONS,
    *actions.EBS_WRITE_ACTIONS,
    *actions.METRICS_READ_ACTIONS,
    *actions.ALARM_READ_ACTIONS,
    *actions.ALARM_REMOVE_ACTIONS,
    *actions.ALARM_MAKE_ACTIONS,
    *actions.POLICY_READ_ACTIONS,
    *actions.NOTIFIER_ACTIONS,
    *actions.PRICES_ACTIONS,
    *actions.RETRY_ACTIONS,
    *actions.EVENTS_OUT_ACTIONS,
    *actions.LIST_METRICS_ACTIONS,
    *actions.RDS_READ_ACTIONS,
    *actions.RDS_WRITE_ACTIONS,
    *actions.AURORA_READ_ACTIONS,
    *LEDGER_ACTIONS["records"],
    *LEDGER_ACTIONS["state"],
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _statements(made: Synthesised) -> Iterator[dict[str, Any]]:
    """Every statement of every role and policy."""
    for template in made.templates:
        for role in properties(template, "AWS::IAM::Role"):
            assert "ManagedPolicyArns" not in role
            for policy in role.get("Policies", []):
                yield from policy["PolicyDocument"]["Statement"]
        for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
            for policy in properties(template, kind):
                yield from policy["PolicyDocument"]["Statement"]


def _granting(made: Synthesised, action: str) -> list[dict[str, Any]]:
    return [s for s in _statements(made) if action in _listed(s["Action"])]


def test_the_roles_may_do_what_the_adapters_do_and_nothing_else(shipped: Synthesised) -> None:
    granted = {action for s in _statements(shipped) for action in _listed(s["Action"])}
    assert granted == ADAPTER_ACTIONS | set(PLATFORM_ACTIONS) - set(TOPIC_KEY_ACTIONS)


def test_a_key_of_the_topic_is_the_owners_choice(synth: Synth) -> None:
    granted = {
        action for s in _statements(synth(topic_key="on")) for action in _listed(s["Action"])
    }
    assert granted == ADAPTER_ACTIONS | set(PLATFORM_ACTIONS)


def test_no_action_is_a_wildcard_and_no_statement_is_open_ended(shipped: Synthesised) -> None:
    for statement in _statements(shipped):
        assert statement["Effect"] == "Allow"
        assert not {"NotAction", "NotResource"} & set(statement)
        assert all("*" not in action for action in _listed(statement["Action"]))


def test_a_star_is_given_only_where_aws_knows_no_resource(shipped: Synthesised) -> None:
    starred = {
        action
        for statement in _statements(shipped)
        if "*" in _listed(statement["Resource"])
        for action in _listed(statement["Action"])
    }
    assert starred == {
        *actions.EBS_READ_ACTIONS,
        *actions.RDS_READ_ACTIONS,
        *actions.AURORA_READ_ACTIONS,
        *actions.METRICS_READ_ACTIONS,
        *actions.ALARM_LIST_ACTIONS,
        *actions.LIST_METRICS_ACTIONS,
        *actions.PRICES_ACTIONS,
        "xray:PutTelemetryRecords",
        "xray:PutTraceSegments",
    }


def test_storage_is_changed_only_in_this_account_and_region(shipped: Synthesised) -> None:
    (statement,) = _granting(shipped, "ec2:ModifyVolume")
    assert _listed(statement["Action"]) == ["ec2:ModifyVolume"]
    assert [text_of(r) for r in _listed(statement["Resource"])] == [
        "arn:<AWS::Partition>:ec2:<AWS::Region>:<AWS::AccountId>:volume/*"
    ]


def test_only_workers_see_and_change_storage(shipped: Synthesised) -> None:
    roles = resources(shipped.loop, "AWS::IAM::Role")
    storage = (
        *actions.EBS_READ_ACTIONS, *actions.EBS_WRITE_ACTIONS, *actions.RDS_READ_ACTIONS,
        *actions.RDS_WRITE_ACTIONS, *actions.AURORA_READ_ACTIONS, *actions.METRICS_READ_ACTIONS,
    )  # fmt: skip
    for action in storage:
        assert [n[:7] for n, role in roles.items() if f"'{action}'" in str(role)] == ["Signals"]


ALARM_ARN = "arn:<AWS::Partition>:cloudwatch:<AWS::Region>:<AWS::AccountId>:alarm:"


def test_the_dispatcher_alone_makes_alarms_and_only_under_a_prefix_of_its_own(
    shipped: Synthesised, synth: Synth
) -> None:
    ours = [f"{ALARM_ARN}headroom-detect-resource-*"]
    for action in (*actions.ALARM_REMOVE_ACTIONS, *actions.ALARM_MAKE_ACTIONS):
        (statement,) = _granting(shipped, action)
        assert [text_of(one) for one in _listed(statement["Resource"])] == ours
    for settings in ({"alarm_budget_usd": "0"}, {"detection": "sweep"}):
        without = synth(**settings)
        assert not any(_granting(without, action) for action in actions.ALARM_MAKE_ACTIONS)
        assert _granting(without, "cloudwatch:DeleteAlarms"), "those that a budget once paid"


@pytest.mark.parametrize(
    ("tag", "condition"),
    [
        ("team=db", {"StringEquals": {"aws:ResourceTag/team": "db"}}),
        ("team", {"Null": {"aws:ResourceTag/team": "false"}}),
    ],
)
def test_with_a_resource_tag_only_storage_that_has_it_can_be_changed(
    synth: Synth, tag: str, condition: dict[str, Any]
) -> None:
    made = synth(hard_caps={"resource_tag": tag, "max_iops": 5_000})
    for action in (*actions.EBS_WRITE_ACTIONS, *actions.RDS_WRITE_ACTIONS):
        assert [s["Condition"] for s in _granting(made, action)] == [condition]
    for function in properties(made.loop, "AWS::Lambda::Function"):
        variables = function["Environment"]["Variables"]
        caps = hard_caps_of(variables["HEADROOM_HARD_CAPS"], "the template")
        assert dict(caps.settings) == {"max_iops": 5_000}


def test_no_role_can_change_or_remove_a_record(shipped: Synthesised) -> None:
    records = _logical_id(shipped, "Records")
    granted = {
        action
        for statement in _statements(shipped)
        if any(records in text_of(resource) for resource in _listed(statement["Resource"]))
        for action in _listed(statement["Action"])
    }
    assert granted == set(LEDGER_ACTIONS["records"])
    changing = ("Update", "Delete", "BatchWrite", "PartiQL", "TransactWrite")
    assert [a for a in granted if a.split(":")[1].startswith(changing)] == []


def _logical_id(made: Synthesised, prefix: str) -> str:
    tables = resources(made.state, "AWS::DynamoDB::Table")
    return next(name for name in tables if name.startswith(prefix))


def test_the_records_table_itself_refuses_updates_and_deletes(shipped: Synthesised) -> None:
    table = resources(shipped.state, "AWS::DynamoDB::Table")[_logical_id(shipped, "Records")]
    found = table["Properties"]["ResourcePolicy"]["PolicyDocument"]["Statement"]
    (statement,) = [s for s in found if s["Sid"] == "AppendOnly"]
    assert statement["Effect"] == "Deny"
    assert statement["Principal"] in ("*", {"AWS": "*"})
    assert "Condition" not in statement
    assert {"dynamodb:UpdateItem", "dynamodb:DeleteItem"} <= set(statement["Action"])


def test_both_tables_refuse_items_from_all_but_the_deployed_roles(shipped: Synthesised) -> None:
    for table in properties(shipped.state, "AWS::DynamoDB::Table"):
        found = table["ResourcePolicy"]["PolicyDocument"]["Statement"]
        (statement,) = [s for s in found if s["Sid"] == "DeployedRolesWrite"]
        assert (statement["Effect"], statement["Principal"]) == ("Deny", {"AWS": "*"})
        assert set(statement["Action"]) == {
            f"dynamodb:{name}"
            for name in ("BatchWriteItem", "DeleteItem", "PartiQLDelete", "PartiQLInsert",
                         "PartiQLUpdate", "PutItem", "UpdateItem")
        }  # fmt: skip
        writers = text_of(statement["Condition"]["ArnNotLike"]["aws:PrincipalArn"])
        assert writers == "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/headroom/*"
    roles = resources(shipped.loop, "AWS::IAM::Role")
    for function in properties(shipped.loop, "AWS::Lambda::Function"):
        assert roles[function["Role"]["Fn::GetAtt"][0]]["Properties"]["Path"] == "/headroom/"
    assert not any("RoleName" in role["Properties"] for role in roles.values())


def test_the_function_for_requests_may_use_the_tables_and_nobody_is_let_in_by_its_policy(
    shipped: Synthesised,
) -> None:
    roles = resources(shipped.loop, "AWS::IAM::Role")
    (role,) = [body["Properties"] for name, body in roles.items() if name.startswith("Requests")]
    granted = {
        action
        for policy in role["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        for action in _listed(statement["Action"])
    }
    assert granted == {
        *LEDGER_ACTIONS["records"], *LEDGER_ACTIONS["state"], *LOG_ACTIONS, *TRACE_ACTIONS,
    }  # fmt: skip
    functions = resources(shipped.loop, "AWS::Lambda::Function")
    (name,) = [n for n in functions if n.startswith("Requests")]
    assert functions[name]["Properties"]["FunctionName"] == REQUESTS_FUNCTION
    assert name not in str(properties(shipped.loop, "AWS::Lambda::Permission"))
    assert properties(shipped.loop, "AWS::Lambda::Url") == []


def test_only_the_function_that_hears_alarms_may_ask_them(shipped: Synthesised) -> None:
    roles = resources(shipped.loop, "AWS::IAM::Role")
    asking = [n for n, role in roles.items() if "DescribeAlarmContributors" in str(role)]
    assert [name[:7] for name in asking] == ["Signals"]


def test_only_the_sweep_may_ask_for_prices(shipped: Synthesised) -> None:
    roles = resources(shipped.loop, "AWS::IAM::Role")
    asking = [n for n, role in roles.items() if "pricing:GetProducts" in str(role)]
    assert [name[:5] for name in asking] == ["Sweep"]


def test_only_the_sweep_may_publish_events_and_only_headrooms_on_the_default_bus(
    shipped: Synthesised,
) -> None:
    roles = resources(shipped.loop, "AWS::IAM::Role")
    publishing = [n for n, role in roles.items() if "events:PutEvents" in str(role)]
    assert [name[:5] for name in publishing] == ["Sweep"]
    (statement,) = _granting(shipped, "events:PutEvents")
    assert statement["Condition"] == {"StringEquals": {"events:source": "headroom"}}
    (bus,) = _listed(statement["Resource"])
    assert text_of(bus) == (
        "arn:<AWS::Partition>:events:<AWS::Region>:<AWS::AccountId>:event-bus/default"
    )


def test_the_topics_key_is_used_through_sns_only(synth: Synth) -> None:
    statements = _granting(synth(topic_key="on"), "kms:Decrypt")
    assert statements
    for statement in statements:
        assert "kms:ViaService" in statement["Condition"]["StringEquals"]


def test_only_events_from_the_rules_reach_the_queue(shipped: Synthesised) -> None:
    rules = set(resources(shipped.loop, "AWS::Events::Rule"))
    policies = properties(shipped.loop, "AWS::SQS::QueuePolicy")
    sources: set[str] = set()
    for policy in policies:
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Deny":
                assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
                continue
            assert statement["Principal"] == {"Service": "events.amazonaws.com"}
            source = statement["Condition"]["ArnEquals"]["aws:SourceArn"]
            sources.add(source["Fn::GetAtt"][0])
    assert sources == rules
    assert len(policies) == 3, "the queue and both dead-letter queues"


def test_only_our_alarms_may_publish_to_the_topic(shipped: Synthesised) -> None:
    (policy,) = properties(shipped.state, "AWS::SNS::TopicPolicy")
    allowed = [s for s in policy["PolicyDocument"]["Statement"] if s["Effect"] == "Allow"]
    (alarms,) = allowed
    assert alarms["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    arn = text_of(alarms["Condition"]["ArnLike"]["aws:SourceArn"])
    assert re.fullmatch(r"arn:.*:alarm:headroom-own-\*", arn)
    assert alarms["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}


def test_calendars_may_be_asked_only_where_the_policy_names_them(
    synth: Synth, tmp_path: Path, shipped: Synthesised
) -> None:
    shared = "arn:aws:ssm:us-east-1:111122223333:document/peak-season"
    text = f'account:\n  calendars: [closed-days, "{shared}"]\n'
    (tmp_path / "policy.yaml").write_text(text)
    made = synth(policy_file=str(tmp_path / "policy.yaml"), detection="sweep")
    for statement in (asked := _granting(made, "ssm:GetCalendarState")):
        assert _listed(statement["Action"]) == ["ssm:GetCalendarState"]
        assert {text_of(r) for r in _listed(statement["Resource"])} == {
            shared,
            "arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:document/closed-days",
        }
    assert len(asked) == 2
    assert _granting(shipped, "ssm:GetCalendarState") == []
    for one in (made, shipped):  # a calendar that is written into the policy by hand is noticed
        alarms = [a["AlarmName"] for a in properties(one.loop, "AWS::CloudWatch::Alarm")]
        assert "headroom-own-changes-stopped" in alarms


def test_any_calendar_may_be_asked_where_a_hub_may_publish_a_policy_that_names_another(
    synth: Synth,
) -> None:
    made = synth(detection="sweep", **HUB_SETTINGS)
    asked = _granting(made, "ssm:GetCalendarState")
    assert len(asked) == 2
    for statement in asked:  # those of other accounts and Regions too
        assert text_of(statement["Resource"]) == "arn:<AWS::Partition>:ssm:*:*:document/*"


def test_seals_are_off_until_the_owner_turns_them_on(synth: Synth, shipped: Synthesised) -> None:
    assert _granting(shipped, "kms:GenerateMac") == []
    made = synth(seal_records="on", detection="sweep")
    keys = resources(made.state, "AWS::KMS::Key")
    (key,) = [n for n, body in keys.items() if body["Properties"].get("KeySpec") == "HMAC_256"]
    assert keys[key]["DeletionPolicy"] == "RetainExceptOnCreate"  # a failed creation leaves nothing
    assert keys[key]["UpdateReplacePolicy"] == "Retain"
    statements = keys[key]["Properties"]["KeyPolicy"]["Statement"]
    (refused,) = [s for s in statements if s["Effect"] == "Deny"]
    assert refused["Action"] == "kms:GenerateMac"
    assert text_of(refused["Condition"]["ArnNotLike"]["aws:PrincipalArn"]).endswith(
        "role/headroom/*"
    )
    granting = _granting(made, "kms:GenerateMac")
    assert len(granting) == 3
    assert all(_listed(s["Action"]) == ["kms:GenerateMac"] for s in granting)
    assert made.state["Outputs"]["SealKeyArn"]["Value"] == {"Fn::GetAtt": [key, "Arn"]}
    for function in properties(made.loop, "AWS::Lambda::Function"):
        assert "SealKey" in str(function["Environment"]["Variables"]["HEADROOM_SEAL_KEY"])


def test_file_systems_are_extended_only_where_the_owner_turns_it_on(
    synth: Synth, shipped: Synthesised
) -> None:
    for action in (*actions.EXTEND_ACTIONS, *actions.EXTEND_READ_ACTIONS):
        assert _granting(shipped, action) == []
    assert resources(shipped.loop, "AWS::SSM::Document") == {}
    made = synth(ebs_free_space="on", enrolment_tag_key="team", enrolment_tag_value="db")
    (document,) = properties(made.loop, "AWS::SSM::Document")
    assert document["Name"] == "headroom-extend-file-system"
    content = document["Content"]
    assert len(json.dumps(content)) < 64 * 1024  # the most that Systems Manager takes
    steps = content["mainSteps"]
    assert [s["precondition"]["StringEquals"][1] for s in steps] == ["Linux", "Windows"]
    for step in steps:
        text = "\n".join(step["inputs"]["runCommand"])
        assert set(re.findall(r"\{\{\s*(\w+)\s*\}\}", text)) == {"VolumeId", "SizeGib"}
    patterns = [one["allowedPattern"] for one in content["parameters"].values()]
    for pattern, good in zip(patterns, ("vol-0123456789abcdef0", "65536"), strict=True):
        assert re.match(pattern, good)
        assert not any(re.match(pattern, f"{good}{bad}") for bad in ("'", " ", ";", "$(x)", "`"))

    of_document, of_instances = sorted(
        _granting(made, "ssm:SendCommand"), key=lambda s: "Condition" in s
    )
    name = document["Name"]
    where = "<AWS::Region>:<AWS::AccountId>"
    assert text_of(of_document["Resource"]) == f"arn:<AWS::Partition>:ssm:{where}:document/{name}"
    assert text_of(of_instances["Resource"]) == f"arn:<AWS::Partition>:ec2:{where}:instance/*"
    assert of_instances["Condition"] == {"StringEquals": {"ssm:resourceTag/team": "db"}}
    for function in properties(made.loop, "AWS::Lambda::Function"):
        assert function["Environment"]["Variables"]["HEADROOM_EXTEND_DOCUMENT"] == name
    roles = resources(made.loop, "AWS::IAM::Role")
    assert [n[:7] for n, role in roles.items() if "ssm:SendCommand" in str(role)] == ["Signals"]
