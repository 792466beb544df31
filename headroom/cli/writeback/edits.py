"""Edits of files and the unified diff that makes them, which `git apply` takes."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

SKIPPED = frozenset(
    {".git", ".terraform", ".terragrunt-cache", "node_modules", ".venv", "cdk.out", ".aws-sam"}
)
"""Folders of tools: what is in them is not the owner's to edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Characters `start` to `end` of a file become `text`."""

    path: Path
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patched:
    """What must change in which place; without edits the code says so already."""

    place: str
    """The resource in the code, and how it was found."""
    edits: tuple[Edit, ...]
    remarks: tuple[str, ...] = ()


class CannotPatch(Exception):
    """No patch can be made without guessing; the message says where the values live."""


def refuse_other(
    place: str, name: str, current: str, before: str | int | None, after: str | int | None
) -> None:
    """Raise CannotPatch for a literal that is neither the value before the change nor after it.

    Then the code means another resource, or its owner changes the value too.
    """
    expected = {"" if value in (None, 0) else str(value) for value in (before, after)}
    if ("" if current == "0" else current) not in expected:
        had = "none" if before in (None, "") else before
        raise CannotPatch(
            f"{place}: {name} is {current}, but was {had} before the change: this is another resource, "
            "or its owner changes the value too. Change it by hand"
        )


def files(folder: Path, *suffixes: str) -> Iterator[Path]:
    """The files below a folder, or the one file, whose names end so; in order, and not of tools."""
    if folder.is_file():
        yield folder
        return
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from (Path(place) / name for name in sorted(names) if name.endswith(suffixes))


def read(path: Path) -> str:
    """A file's text with its ends of lines as they are; raises CannotPatch if it is not UTF-8."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise CannotPatch(f"{path} is not UTF-8") from None


def line_of(text: str, at: int) -> int:
    """The number of the line that holds a character, from 1."""
    return text.count("\n", 0, at) + 1


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after its edits; insertions at one place stand in their order."""
    for one in sorted(edits, key=lambda edit: edit.start)[::-1]:
        text = text[: one.start] + one.text + text[one.end :]
    return text


def unified(edits: Iterable[Edit], top: Path) -> str:
    """The diff, with paths from `top`: what `git apply` takes there; raises CannotPatch."""
    by_path: dict[Path, list[Edit]] = {}
    for one in edits:
        by_path.setdefault(one.path, []).append(one)
    return "".join(
        line for path in sorted(by_path) for line in _diff(path, by_path[path], top.resolve())
    )


def _diff(path: Path, edits: list[Edit], top: Path) -> Iterator[str]:
    there = path.resolve()
    if not there.is_relative_to(top):
        raise CannotPatch(f"{path} is a link out of the repository, to {there}: change it there")
    name = there.relative_to(top).as_posix()
    name += "\t" if " " in name else ""  # as git does, so that the name ends there
    before = read(path)
    after = edited(before, edits)
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}")
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends, cut at line feeds only, as git does."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def top_of(folder: Path) -> Path:
    """The root of the repository that a folder is in, where `git apply` is run; else the folder."""
    here = folder.resolve()
    here = here if here.is_dir() else here.parent
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
