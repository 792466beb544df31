"""What a message says of a request for approval: what happens without an answer, and what it was for."""

from __future__ import annotations

from datetime import timedelta

from headroom.domain.decision import (
    ANSWERED_WITHIN,
    Act,
    Decision,
    Reason,
    part_without_approval,
)
from headroom.domain.policy import Mode
from headroom.domain.state import ApprovalRequest

PARTLY_MADE = frozenset({Reason.STARVED, Reason.DEPLETION_FORESEEN, Reason.RECURRENCE_EXPECTED})
"""Reasons of a raise of which a part is made after `ANSWERED_WITHIN` if that needs nobody's approval."""


def without_answer(decision: Decision, answer: Act) -> str:
    """What happens to a request that nobody answers."""
    limits = decision.effective.limits
    if limits.mode is not Mode.AUTO or limits.approve_above_usd is None:
        return "without an answer nothing is changed"
    unasked = "without an answer it is not made; what needs no approval still is"
    first = decision.at + timedelta(minutes=limits.approval_expires_minutes)
    renewed = answer.expires is not None and answer.expires > first
    if renewed or decision.group is not None or answer.reason not in PARTLY_MADE:
        return unasked
    added_usd = decision.resource_state.resource_increase_usd
    if part_without_approval(limits, decision.judgements, added_usd) is None:
        return unasked
    by = f"{decision.at + ANSWERED_WITHIN:%H:%M} UTC"
    return (
        f"without an answer by {by}, the part that needs no approval is made, and the rest is "
        "requested again"
    )


def request_of(asked: ApprovalRequest) -> str:
    """A request with its id, change and price."""
    return (
        f"the request {asked.decision_id} ({asked.origin} -> {asked.target}, "
        f"{asked.price_change_usd:+,.2f} USD a month)"
    )
