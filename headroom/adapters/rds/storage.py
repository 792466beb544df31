"""Storage of RDS databases: DB instances and Multi-AZ DB clusters, through RDS's API.

`RdsStorage.apply` is the only write to it. RDS lists no modifications, so two observations show the latest (domain/catalog/rds/modifications.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from headroom.adapters.errors import reading
from headroom.adapters.preconditions import moved_on, unread
from headroom.adapters.rds import shapes
from headroom.adapters.rds.additional import is_beside, volume_names
from headroom.adapters.rds.bookmarks import Bookmarks
from headroom.adapters.rds.classes import InstanceClasses
from headroom.adapters.rds.reads import LEAVING, RdsClient, RdsReads, additional_of, name_of
from headroom.adapters.rds.refusals import rds_refusal_of
from headroom.domain.catalog.rds import (
    Attempt,
    LastObserved,
    after_accepted,
    after_rename,
    at_work,
    next_remembered,
    request,
)
from headroom.domain.resources import (
    Configuration,
    Instance,
    Kind,
    Modification,
    ResourceRef,
    Volume,
)
from headroom.domain.state import Applied, Outcome, Refusal, Refused, Stale, declined
from headroom.ports import Notes, ReadFailed, ResourceGone, StorageView

if TYPE_CHECKING:
    from mypy_boto3_ec2 import EC2Client

PAGE = 100
"""Databases a page, the most RDS takes."""
_log = logging.getLogger(__name__)


class RdsStorage:
    """The storage of the databases of one account and Region.

    `modify_client` must not retry by itself: a repeated call could use a second slot. `notes` keep
    what was seen of each database, `clock` says when.
    """

    def __init__(
        self,
        rds_client: RdsClient,
        ec2_client: EC2Client,
        *,
        notes: Notes,
        clock: Callable[[], datetime],
        account_id: str,
        region: str,
        modify_client: RdsClient | None = None,
    ) -> None:
        self._rds = rds_client
        self._reads = RdsReads(rds_client, account_id=account_id, region=region)
        self._classes = InstanceClasses(ec2_client)
        self._modify = modify_client or rds_client
        self._bookmarks = Bookmarks(notes, LastObserved, folder="rds", about="database")
        self._clock = clock
        self._account_id = account_id
        self._region = region

    def fleet(self) -> Iterator[StorageView]:
        """Every database whose storage may be set, instances left None; raises ReadFailed.

        Passes over what is being deleted and what is not understood. Nothing is kept: a change
        in flight is reported as one that began now, so that a scan reconciles it.
        """
        for operation, key, read in (
            ("describe_db_instances", "DBInstances", shapes.instance),
            ("describe_db_clusters", "DBClusters", shapes.cluster),
        ):
            pages = self._rds.get_paginator(operation).paginate(PaginationConfig={"PageSize": PAGE})
            pages_read = iter(pages)
            while True:
                with reading(operation):
                    page = next(pages_read, None)
                    found = (
                        [] if page is None else [v for s in page[key] for v in self._all(read, s)]
                    )
                if page is None:
                    break
                for reported in found:
                    if reported.facts.status not in LEAVING:
                        yield StorageView(
                            volume=reported.volume,
                            modification=self._at_work(reported),
                            instance=None,
                        )

    def view(self, ref: ResourceRef) -> StorageView:
        """One database with the limits of its class and what RDS takes; raises ResourceGone, ReadFailed."""
        reported, bookmark = self._observe(ref)
        facts = reported.facts
        return StorageView(
            volume=after_rename(reported.volume, bookmark),
            modification=_modification(bookmark),
            instance=Instance(
                instance_id=facts.members[0] if facts.members else ref.resource_id,
                limits=self._classes.limits(facts.instance_class),
                volume_ids=(reported.volume.ref.resource_id, *_beside(reported.volume)),
            ),
            valid=self._reads.valid(reported),
        )

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """The storage of one DB instance and its additional volumes; raises ReadFailed."""
        ref = ResourceRef(
            kind=Kind.RDS, account_id=self._account_id, region=self._region,
            resource_id=instance_id,
        )  # fmt: skip
        try:
            own = self.view(ref)
            names = _beside(own.volume)
            return (own, *(self.view(replace(ref, resource_id=name)) for name in names))
        except ResourceGone as gone:
            if gone.another is not None:
                raise ReadFailed(str(gone)) from gone
            return ()

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
        decided_on: Volume | None = None,
    ) -> Outcome:
        """Change the storage to `target` if it still is as the decision saw it.

        One call at most, never one that changes nothing, and never one that would apply somebody
        else's pending changes with it. What is about to be sent is stored first, and nothing is
        done between the last read and the call.
        """
        try:
            reported, bookmark = self._observe(ref)
            valid = self._reads.valid(reported)
        except (ResourceGone, ReadFailed) as error:
            return unread(error, "read it again")
        found, modification = reported.volume.configuration, _modification(bookmark)
        moved = moved_on(
            reported.volume, modification, expected=expected, seen=seen, target=target,
            decided_on=decided_on,
        )  # fmt: skip
        if moved is not None:
            return moved
        busy = modification is not None and modification.in_flight
        why = _why_not_now(reported, busy=busy) or _why_never(reported, target)
        if why is not None:
            return why
        try:
            _, sent = request(ref.resource_id, found, target, valid)
        except ValueError as problem:
            return declined(Refusal.INVALID, str(problem))
        return self._send(ref, reported, target, sent)

    def _send(
        self,
        ref: ResourceRef,
        reported: shapes.ReportedInstance,
        target: Configuration,
        sent: Mapping[str, object],
    ) -> Outcome:
        attempt = Attempt(at=self._clock(), origin=reported.volume.configuration, target=target)
        try:
            self._bookmarks.amend(
                ref, lambda r: None if r is None else replace(r, last_request=attempt)
            )
        except Exception as failed:  # unsent: it could later pass for somebody else's
            return declined(Refusal.OTHER, f"could not note the change first: {failed}")
        moved = self._moved(ref, reported)
        if moved is not None:
            self._withdraw(ref, attempt)
            return moved
        cluster = "DBClusterIdentifier" in sent
        try:
            if cluster:
                answer = self._modify.modify_db_cluster(**sent)
            else:
                answer = self._modify.modify_db_instance(**sent)
        except Exception as error:  # once it may have been sent, anything is an outcome
            return rds_refusal_of(error)
        try:
            self._bookmarks.amend(ref, lambda r: after_accepted(r, reported.seen, attempt))
        except Exception as failed:  # found later by the bookmark stored before the call
            _log.warning("%s was changed; no bookmark was stored: %r", ref.resource_id, failed)
        flushed = shapes.applied_with(answer, additional_of(ref))
        if not flushed:
            return Applied(started_at=attempt.at)
        names = ", ".join(flushed)
        return Applied(
            started_at=attempt.at,
            detail=f"RDS applies {names} with it, which somebody left pending at that very moment",
        )

    def _moved(self, ref: ResourceRef, reported: shapes.ReportedInstance) -> Outcome | None:
        """What keeps the call from being sent that was not there a moment ago; None if nothing.

        RDS takes no condition: whatever is left pending after this read is applied with ours.
        """
        try:
            now = self._beside_at_work(self._reads.reported(ref))
        except (ResourceGone, ReadFailed) as error:
            return unread(error, "read it once more")
        if now == reported:
            return None
        found = now.volume.configuration
        expected = reported.volume.configuration
        said = "the database or its tags changed while the change was being noted"
        return _why_not_now(now, busy=False) or Stale(expected=expected, found=found, detail=said)

    def _withdraw(self, ref: ResourceRef, attempt: Attempt) -> None:
        """Take back the note of a call that was not sent; left there it only lasts an hour."""
        with suppress(ReadFailed):
            self._bookmarks.amend(
                ref,
                lambda r: (
                    r if r is None or r.last_request != attempt else replace(r, last_request=None)
                ),
            )

    def _observe(self, ref: ResourceRef) -> tuple[shapes.ReportedInstance, LastObserved | None]:
        """What RDS shows now, beside what the last observation remembered."""
        reported, at = self._beside_at_work(self._reads.reported(ref)), self._clock()
        bookmark = self._bookmarks.with_context(
            ref, reported.seen, lambda before: next_remembered(before, reported.seen, at),
            name=name_of(ref),
        )  # fmt: skip
        return _with_pending(reported, _modification(bookmark)), bookmark

    def _beside_at_work(self, reported: shapes.ReportedInstance) -> shapes.ReportedInstance:
        """What is pending of another volume is work on the instance while a change of that is in flight.

        RDS may still call the instance available then. Nobody left it pending, and nobody need hear of it.
        """
        facts, ref, at = reported.facts, reported.volume.ref, self._clock()
        others = tuple(name for name in facts.pending if is_beside(name))
        if not others:
            return reported
        with reading(f"changes of the volumes beside {ref.resource_id}"):
            beside = [
                self._bookmarks.seen(replace(ref, resource_id=name))
                for name in _beside(reported.volume)
            ]
        if not any(bookmark is not None and at_work(bookmark, at) for bookmark in beside):
            return reported
        left = tuple(name for name in facts.pending if name not in others)
        return replace(
            reported,
            volume=replace(reported.volume, facts=replace(facts, pending=left)),
            seen=replace(reported.seen, working=True, settled=False),
        )

    def _at_work(self, reported: shapes.ReportedInstance) -> Modification | None:
        return next_remembered(None, reported.seen, self._clock()).modification

    def _all(
        self, read: Callable[..., shapes.ReportedInstance], shape: shapes.Shape
    ) -> Iterator[shapes.ReportedInstance]:
        """The storage that `shape` is of, and its additional volumes; what is not understood is left out."""
        volumes = (partial(read, additional=name) for name in volume_names(shape))
        every: list[Callable[..., shapes.ReportedInstance]] = [read, *volumes]
        for each in every:
            reported = self._known(each, shape)
            if reported is not None:
                yield reported

    def _known(
        self, read: Callable[..., shapes.ReportedInstance], shape: shapes.Shape
    ) -> shapes.ReportedInstance | None:
        name = shape.get("DBInstanceIdentifier") or shape.get("DBClusterIdentifier")
        if not shapes.ours(shape):
            if not shapes.is_supported_engine(shape):
                _log.warning("database %s has an unknown engine: %s", name, shape.get("Engine"))
            return None
        try:
            return read(shape, account_id=self._account_id, region=self._region)
        except shapes.MALFORMED as error:
            _log.warning("database %s is not understood: %r", name, error)
            return None


def _beside(volume: Volume) -> tuple[str, ...]:
    """Resource ids of the instance's other volumes."""
    facts, (name, _, own) = volume.facts, volume.ref.resource_id.partition("/")
    if facts is None or not facts.additional:
        return ()
    volumes = {"": name} | {v.name.lower(): f"{name}/{v.name.lower()}" for v in facts.additional}
    return tuple(resource_id for key, resource_id in volumes.items() if key != own)


def _modification(bookmark: LastObserved | None) -> Modification | None:
    return None if bookmark is None else bookmark.modification


def _with_pending(
    reported: shapes.ReportedInstance, modification: Modification | None
) -> shapes.ReportedInstance:
    """Pending values of the change in flight itself are nobody else's: they are left out."""
    facts = reported.facts
    in_flight = modification is not None and modification.in_flight
    if not in_flight or modification is None or modification.target != reported.seen.target:
        return reported
    others = tuple(name for name in facts.pending if not shapes.own_pending_only((name,)))
    return replace(reported, volume=replace(reported.volume, facts=replace(facts, pending=others)))


def _why_not_now(reported: shapes.ReportedInstance, *, busy: bool) -> Refused | None:
    facts = reported.facts
    if busy or reported.seen.working:
        return declined(Refusal.IN_FLIGHT, "the last change of the storage is not over")
    if not reported.seen.settled:
        return declined(Refusal.IN_FLIGHT, f"the database is {facts.status}, not available")
    if facts.pending:
        return declined(
            Refusal.OTHER,
            f"ApplyImmediately would apply what others left pending too: "
            f"{', '.join(facts.pending)}",
        )
    if facts.unusual is not None:
        return declined(Refusal.UNSUPPORTED, f"its storage is unusual: {facts.unusual}")
    return None


def _why_never(reported: shapes.ReportedInstance, target: Configuration) -> Refused | None:
    """What no call of ours may do, whatever was decided: grow beside RDS's own autoscaling."""
    grows = target.size_gib > reported.volume.configuration.size_gib
    if grows and reported.facts.grows_by_itself:
        return declined(Refusal.UNSUPPORTED, "RDS's storage autoscaling grows it by now")
    return None
