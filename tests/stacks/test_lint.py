"""cdk-nag's AwsSolutions and cfn-lint find nothing that is not explained."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stacks.conftest import ROOT, Synthesised

IGNORED = "W3005"
"""A redundant DependsOn, which the CDK writes on purpose."""

UNKNOWN_TO_CFN_LINT = "'describealarmcontributors' is not one of"
"""cfn-lint's own list of IAM actions (1.58.0) ends before CloudWatch's DescribeAlarmContributors,
an action since autumn 2025; this one word is passed over and no other."""

NAG = """
import json, sys
import aws_cdk as cdk
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks
import app as entry
from headroom.cdk import Hub, functions
from tests.stacks.test_hub import HUB_SETTINGS, ORGANIZATION
for how in ("shipped", "volumes", "unexplained"):
    context = json.load(open("cdk.json"))["context"] | {"aws:cdk:disable-asset-staging": True}
    if how == "volumes":
        context |= {"kinds": "ebs", "ebs_free_space": "on", **HUB_SETTINGS}
    app = cdk.App(outdir=f"{sys.argv[1]}/{how}", context=context)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    if how == "unexplained":
        functions.explain_wildcards = lambda *_: None
    _, loop = entry.build(app)
    if how == "volumes":
        Hub(cdk.Stack(app, "HeadroomHub"), "Hub", organization_id=ORGANIZATION)
    if how == "unexplained":
        cdk.aws_s3.Bucket(loop, "Careless")
    print(how, flush=True)
    app.synth()
"""
"""Three synths with the rules, one of them with a hub, in a process that the first finding ends; each says when it begins."""

IAM5 = "AwsSolutions-IAM5[Resource::{}]"
HERE = "<AWS::Region>:<AWS::AccountId>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Nagged:
    """What AwsSolutions finds in each synth, and how the process with all of them ended."""

    begun: tuple[str, ...]
    status: int
    findings: dict[str, set[str]]


@pytest.fixture(scope="module")
def nagged(tmp_path_factory: pytest.TempPathFactory) -> Nagged:
    outdir = tmp_path_factory.mktemp("nag")
    command = [sys.executable, "-c", NAG, str(outdir)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    begun = tuple(done.stdout.split())
    assert begun, done.stderr[-2000:]
    return Nagged(
        begun=begun, status=done.returncode,
        findings={how: _findings(outdir / how) for how in begun},
    )  # fmt: skip


def _findings(outdir: Path) -> set[str]:
    plugins = json.loads((outdir / "validation-report.json").read_text())["pluginReports"]
    return {v["ruleName"] for p in plugins for v in p["violations"]}


@pytest.mark.parametrize("how", ["shipped", "volumes"])
def test_aws_solutions_finds_nothing_unexplained(nagged: Nagged, how: str) -> None:
    assert nagged.findings[how] == set()
    assert nagged.begun[-1] != how, "the synth ended the process"


def test_the_explanations_cover_what_they_name_and_nothing_more(nagged: Nagged) -> None:
    """Without them exactly these findings appear, beside those of a careless bucket."""
    assert nagged.begun[-1] == "unexplained"
    assert nagged.status != 0
    assert nagged.findings["unexplained"] == {
        IAM5.format("*"),
        IAM5.format(f"arn:<AWS::Partition>:ec2:{HERE}:volume/*"),
        IAM5.format(f"arn:<AWS::Partition>:rds:{HERE}:db:*"),
        IAM5.format(f"arn:<AWS::Partition>:rds:{HERE}:cluster:*"),
        IAM5.format(f"arn:<AWS::Partition>:cloudwatch:{HERE}:alarm:headroom-detect-*"),
        IAM5.format(f"arn:<AWS::Partition>:cloudwatch:{HERE}:alarm:headroom-detect-resource-*"),
        IAM5.format(f"arn:<AWS::Partition>:ssm:{HERE}:parameter/headroom/policy/*"),
        "AwsSolutions-S1",
        "AwsSolutions-S10",
    }


@pytest.mark.parametrize("stack", ["HeadroomState", "HeadroomLoop"])
def test_cfn_lint_finds_nothing(shipped: Synthesised, stack: str) -> None:
    from cfnlint.api import lint_file

    found = lint_file(shipped.directory / f"{stack}.template.json")
    said = [str(match) for match in found if match.rule.id != IGNORED]
    assert [line for line in said if UNKNOWN_TO_CFN_LINT not in line] == []
