"""Modification history, and how observed modifications and quiet reconciliations change the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from headroom.domain.catalog import PriceTable
from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, Modification
from headroom.domain.state.effect_time import SlowEffect, slower
from headroom.domain.state.owner_changes import after_owner_change
from headroom.domain.state.resource_state import (
    BY_HEADROOM,
    MODIFICATION_RETENTION,
    ROLLBACK,
    WINDOW,
    KnownModification,
    ResourceState,
)
from headroom.domain.state.stored_state import StoredState

SAME_START_TOLERANCE = timedelta(seconds=1)
"""AWS reports starts to the second; two that are no further apart are the same one."""
MOST_KEPT = 64
"""More than four a day for 15 days; it bounds the size of an item in the state table."""


def after_modifications(
    state: StoredState,
    seen: Sequence[KnownModification],
    *,
    now: datetime,
    full_until: datetime | None,
    owner_price: Decimal | None = None,
    prices: PriceTable | None = None,
    slow_effect: SlowEffect | None = None,
) -> StoredState:
    """The state with these modifications; the same object if nothing changes.

    With `prices`, those that are new and not Headroom's are the owner's changes, which move the
    baseline by what the owner set. `owner_price` resets the baseline: the owner set all of it. What
    is reserved for a call that may still take effect stays reserved.
    """
    before = state
    for each in seen:
        known = is_known_modification(state.modifications, each)
        if prices is not None and each.by not in (BY_HEADROOM, ROLLBACK) and not known:
            state = after_owner_change(state, each, prices)
    found = merge_modifications(state.modifications, seen, now)
    if found == merge_modifications(state.modifications, (), now):
        found = state.modifications  # dropping old modifications alone is no change
    reserved, enrolment = state.reserved, state.enrolment_usd
    if owner_price is not None:
        enrolment, open_id = owner_price, None
        state = replace(state, in_force_micro_usd=0, in_force_since=None, in_force_by=None)
        if state.chain is not None and state.chain.phase in ("intended", "unknown"):
            open_id = state.chain.decision_id
        reserved = tuple(r for r in reserved if r.decision_id == open_id)
    slowest = state.slow_effect
    if slow_effect is not None:
        slowest = slower(slowest, slow_effect)
    moved = replace(
        state, modifications=found, slow_effect=slowest, enrolment_usd=enrolment, reserved=reserved,
        slots_full_until=full_until or state.slots_full_until,
    )  # fmt: skip
    return before if moved == before else moved


def is_known_modification(
    modifications: Sequence[KnownModification], modification: KnownModification
) -> bool:
    """Whether one of `modifications` started when `modification` did."""
    return _known(modifications, modification) is not None


def _known(
    modifications: Sequence[KnownModification], modification: KnownModification
) -> KnownModification | None:
    at = modification.started_at
    return next((m for m in modifications if abs(m.started_at - at) <= SAME_START_TOLERANCE), None)


def merge_modifications(
    before: Sequence[KnownModification], seen: Sequence[KnownModification], now: datetime
) -> tuple[KnownModification, ...]:
    """Modifications of the last 15 days and the latest before, oldest first, without duplicates."""
    known = list(before)
    for modification in seen:
        same = _known(known, modification)
        if same is None:
            known.append(modification)
        else:  # it may have been seen before its originator or its target was known
            known[known.index(same)] = replace(
                same, by=originator_of(same.by, modification.by),
                origin=same.origin or modification.origin,
                target=same.target or modification.target,
            )  # fmt: skip
    known.sort(key=lambda m: m.started_at)
    since = now - MODIFICATION_RETENTION
    return tuple(m for m in known if m.started_at > since or m is known[-1])[-MOST_KEPT:]


def recent_modifications(
    modifications: Sequence[KnownModification], now: datetime
) -> tuple[tuple[KnownModification, ...], KnownModification | None]:
    """Those of the last 15 days; if there are none, the latest before."""
    recent = tuple(m for m in modifications if m.started_at > now - MODIFICATION_RETENTION)
    return recent, modifications[-1] if modifications and not recent else None


def unknown_modification(
    state: ResourceState, shown: Modification, now: datetime
) -> KnownModification | None:
    """The change that AWS shows, if it counts and the ledger does not know it yet; then somebody else made it.

    Of a resource that is not enrolled, changes of more than a day ago do not count.
    """
    change = KnownModification(
        started_at=shown.started_at, by="other", origin=shown.origin, target=shown.target
    )
    enrolled = state.enrolment_usd is not None
    if change.started_at <= now - (MODIFICATION_RETENTION if enrolled else WINDOW):
        return change if enrolled and _is_missed(state, change) else None
    return None if is_known_modification(state.modifications, change) else change


def _is_missed(state: ResourceState, change: KnownModification) -> bool:
    """Whether a change of more than 15 days ago is later than all that the ledger counted.

    Nobody reconciled the resource for that long. Where an earlier release forgot the latest of
    Headroom's own changes, this may be it, and does not count.
    """
    latest = state.modifications[-1] if state.modifications else state.earlier_modification
    if latest is None:
        return state.last_act_at is None and change.target != state.owner_configuration
    return change.started_at > latest.started_at + SAME_START_TOLERANCE


def originator_of(before: str, now: str) -> str:
    """The originator of a modification that was reported twice: Headroom knows its own."""
    return next((by for by in (ROLLBACK, BY_HEADROOM) if by in (before, now)), before)


def earliest_instant(*instants: datetime | None) -> datetime | None:
    return min((i for i in instants if i is not None), default=None)


def after_resource_gone(state: StoredState, at: datetime, *, another: bool = False) -> StoredState:
    """The state once its resource no longer exists; the same object if that was known.

    With `another` resource of the same name, only what links the records is kept. The caller also
    records the withdrawal of `state.unstarted_act`, and that it is `gone` where that is new.
    """
    moved = replace(
        without_resource(state), unstarted_act=None, breaker_opened_at=None, escalated_causes=(),
        notified=(),
    )  # fmt: skip
    if another:
        moved = StoredState(
            chain=moved.chain, fencing=moved.fencing, lease_until=moved.lease_until,
            due_at=moved.due_at, reserved=moved.reserved, last_reconciled_at=moved.last_reconciled_at,
            last_decision_id=moved.last_decision_id,
        )  # fmt: skip
    return state if moved == state else replace(moved, last_reconciled_at=at)


def without_resource(state: StoredState) -> StoredState:
    """The state with nothing in force, reserved or due, except for an open chain."""
    chain = state.chain
    held = None if chain is None else chain.decision_id
    return replace(
        state, in_force_micro_usd=0, in_force_since=None, in_force_by=None, waiting=None,
        due_at=None if chain is None else state.due_at,
        reserved=tuple(r for r in state.reserved if r.decision_id == held),
        approval_request=None, rollback=None, last_request_at=None,
        gone=state.gone or state.last_act_at is not None or state.rollback is not None,
    )  # fmt: skip


def reduced_from(
    modifications: Sequence[KnownModification], current: Configuration
) -> Configuration | None:
    """What the volume had before Headroom's latest change lowered it to `current`, else None."""
    latest = max(
        changes_of_settings(modifications, current), key=lambda m: m.started_at, default=None
    )
    if (
        latest is None
        or latest.by != BY_HEADROOM
        or latest.origin is None
        or latest.target != current
    ):
        return None
    before, now = capability(latest.origin), capability(current)
    lower = now.burst_iops < before.burst_iops or now.burst_mibps < before.burst_mibps
    return latest.origin if lower else None


def owners_choice(
    modifications: Sequence[KnownModification], current: Configuration
) -> Configuration | None:
    """What the volume had before Headroom's first change since anybody else's; None without one."""
    found: Configuration | None = None
    for change in reversed(changes_of_settings(modifications, current)):
        if change.by != BY_HEADROOM or change.origin is None:
            break
        found = change.origin
    return found


def changes_of_settings(
    modifications: Sequence[KnownModification], current: Configuration
) -> list[KnownModification]:
    """Modifications, oldest first, without those of others that left what is set as it was.

    RDS works on an instance: a change of one volume shows as work on the others, which nobody set. Work whose
    target was not known yet counts, if what came next began with something else.
    """
    found, after = [], current
    for change in sorted(modifications, key=lambda m: m.started_at, reverse=True):
        by_headroom = change.by in (BY_HEADROOM, ROLLBACK)
        if by_headroom or not change.origin == change.target == after:
            found.append(change)
        after = change.origin or after
    return found[::-1]
