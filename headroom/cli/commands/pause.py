"""`headroom pause`, `resume` and `breaker`: stop all changes, and allow them again.

The deployed function records them, with who asked; nothing here writes.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

import typer

from headroom.cli.sources.deployment import deployment, normalized_reason, stops_of
from headroom.cli.sources.options import DeploymentOptions, JsonOption, ReasonOption
from headroom.cli.terminal.names import short
from headroom.cli.terminal.output import emit, say
from headroom.cli.terminal.problems import FAILED, OK, BadRequest
from headroom.cli.views.breakers import as_object, breaker_object, broken, until_of
from headroom.domain.state import INDEFINITE
from headroom.requests import LONGEST_PAUSE, Answer, Status, Verb

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def pause(
    duration: Annotated[
        str | None,
        typer.Option("--for", help="How long (30m, 2h, 7d). Default: until `headroom resume`."),
    ] = None,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Stop all changes in an account and Region immediately.

    Changes that AWS has already started continue and are verified. Headroom keeps observing and
    recording.
    """
    span, reason = None if duration is None else span_of(duration), normalized_reason(reason)
    here = deployment(where)
    seconds = None if span is None else int(span.total_seconds())
    answer = refuse(here.ask(Verb.PAUSE, reason, seconds=seconds))
    stop_state = stops_of(here)
    if as_json:
        emit(as_object(stop_state, here.account.now))
    else:
        held = stop_state.account.pause
        say(f"Paused: no changes in {here.place} {until_of(held.until if held else INDEFINITE)}.")
        if answer.status is Status.NOTHING or (held is not None and held.own_until is not None):
            say(f"Note: {answer.detail}.")
    return OK


def resume(
    reason: ReasonOption = "", as_json: JsonOption = False, *, where: DeploymentOptions
) -> int:
    """End a pause and close the account's circuit breaker; breakers of volumes stay open.

    The next sweep scans the fleet within a minute.
    """
    reason = normalized_reason(reason)
    here = deployment(where)
    answer = refuse(here.ask(Verb.RESUME, reason))
    stop_state = stops_of(here)
    if as_json:
        emit(as_object(stop_state, here.account.now))
        return OK
    result = "Resumed" if answer.status is Status.DONE else "Nothing was paused"
    say(f"{result}: Headroom makes changes in {here.place}.")
    for breaker in stop_state.breakers:
        say(f"Still stopped: {broken(breaker)}")
    return OK


def breakers(as_json: JsonOption = False, *, where: DeploymentOptions) -> int:
    """List the open circuit breakers, oldest first; exit code 1 if any is open."""
    here = deployment(where)
    stop_state = stops_of(here)
    found = [b for b in (stop_state.account.breaker, *stop_state.breakers) if b is not None]
    if as_json:
        emit([breaker_object(breaker) for breaker in found])
    else:
        for breaker in found:
            say(broken(breaker))
        if not found:
            say(f"No breaker is open in {here.place}.")
    return FAILED if found else OK


def close(
    volume: Annotated[
        str | None,
        typer.Argument(
            metavar="RESOURCE",
            help="Resource whose breaker to close: vol-ID, db:NAME, cluster:NAME.",
        ),
    ] = None,
    whole_account: Annotated[
        bool, typer.Option("--account", help="Close the breaker of the whole account.")
    ] = False,
    reason: ReasonOption = "",
    as_json: JsonOption = False,
    *,
    where: DeploymentOptions,
) -> int:
    """Close the circuit breaker of a volume, a database or the whole account."""
    if (volume is None) != whole_account:
        raise BadRequest(
            f"{'Name' if volume is None else 'Either name'} a volume or database, or use --account for the "
            "breaker of the whole account."
        )
    reason = normalized_reason(reason)
    here = deployment(where)
    ref = None if volume is None else here.ref(volume)
    about = None if ref is None else {"kind": ref.kind, "resource_id": ref.resource_id}
    closed = refuse(here.ask(Verb.CLOSE_BREAKER, reason, resource=about)).status is Status.DONE
    name = here.place if ref is None else short(ref.arn)
    if as_json:
        emit({"closed": closed, "resource": name})
    elif closed:
        say(f"Closed: Headroom changes {name} again when needed.")
    else:
        say(f"The breaker of {name} was not open.")
    return OK


def refuse(answer: Answer) -> Answer:
    """The answer, unless the deployment refused; raises BadRequest."""
    if answer.status is Status.REFUSED:
        raise BadRequest(f"The deployment refused: {answer.detail}")
    return answer


def span_of(text: str) -> timedelta:
    """The duration in `30m`, `2h` or `7d`; raises BadRequest."""
    found = re.fullmatch(r"(\d{1,6})([mhd])", text)
    span = timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else timedelta(0)
    if not timedelta(0) < span <= LONGEST_PAUSE:
        raise BadRequest(f"--for {text!r} is not a duration of 1m to 90d; write 30m, 2h or 7d.")
    return span
