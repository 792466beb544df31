"""A simulation as a report of one section, and a simulated minute as the plots want it."""

from __future__ import annotations

from decimal import Decimal

from headroom.cli.terminal.output import money, utc
from headroom.cli.views import section as section_view
from headroom.cli.views.decision import decision_stories
from headroom.cli.views.report import Report
from headroom.cli.views.timeline import Mark, Minute, loaded_minute, timeline
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
    stories = decision_stories(result.records)
    others = (
        Mark(at=at, kind="other", label="Another program", lines=("It changed the volume.",))
        for at in result.external_changes
    )
    changes = "; ".join(f"{c.origin} -> {c.target} at {utc(c.at)}" for c in result.changes)
    ending = f"{result.starved_minutes:,} minutes starved. {changes or 'Nothing was changed'}."
    line = timeline(minutes)
    section = section_view.section(
        "resource", scenario.name, ending,
        (
            ("at first", str(scenario.resource.configuration)),
            ("controller", result.controller),
            ("price", f"{money(minutes[0].usd_per_month)} to {money(result.usd_per_month_end)} "
                      "a month"),
            ("paid", money(result.storage_usd)),
            ("AWS refused", f"{len(result.refusals)} times"),
            *_free(result),
        ),
        line, stories, others=tuple(others),
    )  # fmt: skip
    return Report(
        title=scenario.name,
        lead=f"One volume under one load for {len(minutes):,} simulated minutes.",
        facts=(("from", utc(scenario.start)), ("Region", scenario.aws.region)),
        sections=(section,),
        notes=(*NOTES, *result.notes),
    )


def _free(result: Result) -> tuple[tuple[str, str], ...]:
    """A database's lowest free space; nothing without a forecast."""
    space = result.space
    if space is None:
        return ()
    full = f"; full for {space.full_minutes:,} minutes" if space.full_minutes else ""
    return (("free storage", f"{space.lowest_gib:.1f} GiB at least{full}"),)


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
