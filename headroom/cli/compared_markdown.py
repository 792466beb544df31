"""A comparison as Markdown: docs/decision-quality.md is written by this and by nobody's hand.

What people have to say about the figures stands in a file beside it, `<name>-notes.md`, which
is taken in as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from headroom.cli import compared
from headroom.cli.files import save
from headroom.cli.output import money
from headroom.proving.glossary import CONTROLLERS_SAID, WORDS
from headroom.proving.ranking import GROUPS

Json = Mapping[str, Any]
REFERENCES = ("static-peak", "best-static", "oracle")


def write(said: Json, path: Path) -> None:
    """Write the page to `path`; raises BadRequest when it cannot be written."""
    notes = path.with_name(f"{path.stem}-notes.md")
    text = notes.read_text(encoding="utf-8") if notes.is_file() else None
    save(render(said, text), path)


def render(said: Json, notes: str | None = None) -> str:
    """The whole page; `notes` are taken in after the tables."""
    return "\n".join([*_head(said), *_presets(said), *_shortfalls(said), *_notes(notes),
                      *_conditions(said), *_words(), ""])  # fmt: skip


def _head(said: Json) -> Iterator[str]:
    yield "# How well Headroom decides"
    yield ""
    yield (
        "Written by `headroom compare --markdown` from one run of it (`make quality`); nothing in "
        "the tables is typed by hand."
    )
    yield ""
    traces, runs = len(said["summary"]["traces"]), said["summary"]["runs"]
    yield f"{traces} loads, {runs:,} runs. Money in USD over the whole of the loads."
    if said.get("made_up"):
        yield ""
        yield "**These loads are made up; no figure of merit should rest on them.**"


def _presets(said: Json) -> Iterator[str]:
    values = said["conditions"]["presets_usd_per_starved_minute"]
    for preset, found in said["summary"]["presets"].items():
        yield ""
        yield f"## {preset}: a starved minute is worth ${values[preset]:.2f}"
        yield ""
        yield from _ranking(found)
        yield ""
        yield compared.oracle(found)
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
        yield f"{compared.BY_GROUP.capitalize()}:"
        yield ""
        yield from _table(
            ("controller", *GROUPS),
            [(f"`{e['controller']}`", *compared.by_group(e)) for e in found["controllers"]],
            right=range(1, 1 + len(GROUPS)),
        )
        yield ""
        yield "Score on each trace, all starts together:"
        yield ""
        yield from _by_trace(found)


def _ranking(found: Json) -> Iterator[str]:
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


def _by_trace(found: Json) -> Iterator[str]:
    """Headroom between nobody, the best published rule of each trace and the references."""
    published = [e["controller"] for e in found["controllers"] if e["kind"] == "published"]
    named = [n for n in ("none", "headroom", *REFERENCES) if n in found["by_trace"][0]["scores"]]
    rows = []
    for each in found["by_trace"]:
        scores = each["scores"]
        best = min(published, key=lambda name: scores[name])
        rows.append(
            (
                each["trace"], each["scale"], *(money(scores[name]) for name in named),
                f"{money(scores[best])} (`{best}`)",
            )
        )  # fmt: skip
    yield from _table(
        ("trace", "scale", *(f"`{name}`" for name in named), "best published rule"),
        rows,
        right=range(2, 3 + len(named)),
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
            f"- *{preset}*, `{each['key']}`: {each['about']} is {each['figure']}, it must be {each['limit']}{detail}."
        )


def _notes(notes: str | None) -> Iterator[str]:
    if notes is not None and notes.strip():
        yield ""
        yield notes.strip()


def _conditions(said: Json) -> Iterator[str]:
    yield ""
    yield "## Conditions"
    for line in compared.remarks(said):
        yield ""
        yield line
    yield ""
    yield from _table(
        ("trace", "half", "days", "x at `auto`"),
        [
            (
                each["trace"], each["half"], f"{each['days']:g}",
                f"{each['scales']['auto']:,.4g}" if "auto" in each["scales"] else "-",
            )
            for each in said["summary"]["traces"]
        ],
        right=(2, 3),
    )  # fmt: skip


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
