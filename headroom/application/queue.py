"""The queue's turn: free places go to the most starved that wait, without any new alarm."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.policy import Policy, PolicyUnreadable, frozen_until
from headroom.domain.resources import ResourceRef, Volume
from headroom.domain.state import (
    AvailableConcurrency,
    BlastRadius,
    InFlight,
    QueueEntry,
    available_concurrency,
)
from headroom.ports import Ports, QueuedResource

READ = 5_000
"""Entries of the queue that one run reads, 250 bytes each; whoever is further behind is reconciled
when its own hour comes."""
HEAD = 100
"""Entries of its head that are read for a change that only saves money."""
MOST_AT_ONCE = 40
"""Reconciliations that one run spends on the queue."""


def next_in_queue(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, seen: set[str],
    *, most: int = MOST_AT_ONCE,
) -> tuple[ResourceRef, ...]:  # fmt: skip
    """Who may have the free places, the most starved first; who is chosen is added to `seen`.

    `seen` are passed over. Without a free place, in a freeze or while a calendar is closed the queue
    is not even read. A zone, a quota or a budget that is full, or an hour that has not come, holds up nobody
    else. Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or _closed(ports, policy, now):
        return ()
    left = _Left(ports, policy, now)
    chosen: list[ResourceRef] = []
    queue = ports.state_store.queue(READ) if left.places().free else ()
    for one in queue:
        if len(chosen) == most or not left.places().free:
            break
        if one.ref.arn in seen or not left.allows(one):
            continue
        seen.add(one.ref.arn)
        chosen.append(one.ref)
        left.take(one)
    return tuple(chosen)


def others_first(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, volume: Volume, starved: int
) -> bool:
    """Whether those that wait and starve as long, or longer, would take every place that `volume` could have.

    Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or _closed(ports, policy, now):
        return False
    left = _Left(ports, policy, now)
    if not left.has_room(volume):
        return False
    for one in ports.state_store.queue(READ):
        if one.waiting.starved_minutes < starved or one.ref == volume.ref:
            continue
        if left.allows(one):
            left.take(one)
            if not left.has_room(volume):
                return True
    return False


def kept_for_a_set(ports: Ports, policy: Policy, now: datetime) -> int:
    """How many places the first striped set needs that waits for its load; 0 if none does. Raises ReadFailed."""
    head = ports.state_store.queue(HEAD)
    return next((one.waiting.slots_needed for one in head if _set_for_load(one.waiting, now)), 0)


def _set_for_load(waiting: QueueEntry, now: datetime) -> bool:
    more = waiting.slots_needed > 1 and waiting.for_places
    return more and not waiting.saves and waiting.is_eligible(now)


class _Left:
    """The places and the budget that are left while the queue is gone through."""

    def __init__(self, ports: Ports, policy: Policy, now: datetime) -> None:
        self._ports, self._policy, self._now = ports, policy, now
        self._concurrency = ports.state_store.concurrency()
        self._kept = 0
        self._account_usd: Decimal | None = None

    def places(self, waiting: QueueEntry | None = None) -> AvailableConcurrency:
        """Those that `waiting` may use, or that anything may."""
        return available_concurrency(self._concurrency, self._limits(waiting), self._now)

    def has_room(self, volume: Volume) -> bool:
        """Whether there is a place for a change of `volume`."""
        places = self.places()
        return places.free > 0 and volume.availability_zone not in places.full_zones

    def allows(self, one: QueuedResource) -> bool:
        """Whether its reconciliation now could end in a change, as far as the queue itself shows.

        Once a set for load lacks places, what only saves money leaves it as many as it needs.
        """
        waiting, places = one.waiting, self.places(one.waiting)
        if not waiting.is_eligible(self._now):
            return False
        if not places.free or waiting.zone in places.full_zones or not self._enough(one):
            if _set_for_load(waiting, self._now):
                self._kept = max(self._kept, waiting.slots_needed)
            return False
        return self._in_budget(one) and all(
            self._concurrency.quota_in_use(name, one.ref.arn, self._now)
            + amount * waiting.slots_needed
            <= quota_limit(name, self._policy.quotas)
            for name, amount in waiting.counts
            if name in QUOTAS
        )

    def take(self, one: QueuedResource) -> None:
        """Count its change as under way, or those of its whole set."""
        waiting = one.waiting
        arns = [f"{one.ref.arn}#{n}" if n else one.ref.arn for n in range(waiting.slots_needed)]
        more = tuple(
            InFlight(
                resource=arn, decision_id="", since=self._now, zone=waiting.zone,
                counts=waiting.counts,
            )
            for arn in arns
        )  # fmt: skip
        self._concurrency = replace(
            self._concurrency, in_flight=self._concurrency.in_flight + more,
            starts=self._concurrency.starts + (self._now,) * len(arns),
        )  # fmt: skip
        if waiting.adds_usd is not None:  # it may take all that is left of the budget
            self._account_usd = self._policy.account_increase_usd

    def _limits(self, waiting: QueueEntry | None) -> BlastRadius:
        """The limits; for what only saves money, without the places that are kept for load."""
        limits = self._policy.blast_radius
        if waiting is None or not waiting.saves:
            return limits
        return limits.for_savings(waiting.slots_needed, kept=self._kept)

    def _enough(self, one: QueuedResource) -> bool:
        """Whether there are places for its whole set, or all places that exist.

        A set that lacks one is not read by each of its volumes every minute.
        """
        waiting = one.waiting
        if waiting.slots_needed == 1:
            return True
        under_way = self._concurrency.in_flight_elsewhere("", self._now)
        here = sum(change.zone == waiting.zone for change in under_way)
        limits = self._limits(waiting)
        free = min(self.places(waiting).free, limits.max_in_flight_per_az - here)
        ever = min(limits.max_in_flight, limits.max_in_flight_per_az, limits.max_changes_per_hour)
        return free >= min(waiting.slots_needed, ever)

    def _in_budget(self, one: QueuedResource) -> bool:
        adds, most = one.waiting.adds_usd, self._policy.account_increase_usd
        return adds is None or self._increases(one) + adds <= most

    def _increases(self, one: QueuedResource) -> Decimal:
        """The sum of the account's increases, which is read once."""
        if self._account_usd is None:
            state = self._ports.state_store.resource_state(one.ref, self._now)
            self._account_usd = state.account_increase_usd
        return self._account_usd


def _closed(ports: Ports, policy: Policy, now: datetime) -> bool:
    """Whether nothing at all may be started now."""
    if frozen_until(policy.freezes, now) is not None:
        return True
    seen = ports.calendars.seen(policy.calendars, now) if policy.calendars else ()
    return not all(calendar.open for calendar in seen)
