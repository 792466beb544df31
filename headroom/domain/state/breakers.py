"""What stops every act until a person says go on: the kill switch and the circuit breakers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from headroom.domain.state.outcome import Refusal, Refused
from headroom.domain.state.records import Step

INDEFINITE = datetime.max.replace(tzinfo=UTC)
"""Until when a pause without end lasts."""
MAX_FAILURES = 5
"""Failures in a row that open the breaker of one resource."""
MAX_ACCOUNT_FAILURES = 10
"""Failures in a row, of any resources and without AWS accepting a change between, that open the
breaker of the account: then it is not one volume that is at fault."""
FAILURES_CAUSE = "failures"
"""The guardrail that an open breaker of a resource blocks by; owners are told when it opens."""
WAITS = frozenset(
    {Refusal.SLOTS, Refusal.IN_FLIGHT, Refusal.REGION_QUOTA, Refusal.THROTTLED, Refusal.GATE}
)
"""Refusals that time clears: no failure of ours."""
FAILURE_STEPS = frozenset({Step.REFUSED, Step.FAILED, Step.NOT_APPLIED})
SUCCESS_STEPS = frozenset({Step.APPLIED, Step.ALREADY_THERE, Step.RELIEVED, Step.INEFFECTIVE})
"""Steps by which AWS did what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The kill switch while it is on; `until` is ENDLESS for a pause without end."""

    until: datetime
    since: datetime
    who: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaker:
    """A circuit breaker that is open, of a resource (its ARN) or of the account (its key)."""

    resource: str
    opened_at: datetime
    failures: int
    why: str
    """What happened last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountStopState:
    """The account's side: its kill switch, its own breaker, and what it counts towards that."""

    pause: Pause | None = None
    failures_in_a_row: int = 0
    breaker: Breaker | None = None
    closed_at: datetime | None = None
    """When a person last closed its breaker: what AWS refused before may be asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopState:
    """Everything that stands in the way of acts in an account and Region."""

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
    """The account's side once `step` of some resource is recorded; the same one if that is no news.

    An open breaker stays open whatever works afterwards.
    """
    if is_failure(step, body):
        count = account.failures_in_a_row + 1
        breaker = account.breaker
        if breaker is None and count >= MAX_ACCOUNT_FAILURES:
            breaker = Breaker(resource=key, opened_at=at, failures=count, why=why)
        return replace(account, failures_in_a_row=count, breaker=breaker)
    if step in SUCCESS_STEPS and account.failures_in_a_row:
        return replace(account, failures_in_a_row=0)
    return account


def account_after_breaker_closed(account: AccountStopState, at: datetime) -> AccountStopState:
    """The account's side once a person closed its breaker; the same one if none was open."""
    if account.breaker is None:
        return account
    return replace(account, breaker=None, failures_in_a_row=0, closed_at=at)


def active_pause(pause: Pause | None, now: datetime) -> Pause | None:
    """The pause while it lasts, None once it is over."""
    return pause if pause is not None and now < pause.until else None
