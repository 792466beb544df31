"""Metric math: the grammar, as a small recursive-descent parser.

Source: CloudWatch User Guide, "Using math expressions with CloudWatch metrics" (checked 2026-10).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias


class BadExpression(ValueError):
    """The expression is not metric math that this endpoint knows; the message says why."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A string in single or double quotes."""

    value: str


@dataclass(frozen=True, slots=True)
class Reference:
    """The id of another query, or a word such as REPEAT."""

    name: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """A list in square brackets."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """Two operands and what to do with them."""

    operator: str
    left: Node
    right: Node


Node: TypeAlias = Number | Text | Reference | Call | Array | Operation

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<text>'[^']*'|"[^"]*")|(?P<sign><=|>=|==|!=|&&|\|\||[-+*/^()<>,\[\]]))"""
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||", "OR"),
    ("&&", "AND"),
    ("==", "!=", "<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/"),
)
"""Operators from the loosest to the tightest; `^` and the minus sign bind tighter still."""


def parse(text: str) -> Node:
    """The expression as a tree; raises BadExpression."""
    if text.lstrip().upper().startswith("SEARCH"):
        raise BadExpression("SEARCH is not supported by this endpoint.")
    parser = _Parser(_tokens(text), text)
    node = parser.level(0)
    if parser.peek() is not None:
        raise BadExpression(f"Unexpected {parser.peek()!r} in expression {text!r}.")
    return node


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadExpression(f"Cannot read {text[at:].strip()!r} in expression {text!r}.")
        found.append(match.group().strip())
        at = match.end()
    return found


class _Parser:
    def __init__(self, tokens: list[str], text: str) -> None:
        self._tokens = tokens
        self._text = text
        self._at = 0

    def peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            raise BadExpression(
                f"Expected {expected or 'more'} but found {token or 'the end'} in {self._text!r}."
            )
        self._at += 1
        return token

    def level(self, depth: int) -> Node:
        if depth == len(_LEVELS):
            return self.power()
        left = self.level(depth + 1)
        while (token := self.peek()) is not None and token.upper() in _LEVELS[depth]:
            operator = {"OR": "||", "AND": "&&"}.get(self.take().upper(), token)
            left = Operation(operator, left, self.level(depth + 1))
        return left

    def power(self) -> Node:
        if self.peek() == "-":
            self.take()
            return Operation("-", Number(0.0), self.power())
        base = self.atom()
        if self.peek() == "^":
            self.take()
            return Operation("^", base, self.power())
        return base

    def atom(self) -> Node:
        token = self.take()
        if token == "(":
            inside = self.level(0)
            self.take(")")
            return inside
        if token == "[":
            return Array(self._list("]"))
        if token[0] in "'\"":
            return Text(token[1:-1])
        if token[0].isdigit():
            return Number(float(token))
        if not (token[0].isalpha() or token[0] == "_"):
            raise BadExpression(f"Unexpected {token!r} in expression {self._text!r}.")
        if self.peek() == "(":
            self.take()
            return Call(token.upper(), self._list(")"))
        return Reference(token)

    def _list(self, close: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while self.peek() != close:
            items.append(self.level(0))
            if self.peek() != close:
                self.take(",")
        self.take(close)
        return tuple(items)
