"""Guardrails for what people agreed to and what they had undone."""

from __future__ import annotations

from decimal import Decimal

from headroom.domain.guardrails.case import Case, allowed, verdict_of
from headroom.domain.guardrails.verdicts import Guardrail, Relation, Verdict
from headroom.domain.state import plain_cents


def approval(case: Case) -> Verdict:
    """Block an approved change that now costs more than the person approved."""
    approved = case.approved_usd
    if approved is None:
        return allowed(Guardrail.APPROVAL, "nothing approved yet")
    return approved_price(case.plan.price_change_usd, approved)


def approved_price(price_change_usd: Decimal, approved_usd: Decimal) -> Verdict:
    """The verdict on a price beside the approved one, at the cents that people were shown."""
    now, most = plain_cents(price_change_usd), plain_cents(approved_usd)
    return verdict_of(Guardrail.APPROVAL, Relation.AT_MOST, now, most, "USD/month")


def rolled_back(case: Case) -> Verdict:
    """Block every change of a resource for a day after its rollback.

    Whoever asked for the rollback meant it.
    """
    last, at = case.resource_state.rolled_back, case.observation.at
    waiting = last is not None and at < last.until
    return verdict_of(
        Guardrail.ROLLED_BACK, Relation.IS, "rolled back recently" if waiting else "no recent rollback",
        "no recent rollback", "",
        f"the change of {last.decision_id} was undone at {last.at:%Y-%m-%d %H:%M} UTC"
        if last is not None and waiting
        else "",
        clears_at=last.until if last is not None and waiting else None, temporary=True,
    )  # fmt: skip
