"""Where blocks and attributes are in a file of Terraform's language (HCL); no expression is evaluated.

Source: HCL Native Syntax Specification (github.com/hashicorp/hcl, hclsyntax/spec.md, 2026-11):
blocks, attributes, quoted and heredoc templates, comments. What follows another grammar is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_NAME = re.compile(r"[^\W\d][\w-]*")
_HEREDOC = re.compile(r"<<-?([^\W\d][\w-]*)\r?\n")
_OPEN, _CLOSE = "([{", ")]}"


class Unreadable(ValueError):
    """The text follows another grammar, with the line where that was noticed."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name = value`: the offsets of the name, and of its value without comments."""

    name: str
    start: int
    value_start: int
    value_end: int


@dataclass(frozen=True, slots=True)
class Block:
    """`kind "label" {...}`: offsets of its first letter and its braces; a file is a block without."""

    kind: str
    labels: tuple[str, ...]
    start: int
    opened: int
    closed: int
    attributes: tuple[Attribute, ...]
    blocks: tuple[Block, ...]

    def attribute(self, name: str) -> Attribute | None:
        """The attribute of that name; HCL allows one of each."""
        return next((one for one in self.attributes if one.name == name), None)

    def of(self, kind: str) -> Iterator[Block]:
        """The blocks of a kind directly inside."""
        return (one for one in self.blocks if one.kind == kind)


def parse(text: str) -> Block:
    """The whole file as a block; raises Unreadable."""
    return _Scanner(text).body("", (), 0, at=1 if text.startswith("\ufeff") else 0)[0]


def members(text: str) -> list[tuple[str, str]] | None:
    """Keys and values of an object that is written out; None for a call, a condition or anything else."""
    try:
        return _Scanner(text).members()
    except Unreadable:
        return None


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text

    def body(self, kind: str, labels: tuple[str, ...], start: int, *, at: int) -> tuple[Block, int]:
        """The block whose content begins at `at`, and the offset behind it."""
        opened = at - 1
        attributes: list[Attribute] = []
        blocks: list[Block] = []
        while True:
            at = self.blank(at)
            if at == len(self.text) or self.text[at] == "}":
                if (at == len(self.text)) == bool(kind):
                    raise self.unreadable(at, "a brace has no partner")
                block = Block(kind, labels, start, opened, at, tuple(attributes), tuple(blocks))
                return block, at + 1
            name = _NAME.match(self.text, at)
            if name is None:
                raise self.unreadable(at, "neither an attribute nor a block begins here")
            after = self.blank(name.end(), lines=False)
            if self.text.startswith("=", after) and not self.text.startswith("==", after):
                value = self.blank(after + 1, lines=False)
                end, at = self.expression(value)
                if end == value:
                    raise self.unreadable(at, f"{name[0]} has no value")
                attributes.append(Attribute(name[0], name.start(), value, end))
            else:
                found, brace = self.labels(after)
                block, at = self.body(name[0], found, name.start(), at=brace + 1)
                blocks.append(block)

    def labels(self, at: int) -> tuple[tuple[str, ...], int]:
        """The labels from `at` to the brace that opens the block."""
        found: list[str] = []
        while not self.text.startswith("{", at):
            name = _NAME.match(self.text, at)
            if name is not None:
                found.append(name[0])
                at = name.end()
            elif self.text.startswith('"', at):
                end = self.quoted(at)
                found.append(self.text[at + 1 : end - 1])
                at = end
            else:
                raise self.unreadable(at, "a block's label or brace was expected")
            at = self.blank(at, lines=False)
        return tuple(found), at

    def members(self) -> list[tuple[str, str]] | None:
        """Keys and values of the object that the whole text is; None where it is anything else."""
        if not self.text.startswith("{"):
            return None
        found: list[tuple[str, str]] = []
        at = self.blank(1)
        while at < len(self.text) and self.text[at] != "}":
            name = _NAME.match(self.text, at)
            end = self.quoted(at) if self.text[at] == '"' else at if name is None else name.end()
            after = self.blank(end, lines=False)
            if end == at or after == len(self.text) or self.text[after] not in "=:":
                return None
            value = self.blank(after + 1, lines=False)
            last, rest = self.expression(value, ends="\n},")
            found.append((self.text[at:end].strip('"'), self.text[value:last]))
            at = self.blank(rest)
            if self.text.startswith(",", at):
                at = self.blank(at + 1)
        return found if at == len(self.text) - 1 else None

    def expression(self, at: int, *, ends: str = "\n}") -> tuple[int, int]:
        """The end of the value that begins at `at`, and the offset to go on from."""
        first, depth, last = at, 0, at
        while at < len(self.text):
            char = self.text[at]
            if depth == 0 and char in ends:
                break
            skipped = self.blank(at, lines=depth > 0)
            if skipped > at:
                at = skipped
                continue
            heredoc = _HEREDOC.match(self.text, at)
            if char == '"':
                at = self.quoted(at)
            elif heredoc is not None:
                at = self.heredoc(heredoc)
            else:
                depth += (char in _OPEN) - (char in _CLOSE)
                if depth < 0:
                    raise self.unreadable(at, "a bracket has no partner")
                at += 1
            last = at
        if depth:
            raise self.unreadable(first, "a bracket has no partner")
        return last, at

    def quoted(self, at: int) -> int:
        """The offset behind the quoted template that begins at `at`."""
        first = at
        at += 1
        while at < len(self.text):
            if self.text.startswith(("$${", "%%{"), at):
                at += 3
            elif self.text.startswith(("${", "%{"), at):
                at = self.interpolated(at + 2)
            elif self.text[at] == "\\":
                at += 2
            elif self.text[at] == '"':
                return at + 1
            elif self.text[at] == "\n":
                break
            else:
                at += 1
        raise self.unreadable(first, "a quote has no partner")

    def interpolated(self, at: int) -> int:
        """The offset behind the brace that ends a `${` or `%{`."""
        first, depth = at, 1
        while at < len(self.text):
            if self.text[at] == '"':
                at = self.quoted(at)
                continue
            depth += (self.text[at] == "{") - (self.text[at] == "}")
            at += 1
            if depth == 0:
                return at
        raise self.unreadable(first, "an interpolation does not end")

    def heredoc(self, begun: re.Match[str]) -> int:
        end = re.compile(rf"^[ \t]*{re.escape(begun[1])}(?=\r?$)", re.MULTILINE)
        found = end.search(self.text, begun.end())
        if found is None:
            raise self.unreadable(begun.start(), f"the heredoc {begun[1]} does not end")
        return found.end()

    def blank(self, at: int, *, lines: bool = True) -> int:
        """The offset behind spaces and comments, and behind ends of lines if `lines`."""
        while at < len(self.text):
            if self.text[at] in (" \t\r\n" if lines else " \t\r"):
                at += 1
            elif self.text.startswith(("#", "//"), at):
                end = self.text.find("\n", at)
                at = len(self.text) if end < 0 else end
            elif self.text.startswith("/*", at):
                end = self.text.find("*/", at)
                if end < 0:
                    raise self.unreadable(at, "a comment does not end")
                at = end + 2
            else:
                break
        return at

    def unreadable(self, at: int, why: str) -> Unreadable:
        return Unreadable(f"line {self.text.count(chr(10), 0, at) + 1}: {why}")
