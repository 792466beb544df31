"""What stands against a plan, compared and in time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from headroom.domain.guardrails.verdicts import Guardrail, PlanJudgement, Verdict

CONCURRENCY_GUARDRAILS = frozenset(
    {Guardrail.MAX_IN_FLIGHT, Guardrail.MAX_IN_FLIGHT_PER_AZ, Guardrail.MAX_CHANGES_PER_HOUR}
)
"""Guardrails that clear when another change ends; the sweep sees whether they would."""
QUEUEABLE_GUARDRAILS = CONCURRENCY_GUARDRAILS | {
    Guardrail.REGIONAL_QUOTA, Guardrail.CHANGE_WINDOW, Guardrail.FREEZE, Guardrail.CALENDAR,
}  # fmt: skip


def distance(judgement: PlanJudgement) -> tuple[int, int, int]:
    """How far a plan is from being allowed; one worth taking comes before any that is not."""
    blocking = [v for v in judgement.blocking if v.guardrail is not Guardrail.MODE]
    if any(v.guardrail is Guardrail.FULL_COPY for v in blocking):  # which grows: one permission
        blocking = [v for v in blocking if v.guardrail is not Guardrail.GROWTH]
    for_good = sum(not v.temporary for v in blocking)
    worthless = sum(v.guardrail is Guardrail.COST_BENEFIT for v in blocking)
    return worthless, for_good, len(blocking)


def all_clear_at(blocking: Sequence[Verdict]) -> datetime | None:
    """When all of them have cleared, None if that is not known of one.

    Nobody knows when a place is free: where more is against a plan, places are asked for then.
    """
    lasting = [v for v in blocking if v.guardrail not in CONCURRENCY_GUARDRAILS] or blocking
    known = [v.clears_at for v in lasting if v.clears_at is not None]
    return max(known).astimezone(UTC) if known and len(known) == len(lasting) else None
