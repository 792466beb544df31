"""What people of a hub, another account, may ask for: less than the account's own, and nothing against them.

The account's owner names the hub's roles at deployment. STS says who has one, never the hub.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from headroom.application.requests import Answer, Ledger, Request, Status, Verb, carry_out
from headroom.domain.policy import Policy, PolicyError
from headroom.domain.state import INDEFINITE, Pause, active_pause

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
        role = self.publishes if verb is Verb.PUBLISH_POLICY else self.asks
        if verb not in {*HUB_VERBS, Verb.PUBLISH_POLICY} or not account_of(role):
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


def carry_out_for(
    caller: Caller, ledger: Ledger, request: Request, *, account_id: str, roles: HubRoles,
    publish: Callable[[], Policy],
) -> Answer:  # fmt: skip
    """Record the request of anybody who proved who they are, or say why not.

    `publish` publishes the policy that came with the request; it raises PolicyError.
    """
    if account_of(caller.who) == account_id:
        return carry_out(ledger, request, at=caller.at, who=caller.who)
    if not roles.allow(caller.who, request.verb):
        return Answer(
            status=Status.REFUSED,
            detail=f"{caller.who} may not {request.verb} in account {account_id}.",
        )
    match request.verb:
        case Verb.PUBLISH_POLICY:
            return _publish(caller, ledger, request, publish)
        case Verb.PAUSE:
            return _pause(caller, ledger, request, account_id)
        case Verb.RESUME:
            return _resume(caller, ledger, request, account_id)
    return carry_out(ledger, request, at=caller.at, who=caller.who)


def _pause(caller: Caller, ledger: Ledger, request: Request, account_id: str) -> Answer:
    """Pause, unless the account's own people paused for as long."""
    until = INDEFINITE if request.pause_for is None else caller.at + request.pause_for
    own_until = _own_until(_active(caller, ledger), caller.at, account_id)
    if own_until is not None and own_until >= until:
        return Answer(status=Status.NOTHING, detail=_held(own_until))
    ledger.pause(
        until, at=caller.at, who=caller.who, reason=request.reason, own_until=own_until
    )  # fmt: skip
    return _done(caller, request)


def _resume(caller: Caller, ledger: Ledger, request: Request, account_id: str) -> Answer:
    """End the hub's pause and no other; the account's breaker stays open."""
    pause = _active(caller, ledger)
    if pause is None:
        return Answer(status=Status.NOTHING, detail="nothing was paused")
    own_until = _own_until(pause, caller.at, account_id)
    if own_until is None:
        ledger.resume(at=caller.at, who=caller.who, reason=request.reason)
        return _done(caller, request)
    if own_until < pause.until:
        ledger.pause(
            own_until, at=caller.at, who=caller.who, reason=request.reason, own_until=own_until
        )
        return Answer(status=Status.DONE, detail=_held(own_until))
    return Answer(status=Status.REFUSED, detail=_held(own_until))


def _publish(
    caller: Caller, ledger: Ledger, request: Request, publish: Callable[[], Policy]
) -> Answer:
    """Publish the policy, or record why it is refused; then the one before stays in force."""
    try:
        version, refused = publish().version, None
    except PolicyError as problem:
        version, refused = "", str(problem)
    ledger.record_policy(
        version, refused, at=caller.at, who=caller.who, reason=request.reason
    )  # fmt: skip
    if refused is not None:
        return Answer(status=Status.REFUSED, detail=refused)
    return _done(caller, request)


def _done(caller: Caller, request: Request) -> Answer:
    return Answer(status=Status.DONE, detail=f"recorded: {request.verb} by {caller.who}")


def _active(caller: Caller, ledger: Ledger) -> Pause | None:
    return active_pause(ledger.stop_state().account.pause, caller.at)


def _own_until(pause: Pause | None, at: datetime, account_id: str) -> datetime | None:
    """Until when the account's own people paused; None if they did not, or it is over."""
    if pause is None:
        return None
    if account_of(pause.who) in ("", account_id):
        return pause.until
    return pause.own_until if pause.own_until is not None and at < pause.own_until else None


def _held(until: datetime) -> str:
    ends = "without end" if until >= INDEFINITE else f"until {until:%Y-%m-%d %H:%M} UTC"
    return f"people of this account paused {ends}, and only they can end that pause"
