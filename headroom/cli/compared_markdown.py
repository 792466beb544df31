"""A comparison as Markdown: docs/decision-quality.md is written by this and by nobody's hand.

What people have to say about the figures stands in a file beside it, `<name>-notes.md`, which
is taken in as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.cli import compared
from headroom.cli.compared_page import save
from headroom.cli.output import money
from headroom.proving.glossary import CONTROLLERS_SAID, WORDS
from headroom.proving.ranking import GROUPS

Json = Mapping[str, Any]


def write(said: Json, path: Path) -> None:
    """Write the page to `path`; raises Problem when it cannot be written."""
    notes = path.with_name(f"{path.stem}-notes.md")
    text = notes.read_text(encoding="utf-8") if notes.is_file() else None
    save(render(said, text), path)


def render(said: Json, notes: str | None = None) -> str:
    """The whole page; `notes` are taken in after the tables."""
    return "\n".join([*_head(said), *_presets(said), *_shortfalls(said), *_notes(notes),
                      *_halves(said), *_words(), ""])  # fmt: skip


def _head(said: Json) -> Iterator[str]:
    yield "# How well Headroom decides"
    yield ""
    yield (
        "Written by `headroom compare --markdown` from one run of it (`make quality`); nothing in "
        "the tables is typed by hand."
    )
    yield ""
    traces = {row["trace"] for row in said["rows"]}
    yield (
        f"{len(traces)} loads, {len(said['rows']):,} runs, {said['seconds']:,.0f} s. Money in USD "
        "over the whole of the loads."
    )
    if said.get("made_up"):
        yield ""
        yield "**These loads are made up; no figure of merit should rest on them.**"


def _presets(said: Json) -> Iterator[str]:
    values = said["conditions"]["presets_usd_per_starved_minute"]
    for preset, found in said["summary"]["presets"].items():
        yield ""
        yield f"## {preset}: a starved minute is worth ${values[preset]:.2f}"
        yield ""
        yield from _table(
            ("", "controller", *compared.COLUMNS[2:], "Pareto front"),
            [
                (
                    compared.place(each), f"`{each['controller']}`",
                    *compared.sums(each["totals"]["all"]),
                    "" if each["dominated"] or each["kind"] == "reference" else "on it",
                )
                for each in found["controllers"]
            ],
            right=range(2, len(compared.COLUMNS)),
        )  # fmt: skip
        yield ""
        yield from _table(
            ("measured", "is", "must be", "tuning half", "unseen half", ""),
            [
                tuple(compared.target(each)[name] for name in compared.SHOWN)
                for each in found["targets"]
            ],
            right=(1, 3, 4),
        )
        yield ""
        yield "Regret by group of traces:"
        yield ""
        yield from _table(
            ("controller", *GROUPS),
            [
                (f"`{e['controller']}`", *(money(e["totals"][g]["regret"]) for g in GROUPS))
                for e in found["controllers"]
            ],
            right=range(1, 1 + len(GROUPS)),
        )


def _shortfalls(said: Json) -> Iterator[str]:
    yield ""
    yield "## What falls short"
    yield ""
    missed = [
        (preset, compared.target(each))
        for preset, found in said["summary"]["presets"].items()
        for each in found["targets"]
        if each["met"] is False
    ]
    if not missed:
        yield "Nothing: every target that could be measured is met."
    for preset, each in missed:
        detail = f" ({each['detail']})" if each["detail"] else ""
        yield (
            f"- *{preset}*: {each['about']} is {each['figure']}, it must be {each['limit']}{detail}."
        )


def _notes(notes: str | None) -> Iterator[str]:
    if notes is not None and notes.strip():
        yield ""
        yield notes.strip()


def _halves(said: Json) -> Iterator[str]:
    halves = said["summary"]["halves"]
    yield ""
    yield "## Conditions"
    for line in compared.remarks(said):
        yield ""
        yield line
    yield ""
    yield from _table(
        ("half", "traces"),
        [(name, ", ".join(halves[name]) or "none") for name in ("tuning", "unseen")],
    )


def _words() -> Iterator[str]:
    for title, words in (("What the words mean", WORDS), ("Controllers", CONTROLLERS_SAID)):
        yield ""
        yield f"## {title}"
        for word, meaning in words.items():
            yield ""
            yield f"- **{word}**: {meaning}"


def _table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()
) -> Iterator[str]:
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "|".join("--:" if i in right else "---" for i in range(len(columns))) + "|"
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
