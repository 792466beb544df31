"""The queue's turn: free places go to the most starved that wait, without any new alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from headroom.domain.catalog import QUOTAS, quota_limit
from headroom.domain.policy import Policy, PolicyUnreadable, frozen_until
from headroom.domain.resources import ResourceRef
from headroom.domain.state import AvailableConcurrency, ConcurrencyState, available_concurrency
from headroom.ports import Ports, QueuedResource

READ = 5_000
"""Entries of the queue that one run reads, 250 bytes each; whoever is further behind is looked at
when its own hour comes."""
LOOKS = 40
"""Looks that one run spends on the queue: so many places at most, or so many that do not want
theirs any more."""


def turns(
    ports: Ports,
    policy: Policy | PolicyUnreadable,
    clock: Callable[[], datetime],
    seen: set[str],
) -> Iterator[ResourceRef]:
    """Whose turn it is, one after the other, while there are places.

    `seen` are passed over, and whoever had its turn is added to them.

    The places are counted anew after every look that the caller makes. Without a free place, in a
    freeze or while a calendar is closed the queue is not even read. A zone or a quota that is full,
    or an hour that has not come, holds up nobody else. Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or _closed(ports, policy, clock()):
        return
    concurrency, left = ports.state_store.concurrency(), LOOKS
    places = available_concurrency(concurrency, policy.blast_radius, clock())
    for one in ports.state_store.queue(READ) if places.free else ():
        if one.ref.arn in seen or not _may(one, policy, concurrency, places, clock()):
            continue
        left -= 1
        seen.add(one.ref.arn)
        yield one.ref
        concurrency = ports.state_store.concurrency()
        places = available_concurrency(concurrency, policy.blast_radius, clock())
        if not places.free or not left:
            return


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
    """Whether a look at it now could end in a change, as far as the queue itself tells."""
    if not one.waiting.is_eligible(now) or one.waiting.zone in places.full_zones:
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
    """Whether there are places for its whole set, or as many as there ever are.

    A set that lacks one is not read by each of its volumes every minute.
    """
    if one.waiting.slots_needed == 1:
        return True
    here = sum(
        change.zone == one.waiting.zone for change in concurrency.in_flight_elsewhere("", now)
    )
    free = min(places.free, policy.max_in_flight_per_az - here)
    ever = min(policy.max_in_flight, policy.max_in_flight_per_az, policy.max_changes_per_hour)
    return free >= min(one.waiting.slots_needed, ever)
