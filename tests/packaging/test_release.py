"""A release: everything in it is named by its checksum, and the same sources give the same bytes."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from headroom import __version__
from tests import ROOT
from tools.release import FETCHED, checksums, release

EPOCH = 1_767_225_600


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[list[Path]]:
    """Two releases of this clone, made at different times of day and under different masks."""
    missing = [name for name in FETCHED if not (ROOT / name).is_dir()]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: run `make setup`")
    folder, made = tmp_path_factory.mktemp("releases"), []
    for name, mask in (("one", 0o022), ("another", 0o077)):
        before = os.umask(mask)
        try:
            made.append(release(folder / name, since_epoch=EPOCH))
        finally:
            os.umask(before)
    return made


def test_a_release_consists_of_six_files(twice: list[list[Path]]) -> None:
    assert sorted(path.name for path in twice[0]) == [
        "SHA256SUMS", f"headroom-function-{__version__}.cdx.json",
        f"headroom-function-{__version__}.zip", "headroom.template.json",
        f"headroom_storage-{__version__}-py3-none-any.whl", f"headroom_storage-{__version__}.tar.gz",
    ]  # fmt: skip


def test_two_builds_are_the_same_to_the_last_byte(twice: list[list[Path]]) -> None:
    one, another = ({p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in m} for m in twice)
    assert one == another


def test_the_checksums_are_of_every_other_file(twice: list[list[Path]]) -> None:
    *files, sums = twice[0]
    lines = [line.split("  ") for line in sums.read_text().splitlines()]
    assert {name: digest for digest, name in lines} == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def test_a_changed_file_has_another_checksum(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    before = checksums([tmp_path / "a"], tmp_path).read_text()
    (tmp_path / "a").write_text("2")
    assert checksums([tmp_path / "a"], tmp_path).read_text() != before


def _made(twice: list[list[Path]], suffix: str) -> Path:
    (found,) = [path for path in twice[0] if path.name.endswith(suffix)]
    return found


def test_the_template_names_the_function_zip_of_the_release(twice: list[list[Path]]) -> None:
    document = json.loads(_made(twice, ".template.json").read_text())
    assert document["Parameters"]["CodeKey"]["Default"] == _made(twice, ".zip").name


def test_the_function_zip_holds_every_handler_of_the_template(twice: list[list[Path]]) -> None:
    document = json.loads(_made(twice, ".template.json").read_text())
    handlers = {
        body["Properties"]["Handler"].rpartition(".")[0].replace(".", "/") + ".py"
        for body in document["Resources"].values()
        if body["Type"] == "AWS::Lambda::Function"
    }
    assert len(handlers) == 3
    assert handlers <= set(ZipFile(_made(twice, ".zip")).namelist())


def test_the_sources_of_the_release_are_complete(twice: list[list[Path]]) -> None:
    with tarfile.open(_made(twice, ".tar.gz")) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
        assert {(entry.uid, entry.uname, entry.mtime) for entry in packed} == {(0, "", EPOCH)}
    for needed in ("app.py", "setup.py", "lambdas/sweep.py", "stacks/deployment.py", "Makefile",
                   "tests/packaging/test_release.py", "tools/zips.py", "docs/operate.md",
                   "headroom/proving/data/instance_types.csv", "requirements-lock.txt"):  # fmt: skip
        assert needed in names


def test_every_version_has_a_changelog_and_an_upgrade_note() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    upgrading = (ROOT / "docs" / "upgrading.md").read_text(encoding="utf-8")
    versions = [
        line.partition("]")[0].removeprefix("## [")
        for line in changelog.splitlines() if line.startswith("## [")
    ]  # fmt: skip
    assert __version__ in versions
    for version in versions:
        heading = "## Unreleased" if version == "Unreleased" else f"## {version}"
        assert heading in upgrading.splitlines()
