"""The real CDK command line against the endpoint: bootstrap, deploy, deploy again, destroy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headroom.localaws.daemon import LocalAws
from tests.localaws.conftest import Program

ROOT = Path(__file__).resolve().parents[3]
CDK = ROOT / "node_modules" / ".bin" / "cdk"
ENVIRONMENT = "aws://123456789012/us-east-1"

pytestmark = pytest.mark.skipif(
    not (CDK.exists() and (ROOT / "build" / "wheels").exists()),
    reason="needs the CDK command line and the functions' wheels: run `make setup`",
)


class Deployment:
    """A bootstrapped endpoint with the project's stacks in it."""

    def __init__(self, aws: LocalAws, folder: Path) -> None:
        self.program = Program(aws)
        self.assembly = folder / "cdk.out"
        self._folder = folder
        self._aws = aws

    def cdk(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
        environment = {
            **os.environ, **self._aws.environment(), "CDK_HOME": str(self._folder / "home"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CDK_DISABLE_CLI_TELEMETRY": "true", "NODE_OPTIONS": "--no-warnings",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": node.stdout[1:].split(".")[0],
        }  # fmt: skip
        return subprocess.run(
            [str(CDK), *arguments, "--no-notices", "--ci"], cwd=ROOT, env=environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def deploy(self) -> subprocess.CompletedProcess[str]:
        return self.cdk(
            "deploy", "--app", str(self.assembly), "--all", "--require-approval", "never"
        )

    def template(self, stack: str) -> dict[str, dict[str, object]]:
        text = (self.assembly / f"{stack}.template.json").read_text()
        resources: dict[str, dict[str, object]] = json.loads(text)["Resources"]
        return resources


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("cdk")
    with LocalAws(clock="lockstep") as aws:
        made = Deployment(aws, folder)
        for arguments in (
            ("synth", "--quiet", "--output", str(made.assembly)),
            ("bootstrap", ENVIRONMENT, "--app", str(made.assembly)),
        ):
            done = made.cdk(*arguments)
            assert done.returncode == 0, done.stdout + done.stderr
        done = made.deploy()
        assert done.returncode == 0, done.stdout + done.stderr
        yield made


@pytest.mark.parametrize("stack", ["HeadroomState", "HeadroomLoop"])
def test_every_resource_of_the_template_was_made(deployment: Deployment, stack: str) -> None:
    told = deployment.program.client("cloudformation").describe_stack_resources(StackName=stack)
    made = {
        resource["LogicalResourceId"]: resource["ResourceType"]
        for resource in told["StackResources"]
    }
    assert made == {key: value["Type"] for key, value in deployment.template(stack).items()}


def test_what_was_deployed_looks_by_itself_every_minute(deployment: Deployment) -> None:
    program = deployment.program
    program.aws.control("clock", {"set": "2026-01-05T00:00:00Z", "seed": 1})
    program.tick(2)
    names = [f["FunctionName"] for f in program.client("lambda").list_functions()["Functions"]]
    (sweep,) = [name for name in names if "Sweep" in name]
    log = (program.aws.state_dir / "logs" / f"{sweep}.log").read_text()
    assert log.count('"SweepCompleted":[1.0]') == 2, log[-2_000:]


def test_deploying_again_changes_nothing(deployment: Deployment) -> None:
    done = deployment.deploy()
    assert done.returncode == 0
    assert (done.stdout + done.stderr).count("(no changes)") == 2


def test_destroying_takes_everything_but_the_tables(deployment: Deployment) -> None:
    done = deployment.cdk("destroy", "--app", str(deployment.assembly), "--all", "--force")
    assert done.returncode == 0, done.stdout + done.stderr
    program = deployment.program
    assert len(program.client("dynamodb").list_tables()["TableNames"]) == 2
    assert program.client("lambda").list_functions()["Functions"] == []
    assert program.client("cloudwatch").describe_alarms()["MetricAlarms"] == []
    assert not program.client("sqs").list_queues().get("QueueUrls")
