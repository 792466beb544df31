"""Write the diagrams in docs/architecture.md from the contracts in pyproject.toml. `python -m tools.rooms`"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
MARKED = re.compile(r"(<!-- layers of (\S+) -->\n).*?(\n<!-- end -->)", re.S)
"""A diagram between two comments; the first says of which package."""


def layers(package: str) -> Sequence[str]:
    """The layers of a package, the highest first; `|` separates siblings in one layer."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for each in tomllib.loads(text)["tool"]["importlinter"]["contracts"]:
        if each["type"] == "layers" and each.get("containers", ["headroom"]) == [package]:
            return each["layers"]
    raise LookupError(f"pyproject.toml has no layers of {package}")


def diagram(levels: Sequence[str]) -> str:
    """A Mermaid flowchart of the layers; an arrow leads to the layer below."""
    nodes, arrows = [], []
    for level, names in enumerate(levels):
        siblings = [name.strip() for name in names.split("|")]
        boxes = [f"    n{level}{place}[{name}]" for place, name in enumerate(siblings)]
        if len(siblings) == 1:
            nodes.append(f"  layer{level}[{siblings[0]}]")
        else:
            nodes += [f'  subgraph layer{level}[" "]', *boxes, "  end"]
    arrows = [f"  layer{level} --> layer{level + 1}" for level in range(len(levels) - 1)]
    return "\n".join(["```mermaid", "flowchart TD", *nodes, *arrows, "```"])


def written(page: str) -> str:
    """The page with each marked diagram as the contracts have it now."""
    return MARKED.sub(lambda found: found[1] + diagram(layers(found[2])) + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
