"""Build what a release consists of, from a clean copy of the sources; the same sources, the same bytes."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from headroom import __version__
from headroom.cdk.asset import runtime_python, stage_function_code
from headroom.cdk.stackset import as_text, template
from headroom.cdk.stackset_parameters import PARAMETERS
from tools.audit import pins, sbom
from tools.zips import zip_folder

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
        (into / name).chmod(0o644)
    for name in FETCHED:
        if (root / name).is_dir():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            (into / name).symlink_to((root / name).resolve())
    return into


def epoch(root: Path = ROOT) -> int:
    """Seconds since 1970 of the last commit, or what SOURCE_DATE_EPOCH says."""
    command = ["git", "log", "-1", "--format=%ct"]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return int(os.environ.get("SOURCE_DATE_EPOCH", said))


def wheel(project: Path, into: Path, *, since_epoch: int) -> Path:
    """The wheel of `project`, built without network."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", str(into), "."]
    _run(command, project, since_epoch)
    return into / f"headroom_storage-{__version__}-py3-none-any.whl"


def sdist(project: Path, into: Path, *, since_epoch: int) -> Path:
    """The sources of `project`, with one date and no name of whoever packed them."""
    into.mkdir(parents=True, exist_ok=True)
    script = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    _run([sys.executable, "-c", script, str(into)], project, since_epoch)
    made = into / f"headroom_storage-{__version__}.tar.gz"
    _neutral(made, since_epoch)
    return made


def function_zip(project: Path, into: Path) -> Path:
    """The functions' package, as Lambda takes it; with bytecode where this machine has their Python."""
    staged = stage_function_code(project, python=runtime_python())
    return zip_folder(staged, into / PARAMETERS["CodeKey"]["Default"])


def stackset_template(project: Path, into: Path) -> Path:
    """The template for StackSets, with the settings of cdk.json."""
    into.mkdir(parents=True, exist_ok=True)
    made = into / "headroom.template.json"
    context = json.loads((project / "cdk.json").read_text(encoding="utf-8"))["context"]
    made.write_text(as_text(template(context)), encoding="utf-8")
    return made


def bill_of_materials(project: Path, into: Path) -> Path:
    """The CycloneDX list of the packages in the function zip."""
    pinned = pins((project / "requirements-lambda.txt").read_text(encoding="utf-8"))
    found = into / f"headroom-function-{__version__}.cdx.json"
    listed = sbom(project / "build" / "wheels", pinned)
    found.write_text(json.dumps(listed, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return found


def checksums(files: Iterable[Path], into: Path) -> Path:
    """What `sha256sum --check` reads."""
    lines = (f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in sorted(files))
    made = into / "SHA256SUMS"
    made.write_text("".join(lines), encoding="utf-8")
    return made


def release(into: Path, *, since_epoch: int, root: Path = ROOT) -> list[Path]:
    """Everything, into a folder that is emptied before."""
    shutil.rmtree(into, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        project = copy(Path(folder) / "project", root)
        made = [
            sdist(project, into, since_epoch=since_epoch),
            wheel(project, into, since_epoch=since_epoch),
            function_zip(project, into),
            stackset_template(project, into),
            bill_of_materials(project, into),
        ]
    return [*made, checksums(made, into)]


def _run(command: list[str], project: Path, since_epoch: int) -> None:
    """Build as on any machine: by the given date, without modules of this clone."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(since_epoch), "PYTHONPATH": ""}
    subprocess.run(
        command, cwd=project, env=environment, stdout=subprocess.DEVNULL, check=True, umask=0o022
    )


def _neutral(archive: Path, since_epoch: int) -> None:
    """Write a .tar.gz anew: sorted, every entry with the same date, owner and mode."""
    with tarfile.open(archive) as packed:
        files = {each.name: packed.extractfile(each) for each in packed if each.isfile()}
        contents = {name: file.read() for name, file in files.items() if file is not None}
    with (
        archive.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=since_epoch) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        for name, content in sorted(contents.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), since_epoch, 0o644
            packed.addfile(entry, io.BytesIO(content))


def main() -> None:
    """Build the whole release, or the part that is named, into build/release."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("wheel", "template"))
    part = parser.parse_args().part
    into = ROOT / "build" / "release"
    if part == "template":
        made = [stackset_template(ROOT, into)]
    elif part == "wheel":
        with tempfile.TemporaryDirectory() as folder:
            made = [wheel(copy(Path(folder) / "project"), into, since_epoch=epoch())]
    else:
        made = release(into, since_epoch=epoch())
    for each in made:
        print(f"{each.relative_to(ROOT)}  {each.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
