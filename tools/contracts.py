"""A contract for import-linter: a room is entered through its door.

import-linter keeps layers and finds circles. This contract adds that a module imports from another
folder only what the `__init__` of that folder offers. pyproject.toml has the configuration.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Set
from functools import cache
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@cache
def offered(package: str) -> frozenset[str]:
    """Names that the `__init__` of a package imports: what its door offers."""
    tree = ast.parse(Path(*package.split("."), "__init__.py").read_text(encoding="utf-8"))
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return frozenset(alias.asname or alias.name for node in imports for alias in node.names)


def trespassers(
    graph: ImportGraph, open_packages: Set[str], offers: Callable[[str], Set[str]]
) -> list[tuple[str, str]]:
    """Importer and imported module of each import that passes a door by."""
    packages = {name.rpartition(".")[0] for name in graph.modules}
    found = []
    for importer in sorted(graph.modules):
        room = importer if importer in packages else importer.rpartition(".")[0]
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            home, _, name = imported.rpartition(".")
            if imported in packages or home == room or home in open_packages:
                continue
            if name not in offers(home):
                found.append((importer, imported))
    return found


class Doors(Contract):  # type: ignore[misc]
    """A module is imported by modules of the same package, or through the package's `__init__`.

    `open_packages` are folders without a door: packages of packages, and what is loaded by name.
    """

    open_packages = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Kept when nobody trespasses."""
        found = trespassers(graph, self.open_packages, offered)
        return ContractCheck(kept=not found, metadata={"trespassers": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Say which import to change, and to what."""
        for importer, imported in check.metadata["trespassers"]:
            home = imported.rpartition(".")[0]
            output.print_error(f"{importer} imports {imported}; import it from {home} instead.")
