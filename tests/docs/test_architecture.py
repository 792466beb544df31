"""The pages for contributors name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("headroom", "lambdas", "stacks", "tests", "tools", "docs")
NAMED = re.compile(
    rf"`((?:{'|'.join(TOPS)})/[\w./-]*|[\w-]+\.(?:py|toml|yaml|json|md|txt)|Makefile)`"
)
"""A path from the root of the repository; one with a placeholder such as <kind> is none."""
QUESTIONS = 20


def paths_in(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return NAMED.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))


@pytest.mark.parametrize("page", ["architecture.md", "contributing.md"])
def test_every_path_that_a_page_names_exists(page: str) -> None:
    paths = paths_in(page)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_architecture_answers_where_things_are() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    _, _, section = text.partition("\n## Where is ...?\n")
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", section.partition("\n## ")[0], re.M)
    assert len(rows) >= QUESTIONS
    assert all(NAMED.search(answer) for _, answer in rows)
