"""What people of a hub, mostly another account, may ask for: less than the account's own, and nothing against them.

The account's owner names the hub's roles at deployment. STS says who has one, never the hub.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headroom.domain.policy import Policy, PolicyError
from headroom.domain.state import Pause
from headroom.ports import ReadFailed
from headroom.requests.requests import (
    Answer,
    Ledger,
    Request,
    Status,
    Verb,
    ending,
    execute_request,
    longer,
    pause_end,
    recorded,
    switched,
)

HUB_VERBS = frozenset({Verb.APPROVE, Verb.REJECT, Verb.PAUSE, Verb.RESUME})


@dataclass(frozen=True, slots=True, kw_only=True)
class HubRoles:
    """ARNs of the roles whose people may ask; `off` for nobody."""

    asks: str
    publishes: str

    @property
    def accounts(self) -> frozenset[str]:
        """Accounts that the roles are of."""
        return frozenset({account_of(self.asks), account_of(self.publishes)} - {""})

    def allow(self, who: str, verb: Verb) -> bool:
        """Whether a caller, by its ARN, has the role that this request takes."""
        if verb is Verb.PUBLISH_POLICY:
            return _has(who, self.publishes)
        return verb in HUB_VERBS and _has(who, self.asks)

    def are_of(self, who: str) -> bool:
        """Whether a caller, by its ARN, has one of the roles."""
        return _has(who, self.asks) or _has(who, self.publishes)


def _has(who: str, role: str) -> bool:
    """Whether `who` is a session of the role; of `off` nobody is."""
    if not account_of(role):
        return False
    name = re.escape(role.rsplit("/", 1)[-1])
    session = rf"arn:[a-z-]+:sts::{account_of(role)}:assumed-role/{name}/[^/]+"
    return re.fullmatch(session, who, re.ASCII) is not None


def account_of(arn: str) -> str:
    """The account in an ARN; empty where it has none."""
    parts = arn.split(":")
    return parts[4] if len(parts) > 5 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, by the ARN that STS says, and when."""

    who: str
    at: datetime


class Publication(Protocol):
    """The policy that came with a request."""

    def check(self) -> Policy:
        """What of it counts here; raises PolicyError where it may not be published."""

    def put(self, policy: Policy) -> None:
        """Publish it; raises WriteFailed, also where it is not known whether it is in force."""


def execute_request_for(
    caller: Caller, ledger: Ledger, request: Request, *, account_id: str, roles: HubRoles,
    publication: Publication,
) -> Answer:  # fmt: skip
    """Record the request of anybody who proved who they are, or say why not.

    Who has a role of the hub asks as the hub, in the hub's own account too.
    """

    def of_hub(who: str) -> bool:
        return roles.are_of(who) or account_of(who) not in ("", account_id)

    if account_of(caller.who) == account_id and not of_hub(caller.who):
        return execute_request(ledger, request, at=caller.at, who=caller.who, of_hub=of_hub)
    if not roles.allow(caller.who, request.verb):
        return Answer(
            status=Status.REFUSED,
            detail=f"{caller.who} may not {request.verb} in account {account_id}.",
        )
    match request.verb:
        case Verb.PUBLISH_POLICY:
            return _publish(caller, ledger, request, publication)
        case Verb.PAUSE:
            return _pause(caller, ledger, request, of_hub)
        case Verb.RESUME:
            return _resume(caller, ledger, request, of_hub)
    return execute_request(ledger, request, at=caller.at, who=caller.who, of_hub=of_hub)


def _pause(
    caller: Caller, ledger: Ledger, request: Request, of_hub: Callable[[str], bool]
) -> Answer:
    """Pause, unless the account's own people paused for as long, or the hub for longer."""
    until = pause_end(request, caller.at)

    def next_pause(held: Pause | None) -> tuple[Pause | None, Answer] | Answer:
        own_until = _own_until(held, caller.at, of_hub)
        if own_until is not None and own_until >= until:
            return Answer(status=Status.NOTHING, detail=_held(own_until))
        if held is not None and held.until > until:
            return longer(held)
        return _pause_of(caller, request, until, own_until), recorded(request, caller.who)

    return switched(ledger, request, caller.at, caller.who, next_pause)


def _resume(
    caller: Caller, ledger: Ledger, request: Request, of_hub: Callable[[str], bool]
) -> Answer:
    """End the hub's pause and no other; the account's breaker stays open."""

    def next_pause(held: Pause | None) -> tuple[Pause | None, Answer] | Answer:
        if held is None:
            return Answer(status=Status.NOTHING, detail="nothing was paused")
        own_until = _own_until(held, caller.at, of_hub)
        if own_until is None:
            return None, recorded(request, caller.who)
        if own_until < held.until:
            left = Answer(status=Status.DONE, detail=_held(own_until))
            return _pause_of(caller, request, own_until, own_until), left
        return Answer(status=Status.REFUSED, detail=_held(own_until))

    return switched(ledger, request, caller.at, caller.who, next_pause)


def _pause_of(
    caller: Caller, request: Request, until: datetime, own_until: datetime | None
) -> Pause:
    return Pause(
        until=until, since=caller.at, who=caller.who, reason=request.reason, own_until=own_until
    )


def _publish(caller: Caller, ledger: Ledger, request: Request, publication: Publication) -> Answer:
    """Record the policy and publish it, or record why it is refused; then the one before stays.

    The record comes first: no policy is in force without one. A put that fails is recorded too.
    """

    def record(version: str, refused: str | None) -> None:
        ledger.record_policy(
            version, refused, sha256=request.sha256, at=caller.at, who=caller.who,
            reason=request.reason,
        )  # fmt: skip

    try:
        policy = publication.check()
    except PolicyError as problem:
        record("", str(problem))
        return Answer(status=Status.REFUSED, detail=str(problem))
    record(policy.version, None)
    try:
        publication.put(policy)
    except ReadFailed as problem:
        record(policy.version, f"it is not known whether {policy.version} is in force: {problem}")
        raise
    return recorded(request, caller.who)


def _own_until(
    pause: Pause | None, at: datetime, of_hub: Callable[[str], bool]
) -> datetime | None:  # fmt: skip
    """Until when the account's own people paused; None if they did not, or it is over."""
    if pause is None:
        return None
    if not of_hub(pause.who):
        return pause.until
    return pause.own_until if pause.own_until is not None and at < pause.own_until else None


def _held(until: datetime) -> str:
    return f"people of this account paused {ending(until)}, and only they can end that pause"
