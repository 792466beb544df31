"""The functions' code: complete, small, for their own platform, and the same every time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headroom.cdk.asset import (
    KEPT,
    RUNTIME_PYTHON,
    WheelsMissing,
    runtime_python,
    stage_function_code,
)
from tests.stacks.conftest import ROOT, Synth, Synthesised, properties
from tools.bench.cold_start import cold_start_s

CLEAN = """
import importlib, json, sys
sys.path.insert(0, sys.argv[1])
for handler in sys.argv[2:]:
    module, name = handler.rsplit(".", 1)
    assert callable(getattr(importlib.import_module(module), name)), handler
files = {m: getattr(sys.modules[m], "__file__", None) for m in list(sys.modules)}
print(json.dumps({m: f for m, f in files.items() if f}))
"""


def _in_clean_process(asset: Path, *handlers: str) -> dict[str, str]:
    """Import the handlers with the asset and the standard library only; modules and files."""
    command = [sys.executable, "-I", "-S", "-B", "-c", CLEAN, str(asset), *handlers]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return loaded


def _handlers(made: Synthesised) -> list[str]:
    return [function["Handler"] for function in properties(made.loop, "AWS::Lambda::Function")]


def test_every_handler_of_the_template_imports_from_the_asset_alone(shipped: Synthesised) -> None:
    handlers = _handlers(shipped)
    assert sorted(handlers) == [
        "lambdas.requests.handler", "lambdas.signals.handler", "lambdas.sweep.handler",
    ]  # fmt: skip
    loaded = _in_clean_process(shipped.asset(), *handlers)
    assert Path(loaded["boto3"]).is_relative_to(shipped.asset())
    assert Path(loaded["headroom"]).is_relative_to(shipped.asset())


def test_a_function_loads_nothing_heavy_it_does_not_need(shipped: Synthesised) -> None:
    loaded = _in_clean_process(shipped.asset(), *_handlers(shipped))
    for heavy in ("aws_xray_sdk", "numpy", "pydantic", "yaml", "moto"):
        assert heavy not in loaded


def test_time_zones_are_known_where_the_system_has_no_data_of_them(shipped: Synthesised) -> None:
    asks = (
        "import sys, zoneinfo; zoneinfo.reset_tzpath(to=()); sys.path.insert(0, sys.argv[1]); "
        "from headroom.domain.policy.windows import parse_window; "
        "print(parse_window('Mon 22:00-06:00 Europe/Berlin'))"
    )
    command = [sys.executable, "-I", "-S", "-B", "-c", asks, str(shipped.asset())]
    done = subprocess.run(command, cwd="/", env={}, capture_output=True, text=True, check=False)
    assert done.stdout == "Mon 22:00-06:00 Europe/Berlin\n", done.stderr


@pytest.mark.parametrize("left_out", ["cli", "localaws", "proving"])
def test_what_no_function_imports_stays_at_home(shipped: Synthesised, left_out: str) -> None:
    assert not (shipped.asset() / "headroom" / left_out).exists()
    assert (shipped.asset() / "headroom" / "domain").is_dir()


def test_nothing_in_the_asset_is_compiled_for_another_platform(shipped: Synthesised) -> None:
    names = [path.name for path in shipped.asset().rglob("*")]
    assert [n for n in names if n.endswith((".so", ".pyd", ".dylib"))] == []
    compiled = {n.split(".")[1] for n in names if n.endswith(".pyc")}
    assert compiled == ({"cpython-314"} if runtime_python() else set())


def test_the_wheels_are_the_pinned_ones(shipped: Synthesised) -> None:
    lines = (ROOT / "requirements-lambda.txt").read_text().splitlines()
    pinned = {line.removesuffix(" \\").lower().replace("-", "_") for line in lines if "==" in line}
    packed = {
        path.name.removesuffix(".dist-info").lower().replace("-", "==")
        for path in shipped.asset().glob("*.dist-info")
    }
    assert packed == pinned


def test_only_the_services_that_are_called_are_packed(shipped: Synthesised) -> None:
    models = shipped.asset() / "botocore" / "data"
    packed = {path.name for path in models.iterdir() if path.is_dir()}
    sources = ("account.py", "wiring.py", "adapters/kinds.py")
    wiring = "".join((ROOT / "headroom" / name).read_text() for name in sources)
    assert packed == set(re.findall(r'(?:client|reads|once)\(\s*"(\w+)"', wiring))
    assert (models / "endpoints.json").exists()
    assert (models / "partitions.json").exists()


def test_the_asset_stays_small(shipped: Synthesised) -> None:
    files = [path for path in shipped.asset().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files if path.suffix != ".pyc") < 14 * 2**20
    assert sum(path.stat().st_size for path in files) < 28 * 2**20


def test_the_same_sources_give_the_same_asset(synth: Synth, shipped: Synthesised) -> None:
    keys = {
        function["Code"]["S3Key"]
        for made in (shipped, synth(detection="sweep"))
        for function in properties(made.loop, "AWS::Lambda::Function")
    }
    assert len(keys) == 1


def _tiny_root(root: Path) -> Path:
    for name in ("lambdas/sweep.py", "headroom/core.py", "headroom/cli/main.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    for name in ("lambdas/__init__.py", "lambdas/methods.py"):
        shutil.copyfile(ROOT / name, root / name)
    (root / "build/wheels/botocore").mkdir(parents=True)
    return root


def test_staging_depends_on_content_and_not_on_dates(tmp_path: Path) -> None:
    root = _tiny_root(tmp_path)
    first = stage_function_code(root)
    os.utime(root / "headroom/core.py", (0, 0))
    (root / "headroom/__pycache__").mkdir()
    (root / "headroom/__pycache__/core.pyc").write_bytes(b"\0")
    (root / "headroom/cli/main.py").write_text("# changed\n")
    assert stage_function_code(root) == first
    (root / "headroom/core.py").write_text("# changed\n")
    assert stage_function_code(root) != first


def _compiled(root: Path) -> dict[str, bytes]:
    staged = stage_function_code(root, python=sys.executable)
    return {p.relative_to(staged).as_posix(): p.read_bytes() for p in staged.rglob("*.pyc")}


def test_bytecode_is_the_same_every_time_and_needs_no_check_of_its_source(tmp_path: Path) -> None:
    made = []
    for name in ("one", "another"):
        root = _tiny_root(tmp_path / name)
        (root / "headroom/core.py").write_text("NAMES = frozenset({'a', 'b', 'c', 'd', 'e'})\n")
        made.append(_compiled(root))
    assert made[0] == made[1]
    assert len(made[0]) == 4
    for content in made[0].values():
        assert content[4:8] == b"\1\0\0\0"  # by hash, unchecked: PEP 552
        assert str(tmp_path).encode() not in content
        assert b"/var/task/" in content


def test_compiled_code_is_what_runs(tmp_path: Path) -> None:
    root = _tiny_root(tmp_path)
    (root / "headroom/core.py").write_text("print('compiled')\n")
    staged = stage_function_code(root, python=sys.executable)
    (staged / "headroom/core.py").write_text("print('source')\n")
    command = [sys.executable, "-I", "-S", "-c",
               f"import sys; sys.path.insert(0, {str(staged)!r}); import headroom.core"]  # fmt: skip
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"compiled\n"
    assert stage_function_code(root) != staged


VALUES = """
from dataclasses import dataclass

@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Size:
    gib: int = 1
    iops: int = 3000
"""
COMPILES = """
import sys
sys.path.insert(0, sys.argv[1])
import lambdas
texts = []
sys.addaudithook(lambda event, given: texts.append(given) if event == "compile" and given[0] else None)
from headroom.core import Size
compiled = len(texts)
print(Size(gib=2), Size() == Size(iops=3000), hash(Size()) == hash(Size()), Size() < Size(gib=2), compiled > 0)
"""


def _size(staged: Path) -> str:
    command = [sys.executable, "-I", "-S", "-B", "-c", COMPILES, str(staged)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def test_methods_of_dataclasses_come_compiled_and_are_the_same(tmp_path: Path) -> None:
    root = _tiny_root(tmp_path)
    (root / "headroom/core.py").write_text(VALUES)
    staged = stage_function_code(root, python=sys.executable)
    compiled = staged / "lambdas/methods.compiled"
    expected = "Size(gib=2, iops=3000) True True True"
    assert _size(staged) == f"{expected} False\n"
    content = compiled.read_bytes()
    compiled.write_bytes(b"of another Python" + content)
    assert _size(staged) == f"{expected} True\n"
    compiled.unlink()
    assert _size(staged) == f"{expected} True\n"
    shutil.rmtree(staged)
    stage_function_code(root, python=sys.executable)
    assert compiled.read_bytes() == content


def test_only_the_functions_own_python_makes_bytecode(
    tmp_path: Path, shipped: Synthesised, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "python{}.{}".format(*RUNTIME_PYTHON)
    assert {f["Runtime"] for f in properties(shipped.loop, "AWS::Lambda::Function")} == {name}
    monkeypatch.setattr(sys, "version_info", (3, 11, 0))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert runtime_python() is None
    (tmp_path / name).write_text("#!/bin/sh\n")
    (tmp_path / name).chmod(0o755)
    assert runtime_python() == str(tmp_path / name)
    monkeypatch.setattr(sys, "version_info", (*RUNTIME_PYTHON, 0))
    assert runtime_python() == sys.executable


def test_a_benchmark_leaves_the_asset_as_it_is(tmp_path: Path) -> None:
    staged = stage_function_code(_tiny_root(tmp_path))
    before = sorted(path.name for path in staged.rglob("*"))
    assert cold_start_s(staged, (), "import headroom.core") > 0
    assert sorted(path.name for path in staged.rglob("*")) == before


def test_staged_folders_of_old_sources_are_forgotten(tmp_path: Path) -> None:
    root = _tiny_root(tmp_path)
    for number in range(KEPT + 3):
        (root / "headroom/core.py").write_text(f"# {number}\n")
        staged = stage_function_code(root)
        os.utime(staged, (number, number))
    assert len(list(staged.parent.iterdir())) <= KEPT + 1


def test_without_wheels_staging_says_to_run_make_setup(tmp_path: Path) -> None:
    root = _tiny_root(tmp_path)
    shutil.rmtree(root / "build")
    with pytest.raises(WheelsMissing, match=r"^The functions' wheels .*; run make setup\.$"):
        stage_function_code(root)
