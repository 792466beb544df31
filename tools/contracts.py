"""A contract for import-linter: a room is entered through its door.

`import-linter` keeps layers and cycles; this adds that a module imports from another folder only what that
folder's `__init__` offers, never one of its modules directly. The configuration is in pyproject.toml.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


@cache
def offered(package: str) -> frozenset[str]:
    """Names that the `__init__` of a package binds: what its door offers."""
    tree = ast.parse(Path(*package.split("."), "__init__.py").read_text(encoding="utf-8"))
    imports = (node for node in tree.body if isinstance(node, ast.ImportFrom))
    return frozenset(alias.asname or alias.name for node in imports for alias in node.names)


class Doors(Contract):  # type: ignore[misc]
    """Modules of a package may be imported by modules of the same package, and by nobody else.

    `open_packages` are folders without a door: packages of packages, and what is loaded by name.
    """

    open_packages = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        packages = {name.rpartition(".")[0] for name in graph.modules}
        trespassers = []
        for importer in sorted(graph.modules):
            room = importer if importer in packages else importer.rpartition(".")[0]
            for imported in sorted(graph.find_modules_directly_imported_by(importer)):
                home = imported.rpartition(".")[0]
                if imported in packages or home == room or home in self.open_packages:
                    continue
                if imported.rpartition(".")[2] in offered(home):
                    continue
                trespassers.append((importer, imported))
        return ContractCheck(kept=not trespassers, metadata={"trespassers": trespassers})

    def render_broken_contract(self, check: ContractCheck) -> None:
        found: list[tuple[str, str]] = check.metadata["trespassers"]
        for importer, imported in found:
            home = imported.rpartition(".")[0]
            output.print_error(f"{importer} imports {imported}; import it from {home} instead.")
