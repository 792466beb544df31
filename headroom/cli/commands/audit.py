"""`headroom audit`: what happened, by resource, time, outcome or decision."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from headroom.cli.sources.following import following
from headroom.cli.sources.options import RecordsOptions
from headroom.cli.sources.records import Source, source
from headroom.cli.terminal.output import counted, emit, err, out, say, utc
from headroom.cli.terminal.problems import FAILED, OK, BadRequest, Problem
from headroom.cli.views import record_list
from headroom.cli.views.breakers import lines
from headroom.domain.state import Record, RecordSummary, Step, broken_link, link_problem

if TYPE_CHECKING:
    from headroom.adapters.ledger import SealCheck

OUTCOMES = ("act", "hold", "escalate", *(s.value for s in Step if s is not Step.DECIDED))
DEFAULT_SPAN = timedelta(days=30)
DEFAULT_LIMIT = 100
_BACK = {"m": "minutes", "h": "hours", "d": "days"}
_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


def audit(
    resource: Annotated[
        str | None,
        typer.Option(
            "--resource", help="Only this resource: vol-ID, db:NAME, cluster:NAME or ARN."
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="Start: a time, or an age such as 24h or 7d. Default: 30d; --follow: now."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="End: a time. Default: now.")] = None,
    outcome: Annotated[
        str | None, typer.Option(help="act, hold, escalate, applied, refused, relieved, ...")
    ] = None,
    decision: Annotated[
        str | None,
        typer.Option("--decision", help="Only this decision: its whole chain, verified."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000_000, help="Maximum number of records. Default: 100; an export: all."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
    bodies: Annotated[
        bool, typer.Option("--bodies", help="With --json: also bodies and hashes.")
    ] = False,
    csv: Annotated[
        str | None,
        typer.Option("--csv", metavar="FILE", help="Write CSV, oldest first; - is stdout."),
    ] = None,
    jsonl: Annotated[
        str | None,
        typer.Option("--jsonl", metavar="FILE", help="Write JSON lines, oldest first; - is stdout."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Print records as they are written, until Ctrl-C.")
    ] = False,
    events: Annotated[
        bool, typer.Option("--events", help="List events and what each led to, instead of records.")
    ] = False,
    *,
    where: RecordsOptions,
) -> int:  # fmt: skip
    """List records, newest first: every decision and everything that followed from it."""
    if outcome is not None and outcome not in OUTCOMES:
        raise BadRequest(f"There is no outcome {outcome!r}; there are {', '.join(OUTCOMES)}.")
    export = csv is not None or jsonl is not None
    _refuse_contradictions(
        decision, since, until, filters=(resource, outcome, since, until),
        ways=(as_json, csv, jsonl), follow=follow, bodies=bodies and not as_json,
    )  # fmt: skip
    if events and (outcome or decision or follow or bodies or export):
        raise BadRequest("--events goes with --resource, --since, --until, --limit and --json.")
    _span(since, until, datetime.now(UTC), whole=False)  # refuse bad input before reading anything
    opened = source(where)
    if decision is not None:
        return _chain(opened, decision, as_json)
    arn = None if resource is None else opened.arn(resource)
    if events:
        first, last = _span(since, until, opened.now, whole=False)
        return _events(opened, arn, first, last, limit or DEFAULT_LIMIT, as_json=as_json)
    if follow:
        if opened.account_id is None:
            raise BadRequest("--follow reads an account's tables; a file does not grow.")
        first = opened.now if since is None else _instant("--since", since, opened.now)
        coming = following(opened.records, first, now=opened.now, outcome=outcome, resource=arn)
        return _write(islice(coming, limit), csv, jsonl, follow=True)
    first, last = _span(since, until, opened.now, whole=opened.account_id is None)
    count = limit if export else limit or DEFAULT_LIMIT
    found = islice(
        opened.records.record_summaries(
            since=first, until=last, outcome=outcome, resource=arn, oldest_first=export, page=count
        ),
        count,
    )
    if export:
        return _write(found, csv, jsonl, follow=False)
    return _list(opened, tuple(found), as_json=as_json, bodies=bodies, limit=count or 0)


def _refuse_contradictions(
    decision: str | None, since: str | None, until: str | None, *, filters: Iterable[str | None],
    ways: Iterable[object], follow: bool, bodies: bool,
) -> None:  # fmt: skip
    if decision is not None and any(filters):
        raise BadRequest("--decision selects one chain and takes no other filter.")
    chosen = [way for way in ways if way]
    if len(chosen) > 1:
        raise BadRequest("Give one of --json, --csv and --jsonl.")
    if decision is not None and (follow or (chosen and chosen[0] is not True)):
        raise BadRequest("--decision prints one chain: it goes with --json, and nothing else.")
    if follow and (until is not None or True in chosen):
        raise BadRequest("--follow has no end: it goes with neither --until nor --json.")
    if bodies:
        raise BadRequest("--bodies goes with --json.")


def _events(
    opened: Source, arn: str | None, since: datetime, until: datetime, limit: int, *, as_json: bool
) -> int:
    """What each event led to, newest first."""
    if opened.events is None:
        raise BadRequest("--events reads an account's tables; a file has no events.")
    found = tuple(islice(opened.events(since=since, until=until, resource=arn), limit))
    if as_json:
        emit([record_list.event_row(record) for record in found])
    elif found:
        title = f"Events in {opened.name}, newest first"
        out().print(record_list.event_listing(title, found))
    else:
        err().print(f"No event in {opened.name} matches.")
    return OK


def _list(
    opened: Source, found: tuple[RecordSummary, ...], *, as_json: bool, bodies: bool, limit: int
) -> int:
    if bodies:
        whole = opened.records.records([(r.decision_id, r.sequence) for r in found])
        emit([record_list.with_body(record) for record in whole])
    elif as_json:
        emit([record_list.as_row(record) for record in found])
    else:
        _print_stops(opened)
        if not found:
            err().print(f"No record in {opened.name} matches.")
            return OK
        out().print(record_list.listing(f"Records in {opened.name}, newest first", found))
        if len(found) == limit:
            older = found[-1].at.isoformat().replace("+00:00", "Z")
            say(f"Only the newest {limit} are listed; --until {older} goes on from here.", err(),
                style="dim")  # fmt: skip
    return OK


def _write(
    found: Iterable[RecordSummary], csv: str | None, jsonl: str | None, *, follow: bool
) -> int:
    """Write each record as soon as it is read; nothing is kept in memory."""
    line: record_list.Formatter = record_list.text_line
    if csv is not None or jsonl is not None:
        line = record_list.json_line if csv is None else record_list.csv_line
    with _opened(csv or jsonl or "-", whole=not follow) as file:
        file.write("" if csv is None else record_list.csv_header())
        for record in found:
            file.write(line(record))
            if follow:
                file.flush()
    return OK


@contextmanager
def _opened(name: str, *, whole: bool) -> Iterator[TextIO]:
    """A file to write, or stdout for `-`; a `whole` one appears only once all is written."""
    if name == "-":
        yield sys.stdout
        return
    path = Path(f"{name}.part" if whole else name)
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        if whole:
            os.replace(path, name)
    except OSError as problem:
        raise Problem(f"{name} cannot be written: {problem.strerror}.") from None


def _print_stops(opened: Source) -> None:
    """A remark on what is paused or broken now, where that can be known."""
    stop_state = opened.stop_state()
    for line in () if stop_state is None else lines(stop_state, opened.now):
        say(line, err(), style="bold")


def _chain(opened: Source, decision_id: str, as_json: bool) -> int:
    chain = opened.records.chain(decision_id)
    if not chain:
        raise BadRequest(f"There is no decision {decision_id} in {opened.name}.")
    broken = broken_link(chain)
    if as_json:
        emit([record_list.with_body(record) for record in chain])
    else:
        title = f"Chain of {decision_id}, oldest first"
        out().print(record_list.listing(title, [record.listed for record in chain]))
    if chain[0].sequence:
        err().print(f"The first {chain[0].sequence} records are missing: expired or removed.")
        return FAILED
    if broken is not None:
        err().print(f"The chain is broken at record {broken.sequence}: {link_problem(broken)}.")
        return FAILED
    records = counted(len(chain), "record")
    err().print(f"The chain is complete: {records}, and all hashes match.", style="dim")
    return OK if opened.check_seals is None else _seals(opened.check_seals, chain)


def _seals(check: Callable[[Sequence[Record]], SealCheck], chain: Sequence[Record]) -> int:
    """Say exactly what the seals prove; a record without a seal that holds counts as a failure."""
    from headroom.ports import ReadFailed

    try:
        found = check(chain)
    except ReadFailed as problem:
        err().print(f"The seals were not checked, so only the hashes are: {problem}")
        return OK
    if found.broken:
        err().print(f"The seal does not hold of record {_numbers(found.broken)}: Headroom did not "
                    "write it so.")  # fmt: skip
    if found.missing:
        err().print(f"No seal is on record {_numbers(found.missing)}: written before seals were "
                    "turned on, or not by Headroom.")  # fmt: skip
    if found.broken or found.missing:
        return FAILED
    err().print(
        f"All {len(found.verified)} seals hold: the deployed roles wrote it so.", style="dim"
    )
    return OK


def _numbers(sequences: Sequence[int]) -> str:
    return ", ".join(map(str, sequences))


def _span(
    since: str | None, until: str | None, now: datetime, *, whole: bool
) -> tuple[datetime, datetime]:
    last = now if until is None else _instant("--until", until, now)
    if since is not None:
        first = _instant("--since", since, now)
    else:
        first = _EARLIEST if whole else last - DEFAULT_SPAN
    if first > last:
        raise BadRequest(f"--since {utc(first)} is after --until {utc(last)}.")
    return first, last


def _instant(option: str, text: str, now: datetime) -> datetime:
    back = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if back:
        return now - timedelta(**{_BACK[back[2]]: int(back[1])})
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(
            f"{option} {text!r} is not a time; write 2026-01-05T03:00Z, 2026-01-05, 24h or 7d."
        ) from None
    return instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
