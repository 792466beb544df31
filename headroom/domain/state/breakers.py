"""What stops all changes: a pause and open circuit breakers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from headroom.domain.state.outcome import Refusal, Refused
from headroom.domain.state.records import Step

INDEFINITE = datetime.max.replace(tzinfo=UTC)
"""The end of an indefinite pause."""
MAX_FAILURES = 5
"""Failures in a row that open the breaker of one resource."""
MAX_ACCOUNT_FAILURES = 10
"""Failures in a row, of any resources and without an accepted change between, that open the account's
breaker: then the fault is not in one volume."""
FAILURES_CAUSE = "failures"
"""The cause of the notification when a resource's breaker opens."""
WAITS = frozenset(
    {
        Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.REGION_QUOTA, Refusal.THROTTLED, Refusal.GATE,
        Refusal.FILE_SYSTEM, Refusal.GONE,
    }
)  # fmt: skip
"""Refusals that clear with time, or say nothing against other changes: they do not count as failures."""
FAILURE_STEPS = frozenset({Step.REFUSED, Step.FAILED, Step.NOT_APPLIED})
WORKER_VANISHED = "worker_vanished"
"""In the body of a change that was not made because its worker never came back, most likely before its call."""
SUCCESS_STEPS = frozenset(
    {Step.APPLIED, Step.ALREADY_THERE, Step.RELIEVED, Step.UNTESTED, Step.INEFFECTIVE}
)
"""Steps that show that AWS made the change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """A pause of all changes; `until` is INDEFINITE for a pause without end."""

    until: datetime
    since: datetime
    who: str
    reason: str = ""
    own_until: datetime | None = None
    """Until when people of the account itself paused, where a longer pause of the hub is in force:
    the hub does not end it sooner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """An open circuit breaker of a resource (its ARN) or of the account (its key)."""

    resource: str
    opened_at: datetime
    failures: int
    why: str
    """What happened last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStopState:
    """The account's pause, its own breaker, and the failures counted towards that."""

    pause: Pause | None = None
    failures_in_a_row: int = 0
    breaker: Breaker | None = None
    closed_at: datetime | None = None
    """When a person last closed its breaker; earlier refusals no longer delay a retry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopState:
    """Everything that stops changes in an account and Region."""

    account: AccountStopState
    breakers: tuple[Breaker, ...]
    """Open breakers of single resources, the oldest first."""


def is_failure(step: Step, body: Mapping[str, object]) -> bool:
    """Whether a step is a failure that time alone does not clear."""
    outcome = body.get("outcome")
    waits = isinstance(outcome, Refused) and outcome.refusal in WAITS
    return step in FAILURE_STEPS and not waits


def account_state_after(
    account: AccountStopState,
    key: str,
    step: Step,
    *,
    at: datetime,
    body: Mapping[str, object],
    why: str,
) -> AccountStopState:
    """The account's state after `step` of any resource; the same object if nothing changes.

    An open breaker stays open whatever succeeds afterwards. What a vanished worker left counts for its resource
    alone: with a striped set, one for each of its volumes.
    """
    if is_failure(step, body) and not body.get(WORKER_VANISHED):
        count = account.failures_in_a_row + 1
        breaker = account.breaker
        if breaker is None and count >= MAX_ACCOUNT_FAILURES:
            breaker = Breaker(resource=key, opened_at=at, failures=count, why=why)
        return replace(account, failures_in_a_row=count, breaker=breaker)
    if step in SUCCESS_STEPS and account.failures_in_a_row:
        return replace(account, failures_in_a_row=0)
    return account


def account_after_breaker_closed(account: AccountStopState, at: datetime) -> AccountStopState:
    """The account's state after a person closed its breaker; the same object if none was open."""
    if account.breaker is None:
        return account
    return replace(account, breaker=None, failures_in_a_row=0, closed_at=at)


def active_pause(pause: Pause | None, now: datetime) -> Pause | None:
    """The pause while it lasts, None once it is over."""
    return pause if pause is not None and now < pause.until else None
