"""`headroom report`: what Headroom cost, saved and left undone in a month."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from headroom.cli.fleet import monthly
from headroom.cli.fleet.monthly import MonthView
from headroom.cli.sources.options import JsonOption, RecordsOptions
from headroom.cli.sources.records import Records, Source, source
from headroom.cli.terminal.files import refuse_unwritable, save
from headroom.cli.terminal.output import emit, err, out, say
from headroom.cli.terminal.problems import OK, BadRequest
from headroom.domain.decision import Decision
from headroom.domain.reports import add_decisions, add_ledger, month_of
from headroom.ports import ReadFailed
from headroom.serialization import Unreadable, decision_from_json

BATCH = 100
"""Decisions whose bodies are in memory at once, at most 64 KB each."""
_FIRST = datetime(2000, 1, 1, tzinfo=UTC)


def report(
    month: Annotated[
        str | None, typer.Option(help="The month, such as 2026-10. Default: the current one.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page to this file.")] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write a line per resource to this file.")
    ] = None,
    as_json: JsonOption = False,
    *,
    where: RecordsOptions,
) -> int:
    """Report a month: what Headroom cost and saved, and what starvation it found, ended and left.

    Reads the indexes of the records table, the bodies of changes that landed, and that of the
    newest decision of each resource that was changed or is still held. Counts the account's
    storage, for what running Headroom costs, and reads the increases in force. Changes nothing.
    """
    for path in (html, csv):
        if path is not None:
            refuse_unwritable(path)
    if month is not None:
        _span(month)
    opened = source(where)
    current = _current(opened)
    since, until = _span(month or f"{current:%Y-%m}")
    ongoing = since <= current < until
    if since > current:
        raise BadRequest(
            f"--month {month} has not begun; write the current month or an earlier one."
        )
    until = min(until, current)
    view = _read(opened, where, since, until, ongoing=ongoing)
    for path, made in ((html, monthly.render), (csv, monthly.as_csv)):
        if path is not None:
            save(made(view), path)
            say(f"Written: {path}.", err(), style="dim")
    if as_json:
        emit(monthly.as_object(view))
    elif html is None and csv is None:
        monthly.show(view, out())
    return OK


def _read(
    opened: Source, where: RecordsOptions, since: datetime, until: datetime, *, ongoing: bool
) -> MonthView:
    records = opened.records
    last = until if ongoing else until - timedelta(microseconds=1)  # the next month's are not read
    found = month_of(
        records.record_summaries(since=since, until=last, oldest_first=True), since=since, until=until
    )  # fmt: skip
    add_decisions(
        found, _decisions(records, sorted({*found.landed, *found.newest, *found.blocked}))
    )
    running, increase = None, None
    if opened.account_id is not None:
        from headroom.cli.sources.running import running_now  # boto3 is slow to import

        starved = sum(r.episode_minutes(until) for r in found.resources.values())
        running, increases = running_now(where, starved, since=since, until=until)
        if increases is not None:
            increase = increases.sum_usd
            try:
                left = found.more_than(increases.resources if ongoing else ())
                add_ledger(found, increases.modifications(left), ongoing=ongoing)
            except ReadFailed as problem:
                say(f"What was undone is not known: {problem}", err(), style="dim")
    return MonthView(place=opened.name if running is None else running.place, month=found,
                     running=running, increase_usd=increase)  # fmt: skip


def _decisions(records: Records, ids: Sequence[str]) -> Iterator[Decision]:
    """The decisions of these ids; one that cannot be read is left out, and said."""
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        for record in records.records([(decision_id, 0) for decision_id in some]):
            try:
                yield decision_from_json(record.body, for_display=True)
            except Unreadable as problem:
                say(f"Decision {record.decision_id} is left out: {problem}.", err(), style="dim")


def _current(opened: Source) -> datetime:
    """Now; in a file the newest record."""
    if opened.account_id is not None:
        return opened.now
    newest = next(iter(opened.records.record_summaries(since=_FIRST, until=opened.now)), None)
    return opened.now if newest is None else newest.at


def _span(month: str) -> tuple[datetime, datetime]:
    """The first instant of the month and of the next one."""
    parsed = re.fullmatch(r"(20\d\d)-(0[1-9]|1[0-2])", month)
    if parsed is None:
        raise BadRequest(f"--month {month!r} is not a month; write 2026-10.")
    year, number = int(parsed[1]), int(parsed[2])
    after = (year + 1, 1) if number == 12 else (year, number + 1)
    return datetime(year, number, 1, tzinfo=UTC), datetime(*after, 1, tzinfo=UTC)
