"""cdk-nag's AwsSolutions and cfn-lint find nothing that is not explained."""

from __future__ import annotations

import json
import subprocess
import sys
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
context = json.load(open("cdk.json"))["context"]
context["detection"] = sys.argv[2]
app = cdk.App(outdir=sys.argv[1], context=context)
Validations.of(app).add_plugins(AwsSolutionsChecks(app))
stacks = entry.build(app)
if len(sys.argv) > 3:
    cdk.aws_s3.Bucket(stacks[1], sys.argv[3])
app.synth()
"""


def _nag(outdir: Path, *arguments: str) -> tuple[int, dict[str, object]]:
    """Synth with the rules in a process of its own, because a finding ends the process."""
    command = [sys.executable, "-c", NAG, str(outdir), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = outdir / "validation-report.json"
    assert report.exists(), done.stderr[-2000:]
    return done.returncode, json.loads(report.read_text())


@pytest.mark.parametrize("detection", ["fleet", "sweep"])
def test_aws_solutions_finds_nothing_unexplained(tmp_path: Path, detection: str) -> None:
    status, report = _nag(tmp_path, detection)
    reports = {r["pluginName"]: r for r in report["pluginReports"]}  # type: ignore[attr-defined]
    print(json.dumps(reports, indent=1))
    assert status == 0


def test_a_resource_that_breaks_a_rule_is_found(tmp_path: Path) -> None:
    status, report = _nag(tmp_path, "sweep", "Careless")
    assert "AwsSolutions-S1" in json.dumps(report)
    assert status != 0


@pytest.mark.parametrize("stack", ["HeadroomState", "HeadroomLoop"])
def test_cfn_lint_finds_nothing(shipped: Synthesised, stack: str) -> None:
    from cfnlint.api import lint_file

    found = lint_file(shipped.directory / f"{stack}.template.json")
    said = [str(match) for match in found if match.rule.id != IGNORED]
    assert [line for line in said if UNKNOWN_TO_CFN_LINT not in line] == []
