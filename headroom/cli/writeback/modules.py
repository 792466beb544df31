"""A folder of Terraform code: its files, its modules, and who calls which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from headroom.cli.writeback.edits import CannotPatch, files, line_of, read
from headroom.cli.writeback.hcl import Attribute, Block, Unreadable, parse

_LITERAL = re.compile(r'-?\d+(?:\.\d+)?|"[^"$%\\]*"')
_MODULE = re.compile(r'module\.([\w-]+)(\[(?:\d+|"(?:[^"\\]|\\.)*")\])?\.')
_RESOURCE = re.compile(r"([\w-]+)\.([\w-]+)(\[.*\])?")


@dataclass(frozen=True, slots=True)
class File:
    """A file and what is in it."""

    path: Path
    text: str
    root: Block

    def value(self, attribute: Attribute) -> str:
        """The expression as written."""
        return self.text[attribute.value_start : attribute.value_end]

    def at(self, offset: int) -> str:
        """`main.tf:12`."""
        return f"{self.path}:{line_of(self.text, offset)}"


@dataclass(frozen=True, slots=True)
class Found:
    """A block in its file, and the module calls that lead there, the outermost first."""

    file: File
    block: Block
    calls: tuple[Found, ...] = ()

    @property
    def folder(self) -> Path:
        """The module that it is part of."""
        return self.file.path.parent

    @property
    def place(self) -> str:
        """`main.tf:12`."""
        return self.file.at(self.block.start)


@dataclass(frozen=True)
class Code:
    """All of Terraform's files below a folder."""

    top: Path

    @cached_property
    def folders(self) -> dict[Path, list[File]]:
        """The files of each module; raises CannotPatch for one that cannot be read."""
        found: dict[Path, list[File]] = {}
        for path in files(self.top, ".tf"):
            text = read(path)
            try:
                found.setdefault(path.parent, []).append(File(path, text, parse(text)))
            except Unreadable as problem:
                raise CannotPatch(f"{path} cannot be read as HCL: {problem}") from None
        return found

    def blocks(self, folder: Path, kind: str) -> Iterator[Found]:
        """The blocks of a kind at the top of a module's files."""
        for file in self.folders.get(folder, []):
            yield from (Found(file, block) for block in file.root.of(kind))

    @cached_property
    def calls(self) -> list[tuple[Found, Path]]:
        """Every `module` block with the folder that it calls; others than local ones are left out."""
        found = []
        for folder in self.folders:
            for call in self.blocks(folder, "module"):
                source = call.block.attribute("source")
                text = "" if source is None else call.file.value(source).strip('"')
                if text.startswith("."):
                    found.append((call, (folder / text).resolve()))
        return found

    def at_address(self, address: str) -> list[Found]:
        """The blocks that an address of Terraform's state names, in every root that has them."""
        names, rest = [], address
        while step := _MODULE.match(rest):
            names.append(step[1])
            rest = rest[step.end() :]
        resource = _RESOURCE.fullmatch(rest)
        if resource is None:
            raise CannotPatch(f"{address} is not a resource address")
        called = {folder for _, folder in self.calls}
        roots = [folder for folder in self.folders if folder.resolve() not in called]
        found = []
        for folder, calls in self._down(roots, tuple(names)):
            for each in self.blocks(folder, "resource"):
                if each.block.labels == (resource[1], resource[2]):
                    found.append(Found(each.file, each.block, calls))
        return found

    def _down(
        self, roots: list[Path], names: tuple[str, ...]
    ) -> list[tuple[Path, tuple[Found, ...]]]:
        here: list[tuple[Path, tuple[Found, ...]]] = [(root, ()) for root in roots]
        by_resolved = {folder.resolve(): folder for folder in self.folders}
        for name in names:
            here = [
                (by_resolved[target], (*calls, call))
                for folder, calls in here
                for call, target in self.calls
                if call.folder == folder and call.block.labels == (name,) and target in by_resolved
            ]
        return here

    def resources(self, *kinds: str) -> Iterator[Found]:
        """Every resource of these types, once for each way in which modules lead to it."""
        for folder in self.folders:
            for each in self.blocks(folder, "resource"):
                if each.block.labels[:1] and each.block.labels[0] in kinds:
                    for calls in self._up(folder, frozenset()):
                        yield Found(each.file, each.block, calls)

    def _up(self, folder: Path, seen: frozenset[Path]) -> Iterator[tuple[Found, ...]]:
        callers = [call for call, target in self.calls if target == folder.resolve()]
        if not callers or folder in seen:
            yield ()
        else:
            for call in callers:
                for above in self._up(call.folder, seen | {folder}):
                    yield (*above, call)


def is_literal(expression: str) -> bool:
    """Whether it is a number or a text without interpolation."""
    return _LITERAL.fullmatch(expression) is not None


def plain(expression: str) -> str | None:
    """The value of a literal as text; None for everything else."""
    return expression.strip('"') if is_literal(expression) else None
