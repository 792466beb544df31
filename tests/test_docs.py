"""The documentation is held to what is there: links, commands, verbs, figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from headroom.cli.main import app
from headroom.cli.reference import reference

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


def pages() -> Iterator[object]:
    return (pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES)


def code_in(text: str) -> str:
    """Everything written as code: fenced blocks and `inline`."""
    fenced = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)
    inline = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    return "\n".join([*fenced, *inline])


@pytest.mark.parametrize("page", pages())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there.read_text(encoding="utf-8")), f"no anchor {target}"


def anchors(text: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands() -> set[str]:
    found: set[str] = set()
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        found.add(name)
        found |= {f"{name} {sub}" for sub in getattr(command, "commands", {})}
    return found


@pytest.mark.parametrize("page", pages())
def test_every_command_shown_exists(page: Path) -> None:
    for line in code_in(page.read_text(encoding="utf-8")).splitlines():
        words = line.strip().removeprefix("$ ").removeprefix(".venv/bin/").split()
        if len(words) < 2 or words[0] != "headroom" or not words[1].isalpha():
            continue
        assert words[1] in commands(), f"{page.name} shows `{line.strip()}`"


@pytest.mark.parametrize("page", pages())
def test_every_make_verb_shown_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^([a-z]+):", makefile, re.M))
    for verb in re.findall(r"(?:^|[\s$])make ([a-z]+)", code_in(page.read_text(encoding="utf-8"))):
        assert verb in verbs, f"{page.name} shows `make {verb}`"


def test_the_command_reference_is_what_the_commands_say() -> None:
    written = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert written == reference(), "run `python -m headroom.cli.reference > docs/cli.md`"
