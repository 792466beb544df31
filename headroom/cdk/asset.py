"""The functions' code as one folder: our sources beside the pinned wheels, without Docker.

The sources are those of a clone or of an installed wheel. Staged by content, so that the same sources always give the same folder and the same
asset; nothing is downloaded here. Where this machine has the Python of the functions, their bytecode
is in the asset too, which cuts the CPU time of a cold start to a third: bytecode of another version is useless.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""Of a clone; of an installed wheel its site-packages."""
LEFT_OUT = frozenset(f"headroom/{name}" for name in ("cdk", "cli", "localaws", "proving", "vendor"))
"""Packages no function imports."""

METHODS = """
import sys
sys.path.insert(0, sys.argv[1])
from lambdas import methods
methods.write(("lambdas", "headroom"))
"""
"""What compiles the methods of dataclasses, in the folder that is its argument."""
RUNTIME_PYTHON = (3, 14)
"""Python of the functions."""
KEPT = 8
_NEVER = frozenset({"__pycache__", ".mypy_cache", ".DS_Store"})


class WheelsMissing(RuntimeError):
    """The functions' dependencies are not there."""


def runtime_python() -> str | None:
    """An interpreter of the functions' version on this machine; None where there is none."""
    if sys.version_info[:2] == RUNTIME_PYTHON:
        return sys.executable
    return shutil.which("python{}.{}".format(*RUNTIME_PYTHON))


def stage_function_code(root: Path = ROOT, python: str | None = None) -> Path:
    """The staged folder, with the bytecode that `python` makes of it, if one is given.

    Raises WheelsMissing with one sentence that says what to run.
    """
    vendor = root / "headroom" / "vendor"
    if vendor.is_dir():
        files, into = _installed(vendor), Path.home() / ".cache" / "headroom" / "function"
    else:
        files, into = _cloned(root), root / "build" / "function"
    files.update(_files(root / "headroom", root))
    staged = into / f"{_digest(files)}{'-compiled' if python else ''}"
    if not staged.is_dir():
        _write(files, staged, python)
    os.utime(staged)
    _forget_old(staged.parent)
    return staged


def _cloned(root: Path) -> dict[str, bytes]:
    """Entry points and packages where `make setup` put them."""
    wheels = root / "build" / "wheels"
    if not (wheels / "botocore").is_dir():
        raise WheelsMissing("The functions' wheels are not in build/wheels; run make setup.")
    return {**dict(_files(wheels, wheels)), **dict(_files(root / "lambdas", root))}


def _installed(vendor: Path) -> dict[str, bytes]:
    """Entry points and packages out of an installed wheel (setup.py)."""
    packages = vendor / "function_packages.zip"
    if not packages.is_file():
        raise WheelsMissing(
            "This installation of headroom-storage lacks the functions' packages: build its wheel "
            "with make wheel, or pass code= to the construct."
        )
    files = dict(_files(vendor / "lambdas", vendor))
    with zipfile.ZipFile(packages) as archive:
        names = (name for name in archive.namelist() if _belongs(Path(name)))
        return files | {name: archive.read(name) for name in names}


def _belongs(path: Path) -> bool:
    return path.suffix not in (".pyc", ".md")


def _files(folder: Path, base: Path) -> Iterator[tuple[str, bytes]]:
    """Path inside the package and content, without caches and what is left out."""
    for path in sorted(folder.iterdir()):
        name = path.relative_to(base).as_posix()
        if path.name in _NEVER or name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from _files(path, base)
        elif _belongs(path):
            yield name, path.read_bytes()


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _write(files: Mapping[str, bytes], staged: Path, python: str | None) -> None:
    """Write beside the target and rename, because two synths may run at once."""
    staged.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=staged.parent, prefix="building-"))
    try:
        for name, content in files.items():
            (building / name).parent.mkdir(parents=True, exist_ok=True)
            (building / name).write_bytes(content)
            (building / name).chmod(0o644)
        if python is not None:
            _compile(building, python)
        building.chmod(0o755)
        os.rename(building, staged)
    except OSError:
        if not staged.is_dir():
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _compile(folder: Path, python: str) -> None:
    """Bytecode that holds no time and no path of this machine, and is used without a check of its source.

    Source: Python documentation, "Cached bytecode invalidation" and `compileall` (2026-11).
    """
    options = ("-q", "-q", "-j", "1", "--invalidation-mode", "unchecked-hash")
    paths = ("-s", str(folder), "-p", "/var/task", str(folder))
    _run(python, "-m", "compileall", *options, *paths)
    with suppress(subprocess.CalledProcessError):  # the functions work without it
        _run(python, "-c", METHODS, str(folder))


def _run(python: str, *what: str) -> None:
    command = [python, "-I", "-S", "-B", *what]
    subprocess.run(command, check=True, env={"PYTHONHASHSEED": "0"}, capture_output=True)  # noqa: S603 - a Python


def _forget_old(folder: Path) -> None:
    """Keep the KEPT folders used last; the others are of sources that are gone."""
    folders = [path for path in folder.iterdir() if not path.name.startswith("building-")]
    for path in sorted(folders, key=_used, reverse=True)[KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except FileNotFoundError:
        return 0.0
