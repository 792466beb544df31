"""Records as rows: a table for people, CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from io import StringIO
from typing import TYPE_CHECKING

from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import money, table, utc
from headroom.cli.terminal.printable import printable
from headroom.domain.state import EventRecord, Record, RecordSummary

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = (
    "at", "step", "outcome", "reason", "resource", "price_change_usd", "decision_id", "sequence", "summary",
)  # fmt: skip
"""Of a record in an export: all that the indexes have."""
FORMULA = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""First characters that make a spreadsheet run a cell. Source: OWASP, "CSV Injection" (2026-10)."""

Formatter = Callable[[RecordSummary], str]


def listing(title: str, found: Iterable[RecordSummary]) -> Table:
    """A table for people."""
    rows = [
        (utc(r.at), short(r.resource)[:40], r.outcome, _price(r), r.decision_id, r.summary)
        for r in found
    ]
    return table(title, ("When", "Resource", "Outcome", "A month", "Decision", "What"), rows)


def event_listing(title: str, found: Iterable[EventRecord]) -> Table:
    """A table of events for people."""
    rows = [
        (
            utc(r.event.claimed_at), ", ".join(short(arn)[:40] for arn in r.resources),
            r.event.claim.value, r.outcome.led_to.value, r.outcome.which, r.outcome.detail,
            r.event.event_id,
        )
        for r in found
    ]  # fmt: skip
    return table(title, ("When", "Resource", "Claims", "Led to", "Which", "What", "Event"), rows)


def event_row(record: EventRecord) -> dict[str, object]:
    """The record of an event for programs."""
    event, outcome = record.event, record.outcome
    return {
        "at": event.claimed_at.isoformat().replace("+00:00", "Z"), "event_id": event.event_id,
        "claim": event.claim.value, "resources": list(record.resources),
        "led_to": outcome.led_to.value, "which": outcome.which, "detail": outcome.detail,
        "final": outcome.final,
        "recorded_at": record.recorded_at.isoformat().replace("+00:00", "Z"),
    }  # fmt: skip


def text_line(record: RecordSummary) -> str:
    """One line for people."""
    parts = (utc(record.at), short(record.resource)[:40], record.outcome, _price(record),
             record.decision_id, record.summary)  # fmt: skip
    return "  ".join(" ".join(printable(part).split()) for part in parts) + "\n"


def csv_header() -> str:
    """The names of the columns, as a line."""
    return _csv_line(COLUMNS)


def csv_line(record: RecordSummary) -> str:
    """One record as a line of CSV in which no cell is a formula."""
    return _csv_line(
        [_cell(value) if isinstance(value, str) else value for value in as_row(record).values()]
    )


def json_line(record: RecordSummary) -> str:
    """One record as a line of JSON."""
    return json.dumps(as_row(record), ensure_ascii=False, separators=(",", ":")) + "\n"


def as_row(record: RecordSummary) -> dict[str, str | int | float | None]:
    """The columns of a record; no price is None."""
    price = record.price_change_usd
    values = (
        record.at.isoformat().replace("+00:00", "Z"), record.step.value, record.outcome, record.reason,
        record.resource, None if price is None else float(price), record.decision_id,
        record.sequence, record.summary,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def with_body(record: Record) -> dict[str, object]:
    """A whole record: its columns, its body opened up, and its hashes."""
    return as_row(record.listed) | {
        "format": record.format, "body": json.loads(record.body),
        "previous_hash": record.previous_hash, "hash": record.hash,
    }  # fmt: skip


def _price(record: RecordSummary) -> str:
    price = record.price_change_usd
    return "" if price is None else money(price, signed=True)


def _cell(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet would run it."""
    return f"'{text}" if text[:1] in FORMULA else text


def _csv_line(cells: Iterable[object]) -> str:
    line = StringIO()
    csv.writer(line, lineterminator="\n").writerow(["" if c is None else c for c in cells])
    return line.getvalue()
