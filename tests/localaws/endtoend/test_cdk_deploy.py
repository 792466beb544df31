"""The real CDK command line against the endpoint: bootstrap, deploy, deploy again, destroy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from headroom.adapters.ledger import DynamoLedger
from headroom.application.alarms import plan_alarms
from headroom.cli.main import run
from headroom.domain.detection import Candidate, Metric, ResourceAlarm
from headroom.domain.resources import Kind
from headroom.localaws.daemon import LocalAws
from tests.localaws.conftest import Program
from tests.stacks.conftest import shared_synth

ROOT = Path(__file__).resolve().parents[3]
CDK = ROOT / "node_modules" / ".bin" / "cdk"
STACKS = ("HeadroomState", "HeadroomLoop")
ENVIRONMENT = "aws://123456789012/us-east-1"

pytestmark = pytest.mark.skipif(
    not (CDK.exists() and (ROOT / "build" / "wheels").exists()),
    reason="needs the CDK command line and the functions' wheels: run `make setup`",
)


class Deployment:
    """A bootstrapped endpoint with the project's stacks in it."""

    def __init__(self, aws: LocalAws, folder: Path, assembly: Path) -> None:
        self.program = Program(aws)
        self.assembly = assembly
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
        done = subprocess.run(
            [str(CDK), *arguments, "--no-notices", "--ci"], cwd=ROOT, env=environment,
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def deploy(self) -> subprocess.CompletedProcess[str]:
        return self.cdk(
            "deploy", "--app", str(self.assembly), "--all", "--require-approval", "never"
        )

    def template(self, stack: str) -> dict[str, Any]:
        text = (self.assembly / f"{stack}.template.json").read_text()
        resources: dict[str, Any] = json.loads(text)["Resources"]
        return resources


def headroom(aws: LocalAws, *words: str, expected: tuple[int, ...] = (0,)) -> str:
    """What a command of the CLI prints that reads this account."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in {**aws.environment(), "COLUMNS": "200"}.items():
            patch.setenv(name, value)
        code = run([*words])
    assert code in expected, out.getvalue() + err.getvalue()
    return out.getvalue()


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What became of a volume that was planned to have an alarm of its own."""

    states: list[str]
    """Of its alarm each minute, the load beginning with the first."""
    claims: set[tuple[str, int]]
    """Records of events about it: what each claimed, and the minute."""


def watched(deployment: Deployment) -> Watched:
    """Plan an alarm for a calm volume, begin a load beyond its limit, and wait until the alarm is gone.

    Another is planned at the end, which stays when the stacks are deleted.
    """
    program, begin = deployment.program, datetime(2026, 1, 5, 0, 2, tzinfo=UTC)
    volume = program.volume(attached=True)
    ledger = plan_alarm(program, volume, begin)
    cloudwatch, states = program.client("cloudwatch"), []
    workload = {"steps": [{"for": "1h", "iops": 4_500, "io_kib": 16}]}
    program.aws.control("load", {"volume_id": volume, "workload": workload})
    for _ in range(6):
        program.tick()
        found = cloudwatch.describe_alarms(AlarmNamePrefix="headroom-detect-")["MetricAlarms"]
        states += [f"{one['AlarmName'].removesuffix(volume)} {one['StateValue']}" for one in found]
        states += [] if found else ["none"]
    records = ledger.event_records(since=begin, until=begin + timedelta(hours=1))
    plan_alarm(program, volume, begin + timedelta(minutes=6))
    program.tick()
    return Watched(
        states=states, claims={(r.event.claim.value, r.event.claimed_at.minute) for r in records}
    )


def plan_alarm(program: Program, volume: str, now: datetime) -> DynamoLedger:
    """As a worker plans one that saw pressure on the volume late."""
    outputs = program.client("cloudformation").describe_stacks(StackName="HeadroomState")
    tables = {o["OutputKey"]: o["OutputValue"] for o in outputs["Stacks"][0]["Outputs"]}
    ledger = DynamoLedger(
        program.client("dynamodb"), records_table=tables["RecordsTable"],
        state_table=tables["StateTable"], account_id="123456789012", region="us-east-1",
    )  # fmt: skip
    (described,) = program.client("ec2").describe_volumes(VolumeIds=[volume])["Volumes"]
    alarm = ResourceAlarm(
        kind=Kind.EBS, resource_id=volume, metric=Metric.IOPS_CHECK, threshold=1.0,
        instance_id=described["Attachments"][0]["InstanceId"],
    )  # fmt: skip
    seen = [Candidate(kind=Kind.EBS, resource_id=volume, alarm=alarm, score=1.0)]
    plan_alarms(ledger, seen, now, budget_usd=2, scanned=None)
    return ledger


@dataclass(frozen=True, kw_only=True)
class Lifecycle:
    """What was there after each step: deploy, nine minutes, deploy again, destroy."""

    templates: dict[str, dict[str, Any]]
    deployed: dict[str, dict[str, str]]
    """Types of resources by stack and logical id."""
    sweep_log: str
    roles: list[str]
    paused: list[str]
    """What `headroom pause` and then `headroom status` printed."""
    again: str
    """Output of the second deployment."""
    tables: list[str]
    iam: dict[str, Any]
    """What IAM reported before the stacks were destroyed."""
    watched: Watched
    removed: str
    """What `headroom alarms --remove` printed after the stacks were destroyed."""
    others: list[object]
    """Functions, alarms and queues after that."""


@pytest.fixture(scope="module")
def lifecycle(tmp_path_factory: pytest.TempPathFactory) -> Lifecycle:
    folder = tmp_path_factory.mktemp("cdk")
    with LocalAws(clock="lockstep") as aws:
        deployment = Deployment(aws, folder, shared_synth(tmp_path_factory)().directory)
        client, assembly = deployment.program.client, str(deployment.assembly)
        deployment.cdk("bootstrap", ENVIRONMENT, "--app", assembly)
        deployment.deploy()
        deployed = {}
        for stack in STACKS:
            found = client("cloudformation").describe_stack_resources(StackName=stack)
            deployed[stack] = {
                one["LogicalResourceId"]: one["ResourceType"] for one in found["StackResources"]
            }
        roles = [
            f["Role"].partition(":role")[2] for f in client("lambda").list_functions()["Functions"]
        ]
        aws.control("clock", {"set": "2026-01-05T00:00:00Z", "seed": 1})
        deployment.program.tick(2)
        names = [f["FunctionName"] for f in client("lambda").list_functions()["Functions"]]
        (sweep,) = [name for name in names if "Sweep" in name]
        log = (aws.state_dir / "logs" / f"{sweep}.log").read_text()
        paused = [
            headroom(aws, *words) for words in (("pause", "--reason", "load test"), ("status",))
        ]
        volume = watched(deployment)
        again = deployment.deploy()
        iam = aws.control("iam")
        deployment.cdk("destroy", "--app", assembly, "--all", "--force")
        removed = headroom(aws, "alarms", "--remove", "--region", "us-east-1")
        return Lifecycle(
            watched=volume,
            removed=removed,
            templates={stack: deployment.template(stack) for stack in STACKS},
            deployed=deployed,
            sweep_log=log,
            roles=roles,
            paused=paused,
            again=again.stdout + again.stderr,
            iam=iam,
            tables=client("dynamodb").list_tables()["TableNames"],
            others=[
                *client("lambda").list_functions()["Functions"],
                *client("cloudwatch").describe_alarms()["MetricAlarms"],
                *client("sqs").list_queues().get("QueueUrls", []),
            ],
        )


@pytest.mark.parametrize("stack", STACKS)
def test_every_resource_of_the_template_was_made(lifecycle: Lifecycle, stack: str) -> None:
    template = lifecycle.templates[stack]
    assert lifecycle.deployed[stack] == {key: value["Type"] for key, value in template.items()}


def test_the_deployed_sweep_runs_every_minute(lifecycle: Lifecycle) -> None:
    assert lifecycle.sweep_log.count('"SweepCompleted":[1.0]') == 2, lifecycle.sweep_log[-2_000:]


def test_a_volume_with_an_alarm_of_its_own_is_seen_three_minutes_after_its_load_began(
    lifecycle: Lifecycle,
) -> None:
    alarm = "headroom-detect-resource-"
    begun = [f"{alarm} INSUFFICIENT_DATA", f"{alarm} OK", f"{alarm} ALARM"]
    assert lifecycle.watched.states == [*begun, "none", "none", "none"], (
        "its glances were never late"
    )
    assert lifecycle.watched.claims == {("nothing", 4), ("pressure", 5)}


def test_a_command_removes_the_alarms_that_stacks_leave_behind(lifecycle: Lifecycle) -> None:
    assert "1 alarm in us-east-1 of 123456789012, $0.10 a month: removed." in lifecycle.removed


def test_a_person_pauses_through_the_deployed_function_and_is_named(lifecycle: Lifecycle) -> None:
    assert lifecycle.paused[0].startswith("Paused: no changes in account 123456789012")
    assert "since 2026-01-05 00:02Z by arn:aws:sts::123456789012:" in lifecycle.paused[1]
    assert ": load test" in lifecycle.paused[1]


def test_the_functions_have_the_roles_that_the_tables_let_write(lifecycle: Lifecycle) -> None:
    assert len(lifecycle.roles) == 3
    assert all(role.startswith("/headroom/HeadroomLoop-") for role in lifecycle.roles)


def test_the_deployed_roles_were_evaluated_and_nothing_was_denied(lifecycle: Lifecycle) -> None:
    assert lifecycle.iam["denials"] == []
    used = {
        f"{one['role'].removeprefix('HeadroomLoop-')[:8]} {one['action']}"
        for one in lifecycle.iam["grants"]
        if one["used"]
    }
    assert {
        "Requests dynamodb:UpdateItem", "SweepRol dynamodb:Query", "SweepSch lambda:InvokeFunction",
        "SignalsR sqs:ReceiveMessage",
    } <= used  # fmt: skip


def test_deploying_again_changes_nothing(lifecycle: Lifecycle) -> None:
    assert lifecycle.again.count("(no changes)") == 2


def test_destroying_takes_everything_but_the_tables(lifecycle: Lifecycle) -> None:
    assert len(lifecycle.tables) == 2
    assert lifecycle.others == []
