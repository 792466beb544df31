"""What people ask for: read from text of any origin, carried out in the ledger, answered in a sentence.

Who asks and when is said by the deployed function, never by the request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol

from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.state import INDEFINITE, Pause, Step, StopState, active_pause
from headroom.ports import AnswerRejected, ReadFailed, Requests, Switches, WriteFailed

LONGEST_REQUEST = 4_096
"""Bytes."""
LONGEST_REASON = 500
LONGEST_PAUSE = timedelta(days=90)
RESOURCE_ID = r"[A-Za-z0-9:-]{1,128}(/[A-Za-z0-9-]{1,64})?"
"""Of a volume, a database or a cluster, or of an additional storage volume of a database."""
ATTEMPTS = 5
"""At a pause that others change at the same time."""


class Verb(StrEnum):
    """What can be asked for."""

    APPROVE = "approve"
    REJECT = "reject"
    ROLLBACK = "rollback"
    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"
    CLOSE_BREAKER = "close_breaker"
    PUBLISH_POLICY = "publish_policy"


_FIELDS = {
    Verb.APPROVE: frozenset({"decision_id"}),
    Verb.REJECT: frozenset({"decision_id"}),
    Verb.ROLLBACK: frozenset({"decision_id"}),
    Verb.RELEASE: frozenset({"decision_id"}),
    Verb.PAUSE: frozenset({"seconds"}),
    Verb.RESUME: frozenset(),
    Verb.CLOSE_BREAKER: frozenset({"resource"}),
    Verb.PUBLISH_POLICY: frozenset({"sha256"}),
}
"""What each takes beside a reason; None in `seconds` is no end, in `resource` the whole account. A policy comes
beside the request, which has its SHA-256 in hex."""


class InvalidRequest(ValueError):
    """The request is refused as it stands; the message is one sentence."""


class Status(StrEnum):
    """What came of a request."""

    DONE = "done"
    NOTHING = "nothing"
    """It was so already."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request of a person, read and bounded."""

    verb: Verb
    reason: str = ""
    decision_id: str = ""
    pause_for: timedelta | None = None
    ref: ResourceRef | None = None
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a request, for the person who sent it."""

    status: Status
    detail: str


class Ledger(Requests, Switches, Protocol):
    """Keeps requests and switches."""


def parse_request(
    text: str, *, state_table: str, account_id: str, region: str, prefix: str = ""
) -> Request:
    """The request in `text`, which may be anything; raises InvalidRequest.

    It must name the deployment that it is for: its state table, or, as a hub does, its prefix.
    """
    if len(text) > LONGEST_REQUEST or not text.isascii():
        raise InvalidRequest(f"A request has {LONGEST_REQUEST} bytes of ASCII at most.")
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidRequest("The request is no JSON.") from None
    verb = given.get("verb") if isinstance(given, dict) else None
    if not isinstance(verb, str) or verb not in set(Verb):
        raise InvalidRequest(f"A request has a verb: {', '.join(Verb)}.")
    verb = Verb(verb)
    named = "prefix" if "prefix" in given else "state_table"
    if set(given) != {"verb", named, "reason"} | _FIELDS[verb]:
        names = ", ".join(sorted({"reason", "state_table"} | _FIELDS[verb]))
        raise InvalidRequest(f"The request to {verb} takes exactly: {names}.")
    if given[named] != {"prefix": prefix, "state_table": state_table}[named]:
        raise InvalidRequest(f"This deployment keeps its state in {state_table}, not elsewhere.")
    return Request(
        verb=verb, reason=_reason(given["reason"]), decision_id=_decision_id(given),
        pause_for=_span(given), ref=_ref(given, account_id, region), sha256=_sha256(given),
    )  # fmt: skip


def execute_request(
    ledger: Ledger, request: Request, *, at: datetime, who: str, of_hub: Callable[[str], bool]
) -> Answer:
    """Record the request of `who`, or say why not; nothing is changed in storage.

    `of_hub` says whether a pause is a hub's, by who paused.
    """
    match request.verb:
        case Verb.APPROVE:
            return _answered(ledger, request, Step.APPROVED, at, who)
        case Verb.REJECT:
            return _answered(ledger, request, Step.REJECTED, at, who)
        case Verb.ROLLBACK | Verb.RELEASE:
            ask = ledger.release if request.verb is Verb.RELEASE else ledger.request_rollback
            asked = ask(request.decision_id, at=at, who=who, reason=request.reason)
            if isinstance(asked, AnswerRejected):
                return Answer(status=Status.REFUSED, detail=asked.detail)
        case Verb.PAUSE:
            return _paused(ledger, request, at, who, of_hub)
        case Verb.RESUME:
            if not _resumed(ledger, request, at, who):
                return Answer(status=Status.NOTHING, detail="nothing was paused")
        case Verb.CLOSE_BREAKER:
            if not ledger.close_breaker(request.ref, at=at, who=who, reason=request.reason):
                return Answer(status=Status.NOTHING, detail="the breaker was not open")
        case Verb.PUBLISH_POLICY:
            return Answer(
                status=Status.REFUSED,
                detail="Only a hub can publish a policy by request. Deploy yours instead.",
            )
    return recorded(request, who)


def recorded(request: Request, who: str) -> Answer:
    """What somebody hears whose request was recorded as it is."""
    return Answer(status=Status.DONE, detail=f"recorded: {request.verb} by {who}")


def switched(
    ledger: Ledger, request: Request, at: datetime, who: str,
    next_pause: Callable[[Pause | None], tuple[Pause | None, Answer] | Answer],
) -> Answer:  # fmt: skip
    """Put `next_pause` of the pause in force in its place, if nobody changes it meanwhile.

    An answer alone changes nothing. Raises WriteFailed if others changed the pause every time.
    """
    for _ in range(ATTEMPTS):
        stored = ledger.stop_state().account.pause
        found = next_pause(active_pause(stored, at))
        if isinstance(found, Answer):
            return found
        pause, answer = found
        if ledger.switch(pause, over=stored, at=at, who=who, reason=request.reason):
            return answer
    raise WriteFailed(f"the pause changed during each of {ATTEMPTS} attempts")


def pause_end(request: Request, at: datetime) -> datetime:
    """Until when the request would pause."""
    return INDEFINITE if request.pause_for is None else at + request.pause_for


def ending(until: datetime) -> str:
    """The end of a pause in words."""
    return "without end" if until >= INDEFINITE else f"until {until:%Y-%m-%d %H:%M} UTC"


def _paused(
    ledger: Ledger, request: Request, at: datetime, who: str, of_hub: Callable[[str], bool]
) -> Answer:
    """Pause; a longer pause goes on. Of a hub's, nobody of the hub ends it before this one is over.

    Where the pause in force cannot be read, this one is written over a shorter one: stopping must not wait.
    """
    until = pause_end(request, at)

    def next_pause(held: Pause | None) -> tuple[Pause | None, Answer] | Answer:
        if held is None or held.until <= until:
            pause = Pause(until=until, since=at, who=who, reason=request.reason)
            return pause, recorded(request, who)
        if not of_hub(held.who) or held.own_until == held.until:
            return longer(held)
        detail = (
            f"a hub paused {ending(held.until)}, which stays in force; `headroom resume` ends it"
        )
        own_until = max(until, held.own_until or until)
        return replace(held, own_until=own_until), Answer(status=Status.DONE, detail=detail)

    try:
        return switched(ledger, request, at, who, next_pause)
    except ReadFailed:
        ledger.pause(until, at=at, who=who, reason=request.reason)
    return recorded(request, who)


def longer(held: Pause) -> Answer:
    """What somebody hears whose own side has paused for longer."""
    detail = f"a pause {ending(held.until)} is in force and stays; `headroom resume` ends it"
    return Answer(status=Status.NOTHING, detail=detail)


def _answered(ledger: Ledger, request: Request, step: Step, at: datetime, who: str) -> Answer:
    got = ledger.answer(request.decision_id, step, at=at, who=who, reason=request.reason)
    if not isinstance(got, AnswerRejected):
        of = ""
        if got.decision_id != request.decision_id:
            of = f", of {got.decision_id}, which replaced {request.decision_id}"
        return Answer(status=Status.DONE, detail=f"recorded: {step.value} by {who}{of}")
    same = got.why == step.value
    return Answer(status=Status.NOTHING if same else Status.REFUSED, detail=got.detail)


def _resumed(ledger: Ledger, request: Request, at: datetime, who: str) -> bool:
    """End the pause and close the account's breaker; whether either held anything."""
    before: StopState = ledger.stop_state()
    if before.account.pause is not None:
        ledger.resume(at=at, who=who, reason=request.reason)
    if before.account.breaker is not None:
        ledger.close_breaker(None, at=at, who=who, reason=request.reason)
    paused = active_pause(before.account.pause, at) is not None
    return paused or before.account.breaker is not None


def _reason(given: Any) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_REASON:
        raise InvalidRequest(f"A reason is text of at most {LONGEST_REASON} characters.")
    plain = " ".join(given.encode("utf-8", "replace").decode("utf-8").split())
    return "".join(letter if letter.isprintable() else "?" for letter in plain)


def _decision_id(given: dict[str, Any]) -> str:
    found = given.get("decision_id", "")
    if not isinstance(found, str) or not re.fullmatch(r"[\w:.-]{0,128}", found, re.ASCII):
        raise InvalidRequest("The id of the decision is none.")
    return found


def _sha256(given: dict[str, Any]) -> str:
    found = given.get("sha256", "")
    if not isinstance(found, str) or not re.fullmatch(r"([0-9a-f]{64})?", found, re.ASCII):
        raise InvalidRequest("sha256 must be 64 lowercase hexadecimal digits.")
    return found


def _span(given: dict[str, Any]) -> timedelta | None:
    seconds = given.get("seconds")
    if seconds is None:
        return None
    most = int(LONGEST_PAUSE.total_seconds())
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= most:
        raise InvalidRequest(f"A pause lasts 1 to {most} seconds, or until somebody resumes.")
    return timedelta(seconds=seconds)


def _ref(given: dict[str, Any], account_id: str, region: str) -> ResourceRef | None:
    found = given.get("resource")
    if found is None:
        return None
    if not isinstance(found, dict) or set(found) != {"kind", "resource_id"}:
        raise InvalidRequest("A resource has a kind and a resource_id.")
    kind, name = found["kind"], found["resource_id"]
    if not isinstance(kind, str) or kind not in set(Kind):
        raise InvalidRequest("The resource is no storage that Headroom knows.")
    if not isinstance(name, str) or not re.fullmatch(RESOURCE_ID, name):
        raise InvalidRequest("The resource has no id.")
    return ResourceRef(kind=Kind(kind), account_id=account_id, region=region, resource_id=name)
