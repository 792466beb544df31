"""Write docs/decision-quality.md anew from its stored figures, after the notes have changed."""

from __future__ import annotations

import json
from pathlib import Path

from headroom.cli.comparison import markdown as compared_markdown

DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> None:
    """The page as `make quality` would write it from the same figures."""
    figures = (DOCS / "figures" / "decision-quality.json").read_text(encoding="utf-8")
    compared_markdown.write(json.loads(figures), DOCS / "decision-quality.md")


if __name__ == "__main__":
    main()
