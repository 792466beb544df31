"""Metric math: the grammar, which is Python's own once a few tokens are respelled.

Source: CloudWatch User Guide, "Using math expressions with CloudWatch metrics" (checked 2026-10).
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"""
    r"""|(?P<text>'[^']*'|"[^"]*")|(?P<sign><=|>=|==|!=|&&|\|\||[-+*/^()<>,\[\]]))"""
)
_RESPELLED = {"^": "**", "&&": "and", "||": "or"}
_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Call, ast.List, ast.BinOp, ast.UnaryOp, ast.USub,
    ast.Compare, ast.BoolOp, ast.operator, ast.cmpop, ast.boolop, ast.expr_context,
)  # fmt: skip


class BadExpression(ValueError):
    """The expression is not metric math that this endpoint knows; the message says why."""


@lru_cache(maxsize=1_024)
def parse(text: str) -> ast.expr:
    """The expression as a tree, each name after an underscore; raises BadExpression."""
    if text.lstrip().upper().startswith("SEARCH"):
        raise BadExpression("SEARCH is not supported by this endpoint.")
    try:
        tree = ast.parse(" ".join(_tokens(text)), mode="eval")
    except SyntaxError as error:
        raise BadExpression(f"Cannot read the expression {text!r}.") from error
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and not isinstance(node.func, ast.Name)
        if called or not isinstance(node, _ALLOWED):
            raise BadExpression(f"Cannot read the expression {text!r}.")
    return tree.body


def _tokens(text: str) -> list[str]:
    """Tokens in Python's spelling; the underscore keeps names apart from Python's keywords."""
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadExpression(f"Cannot read {text[at:].strip()!r} in expression {text!r}.")
        kind, token = str(match.lastgroup), match[match.lastgroup or 0]
        if kind == "name":
            token = token.lower() if token.upper() in ("AND", "OR") else f"_{token}"
        elif kind == "number":
            token = repr(float(token))
        elif kind == "text":
            token = repr(token[1:-1])
        found.append(_RESPELLED.get(token, token))
        at = match.end()
    return found
