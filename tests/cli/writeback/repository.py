"""A repository of an owner's code in a folder, an event of Headroom, and the patch of one by the other."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headroom.cli.main import run
from tests.builders import ACCOUNT, REGION

VOLUME = "vol-0123456789abcdef0"
ARN = f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/{VOLUME}"
DATABASE = f"arn:aws:rds:{REGION}:{ACCOUNT}:db:orders"
CLUSTER = f"arn:aws:rds:{REGION}:{ACCOUNT}:cluster:orders"
NOBODY = dict.fromkeys(("stack", "logical_id", "cluster", "namespace", "claim", "driver", "name"))
TERRAFORM = {**NOBODY, "tool": "Terraform", "name": "orders-data"}
STACK = {**NOBODY, "tool": "CloudFormation", "stack": "orders", "logical_id": "DataVolume"}


def volume_arn(volume_id: str) -> str:
    return f"arn:aws:ec2:{REGION}:{ACCOUNT}:volume/{volume_id}"


def settings(volume_type: str, size: int, iops: int | None, mibps: int | None) -> dict[str, Any]:
    return {"volume_type": volume_type, "size_gib": size, "iops": iops, "throughput_mibps": mibps}


GP3 = settings("gp3", 100, 3000, 125)
FAST = settings("gp3", 100, 6000, 400)


def event(
    before: Mapping[str, Any] = GP3, after: Mapping[str, Any] = FAST, *, arn: str = ARN,
    owner: Mapping[str, Any] | None = TERRAFORM, step: str = "applied",
) -> dict[str, Any]:  # fmt: skip
    """The part of an event that a write-back reads."""
    return {
        "detail-type": "Headroom Change",
        "detail": {
            "step": step, "decision_id": "4f2a91c07be35d68a1c4", "resource": arn,
            "plan": {"from": before, "to": after}, "write_back": owner,
        },
    }  # fmt: skip


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A git repository with these files; lines end as they are given."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    return folder


def git(folder: Path, *words: str, text: str | None = None) -> str:
    made = subprocess.run(
        ["git", "-c", "core.autocrlf=false", *words], cwd=folder, input=text, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return made.stdout


def written_back(
    folder: Path, what: Mapping[str, Any], *options: str, capsys: Any
) -> tuple[int, str, str]:
    """Exit code, patch and remarks of `headroom writeback --patch` for an event."""
    path = folder.parent / "event.json"
    path.write_text(json.dumps(what), encoding="utf-8")
    code = run(
        ["writeback", "--event", str(path), "--patch", "--directory", str(folder), *options]
    )  # fmt: skip
    said = capsys.readouterr()
    return code, said.out, said.err


def changed_lines(folder: Path, patch: str) -> list[str]:
    """The lines that the patch takes out and puts in, after `git apply` has taken it."""
    git(folder, "apply", "--check", text=patch)
    git(folder, "apply", text=patch)
    found = git(folder, "diff", "-U0", "--no-color")
    return [
        line
        for line in found.splitlines()
        if line[:1] in "+-" and not line.startswith(("+++", "---"))
    ]
