"""The price that increases count from, and an increase that AWS never made. Pure."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from headroom.domain.decision import Decision
from headroom.domain.state import StoredState, micro_usd, never_made


def owners_price(state: StoredState, decision: Decision) -> Decimal | None:
    """The price of what the owner set: by the decision's prices, unless the owner changed it since."""
    known = decision.resource_state
    if known.owner_configuration is None or known.owner_configuration != state.owner_configuration:
        return state.enrolment_usd
    return state.enrolment_usd if known.enrolment_usd is None else known.enrolment_usd


def without_unmade(state: StoredState, decision: Decision, base: Decimal | None) -> StoredState:
    """The state once AWS shows nothing of the change that counts: only what costs more than `base` counts."""
    known, now_usd = decision.resource_state, decision.current_usd
    if base is None or now_usd is None or decision.cluster is not None:
        return state
    unmade = never_made(known, decision.observation.modification, decision.at)
    if not unmade or known.unproven_since != state.in_force_since:
        return state
    counted = min(state.in_force_micro_usd, max(0, micro_usd(now_usd - base)))
    return replace(state, in_force_micro_usd=counted, in_force_since=None, in_force_by=None)
