"""Where the demo plays: a local endpoint, the real CDK command line against it, volumes with load."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import boto3
import yaml

import headroom
from headroom.cli.problems import Problem
from headroom.cli.programme import KINDS, demo_policy
from headroom.cli.stories import Story
from headroom.localaws.daemon import Endpoint, LocalAws

ROOT = Path(headroom.__file__).parents[1]
CDK = ROOT / "node_modules/.bin/cdk"
ACCOUNT, REGION = "123456789012", "us-east-1"
CDK_TIMEOUT_S = 240
ENDPOINT = "endpoint"
"""Where in the demo's folder the endpoint keeps its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A running local endpoint and clients of it."""

    endpoint: Endpoint
    folder: Path

    def client(self, service: str) -> Any:
        """A boto3 client of the endpoint, whatever the environment says."""
        make: Any = boto3.client  # typed per service, and the service is a variable here
        return make(
            service, endpoint_url=self.endpoint.url, region_name=REGION, aws_access_key_id="test",
            aws_secret_access_key="test",  # noqa: S106 - the endpoint takes anything
        )  # fmt: skip

    def ask(self, name: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Post to the endpoint's control API; raises EndpointFailed with its own words."""
        return self.endpoint.control(name, body)

    def set_clock(self, instant: datetime) -> None:
        """Hold the endpoint's clock at `instant`."""
        self.ask("clock", {"set": instant.isoformat()})


@contextmanager
def stage(folder: Path, *, seed: int) -> Iterator[Stage]:
    """A local endpoint with a lock-step clock, stopped whatever happens to this process."""
    with LocalAws(state_dir=folder / ENDPOINT, clock="lockstep", seed=seed) as local:
        yield Stage(endpoint=local.endpoint, folder=folder)


def cdk(where: Stage, *arguments: str) -> None:
    """Run the real CDK command line against the stage; raises Problem with its last words."""
    if not CDK.exists():
        raise Problem("The CDK command line is not installed: run `make setup`.")
    log = where.folder / "cdk.log"
    with log.open("ab") as sink:
        process = subprocess.Popen(  # noqa: S603 - our own arguments
            [str(CDK), *arguments, "--no-notices", "--ci"], cwd=ROOT, env=_environment(where),
            stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(timeout=CDK_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code != 0:
        tail = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-12:]
        raise Problem(f"`cdk {arguments[0]}` failed; the end of {log}:\n" + "\n".join(tail))


def _environment(where: Stage) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "CDK_"))}
    major = subprocess.run(
        ["node", "-p", "process.versions.node.split('.')[0]"], capture_output=True, text=True,  # noqa: S607
        check=False,
    ).stdout.strip()  # fmt: skip
    return (
        kept
        | where.endpoint.environment(REGION)
        | {
            "CDK_HOME": str((where.folder / "cdk-home").resolve()),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": major,
            "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": major,
            "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": major,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
    )


def bootstrap(where: Stage) -> None:
    """`cdk bootstrap` of the stage's account and Region."""
    cdk(where, "bootstrap", f"aws://{ACCOUNT}/{REGION}")


def deploy(where: Stage, *, sweep_only: bool) -> None:
    """`cdk deploy` of both stacks, with the demo's policy."""
    (where.folder / "policy.yaml").write_text(
        "# The demo's policy: the shipped default, and rules for the stories that need their own.\n"
        + yaml.safe_dump(demo_policy(), sort_keys=False), encoding="utf-8",
    )  # fmt: skip
    cdk(
        where, "deploy", "--all", "--require-approval", "never", "--progress", "events",
        "--output", str(where.folder / "cdk.out"), *_context(where, sweep_only=sweep_only),
    )  # fmt: skip


def _context(where: Stage, *, sweep_only: bool) -> tuple[str, ...]:
    pairs = {"kinds": KINDS, "policy_file": str((where.folder / "policy.yaml").resolve())}
    if sweep_only:
        pairs["detection"] = "sweep"
    return tuple(part for key, value in pairs.items() for part in ("-c", f"{key}={value}"))


def outputs(where: Stage) -> dict[str, str]:
    """The outputs of both stacks by name."""
    found: dict[str, str] = {}
    for each in where.client("cloudformation").describe_stacks()["Stacks"]:
        for output in each.get("Outputs", []):
            found[output["OutputKey"]] = output["OutputValue"]
    return found


def create(where: Stage, story: Story) -> str:
    """The story's volume on an instance of its own; returns the volume's id."""
    ec2 = where.client("ec2")
    zone = f"{REGION}a"
    image = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
    instance = ec2.run_instances(
        ImageId=image, InstanceType=story.instance_type, MinCount=1, MaxCount=1,
        Placement={"AvailabilityZone": zone},
    )["Instances"][0]["InstanceId"]  # fmt: skip
    wanted = story.volume
    settings = {"Iops": wanted.iops, "Throughput": wanted.throughput_mibps}
    volume = ec2.create_volume(
        AvailabilityZone=zone, VolumeType=wanted.volume_type.value, Size=wanted.size_gib,
        TagSpecifications=[{
            "ResourceType": "volume",
            "Tags": [{"Key": k, "Value": v} for k, v in story.all_tags.items()],
        }],
        **{name: value for name, value in settings.items() if value is not None},
    )["VolumeId"]  # fmt: skip
    ec2.attach_volume(VolumeId=volume, InstanceId=instance, Device="/dev/sdf")
    return str(volume)
