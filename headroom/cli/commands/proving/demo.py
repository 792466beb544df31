"""`headroom demo`: a real deployment to a local AWS, its stories, and their results."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from headroom.cli.demo.expectations.verdict import verdict
from headroom.cli.demo.results import summary
from headroom.cli.demo.results.access import access_of
from headroom.cli.demo.results.section import result_of
from headroom.cli.demo.results.summary import DemoResult
from headroom.cli.demo.script import deployment, script
from headroom.cli.demo.script.progress import Display
from headroom.cli.demo.stories.program import Program, selected
from headroom.cli.sources.options import JsonOption
from headroom.cli.terminal.output import emit, err, out
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.views import report
from headroom.localaws import daemon

OUT = Path("build/demo")
WHOLE = Program()
MARK = ".headroom-demo"
"""File that marks a folder that the demo may empty."""


def demo(
    sweep_only: Annotated[
        bool, typer.Option("--sweep-only", help="Deploy no alarms; the schedule finds everything.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same record.")] = 1,
    into: Annotated[Path, typer.Option("--out", help="Folder of the report and records.")] = OUT,
    story: Annotated[
        str | None, typer.Option(help="Numbers of the stories to run, such as 2,10. Default: all.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Deploy Headroom to a local AWS, run the stories, and check how each one ends.

    Each result appears as soon as it is settled, and again at the end. With --story only those
    stories run, until they are settled.

    Exit code 1 if a story does not end as expected, or IAM denied a request of a deployed function.
    """
    daemon.require_installed()
    deployment.require_clone()
    program = selected(story)
    report.uplot()  # fail before minutes of work, not after
    with _terminate_is_an_interrupt(), Display(err()) as display:
        found = perform(into, sweep_only=sweep_only, seed=seed, display=display, program=program)
    report.write(summary.page(found), into / "report.html")
    if as_json:
        emit(summary.as_object(found, into))
    else:
        summary.print_all(found, into, out())
    as_expected = all(story.verdict.ok for story in found.stories) and not found.access.problems
    return OK if as_expected else FAILED


def perform(
    into: Path, *, sweep_only: bool, seed: int, display: Display,
    program: Program = WHOLE,
) -> DemoResult:  # fmt: skip
    """Run the demo and write its records; leaves nothing running."""
    clear(into)
    display.phase("Starting a local AWS endpoint, and cdk synth")
    with (
        deployment.synthesis(into, sweep_only=sweep_only) as templates,
        deployment.local_account(into, seed=seed) as where,
    ):
        display.phase("cdk bootstrap")
        deployment.bootstrap(where)
        templates.finish()
        display.phase("cdk deploy" + (" (no alarms)" if sweep_only else ""))
        deployment.deploy(where)
        tables = deployment.outputs(where)
        display.phase("Creating volumes, databases and clusters, and their loads")
        chains, runs, minutes = script.run_stories(where, tables, program, display, verdict)
        access = access_of(where.endpoint.control("iam"), whole=program.whole and not sweep_only)
    (into / "records.jsonl").write_text("".join(script.lines(chains)), encoding="utf-8")
    return summary.demo_result(
        [result_of(run) for run in runs], chains, access=access, sweep_only=sweep_only, seed=seed,
        minutes=minutes,
    )  # fmt: skip


def clear(folder: Path) -> None:
    """Create or empty the demo's `folder`; raises BadRequest if it is not the demo's.

    Its mark stays throughout: a demo that is stopped meanwhile does not block the next.
    """
    occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if occupied and not (folder / MARK).is_file():
        raise BadRequest(
            f"{folder} is not a folder of the demo: delete it, or name a new or empty one with --out."
        )
    if daemon.status(folder / deployment.ENDPOINT) is not None:
        raise BadRequest(
            f"Another demo is running in {folder}; wait for it, or choose another --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        elif one.name != MARK:
            one.unlink()


@contextmanager
def _terminate_is_an_interrupt() -> Iterator[None]:
    """SIGTERM ends the demo cleanly, as Ctrl-C does."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
