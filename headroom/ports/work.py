"""The one way of all work: items on a queue, claims of resources, and reads of many at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from headroom.domain.detection import GlanceState
from headroom.domain.resources import InstanceActivity, ResourceRef, SourceEvent, VolumeActivity
from headroom.domain.state import ScanProgress
from headroom.ports.alarms import AlarmPlans
from headroom.ports.storage import StorageView


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One resource to reconcile, and why.

    A reconciliation that began after `since` answers it. `trigger` is `alarm`, `event`, `sweep` or
    `due`; with `must_record` its decision is recorded even if it is no news.
    """

    ref: ResourceRef
    trigger: str
    since: datetime
    must_record: bool = False
    events: tuple[SourceEvent, ...] = ()
    """Events whose records say what becomes of this item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPage:
    """One page of the fleet to read; `scan` is when its scan began."""

    scan: datetime
    kind: str
    number: int


class WorkQueue(Protocol):
    """The queue of the workers: at least once, in no order."""

    def put(self, items: Sequence[WorkItem], *, delay_s: int = 0) -> None:
        """Put items on the queue, several to a message; raises ReadFailed."""

    def put_pages(self, pages: Sequence[ScanPage]) -> None:
        """Put pages on the queue, one to a message; raises ReadFailed."""

    def room(self) -> int:
        """How many more items the workers can take soon; raises ReadFailed."""


class Claim(Enum):
    """What became of a claim."""

    TAKEN = "taken"
    BUSY = "busy"
    """Another worker has it, or had it seconds ago."""


@dataclass(frozen=True, slots=True)
class Answered:
    """Nothing to claim: a reconciliation that began after the claim's `since` is finished."""

    began: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Glanced:
    """What the last glances at a resource found, and when its last finished reconciliation began."""

    state: GlanceState | None
    """None where there was none, or it cannot be read."""
    reconciled_at: datetime | None


class WorkClaims(AlarmPlans, Protocol):
    """Who works on which resource, how far the scan of the fleet is, what glances found, who has an alarm."""

    def glanced(self, refs: Sequence[ResourceRef]) -> Mapping[str, Glanced]:
        """By ARN, of those that are known; may be seconds old. Raises ReadFailed."""

    def save_glance(self, ref: ResourceRef, state: GlanceState) -> None:
        """Keep what a glance found; of two writers the later one wins. Raises ReadFailed."""

    def claim_work(
        self, item: WorkItem, *, holder: str, now: datetime, until: datetime, not_after: datetime
    ) -> Claim | Answered:
        """Claim the resource for `holder` until then; what ended unfinished is free after that.

        Not if the last finished reconciliation began after `not_after`. Raises ReadFailed.
        """

    def not_claimable(
        self, items: Sequence[WorkItem], *, now: datetime, not_after: datetime
    ) -> Mapping[str, Claim | Answered]:
        """By ARN, what `claim_work` would say of the items that it would not claim, in one read.

        Raises ReadFailed.
        """

    def finish_work(self, ref: ResourceRef, *, holder: str, began: datetime | None) -> None:
        """End the claim, if it is still `holder`'s; `began` is None where nothing was finished."""

    def reconciled_after(self, refs: Sequence[ResourceRef], since: datetime) -> frozenset[str]:
        """ARNs of those whose last finished reconciliation began after `since`."""

    def scan_progress(self) -> ScanProgress:
        """How far the scan of the fleet is, read consistently."""

    def amend_scan(self, change: Callable[[ScanProgress], ScanProgress]) -> ScanProgress:
        """Replace the progress by the result of `change`, atomically; `change` has no side effects."""


class CursorRejected(LookupError):
    """AWS does not know this place of the listing (any more): the scan must begin again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPage:
    """Storage of one page, which may be read as it is asked for, and where the next page begins."""

    views: Iterable[StorageView]
    following: str | None


class FleetReads(Protocol):
    """Reads of many resources at once, each as the single read would find it."""

    def kinds(self) -> tuple[str, ...]:
        """The listings of the fleet."""

    def page(self, kind: str, cursor: str) -> FleetPage:
        """One page of a listing, instances left None; raises ReadFailed and CursorRejected."""

    def views(self, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
        """Views by ARN; what is not there must be read alone. Raises ReadFailed."""

    def activities(
        self, views: Sequence[StorageView], now: datetime
    ) -> Mapping[str, tuple[VolumeActivity, InstanceActivity | None]]:
        """The last hours by ARN, as `Metrics.activity` reads them; raises ReadFailed."""
