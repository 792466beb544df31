"""Dispatcher and worker in one process: everything that is due at an instant, one after the other.

For simulations, and for tests of what the deployed functions do together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headroom.application.dispatch import DispatchReport, dispatch
from headroom.application.queue import MOST_AT_ONCE, next_in_queue
from headroom.application.scan import read_page
from headroom.application.work import RESERVE_S, WorkReport, items_of_event, work
from headroom.domain.decision import Decision
from headroom.domain.resources import Signal
from headroom.ports import Ports, ReadFailed, ScanPage, WorkItem

ROOM = 1_000_000


@dataclass(slots=True)
class LocalQueue:
    """A work queue in this process; what is to come later is dropped, as it is due again by itself."""

    items: deque[WorkItem] = field(default_factory=deque)
    pages: deque[ScanPage] = field(default_factory=deque)

    def put(self, items: Sequence[WorkItem], *, delay_s: int = 0) -> None:
        """Queue items."""
        if not delay_s:
            self.items += items

    def put_pages(self, pages: Sequence[ScanPage]) -> None:
        """Queue pages."""
        self.pages += pages

    def room(self) -> int:
        """As much as there is."""
        return ROOM


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What was done at one instant; `complete` is False when time ran out or a read failed."""

    due: int
    scanned: int
    reconciled: int
    acted: int
    held: int
    escalated: int
    failed: int
    errors: tuple[str, ...]
    oldest_due_s: float
    scan_ran: bool
    scan_complete: bool
    """Whether a scan that ran glanced at everything; False when none ran."""
    complete: bool
    policy_unreadable: str | None
    calendars_unread: tuple[str, ...] = ()


def sweep(
    ports: Ports,
    now: datetime,
    *,
    scan_every_s: int = 900,
    adaptive: bool = False,
    time_left: Callable[[], float] = lambda: float("inf"),
    clock: Callable[[], datetime] | None = None,
) -> SweepReport:
    """Dispatch what is due and work until nothing is left; `adaptive` as in `read_page`.

    Each reconciliation happens at the instant that `clock` then returns; without one, at `now`.
    """
    queue, report = LocalQueue(), WorkReport()
    clock = clock or (lambda: now)
    done = dispatch(ports, queue, now, scan_every_s=scan_every_s, most_queued=0)
    for error in done.errors:
        report.fail("the dispatcher", ReadFailed(error))
    seen: set[str] = set()
    _work(ports, queue, report, clock, time_left, seen)
    _free_places(ports, report, clock, time_left, seen)
    scanned, pages_read = 0, True
    while queue.pages:
        if time_left() < RESERVE_S:
            pages_read = False
            break
        try:
            page = read_page(
                ports, queue, queue.pages.popleft(), clock, every_s=scan_every_s, adaptive=adaptive
            )
            scanned += page.scanned
        except Exception as error:  # the page is read again once its claim expires
            report.fail("the fleet", error)
            pages_read = False
        _work(ports, queue, report, clock, time_left, seen)
    complete = done.complete and pages_read and not report.postponed
    return _report(done, report, scanned, pages_read, complete)


def _report(
    done: DispatchReport, report: WorkReport, scanned: int, pages_read: bool, complete: bool
) -> SweepReport:
    return SweepReport(
        due=done.due, scanned=scanned, reconciled=report.reconciled, acted=report.acted,
        held=len(report.decisions) - report.acted - report.escalated,
        escalated=report.escalated, failed=report.failed, errors=report.errors,
        oldest_due_s=done.oldest_due_s, scan_ran=done.pages > 0,
        scan_complete=done.pages > 0 and pages_read, complete=complete,
        policy_unreadable=done.policy_unreadable, calendars_unread=done.calendars_unread,
    )  # fmt: skip


def _work(
    ports: Ports, queue: LocalQueue, report: WorkReport, clock: Callable[[], datetime],
    time_left: Callable[[], float], seen: set[str],
) -> None:  # fmt: skip
    """Reconcile what is queued, each at its own instant; what there is no time for is due again."""
    items = list(queue.items)
    queue.items.clear()
    seen |= {item.ref.arn for item in items}
    before = len(report.postponed)
    work(ports, items, clock, time_left=time_left, apart=timedelta(0), together=1, report=report)
    for item in report.postponed[before:]:
        with suppress(Exception):
            ports.state_store.reconciled(item.ref, at=clock(), due_at=clock())


def _free_places(
    ports: Ports, report: WorkReport, clock: Callable[[], datetime],
    time_left: Callable[[], float], seen: set[str],
) -> None:  # fmt: skip
    """Offer places that are free by now to the next in the queue, one after the other."""
    if report.postponed:
        return
    for _ in range(MOST_AT_ONCE):
        try:
            refs = next_in_queue(ports, ports.policies.current(), clock(), seen, most=1)
        except ReadFailed as error:
            report.fail("the queue", error)
            return
        if not refs:
            return
        items = deque(WorkItem(ref=ref, trigger="due", since=clock()) for ref in refs)
        _work(ports, LocalQueue(items=items), report, clock, time_left, seen)


def remediate(
    ports: Ports,
    signal: Signal,
    now: datetime,
    *,
    time_left: Callable[[], float] = lambda: float("inf"),
) -> tuple[Decision, ...]:
    """Follow one signal in this process at `now`; the decisions made, one for each resource.

    Raises ReadFailed at the end when AWS did not answer for one or time ran out; the event is then
    to be delivered again.
    """
    report = work(
        ports, items_of_event(ports, [signal], now, since=now), lambda: now, time_left=time_left,
        apart=timedelta(0), together=1,
    )  # fmt: skip
    late = (f"{item.ref.resource_id}: no time left" for item in report.postponed)
    missed = [*report.errors, *late]
    if missed:
        raise ReadFailed("; ".join(missed))
    return tuple(report.decisions)
