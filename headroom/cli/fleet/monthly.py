"""The report of a month for people, spreadsheets and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from rich.console import Console

from headroom.cli.fleet.page import NO_PLOTS
from headroom.cli.fleet.tables import csv_of
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import counted, money, say, table, utc
from headroom.cli.views.cost import CostView, amount
from headroom.cli.views.cost import as_object as cost_object
from headroom.cli.views.report import rendered
from headroom.domain.reports import HOURS_PER_MONTH, Month, ResourceMonth
from headroom.domain.state import Step
from headroom.running_cost import Range

Json = dict[str, Any]
MOST_LISTED = 15
MOST_ROWS = 2_000
DOUBTFUL = (
    Step.INEFFECTIVE, Step.UNTESTED, Step.DIVERGED, Step.FAILED, Step.REFUSED, Step.NOT_APPLIED,
)  # fmt: skip
"""Results of a change that did not prove relief."""
CSV_COLUMNS = (
    "resource", "arn", "decisions", "found", "ended", "passed", "foreseen", "starved_since",
    "episode_minutes", "relieved_minutes_per_day", "changes",
    "usd_up_per_month", "usd_down_per_month", "usd_added", "usd_saved", "blocked_by", "target",
    *(step.value for step in DOUBTFUL), "escalation",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthView:
    """A month, where it is, and what is known beside the records."""

    place: str
    month: Month
    running: CostView | None
    """A whole month of Headroom; None where the fleet cannot be counted."""
    increase_usd: Decimal | None
    """All increases in force now, of this month and before; None where it cannot be read."""

    @property
    def resources(self) -> list[ResourceMonth]:
        """Worst first: still starved, then the most episodes, then the most dollars."""
        return sorted(
            self.month.resources.values(),
            key=lambda r: (
                r.starved_since is None, -r.found, -(r.up_usd - r.down_usd), r.resource,
            ),
        )  # fmt: skip

    @property
    def running_usd(self) -> Range | None:
        """What running Headroom cost in the part of the month that has passed."""
        if self.running is None:
            return None
        hours = Decimal(str((self.month.until - self.month.since) / timedelta(hours=1)))
        low, high = self.running.cost.usd
        return low * hours / HOURS_PER_MONTH, high * hours / HOURS_PER_MONTH

    @property
    def totals(self) -> Json:
        """All of it in figures."""
        rows, until = list(self.month.resources.values()), self.month.until
        added = sum((r.added_usd(until) for r in rows), Decimal(0))
        saved = sum((r.saved_usd(until) for r in rows), Decimal(0))
        fixed = sum((r.fixed_usd(until) for r in rows), Decimal(0))
        running = self.running_usd
        return {
            "records": self.month.records,
            "resources": len(rows),
            "decisions": sum(r.decisions for r in rows),
            "changes": sum(len(r.landed) for r in rows),
            "starvation": {
                "found": sum(r.found for r in rows),
                "ended": sum(r.ended for r in rows),
                "passed": sum(r.passed for r in rows),
                "remaining": sum(r.starved_since is not None for r in rows),
                "prevented": sum(r.foreseen for r in rows),
                "minutes": round(sum(r.episode_minutes(until) for r in rows)),
            },
            "storage_usd": {"added": _cents(added), "saved": _cents(saved)},
            "storage_usd_per_month": {
                "up": _cents(sum((r.up_usd for r in rows), Decimal(0))),
                "down": _cents(sum((r.down_usd for r in rows), Decimal(0))),
                "in_force_now": None if self.increase_usd is None else _cents(self.increase_usd),
            },
            "running_usd": None
            if running is None
            else {"from": _cents(running[0]), "to": _cents(running[1])},
            "net_usd": None
            if running is None
            else {
                "from": _cents(added - saved + running[0]),
                "to": _cents(added - saved + running[1]),
            },
            "without_headroom": {
                "storage_usd": _cents(saved - added),
                "relieved_minutes_per_day": round(sum(r.relieved_minutes for r in rows)),
            },
            "fixed_configuration": {"storage_usd": _cents(fixed - (added - saved))},
            "blocked_by": dict(self.month.blocked_by.most_common()),
            "results": {
                step.value: count for step in Step if (count := sum(r.results[step] for r in rows))
            },
            "open_escalations": sum(r.escalation is not None for r in rows),
        }

    def notes(self) -> list[str]:
        """What is measured, what is calculated and what is estimated."""
        notes = [
            "Measured: every count and every time. They are the record's; a change counts as relief "
            "only after CloudWatch showed no pressure. An episode runs from the first decision that saw "
            "starvation to the record that ends it; it is no count of starved minutes.",
            "Calculated: dollars of storage. They are list prices of changes that landed within "
            "these dates, for the hours that they were in force: a raise that was given back or undone "
            "counts no longer, and its end saves nothing. Discounts of your contract and changes of "
            "earlier months are not in them.",
            "Estimated: what running Headroom costs (rates of `headroom cost` with default settings, "
            "as if it had run all these dates on the storage there is now), and the minutes a day that "
            "would starve without the changes (each decision's own forecast of the day after it).",
            "Blocked by: of each resource the newest decision that is still held; a resource may be "
            "blocked by several guardrails.",
        ]
        if self.running is None:
            notes.append("What running Headroom cost is unknown: the fleet could not be counted.")
        return notes


def as_object(view: MonthView) -> Json:
    """One JSON object."""
    return {
        "place": view.place, "from": view.month.since, "to": view.month.until,
        "totals": view.totals, "resources": [_resource(view, r) for r in view.resources],
        "running_cost": None if view.running is None else cost_object(view.running),
        "notes": view.notes(),
    }  # fmt: skip


def as_csv(view: MonthView) -> str:
    """A line per resource."""
    rows = (_resource(view, r) for r in view.resources)
    flat = (r | r["results"] | {"blocked_by": " ".join(r["blocked_by"])} for r in rows)
    return csv_of(CSV_COLUMNS, ([each.get(name, 0) for name in CSV_COLUMNS] for each in flat))


def _resource(view: MonthView, found: ResourceMonth) -> Json:
    until, since = view.month.until, found.starved_since
    return {
        "resource": short(found.resource), "arn": found.resource, "decisions": found.decisions,
        "found": found.found, "ended": found.ended, "passed": found.passed,
        "foreseen": found.foreseen, "starved_since": None if since is None else since.isoformat(),
        "episode_minutes": round(found.episode_minutes(until)),
        "relieved_minutes_per_day": round(found.relieved_minutes),
        "changes": len(found.landed), "usd_up_per_month": _cents(found.up_usd),
        "usd_down_per_month": _cents(found.down_usd), "usd_added": _cents(found.added_usd(until)),
        "usd_saved": _cents(found.saved_usd(until)), "blocked_by": list(found.blocked_by),
        "target": found.target,
        "results": {step.value: found.results[step] for step in Step if found.results[step]},
        "escalation": "" if found.escalation is None else found.escalation.summary,
    }  # fmt: skip


def summary(view: MonthView) -> list[str]:
    """What it comes to, a line each."""
    total, month = view.totals, view.month
    starved, storage = total["starvation"], total["storage_usd"]
    rates, without = total["storage_usd_per_month"], total["without_headroom"]
    lines = [
        f"{view.place}, {utc(month.since)} to {utc(month.until)}: "
        f"{counted(total['decisions'], 'decision')} about {counted(total['resources'], 'resource')}, "
        f"{counted(total['changes'], 'change')} landed.",
        f"Starvation: {counted(starved['found'], 'episode')} found, {starved['ended']:,} ended by a change that "
        f"was verified, {starved['passed']:,} passed, {starved['remaining']:,} "
        f"{'remains' if starved['remaining'] == 1 else 'remain'}; {starved['prevented']:,} more "
        f"{'was' if starved['prevented'] == 1 else 'were'} prevented.",
        f"Storage: changes cost {money(storage['added'])} and saved {money(storage['saved'])} in these dates; "
        f"{money(rates['up'], signed=True)} and {money(rates['down'])} a month are in force.",
    ]
    if view.increase_usd is not None:
        lines.append(
            f"All increases in force now, earlier ones included: {money(view.increase_usd)} a month "
            "(`headroom budget` lists them)."
        )
    running, net = view.running_usd, total["net_usd"]
    if running is not None and net is not None:
        lines.append(
            f"Running Headroom: {amount(running)} (estimated). Together: "
            f"{amount((Decimal(str(net['from'])), Decimal(str(net['to']))))}."
        )
    lines.append(
        f"Without Headroom: {_difference(without['storage_usd'])}, and "
        f"{counted(without['relieved_minutes_per_day'], 'minute')} a day more would starve (estimated)."
    )
    lines.append(
        "With every resource fixed at its most expensive configuration of these dates: "
        f"{_difference(total['fixed_configuration']['storage_usd'])}."
    )
    if total["blocked_by"]:
        by = ", ".join(f"{name} {count:,}" for name, count in total["blocked_by"].items())
        lines.append(f"Blocked: {by}.")
    doubtful = [f"{s.value} {total['results'][s]:,}" for s in DOUBTFUL if s in total["results"]]
    if doubtful:
        lines.append(f"Changes without proven relief: {', '.join(doubtful)}.")
    if total["open_escalations"]:
        lines.append(f"Open escalations: {total['open_escalations']:,}.")
    return lines


def _difference(usd: float) -> str:
    if not usd:
        return "storage would have cost the same"
    return f"storage would have cost {money(abs(usd))} {'more' if usd > 0 else 'less'}"


Row = tuple[str, tuple[str, ...], tuple[object, ...]]
"""Look, cells and what they are sorted by."""
Part = tuple[str, tuple[str, ...], list[Row]]
"""Title, columns and rows."""


def parts(view: MonthView) -> list[Part]:
    """The tables of the report; empty ones too."""
    until, rows = view.month.until, view.resources
    remaining = [r for r in rows if r.starved_since is not None]
    doubtful = [r for r in rows if any(r.results[step] for step in DOUBTFUL)]
    return [
        ("Starvation that remains", ("Resource", "Open for", "Blocked by", "Since"),
         [_remaining(r, until) for r in remaining]),
        ("Open escalations", ("Resource", "Since", "What only you can change"),
         [_escalation(r) for r in rows if r.escalation is not None]),
        ("Changes without proven relief", ("Resource", "Now", "Result"),
         [_doubtful(r) for r in doubtful]),
        ("Blocked by", ("Guardrail", "Resources"),
         [("hold", (name, f"{count:,}"), (name, count))
          for name, count in view.month.blocked_by.most_common()]),
        ("Every resource",
         ("Resource", "Episodes found, ended, passed", "A month", "Cost", "Saved", "Changes",
          "Minutes of episodes", "Now"),
         [_every(r, until) for r in rows]),
    ]  # fmt: skip


def _remaining(found: ResourceMonth, until: datetime) -> Row:
    since, minutes = found.starved_since or until, found.episode_minutes(until)
    escalated = "nothing; the owner was notified" if found.escalation else ""
    by = ", ".join(found.blocked_by) or escalated or "nothing; a change may be under way"
    return (
        "failed", (short(found.resource), counted(round(minutes), "minute"), by, utc(since)),
        (short(found.resource), minutes, by, since.isoformat()),
    )  # fmt: skip


def _escalation(found: ResourceMonth) -> Row:
    record = found.escalation
    cells = () if record is None else (short(found.resource), utc(record.at), record.summary)
    return "hold", cells, cells


def _doubtful(found: ResourceMonth) -> Row:
    result = ", ".join(f"{s.value} {found.results[s]}" for s in DOUBTFUL if found.results[s])
    cells = (short(found.resource), found.target or "as it was", result)
    return "hold", cells, cells


def _every(found: ResourceMonth, until: datetime) -> Row:
    net, minutes = found.up_usd + found.down_usd, round(found.episode_minutes(until))
    added, saved = found.added_usd(until), found.saved_usd(until)
    tone = "raise" if net > 0 else "lower" if net < 0 else "none"
    return (
        tone,
        (short(found.resource), f"{found.found}, {found.ended}, {found.passed}",
         money(net, signed=True), money(added), money(saved), f"{len(found.landed)}",
         f"{minutes:,}", found.target or "as it was"),
        (short(found.resource), found.found, net, added, saved, len(found.landed), minutes,
         found.target),
    )  # fmt: skip


def show(view: MonthView, console: Console) -> None:
    """For people."""
    for line in summary(view):
        say(line, console)
    for title, columns, rows in parts(view):
        if rows:
            console.print(table(title, columns, [cells for _, cells, _ in rows[:MOST_LISTED]]))
        if len(rows) > MOST_LISTED:
            more = len(rows) - MOST_LISTED
            say(f"And {more:,} more: --html, --csv and --json have them.", console)
    for note in view.notes():
        say(f"Note: {note}", console)


def render(view: MonthView) -> str:
    """The page as HTML text."""
    total, running, net = view.totals, view.running_usd, view.totals["net_usd"]
    starved, storage = total["starvation"], total["storage_usd"]
    facts = [
        ("starvation found", counted(starved["found"], "episode")),
        ("ended by a verified change", f"{starved['ended']:,}"),
        ("prevented", f"{starved['prevented']:,}"),
        ("remains", counted(starved["remaining"], "resource")),
        ("storage cost more by", money(storage["added"])),
        ("storage cost less by", money(storage["saved"])),
        ("running Headroom (estimated)", "unknown" if running is None else amount(running)),
    ]
    if net is not None:
        both = (Decimal(str(net["from"])), Decimal(str(net["to"])))
        facts.append(("together", amount(both)))
    sections: list[Json] = [
        {"title": title, "columns": columns, "rows": _html_rows(rows)}
        for title, columns, rows in parts(view)
    ]
    if view.running is not None:
        items = [item for item in view.running.cost.items if item.usd[1]]
        cells: list[Row] = [
            ("none", (item.name, "; ".join(part.what for part in item.parts), amount(item.usd)),
             (item.name, "", item.usd[1]))
            for item in items
        ]  # fmt: skip
        columns = ("Item", "What", "USD for a whole month")
        sections.append({"title": "Running Headroom (estimated)", "columns": columns,
                         "rows": _html_rows(cells)})  # fmt: skip
    notes = view.notes()
    if len(view.month.resources) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS:,} resources are listed; --csv has all.")
    return rendered(
        "fleet", NO_PLOTS, None, styles=("fleet.css",),
        title=f"Headroom in {view.month.since:%B %Y}",
        lead=" ".join(summary(view)), facts=facts, sections=sections, notes=notes,
    )  # fmt: skip


def _html_rows(rows: Sequence[Row]) -> list[Json]:
    return [
        {"kind": tone, "cells": list(cells), "sort": [str(key) for key in keys]}
        for tone, cells, keys in rows[:MOST_ROWS]
    ]


def _cents(amount: Decimal) -> float:
    return round(float(amount), 2) + 0.0
