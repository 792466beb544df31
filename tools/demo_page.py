"""Whether docs/demo.md tells the stories as a demo did: `python -m tools.demo_page LOG`, or `--write LOG`.

LOG is what `make demo` printed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "demo.md"
STORY = re.compile(r"^(\d+)\. (.+) \(as expected\)\n {3}(.+)$", re.MULTILINE)
LINE = re.compile(r"^(\d+)\. \*.+$", re.MULTILINE)


def told(log: str) -> dict[str, str]:
    """The page's line about each story of the demo, by its number."""
    return {n: f"{n}. *{title}.* {text}" for n, title, text in STORY.findall(log)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare or rewrite the page; returns 1 where it differs."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    write = "--write" in words
    (log,) = [word for word in words if word != "--write"]
    stories, page = told(Path(log).read_text(encoding="utf-8")), PAGE.read_text(encoding="utf-8")
    wanted = LINE.sub(lambda line: stories.get(line[1], line[0]), page)
    missing = {line[1] for line in LINE.finditer(page)} ^ stories.keys()
    if write:
        PAGE.write_text(wanted, encoding="utf-8")
    elif wanted != page or missing:
        print("docs/demo.md differs from the demo: run `python -m tools.demo_page --write LOG`.")
        for line in sorted(set(wanted.splitlines()) - set(page.splitlines())):
            print(f"  {line}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
