"""The dispatcher: claims what is due, the most starved first, and puts it on the work queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter

from headroom.application.queue import MOST_AT_ONCE, next_in_queue
from headroom.application.scan import PAGE_CLAIM, TAKEN, fleet_kinds
from headroom.application.work import on_threads
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.state import ScanProgress, pages_claimed, scan_begun
from headroom.ports import Due, Ports, ReadFailed, ScanPage, WorkItem, WorkQueue

DUE_READ = 20_000
"""Entries of the index of what is due that one run reads, 200 bytes each."""
NAMED = 10
"""Entries that cannot be read of which one run says so: the first ones."""
LEAST = 100
"""Items that one run dispatches even when the queue is full of events."""
GIVEN_UP = timedelta(hours=24)
"""A scan that takes so long begins again: AWS may have forgotten its place in the listing."""


@dataclass(slots=True, kw_only=True)
class DispatchReport:
    """What one run of the dispatcher did."""

    due: int = 0
    """What was due, also if the queue has no room for all of it."""
    dispatched: int = 0
    pages: int = 0
    """Pages of the fleet put on the queue."""
    scan_began: bool = False
    oldest_due_s: float = 0.0
    scan_age_s: float | None = None
    """Seconds since the last complete scan began; None before the first scan."""
    errors: list[str] = field(default_factory=list)
    policy_unreadable: str | None = None
    calendars_unread: tuple[str, ...] = ()
    """Why Change Calendars that the policy names cannot be read; nothing is changed then."""

    @property
    def complete(self) -> bool:
        """Whether everything that was due and had room is on the queue."""
        return not self.errors


def dispatch(
    ports: Ports,
    queue: WorkQueue,
    now: datetime,
    *,
    scan_every_s: int = 900,
    threads: int = 1,
    most_queued: int = MOST_AT_ONCE,
) -> DispatchReport:
    """Put on the queue what is due, who may have a free place, and pages of the fleet to scan.

    Any number of dispatchers may run at once: each item and page is claimed. One part that fails
    leaves the others alone.
    """
    policy = ports.policies.current()
    report = DispatchReport(
        policy_unreadable=policy.reason if isinstance(policy, PolicyUnreadable) else None,
        calendars_unread=_unreadable_calendars(ports, policy, now),
    )
    seen: set[str] = set()
    try:
        _due(ports, queue, now, report, seen, threads)
    except ReadFailed as error:
        report.errors.append(f"what is due: {error}")
    try:
        refs = next_in_queue(ports, policy, now, seen, most=most_queued) if most_queued else ()
        queue.put([WorkItem(ref=ref, trigger="due", since=now) for ref in refs])
        report.dispatched += len(refs)
    except ReadFailed as error:
        report.errors.append(f"the queue: {error}")
    try:
        progress = _scan(ports, queue, now, report, scan_every_s)
        report.scan_age_s = progress.age_s(now)
    except ReadFailed as error:
        report.errors.append(f"the scan of the fleet: {error}")
    return report


def _due(
    ports: Ports, queue: WorkQueue, now: datetime, report: DispatchReport, seen: set[str],
    threads: int,
) -> None:  # fmt: skip
    due = ports.state_store.due(now, DUE_READ)
    report.due = len(due)
    report.errors += [
        f"what is due: the entry of {one} cannot be read" for one in due.left_out[:NAMED]
    ]
    report.oldest_due_s = max(((now - d.due_at).total_seconds() for d in due), default=0.0)
    if not due:
        return
    chosen = _chosen(due, max(LEAST, queue.room()))

    def claimed(one: Due) -> bool:
        return ports.state_store.claim_due(one, now + TAKEN)

    # Not since it was due: a worker that stalled may have made it due for an instant that is past,
    # and whoever reconciled it meanwhile did not see what that worker wrote.
    items = [
        WorkItem(ref=one.ref, trigger=one.why, since=now)
        for one, mine in on_threads(claimed, chosen, threads)
        if mine
    ]
    seen |= {one.ref.arn for one in due}
    queue.put(items)
    report.dispatched += len(items)


def _chosen(due: Sequence[Due], most: int) -> list[Due]:
    """The most urgent, and for a tenth of the room the longest overdue: nothing waits for ever behind a storm."""
    overdue = sorted(due, key=attrgetter("due_at"))
    urgent = sorted(overdue, key=attrgetter("urgency"), reverse=True)
    return list(dict.fromkeys([*urgent[: most - most // 10], *overdue, *urgent]))[:most]


def _scan(
    ports: Ports, queue: WorkQueue, now: datetime, report: DispatchReport, every_s: int
) -> ScanProgress:
    """Go on with the scan under way, or begin one if nothing is left to go on with; put free pages on the queue."""
    progress = ports.work.scan_progress()
    old = progress.started_at is not None and now - progress.started_at > GIVEN_UP
    kinds: tuple[str, ...] = ()
    if (progress.may_begin or old) and ports.scan.claim_scan(now, every_s):
        kinds = fleet_kinds(ports)
        progress = scan_begun(progress, kinds, now)
        report.scan_began = True
    free = [p for p in progress.open if p.claimed_until is None or p.claimed_until <= now]
    if not free or progress.started_at is None:
        return progress
    scan = progress.started_at

    def claimed(before: ScanProgress) -> ScanProgress:
        begun = scan_begun(before, kinds, now) if kinds else before
        return pages_claimed(begun, now, now + PAGE_CLAIM)

    progress = ports.work.amend_scan(claimed)
    queue.put_pages([ScanPage(scan=scan, kind=page.kind, number=page.number) for page in free])
    report.pages = len(free)
    return progress


def _unreadable_calendars(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime
) -> tuple[str, ...]:
    names = () if isinstance(policy, PolicyUnreadable) else policy.calendars
    said = ports.calendars.seen(names, now) if names else ()
    return tuple(one.problem for one in said if one.problem is not None)
