"""The plan of a fleet for people: the totals on top, then what changes and what is held, biggest first."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from rich.console import Console

from headroom.cli.fleet import opinions
from headroom.cli.fleet.planning import FleetPlan
from headroom.cli.fleet.rows import CHANGES, Change, Depth, PlanRow
from headroom.cli.terminal.output import counted, money, number, say, table, utc

MOST_ROWS = 40
COLUMNS = ("Resource", "It is", "Would become", "A month", "Starved a day", "Why")
CSV_COLUMNS = (
    "resource", "arn", "kind", "name", "account_id", "region", "configuration", "usd_per_month",
    "mode", "enrolled", "depth", "change", "due", "target", "usd_change", "starved_minutes_per_day",
    "exceeded_minutes", "blocked_by", "why",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
SPOKEN = {
    Change.RAISE: "raise", Change.LOWER: "lower", Change.MOVE: "move", Change.HOLD: "held",
    Change.NONE: "no change", Change.FAILED: "not read",
}  # fmt: skip


def show(plan: FleetPlan, console: Console) -> None:
    """For people."""
    for line in summary(plan):
        say(line, console)
    listed = [row for row in plan.rows if row.change in (*CHANGES, Change.HOLD, Change.FAILED)]
    if listed:
        rows = [_cells(row) for row in listed[:MOST_ROWS]]
        console.print(table("Biggest first", COLUMNS, rows))
    if len(listed) > MOST_ROWS:
        say(
            f"And {len(listed) - MOST_ROWS:,} more: --json, --csv and --html have them all.",
            console,
        )
    differing = [opinions.cells(*each) for each in opinions.differing(plan)]
    if differing:
        console.print(table(opinions.TITLE, opinions.COLUMNS, differing[:MOST_ROWS]))
    for note in plan.notes():
        say(f"Note: {note}", console)


def summary(plan: FleetPlan) -> list[str]:
    """The totals, a line each."""
    total = plan.totals
    change = total["by_change"]
    lines = [
        f"{', '.join(plan.places)} at {utc(plan.at)}: {counted(total['resources'], 'resource')}, "
        f"{money(total['usd_per_month'])} a month, {total['enrolled']:,} enrolled. "
        f"Under {'; '.join(plan.policies)}.",
        f"{total['due']:,} changes are due{' (as if all were enrolled)' if plan.as_if_auto else ''}: "
        f"{change['raise']:,} raised, {change['lower']:,} lowered, {change['move']:,} moved; "
        f"{money(total['usd_up'], signed=True)} and {money(total['usd_down'])} a month; "
        f"{number(total['starved_minutes_per_day'])} starved minutes a day ended.",
    ]
    if total["held"]:
        held = ", ".join(f"{name} {count:,}" for name, count in total["held_by"].items())
        lines.append(f"{total['held']:,} are held" + (f", by {held}." if held else "."))
    if total["possible"]:
        lines.append(
            f"{total['possible']:,} more could change, and the engine did not decide about them "
            f"(at most {money(total['usd_possible'])} a month)."
        )
    if total["failed"]:
        lines.append(f"{total['failed']:,} could not be read.")
    return [*lines, *opinions.summary(plan)]


def as_csv(plan: FleetPlan) -> str:
    """A line per resource; text that a spreadsheet would take for a formula begins with an apostrophe."""
    asked = plan.recommended is not None
    more = [opinions.PREFIX + name for name in opinions.CSV_COLUMNS] if asked else []
    return csv_of((*CSV_COLUMNS, *more), (_values(row, asked=asked) for row in plan.rows))


def _values(row: PlanRow, *, asked: bool) -> list[object]:
    fields = row.to_json() | {"blocked_by": " ".join(row.blocked_by)}
    return [*(fields[n] for n in CSV_COLUMNS), *(opinions.csv_cells(row.opinion) if asked else ())]


def csv_of(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Any table as CSV, its text as harmless."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_harmless(value) for value in row] for row in rows)
    return text.getvalue()


def _harmless(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value


def change_in_words(row: PlanRow) -> str:
    """What happens to it, and how sure that is."""
    if row.possible:
        return f"could {SPOKEN[row.change]}"
    if row.change is Change.HOLD and row.blocked_by:
        return f"held by {', '.join(row.blocked_by)}"
    approval = ", after approval" if row.due and row.blocked_by else ""
    return SPOKEN[row.change] + approval


def _cells(row: PlanRow) -> tuple[str, ...]:
    name = f"\n{row.name}" if row.name else ""
    return (
        row.resource + name,
        row.configuration,
        change_in_words(row) + (f"\n{row.target}" if row.target else ""),
        money(row.usd_change, signed=True) if row.target else "-",
        number(row.starved_minutes_per_day) if row.starved_minutes_per_day else "-",
        row.why if row.depth is Depth.ENGINE else f"{row.why} ({row.depth.value} read)",
    )
