"""What is remembered of a cluster between observations: AWS reports its mode, not since when or why.

Each observation is compared with the previous one. A change began when we requested it, which is
recorded before the call, or when it was first observed. The I/O of whole days is recorded while it is
published, because AWS does not say whether it stays published under I/O-Optimized.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.decision import BilledIoDay, ModeSwitch
from headroom.domain.resources import Member, SeenMembers, StorageMode
from headroom.domain.workload import UsageDay, midnight

REQUEST_TTL = timedelta(hours=2)
"""How long after a request a change to exactly its target counts as its effect."""
SETTLES = timedelta(minutes=10)
"""How long after a change was reported RDS may still report the mode before it."""
MEMBERS_COUNT = timedelta(days=7)
"""How long members that are gone count: a reader that is replaced is back within days."""
MOST_SETS = 12
"""Sets of members that are remembered at most."""
KEPT_DAYS = 45
"""The 30 days between changes to I/O-Optimized, and fourteen days before them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMode:
    """A cluster's mode as RDS reports it at one instant."""

    identity: str
    """DbClusterResourceId: another cluster may have the same name later."""
    mode: StorageMode
    pending: StorageMode | None
    applying: bool
    """Whether the cluster is `modifying`, so that RDS may be applying what is pending.

    In any other status, as during the nightly backup, it waits as before.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterModeChange:
    """A change of mode: requested by us, or observed."""

    at: datetime
    origin: StorageMode
    target: StorageMode


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """What earlier observations showed. A stored one outlives the release that wrote it."""

    identity: str
    mode: StorageMode
    """The mode in force, or being applied, at the last observation."""
    watched_from: datetime
    last_change: ClusterModeChange | None = None
    """The latest change that was observed."""
    last_request: ClusterModeChange | None = None
    """Our last request, recorded before it was sent: it may never have reached RDS."""
    days: tuple[BilledIoDay, ...] = ()
    switch: ModeSwitch | None = None
    """The last change of ours that landed."""
    renamed_at: datetime | None = None
    """When it was first observed under a name that another cluster had before; None if none had."""
    changed_at: datetime | None = None
    """When `mode` was first observed in place of the other one; None if it never was."""
    members: tuple[SeenMembers, ...] = ()
    """Those of the last days, the latest last."""

    @property
    def first_seen_in_mode(self) -> datetime | None:
        """Since when the mode is known; None for Standard whose beginning nobody observed.

        Clusters begin in Standard, which bills what it measures. I/O-Optimized of unknown age counts
        from when it was first observed.
        """
        if self.last_change is not None:
            return self.last_change.at
        return self.watched_from if self.mode is StorageMode.IO_OPTIMIZED else None


def remember(before: ClusterMemory | None, observed: ObservedMode, at: datetime) -> ClusterMemory:
    """The memory after an observation at `at`; the same observation again changes nothing."""
    if before is None or before.identity != observed.identity:
        return ClusterMemory(
            identity=observed.identity, mode=observed.mode, watched_from=at,
            renamed_at=None if before is None else at,
        )  # fmt: skip
    mode = _effective_mode(before, observed, at)
    if mode is before.mode:
        return before
    request = _recent_request(before, at)
    ours = request is not None and (request.origin, request.target) == (before.mode, mode)
    if not ours and before.changed_at is not None and at - before.changed_at <= SETTLES:
        return (
            before  # RDS's reads are eventually consistent: the answer is older than the one before
        )
    began = request.at if request is not None and ours else at
    change = ClusterModeChange(at=began, origin=before.mode, target=mode)
    return replace(before, mode=mode, last_change=change, last_request=None, changed_at=at)


def _recent_request(before: ClusterMemory, at: datetime) -> ClusterModeChange | None:
    request = before.last_request
    return request if request is not None and at - request.at <= REQUEST_TTL else None


def _effective_mode(before: ClusterMemory, observed: ObservedMode, at: datetime) -> StorageMode:
    """The mode in force, or the one that RDS is applying.

    A change that waits for a maintenance window is not being applied yet.
    """
    pending, request = observed.pending, _recent_request(before, at)
    if pending is None or pending is observed.mode:
        return observed.mode
    requested = request is not None and request.target is pending
    begun = before.mode is pending
    return pending if observed.applying or requested or begun else observed.mode


def with_days(before: ClusterMemory, days: Iterable[UsageDay], mode: StorageMode) -> ClusterMemory:
    """The memory with these whole days, at most KEPT_DAYS; the same object if nothing is new."""
    known = {day.start: day for day in before.days}
    for day in days:
        known.setdefault(day.start, BilledIoDay(start=day.start, mode=mode, ios=round(day.ios, 1)))
    kept = tuple(known[start] for start in sorted(known)[-KEPT_DAYS:])
    return before if kept == before.days else replace(before, days=kept)


def with_members(before: ClusterMemory, members: tuple[Member, ...], at: datetime) -> ClusterMemory:
    """The memory with the members of now, and those of the last days; the same object if nothing is new."""
    day = midnight(at)
    others = [
        seen
        for seen in before.members
        if seen.members != members and day - seen.day <= MEMBERS_COUNT
    ]
    kept = (*others[1 - MOST_SETS :], SeenMembers(members=members, day=day))
    return before if kept == before.members else replace(before, members=kept)
