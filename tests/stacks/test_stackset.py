"""The StackSets template: closed in itself, and for each choice what the construct deploys."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headroom.cdk.compact import compacted
from headroom.cdk.stackset import NO_VALUE, as_text, spelled_out, template
from headroom.cdk.stackset_parameters import PARAMETERS
from headroom.domain.policy import hard_caps_of
from headroom.policy import (
    TEMPLATE_PARTS,
    canonical_json,
    default_policy,
    parameter_texts,
    policy_from_json,
)
from headroom.policy.parts import LONGEST_PART
from headroom.settings import OFF, Detection
from tests.stacks.conftest import ROOT, Synth, Template, properties
from tests.stacks.test_hub import HUB_SETTINGS
from tests.stacks.test_lint import IGNORED, UNKNOWN_TO_CFN_LINT

LARGEST = 46_000
"""Bytes. CloudFormation takes 51,200 in a request (source: quotas, 2026-11); the rest is for settings that owners add."""


@pytest.fixture(scope="module")
def long() -> dict[str, Any]:
    return spelled_out(json.loads((ROOT / "cdk.json").read_text())["context"])


@pytest.fixture(scope="module")
def whole(long: dict[str, Any]) -> dict[str, Any]:
    return compacted(long)


@pytest.mark.parametrize("said", [(), ("DetectionFleet", "DetectionFleetOrTagged", "HasHubBus")])
def test_compacted_it_says_what_the_cdk_wrote(
    long: dict[str, Any], whole: dict[str, Any], said: tuple[str, ...]
) -> None:
    """Whatever its conditions are: but for logical ids, and for which statement allows what."""
    before, after = (
        re.sub(r"(?<=[A-Za-z])[0-9A-F]{8}(?=[\d.>\"]|$)", "", json.dumps(_applied(each, said)))
        for each in (long, whole)
    )
    assert after == before
    assert "HeadroomSignals" not in after  # the Sid of a statement that is one of several now


def _applied(node: Any, said: tuple[str, ...]) -> Any:
    """A part of a template once its functions are applied, each statement for one source alone."""
    if isinstance(node, list):
        return [_applied(item, said) for item in node]
    if not isinstance(node, dict):
        return node
    match node:
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::If": [condition, one, other]}:
            return _applied(one if condition in said else other, said)
        case {"Fn::Join": [separator, parts]}:
            return separator.join(map(str, _applied(parts, said)))
        case {"Fn::Sub": str(text)}:
            return re.sub(
                r"\$\{(!?)([^}]+)\}", lambda m: f"${{{m[2]}}}" if m[1] else f"<{m[2]}>", text
            )
        case {"Condition": {"ArnEquals": {"aws:SourceArn": sources}}, "Effect": "Allow"}:
            plain = {k: _applied(v, said) for k, v in node.items() if k not in ("Sid", "Condition")}
            every = sources if isinstance(sources, list) else [sources]
            return [plain | {"for": _applied(each, said)} for each in every]
    found = {key: _applied(value, said) for key, value in node.items()}
    if isinstance(found.get("Statement"), list):
        flat = [
            s for each in found["Statement"] for s in (each if isinstance(each, list) else [each])
        ]
        found["Statement"] = flat
    return found


def test_what_keeps_data_keeps_its_logical_ids(whole: dict[str, Any]) -> None:
    """Another id is another, empty table: an output or a parameter of the same name would change one."""
    kept = [n for n, r in whole["Resources"].items() if r["Type"] == "AWS::DynamoDB::Table"]
    assert kept == ["StateRecordsTable", "StateTableEE95395C"]


def test_it_refers_to_nothing_outside(whole: dict[str, Any]) -> None:
    text = as_text(whole)
    assert set(whole) == {"Description", "Parameters", "Conditions", "Resources", "Outputs"}
    for alien in ("BootstrapVersion", "cdk-hnb659fds", "aws:cdk", "aws:asset", "ImportValue",
                  "Export", "AWS::CDK", "Custom::"):  # fmt: skip
        assert alien not in text
    assert not any("Metadata" in body for body in whole["Resources"].values())
    assert {json.dumps(f["Code"]) for f in properties(whole, "AWS::Lambda::Function")} == {
        json.dumps({"S3Bucket": {"Fn::Sub": "${CodeBucket}-${AWS::Region}"},
                    "S3Key": {"Ref": "CodeKey"}})
    }  # fmt: skip


def test_cloudformation_takes_it(whole: dict[str, Any], tmp_path: Path) -> None:
    from cfnlint.api import lint_file

    file = tmp_path / "headroom.template.json"
    file.write_text(as_text(whole))
    assert file.stat().st_size < LARGEST
    said = [str(match) for match in lint_file(file) if match.rule.id != IGNORED]
    assert [line for line in said if UNKNOWN_TO_CFN_LINT not in line] == []


def test_only_the_buckets_have_no_default(whole: dict[str, Any]) -> None:
    required = [name for name, body in whole["Parameters"].items() if "Default" not in body]
    assert required == ["CodeBucket"]
    assert whole["Parameters"]["Detection"]["AllowedValues"] == [d.value for d in Detection]


def _chosen(node: Any, conditions: dict[str, bool]) -> Any:
    """A part of the template as CloudFormation resolves its conditions."""
    if isinstance(node, list):
        chosen = (_chosen(item, conditions) for item in node)
        return [item for item in chosen if item != NO_VALUE]
    if not isinstance(node, dict):
        return node
    if "Fn::If" in node:
        name, yes, no = node["Fn::If"]
        return _chosen(yes if conditions[name] else no, conditions)
    resolved = {key: _chosen(value, conditions) for key, value in node.items()}
    return {key: value for key, value in resolved.items() if value != NO_VALUE}


HUB_OFF = dict.fromkeys(("HubBus", "HubRole", "HubPolicyRole"), OFF)


def _resolved(whole: Template, detection: str, **hub: str) -> dict[str, dict[str, Any]]:
    def holds(condition: Any) -> bool:
        ((how, given),) = condition.items()
        if how == "Fn::Equals":
            chosen = {"Detection": detection, **HUB_OFF, **hub}
            return bool(chosen.get(given[0]["Ref"], "") == given[1])
        return any(map(holds, given)) if how == "Fn::Or" else not holds(given[0])

    conditions = {name: holds(each) for name, each in whole["Conditions"].items()}
    return {
        name: _chosen({k: v for k, v in body.items() if k != "Condition"}, conditions)
        for name, body in whole["Resources"].items()
        if conditions.get(body.get("Condition", ""), True)
    }


@pytest.mark.parametrize("detection", list(Detection))
def test_for_each_choice_it_is_what_the_app_deploys(
    long: dict[str, Any], synth: Synth, detection: Detection
) -> None:
    """All but the policy, the code, the ids and the calendars, which the template does not know."""
    made = synth(detection=detection.value)
    ours = [body for each in made.templates for body in each["Resources"].values()]
    others = list(_resolved(long, detection.value).values())
    for kind in sorted({body["Type"] for body in ours}):
        assert _fingerprints(others, kind) == _fingerprints(ours, kind), kind


VARIES = ("Code", "Description", "Environment", "Value", "Policies")


def _fingerprints(bodies: list[dict[str, Any]], kind: str) -> list[str]:
    """Resources of a type as sorted texts, without references, which name logical ids."""
    found = []
    for body in bodies:
        if body["Type"] == kind:
            kept = {k: v for k, v in body.get("Properties", {}).items() if k not in VARIES}
            found.append(json.dumps(_plain(kept), sort_keys=True))
    return sorted(found)


def _plain(node: Any) -> Any:
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1 and next(iter(node)) in ("Ref", "Fn::GetAtt", "Fn::ImportValue"):
        return "reference"
    # The CDK puts the ids of constructs into the Sid of a queue's policy.
    return {key: _plain(value) for key, value in node.items() if key != "Sid"}


def test_its_functions_may_do_what_the_apps_may_and_ask_any_calendar(
    long: dict[str, Any], synth: Synth
) -> None:
    made = synth()
    ours = {**long, "Resources": _resolved(long, "adaptive")}
    assert _actions(ours) == _actions(made.loop) | {"ssm:GetCalendarState"}
    calendars = [
        statement
        for body in _resolved(long, "adaptive").values()
        if body["Type"] == "AWS::IAM::Role"
        for policy in body["Properties"].get("Policies", [])
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "ssm:GetCalendarState"
    ]
    assert len(calendars) == 2
    for statement in calendars:  # those that another account shares too
        assert ':ssm:*:*:document/*"' in as_text(statement["Resource"])
    elsewhere = _actions({**long, "Resources": _resolved(long, "sweep")})
    assert _actions(ours) - elsewhere == {"cloudwatch:PutMetricAlarm", "cloudwatch:TagResource"}


def test_with_a_hub_it_is_what_the_app_deploys_with_one(long: dict[str, Any], synth: Synth) -> None:
    """The parameters stand where the app has the ARNs of its settings, and nowhere else."""
    made = synth(detection="sweep", **HUB_SETTINGS)
    given = dict(zip(HUB_OFF, HUB_SETTINGS.values(), strict=True))
    parts = _resolved(long, "sweep", **given)
    ours = [body for each in made.templates for body in each["Resources"].values()]
    for kind in (
        "AWS::Events::Rule", "AWS::SQS::Queue", "AWS::Lambda::Permission", "AWS::CloudWatch::Alarm",
    ):  # fmt: skip
        assert _fingerprints(_given(list(parts.values()), given), kind) == _fingerprints(ours, kind)
    assert _actions({"Resources": parts}) == _actions(made.loop) | {"ssm:GetCalendarState"}
    assert long["Outputs"]["HubRedelivery"]["Condition"] == "HasHubBus"
    assert "00000000000" not in as_text(long)


def _given(node: Any, parameters: dict[str, str]) -> Any:
    """A part of the template with the values of parameters, and accounts taken out of ARNs."""
    if isinstance(node, list):
        return [_given(item, parameters) for item in node]
    if not isinstance(node, dict):
        return node
    if node.get("Ref") in parameters:
        return parameters[node["Ref"]]
    if "Fn::Select" in node:
        number, split = node["Fn::Select"]
        separator, text = split["Fn::Split"]
        return _given(text, parameters).split(separator)[number]
    return {key: _given(value, parameters) for key, value in node.items()}


def _actions(document: Template) -> set[str]:
    found = set()
    for role in properties(document, "AWS::IAM::Role"):
        for policy in role["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement["Action"]
                found |= {actions} if isinstance(actions, str) else set(actions)
    return found


def test_the_policys_parameters_are_those_of_the_published_policy(whole: dict[str, Any]) -> None:
    default = PARAMETERS["Policy"]["Default"]
    assert policy_from_json(default, source="template") == default_policy()
    assert parameter_texts(canonical_json(default_policy())) == (default,)
    named = {each["Name"]: each["Value"] for each in properties(whole, "AWS::SSM::Parameter")}
    assert named == {
        "/headroom/policy": {"Ref": "Policy"},
        **{f"/headroom/policy/{n}": {"Ref": f"Policy{n}"} for n in range(1, TEMPLATE_PARTS + 1)},
    }


def test_the_guide_names_every_parameter_with_its_default() -> None:
    text = (ROOT / "docs" / "operate" / "organization.md").read_text(encoding="utf-8")
    table = text.split("| parameter | default | meaning |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([A-Z]\w+)`", table)) == set(PARAMETERS) - {"Policy2", "Policy3"}
    assert f"`{PARAMETERS['Detection']['Default']}`" in table
    assert f"{TEMPLATE_PARTS * LONGEST_PART:,} characters" in text


def test_a_setting_of_the_context_is_in_the_template(tmp_path: Path) -> None:
    made = template({"kinds": "ebs", "prefix": "blue", "scan_every_minutes": 5})
    names = {alarm["AlarmName"] for alarm in properties(made, "AWS::CloudWatch::Alarm")}
    assert all(name.startswith("blue-") for name in names)
    assert not any("rds" in name for name in names)


CAPS = {
    "mode": "approve",
    "max_iops": 6_000,
    "types": ["gp3"],
    "resource_tag": 'owner=the "db" team',
}


@pytest.mark.parametrize(
    "given", ["none", '{"max_iops": 9000}', None], ids=["none", "others", "default"]
)
def test_hard_caps_of_the_settings_are_the_template_s(given: str | None) -> None:
    """Those that a parameter may replace are its default; the tag, which the roles demand, is always there."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    made = spelled_out({**context, "hard_caps": CAPS, "notify_email": "a@example.com"})
    default = made["Parameters"]["HardCaps"]["Default"]
    assert re.fullmatch(made["Parameters"]["HardCaps"]["AllowedPattern"], default)
    assert made["Parameters"]["NotifyEmail"]["Default"] == "a@example.com"
    value = default if given is None else given
    whole, tag = hard_caps_of(CAPS, "test"), ("owner", 'the "db" team')
    for body in made["Resources"].values():
        said = body.get("Properties", {}).get("Environment", {}).get("Variables", {})
        if "HEADROOM_HARD_CAPS" in said:
            caps = hard_caps_of(_with_caps(said["HEADROOM_HARD_CAPS"], value), "test")
            assert caps.resource_tag == tag
            wanted = replace(hard_caps_of(value, "test"), resource_tag=tag)
            assert caps == (whole if given is None else wanted)


def _with_caps(node: Any, value: str) -> Any:
    """A part of the template with the parameter `HardCaps`, and functions applied."""
    match node:
        case {"Ref": "HardCaps"}:
            return value
        case {"Fn::If": ["HasHardCaps", yes, no]}:
            return _with_caps(no if value == "none" else yes, value)
        case {"Fn::Join": [between, parts]}:
            return between.join(_with_caps(part, value) for part in parts)
        case {"Fn::Select": [place, parts]}:
            return _with_caps(parts, value)[place]
        case {"Fn::Split": [at, text]}:
            return _with_caps(text, value).split(at)
    return node
