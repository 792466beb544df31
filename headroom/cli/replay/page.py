"""A replay as a report: a section for each volume that came to something, the greatest first."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from headroom.cli.replay.tables import NOTES, ReplaySummary, remarks
from headroom.cli.terminal.output import money, utc
from headroom.cli.views import section as section_view
from headroom.cli.views.decision import decision_stories
from headroom.cli.views.report import Report, Section
from headroom.cli.views.timeline import Minute, timeline
from headroom.proving.replay import PlaybackTimeline, Replayed
from headroom.proving.workloads import Floats

MAX_SECTIONS = 30
"""More volumes than this would make a page that no browser opens quickly."""


def section(one: Replayed) -> Section | None:
    """The section of a volume; None if nothing happened or it was not drawn."""
    if one.timeline is None or not (one.left_alone.starved_minutes or one.headroom.changes):
        return None
    volume = one.view.volume
    name = volume.tag("Name")
    line = timeline(_minutes(one.timeline))
    stories = decision_stories(one.timeline.records)
    changes = "; ".join(f"{c.origin} -> {c.target} at {utc(c.at)}" for c in one.headroom.changes)
    return section_view.section(
        volume.ref.resource_id,
        volume.ref.resource_id + (f" ({name})" if name else ""),
        (
            f"At least {one.left_alone.starved_minutes:,} minutes starved as it is, "
            f"{one.headroom.starved_minutes:,} with Headroom. "
            f"{changes or 'Nothing would have been changed'}."
        ),
        (
            ("is", str(volume.configuration)),
            ("price", f"{money(one.usd_per_month)} to "
                      f"{money(one.headroom.usd_per_month_end)} a month"),
            ("paid", f"{money(one.left_alone.storage_usd)} as it is, "
                     f"{money(one.headroom.storage_usd)} with Headroom"),
            *((("known", " ".join(remarks(one))),) if any(remarks(one)) else ()),
        ),
        line, stories,
    )  # fmt: skip


def page(summary: ReplaySummary, sections: Sequence[Section]) -> Report:
    """The report of a replay; `sections` in any order."""
    order = {one.view.volume.ref.resource_id: n for n, one in enumerate(summary.replayed)}
    listed = sorted(sections, key=lambda each: order[each.key])
    notes = list(NOTES)
    left = len(summary.replayed) - len(listed)
    if left:
        notes.append(f"{left:,} more volumes were replayed; --json has them all.")
    notes += [f"{m.view.volume.ref.resource_id} was not replayed: {m.why}." for m in summary.missed]
    return Report(
        title=f"Replay of {summary.region}",
        lead=summary.total_in_words(),
        facts=(
            ("from", utc(summary.rules.since)),
            ("until", utc(summary.rules.until)),
            ("account", summary.account_id),
        ),
        sections=tuple(listed),
        notes=tuple(notes),
    )


def _minutes(timeline: PlaybackTimeline) -> list[Minute]:
    def plain(values: Floats) -> list[float | None]:
        return [None if value != value else value for value in values.tolist()]

    columns: dict[str, list[Any]] = {
        "offered_iops": plain(timeline.offered_iops), "served_iops": plain(timeline.served_iops),
        "limit_iops": timeline.limit_iops.tolist(),
        "offered_mibps": plain(timeline.offered_mibps), "served_mibps": plain(timeline.served_mibps),
        "limit_mibps": timeline.limit_mibps.tolist(),
        "credits_percent": plain(timeline.balance_percent), "queue": plain(timeline.queue),
        "usd_per_month": timeline.usd_per_month.tolist(), "starved": timeline.starved.tolist(),
    }  # fmt: skip
    return [
        Minute(
            at=timeline.start + timedelta(minutes=number),
            latency_ms=None,
            **dict(zip(columns, values, strict=True)),
        )
        for number, values in enumerate(zip(*columns.values(), strict=True))
    ]
