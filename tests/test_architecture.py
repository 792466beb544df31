"""What a package may import from outside, and what the domain may never use.

Layers, doors and the absence of circles are contracts of import-linter (pyproject.toml, `make check`).
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from tests import ROOT
from tools.contracts import trespassers

TOPS = ("headroom", "lambdas", "stacks")

LIBRARIES: dict[str, tuple[str, ...]] = {
    # The longest matching prefix counts. A library that is not listed is refused.
    "headroom.domain": (),
    "headroom.ports": (),
    "headroom.application": (),
    "headroom.settings": (),
    "headroom.policy": ("yaml",),
    "headroom.serialization": ("cattrs",),
    "headroom.adapters": ("botocore",),
    "headroom.proving": ("numpy", "yaml"),
    "headroom.proving.memory": ("botocore",),
    "headroom.localaws": (
        "moto", "boto3", "botocore", "werkzeug", "awslambdaric", "flask", "yaml",
    ),
    "headroom.account": ("boto3", "botocore"),
    "headroom.wiring": ("boto3", "botocore"),
    "headroom.cli": (
        "typer", "click", "rich", "jinja2", "markupsafe", "yaml", "boto3", "botocore",
    ),
    "headroom": (),
    "lambdas": ("aws_lambda_powertools",),
    "headroom.cdk": ("aws_cdk", "constructs"),
    "stacks": ("aws_cdk", "constructs"),
}  # fmt: skip

NOT_DEPLOYED = ("headroom.cdk", "headroom.proving", "headroom.localaws", "headroom.cli", "stacks")
"""What no function may reach: it is left out of the package that is deployed."""

CLOCKS_AND_SURROUNDINGS = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time",
    "time.monotonic", "time.perf_counter", "time.sleep", "os.environ", "os.getenv",
}  # fmt: skip
NOT_IN_DOMAIN = {"logging", "os", "random", "socket", "subprocess", "time", "uuid"}


def _modules() -> Iterator[tuple[str, Path]]:
    for top in TOPS:
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(_modules())


def _imports(source: str) -> set[str]:
    """Every module that a source imports absolutely, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def _refused(module: str, source: str) -> set[str]:
    """Libraries that a module imports and may not; stubs are for types only."""
    prefix = max((p for p in LIBRARIES if f"{module}.".startswith(f"{p}.")), key=len)
    names = {name.partition(".")[0] for name in _imports(source)}
    known = {*sys.stdlib_module_names, *TOPS, *LIBRARIES[prefix]}
    return {name for name in names - known if not name.startswith("mypy_boto3_")}


def test_a_module_imports_only_the_libraries_of_its_package() -> None:
    refused = {
        module: _refused(module, path.read_text(encoding="utf-8"))
        for module, path in MODULES.items()
    }
    assert {module: names for module, names in refused.items() if names} == {}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headroom.domain.planning.plan", "def late():\n    import numpy"),
        ("headroom.ports", "import botocore"),
        ("headroom.adapters.ebs.storage", "import boto3"),
        ("lambdas.sweep", "import numpy"),
        ("headroom.cdk.loop", "import boto3"),
    ],
)
def test_a_library_of_another_package_is_found(module: str, source: str) -> None:
    assert _refused(module, source)


def test_the_types_of_all_services_that_the_stacks_use_are_checked() -> None:
    """mypy leaves out the other services of the CDK, whose values would pass as anything."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    checked = next(rule["module"] for rule in rules if rule["follow_imports"] == "normal")
    sources = "".join(path.read_text() for _, path in _modules())
    used = set(re.findall(r"aws_cdk(?: import |\.)((?:aws_|region_)\w+)", sources))
    assert len(used) > 10
    assert {f"aws_cdk.{name}" for name in used} <= set(checked)


def test_every_import_is_absolute() -> None:
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), module


@pytest.mark.parametrize("handler", ["lambdas.sweep", "lambdas.signals", "lambdas.requests"])
def test_a_function_reaches_only_what_is_deployed(handler: str) -> None:
    graph = grimp.build_graph(*TOPS)
    reached = graph.find_upstream_modules(handler)
    assert not {name for name in reached if name.startswith(NOT_DEPLOYED)}


def test_peoples_requests_start_without_what_reads_and_changes_a_fleet() -> None:
    reached = grimp.build_graph(*TOPS).find_upstream_modules("lambdas.requests")
    rooms = {".".join(name.split(".")[1:3]) for name in reached if "adapters" in name}
    assert rooms == {
        "adapters.callers", "adapters.errors", "adapters.ledger", "adapters.parameters",
        "adapters.responses", "adapters.tables",
    }  # fmt: skip
    assert not {
        name for name in reached if name.startswith(("headroom.application", "headroom.wiring"))
    }


def test_a_module_that_enters_a_room_past_its_door_is_found() -> None:
    graph = grimp.ImportGraph()
    for name in ("a", "a.room", "a.room.inside", "a.hall", "a.hall.guest"):
        graph.add_module(name)
    graph.add_import(importer="a.hall.guest", imported="a.room.inside")
    assert trespassers(graph, {"a"}, lambda _: frozenset()) == [("a.hall.guest", "a.room.inside")]
    assert trespassers(graph, {"a"}, lambda _: frozenset({"inside"})) == []


def _clocks_and_surroundings(source: str) -> set[str]:
    """What a source uses or imports that the domain may not."""
    attributes = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute))
    used = {
        f"{n.value.attr if isinstance(n.value, ast.Attribute) else getattr(n.value, 'id', '')}.{n.attr}"
        for n in attributes
    }
    imported = {name.partition(".")[0] for name in _imports(source)}
    return used & CLOCKS_AND_SURROUNDINGS | imported & NOT_IN_DOMAIN


def test_the_domain_reads_no_clock_environment_or_log() -> None:
    found = {
        name: _clocks_and_surroundings(path.read_text(encoding="utf-8"))
        for name, path in MODULES.items()
        if name.startswith("headroom.domain")
    }
    assert len(found) > 100
    assert {name: used for name, used in found.items() if used} == {}
    assert _clocks_and_surroundings("import os\nnow = datetime.now()") == {"os", "datetime.now"}


def test_no_folder_holds_more_than_twenty_modules() -> None:
    folders = [path.parent for path in MODULES.values() if path.name != "__init__.py"]
    assert {str(f): folders.count(f) for f in set(folders) if folders.count(f) > 20} == {}


def test_every_folder_says_what_it_is_for() -> None:
    for module, path in MODULES.items():
        if path.name == "__init__.py":
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), module
