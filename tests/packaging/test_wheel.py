"""The wheel: complete without a clone, and its core without the packages of its extras."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from headroom import __version__
from tests import ROOT
from tests.packaging.conftest import Installed, environment

EXTRAS = ("aws_cdk", "awslambdaric", "constructs", "hypothesis", "moto", "pytest", "werkzeug")
"""Packages that only an extra brings."""


def test_the_wheel_holds_one_package_and_what_it_needs_at_run_time(built: Path) -> None:
    assert built.name == f"headroom_storage-{__version__}-py3-none-any.whl"
    names = ZipFile(built).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "headroom", f"headroom_storage-{__version__}.dist-info",
    }  # fmt: skip
    for needed in (
        "headroom/cli/main.py", "headroom/proving/data/instance_types.csv", "headroom/py.typed",
        "headroom/vendor/lambdas/signals.py", "headroom/vendor/lambdas/__init__.py",
        "headroom/vendor/function_packages.zip", "headroom/vendor/uplot/uPlot.iife.min.js",
        "headroom/vendor/uplot/licence/LICENSE",
    ):  # fmt: skip
        assert needed in names


def test_the_wheel_holds_every_file_of_the_package(built: Path) -> None:
    """All but texts for readers of the sources."""
    inside = set(ZipFile(built).namelist())
    missing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "headroom").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } - inside
    assert missing == set()


def test_the_core_brings_none_of_the_extras_packages(core: Installed, tmp_path: Path) -> None:
    found = core.run(
        "python", "-c",
        "import importlib.util as u, sys; print([m for m in sys.argv[1:] if u.find_spec(m)])",
        *EXTRAS, cwd=tmp_path,
    )  # fmt: skip
    assert found.stdout.strip() == "[]", found.stderr


@pytest.mark.parametrize(
    "words",
    [
        "--help", "version", "assess --help", "plan --help", "replay --help", "doctor --help",
        "audit --help", "demo --help", "policy schema", "policy check policy.yaml",
        "cost --volumes 10 --json", "simulate nightly.yaml --html page.html",
    ],
)  # fmt: skip
def test_the_core_alone_runs(core: Installed, tmp_path: Path, words: str) -> None:
    (tmp_path / "policy.yaml").write_text((ROOT / "policy.yaml").read_text())
    scenario = ROOT / "docs" / "scenarios" / "nightly-batch-gp2.yaml"
    (tmp_path / "nightly.yaml").write_text(scenario.read_text())
    done = core.run("headroom", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


@pytest.mark.parametrize("words", ["demo", "local up"])
def test_a_command_that_needs_an_extra_says_how_to_install_it(
    core: Installed, tmp_path: Path, words: str
) -> None:
    done = core.run("headroom", *words.split(), cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        "headroom: The local AWS endpoint needs more packages: "
        "run pip install 'headroom-storage[local]'."
    )


def test_the_extra_for_the_local_endpoint_is_enough_to_start_it(
    built: Path, tmp_path: Path
) -> None:
    local = environment(tmp_path / "local", built, "local")
    where = ("--state-dir", str(tmp_path / "endpoint"))
    try:
        started = local.run("headroom", "local", "up", *where, cwd=tmp_path)
        assert started.returncode == 0, started.stderr
        running = local.run("headroom", "local", "status", *where, cwd=tmp_path)
        assert running.stdout.startswith("The local endpoint runs at http://127.0.0.1:")
    finally:
        local.run("headroom", "local", "down", *where, cwd=tmp_path)
    demo = local.run("headroom", "demo", cwd=tmp_path)
    assert "run `make demo` in one" in demo.stderr
