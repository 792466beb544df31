"""The functions' code as one folder: our sources beside the pinned wheels, without Docker.

Staged under build/ by content, so that the same sources always give the same folder and the same
asset; nothing is downloaded here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("headroom", "lambdas")
LEFT_OUT = frozenset({"headroom/cli", "headroom/localaws", "headroom/proving"})
"""Packages no function imports."""

_NEVER = frozenset({"__pycache__", ".mypy_cache", ".DS_Store"})


class WheelsMissing(RuntimeError):
    """The functions' dependencies have not been unpacked yet."""


def stage_function_code(root: Path = ROOT) -> Path:
    """The staged folder; raises WheelsMissing with one sentence that says what to run."""
    wheels = root / "build" / "wheels"
    if not (wheels / "botocore").is_dir():
        raise WheelsMissing("The functions' wheels are not in build/wheels; run make setup.")
    sources = sorted({**_files(wheels, wheels), **_sources(root)}.items())
    staged = root / "build" / "function" / _digest(sources)
    if not staged.is_dir():
        _copy(sources, staged)
    return staged


def _sources(root: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for package in PACKAGES:
        found.update(_files(root / package, root))
    return found


def _files(folder: Path, base: Path) -> dict[str, Path]:
    """Path inside the package and file, without caches and what is left out."""
    return {path.relative_to(base).as_posix(): path for path in _walk(folder, base)}


def _walk(folder: Path, base: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in _NEVER or path.relative_to(base).as_posix() in LEFT_OUT:
            continue
        if path.is_dir():
            yield from _walk(path, base)
        elif path.suffix not in (".pyc", ".md"):
            yield path


def _digest(sources: list[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in sources:
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:32]


def _copy(sources: list[tuple[str, Path]], staged: Path) -> None:
    """Copy beside the target and rename, because two synths may run at once."""
    staged.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=staged.parent, prefix="building-"))
    try:
        for name, path in sources:
            (building / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, building / name)
            (building / name).chmod(0o644)
        building.chmod(0o755)
        os.rename(building, staged)
    except OSError:
        if not staged.is_dir():
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
