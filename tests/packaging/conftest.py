"""The wheel, built once, and a Python that has nothing but it and what it requires."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import ROOT
from tools.release import FETCHED, copy, wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A virtual environment with the wheel in it."""

    bin: Path
    packages: Path
    """Its site-packages."""

    def run(self, *command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run one of its programs far from the repository."""
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "COLUMNS": "200",
                       "CDK_VALIDATION": os.environ["CDK_VALIDATION"]}  # fmt: skip
        return subprocess.run(
            [str(self.bin / command[0]), *command[1:]], cwd=cwd, env=environment,
            capture_output=True, text=True, check=False,
        )  # fmt: skip


@contextmanager
def made_once(factory: pytest.TempPathFactory, name: str) -> Iterator[tuple[Path, bool]]:
    """A folder that all workers share, and whether this one makes what is in it; others wait."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"shared-{name}"
    folder.mkdir(exist_ok=True)
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, not done.exists()
        done.touch()


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone, built once for all workers."""
    missing = [name for name in FETCHED if not (ROOT / name).is_dir()]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: run `make setup`")
    with made_once(tmp_path_factory, "wheel") as (folder, mine):
        if mine:
            wheel(copy(folder / "project"), folder / "made", since_epoch=1_700_000_000)
    (found,) = (folder / "made").glob("*.whl")
    return found


def environment(folder: Path, built: Path, *extras: str) -> Installed:
    """A fresh environment with the wheel and, by links, only what it requires with `extras`."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in sorted(_required(_requirements(built), extras)):
        for top in {
            file.parts[0] for file in distribution(name).files or () if file.parts[0] != ".."
        }:
            source = Path(str(distribution(name).locate_file(top)))
            if source.exists() and not (packages / top).exists():
                (packages / top).symlink_to(source)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    subprocess.run(
        [*pip, "install", "-q", "--no-compile", "--no-deps", "--no-index", str(built)], check=True
    )
    return installed(folder)


def installed(folder: Path) -> Installed:
    """The environment in `folder`."""
    (packages,) = folder.glob("lib/python*/site-packages")
    return Installed(bin=folder / "bin", packages=packages)


def _requirements(built: Path) -> list[Requirement]:
    from zipfile import ZipFile

    with ZipFile(built) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    return [
        Requirement(line.partition(": ")[2]) for line in lines if line.startswith("Requires-Dist")
    ]


def _required(requirements: Iterable[Requirement], extras: Iterable[str]) -> set[str]:
    """Names of all packages that are needed, transitive ones included."""
    found: set[str] = set()
    waiting = [(each, tuple(extras)) for each in requirements]
    while waiting:
        requirement, wanted = waiting.pop()
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": extra}) for extra in ("", *wanted)):
            continue
        name = f"{canonicalize_name(requirement.name)}[{','.join(sorted(requirement.extras))}]"
        if name in found:
            continue
        found.add(name)
        below = distribution(requirement.name).requires or ()
        waiting += [(Requirement(line), tuple(requirement.extras)) for line in below]
    return {name.partition("[")[0] for name in found}


@pytest.fixture(scope="session")
def core(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """What `pip install headroom-storage` gives; one for all workers."""
    with made_once(tmp_path_factory, "core") as (folder, mine):
        if mine:
            environment(folder / "core", built)
    return installed(folder / "core")
