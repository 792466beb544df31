"""The documentation is held to what is there: links, commands, verbs, figures."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from headroom.cli.demo.stories.program import EVERY
from headroom.cli.demo.stories.volumes import END_MINUTE
from headroom.cli.main import app, run
from headroom.cli.reference import reference
from tests import ROOT

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
def test_every_command_on_a_page_exists(page: Path) -> None:
    for line in code_in(page.read_text(encoding="utf-8")).splitlines():
        words = line.strip().removeprefix("$ ").removeprefix(".venv/bin/").split()
        if len(words) < 2 or words[0] != "headroom" or not words[1].isalpha():
            continue
        assert words[1] in commands(), f"{page.name} shows `{line.strip()}`"


@pytest.mark.parametrize("page", pages())
def test_every_make_verb_on_a_page_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    for verb in re.findall(r"(?:^|[\s$])make ([a-z-]+)", code_in(page.read_text(encoding="utf-8"))):
        assert verb in verbs, f"{page.name} shows `make {verb}`"


def test_the_command_reference_is_what_the_commands_say() -> None:
    written = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert written == reference(), "run `python -m headroom.cli.reference > docs/cli.md`"


def output_in(page: str, command: str) -> str:
    """What the page shows as the output of a command, up to the end of its block."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(rf"^\$ {re.escape(command)}\n(.*?)^```", text, re.M | re.S)
    assert found, f"{page} does not show `{command}`"
    return found[1]


INCIDENT = "docs/scenarios/nightly-batch-gp2.yaml"


def test_the_demo_page_has_the_output_of_the_worked_incident(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert run(["simulate", INCIDENT]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    expected = output_in("docs/demo.md", f"headroom simulate {INCIDENT}").splitlines()
    assert expected == [line for line in printed if line], "copy the output; the id may be new"


def test_the_worked_incident_has_the_figures_of_the_readme(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    columns, waiting = [], []
    for controller in ("none", "headroom"):
        assert run(["simulate", INCIDENT, "--controller", controller, "--json"]) == 0
        result = json.loads(capsys.readouterr().out)
        waiting.append((result["offered_ops"] - result["served_ops"], result["offered_ops"]))
        columns.append(
            (
                f"{result['starved_minutes']}",
                f"{result['burst_balance_min']:.0f} %",
                f"${result['usd_per_month_end']:.2f}",
            )
        )
    late, offered = waiting[0]
    assert f"{int(late / 1e6)} of {round(offered / 1e6)} million operations still wait" in text
    names = ("starved minutes until 08:00", "lowest BurstBalance", "price per month")
    for name, alone, helped in zip(names, *columns, strict=True):
        assert f"| {name} | {alone} | {helped} |" in text


def test_the_page_of_the_demo_has_every_story_of_it() -> None:
    text = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
    for number, story in enumerate(EVERY, start=1):
        assert f"{number}. *{story.title}.*" in text
    assert f"plays {END_MINUTE // 60} hours" in text


def test_the_readme_names_prices_that_the_page_on_deployment_explains() -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## What it costs a month")[1]
    prices = re.findall(r"\$[\d.]+", section.split("## ")[0])
    page = (ROOT / "docs" / "operate" / "deployment.md").read_text(encoding="utf-8")
    assert len(prices) == 7
    assert [price for price in prices if price not in page] == []


def test_every_page_names_the_same_node_which_jsii_supports_and_cdk_runs_on() -> None:
    pages = [*PAGES, ROOT / "Makefile"]
    named = {
        n for page in pages for n in re.findall(r"Node (\d+) or newer", page.read_text("utf-8"))
    }
    assert named == {"22"}
    jsii = find_spec("jsii")
    assert jsii is not None
    assert jsii.origin is not None
    runtime = Path(jsii.origin).parent / "_embedded" / "jsii" / "bin__jsii-runtime.js"
    release = re.search(r"\(22, ?\{([^}]*)\}", runtime.read_text("utf-8"))
    assert release is not None
    assert "endOfLife" in release[1]
    assert "untested" not in release[1]
    lock = json.loads((ROOT / "package-lock.json").read_text("utf-8"))["packages"]
    ours = json.loads((ROOT / "package.json").read_text("utf-8"))["engines"]
    assert ours == lock[""]["engines"] == {"node": ">=20"}
    (least,) = re.findall(r"\d+", lock["node_modules/aws-cdk"]["engines"]["node"])[:1]
    assert int(least) <= 20
