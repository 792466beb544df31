"""The demo's results: a table of decisions, a line for each story, the page, one JSON object."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headroom.cli.demo.results.access import Access
from headroom.cli.demo.results.section import StoryResult
from headroom.cli.demo.script.script import digest
from headroom.cli.demo.stories.program import NUMBERS
from headroom.cli.demo.stories.volumes import START
from headroom.cli.terminal.output import money, say, table, utc
from headroom.cli.views import brief
from headroom.cli.views import decision as decision_view
from headroom.cli.views.report import Report
from headroom.domain.state import Record

NOTES = (
    "Load: a recorded half hour of pgbench (headroom/proving/data), its phases scaled and repeated "
    "for each story; the benchmark story is a closed loop of 256 outstanding operations.",
    "Limits, credits and queues follow the physics of EBS as AWS documents it, on a clock that "
    "advances minute by minute; the decisions are those of the deployed functions, read back from "
    "the deployed DynamoDB tables.",
    "Billed I/O of the Aurora clusters is declared, sixteen days before the start too, and published "
    "as CloudWatch does; their engines are not simulated.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """The whole demo: the result of every story, and the hash over all records."""

    stories: tuple[StoryResult, ...]
    records: int
    digest: str
    sweep_only: bool
    seed: int
    minutes: int
    """Simulated minutes."""
    access: Access


def demo_result(
    stories: Sequence[StoryResult], chains: Sequence[Sequence[Record]], *, access: Access,
    sweep_only: bool, seed: int, minutes: int,
) -> DemoResult:  # fmt: skip
    """The stories with their records."""
    return DemoResult(
        stories=tuple(stories),
        records=sum(len(chain) for chain in chains),
        digest=digest(chains),
        sweep_only=sweep_only,
        seed=seed,
        minutes=minutes,
        access=access,
    )


def print_all(what: DemoResult, folder: Path, console: Console) -> None:
    """The table of decisions, then the stories in a line each, then where the rest is."""
    console.print(_decisions(what))
    console.print()
    for story in what.stories:
        sign, style = ("as expected", None) if story.verdict.ok else ("NOT as expected", "red")
        console.print(f"{NUMBERS[story.key]}. {story.title} ({sign})", soft_wrap=True, style=style)
        say(f"   {story.verdict.line}", console)
        for each in story.verdict.unmet:
            console.print(f"   Not met: {each}.", style="red")
    console.print()
    console.print(f"Records: {what.records}, digest {what.digest[:16]} (seed {what.seed})")
    console.print(f"IAM:     {what.access.line}")
    for problem in what.access.problems:
        console.print(f"   {problem}.", style="red")
    console.print(f"Report:  {folder / 'report.html'}", soft_wrap=True)
    headroom = "headroom" if shutil.which("headroom") else ".venv/bin/headroom"
    console.print(f"Ask the record: {headroom} audit, {headroom} explain ID", soft_wrap=True)


def _decisions(what: DemoResult) -> object:
    stories = [(t, story) for story in what.stories for t in story.decisions]
    stories.sort(key=lambda each: (each[0].decision.at, each[1].key))
    rows = [
        (
            f"{story.decision.at:%d %H:%M} {result.key}\n"
            f"{decision_view.kind(story.decision)} {story.decision.decision_id[:8]}",
            f"{brief.observed(story.decision)}\n{brief.considered(story.decision)}",
            brief.guardrails(story.decision),
            f"{brief.change(story.decision)}\n{_outcome(story)}",
        )
        for story, result in stories
    ]
    columns = ("When, story\ndecision", "Seen\nconsidered, USD a month", "Guardrails",
               "From -> to\nprice change, result")  # fmt: skip
    title = "Decisions, by day and time (in brackets: not done)"
    return table(title, columns, rows, lines=True)


def _outcome(story: decision_view.DecisionStory) -> str:
    price, result = decision_view.price(story.decision), brief.result(story)
    return result if price == "-" else f"{price}, {result}"


def page(what: DemoResult) -> Report:
    """The report of the whole demo."""
    starved = sum(story.starved_minutes for story in what.stories)
    return Report(
        title=f"{len(what.stories)} stories, one deployment",
        lead=(
            "Headroom was deployed with the CDK to a local AWS endpoint and left alone for "
            f"{what.minutes / 60:.3g} simulated hours. This page displays what the deployed functions observed, "
            "considered, did and recorded."
        ),
        facts=(
            ("from", utc(START)),
            ("detection", "sweep only" if what.sweep_only else "alarms and sweep"),
            ("decisions on record", str(sum(len(s.decisions) for s in what.stories))),
            ("changes made", str(sum(s.changes for s in what.stories))),
            ("starved minutes", f"{starved:,}"),
            ("price of all", f"{money(sum((s.price_change for s in what.stories), 0), signed=True)} a month"),
            ("seed", str(what.seed)),
            ("digest of the records", what.digest[:16]),
        ),
        sections=tuple(story.section for story in what.stories),
        notes=NOTES,
    )  # fmt: skip


def as_object(what: DemoResult, folder: Path) -> dict[str, object]:
    """The demo as one JSON object."""
    return {
        "seed": what.seed,
        "sweep_only": what.sweep_only,
        "records": what.records,
        "digest": what.digest,
        "report": str(folder / "report.html"),
        "iam": {"evaluated": what.access.evaluated, "problems": list(what.access.problems)},
        "records_file": str(folder / "records.jsonl"),
        "stories": [story.to_json() for story in what.stories],
    }
