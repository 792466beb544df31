"""Unpack the functions' pinned wheels into one folder, without Docker, for their own platform."""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

from tools.service_models import cut_models


def install(requirements: Path, python: str, platform: str, into: Path) -> None:
    """Have pip unpack every pin of `requirements` for `platform`; the pins are the whole tree.

    A wheel without the hash that is pinned is refused.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--requirement", str(requirements), "--require-hashes", "--no-deps"]
    command += ["--target", str(into)]
    command += ["--platform", platform, "--python-version", python, "--implementation", "cp"]
    command += ["--only-binary=:all:", "--no-compile", "--upgrade"]
    subprocess.run(command, check=True)


def prune(target: Path, services: frozenset[str]) -> None:
    """Leave out what no function reads: other services' models, operations, examples, scripts, caches."""
    for model in (target / "botocore" / "data").iterdir():
        if model.is_dir() and model.name not in services:
            shutil.rmtree(model)
    changed = cut_models(target / "botocore" / "data")
    for leftover in ("bin", "boto3/examples", "boto3/data"):
        shutil.rmtree(target / leftover, ignore_errors=True)
    for pattern in ("__pycache__", "examples-1.json"):
        for found in sorted(target.rglob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    for folder in sorted(target.glob("*.dist-info")):
        for name in ("REQUESTED", "INSTALLER", "direct_url.json"):
            (folder / name).unlink(missing_ok=True)
        ours = changed if folder.name.startswith("botocore-") else ()
        _list_what_is_there(folder / "RECORD", ours)


def _list_what_is_there(record: Path, changed: Sequence[Path]) -> None:
    """Leave in a RECORD the files that are still there, with the hashes that they have now."""
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    target = record.parent.parent
    kept = {
        name: line for line in lines if (target / (name := next(csv.reader([line]))[0])).is_file()
    }
    for file in changed:
        content, name = file.read_bytes(), file.relative_to(target).as_posix()
        digest = urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        kept[name] = f"{name},sha256={digest},{len(content)}\n"
    record.write_text("".join(kept.values()), encoding="utf-8")


def main() -> None:
    """Build beside the target and rename, so that a broken download never leaves half a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requirements", type=Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--platform", required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("services", nargs="+")
    said = parser.parse_args()
    said.into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=said.into.parent) as building:
        fresh = Path(building) / "wheels"
        install(said.requirements, said.python, said.platform, fresh)
        prune(fresh, frozenset(said.services))
        shutil.rmtree(said.into, ignore_errors=True)
        os.replace(fresh, said.into)


if __name__ == "__main__":
    main()
