"""The pages for contributors name files that exist, and their lists of files are complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import ROOT
from tools.rooms import written

TOPS = ("headroom", "lambdas", "stacks", "tests", "tools", "docs")
NAMED = re.compile(
    rf"`((?:{'|'.join(TOPS)})/[\w./-]*|[\w-]+\.(?:py|toml|yaml|json|md|txt)|Makefile)`"
)
"""A path from the root of the repository; one with a placeholder such as <kind> is none."""
ROOTED = re.compile(rf"`((?:{'|'.join(TOPS)})/[\w./-]*)`")
QUESTIONS = 20
EXAMPLES = {
    "Add a kind of storage": r"Kind\.RDS|(configuration|origin|target|now)\.database\b",
    "Add a guardrail": r"Guardrail\.COOLDOWN|COOLDOWN = |owner\.cooldown",
    "Read another metric": r"FreeStorageSpace|free_gib: Series|activity\.free_gib",
    "Add a policy setting": r'"revert_wait"|revert_wait_minutes',
    "Add a CLI verb": r"commands\.budget",
    "Change the wording of a message": r"def (decision_message|digest_message|text_of_message)",
    "Add the prices of a Region": r'"ap-northeast-1"',
    "Add an alarm on Headroom itself": r"ChangesStopped|changes-stopped|own_alarms: int",
    "Change a panel of the dashboard": r"Concurrent executions",
    "Add a field to the record": r"\bother_plans\b",
    "Add an IAM action": r"GetCalendarState|CALENDAR_READ_ACTIONS",
    "Add a scenario or a story of the demo": r'"chase"',
}
"""What each worked list follows through the code, by the heading of its section."""
OF_THE_KIND = re.compile(r"/(rds|aurora|ebs|proving|localaws|demo|replay)/")
"""Rooms that the page on a new kind names as folders."""


def text_of(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@pytest.mark.parametrize("page", ["architecture.md", "contributing.md"])
def test_every_path_that_a_page_names_exists(page: str) -> None:
    paths = NAMED.findall(text_of(ROOT / "docs" / page))
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_path_in_the_repository_that_any_page_names_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    missing = {
        (page.name, path)
        for page in pages
        for path in ROOTED.findall(text_of(page))
        if not (ROOT / path).exists()
    }
    assert missing == set()


def test_the_layout_lists_every_room() -> None:
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    layout = text.partition("\n## Layout\n")[2].partition("\n## ")[0]
    rooms = [
        path.parent
        for folder in ("headroom", "headroom/domain")
        for path in (ROOT / folder).glob("*/__init__.py")
    ]
    assert len(rooms) > QUESTIONS
    assert [room.name for room in rooms if f" {room.name}/ " not in layout] == []


def test_the_architecture_answers_where_things_are() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    _, _, section = text.partition("\n## Where is ...?\n")
    rows = re.findall(
        r"^\| (Where .+\?|Which .+\?) \| (.+) \|$", section.partition("\n## ")[0], re.M
    )
    assert len(rows) >= QUESTIONS
    assert [answer for _, answer in rows if not ROOTED.fullmatch(answer)] == []


def test_the_diagrams_are_those_of_the_import_contracts() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert page.count("<!-- layers of ") == 2
    assert page == written(page), "run `python -m tools.rooms`"


def product() -> Iterator[Path]:
    for top in ("headroom", "lambdas", "stacks", "tools"):
        yield from (ROOT / top).rglob("*.py")


@pytest.mark.parametrize("heading", EXAMPLES)
def test_a_worked_list_names_every_file_that_its_example_touches(heading: str) -> None:
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    _, found, rest = text.partition(f"\n### {heading}")
    assert found
    listed = set(NAMED.findall(rest.partition("\n### ")[0].partition("\n## ")[0]))
    touched = {
        str(path.relative_to(ROOT))
        for path in product()
        if re.search(EXAMPLES[heading], path.read_text(encoding="utf-8"))
    }
    if "kind" in heading:
        touched = {path for path in touched if not OF_THE_KIND.search(path)}
    assert touched
    assert touched - listed == set()
