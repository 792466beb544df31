"""Unpack the functions' pinned wheels into one folder, without Docker, for their own platform."""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


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
    """Leave out what no function reads: other services' models, examples, scripts, caches.

    Of botocore's data the files at the top (endpoints, partitions, retries) all stay.
    """
    for model in (target / "botocore" / "data").iterdir():
        if model.is_dir() and model.name not in services:
            shutil.rmtree(model)
    for leftover in ("bin", "boto3/examples", "boto3/data"):
        shutil.rmtree(target / leftover, ignore_errors=True)
    for pattern in ("__pycache__", "examples-1.json"):
        for found in sorted(target.rglob(pattern)):
            shutil.rmtree(found) if found.is_dir() else found.unlink()
    for folder in sorted(target.glob("*.dist-info")):
        for name in ("REQUESTED", "INSTALLER", "direct_url.json"):
            (folder / name).unlink(missing_ok=True)
        _keep_what_is_there(folder / "RECORD")


def _keep_what_is_there(record: Path) -> None:
    """Leave in a RECORD the files that are still there, with their hashes."""
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    target = record.parent.parent
    kept = [line for line in lines if (target / next(csv.reader([line]))[0]).is_file()]
    record.write_text("".join(kept), encoding="utf-8")


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
