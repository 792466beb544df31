"""An assessment for people: one page, in the terminal, as HTML and as CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console

from headroom.cli.fleet.assessed import MOST_LISTED, AssessedRow, Assessment, Json
from headroom.cli.fleet.page import NO_PLOTS
from headroom.cli.fleet.tables import csv_of
from headroom.cli.terminal.output import money, say, table, utc
from headroom.cli.views.cost import amount
from headroom.cli.views.report import rendered

CSV_COLUMNS = (
    "resource", "arn", "kind", "name", "account_id", "region", "configuration", "usd_per_month",
    "mode", "enrolled", "replayed", "failed", "starved_minutes", "starved_minutes_headroom",
    "ended_minutes", "usd_change", "changes", "target", "stays_blocked", "blocked_by", "why",
)  # fmt: skip
Column = tuple[str, Callable[[AssessedRow], str], Callable[[AssessedRow], object]]
_RESOURCE: Column = (
    "Resource", lambda row: row.resource + (f" ({row.name})" if row.name else ""),
    lambda row: row.resource,
)  # fmt: skip
_IS: Column = ("It is", lambda row: row.configuration, lambda row: row.configuration)
_BECOMES: Column = ("Would end as", lambda row: row.target or "as it is", lambda row: row.target)
_STARVED: Column = (
    "Starved minutes", lambda row: f"{row.starved_minutes:,} -> {row.starved_minutes_headroom:,}",
    lambda row: row.starved_minutes,
)  # fmt: skip
_MONEY: Column = (
    "A month", lambda row: money(row.usd_change, signed=True), lambda row: row.usd_change
)  # fmt: skip
_CHANGES: Column = ("Changes", lambda row: f"{row.changes:,}", lambda row: row.changes)
_BLOCKED: Column = (
    "Blocked by", lambda row: ", ".join(row.blocked_by), lambda row: ", ".join(row.blocked_by)
)  # fmt: skip
_WHY: Column = ("Why", lambda row: row.why, lambda row: row.why)
LISTS: tuple[tuple[str, str, Callable[[Assessment], list[AssessedRow]], tuple[Column, ...]], ...] = (
    ("Starvation found", "raise", lambda found: found.starved,
     (_RESOURCE, _IS, _STARVED, _MONEY, _CHANGES, _BECOMES)),
    ("Biggest savings", "lower", lambda found: found.savings,
     (_RESOURCE, _IS, _BECOMES, _MONEY, _CHANGES, _STARVED)),
    ("What would stay blocked", "hold", lambda found: found.blocked,
     (_RESOURCE, _IS, _BLOCKED, _MONEY, _STARVED)),
    ("Not replayed though it should be", "failed", lambda found: [r for r in found.rows if r.failed],
     (_RESOURCE, _IS, _WHY)),
)  # fmt: skip
"""Title, kind, rows and columns of each list."""


def show(found: Assessment, console: Console) -> None:
    """One page in the terminal."""
    for line in summary(found):
        say(line, console)
    for title, _, rows_of, columns in LISTS:
        rows = rows_of(found)
        if not rows:
            continue
        cells = [tuple(text(row) for _, text, _ in columns) for row in rows[:MOST_LISTED]]
        console.print(table(title, [name for name, _, _ in columns], cells))
        if len(rows) > MOST_LISTED:
            say(
                f"And {len(rows) - MOST_LISTED:,} more: --html, --csv and --json have them.",
                console,
            )
    for note in found.notes():
        say(f"Note: {note}", console)


def summary(found: Assessment) -> list[str]:
    """What it comes to, a line each."""
    total = found.totals
    running, net = total["running_usd"], total["net_usd"]
    lines = [
        f"{', '.join(found.places)}, {utc(found.since)} to {utc(found.at)}: "
        f"{total['resources']:,} resources, {money(total['usd_per_month'])} a month for storage. "
        f"Under {'; '.join(found.policies)}.",
        f"Starvation: {total['starved_resources']:,} resources starved {total['starved_minutes']:,} "
        f"minutes; Headroom would have ended {total['ended_minutes']:,} of them "
        f"(worth {money(total['relief_usd_per_month'])} a month to the policy).",
        f"Storage: {money(total['usd_up'], signed=True)} and {money(total['usd_down'])} a month, "
        f"by {total['changes']:,} changes.",
        f"Running Headroom: {amount(found.cost.cost.usd)} a month"
        + ("." if found.cost.saving is None else
           f"; `{found.cost.saving.setting}` saves {money(found.cost.saving.usd)}."),
        f"Together: {money(net['from'], signed=True)} to {money(net['to'], signed=True)} a month."
        if running["from"] != running["to"] else
        f"Together: {money(net['to'], signed=True)} a month.",
    ]  # fmt: skip
    if total["stay_blocked"]:
        by = ", ".join(f"{name} {count:,}" for name, count in total["blocked_by"].items())
        lines.append(f"{total['stay_blocked']:,} resources would stay blocked: {by}.")
    if total["failed"]:
        lines.append(f"{total['failed']:,} resources could not be read or replayed.")
    return lines


def as_csv(rows: Sequence[AssessedRow]) -> str:
    """A line per resource."""
    values = (row.to_json() | {"blocked_by": " ".join(row.blocked_by)} for row in rows)
    return csv_of(CSV_COLUMNS, ([each[name] for name in CSV_COLUMNS] for each in values))


def render(found: Assessment) -> str:
    """The HTML text."""
    total, running = found.totals, found.cost.cost
    facts = (
        (
            "starved",
            f"{total['starved_minutes']:,} minutes, {total['starved_resources']:,} resources",
        ),
        ("ended by Headroom", f"{total['ended_minutes']:,} minutes"),
        ("storage up", f"{money(total['usd_up'], signed=True)} a month"),
        ("storage down", f"{money(total['usd_down'])} a month"),
        ("running Headroom", f"{amount(running.usd)} a month"),
        ("stay blocked", f"{total['stay_blocked']:,}"),
        ("storage today", f"{money(total['usd_per_month'])} a month"),
    )
    sections: list[Json] = [
        {"title": title, "columns": [name for name, _, _ in columns],
         "rows": [_html_row(row, kind, columns) for row in rows_of(found)[:500]]}
        for title, kind, rows_of, columns in LISTS if kind != "failed" or rows_of(found)
    ]  # fmt: skip
    sections.append({
        "title": "What running Headroom costs", "columns": ("Item", "What", "USD a month"),
        "rows": [
            {"kind": "none", "cells": [item.name, "; ".join(part.what for part in item.parts),
                                       amount(item.usd)],
             "sort": [item.name, "", float(item.usd[1])]}
            for item in running.items if item.usd[1]
        ],
    })  # fmt: skip
    return rendered(
        "fleet", NO_PLOTS, None, styles=("fleet.css",),
        title=f"Assessment of {', '.join(found.places)}, {found.days} days to {utc(found.at)}",
        lead=" ".join(summary(found)[1:]), facts=facts, sections=sections, notes=found.notes(),
    )  # fmt: skip


def _html_row(row: AssessedRow, kind: str, columns: Sequence[Column]) -> Json:
    return {
        "kind": kind, "cells": [text(row) for _, text, _ in columns],
        "sort": [key(row) for _, _, key in columns],
    }  # fmt: skip
