"""Imports point inward only, read from the syntax tree of every file we ship."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

TEXTS = (
    "headroom.policy.text", "headroom.policy.document", "headroom.policy.check",
    "headroom.policy.schema", "headroom.serialization.canonical",
)  # fmt: skip
INNER = ("headroom.domain", "headroom.ports", "headroom.application", *TEXTS)
BELOW_HANDLERS = (*INNER, "headroom.adapters", "headroom.settings", "headroom.wiring")

LAYERS: dict[str, tuple[str, ...]] = {
    # What a module may import beside the standard library and its own package, the longest
    # matching prefix first. Everything that is not listed is refused.
    "headroom.domain": (),
    "headroom.ports": ("headroom.domain",),
    "headroom.application": ("headroom.domain", "headroom.ports"),
    "headroom.settings": (),
    "headroom.policy.document": ("headroom.domain",),
    "headroom.policy.schema": ("headroom.domain", "headroom.policy.document"),
    "headroom.policy.check": (
        "headroom.domain",
        "headroom.policy.document",
        "headroom.policy.text",
    ),
    "headroom.policy.text": ("headroom.domain", "headroom.policy.document", "yaml"),
    "headroom.serialization.canonical": ("headroom.domain", "cattrs"),
    "headroom.adapters.actions": (),
    "headroom.adapters.ledger.schema": (),
    "headroom.adapters": ("headroom.domain", "headroom.ports", *TEXTS, "botocore"),
    "headroom.proving": (*INNER, "numpy", "yaml"),
    "headroom.localaws": (
        *("headroom.domain", "headroom.proving", *TEXTS),
        *("moto", "boto3", "botocore", "werkzeug", "awslambdaric", "flask", "yaml"),
    ),
    "headroom.wiring": (*INNER, "headroom.adapters", "headroom.settings", "boto3", "botocore"),
    "headroom.cli": (
        *(*BELOW_HANDLERS, "headroom.proving", "headroom.localaws"),
        *("typer", "click", "rich", "jinja2", "markupsafe", "yaml", "boto3", "botocore"),
    ),
    "headroom": (),
    "lambdas": (*BELOW_HANDLERS, "aws_lambda_powertools"),
    "stacks": (
        *("headroom.settings", "headroom.policy.text", "headroom.policy.check"),
        "headroom.adapters.ledger.schema",
        *("headroom.adapters.actions", "aws_cdk", "constructs"),
    ),
    "app": ("headroom.settings", "headroom.policy.text", "stacks", "aws_cdk"),
}

OWN_PACKAGE = {name for name in LAYERS if (ROOT / name.replace(".", "/")).is_dir()} - {"headroom"}
"""Layers that are folders: their modules may import one another."""

CLOCKS_AND_SURROUNDINGS = {
    "datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time",
    "time.monotonic", "time.perf_counter", "time.sleep", "os.environ", "os.getenv",
}  # fmt: skip
NOT_IN_DOMAIN = {"logging", "os", "random", "socket", "subprocess", "time", "uuid"}


def _modules() -> Iterator[tuple[str, Path]]:
    for top in ("headroom", "lambdas", "stacks"):
        for path in sorted((ROOT / top).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path
    yield "app", ROOT / "app.py"


MODULES = dict(_modules())


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def _imports(module: str, tree: ast.AST) -> Iterator[str]:
    """Every imported module, wherever the import stands; `from a import b` names a.b if it is one."""
    package = (
        module if MODULES.get(module, Path()).name == "__init__.py" else module.rpartition(".")[0]
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                up = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*up, base] if base else up)
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                yield whole if whole in MODULES else base


def _layer(module: str) -> str:
    return max((name for name in LAYERS if _within(module, name)), key=len)


def _trespasses(module: str, source: str) -> list[str]:
    layer = _layer(module)
    allowed = LAYERS[layer] + ((layer,) if layer in OWN_PACKAGE else ())
    return [
        name
        for name in _imports(module, ast.parse(source))
        if name.split(".")[0] not in sys.stdlib_module_names
        and name != "headroom"
        and not name.startswith("mypy_boto3_")  # stubs: types only, gone at run time
        and not any(_within(name, ok) for ok in allowed)
    ]


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_inward(module: str) -> None:
    assert _trespasses(module, MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("headroom.domain.planning.plan", "from headroom.ports import Ledger"),
        ("headroom.domain.planning.plan", "def late():\n    import numpy"),
        ("headroom.ports", "import botocore"),
        ("headroom.application", "from headroom.adapters.ebs.storage import EbsStorage"),
        ("headroom.adapters.actions", "import botocore"),
        ("headroom.adapters.ebs.storage", "from headroom.application import sweep"),
        ("headroom.adapters.ebs.storage", "from headroom import wiring"),
        ("headroom.proving.physics.volume", "from headroom.adapters import ebs"),
        ("lambdas.sweep", "import numpy"),
        ("lambdas.sweep", "from headroom.proving.physics.volume import VolumePhysics"),
        ("headroom.cli.main", "import stacks.loop"),
        ("stacks.loop", "import boto3"),
        ("stacks.loop", "from headroom.adapters.ebs.storage import EbsStorage"),
    ],
)
def test_an_import_that_points_outward_is_found(module: str, source: str) -> None:
    assert _trespasses(module, source) != []


def _dotted(node: ast.Attribute) -> str:
    value = node.value
    inner = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return f"{inner}.{node.attr}"


@pytest.mark.parametrize("module", [name for name in MODULES if _layer(name) == "headroom.domain"])
def test_the_domain_reads_no_clock_environment_or_log(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    used = {_dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not used & CLOCKS_AND_SURROUNDINGS
    assert not {name.split(".")[0] for name in _imports(module, tree)} & NOT_IN_DOMAIN


def test_only_the_app_imports_the_stacks() -> None:
    importers = {
        module
        for module, path in MODULES.items()
        if any(_within(name, "stacks") for name in _imports(module, ast.parse(path.read_text())))
    }
    assert {name for name in importers if not _within(name, "stacks")} == {"app"}
