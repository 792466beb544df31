"""CPU time of a cold start of each function, compared with boto3 and the same clients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import boto3

from headroom.cdk.asset import stage_function_code
from tools.figures import Figure

ROOT = Path(__file__).resolve().parents[2]
REGION = "us-east-1"
CLIENTS = {
    "signals": ("dynamodb", "sqs", "ssm", "ec2", "cloudwatch", "rds", "sns"),
    "sweep": ("dynamodb", "sqs", "ssm", "events", "cloudwatch"),
    "requests": ("dynamodb",),
}
"""Clients of each function by its module."""
STARTED_COLD = 9
"""Times that each cold start is measured."""


def cold_start_s(path: Path, services: tuple[str, ...], begin: str) -> float:
    """Median CPU seconds of a process that finds packages in `path`, runs `begin` and makes clients of `session`.

    It writes no bytecode: that would change an asset without any, and be what is measured.
    """
    script = (
        f"import sys, time; sys.path.insert(0, {str(path)!r}); began = time.process_time()\n{begin}\n"
        f"for service in {services}: session.client(service)\nprint(time.process_time() - began)"
    )
    command = [sys.executable, "-I", "-S", "-B", "-c", script]
    keys = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}

    def once() -> float:
        done = subprocess.run(command, env=keys, capture_output=True, text=True, check=True)
        return float(done.stdout)

    return median(once() for _ in range(STARTED_COLD))


def cold_starts() -> Iterator[Figure]:
    """Each function of the package with bytecode, and how that compares with boto3 and the same clients."""
    asset = stage_function_code(ROOT, python=sys.executable)
    installed = Path(boto3.__file__).parents[1]
    for name, services in CLIENTS.items():
        begin = f"import lambdas.{name}; from headroom.account import session_in; session = session_in({REGION!r})"
        ours = cold_start_s(asset, services, begin)
        bare = cold_start_s(
            installed, services, f"import boto3; session = boto3.Session(region_name={REGION!r})"
        )
        yield Figure(
            name=f"cold start of {name}, with clients", value=1_000 * ours, unit="ms of CPU"
        )
        yield Figure(
            name=f"cold start of {name}", value=ours / bare, unit="times boto3 with these clients"
        )
