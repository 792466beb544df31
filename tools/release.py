"""Build what a release consists of, from a clean copy of the sources; the same sources, the same bytes."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FETCHED = ("build/wheels", "node_modules/uplot")
"""What `make setup` fetches and the wheel holds."""


def sources(root: Path = ROOT) -> list[str]:
    """Paths of the project's own files: what git knows, and new files that it does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    files = (name for name in listed.split("\0") if name)
    return sorted(name for name in files if (root / name).is_file())


def copy(into: Path, root: Path = ROOT) -> Path:
    """A copy of the sources, with links to what was fetched; a build leaves nothing in `root`."""
    for name in sources(root):
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, into / name)
    for name in FETCHED:
        if (root / name).is_dir():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).symlink_to((root / name).resolve())
    return into


def epoch(root: Path = ROOT) -> str:
    """Seconds since 1970 of the last commit, or what SOURCE_DATE_EPOCH says."""
    command = ["git", "log", "-1", "--format=%ct"]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return os.environ.get("SOURCE_DATE_EPOCH", said.strip())


def wheel(project: Path, into: Path, *, since_epoch: str) -> Path:
    """The wheel of `project`, built without network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(into), "."]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": since_epoch, "PYTHONPATH": ""}
    subprocess.run(command, cwd=project, env=environment, check=True)
    (made,) = into.glob("headroom_storage-*.whl")
    return made


def main() -> None:
    """Build what the arguments name into build/release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=("wheel",))
    parser.parse_args()
    into = ROOT / "build" / "release"
    with tempfile.TemporaryDirectory() as folder:
        print(wheel(copy(Path(folder) / "project"), into, since_epoch=epoch()))


if __name__ == "__main__":
    main()
