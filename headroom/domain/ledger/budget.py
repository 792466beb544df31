"""How much of the account's budget each resource uses.

Pure. Money in USD per month; the ledger counts in whole micro-USD (domain/state/stored_state.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headroom.domain.resources import ResourceRef
from headroom.domain.state import StoredState, usd


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """What one resource uses of its account's budget: the higher of the two amounts counts."""

    ref: ResourceRef
    enrolment_usd: Decimal | None
    """Price of what the owner set, at enrolment and since, without what Headroom added."""
    in_force_usd: Decimal
    """Increase of what landed."""
    reserved_usd: Decimal
    """The most that changes in flight may add."""
    counted_usd: Decimal
    since: datetime | None
    """When its change was accepted or intended; None if an earlier release wrote it."""
    decision_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The account's sum and its resources, the highest first."""

    sum_usd: Decimal
    """The sum that every decision is judged by."""
    holdings: tuple[Holding, ...]
    free: int
    """Enrolled resources that use nothing of it."""

    @property
    def parts_usd(self) -> Decimal:
        """The sum over the resources."""
        return sum((each.counted_usd for each in self.holdings), Decimal(0))

    @property
    def drift_usd(self) -> Decimal:
        """By how much the account's sum exceeds that of its resources; anything but zero is an error."""
        return self.sum_usd - self.parts_usd


def budget(sum_micro_usd: int, states: Iterable[tuple[ResourceRef, StoredState]]) -> Budget:
    """The budget that these states make."""
    holdings, free = list[Holding](), 0
    for ref, state in states:
        if state.resource_micro_usd:
            holdings.append(_holding(ref, state))
        elif state.enrolment_usd is not None:
            free += 1
    holdings.sort(key=lambda each: (-each.counted_usd, each.ref.arn))
    return Budget(sum_usd=usd(sum_micro_usd), holdings=tuple(holdings), free=free)


def _holding(ref: ResourceRef, state: StoredState) -> Holding:
    most = max(state.reserved, key=lambda each: each.micro_usd, default=None)
    since, decision_id = state.in_force_since, state.in_force_by
    if most is not None and most.micro_usd >= state.in_force_micro_usd:
        decision_id, since = most.decision_id, None
        if state.chain is not None and state.chain.decision_id == decision_id:
            since = state.chain.since
    return Holding(
        ref=ref, enrolment_usd=state.enrolment_usd, in_force_usd=usd(state.in_force_micro_usd),
        reserved_usd=usd(0 if most is None else most.micro_usd),
        counted_usd=usd(state.resource_micro_usd), since=since, decision_id=decision_id,
    )  # fmt: skip
