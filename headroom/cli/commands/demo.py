"""`headroom demo`: a real deployment to a local AWS, its stories, and what became of each."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from headroom.cli.demo.expectations import (
    clusters as endings_clusters,
)
from headroom.cli.demo.expectations import (
    databases as endings_databases,
)
from headroom.cli.demo.expectations import (
    volumes as endings,
)
from headroom.cli.demo.results import summary as showing
from headroom.cli.demo.results.clusters import of_cluster
from headroom.cli.demo.results.section import Ended
from headroom.cli.demo.results.summary import Outcome
from headroom.cli.demo.results.volumes import of_database, of_volume
from headroom.cli.demo.script import (
    clusters as play_clusters,
)
from headroom.cli.demo.script import (
    databases as play_databases,
)
from headroom.cli.demo.script import (
    deployment as stage,
)
from headroom.cli.demo.script import (
    script as play,
)
from headroom.cli.demo.script.outcome import Ending
from headroom.cli.demo.script.progress import Display
from headroom.cli.demo.script.settling import Open, Settling
from headroom.cli.demo.stories.databases import DatabaseStory
from headroom.cli.demo.stories.program import NUMBERS, Programme, programme
from headroom.cli.demo.stories.volumes import END_MINUTE, Story
from headroom.cli.terminal.output import emit, err, out
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.views import report
from headroom.cli.views.decision import DecisionStory
from headroom.domain.state import Record
from headroom.localaws import daemon

OUT = Path("build/demo")
WHOLE = Programme()
Chains = tuple[tuple[Record, ...], ...]
MARK = ".headroom-demo"
"""File by which the demo knows a folder that it may empty."""


def demo(
    sweep_only: Annotated[
        bool, typer.Option("--sweep-only", help="Deploy no alarm; the schedule finds everything.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same record.")] = 1,
    into: Annotated[Path, typer.Option("--out", help="Folder of the report and records.")] = OUT,
    story: Annotated[
        str | None,
        typer.Option(help="Numbers of the stories to play, such as 2,10; all without."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Deploy Headroom to a local AWS, play its stories, and tell how they ended.

    Each ending is said as soon as it is settled, and again at the end. With --story only those
    stories are played, until they are settled.

    Exit code 1 when a story did not end as told.
    """
    stories = programme(story)
    report.uplot()  # what is missing is said before minutes of work, not after
    with _terminate_is_an_interrupt(), Display(err()) as display:
        outcome = perform(into, sweep_only=sweep_only, seed=seed, display=display, stories=stories)
    report.write(showing.page(outcome), into / "report.html")
    if as_json:
        emit(showing.as_object(outcome, into))
    else:
        showing.print_all(outcome, into, out())
    return OK if all(one.ending.ok for one in outcome.stories) else FAILED


def perform(
    into: Path, *, sweep_only: bool, seed: int, display: Display,
    stories: Programme = WHOLE,
) -> Outcome:  # fmt: skip
    """The demo up to its records; nothing it started is left running."""
    clear(into)
    display.phase("Starting a local AWS endpoint, and cdk synth")
    with (
        stage.synthesis(into, sweep_only=sweep_only) as templates,
        stage.stage(into, seed=seed) as where,
    ):
        display.phase("cdk bootstrap")
        stage.bootstrap(where)
        templates.finish()
        display.phase("cdk deploy" + (" (no alarms)" if sweep_only else ""))
        stage.deploy(where)
        tables = stage.outputs(where)
        display.phase("Creating volumes, databases and clusters, and their loads")
        chains, ended, minutes = _played(where, tables, stories, display)
    (into / "records.jsonl").write_text("".join(play.lines(chains)), encoding="utf-8")
    return showing.outcome(ended, chains, sweep_only=sweep_only, seed=seed, minutes=minutes)


def _played(
    where: stage.Stage, tables: Mapping[str, str], stories: Programme, display: Display
) -> tuple[Chains, list[Ended], int]:
    """Make what the stories are of, play them, and judge how they ended; how long was played."""
    (where.folder / "loads").mkdir(exist_ok=True)
    # The clock goes forward: what was long ago first.
    clusters = play_clusters.set_up(where, stories.clusters)
    volumes = play.set_up(where, stories.volumes)
    databases = play_databases.set_up(where, stories.databases)
    play.put_loads(where, volumes)
    play_databases.put_loads(where, databases)
    play.raise_curtain(where, tables["TopicArn"])
    play_clusters.put_loads(where, clusters)
    display.phase("Playing", minutes=END_MINUTE)
    book, said = play.ledger(where, tables), list[str]()
    settling = Settling(book, _open(where, volumes, databases, clusters, said))

    def on_minute(minute: int) -> bool:
        play_clusters.watch(where, clusters, minute)
        said.extend(play.messages(where))
        for one, ending in settling.at(minute):
            display.settled(NUMBERS[one.key], one.title, ending.line)
        display.minute(minute, settling.decisions)
        return stories.whole or bool(settling.stories)

    minutes = play.play(
        where,
        {m.resource_id: m.facts for m in volumes} | {m.resource_id: m.facts for m in databases},
        [*play.cues(volumes), *play_databases.cues(databases)],
        on_minute,
    )
    display.phase("Reading the record")
    chains = play.chains(book)
    said.extend(play.messages(where))
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
    return chains, ended, minutes


def _open(
    where: stage.Stage, volumes: play.Cast[Story], databases: play.Cast[DatabaseStory],
    clusters: play_clusters.ClusterCast, said: Sequence[str],
) -> list[Open]:  # fmt: skip
    """The stories, none of them settled, and how each is judged by what is known of it so far."""

    def of_volume_so_far(member: play.Member[Story]) -> Open:
        def judge(every: Sequence[DecisionStory]) -> Ending:
            final = play.final(where, member)
            return endings.ending(play.ended(member, final, every=every, said=said))

        return Open(
            key=member.story.key, title=member.story.title, resource=member.resource_id, judge=judge
        )

    def of_database_so_far(member: play.Member[DatabaseStory]) -> Open:
        def judge(every: Sequence[DecisionStory]) -> Ending:
            final = play_databases.final(where, member)
            return endings_databases.ending(play.ended(member, final, every=every, said=said))

        return Open(
            key=member.story.key, title=member.story.title, resource=member.resource_id, judge=judge
        )

    def of_cluster_so_far(member: play_clusters.ClusterMember) -> Open:
        def judge(every: Sequence[DecisionStory]) -> Ending:
            return endings_clusters.ending(play_clusters.so_far(member, every, said))

        return Open(
            key=member.story.key, title=member.story.title, resource=member.name, judge=judge
        )

    return [
        *map(of_volume_so_far, volumes),
        *map(of_database_so_far, databases),
        *map(of_cluster_so_far, clusters),
    ]


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
