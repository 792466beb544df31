"""A release as it is deployed: its two templates and its functions' code, without the wheels.

`python -m tests.upgrade.package FILE` in a clone of a release writes that release's. The file replaces
`tests/stored/earlier_release.tar.xz` when a release is tagged, together with the tables that
`tests/upgrade/deployments.py` writes.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import ROOT

STACKS = ("HeadroomState", "HeadroomLoop")
CODE = ("headroom", "lambdas")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The templates of both stacks in their order, and the functions' zip."""

    templates: dict[str, Any]
    code: bytes


def packed(synthesised: Path) -> bytes:
    """What a synth wrote, as one archive."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz", preset=9) as archive:
        for stack in STACKS:
            name = f"{stack}.template.json"
            _add(archive, name, (synthesised / name).read_bytes())
        asset = asset_of(synthesised)
        for file in sorted(f for top in CODE for f in (asset / top).rglob("*.py")):
            _add(archive, file.relative_to(asset).as_posix(), file.read_bytes())
    return target.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def asset_of(synthesised: Path) -> Path:
    """The folder of the functions' code."""
    manifest = json.loads((synthesised / "HeadroomLoop.assets.json").read_text())
    sources = (entry["source"]["path"] for entry in manifest["files"].values())
    (asset,) = (synthesised / path for path in sources if (synthesised / path).is_dir())
    return asset


def stored(file: Path, folder: Path) -> Package:
    """An archive's release, with this machine's wheels; its code stays in `folder`."""
    with tarfile.open(file) as archive:
        archive.extractall(folder, filter="data")
    return _package(folder, folder, ROOT / "build" / "wheels")


def present(synthesised: Path) -> Package:
    """The release that was synthesised."""
    return _package(synthesised, asset_of(synthesised))


def _package(templates: Path, *code: Path) -> Package:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", strict_timestamps=False) as archive:
        for base in code:
            for path in base.rglob("*"):
                archive.write(path, path.relative_to(base))
    return Package(
        templates={s: json.loads((templates / f"{s}.template.json").read_text()) for s in STACKS},
        code=target.getvalue(),
    )


if __name__ == "__main__":
    from tests.stacks.conftest import synthesise

    with tempfile.TemporaryDirectory() as made:
        Path(sys.argv[1]).write_bytes(packed(synthesise(Path(made)).directory))
