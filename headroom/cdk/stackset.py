"""One template for CloudFormation StackSets: a deployment with parameters instead of assets.

It refers to no bootstrap, export or asset, so it deploys to any account and Region as it is. What
depends on a parameter is found by synthesising the deployment for each of its values: where the
templates differ, the values stand side by side under conditions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3

from headroom import __version__
from headroom.cdk.compact import compacted
from headroom.cdk.loop import Loop
from headroom.cdk.permissions import ANY_CALENDAR
from headroom.cdk.stackset_parameters import parameters
from headroom.cdk.state import State
from headroom.domain.policy import NO_CAPS, RESOURCE_TAG_CAP, Tag, tag_text
from headroom.policy import TEMPLATE_PARTS, default_policy
from headroom.settings import OFF, DeploymentConfig, Detection

Json = Any
Template = dict[str, Json]

UNVERSIONED = "@aws-cdk/aws-lambda:codeFromBucketObjectVersionNotSpecified"
"""A warning of the CDK; here the key changes with the code."""
NO_VALUE = {"Ref": "AWS::NoValue"}
CAPS_VARIABLE = "HEADROOM_HARD_CAPS"
_FIXED = ("Type", "DeletionPolicy", "UpdateReplacePolicy", "DependsOn")
"""Parts of a resource that cannot depend on a parameter."""


def template(context: Mapping[str, object]) -> Template:
    """The template; `context` holds settings that get no parameter, and feature flags of the CDK."""
    return compacted(spelled_out(context))


def spelled_out(context: Mapping[str, object]) -> Template:
    """The same template as the CDK writes it, in some 5,000 bytes more."""
    variants = {
        choice.value: _synthesised({**context, **_HUB_SETTINGS, "detection": choice.value})
        for choice in Detection
    }
    whole = _Merge(variants).template()
    _add_policy(whole)
    del whole["Outputs"][DeploymentConfig.from_context(context).names.output("PolicyVersion")]
    _add_subscription(whole)
    config = DeploymentConfig.from_context(context)
    _add_hard_caps(whole, config.hard_caps.resource_tag)
    _add_hub(whole, context)
    whole["Description"] = f"Headroom {__version__}: keeps storage out of I/O starvation"
    whole["Parameters"] = parameters(config)
    return {key: whole[key] for key in _ORDER}


_HUB = {
    "HubBus": "arn:aws:events:us-east-1:000000000001:event-bus/hub",
    "HubRole": "arn:aws:iam::000000000002:role/hub",
    "HubPolicyRole": "arn:aws:iam::000000000003:role/hub",
}
"""Values with which the hub's parts are synthesised, by the parameter that takes their place."""
_HUB_SETTINGS = dict(
    zip(("hub_bus", "hub_role", "hub_policy_role"), _HUB.values(), strict=True)
)  # fmt: skip
_ORDER = ("Description", "Parameters", "Conditions", "Resources", "Outputs")


def as_text(document: Template) -> str:
    """Without spaces: CloudFormation takes 51,200 bytes in a request."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True) + "\n"


def _synthesised(context: Mapping[str, object]) -> Template:
    """The template of one choice, with the code in a bucket that a parameter names."""
    config = DeploymentConfig.from_context(context)
    with TemporaryDirectory() as outdir:
        app = cdk.App(outdir=outdir, context=dict(context), analytics_reporting=False)
        synthesizer = cdk.DefaultStackSynthesizer(generate_bootstrap_version_rule=False)
        stack = cdk.Stack(app, "Headroom", synthesizer=synthesizer)
        for name in ("CodeBucket", "CodeKey"):
            cdk.CfnParameter(stack, name)
        name = cdk.Fn.sub("${CodeBucket}-${AWS::Region}")
        bucket = s3.Bucket.from_bucket_name(stack, "Code", name)
        cdk.Annotations.of(bucket).acknowledge_warning(UNVERSIONED)
        state = State(stack, "State", config=config)
        Loop(
            stack, "Default", config=config, kept=state.kept, policy=default_policy(),
            code=lambda_.Code.from_bucket_v2(bucket, cdk.Fn.ref("CodeKey")), calendars=(ANY_CALENDAR,),
        )  # fmt: skip
        found: Template = app.synth().get_stack_by_name("Headroom").template
    return found


class _Merge:
    """The templates of several choices as one."""

    def __init__(self, variants: Mapping[str, Template]) -> None:
        self._variants = variants
        self._conditions: Template = {}

    def template(self) -> Template:
        """All resources and outputs, those of some choices under a condition."""
        parts = {part: self._members(part) for part in ("Resources", "Outputs")}
        return {"Conditions": self._conditions, **parts}

    def _members(self, part: str) -> Template:
        found: Template = {}
        names = dict.fromkeys(name for each in self._variants.values() for name in each[part])
        for name in names:
            having = {
                choice: each[part][name]
                for choice, each in self._variants.items() if name in each[part]
            }  # fmt: skip
            found[name] = self._member(having)
        return found

    def _member(self, having: Mapping[str, Json]) -> Json:
        first, *others = having.values()
        for key in _FIXED:
            if any(other.get(key) != first.get(key) for other in others):
                raise ValueError(f"{key} differs between {', '.join(having)}")
        one = {key: value for key, value in self._either(having).items() if key != "Metadata"}
        if len(having) < len(self._variants):
            one["Condition"] = self._condition(list(having))
        return one

    def _either(self, values: Mapping[str, Json]) -> Json:
        """What all choices agree on, and the rest side by side."""
        first, *others = values.values()
        if all(other == first for other in others):
            return first
        if all(isinstance(value, dict) and not _is_function(value) for value in values.values()):
            keys = dict.fromkeys(key for value in values.values() for key in value)
            return {
                key: self._either({c: value.get(key, NO_VALUE) for c, value in values.items()})
                for key in keys
            }
        if all(isinstance(value, list) and len(value) == len(first) for value in values.values()):
            return [
                self._either({choice: value[at] for choice, value in values.items()})
                for at in range(len(first))
            ]
        if all(isinstance(value, list) for value in values.values()):
            longest = max(values.values(), key=len)
            if all([item for item in longest if item in each] == each for each in values.values()):
                return [self._where_present(item, values) for item in longest]
        return self._one_of(values)

    def _where_present(self, item: Json, lists: Mapping[str, Json]) -> Json:
        """An item of a list that only some choices have."""
        having = [choice for choice, each in lists.items() if item in each]
        return (
            item
            if len(having) == len(lists)
            else {"Fn::If": [self._condition(having), item, NO_VALUE]}
        )

    def _one_of(self, values: Mapping[str, Json]) -> Json:
        choices = list(values)
        same = [choice for choice in choices if values[choice] == values[choices[0]]]
        rest = {choice: values[choice] for choice in choices if choice not in same}
        if not rest:
            return values[choices[0]]
        return {"Fn::If": [self._condition(same), values[choices[0]], self._one_of(rest)]}

    def _condition(self, choices: Sequence[str]) -> str:
        name = "Detection" + "Or".join(choice.capitalize() for choice in choices)
        tests = [{"Fn::Equals": [{"Ref": "Detection"}, choice]} for choice in choices]
        self._conditions[name] = tests[0] if len(tests) == 1 else {"Fn::Or": tests}
        return name


def _is_function(value: Mapping[str, Json]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref"))


def _add_policy(whole: Template) -> None:
    """Let parameters of Systems Manager take their text from those of the template."""
    resources, conditions = whole["Resources"], whole["Conditions"]
    ((name, first),) = [
        (name, body) for name, body in resources.items() if body["Type"] == "AWS::SSM::Parameter"
    ]
    given = {**first["Properties"], "Description": "The policy of Headroom"}
    resources[name] = {**first, "Properties": {**given, "Value": {"Ref": "Policy"}}}
    for number in range(1, TEMPLATE_PARTS + 1):
        part, has = f"Policy{number}", f"HasPolicy{number}"
        conditions[has] = {"Fn::Not": [{"Fn::Equals": [{"Ref": part}, ""]}]}
        properties = {**given, "Name": f"{given['Name']}/{number}", "Value": {"Ref": part}}
        resources[f"{name}{number}"] = {**first, "Condition": has, "Properties": properties}


def _add_hard_caps(whole: Template, resource_tag: Tag | None) -> None:
    """Let each function take its hard caps from the parameter, and the tag condition from the settings.

    The tag is part of the roles too, and of no parameter.
    """
    caps: Json = {"Ref": "HardCaps"}
    if resource_tag is not None:
        tag = json.dumps({RESOURCE_TAG_CAP: tag_text(resource_tag)})
        whole["Conditions"]["HasHardCaps"] = {"Fn::Not": [{"Fn::Equals": [caps, NO_CAPS]}]}
        others = {"Fn::Select": [1, {"Fn::Split": ["{", caps]}]}
        joined = {"Fn::Join": ["", [f"{tag[:-1]}, ", others]]}
        caps = {"Fn::If": ["HasHardCaps", joined, tag]}
    for body in whole["Resources"].values():
        variables = body.get("Properties", {}).get("Environment", {}).get("Variables", {})
        if CAPS_VARIABLE in variables:
            variables[CAPS_VARIABLE] = caps


def _add_hub(whole: Template, context: Mapping[str, object]) -> None:
    """Put parameters in the place of the hub's ARNs; without them its parts do not exist."""
    parts = {"HubBus": "HubEvents", "HubRole": "HubAsks", "HubPolicyRole": "HubPublishes"}
    for parameter, construct in parts.items():
        has = f"Has{parameter}"
        whole["Conditions"][has] = {"Fn::Not": [{"Fn::Equals": [{"Ref": parameter}, OFF]}]}
        for name, body in whole["Resources"].items():
            if construct in name:
                body["Condition"] = has
    redelivery = whole["Outputs"][
        DeploymentConfig.from_context(context).names.output("HubRedelivery")
    ]
    redelivery |= {"Condition": "HasHubBus", "Value": _with_hub(redelivery["Value"])}
    alarms = [
        n for n, body in whole["Resources"].items() if body["Type"] == "AWS::CloudWatch::Alarm"
    ]
    instead = {"Arn": {"Fn::GetAtt": [alarms[0], "Arn"]}, "QueueName": OFF}
    for body in whole["Resources"].values():
        body["Properties"] = _with_hub(body.get("Properties", {}))
        if body["Type"] == "AWS::CloudWatch::Dashboard":
            body["Properties"] = _without_hub(body["Properties"], instead)


def _with_hub(node: Json) -> Json:
    """A part of the template with the parameters instead of the hub's ARNs and their accounts."""
    for parameter, arn in _HUB.items():
        if node == arn:
            return {"Ref": parameter}
        if node == arn.split(":")[4]:
            return {"Fn::Select": [4, {"Fn::Split": [":", {"Ref": parameter}]}]}
    if isinstance(node, list):
        return [_with_hub(part) for item in node for part in _parted(item)]
    if not isinstance(node, dict):
        return node
    found = {key: _with_hub(value) for key, value in node.items()}
    if found.get("Sid") == "PublishPolicy":
        return {"Fn::If": ["HasHubPolicyRole", found, NO_VALUE]}
    return found


def _without_hub(node: Json, instead: Mapping[str, Json]) -> Json:
    """A part of the dashboard: what it names of the hub's parts is `instead` where there is no hub."""
    if isinstance(node, list):
        return [_without_hub(item, instead) for item in node]
    if not isinstance(node, dict):
        return node
    name, attribute = node.get("Fn::GetAtt", ("", ""))
    if "HubEvents" in name:
        return {"Fn::If": ["HasHubBus", node, instead[attribute]]}
    return {key: _without_hub(value, instead) for key, value in node.items()}


def _parted(item: Json) -> list[Json]:
    """A text of a Fn::Join with the ARN of the hub's bus in it as three; anything else alone."""
    bus = _HUB["HubBus"]
    if not isinstance(item, str) or item == bus or bus not in item:
        return [item]
    before, _, after = item.partition(bus)
    return [before, bus, after]


def _add_subscription(whole: Template) -> None:
    """Subscribe the address, if one is given."""
    whole["Conditions"]["Notifies"] = {"Fn::Not": [{"Fn::Equals": [{"Ref": "NotifyEmail"}, ""]}]}
    (topic,) = [
        name for name, body in whole["Resources"].items() if body["Type"] == "AWS::SNS::Topic"
    ]
    whole["Resources"]["NotifyEmailSubscription"] = {
        "Type": "AWS::SNS::Subscription",
        "Condition": "Notifies",
        "Properties": {
            "Protocol": "email", "Endpoint": {"Ref": "NotifyEmail"}, "TopicArn": {"Ref": topic},
        },
    }  # fmt: skip
