"""`headroom demo`: a real deployment to a local AWS, nine volumes, and what became of them."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from headroom.cli import play, report, showing, stage
from headroom.cli.display import Display
from headroom.cli.ended_volumes import of_volume
from headroom.cli.output import emit, err, out
from headroom.cli.problems import FAILED, OK, BadRequest
from headroom.cli.showing import Outcome
from headroom.cli.stories import END_MINUTE
from headroom.localaws import daemon

OUT = Path("build/demo")
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
    """Deploy Headroom to a local AWS, play nine stories on it, and tell how they ended.

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
        display.phase("Creating nine volumes and their loads")
        cast = play.set_up(where)
        play.raise_curtain(where, cast, tables["TopicArn"])
        display.phase("Playing", minutes=END_MINUTE)
        book = play.ledger(where, tables)
        play.play(where, cast, lambda minute: display.minute(minute, play.counted(book, minute)))
        display.phase("Reading the record")
        chains = play.chains(book)
        stories = [of_volume(played) for played in play.ended(where, cast, chains)]
    (into / "records.jsonl").write_text("".join(play.lines(chains)), encoding="utf-8")
    return showing.outcome(stories, chains, sweep_only=sweep_only, seed=seed)


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
