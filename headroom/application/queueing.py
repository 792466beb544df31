"""The queue's turn: free places go to the most starved that wait, without any new alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.resources import ResourceRef
from headroom.domain.traffic import Room, room
from headroom.ports import Ports

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

    The places are counted anew after every look that the caller makes. Without a free place the
    queue is not even read. A zone that is full, or an hour that has not come, holds up nobody else.
    Raises ReadFailed.
    """
    if isinstance(policy, PolicyUnreadable) or not _room(ports, policy, clock()).free:
        return
    left = LOOKS
    for one in ports.standings.queue(READ):
        now = clock()
        if one.ref.arn in seen or not one.waiting.may(now):
            continue
        places = _room(ports, policy, now)
        if not places.free or not left:
            return
        if one.waiting.zone not in places.full_zones:
            left -= 1
            seen.add(one.ref.arn)
            yield one.ref


def _room(ports: Ports, policy: Policy, now: datetime) -> Room:
    return room(ports.standings.traffic(), policy.blast_radius, now)
