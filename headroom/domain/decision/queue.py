"""The queue: which decisions wait for a concurrency slot or for the schedule, and in which order.

Queued decisions are blocked only by limits of the whole account or Region. The most starved
resource goes first, then the one that has waited longest.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from headroom.domain.decision.decide import Decision
from headroom.domain.guardrails import (
    CONCURRENCY_GUARDRAILS,
    QUEUEABLE_GUARDRAILS,
    Guardrail,
    Verdict,
    only_saves,
)
from headroom.domain.state import QueueEntry, quota_usage

HANDLED_BY_QUEUE = CONCURRENCY_GUARDRAILS | {Guardrail.FREEZE, Guardrail.CALENDAR}
"""Guardrails that the sweep checks itself before it dequeues anything."""
MOST_PRESSED = 9_999
NEARLY_FULL = timedelta(hours=24)


def queue_entry_of(decision: Decision) -> QueueEntry | None:
    """The queue entry of a decision, None when it is not queued."""
    plan = getattr(decision.answer, "proposed_plan", None)
    judged = next((j for j in decision.judgements if j.plan == plan), None)
    if plan is None or judged is None or not decision.effective.enrolled:
        return None
    blocking = judged.blocking
    if not blocking or any(
        v.guardrail not in QUEUEABLE_GUARDRAILS or not v.temporary for v in blocking
    ):
        return None
    since = decision.resource_state.queued_since
    return QueueEntry(
        since=decision.at if since is None else since,
        starved_minutes=max(decision.demand.pressed_minutes, _short_of_space(decision)),
        zone=decision.observation.volume.availability_zone,
        not_before=_not_before(blocking),
        counts=quota_usage(plan.origin, plan.target),
        saves=decision.group is None and only_saves(plan, decision.diagnosis),
        slots_needed=1 if decision.group is None else max(1, len(decision.group.members)),
    )


def urgency(*, enrolled: bool, pressed_minutes: int, empty_percent: float = 0.0) -> int:
    """Orders what is due: what may be changed before what may not, then by starved minutes, then by
    how empty its bucket of credits is."""
    most = min(max(pressed_minutes, 0), MOST_PRESSED)
    return (enrolled * (MOST_PRESSED + 1) + most) * 101 + int(min(max(empty_percent, 0), 100))


def urgency_of(decision: Decision) -> int:
    """The urgency of the next reconciliation after this one."""
    pressed = max(decision.demand.pressed_minutes, _short_of_space(decision))
    return urgency(enrolled=decision.effective.enrolled, pressed_minutes=pressed)


def _short_of_space(decision: Decision) -> int:
    """By how many minutes a database is less than a day from being full."""
    full_at = None if decision.space is None else decision.space.full_at
    if full_at is None:
        return 0
    return max(0, int((decision.at + NEARLY_FULL - full_at).total_seconds() // 60))


def _not_before(blocking: tuple[Verdict, ...]) -> datetime | None:
    """When the guardrails clear that the sweep does not check itself."""
    found = [v.clears_at for v in blocking if v.guardrail not in HANDLED_BY_QUEUE]
    return max((at for at in found if at is not None), default=None)
