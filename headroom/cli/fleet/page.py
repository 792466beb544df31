"""The plan of a fleet as one self-contained page."""

from __future__ import annotations

from pathlib import Path

from headroom.cli.fleet import opinions, tables
from headroom.cli.fleet.planning import FleetPlan
from headroom.cli.fleet.rows import CHANGES, Change, Json, PlanRow
from headroom.cli.terminal.files import save
from headroom.cli.terminal.output import money, number, utc
from headroom.cli.views.report import rendered

MOST_ROWS = 2_000
"""More would make a page that no browser opens quickly."""
COLUMNS = (*tables.COLUMNS[:-1], "Mode", tables.COLUMNS[-1])
NO_PLOTS = ("", "")


def write_plan(plan: FleetPlan, path: Path) -> None:
    """Write the page; raises BadRequest when the file cannot be written."""
    save(render_plan(plan), path)


def render_plan(plan: FleetPlan) -> str:
    """The HTML text."""
    total = plan.totals
    listed = [row for row in plan.rows if row.change in (*CHANGES, Change.HOLD, Change.FAILED)]
    quiet = len(plan.rows) - len(listed)
    notes = [
        *opinions.summary(plan),
        *plan.notes(),
        f"{quiet:,} resources need no change and are not listed.",
    ]
    if len(listed) > MOST_ROWS:
        notes.append(f"The first {MOST_ROWS:,} of {len(listed):,} are listed; --csv has all.")
    facts = (
        ("changes due", f"{total['due']:,}"),
        ("dollars up", f"{money(total['usd_up'], signed=True)} a month"),
        ("dollars down", f"{money(total['usd_down'])} a month"),
        ("starvation ended", f"{number(total['starved_minutes_per_day'])} minutes a day"),
        ("held", f"{total['held']:,}"),
        ("resources", f"{total['resources']:,}, {total['enrolled']:,} enrolled"),
        ("storage", f"{money(total['usd_per_month'])} a month"),
    )
    return rendered(
        "fleet", NO_PLOTS, None, styles=("fleet.css",),
        title=f"Plan for {', '.join(plan.places)}, {utc(plan.at)}",
        lead=tables.summary(plan)[1], facts=facts,
        sections=[{"title": "What would change, and what is held", "columns": COLUMNS,
                   "rows": [_row(row) for row in listed[:MOST_ROWS]]},
                  *opinions.section(plan, MOST_ROWS)],
        notes=notes,
    )  # fmt: skip


def _row(row: PlanRow) -> Json:
    kind = row.change.value if row.due or row.change in (Change.HOLD, Change.FAILED) else "none"
    return {
        "kind": kind,
        "cells": [
            row.resource + (f" ({row.name})" if row.name else ""),
            row.configuration,
            tables.change_in_words(row) + (f": {row.target}" if row.target else ""),
            money(row.usd_change, signed=True) if row.target else "-",
            number(row.starved_minutes_per_day) if row.starved_minutes_per_day else "-",
            row.mode,
            row.why,
        ],
        "sort": [row.resource, row.configuration, row.change.value, row.usd_change,
                 row.starved_minutes_per_day, row.mode, row.why],
    }  # fmt: skip
