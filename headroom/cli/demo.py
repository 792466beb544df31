"""`headroom demo`: a real deployment to a local AWS, its stories, and what became of each."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from headroom.cli import play, play_clusters, play_databases, report, showing, stage
from headroom.cli.display import Display
from headroom.cli.ended import Ended
from headroom.cli.ended_clusters import of_cluster
from headroom.cli.ended_volumes import of_database, of_volume
from headroom.cli.output import emit, err, out
from headroom.cli.problems import FAILED, OK, BadRequest
from headroom.cli.showing import Outcome
from headroom.cli.stories import END_MINUTE
from headroom.domain.records import Record
from headroom.localaws import daemon

OUT = Path("build/demo")
Chains = tuple[tuple[Record, ...], ...]
MARK = ".headroom-demo"
"""File by which the demo knows a folder that it may empty."""


def demo(
    sweep_only: Annotated[
        bool, typer.Option("--sweep-only", help="Deploy no alarm; the schedule finds everything.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same record.")] = 1,
    into: Annotated[Path, typer.Option("--out", help="Folder of the report and records.")] = OUT,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Deploy Headroom to a local AWS, play its stories, and tell how they ended.

    Exit code 1 when a story did not end as told.
    """
    report.uplot()  # what is missing is said before minutes of work, not after
    with _terminate_is_an_interrupt(), Display(err()) as display:
        outcome = perform(into, sweep_only=sweep_only, seed=seed, display=display)
    report.write(showing.page(outcome), into / "report.html")
    if as_json:
        emit(showing.as_object(outcome, into))
    else:
        showing.print_all(outcome, into, out())
    return OK if all(story.ending.ok for story in outcome.stories) else FAILED


def perform(into: Path, *, sweep_only: bool, seed: int, display: Display) -> Outcome:
    """The whole demo up to its records; nothing it started is left running."""
    clear(into)
    display.phase("Starting a local AWS endpoint")
    with stage.stage(into, seed=seed) as where:
        display.phase("cdk bootstrap")
        stage.bootstrap(where)
        display.phase("cdk deploy" + (" (no alarms)" if sweep_only else ""))
        stage.deploy(where, sweep_only=sweep_only)
        tables = stage.outputs(where)
        display.phase("Creating volumes, databases and clusters, and their loads")
        chains, stories = _played(where, tables, display)
    (into / "records.jsonl").write_text("".join(play.lines(chains)), encoding="utf-8")
    return showing.outcome(stories, chains, sweep_only=sweep_only, seed=seed)


def _played(
    where: stage.Stage, tables: Mapping[str, str], display: Display
) -> tuple[Chains, list[Ended]]:
    """Make what the stories are of, play them, and judge how they ended."""
    (where.folder / "loads").mkdir(exist_ok=True)
    clusters = play_clusters.set_up(where)  # the clock goes forward: what was long ago first
    volumes, databases = play.set_up(where), play_databases.set_up(where)
    play.put_loads(where, volumes)
    play_databases.put_loads(where, databases)
    play.raise_curtain(where, tables["TopicArn"])
    play_clusters.put_loads(where, clusters)
    display.phase("Playing", minutes=END_MINUTE)
    book = play.ledger(where, tables)

    def on_minute(minute: int) -> None:
        play_clusters.watch(where, clusters, minute)
        display.minute(minute, play.counted(book, minute))

    play.play(
        where,
        {m.resource_id: m.facts for m in volumes} | {m.resource_id: m.facts for m in databases},
        [*play.cues(volumes), *play_databases.cues(databases)],
        on_minute,
    )
    display.phase("Reading the record")
    chains, said = play.chains(book), play.messages(where)
    every = play.decided(chains)
    ended = [
        of_volume(play.ended(member, play.final(where, member), every=every, said=said))
        for member in volumes
    ]
    ended += [
        of_database(play.ended(member, play_databases.final(where, member), every=every, said=said))
        for member in databases
    ]
    ended += [of_cluster(one) for one in play_clusters.ended(where, clusters, every, said)]
    return chains, ended


def clear(folder: Path) -> None:
    """Make `folder` an empty one of the demo's own; raises BadRequest for somebody else's."""
    theirs = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if theirs and not (folder / MARK).is_file():
        raise BadRequest(f"{folder} is not a folder of the demo; --out needs a new or empty one.")
    if daemon.status(folder / stage.ENDPOINT) is not None:
        raise BadRequest(
            f"Another demo is playing in {folder}; wait for it, or give another --out."
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


@contextmanager
def _terminate_is_an_interrupt() -> Iterator[None]:
    """While it lasts, SIGTERM ends the demo as Ctrl-C does: cleanly."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
