"""Which change of a database's storage is in flight, from two consecutive observations.

RDS keeps no list of modifications: it reports the current settings, the pending ones
(PendingModifiedValues), and whether it works on the storage, but not when a change started. So each
observation is compared with the one before. A change starts when Headroom requests it or when it is
first observed, and keeps that start. Source: RDS API 2014-10-31, DBInstance and DBCluster
(botocore 1.44).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from headroom.domain.resources import LATER, Configuration, Modification, ModificationState, Volume

SETTLES = timedelta(minutes=10)
"""How long RDS may still report what was before a change: after it was accepted, or after it was reported."""
ATTEMPT_TTL = timedelta(hours=1)
"""How long after a request a change to its exact target counts as its effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedStorage:
    """What RDS reports about a database's storage at one instant."""

    identity: str
    """DbiResourceId or DbClusterResourceId: another database may have the same name later."""
    configuration: Configuration
    target: Configuration | None
    """The pending configuration; None if no change is pending."""
    working: bool
    """Whether RDS reports work on the storage."""
    applying: bool
    """Whether it is `modifying`, so that RDS may be applying what is pending.

    In any other status, as during the nightly backup, what is pending waits as before.
    """
    settled: bool
    """Whether the database is `available` and RDS does not work on it."""
    progress_percent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A request by Headroom, last_observed before it was sent; it may never have reached RDS."""

    at: datetime
    origin: Configuration
    target: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class LastObserved:
    """The last observation: the settings then, the latest change, Headroom's last request."""

    identity: str
    configuration: Configuration
    modification: Modification | None = None
    last_request: Attempt | None = None
    renamed_at: datetime | None = None
    """When it was first observed under another database's former name; None if it has its own."""
    changed_at: datetime | None = None
    """When `configuration` was first observed in place of another one; None if it never was."""
    was: Configuration | None = None
    """That other one."""
    waits_since: datetime | None = field(default=None, metadata=LATER)
    """Since when RDS is not at work on the change in flight, which is still pending; None if that is not so."""


def next_remembered(
    before: LastObserved | None, observed: ObservedStorage, at: datetime
) -> LastObserved:
    """What to remember after an observation at `at`; repeating it changes nothing.

    In doubt a change counts as in flight, and uses a slot.
    """
    if before is None or before.identity != observed.identity:
        change = (
            _begun(observed, observed.configuration, at)
            if modification_in_progress(observed)
            else None
        )
        return LastObserved(
            identity=observed.identity, configuration=observed.configuration, modification=change,
            renamed_at=None if before is None else at,
        )  # fmt: skip
    if before.modification is not None and _is_older(before, observed, at):
        again = replace(before.modification, state=ModificationState.MODIFYING, ended_at=None)
        return replace(before, modification=again)
    if before.configuration.database != observed.configuration.database:
        # Its owner changed the deployment, and with it the price.
        return LastObserved(
            identity=observed.identity, configuration=observed.configuration,
            modification=_begun(observed, before.configuration, at), renamed_at=before.renamed_at,
            changed_at=at, was=before.configuration,
        )  # fmt: skip
    attempt, last = before.last_request, before.modification
    ours = _is_made_by(attempt, last)
    if attempt is not None and at - attempt.at > ATTEMPT_TTL and not ours:
        attempt = None
    same = observed.configuration == before.configuration
    change = _latest(replace(before, last_request=attempt), observed, at)
    waits_since, idle = None, not (observed.applying or observed.working)
    if change is not None and change.in_flight and idle and observed.target is not None:
        known = last is not None and (last.started_at, last.target) == (
            change.started_at,
            change.target,
        )
        waits_since = (before.waits_since if known else None) or at
        if at - waits_since > ATTEMPT_TTL and not ours:  # it waits for a maintenance window
            change = replace(change, state=ModificationState.FAILED, ended_at=at)
            waits_since = None
    if attempt is not None and at - attempt.at > ATTEMPT_TTL and not _is_made_by(attempt, change):
        attempt = None
    return LastObserved(
        identity=observed.identity,
        configuration=observed.configuration,
        modification=change,
        last_request=attempt,
        renamed_at=before.renamed_at,
        changed_at=before.changed_at if same else at,
        was=before.was if same else before.configuration,
        waits_since=waits_since,
    )


def _is_made_by(attempt: Attempt | None, change: Modification | None) -> bool:
    """Whether a change in flight is our request's; it stays ours however late RDS makes it."""
    return (
        attempt is not None and change is not None and change.in_flight
        and (change.started_at, change.target) == (attempt.at, attempt.target)
    )  # fmt: skip


def after_accepted(
    before: LastObserved | None, observed: ObservedStorage, attempt: Attempt
) -> LastObserved:
    """What to remember after RDS accepted `attempt`; `observed` is its response."""
    change = Modification(
        state=ModificationState.MODIFYING, started_at=attempt.at, ended_at=None,
        origin=attempt.origin, target=attempt.target, progress_percent=0,
    )  # fmt: skip
    if before is None:
        before = LastObserved(identity=observed.identity, configuration=attempt.origin)
    if before.configuration != attempt.origin:
        before = replace(before, changed_at=None, was=None)
    return replace(
        before,
        configuration=attempt.origin,
        modification=change,
        last_request=attempt,
        waits_since=None,
    )


def after_rename(volume: Volume, last_observed: LastObserved | None) -> Volume:
    """The storage, created when the database took over its name.

    Earlier metrics of that name belong to another database, as after a blue/green switchover.
    """
    if last_observed is None or last_observed.renamed_at is None:
        return volume
    return replace(volume, created_at=max(volume.created_at, last_observed.renamed_at))


def at_work(last_observed: LastObserved, at: datetime) -> bool:
    """Whether a change was in flight when last observed, or Headroom may just have requested one."""
    change, request = last_observed.modification, last_observed.last_request
    in_flight = change is not None and change.in_flight
    return in_flight or (request is not None and at - request.at <= SETTLES)


def modification_in_progress(observed: ObservedStorage) -> bool:
    """Whether a change of the storage is in progress; one that waits for its window is not."""
    return observed.working or (observed.target is not None and observed.applying)


def _is_older(before: LastObserved, observed: ObservedStorage, at: datetime) -> bool:
    """Whether RDS reports what was before the last change that it reported, soon after that.

    Its reads are eventually consistent, and a real change back takes longer: such a response is an older one,
    also where another change was accepted meanwhile.
    """
    return (
        before.changed_at is not None
        and at - before.changed_at <= SETTLES
        and observed.configuration == before.was != before.configuration
    )


def _latest(before: LastObserved, observed: ObservedStorage, at: datetime) -> Modification | None:
    last = before.modification
    landed = observed.configuration != before.configuration
    next_target = _pending_now(before, observed) or (observed.configuration if landed else None)
    if next_target is not None:
        return _progressed(_change_to(before, next_target, at), observed, at)
    if last is not None and last.in_flight:
        return _progressed(last, observed, at)
    if not observed.working:
        return last
    if last is not None and last.ended_at is not None and at - last.ended_at <= SETTLES:
        # RDS reports `available` for a moment between two phases of one change.
        state, progress = ModificationState.OPTIMIZING, observed.progress_percent
        return replace(last, state=state, ended_at=None, progress_percent=progress)
    return _begun(observed, before.configuration, at)


def _pending_now(before: LastObserved, observed: ObservedStorage) -> Configuration | None:
    """The pending storage if it is being applied and does not wait for a maintenance window."""
    last, attempt = before.modification, before.last_request
    called_for = {attempt.target} if attempt is not None else set()
    if last is not None and last.in_flight:
        called_for.add(last.target)
    return observed.target if observed.applying or observed.target in called_for else None


def _change_to(before: LastObserved, next_target: Configuration, at: datetime) -> Modification:
    """The change that leads to `next_target`: the known one, the one just requested, or a new one."""
    last, attempt = before.modification, before.last_request
    if last is not None and last.in_flight:
        if last.target == next_target:
            return last
        if (
            last.target == last.origin
        ):  # the target of the change in flight was unknown; now it is known
            return replace(last, origin=before.configuration, target=next_target)
    if attempt is not None and attempt.target == next_target and attempt.origin != next_target:
        fresh = last is None or last.started_at < attempt.at
        if fresh:
            return _change(attempt.at, attempt.origin, next_target)
    return _change(at, before.configuration, next_target)


def _progressed(change: Modification, observed: ObservedStorage, at: datetime) -> Modification:
    """The change with its current progress."""
    there = observed.configuration == change.target
    if there and not observed.settled:
        state = ModificationState.OPTIMIZING
    elif there:
        return replace(change, state=ModificationState.COMPLETED, ended_at=at, progress_percent=100)
    elif observed.settled and observed.target != change.target and at - change.started_at > SETTLES:
        return replace(change, state=ModificationState.FAILED, ended_at=at)
    else:
        state = ModificationState.MODIFYING
    return replace(change, state=state, ended_at=None, progress_percent=observed.progress_percent)


def _begun(observed: ObservedStorage, origin: Configuration, at: datetime) -> Modification:
    """A change that is first observed while it is in progress."""
    pending = observed.target if observed.applying else None
    return _progressed(_change(at, origin, pending or observed.configuration), observed, at)


def _change(at: datetime, origin: Configuration, target: Configuration) -> Modification:
    return Modification(
        state=ModificationState.MODIFYING, started_at=at, ended_at=None, origin=origin,
        target=target, progress_percent=0,
    )  # fmt: skip
