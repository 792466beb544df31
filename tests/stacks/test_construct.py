"""The construct: whole in one scope, several side by side, typed and refused like the app."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk import aws_lambda as lambda_

from headroom.cdk import Headroom, Settings, construct
from headroom.domain.policy import PolicyError
from headroom.policy import default_policy, load_policy_file, policy_from_json
from headroom.settings import DeploymentConfig, Names, SettingsError
from tests.stacks.conftest import ROOT, UNCOPIED, Synthesised, Template, properties, resources

FIXED = ("AlarmName", "FunctionName", "Name", "QueueName", "RoleName", "TableName", "TopicName")
"""Properties by which a template fixes a physical name."""


@pytest.fixture
def app(tmp_path: Path) -> cdk.App:
    return cdk.App(outdir=str(tmp_path / "cdk.out"), analytics_reporting=False)


def _code() -> lambda_.Code:
    return lambda_.Code.from_inline("# the package is tested elsewhere")


def _template(app: cdk.App, name: str = "Storage") -> Template:
    found: Template = app.synth().get_stack_by_name(name).template
    return found


def _names(template: Template) -> Iterator[tuple[str, str]]:
    """Type and fixed name of every resource that has one."""
    for body in template["Resources"].values():
        for key in FIXED:
            if isinstance(body.get("Properties", {}).get(key), str):
                yield body["Type"], body["Properties"][key]


def test_one_construct_is_the_apps_two_stacks_without_their_exports(
    app: cdk.App, shipped: Synthesised
) -> None:
    Headroom(cdk.Stack(app, "Storage"), "Headroom", code=_code())
    template = _template(app)
    kinds = sorted(body["Type"] for body in template["Resources"].values())
    both = [*shipped.state["Resources"].values(), *shipped.loop["Resources"].values()]
    assert kinds == sorted(body["Type"] for body in both)
    assert "Fn::ImportValue" not in json.dumps(template)
    assert not any("Export" in output for output in template["Outputs"].values())
    plain = {name for name in shipped.state["Outputs"] if not name.startswith("ExportsOutput")}
    assert set(template["Outputs"]) == plain | set(shipped.loop["Outputs"])


def test_two_in_one_stack_share_no_name(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Storage")
    for prefix in ("blue", "green"):
        Headroom(stack, prefix.capitalize(), prefix=prefix, detection="fleet", code=_code())
    template = _template(app)
    names = list(_names(template))
    assert len(set(names)) == len(names) > 30
    assert {name for _, name in names if not name.strip("/").startswith(("blue", "green"))} == set()
    for prefix in ("blue", "green"):
        assert template["Outputs"][Names(prefix).output("RequestsFunction")]["Value"] == (
            f"{prefix}-requests"
        )


def test_the_apps_stacks_are_named_by_the_prefix(tmp_path: Path) -> None:
    import app as entry

    context = {"prefix": "blue-two", "detection": "sweep", UNCOPIED: True}
    outer = cdk.App(outdir=str(tmp_path), context=context)
    assert [stack.stack_name for stack in entry.build(outer)] == ["BlueTwoState", "BlueTwoLoop"]


def test_nothing_of_one_deployment_reaches_into_another(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Storage")
    for prefix in ("blue", "green"):
        Headroom(stack, prefix.capitalize(), prefix=prefix, code=_code())
    for logical_id, body in _template(app)["Resources"].items():
        own, other = ("Blue", "green") if logical_id.startswith("Blue") else ("Green", "blue")
        assert logical_id.startswith(own)
        text = json.dumps(body.get("Properties", {}))
        assert other not in text
        assert other.capitalize() not in text
        assert "headroom-" not in text, "a name without the prefix"
        assert "/headroom/" not in text


def test_the_same_prefix_twice_in_one_place_is_refused(app: cdk.App) -> None:
    Headroom(cdk.Stack(app, "One"), "Headroom", code=_code())
    with pytest.raises(SettingsError, match=r"One/Headroom have the same prefix, headroom"):
        Headroom(cdk.Stack(app, "Two"), "Headroom", code=_code())


def test_the_same_prefix_in_two_places_is_welcome(app: cdk.App) -> None:
    for region in ("us-east-1", "us-west-2"):
        place = cdk.Environment(account="111122223333", region=region)
        Headroom(cdk.Stack(app, f"In-{region}", env=place), "Headroom", code=_code())
    assert len(app.synth().stacks) == 2


def test_two_in_one_place_are_warned_of_each_other(app: cdk.App) -> None:
    Headroom(cdk.Stack(app, "One"), "Headroom", code=_code())
    Headroom(cdk.Stack(app, "Two"), "Headroom", prefix="blue", code=_code())
    messages = [str(m.entry.data) for s in app.synth().stacks for m in s.messages]
    assert any("One/Headroom is in the same account and Region" in each for each in messages)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"detection": "all"}, "Setting detection is 'all'; it must be .*tagged or sweep"),
        ({"detectoin": "fleet"}, "Setting 'detectoin' is unknown; did you mean detection"),
        *(
            ({"prefix": prefix}, f"Setting prefix is '{prefix}'")
            for prefix in ("Blue", "b", "-blue", "blue-", "b--e", "awsome", "ssm-1", "x-own",
                           "x-detect", "a" * 33)
        ),
    ],
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused(
    app: cdk.App, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        Headroom(cdk.Stack(app, "Storage"), "Headroom", code=_code(), **settings)


@pytest.mark.parametrize(
    "policy", [{"defaults": {"max_iops": 4_000}}, "file", None], ids=["mapping", "file", "none"]
)
def test_the_policy_is_a_mapping_a_file_or_the_default(
    app: cdk.App, tmp_path: Path, policy: Any
) -> None:
    expected = default_policy().version
    if policy is not None:
        (tmp_path / "mine.yaml").write_text("defaults: {max_iops: 4000}")
        expected = load_policy_file(tmp_path / "mine.yaml").version
        policy = tmp_path / "mine.yaml" if policy == "file" else policy
    Headroom(cdk.Stack(app, "Storage"), "Headroom", policy=policy, code=_code())
    (parameter,) = properties(_template(app), "AWS::SSM::Parameter")
    assert policy_from_json(parameter["Value"], source="template").version == expected


def test_a_policy_that_makes_no_sense_is_refused(app: cdk.App) -> None:
    with pytest.raises(PolicyError, match="did you mean max_iops"):
        Headroom(cdk.Stack(app, "Storage"), "Headroom", policy={"defaults": {"max_iosp": 1}})


def test_settings_reach_the_functions(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Storage")
    Headroom(stack, "Headroom", prefix="blue", scan_every_minutes=5, kinds=("ebs",), code=_code())
    template = _template(app)
    for function in properties(template, "AWS::Lambda::Function"):
        said = function["Environment"]["Variables"]
        assert said["HEADROOM_SCAN_EVERY_MINUTES"] == "5"
        assert said["HEADROOM_KINDS"] == "ebs"
        assert said["HEADROOM_POLICY_PARAMETER"] == "/blue/policy"
        assert said["POWERTOOLS_SERVICE_NAME"] == "blue"
    for role in resources(template, "AWS::IAM::Role").values():
        assert role["Properties"].get("Path", "/blue/") == "/blue/"


def test_every_setting_is_typed_but_those_that_a_stack_and_a_policy_give() -> None:
    known = {field.name for field in fields(DeploymentConfig)}
    assert set(Settings.__annotations__) == known - {
        "account", "region", "policy_file", "hard_caps",
    }  # fmt: skip


def test_the_page_about_the_construct_names_its_arguments() -> None:
    text = (ROOT / "docs" / "operate" / "install.md").read_text(encoding="utf-8")
    for name in ("policy=", "detection=", "prefix=", "code="):
        assert name in text


def test_caps_and_truth_values_are_settings(app: cdk.App) -> None:
    stack = cdk.Stack(app, "Storage")
    Headroom(stack, "Headroom", code=_code(), caps={"max_iops": 16_000}, dashboard=True)
    template = _template(app)
    assert resources(template, "AWS::CloudWatch::Dashboard")
    for function in resources(template, "AWS::Lambda::Function").values():
        variables = function["Properties"]["Environment"]["Variables"]
        assert json.loads(variables["HEADROOM_HARD_CAPS"])["max_iops"] == 16_000
    with pytest.raises(SettingsError, match="Setting hard_caps"):
        Headroom(cdk.Stack(app, "Two"), "Headroom", code=_code(), caps={"max_iop": 1})
    twice: Any = {"hard_caps": {"max_iops": 1}}
    with pytest.raises(SettingsError, match="once"):
        Headroom(cdk.Stack(app, "Three"), "Headroom", code=_code(), caps={}, **twice)


@pytest.mark.parametrize("python", [None, "/usr/bin/python3.14"])
def test_a_package_without_bytecode_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str | None
) -> None:
    monkeypatch.setattr(construct, "runtime_python", lambda: python)
    monkeypatch.setattr(construct, "stage_function_code", lambda python: tmp_path)
    stack = cdk.Stack(cdk.App(outdir=str(tmp_path)), "Place")
    construct.function_code(stack)
    infos = [str(entry.data) for entry in stack.node.metadata if entry.type == "aws:cdk:info"]
    assert infos == ([construct.NO_BYTECODE] if python is None else [])
