"""Which escalations still need the owner."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from headroom.domain.decision import KNOWN_EVENT, SPACE_CAUSE, Decision, Escalate, Reason
from headroom.domain.state import RecordSummary, Step

LOOKED_BACK = timedelta(days=90)
"""How old an escalation may be that the digest still lists."""
CALM = frozenset(
    {
        Reason.NO_PRESSURE, Reason.ALREADY_CHEAPEST, Reason.FAST_ENOUGH,
        Reason.KEPT_FOR_PERFORMANCE, Reason.OBSERVE_ONLY,
    }
)  # fmt: skip
"""Reasons of a hold about a resource that needs nobody any more."""
SETTLING_STEPS = frozenset({Step.APPLIED, Step.ALREADY_THERE, Step.GONE})


def reported_once(decision: Decision) -> bool:
    """Whether an escalation is about one moment: a rollback that was requested, or a known event."""
    answer = decision.answer
    event = isinstance(answer, Escalate) and answer.cause.startswith(KNOWN_EVENT)
    return event or decision.rollback_of is not None


def still_open(
    escalation: RecordSummary,
    decision: Decision | None,
    causes: Iterable[str],
    later: Iterable[RecordSummary],
) -> bool:
    """Whether an escalation is not settled since, by a landed act, a calm decision or the resource's end.

    `decision` is its decision, None if it cannot be read; `causes` are those that the owner need not be notified
    of again, and `later` the resource's records since then, newest first.
    """
    if decision is not None and isinstance(decision.answer, Escalate):
        cause = decision.answer.cause
        if cause not in causes:
            return False
        if cause.startswith(SPACE_CAUSE):
            return True  # it counts until the space is enough, whatever the load does
    for record in later:
        if record.at <= escalation.at:
            break
        if record.step in SETTLING_STEPS:
            return False
        if record.step is Step.DECIDED and record.outcome == "hold":
            if record.reason in CALM:
                return False
            if record.reason == escalation.reason:
                break
    return True
