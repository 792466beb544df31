"""`headroom doctor` asks IAM's simulation for nothing that the template does not grant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headroom.cli.doctor.permissions import DISPATCHER, REQUESTS, WORKER, questions
from headroom.domain.policy import hard_caps_of
from headroom.localaws.iam.evaluation import Policies, evaluate
from headroom.localaws.iam.policies import Access
from headroom.settings import FunctionSettings
from tests.builders import ACCOUNT, REGION
from tests.stacks.conftest import Synth, Synthesised, resources
from tests.stacks.test_hub import HUB_SETTINGS

HERE = f"{REGION}:{ACCOUNT}"
SETTINGS = FunctionSettings(
    records_table="records", state_table="state", policy_parameter="/headroom/policy",
    topic_arn=f"arn:aws:sns:{HERE}:topic", queue_url=f"https://sqs/{ACCOUNT}/queue",
    kinds="ebs,rds,aurora",
)  # fmt: skip
NAMED = {
    "Records": f"arn:aws:dynamodb:{HERE}:table/records", "StateTable": f"arn:aws:dynamodb:{HERE}:table/state",
    "Topic": SETTINGS.topic_arn, "Queue": f"arn:aws:sqs:{HERE}:queue", "AWS::Partition": "aws",
    "AWS::Region": REGION, "AWS::AccountId": ACCOUNT,
}  # fmt: skip


def text(value: Any) -> Any:
    """A value of a template with its references resolved to the resources of `SETTINGS`."""
    if isinstance(value, list):
        return [text(each) for each in value]
    if isinstance(value, str) or not isinstance(value, dict):
        return value
    if "Fn::Join" in value:
        return "".join(text(part) for part in value["Fn::Join"][1])
    if any(key.startswith(("Fn::", "Ref")) for key in value):
        written = json.dumps(value)
        return next((arn for name, arn in NAMED.items() if name in written), "arn:aws:x:::other")
    return {key: text(each) for key, each in value.items()}


def roles(made: Synthesised) -> Iterator[tuple[str, str]]:
    """Each function's handler with the policy of its role."""
    for function in resources(made.loop, "AWS::Lambda::Function").values():
        name = function["Properties"]["Role"]["Fn::GetAtt"][0]
        (policy,) = made.loop["Resources"][name]["Properties"]["Policies"]
        yield function["Properties"]["Handler"], json.dumps(text(policy["PolicyDocument"]))


def test_publishing_a_hubs_policy_is_asked_for_where_it_is_granted(synth: Synth) -> None:
    made = synth(detection="sweep", **HUB_SETTINGS)
    settings = replace(SETTINGS, hub_policy_role=HUB_SETTINGS["hub_policy_role"])
    (policy,) = [text for handler, text in roles(made) if handler == REQUESTS]
    *_, put = questions(REQUESTS, settings, f"arn:aws:lambda:{HERE}:function:f")
    assert put.actions == ("ssm:GetParameter", "ssm:PutParameter")
    for action in put.actions:
        asked = Policies("role", "session", (policy,)), Access(action, put.resource)
        assert evaluate(*asked).allowed, action


@pytest.mark.parametrize(
    "caps", [{}, {"resource_tag": "team", "max_iops": 5_000}], ids=["no caps", "a tag"]
)
def test_everything_that_is_asked_for_is_granted(synth: Synth, caps: dict[str, object]) -> None:
    made = synth(hard_caps=caps) if caps else synth()
    settings = replace(SETTINGS, hard_caps=hard_caps_of(caps, "test")) if caps else SETTINGS
    seen = set()
    for handler, policy in roles(made):
        asked = list(questions(handler, settings, f"arn:aws:lambda:{HERE}:function:f"))
        seen.add(handler if asked else "")
        for question in asked:
            context = tuple((key.lower(), (value,)) for key, value in question.context)
            for action in question.actions:
                access = Access(action, question.resource, context)
                ruling = evaluate(Policies("role", "session", (policy,)), access)
                assert ruling.allowed, (handler, action, question.resource)
    assert seen == {WORKER, DISPATCHER, REQUESTS}
