"""How an owner's own change moves the price that increases are counted from.

The ledger keeps the owner's configuration: what the resource would be had Headroom never raised it. An
owner's change moves only what the owner set. Growing a volume by a GiB therefore frees nothing of the IOPS
that Headroom added. Pure. Money in USD per month.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from math import ceil

from headroom.domain.catalog import PriceTable, included, why_invalid
from headroom.domain.catalog.ebs import capability
from headroom.domain.resources import Configuration, Modification, PriceUnknown
from headroom.domain.state.resource_state import (
    BY_HEADROOM,
    ROLLBACK,
    WINDOW,
    KnownModification,
    ResourceState,
)
from headroom.domain.state.stored_state import StoredState, micro_usd, usd


def after_owner_change(
    state: StoredState, change: KnownModification, prices: PriceTable
) -> StoredState:
    """The state after a change by the owner that AWS shows as landed.

    Without the owner's configuration, or its price, all that counts stays counted. What is reserved
    for an open chain stays reserved.
    """
    before, after = change.origin, change.target
    if state.enrolment_usd is None or before is None or after is None:
        return state
    owner = _owner_after(state, before, after)
    try:
        now_usd = prices.monthly(after)
    except PriceUnknown:
        return replace(state, owner_configuration=owner)
    try:
        most = micro_usd(now_usd - prices.monthly(_least(after)))
        if owner is None and most <= 0:
            owner = after  # none of it can be Headroom's
        base = None if owner is None else prices.monthly(owner)
    except PriceUnknown:
        base, most = None, micro_usd(now_usd)
    if base is None:
        counted = min(state.resource_micro_usd, most)
        base = max(Decimal(0), now_usd - usd(counted))
    else:
        counted = max(0, micro_usd(now_usd - base))
    held = None if state.chain is None else state.chain.decision_id
    return replace(
        state, owner_configuration=owner, enrolment_usd=base, in_force_micro_usd=counted,
        in_force_since=state.in_force_since if counted else None,
        in_force_by=state.in_force_by if counted else None,
        reserved=tuple(each for each in state.reserved if each.decision_id == held),
    )  # fmt: skip


def at_present_prices(state: ResourceState, prices: PriceTable | None) -> ResourceState:
    """The state with increases counted from what the owner's configuration costs at `prices`.

    Where that is not known, they count from its price when it was last counted. A price that AWS changes, or a
    discount, then moves what the owner set and what a plan costs alike.
    """
    owner = state.owner_configuration
    if owner is None or prices is None or state.enrolment_usd is None:
        return state
    try:
        return replace(state, enrolment_usd=prices.monthly(owner))
    except PriceUnknown:
        return state


def never_made(state: ResourceState, shown: Modification | None, at: datetime) -> bool:
    """Whether an increase counts for a change that AWS shows nothing of a day later.

    A person released it, and nobody knew whether AWS had accepted it.
    """
    since = state.unproven_since
    if since is None or at < since + WINDOW or state.open_chain is not None:
        return False
    return shown is None or (not shown.in_flight and shown.started_at < since)


def _owner_after(
    state: StoredState, before: Configuration, after: Configuration
) -> Configuration | None:
    """The owner's configuration after the change; None if it is not known, so that nothing is freed.

    What a number that Headroom raised for one type is worth with another type, nobody can say: it stays
    counted as it was, but for no more than all numbers of the new type cost.

    AWS shows only the latest change. If it began with something else than the ledger knows, nobody saw what
    was between: the owner's, as Headroom's own changes are all on record.
    """
    owner, raised = state.owner_configuration, state.resource_micro_usd > 0
    if owner is None:
        return None if raised else after
    if not raised and state.last_act_at is None:
        return after
    left, latest = _left_by_headroom(state.modifications), _latest_target(state.modifications)
    steps = [(before, after)] if latest in (None, before) else [(latest, before), (before, after)]
    for origin, target in steps:
        found = _after_step(owner, origin, target, left, raised=raised)
        if found is None:
            return None
        owner, left = found, None if left is None else _at_most(left, target)
    return owner


def _after_step(
    owner: Configuration, before: Configuration, after: Configuration, left: Configuration | None,
    *, raised: bool,
) -> Configuration | None:  # fmt: skip
    """The owner's configuration after one change; None if it is not known while Headroom has `raised` something.

    Who sets numbers of a type that Headroom chose, or another type, has taken that type over.
    """
    same_type = after.volume_type is before.volume_type
    sets_numbers = (before.iops, before.throughput_mibps) != (after.iops, after.throughput_mibps)
    if owner.volume_type is not before.volume_type and (sets_numbers or not same_type):
        if not raised:
            return after
        owner = _with_type_of(before, owner)
    if raised and not same_type:
        return None if _is_left(owner, before, after) else after
    found = owners_settings(owner, before, after, left)
    return found if why_invalid(found) is None else None if raised else after


def _with_type_of(before: Configuration, owner: Configuration) -> Configuration:
    """What the owner had in the type that Headroom led to: of each number no more than the owner's type gave."""
    had, (least_iops, least_mibps) = capability(owner), included(before)
    iops, mibps = (
        max(ceil(least_iops), int(had.burst_iops)),
        max(ceil(least_mibps), int(had.burst_mibps)),
    )
    return replace(
        before, size_gib=owner.size_gib,
        iops=None if before.iops is None else min(before.iops, iops),
        throughput_mibps=None if before.throughput_mibps is None else min(before.throughput_mibps, mibps),
    )  # fmt: skip


def _least(configuration: Configuration) -> Configuration:
    """The same storage with the least IOPS and MiB/s of its type."""
    least_iops, least_mibps = map(ceil, included(configuration))
    iops, mibps = configuration.iops, configuration.throughput_mibps
    return replace(
        configuration, iops=None if iops is None else min(iops, least_iops),
        throughput_mibps=None if mibps is None else min(mibps, least_mibps),
    )  # fmt: skip


def _latest_target(modifications: Sequence[KnownModification]) -> Configuration | None:
    latest = max(modifications, key=lambda each: each.started_at, default=None)
    return None if latest is None else latest.target


def _left_by_headroom(modifications: Sequence[KnownModification]) -> Configuration | None:
    """What the latest of Headroom's own changes led to, less what was lowered since; None if none is known."""
    left: Configuration | None = None
    for each in sorted(modifications, key=lambda one: one.started_at):
        if each.by in (BY_HEADROOM, ROLLBACK):
            left = each.target
        elif left is not None and each.target is not None:
            left = _at_most(left, each.target)
    return left


def _is_left(owner: Configuration, before: Configuration, after: Configuration) -> bool:
    """Whether the owner left any of what Headroom added to a number."""
    now = owners_settings(owner, before, after)
    return (after.iops or 0) > (now.iops or 0) or (
        (after.throughput_mibps or 0) > (now.throughput_mibps or 0)
    )


def _at_most(first: Configuration, found: Configuration) -> Configuration:
    """The lower of each of their numbers; everything else of the first."""
    numbers = (
        (first.size_gib, found.size_gib), (first.iops, found.iops),
        (first.throughput_mibps, found.throughput_mibps),
    )  # fmt: skip
    size, iops, mibps = (
        mine if mine is None or there is None else min(mine, there) for mine, there in numbers
    )
    return replace(first, size_gib=size or 0, iops=iops, throughput_mibps=mibps)


def owners_settings(
    owner: Configuration, before: Configuration, after: Configuration,
    left: Configuration | None = None,
) -> Configuration:  # fmt: skip
    """The owner's configuration after the owner changed the resource from `before` to `after`.

    A number that the owner raised rises by as much, and what Headroom had added to it stays Headroom's.
    A number that the owner lowered first loses what the owner had raised beyond what Headroom `left`, then what
    Headroom had added. What the owner left as it was stays as it was. A missing number counts as zero: the type
    derived it.
    """
    same = after.volume_type is before.volume_type
    if left is None or not same or left.volume_type is not before.volume_type:
        left = before
    return Configuration(
        volume_type=owner.volume_type if same else after.volume_type,
        size_gib=_number(owner.size_gib, before.size_gib, after.size_gib, left.size_gib) or 0,
        iops=_number(owner.iops, before.iops, after.iops, left.iops),
        throughput_mibps=_number(
            owner.throughput_mibps, before.throughput_mibps, after.throughput_mibps,
            left.throughput_mibps,
        ),
        database=after.database,
    )  # fmt: skip


def _number(
    owner: int | None, before: int | None, after: int | None, left: int | None
) -> int | None:
    if after == before:
        return owner
    if after is None:
        return None
    was = before or 0
    own = max(0, was - (left or 0))
    return min(after, (owner or 0) + max(-own, after - was))
