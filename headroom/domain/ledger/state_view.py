"""The resource state that a decision sees, from the state that the ledger stores."""

from __future__ import annotations

from datetime import datetime

from headroom.domain.ledger.notified import notified_causes
from headroom.domain.state import (
    DAY,
    REMEMBERED,
    AccountStopState,
    ConcurrencyState,
    ResourceState,
    StoredState,
    in_a_row,
    recent_modifications,
    usd,
)


def resource_state_of(
    state: StoredState, *, account_micro_usd: int, stop_state: AccountStopState, now: datetime,
    concurrency: ConcurrencyState = ConcurrencyState(),  # noqa: B008 - immutable
) -> ResourceState:  # fmt: skip
    """The stored state as a decision sees it.

    A refusal from before a person closed the account's breaker no longer delays a retry.
    """
    refused_at, closed_at = state.last_refusal_at, stop_state.closed_at
    forgiven = closed_at is not None and refused_at is not None and refused_at <= closed_at
    modifications, earlier = recent_modifications(state.modifications, now)
    return ResourceState(
        enrolment_usd=state.enrolment_usd,
        resource_increase_usd=usd(state.resource_micro_usd),
        account_increase_usd=usd(account_micro_usd),
        modifications=modifications,
        slots_full_until=_ahead(state.slots_full_until, now),
        last_refusal_at=state.last_refusal_at,
        refused_since=state.refused_since if in_a_row(refused_at, now) else None,
        last_act_at=state.last_act_at,
        open_chain=state.chain,
        last_signature=state.last_signature,
        last_decision_id=state.last_decision_id,
        escalated_causes=notified_causes(state, now),
        paused_until=None if stop_state.pause is None else stop_state.pause.until,
        failures_in_a_row=state.failures_in_a_row,
        retry_not_before=None if forgiven else _ahead(state.retry_not_before, now),
        growth_not_before=_ahead(state.growth_not_before, now),
        owner_configuration=state.owner_configuration,
        earlier_modification=earlier,
        unproven_since=state.in_force_since
        if state.owner_configuration is None and state.in_force_micro_usd
        else None,
        raises_take_minutes=0
        if state.slow_effect is None or now - state.slow_effect.seen_at > REMEMBERED
        else state.slow_effect.minutes,
        breaker_opened_at=state.breaker_opened_at,
        account_breaker_opened_at=None
        if stop_state.breaker is None
        else stop_state.breaker.opened_at,
        approval_request=state.approval_request,
        declined=tuple(d for d in state.declined if now < max(d.until, d.at + DAY)),
        rollback=state.rollback,
        rolled_back=state.rolled_back,
        last_request_at=state.last_request_at,
        concurrency=concurrency,
        queued_since=None if state.waiting is None else state.waiting.since,
    )


def _ahead(until: datetime | None, now: datetime) -> datetime | None:
    """An instant in the future; None if it has passed."""
    return None if until is None or until <= now else until
