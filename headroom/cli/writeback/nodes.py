"""Nodes of a YAML document: what a key holds, and whether its value is written there as it is."""

from __future__ import annotations

from typing import Any

import yaml


def get(node: Any, *names: str) -> Any:
    """The node under a path of keys; None where there is none."""
    for name in names:
        if not isinstance(node, yaml.MappingNode):
            return None
        node = next((value for key, value in node.value if key_of(key) == name), None)
    return node


def key_of(node: Any) -> str:
    """A scalar's text; empty for everything else."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def text_of(node: Any, *names: str) -> str:
    """The text under a path of keys; empty where there is none."""
    return key_of(get(node, *names))


def is_literal(text: str, node: yaml.Node) -> bool:
    """Whether a value of one line is written there: no tag or anchor before it, and no alias for it."""
    if not isinstance(node, yaml.ScalarNode) or node.style not in (None, "'", '"'):
        return False
    quote = node.style or ""
    return text[node.start_mark.index : node.end_mark.index] == f"{quote}{node.value}{quote}"
