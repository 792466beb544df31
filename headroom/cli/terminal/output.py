"""The two streams: results on stdout (a table or one JSON value), progress on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # rich is slow to import: only where something is drawn
    from rich.console import Console
    from rich.table import Table


def out() -> Console:
    """The console of results; as wide as the terminal, 120 columns when there is none."""
    from headroom.cli.terminal.console import PlainConsole

    return PlainConsole(width=None if sys.stdout.isatty() else 120, soft_wrap=False)


def err() -> Console:
    """The console of progress and errors."""
    from headroom.cli.terminal.console import PlainConsole

    return PlainConsole(stderr=True)


def emit(value: object) -> None:
    """Print one JSON value on stdout: money as a number, an instant as ISO 8601."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=_plain) + "\n")


def _plain(value: object) -> float | str:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a {type(value).__name__} has no place in JSON")


def say(text: str, console: Console | None = None, *, style: str | None = None) -> None:
    """Print a line as it is, by default among the results; a terminal wraps it."""
    (console or out()).print(text, soft_wrap=True, style=style)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, lines: bool = False
) -> Table:
    """A table for people; `lines` parts its rows."""
    from rich.table import Table

    drawn = Table(
        title=title, title_justify="left", header_style="bold", show_edge=False, show_lines=lines
    )
    for name in columns:
        drawn.add_column(name, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def utc(instant: datetime) -> str:
    """An instant to the minute, for example `2026-01-05 03:41Z`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")


def money(amount: Decimal | float, *, signed: bool = False) -> str:
    """Dollars and cents, for example `$54.00` or `+$14.00`."""
    cents = Decimal(str(amount)).quantize(Decimal("0.01"))
    sign = "-" if cents < 0 else "+" if signed and cents > 0 else ""
    return f"{sign}${abs(cents):,}"


def number(value: float) -> str:
    """A number to three significant digits below 1,000, to the unit above."""
    if abs(value) >= 1_000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _duration(minutes: int) -> str:
    """Minutes in the largest unit that divides them: 10,080 are 7d."""
    for unit, length in (("d", 1440), ("h", 60)):
        if minutes and minutes % length == 0:
            return f"{minutes // length}{unit}"
    return f"{minutes}m"


def setting_text(value: object) -> str:
    """A policy setting for people: `7d`, `true`, `gp3, io2`, `16,000`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, str) and re.fullmatch(r"[0-9]+m", value):
        return _duration(int(value[:-1]))
    return f"{value:,}" if isinstance(value, int | float) else str(value)
