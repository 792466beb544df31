"""A local AWS endpoint, and the real CDK command line that deploys Headroom to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import boto3
import yaml

import headroom
from headroom.cli.demo.stories.program import KINDS, demo_policy
from headroom.cli.terminal.problems import Problem
from headroom.localaws.daemon import Endpoint, LocalAws

ROOT = Path(headroom.__file__).parents[1]
CDK = ROOT / "node_modules/.bin/cdk"
ACCOUNT, REGION = "123456789012", "us-east-1"
CDK_TIMEOUT_S = 240
ENDPOINT = "endpoint"
"""Where in the demo's folder the endpoint keeps its state."""
TEMPLATES = "cdk.out"
"""Where in it the synthesised stacks are."""


@dataclass(frozen=True, kw_only=True)
class LocalAccount:
    """A running local endpoint and clients of it."""

    endpoint: Endpoint
    folder: Path
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A boto3 client of the endpoint, whatever the environment says; made once."""
        make: Any = boto3.client  # typed per service, and the service is a variable here
        if service not in self._clients:
            self._clients[service] = make(
                service, endpoint_url=self.endpoint.url, region_name=REGION,
                **self.endpoint.credentials,
            )  # fmt: skip
        return self._clients[service]

    @cached_property
    def image(self) -> str:
        """An image to start instances from; any will do, and listing them takes a second."""
        found = self.client("ec2").describe_images(Owners=["amazon"])["Images"]
        return str(found[0]["ImageId"])

    def ask(self, name: str, body: Mapping[str, object]) -> dict[str, Any]:
        """Post to the endpoint's control API; raises EndpointFailed with its message."""
        return self.endpoint.control(name, body)

    def set_clock(self, instant: datetime) -> None:
        """Hold the endpoint's clock at `instant`."""
        self.ask("clock", {"set": instant.isoformat()})


def require_clone() -> None:
    """Raise Problem unless the CDK app is there, which is not part of the installed package."""
    if not (ROOT / "app.py").is_file():
        raise Problem(
            "The demo deploys the CDK app of a clone of Headroom: run `make demo` in one."
        )


@contextmanager
def local_account(folder: Path, *, seed: int) -> Iterator[LocalAccount]:
    """A local endpoint with a lock-step clock, stopped whatever happens to this process."""
    with LocalAws(state_dir=folder / ENDPOINT, clock="lockstep", seed=seed) as local:
        yield LocalAccount(endpoint=local.endpoint, folder=folder)


class Cdk:
    """A running CDK command; `finish` waits for it, `stop` ends it."""

    def __init__(self, log: Path, environment: Mapping[str, str], *arguments: str) -> None:
        if not CDK.exists():
            raise Problem("The CDK command line is not installed: run `make setup`.")
        self._name = arguments[0]
        self._log = log
        self._stopped = False
        with log.open("ab") as sink:
            self._process = subprocess.Popen(  # noqa: S603 - our own arguments
                [str(CDK), *arguments, "--no-notices", "--ci"], cwd=ROOT, env=environment,
                stdout=sink, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip

    def finish(self) -> None:
        """Wait for its end; raises Problem with the end of its log when it failed."""
        try:
            code = self._process.wait(timeout=CDK_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            self.stop()
        if code != 0:
            text = self._log.read_text(encoding="utf-8", errors="replace")
            tail = "\n".join(text.strip().splitlines()[-12:])
            raise Problem(f"`cdk {self._name}` failed; the end of {self._log}:\n{tail}")

    def stop(self) -> None:
        """End it with everything that it started; only once, because process ids are reused."""
        if self._stopped:
            return
        self._stopped = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def cdk(where: LocalAccount, *arguments: str) -> None:
    """Run the real CDK command line against the endpoint; raises Problem with the end of its log."""
    environment = _environment(where.folder) | where.endpoint.environment(REGION)
    Cdk(where.folder / "cdk.log", environment, *arguments).finish()


def _environment(folder: Path) -> dict[str, str]:
    """The environment of the CDK command line, without the caller's AWS settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "CDK_"))}
    return kept | {
        "CDK_HOME": str((folder / "cdk-home").resolve()),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        "CDK_VALIDATION": "false",  # of templates that the tests check; it takes half of a synth
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        **_silence(),
    }


@cache
def _silence() -> Mapping[str, str]:
    major = subprocess.run(
        ["node", "-p", "process.versions.node.split('.')[0]"], capture_output=True, text=True,  # noqa: S607
        check=False,
    ).stdout.strip()  # fmt: skip
    versions = ("END_OF_LIFE", "DEPRECATED", "UNTESTED")
    return {f"JSII_SILENCE_WARNING_{each}_NODE_VERSION": major for each in versions}


def bootstrap(where: LocalAccount) -> None:
    """`cdk bootstrap` of the endpoint's account and Region."""
    cdk(where, "bootstrap", f"aws://{ACCOUNT}/{REGION}")


@contextmanager
def synthesis(folder: Path, *, sweep_only: bool) -> Iterator[Cdk]:
    """`cdk synth` of both stacks with the demo's policy, in the background: it needs no AWS."""
    (folder / "policy.yaml").write_text(
        "# The demo's policy: the shipped default, and rules for the stories that need their own.\n"
        + yaml.safe_dump(demo_policy(), sort_keys=False), encoding="utf-8",
    )  # fmt: skip
    nowhere = {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": REGION,
    }
    command = Cdk(
        folder / "cdk-synth.log", _environment(folder) | nowhere, "synth", "--quiet",
        "--output", str((folder / TEMPLATES).resolve()), *_context(folder, sweep_only=sweep_only),
    )  # fmt: skip
    try:
        yield command
    finally:
        command.stop()


def deploy(where: LocalAccount) -> None:
    """`cdk deploy` of both stacks, as they were synthesised."""
    cdk(
        where, "deploy", "--all", "--require-approval", "never", "--progress", "events",
        "--app", str((where.folder / TEMPLATES).resolve()),
    )  # fmt: skip


def _context(folder: Path, *, sweep_only: bool) -> tuple[str, ...]:
    pairs = {"kinds": KINDS, "policy_file": str((folder / "policy.yaml").resolve())}
    # The stories' times are those of alarm events; adaptive glances are later where nothing is at risk.
    pairs["detection"] = "sweep" if sweep_only else "fleet"
    return tuple(part for key, value in pairs.items() for part in ("-c", f"{key}={value}"))


def outputs(where: LocalAccount) -> dict[str, str]:
    """The outputs of both stacks by name."""
    found: dict[str, str] = {}
    for each in where.client("cloudformation").describe_stacks()["Stacks"]:
        for output in each.get("Outputs", []):
            found[output["OutputKey"]] = output["OutputValue"]
    return found
