"""The stories of volumes at their end: how they ended, their plots and marks."""

from __future__ import annotations

from headroom.cli import telling
from headroom.cli.ended import Ended
from headroom.cli.endings import ending
from headroom.cli.output import money
from headroom.cli.played import Ending, Played
from headroom.cli.report import Section
from headroom.cli.timeline import Mark, timeline


def of_volume(played: Played) -> Ended:
    """A volume's story, judged."""
    end = ending(played)
    return Ended(
        key=played.story.key,
        title=played.story.title,
        kind="volume",
        resource=played.volume_id,
        told=played.told,
        changes=len(played.applied),
        ending=end,
        section=_section(played, end),
        price_change=played.price_change,
        starved_minutes=len(played.starved),
    )


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
