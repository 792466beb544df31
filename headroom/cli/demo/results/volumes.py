"""The stories of volumes and databases at their end: how they ended, their plots and marks."""

from __future__ import annotations

from typing import Literal

from headroom.cli.demo.expectations import databases as endings_databases
from headroom.cli.demo.expectations.volumes import ending
from headroom.cli.demo.results.section import Ended
from headroom.cli.demo.script.outcome import Ending, Played
from headroom.cli.terminal.output import money
from headroom.cli.views import decision as telling
from headroom.cli.views.report import Section
from headroom.cli.views.timeline import Mark, timeline

Kind = Literal["volume", "database"]


def of_volume(played: Played) -> Ended:
    """A volume's story, judged."""
    return _judged(played, ending(played), "volume")


def of_database(played: Played) -> Ended:
    """A database's story, judged."""
    return _judged(played, endings_databases.ending(played), "database")


def _judged(played: Played, end: Ending, kind: Kind) -> Ended:
    return Ended(
        key=played.story.key,
        title=played.story.title,
        kind=kind,
        resource=played.resource_id,
        told=played.told,
        changes=len(played.applied),
        ending=end,
        section=_section(played, end, kind),
        price_change=played.price_change,
        starved_minutes=len(played.starved),
    )


def _section(played: Played, end: Ending, kind: Kind) -> Section:
    others = (
        Mark(at=at, kind="other", label="Somebody else", lines=(f"They changed the {kind}.",))
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
            (kind, played.resource_id),
            ("at first", str(played.story.volume)),
            ("at last", str(played.final)),
            ("instance" if kind == "volume" else "class", played.story.instance_type),
            ("starved minutes", f"{len(played.starved):,}"),
            ("price", f"{money(first.usd_per_month)} to {money(last.usd_per_month)} a month"),
            ("messages to people", str(played.messages)),
        ),
        timeline=timeline(played.minutes),
        marks=tuple(sorted((m for m in (*others, *own) if m.at >= start), key=lambda m: m.at)),
        decisions=tuple(telling.row(told) for told in played.told),
    )  # fmt: skip
