"""Synth is hermetic, and what it cannot do safely it refuses with one sentence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headroom.domain.policy import PolicyError
from headroom.policy import load_policy_file, policy_from_json
from headroom.settings import FunctionSettings, SettingsError
from tests.stacks.conftest import ROOT, Synth, Synthesised, properties

POLICY_TYPE = "AWS::SSM::Parameter"


CUT_OFF = ("unshare", "--user", "--map-root-user", "--net")
"""Runs a command without any network; not every kernel allows it."""


def _run(outdir: Path, *prefix: str, **context: object) -> subprocess.CompletedProcess[str]:
    """`python app.py` as the CDK command line runs it, with almost nothing in the environment."""
    shipped = json.loads((ROOT / "cdk.json").read_text())["context"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],  # where jsii keeps its unpacked libraries
        "CDK_OUTDIR": str(outdir),
        "CDK_CONTEXT_JSON": json.dumps({**shipped, **context}),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "DOCKER_HOST": "tcp://127.0.0.1:9",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    }
    return subprocess.run(
        [*prefix, sys.executable, "app.py"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_importing_the_app_loads_neither_boto3_nor_moto() -> None:
    script = "import sys, app; print(sorted({'boto3', 'botocore', 'moto'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_synth_needs_no_network_credentials_or_docker(tmp_path: Path) -> None:
    possible = shutil.which("unshare") and not subprocess.call([*CUT_OFF, "true"])
    done = _run(tmp_path, *(CUT_OFF if possible else ()))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "HeadroomLoop.template.json").exists()


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"detection": "everything"}, "must be adaptive, fleet, tagged or sweep"),
        ({"detection": "otel"}, "use adaptive, and add an alarm of your own"),
        ({"detectoin": "fleet"}, "did you mean detection"),
        ({"scan_every_minutes": "soon"}, "whole number"),
        ({"policy_file": "no-such-policy.yaml"}, "cannot be read"),
    ],
)
def test_a_context_that_makes_no_sense_is_refused(
    synth: Synth, context: dict[str, object], says: str
) -> None:
    with pytest.raises((PolicyError, SettingsError), match=says):
        synth(**context)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("defaults: {max_iops: -1}", "max_iops"),
        ("defaults: {max_iosp: 3000}", "did you mean max_iops"),
        ("defaults: {growth: 'false'}", "growth"),
        ("defaults: [", "not valid YAML"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(
    tmp_path: Path, synth: Synth, policy: str, says: str
) -> None:
    (tmp_path / "policy.yaml").write_text(policy)
    with pytest.raises(PolicyError, match=says):
        synth(policy_file=str(tmp_path / "policy.yaml"))


@pytest.mark.parametrize("context", [{"detection": "all"}, {"policy_file": "no-such.yaml"}])
def test_a_refusal_is_one_sentence_and_writes_no_template(
    tmp_path: Path, context: dict[str, object]
) -> None:
    _assert_refused(_run(tmp_path, **context), str(*context.values()), tmp_path)


def _assert_refused(done: subprocess.CompletedProcess[str], says: str, outdir: Path) -> None:
    assert done.returncode == 1
    sentence = done.stderr.strip().splitlines()[-1]
    assert sentence.startswith("Headroom cannot be synthesised: ")
    assert says in sentence
    assert "Traceback" not in done.stderr
    assert not (outdir / "HeadroomLoop.template.json").exists()


def test_the_published_policy_is_the_file_in_canonical_form(shipped: Synthesised) -> None:
    (parameter,) = properties(shipped.loop, POLICY_TYPE)
    published = policy_from_json(parameter["Value"], source="template")
    assert published == load_policy_file(ROOT / "policy.yaml")
    assert shipped.loop["Outputs"]["PolicyVersion"]["Value"] == published.version
    assert parameter["Tier"] == "Standard"


def test_a_long_policy_is_published_in_parts_of_the_same_tier(tmp_path: Path, synth: Synth) -> None:
    rule = "  - {match: {tags: {team: 'number-%d'}}, set: {mode: auto, max_iops: %d}}\n"
    longer = "rules:\n" + "".join(rule % (n, 3_000 + n) for n in range(120))
    (tmp_path / "longer.yaml").write_text(longer)
    made = synth(policy_file=str(tmp_path / "longer.yaml"), detection="sweep")
    found = {each["Name"]: each for each in properties(made.loop, POLICY_TYPE)}
    names = ["/headroom/policy", *(f"/headroom/policy/{n}" for n in range(1, len(found)))]
    assert sorted(found) == sorted(names)
    assert len(found) > 3
    assert {each["Tier"] for each in found.values()} == {"Standard"}
    assert max(len(each["Value"]) for each in found.values()) <= 4_096
    text = "".join(found[name]["Value"] for name in names[1:])
    assert policy_from_json(text, source="template") == load_policy_file(tmp_path / "longer.yaml")


def test_a_policy_that_is_probably_not_meant_is_warned_about(tmp_path: Path, synth: Synth) -> None:
    (tmp_path / "policy.yaml").write_text("rules: [{match: {}, set: {mode: auto}}]")
    made = synth(policy_file=str(tmp_path / "policy.yaml"), detection="sweep")
    assert any("Rule 1 matches every resource" in note for note in made.notes)


def test_the_functions_settings_go_there_and_back(shipped: Synthesised) -> None:
    for function in properties(shipped.loop, "AWS::Lambda::Function"):
        said = function["Environment"]["Variables"]
        plain = {name: v if isinstance(v, str) else json.dumps(v) for name, v in said.items()}
        settings = FunctionSettings.from_environment(plain)
        assert settings.to_environment() == plain
        assert settings.policy_parameter == "/headroom/policy"
        assert "Records" in settings.records_table
        assert "State" in settings.state_table


def test_the_scan_period_reaches_the_functions(synth: Synth) -> None:
    made = synth(scan_every_minutes="5", detection="sweep")
    for function in properties(made.loop, "AWS::Lambda::Function"):
        assert function["Environment"]["Variables"]["HEADROOM_SCAN_EVERY_MINUTES"] == "5"


@pytest.mark.parametrize(
    ("rules", "says"),
    [
        ("[{match: {type: gp2}, set: {slots_reserve: 4}}]", "can never allow anything"),
        (
            "[{match: {type: gp2}, set: {mode: auto}}, {match: {}, set: {mode: observe}}]",
            "has no effect",
        ),
    ],
)
def test_a_policy_that_says_nothing_does_not_deploy(
    tmp_path: Path, synth: Synth, rules: str, says: str
) -> None:
    (tmp_path / "policy.yaml").write_text(f"rules: {rules}")
    with pytest.raises(PolicyError, match=says):
        synth(policy_file=str(tmp_path / "policy.yaml"))


def test_only_what_counts_in_the_place_is_published_there(tmp_path: Path, synth: Synth) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(
        "rules:\n"
        "  - {match: {account: '123456789012', type: gp2}, set: {mode: auto}}\n"
        "  - {match: {region: eu-west-1}, set: {max_iops: 8000}}\n"
    )
    place = {"account": "123456789012", "region": "us-east-1"}
    bound = synth(policy_file=str(file), detection="sweep", **place)
    (parameter,) = properties(bound.loop, POLICY_TYPE)
    (rule,) = policy_from_json(parameter["Value"], source="template").rules
    assert (rule.selector.accounts, rule.selector.regions) == ((), ())
    assert not any("single accounts or Regions" in note for note in bound.notes)
    unbound = synth(policy_file=str(file), detection="sweep")
    (parameter,) = properties(unbound.loop, POLICY_TYPE)
    assert len(policy_from_json(parameter["Value"], source="template").rules) == 2
    assert any("single accounts or Regions" in note for note in unbound.notes)


@pytest.mark.parametrize("context", [{"account": "1234"}, {"region": "Virginia"}])
def test_a_place_that_is_none_is_refused(synth: Synth, context: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="must be"):
        synth(**context)
