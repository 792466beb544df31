"""Storage of Aurora clusters, whose only setting is its mode, through RDS's API.

`AuroraClusterStorage.apply` is the only write to it. RDS reports the mode, but neither its start nor who
set it. So each observation is kept, and two of them show the latest change (domain/aurora/memory.py).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from botocore.exceptions import ClientError

from headroom.adapters.aurora import shapes
from headroom.adapters.aurora.reservations import ClusterContext, RdsClient
from headroom.adapters.aurora.volumes import (
    AVAILABLE,
    LEAVING,
    modification_of,
    observed_mode,
    volume_of,
)
from headroom.adapters.errors import code_of, reading
from headroom.adapters.preconditions import moved_on, unread
from headroom.adapters.rds import Bookmarks, applied_with, rds_refusal_of
from headroom.domain.aurora import ClusterMemory, ClusterModeChange, mode_of, remember
from headroom.domain.catalog.aurora import AuroraPrices
from headroom.domain.resources import (
    AuroraActivity,
    AuroraCluster,
    Configuration,
    Modification,
    ResourceRef,
    Volume,
)
from headroom.domain.state import Applied, Outcome, Refusal, Refused, Stale, declined
from headroom.ports import Notes, ReadFailed, ResourceGone, StorageView

_GONE = "DBClusterNotFoundFault"
_log = logging.getLogger(__name__)


class ClusterActivityReader(Protocol):
    """What CloudWatch has published of a cluster."""

    def of_cluster(self, cluster: AuroraCluster, now: datetime) -> AuroraActivity: ...


class ClusterPriceReader(Protocol):
    """Where prices of Aurora come from."""

    def aurora(self, region: str, engine: str) -> AuroraPrices: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReportedCluster:
    """A cluster as RDS showed it, with its members."""

    shape: shapes.Shape
    members: tuple[shapes.Shape, ...]


class AuroraClusterStorage:
    """The Aurora clusters of one account and Region; also what decisions about them need beside.

    `modify_client` must not retry by itself. `notes` keep what was seen of each cluster, `clock`
    says when.
    """

    def __init__(
        self,
        client: RdsClient,
        *,
        metrics: ClusterActivityReader,
        prices: ClusterPriceReader,
        notes: Notes,
        clock: Callable[[], datetime],
        account_id: str,
        region: str,
        modify_client: RdsClient | None = None,
    ) -> None:
        self._rds = client
        self._beside = ClusterContext(client)
        self._modify = modify_client or client
        self._metrics = metrics
        self._prices = prices
        self._bookmarks = Bookmarks(notes, ClusterMemory, folder="aurora", about="cluster")
        self._clock = clock
        self._account_id = account_id
        self._region = region

    def fleet(self) -> Iterator[StorageView]:
        """Every cluster whose mode may be chosen, without its members; raises ReadFailed.

        Passes over what is being deleted and what is not understood.
        """
        for shape in self._beside.pages("describe_db_clusters", "DBClusters"):
            if not shapes.ours(shape) or shape.get("Status") in LEAVING:
                continue
            try:
                volume = volume_of(shape, (), account_id=self._account_id, region=self._region)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                name = shape.get("DBClusterIdentifier")
                _log.warning("cluster %s is not understood: %r", name, error)
                continue
            yield StorageView(volume=volume, modification=None, instance=None)

    def view(self, ref: ResourceRef) -> StorageView:
        """One cluster with its members, reservations and parallel query; raises ResourceGone,
        ReadFailed."""
        reported = self._reported(ref)
        memory = self._observe(ref, reported)
        with reading(f"cluster {ref.resource_id}"):
            members = shapes.members_of(reported.shape, reported.members)
            cluster = shapes.cluster(
                reported.shape, reported.members, account_id=self._account_id, region=self._region,
                reserved=self._beside.reserved(reported.shape, members),
                parallel_query=self._beside.parallel_query(reported.shape),
                first_seen_in_mode=_first_observed(reported.shape, memory), named_at=memory.renamed_at,
            )  # fmt: skip
            volume = self._volume(reported, memory)
            return StorageView(
                volume=volume, modification=modification_of(reported.shape, memory),
                instance=None, cluster=cluster,
            )  # fmt: skip

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Nothing: no instance has a cluster's storage to itself."""
        return ()

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        """Change the mode if the cluster still is as the decision saw it.

        One call at most, and never one that would apply somebody else's pending changes with it.
        What is about to be sent is stored first, and nothing happens between the last read and the call.
        """
        try:
            reported = self._reported(ref)
            memory = self._observe(ref, reported)
            with reading(f"cluster {ref.resource_id}"):
                volume, change = (
                    self._volume(reported, memory),
                    modification_of(reported.shape, memory),
                )
        except (ResourceGone, ReadFailed) as error:
            return unread(error, "read it again")
        moved = moved_on(
            volume, change, expected=expected, seen=seen, target=target, decided_on=decided_on
        )
        if moved is not None:
            return moved
        return _why_not_now(volume, change) or self._send(ref, volume, memory, target)

    def _send(
        self, ref: ResourceRef, volume: Volume, memory: ClusterMemory, target: Configuration
    ) -> Outcome:
        expected = volume.configuration
        attempt = ClusterModeChange(
            at=self._clock(), origin=mode_of(expected), target=mode_of(target)
        )
        try:
            self.memory(ref, lambda before: replace(before, last_request=attempt))
        except Exception as failed:  # unsent: it could later pass for somebody else's
            return declined(Refusal.OTHER, f"could not note the change first: {failed}")
        moved = self._moved(ref, volume, memory)
        if moved is not None:
            with suppress(ReadFailed):  # left there, the note lasts an hour
                self.memory(ref, lambda before: replace(before, last_request=None))
            return moved
        try:
            answer = self._modify.modify_db_cluster(
                DBClusterIdentifier=ref.resource_id,
                StorageType=target.volume_type.value,
                ApplyImmediately=True,
            )
        except Exception as error:  # once it may have been sent, anything is an outcome
            return rds_refusal_of(error)
        flushed = ", ".join(applied_with(answer))
        detail = f"RDS applies {flushed} with it, left pending at that very moment"
        return Applied(started_at=attempt.at, detail=detail if flushed else "")

    def _moved(self, ref: ResourceRef, volume: Volume, memory: ClusterMemory) -> Outcome | None:
        """What keeps the call from being sent that was not there a moment ago; None if nothing."""
        try:
            reported = self._reported(ref)
            with reading(f"cluster {ref.resource_id}"):
                now = self._volume(reported, memory)
        except (ResourceGone, ReadFailed) as error:
            return unread(error, "read it once more")
        if now == volume:
            return None
        said = "the cluster or its tags changed while the change was being noted"
        return _why_not_now(now, None) or Stale(
            expected=volume.configuration, found=now.configuration, detail=said
        )

    def activity(self, cluster: AuroraCluster, now: datetime) -> AuroraActivity:
        """What CloudWatch has published of it; raises ReadFailed."""
        return self._metrics.of_cluster(cluster, now)

    def prices(self, region: str, engine: str) -> AuroraPrices:
        """Unit prices of the engine; raises PriceUnknown."""
        return self._prices.aurora(region, engine)

    def memory(
        self, ref: ResourceRef, change: Callable[[ClusterMemory], ClusterMemory]
    ) -> ClusterMemory | None:
        """What is remembered after `change`; None of a cluster that was never observed."""
        return self._bookmarks.amend(ref, lambda before: None if before is None else change(before))

    def _observe(self, ref: ResourceRef, reported: _ReportedCluster) -> ClusterMemory:
        """What RDS shows now, beside what the last observation remembered."""
        at = self._clock()
        with reading(f"the mode of {ref.resource_id}"):
            seen = observed_mode(reported.shape)
        amended = self._bookmarks.with_context(
            ref, seen, lambda before: remember(before, seen, at),
            name=ref.resource_id,
        )  # fmt: skip
        return remember(None, seen, at) if amended is None else amended

    def _volume(self, reported: _ReportedCluster, memory: ClusterMemory) -> Volume:
        return volume_of(
            reported.shape, reported.members, account_id=self._account_id, region=self._region,
            memory=memory,
        )  # fmt: skip

    def _reported(self, ref: ResourceRef) -> _ReportedCluster:
        name = ref.resource_id
        with reading(f"DescribeDBClusters {name}"):
            try:
                found = self._rds.describe_db_clusters(DBClusterIdentifier=name)["DBClusters"]
            except ClientError as error:
                if code_of(error) == _GONE:
                    raise ResourceGone(f"{name} does not exist") from error
                raise
        if not found or found[0].get("Status") in LEAVING:
            raise ResourceGone(f"{name} does not exist")
        shape = found[0]
        if not shapes.ours(shape):
            raise ResourceGone(f"{name} has no storage mode that may be chosen")
        if shape["DBClusterIdentifier"] != name:  # spelled otherwise it would be kept in two books
            raise ResourceGone(f"{name} is called {shape['DBClusterIdentifier']}")
        if "TagList" not in shape:  # missing tags are not no tags: one may forbid everything
            with reading(f"the tags of {name}"):
                reported = self._rds.list_tags_for_resource(ResourceName=shape["DBClusterArn"])
                shape = {**shape, "TagList": reported["TagList"]}
        of_it = [{"Name": "db-cluster-id", "Values": [name]}]
        members = tuple(self._beside.pages("describe_db_instances", "DBInstances", Filters=of_it))
        return _ReportedCluster(shape=shape, members=members)


def _first_observed(shape: shapes.Shape, memory: ClusterMemory) -> datetime | None:
    """Since when Headroom has seen the mode, unless AWS's gate shows it better.

    The gate shows when a cluster was last made I/O-Optimized, and it is so since; that we watch it
    since yesterday says less.
    """
    if (
        memory.last_change is None
        and shape.get("IOOptimizedNextAllowedModificationTime") is not None
    ):
        return None
    return memory.first_seen_in_mode


def _why_not_now(volume: Volume, change: Modification | None) -> Refused | None:
    facts = volume.facts
    if change is not None and change.in_flight:
        return declined(Refusal.IN_FLIGHT, "the last change of the mode is not over")
    if facts is None or facts.status != AVAILABLE:
        status = "nothing" if facts is None else facts.status
        return declined(Refusal.IN_FLIGHT, f"the cluster is {status}, not available")
    if facts.unusual is not None:
        return declined(Refusal.UNSUPPORTED, f"its bill cannot be calculated: {facts.unusual}")
    if facts.pending:
        left = ", ".join(facts.pending)
        return declined(
            Refusal.OTHER, f"ApplyImmediately would apply what others left pending too: {left}"
        )
    return None
