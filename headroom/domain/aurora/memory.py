"""What is remembered of a cluster between looks: AWS tells its mode, and neither since when nor why.

Each look is laid beside the one before. A change began when we called for it, which is noted before
the call, or when it was first seen. What whole days billed is noted while it is published, because AWS
does not say whether it goes on under I/O-Optimized.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.decision import BilledIoDay, ModeSwitch
from headroom.domain.resources import StorageMode
from headroom.domain.workload import UsageDay

ATTEMPT_TTL = timedelta(hours=2)
"""How long after a call a change to its very target is taken for its effect."""
KEPT_DAYS = 45
"""More than the 30 days for which the gate is shut, and fourteen before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedMode:
    """What RDS shows of a cluster's mode at one instant."""

    identity: str
    """DbClusterResourceId: another cluster may have the same name later."""
    mode: StorageMode
    pending: StorageMode | None
    applying: bool
    """Whether RDS works on the cluster, so that what is pending is on its way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterModeChange:
    """A change of mode: called for by us, or seen."""

    at: datetime
    origin: StorageMode
    target: StorageMode


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterMemory:
    """What the looks so far left behind. A stored one outlives the release that wrote it."""

    identity: str
    mode: StorageMode
    """The mode in force, or on its way, at the last look."""
    watched_from: datetime
    changed: ClusterModeChange | None = None
    """The latest change that was seen."""
    attempt: ClusterModeChange | None = None
    """Our last call, noted before it was sent: a claim that only RDS can make true."""
    days: tuple[BilledIoDay, ...] = ()
    switch: ModeSwitch | None = None
    """The last change of ours that landed."""
    named_at: datetime | None = None
    """When it was first seen under a name that another cluster had before; None where none had."""

    @property
    def first_seen_in_mode(self) -> datetime | None:
        """Since when the mode is known; None for Standard that nobody saw begin.

        Standard is where clusters begin and bills what it measures; I/O-Optimized of which nobody
        knows since when counts from when it was first seen.
        """
        if self.changed is not None:
            return self.changed.at
        return self.watched_from if self.mode is StorageMode.IO_OPTIMIZED else None


def remember(before: ClusterMemory | None, seen: ObservedMode, at: datetime) -> ClusterMemory:
    """What to remember after a look at `at`; the same look again changes nothing."""
    if before is None or before.identity != seen.identity:
        return ClusterMemory(
            identity=seen.identity, mode=seen.mode, watched_from=at,
            named_at=None if before is None else at,
        )  # fmt: skip
    mode = _heads_for(before, seen, at)
    if mode is before.mode:
        return before
    attempt = before.attempt
    ours = (
        attempt is not None
        and (attempt.origin, attempt.target) == (before.mode, mode)
        and at - attempt.at <= ATTEMPT_TTL
    )
    began = attempt.at if attempt is not None and ours else at
    return replace(
        before, mode=mode, changed=ClusterModeChange(at=began, origin=before.mode, target=mode),
        attempt=None,
    )  # fmt: skip


def _heads_for(before: ClusterMemory, seen: ObservedMode, at: datetime) -> StorageMode:
    """The mode in force, or the one that RDS is on its way to.

    What somebody left pending for a maintenance window is on no way yet.
    """
    if seen.pending is None or seen.pending is seen.mode:
        return seen.mode
    attempt = before.attempt
    called = (
        attempt is not None and attempt.target is seen.pending and at - attempt.at <= ATTEMPT_TTL
    )
    begun = before.mode is seen.pending
    return seen.pending if seen.applying or called or begun else seen.mode


def with_days(before: ClusterMemory, days: Iterable[UsageDay], mode: StorageMode) -> ClusterMemory:
    """The memory with these whole days, the last KEPT_DAYS of all; the very same one without news."""
    known = {day.start: day for day in before.days}
    for day in days:
        known.setdefault(day.start, BilledIoDay(start=day.start, mode=mode, ios=round(day.ios, 1)))
    kept = tuple(known[start] for start in sorted(known)[-KEPT_DAYS:])
    return before if kept == before.days else replace(before, days=kept)
