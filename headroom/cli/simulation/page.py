"""A simulation as a report of one section, and a simulated minute as the plots want it."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal

from headroom.cli.terminal.output import money, utc
from headroom.cli.views import decision as decision_view
from headroom.cli.views.report import Report, Section
from headroom.cli.views.timeline import Mark, Minute, loaded_minute, timeline
from headroom.domain.state import Record, Step
from headroom.proving.physics import MinuteFacts
from headroom.proving.scenarios import Scenario
from headroom.proving.simulation import Result

NOTES = (
    "Simulated: limits, credits, queues and AWS's modification rules follow the documentation of "
    "EBS; the decisions are those of the engine that is deployed.",
)


def page(scenario: Scenario, result: Result) -> Report:
    """The report of one simulation."""
    minutes = tuple(minute_of(each.facts, each.usd_per_month) for each in result.minutes)
    stories = tuple(decision_view.decision_story(chain) for chain in _chains(result))
    others = (
        Mark(at=at, kind="other", label="Another program", lines=("It changed the volume.",))
        for at in result.external_changes
    )
    own = (mark for story in stories for mark in decision_view.marks(story))
    changes = "; ".join(f"{c.origin} -> {c.target} at {utc(c.at)}" for c in result.changes)
    ending = f"{result.starved_minutes:,} minutes starved. {changes or 'Nothing was changed'}."
    line = timeline(minutes)
    section = Section(
        key="resource",
        title=scenario.name,
        ending=ending,
        ok=None,
        facts=(
            ("at first", str(scenario.resource.configuration)),
            ("controller", result.controller),
            ("price", f"{money(minutes[0].usd_per_month)} to {money(result.usd_per_month_end)} "
                      "a month"),
            ("paid", money(result.storage_usd)),
            ("AWS refused", f"{len(result.refusals)} times"),
            *_free(result),
        ),
        timeline=line,
        marks=tuple(sorted((*others, *own), key=lambda mark: mark.at)),
        decisions=tuple(decision_view.row(story) for story in stories),
    )  # fmt: skip
    thinned = (f"Each point is {line.step_minutes} minutes.",) if line.step_minutes > 1 else ()
    return Report(
        title=scenario.name,
        lead=f"One volume under one load for {len(minutes):,} simulated minutes.",
        facts=(("from", utc(scenario.start)), ("Region", scenario.aws.region)),
        sections=(section,),
        notes=(*NOTES, *thinned, *result.notes),
    )


def _free(result: Result) -> tuple[tuple[str, str], ...]:
    """What became of a database's free space; nothing where nothing was said of it."""
    space = result.space
    if space is None:
        return ()
    full = f"; full for {space.full_minutes:,} minutes" if space.full_minutes else ""
    return (("free storage", f"{space.lowest_gib:.1f} GiB at least{full}"),)


def _chains(result: Result) -> list[list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in result.records:
        found[record.decision_id].append(record)
    return [chain for chain in found.values() if chain[0].step is Step.DECIDED]


def minute_of(facts: MinuteFacts, usd_per_month: Decimal) -> Minute:
    """A minute of the proving ground as one of a time line."""
    return loaded_minute(
        at=facts.start,
        known=not facts.unknown,
        offered_ops=facts.offered_ops,
        served_ops=facts.served_ops,
        served_bytes=facts.served_read_bytes + facts.served_write_bytes,
        ebs_iops=facts.ebs_iops,
        limits=(facts.limit_iops, facts.limit_mibps),
        credits_percent=facts.burst_balance_percent,
        queue=facts.queue_seen_avg,
        latency_ms=facts.latency_ms_avg,
        usd_per_month=float(usd_per_month),
        starved=facts.starved,
    )
