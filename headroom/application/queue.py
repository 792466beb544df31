"""The queue's turn: free places go to the most starved that wait, without any new alarm."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.policy import Policy, PolicyUnreadable, frozen_until
from headroom.domain.resources import ResourceRef, Volume
from headroom.domain.state import (
    AvailableConcurrency,
    BlastRadius,
    ConcurrencyState,
    InFlight,
    available_concurrency,
)
from headroom.ports import Ports, QueuedResource

READ = 5_000
"""Entries of the queue that one run reads, 250 bytes each; whoever is further behind is reconciled
when its own hour comes."""
MOST_AT_ONCE = 40
"""Reconciliations that one run spends on the queue."""


def next_in_queue(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, seen: set[str],
    *, most: int = MOST_AT_ONCE,
) -> tuple[ResourceRef, ...]:  # fmt: skip
    """Who may have the free places, the most starved first; who is chosen is added to `seen`.

    `seen` are passed over. Without a free place, in a freeze or while a calendar is closed the queue
    is not even read. A zone or a quota that is full, or an hour that has not come, holds up nobody
    else. Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or _closed(ports, policy, now):
        return ()
    concurrency = ports.state_store.concurrency()
    chosen: list[ResourceRef] = []
    queue = ports.state_store.queue(READ) if _free(concurrency, policy, now).free else ()
    for one in queue:
        if len(chosen) == most or not _free(concurrency, policy, now).free:
            break
        places = _free(concurrency, policy, now, saves=one.waiting.saves)
        if one.ref.arn in seen or not _may(one, policy, concurrency, places, now):
            continue
        seen.add(one.ref.arn)
        chosen.append(one.ref)
        concurrency = _with(concurrency, one, now)
    return tuple(chosen)


def others_first(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, volume: Volume, starved: int
) -> bool:
    """Whether those that wait and starve as long, or longer, would take every place that `volume` could have.

    Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or _closed(ports, policy, now):
        return False
    concurrency = ports.state_store.concurrency()
    if not _room(concurrency, policy, volume, now):
        return False
    for one in ports.state_store.queue(READ):
        places = _free(concurrency, policy, now, saves=one.waiting.saves)
        if one.waiting.starved_minutes < starved or one.ref == volume.ref:
            continue
        if _may(one, policy, concurrency, places, now):
            concurrency = _with(concurrency, one, now)
            if not _room(concurrency, policy, volume, now):
                return True
    return False


def _room(concurrency: ConcurrencyState, policy: Policy, volume: Volume, now: datetime) -> bool:
    places = _free(concurrency, policy, now)
    return places.free > 0 and volume.availability_zone not in places.full_zones


def _free(
    concurrency: ConcurrencyState, policy: Policy, now: datetime, *, saves: bool = False
) -> AvailableConcurrency:
    return available_concurrency(concurrency, _limits(policy, saves=saves), now)


def _limits(policy: Policy, *, saves: bool) -> BlastRadius:
    """The limits; for what only saves money, without the places that are kept for load."""
    return policy.blast_radius.for_savings if saves else policy.blast_radius


def _with(concurrency: ConcurrencyState, one: QueuedResource, now: datetime) -> ConcurrencyState:
    """The changes under way as they would be with its own, or those of its whole set."""
    arns = [f"{one.ref.arn}#{n}" if n else one.ref.arn for n in range(one.waiting.slots_needed)]
    more = tuple(
        InFlight(
            resource=arn, decision_id="", since=now, zone=one.waiting.zone,
            counts=one.waiting.counts,
        )
        for arn in arns
    )  # fmt: skip
    return replace(
        concurrency, in_flight=concurrency.in_flight + more,
        starts=concurrency.starts + (now,) * len(arns),
    )  # fmt: skip


def _closed(ports: Ports, policy: Policy, now: datetime) -> bool:
    """Whether nothing at all may be started now."""
    if frozen_until(policy.freezes, now) is not None:
        return True
    seen = ports.calendars.seen(policy.calendars, now) if policy.calendars else ()
    return not all(calendar.open for calendar in seen)


def _may(
    one: QueuedResource,
    policy: Policy,
    concurrency: ConcurrencyState,
    places: AvailableConcurrency,
    now: datetime,
) -> bool:
    """Whether its reconciliation now could end in a change, as far as the queue itself shows."""
    if not places.free or not one.waiting.is_eligible(now) or one.waiting.zone in places.full_zones:
        return False
    if not _enough(one, policy, concurrency, places, now):
        return False
    return all(
        concurrency.quota_in_use(name, one.ref.arn, now) + amount
        <= quota_limit(name, policy.quotas)
        for name, amount in one.waiting.counts
        if name in QUOTAS
    )


def _enough(
    one: QueuedResource,
    policy: Policy,
    concurrency: ConcurrencyState,
    places: AvailableConcurrency,
    now: datetime,
) -> bool:
    """Whether there are places for its whole set, or all places that exist.

    A set that lacks one is not read by each of its volumes every minute.
    """
    if one.waiting.slots_needed == 1:
        return True
    here = sum(
        change.zone == one.waiting.zone for change in concurrency.in_flight_elsewhere("", now)
    )
    limits = _limits(policy, saves=one.waiting.saves)
    free = min(places.free, limits.max_in_flight_per_az - here)
    ever = min(limits.max_in_flight, limits.max_in_flight_per_az, limits.max_changes_per_hour)
    return free >= min(one.waiting.slots_needed, ever)
