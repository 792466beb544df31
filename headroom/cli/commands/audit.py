"""`headroom audit`: what happened, by resource, time, outcome or decision."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated

import typer

from headroom.cli.sources.options import RecordsOptions
from headroom.cli.sources.records import Source, source
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import emit, err, out, say, table, utc
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.views.breakers import lines
from headroom.domain.state import Record, Step, broken_link, link_problem

OUTCOMES = ("act", "hold", "escalate", *(s.value for s in Step if s is not Step.DECIDED))
DEFAULT_SPAN = timedelta(days=30)
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
        str | None, typer.Option(help="Start: a time, or an age such as 24h or 7d. Default: 30d.")
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
        int, typer.Option(min=1, help="Maximum number of records, newest first.")
    ] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
    *,
    where: RecordsOptions,
) -> int:
    """List records: every decision and everything that followed from it."""
    if outcome is not None and outcome not in OUTCOMES:
        raise BadRequest(f"There is no outcome {outcome!r}; there are {', '.join(OUTCOMES)}.")
    if decision is not None and (resource or outcome or since or until):
        raise BadRequest("--decision selects one chain and takes no other filter.")
    _span(since, until, datetime.now(UTC), whole=False)  # refuse bad input before reading anything
    opened = source(where)
    if decision is not None:
        return _chain(opened, decision, as_json)
    first, last = _span(since, until, opened.now, whole=opened.account_id is None)
    found = tuple(islice(_ask(opened, resource, outcome, first, last), limit))
    if not as_json:
        _tell_stops(opened)
    if as_json:
        emit([as_object(record) for record in found])
    elif not found:
        err().print(f"No record in {opened.name} matches.")
    else:
        out().print(_listing(f"Records in {opened.name}, newest first", found))
        if len(found) == limit:
            err().print(f"Only the newest {limit} are listed; --limit lists more.", style="dim")
    return OK


def _tell_stops(opened: Source) -> None:
    """A remark on what is paused or broken now, where that can be known."""
    stop_state = opened.stop_state()
    for line in () if stop_state is None else lines(stop_state, opened.now):
        say(line, err(), style="bold")


def _ask(
    opened: Source, resource: str | None, outcome: str | None, since: datetime, until: datetime
) -> Iterable[Record]:
    if resource is not None:
        arn = opened.arn(resource)
        if arn.startswith("arn:"):
            found = opened.records.by_resource(arn, since=since, until=until)
        else:
            every = opened.records.by_time(since=since, until=until)
            found = (r for r in every if short(r.resource) == arn)
        return (r for r in found if outcome in (None, r.outcome))
    if outcome is not None:
        return opened.records.by_outcome(outcome, since=since, until=until)
    return opened.records.by_time(since=since, until=until)


def _chain(opened: Source, decision_id: str, as_json: bool) -> int:
    chain = opened.records.chain(decision_id)
    if not chain:
        raise BadRequest(f"There is no decision {decision_id} in {opened.name}.")
    broken = broken_link(chain)
    if as_json:
        emit([as_object(record) for record in chain])
    else:
        out().print(_listing(f"Chain of {decision_id}, oldest first", chain))
    if broken is not None:
        err().print(f"The chain is broken at record {broken.sequence}: {link_problem(broken)}.")
        return FAILED
    err().print(f"The chain is complete: {len(chain)} records, and all hashes match.", style="dim")
    return OK


def as_object(record: Record) -> dict[str, object]:
    """A record for JSON output: its body opened up."""
    return {
        "decision_id": record.decision_id, "sequence": record.sequence, "step": record.step.value,
        "resource": record.resource, "at": record.at, "outcome": record.outcome,
        "summary": record.summary, "body": json.loads(record.body),
        "previous_hash": record.previous_hash, "hash": record.hash,
    }  # fmt: skip


def _listing(title: str, found: Iterable[Record]) -> object:
    rows = [(utc(r.at), short(r.resource)[:40], r.outcome, r.decision_id, r.summary) for r in found]
    return table(title, ("When", "Resource", "Outcome", "Decision", "What"), rows)


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
