"""What the demo shows at its end: a table of decisions, nine lines, the page, one JSON object."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headroom.cli import brief, telling
from headroom.cli.endings import ending
from headroom.cli.output import money, table, utc
from headroom.cli.play import digest
from headroom.cli.played import Ending, Played
from headroom.cli.report import Report, Section
from headroom.cli.stories import END_MINUTE, START
from headroom.cli.timeline import Mark, timeline
from headroom.domain.decision import Act
from headroom.domain.records import Record

NOTES = (
    "Load: a recorded half hour of pgbench (headroom/proving/data), its phases scaled and repeated "
    "for each story; the benchmark story is a closed loop of 256 outstanding operations.",
    "Limits, credits and queues follow the physics of EBS as AWS documents it, on a clock that "
    "advances minute by minute; the decisions are those of the deployed functions, read back from "
    "the deployed DynamoDB tables.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The whole demo: every story with its ending, and the hash over all records."""

    played: tuple[Played, ...]
    endings: tuple[Ending, ...]
    records: int
    digest: str
    sweep_only: bool
    seed: int


def outcome(
    played: Sequence[Played], chains: Sequence[Sequence[Record]], *, sweep_only: bool, seed: int
) -> Outcome:
    """The stories, judged."""
    return Outcome(
        played=tuple(played),
        endings=tuple(ending(each) for each in played),
        records=sum(len(chain) for chain in chains),
        digest=digest(chains),
        sweep_only=sweep_only,
        seed=seed,
    )


def print_all(what: Outcome, folder: Path, console: Console) -> None:
    """The table of decisions, then the stories in a line each, then where the rest is."""
    console.print(_decisions(what))
    console.print()
    for number, (played, end) in enumerate(zip(what.played, what.endings, strict=True), start=1):
        sign = "[green]as told[/]" if end.ok else "[red]NOT as told[/]"
        console.print(f"{number}. {played.story.title} ({sign})", soft_wrap=True)
        console.print(f"   {end.line}", markup=False, soft_wrap=True)
        for claim in end.amiss:
            console.print(f"   It is not so that {claim}.", markup=False, style="red")
    console.print()
    console.print(f"Records: {what.records}, digest {what.digest[:16]} (seed {what.seed})")
    console.print(f"Report:  {folder / 'report.html'}", soft_wrap=True)
    headroom = "headroom" if shutil.which("headroom") else ".venv/bin/headroom"
    console.print(f"Ask the record: {headroom} audit, {headroom} explain ID", soft_wrap=True)


def _decisions(what: Outcome) -> object:
    stories = [(t, played) for played in what.played for t in played.told]
    stories.sort(key=lambda each: (each[0].decision.at, each[1].story.key))
    rows = [
        (
            f"{told.decision.at:%d %H:%M} {played.story.key}\n"
            f"{telling.kind(told.decision)} {told.decision.decision_id[:8]}",
            f"{brief.seen(told.decision)}\n{brief.considered(told.decision)}",
            brief.guardrails(told.decision),
            f"{brief.change(told.decision)}\n{_outcome(told)}",
        )
        for told, played in stories
    ]
    columns = ("When, volume\ndecision", "Seen\nconsidered, USD a month", "Guardrails",
               "From -> to\nprice change, what came of it")  # fmt: skip
    title = "Decisions, by day and time (in brackets: what was not done)"
    return table(title, columns, rows, lines=True)


def _outcome(told: telling.Told) -> str:
    price, result = telling.price(told.decision), brief.result(told)
    return result if price == "-" else f"{price}, {result}"


def page(what: Outcome) -> Report:
    """The report of the whole demo."""
    starved = sum(len(played.starved) for played in what.played)
    return Report(
        title="Nine volumes, one deployment",
        lead=(
            "Headroom was deployed with the CDK to a local AWS endpoint and left alone for "
            f"{END_MINUTE // 60} simulated hours. What follows is what the deployed functions saw, "
            "weighed, did and recorded."
        ),
        facts=(
            ("from", utc(START)),
            ("detection", "sweep only" if what.sweep_only else "alarms and sweep"),
            ("decisions on record", str(sum(len(p.told) for p in what.played))),
            ("changes made", str(sum(len(p.applied) for p in what.played))),
            ("starved minutes", f"{starved:,}"),
            ("price of all nine", f"{money(sum((p.price_change for p in what.played), 0), signed=True)} a month"),
            ("seed", str(what.seed)),
            ("digest of the records", what.digest[:16]),
        ),
        sections=tuple(
            _section(played, end) for played, end in zip(what.played, what.endings, strict=True)
        ),
        notes=NOTES,
    )  # fmt: skip


def _section(played: Played, end: Ending) -> Section:
    others = (
        Mark(at=at, kind="other", label="Another program", lines=("It changed the volume.",))
        for at in played.changed_by_others
    )
    own = (mark for told in played.told for mark in telling.marks(told))
    first, last = played.minutes[0], played.minutes[-1]
    start = first.at
    return Section(
        key=played.story.key,
        title=played.story.title,
        ending=end.line + "".join(f" It is not so that {claim}." for claim in end.amiss),
        ok=end.ok,
        facts=(
            ("volume", played.volume_id),
            ("at first", str(played.story.volume)),
            ("at last", str(played.final)),
            ("instance", played.story.instance_type),
            ("starved minutes", f"{len(played.starved):,}"),
            ("price", f"{money(first.usd_per_month)} to {money(last.usd_per_month)} a month"),
            ("messages to people", str(played.messages)),
        ),
        timeline=timeline(played.minutes),
        marks=tuple(sorted((m for m in (*others, *own) if m.at >= start), key=lambda m: m.at)),
        decisions=tuple(telling.row(told) for told in played.told),
    )  # fmt: skip


def as_object(what: Outcome, folder: Path) -> dict[str, object]:
    """The demo as one JSON object."""
    return {
        "seed": what.seed,
        "sweep_only": what.sweep_only,
        "records": what.records,
        "digest": what.digest,
        "report": str(folder / "report.html"),
        "records_file": str(folder / "records.jsonl"),
        "stories": [
            {
                "key": played.story.key,
                "title": played.story.title,
                "volume": played.volume_id,
                "as_told": end.ok,
                "ending": end.line,
                "amiss": list(end.amiss),
                "starved_minutes": len(played.starved),
                "changes": sum(1 for t in played.told if isinstance(t.decision.answer, Act)),
                "decisions": [t.decision.decision_id for t in played.told],
            }
            for played, end in zip(what.played, what.endings, strict=True)
        ],
    }
