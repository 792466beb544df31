"""Which change of a database's storage is under way, from what RDS shows and what was seen before.

RDS keeps no list of modifications: it shows the settings in force, those it is moving to
(PendingModifiedValues), and whether it works on the storage. When a change began it does not say.
So each look is laid beside the one before; a change begins when it is asked for by us, or when it
is first seen, and its start stays what it was. Source: RDS API 2014-10-31, DBInstance and DBCluster
(botocore 1.44).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from headroom.domain.resources import Configuration, Modification, ModificationState, Volume

SETTLES = timedelta(minutes=10)
"""How long after a change was accepted RDS may still show nothing of it."""
ATTEMPT_TTL = timedelta(hours=1)
"""How long after a call a change to its very target is taken for its effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStorage:
    """What RDS shows of a database's storage at one instant."""

    identity: str
    """DbiResourceId or DbClusterResourceId: another database may have the same name later."""
    configuration: Configuration
    target: Configuration | None
    """The storage that it moves to; None where no change is pending."""
    working: bool
    """Whether RDS says that it works on the storage."""
    settled: bool
    """Whether the database is `available` and nothing is worked on."""
    progress_percent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A call of ours, noted before it was sent: a claim that only RDS can make true."""

    at: datetime
    origin: Configuration
    target: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class LastObserved:
    """What the last look left behind: the settings then, the latest change, our last call."""

    identity: str
    configuration: Configuration
    modification: Modification | None = None
    last_request: Attempt | None = None
    renamed_at: datetime | None = None
    """When it was first seen under a name that another database had before; None where none had."""


def next_remembered(
    before: LastObserved | None, seen: ObservedStorage, at: datetime
) -> LastObserved:
    """What to remember after a look at `at`; the same look again changes nothing.

    Errs towards a change in flight: one that is not understood stops us, and counts as a slot.
    """
    if before is None or before.identity != seen.identity:
        change = _begun(seen, seen.configuration, at) if modification_in_progress(seen) else None
        return LastObserved(
            identity=seen.identity, configuration=seen.configuration, modification=change,
            renamed_at=None if before is None else at,
        )  # fmt: skip
    if before.configuration.database != seen.configuration.database:
        # Its owner made it Multi-AZ, or Single-AZ again: another price of the owner's own.
        return LastObserved(
            identity=seen.identity, configuration=seen.configuration,
            modification=_begun(seen, before.configuration, at), renamed_at=before.renamed_at,
        )  # fmt: skip
    attempt = before.last_request
    if attempt is not None and at - attempt.at > ATTEMPT_TTL:
        attempt = None
    return LastObserved(
        identity=seen.identity,
        configuration=seen.configuration,
        modification=_latest(replace(before, last_request=attempt), seen, at),
        last_request=attempt,
        renamed_at=before.renamed_at,
    )


def after_accepted(
    before: LastObserved | None, seen: ObservedStorage, attempt: Attempt
) -> LastObserved:
    """What to remember once RDS accepted `attempt`; `seen` is what it answered."""
    change = Modification(
        state=ModificationState.MODIFYING, started_at=attempt.at, ended_at=None,
        origin=attempt.origin, target=attempt.target, progress_percent=0,
    )  # fmt: skip
    return LastObserved(
        identity=seen.identity if before is None else before.identity,
        configuration=attempt.origin, modification=change, last_request=attempt,
        renamed_at=None if before is None else before.renamed_at,
    )  # fmt: skip


def after_rename(volume: Volume, noted: LastObserved | None) -> Volume:
    """The storage as begun when the database took its name over: what was published under that
    name before is another one's, as after the switchover of a blue/green deployment."""
    if noted is None or noted.renamed_at is None:
        return volume
    return replace(volume, created_at=max(volume.created_at, noted.renamed_at))


def modification_in_progress(seen: ObservedStorage) -> bool:
    """Whether a change of the storage is under way: one pending for a window of its own is not."""
    return seen.working or (seen.target is not None and not seen.settled)


def _latest(before: LastObserved, seen: ObservedStorage, at: datetime) -> Modification | None:
    last = before.modification
    landed = seen.configuration != before.configuration
    heads_for = _pending_now(before, seen) or (seen.configuration if landed else None)
    if heads_for is not None:
        return _moved_on(_which(before, heads_for, at), seen, at)
    if last is not None and last.in_flight:
        return _moved_on(last, seen, at)
    if not seen.working:
        return last
    if last is not None and last.ended_at is not None and at - last.ended_at <= SETTLES:
        # RDS shows `available` for a moment between two phases of one change.
        state, progress = ModificationState.OPTIMIZING, seen.progress_percent
        return replace(last, state=state, ended_at=None, progress_percent=progress)
    return _begun(seen, before.configuration, at)


def _pending_now(before: LastObserved, seen: ObservedStorage) -> Configuration | None:
    """The pending storage if it is being applied; what waits for a maintenance window is not."""
    last, attempt = before.modification, before.last_request
    called_for = {attempt.target} if attempt is not None else set()
    if last is not None and last.in_flight:
        called_for.add(last.target)
    return seen.target if not seen.settled or seen.target in called_for else None


def _which(before: LastObserved, heads_for: Configuration, at: datetime) -> Modification:
    """The change that leads to `heads_for`: the one known, ours just called for, or a new one."""
    last, attempt = before.modification, before.last_request
    if last is not None and last.in_flight:
        if last.target == heads_for:
            return last
        if last.target == last.origin:  # what was in flight had no name; now it has one
            return replace(last, origin=before.configuration, target=heads_for)
    if attempt is not None and attempt.target == heads_for and attempt.origin != heads_for:
        fresh = last is None or last.started_at < attempt.at
        if fresh:
            return _change(attempt.at, attempt.origin, heads_for)
    return _change(at, before.configuration, heads_for)


def _moved_on(change: Modification, seen: ObservedStorage, at: datetime) -> Modification:
    """The change as far as RDS has come with it."""
    there = seen.configuration == change.target
    if there and not seen.settled:
        state = ModificationState.OPTIMIZING
    elif there:
        return replace(change, state=ModificationState.COMPLETED, ended_at=at, progress_percent=100)
    elif seen.settled and seen.target != change.target and at - change.started_at > SETTLES:
        return replace(change, state=ModificationState.FAILED, ended_at=at)
    else:
        state = ModificationState.MODIFYING
    return replace(change, state=state, ended_at=None, progress_percent=seen.progress_percent)


def _begun(seen: ObservedStorage, origin: Configuration, at: datetime) -> Modification:
    """A change seen for the first time in the middle of it."""
    return _moved_on(_change(at, origin, seen.target or seen.configuration), seen, at)


def _change(at: datetime, origin: Configuration, target: Configuration) -> Modification:
    return Modification(
        state=ModificationState.MODIFYING, started_at=at, ended_at=None, origin=origin,
        target=target, progress_percent=0,
    )  # fmt: skip
