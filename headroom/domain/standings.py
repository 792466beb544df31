"""What a decision is told of a resource's past, from the state that the ledger keeps of it."""

from __future__ import annotations

from datetime import datetime

from headroom.domain.known_changes import known
from headroom.domain.requests import DAY
from headroom.domain.resource_state import ResourceState, usd
from headroom.domain.standing import Standing
from headroom.domain.stops import AccountStops
from headroom.domain.traffic import Traffic


def standing_of(
    state: ResourceState, *, account_micro_usd: int, stops: AccountStops, now: datetime,
    traffic: Traffic = Traffic(),  # noqa: B008 - immutable
) -> Standing:  # fmt: skip
    """What a decision gets to know of the state.

    What AWS refused before a person closed the account's breaker it may be asked again.
    """
    refused_at, closed_at = state.last_refusal_at, stops.closed_at
    forgiven = closed_at is not None and refused_at is not None and refused_at <= closed_at
    return Standing(
        enrolment_usd=state.enrolment_usd,
        own_increase_usd=usd(state.own_micro_usd),
        account_increase_usd=usd(account_micro_usd),
        modifications=known(state.modifications, (), now),
        slots_full_until=_ahead(state.slots_full_until, now),
        last_refusal_at=state.last_refusal_at,
        last_act_at=state.last_act_at,
        open_chain=state.chain,
        last_signature=state.last_signature,
        last_decision_id=state.last_decision_id,
        escalated_causes=state.escalated_causes,
        paused_until=None if stops.pause is None else stops.pause.until,
        failures_in_a_row=state.failures_in_a_row,
        retry_not_before=None if forgiven else _ahead(state.retry_not_before, now),
        breaker_opened_at=state.breaker_opened_at,
        account_breaker_opened_at=None if stops.breaker is None else stops.breaker.opened_at,
        asking=state.asking,
        declined=tuple(d for d in state.declined if now < max(d.until, d.at + DAY)),
        rollback=state.rollback,
        rolled_back=state.rolled_back,
        called_at=state.called_at,
        traffic=traffic,
        waiting_since=None if state.waiting is None else state.waiting.since,
    )


def _ahead(until: datetime | None, now: datetime) -> datetime | None:
    """An instant that is still to come; None once it is there."""
    return None if until is None or until <= now else until
