"""The scan of the fleet: a page at a time, a few metrics each; suspects become due, most starved first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256

from headroom.application.alarms import plan_alarms
from headroom.application.glances import (
    Seen,
    glance_at_due,
    save_glances,
    switched_off,
    was_not_read,
)
from headroom.application.space import may_run_out_of_space
from headroom.application.work import on_threads
from headroom.domain.decision import urgency
from headroom.domain.detection import troubles_of
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import ResourceRef
from headroom.domain.state import OpenPage, page_begun, page_listed, page_read, page_rejected
from headroom.ports import (
    CursorRejected,
    FleetPage,
    Glance,
    Ports,
    ScanPage,
    StorageView,
    WorkItem,
    WorkQueue,
)

_log = logging.getLogger(__name__)

BATCH = 500
WHOLE = "fleet"
"""The one page of a fleet that can only be read as a whole."""
PAGE_CLAIM = timedelta(minutes=5)
"""How long a page is somebody's to read: longer than a function lives."""
TAKEN = timedelta(minutes=5)
"""How long what was put on the work queue is not taken again by a dispatcher."""
FRESH = timedelta(minutes=1)
"""A reconciliation so recent has seen what a scan sees now."""
FIRST_DAY = timedelta(hours=24)
FIRST_A_MINUTE = 100
"""Resources of a small fleet that are reconciled in each of the first minutes."""
DAY_S = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A resource to be reconciled from `at` on."""

    ref: ResourceRef
    urgency: int
    at: datetime


@dataclass(slots=True, kw_only=True)
class PageReport:
    """What reading a page of the fleet found."""

    scanned: int = 0
    put: list[WorkItem] = field(default_factory=list)
    """Suspects put on the work queue, the most starved first."""
    left: int = 0
    """Suspects left for the dispatcher, as the queue has no room."""


def fleet_kinds(ports: Ports) -> tuple[str, ...]:
    """The listings that make up the fleet."""
    return (WHOLE,) if ports.fleet is None else ports.fleet.kinds()


def read_page(
    ports: Ports, queue: WorkQueue, asked: ScanPage, clock: Callable[[], datetime], *,
    every_s: int, threads: int = 1, adaptive: bool = False, alarm_budget_usd: float = 0.0,
) -> PageReport:  # fmt: skip
    """Read one page and put the page after it on the queue first; nothing where it is read already.

    `adaptive` glances at those only whose time has come, and else at all. With a budget it plans who gets
    an alarm of its own.

    A page whose reader dies is read by another once its claim expires. Raises ReadFailed.
    """
    now, report = clock(), PageReport()
    page = ports.work.scan_progress().page(asked.scan, asked.kind, asked.number)
    if page is None:
        return report
    progress = ports.work.amend_scan(lambda before: page_begun(before, asked.scan, page))
    try:
        found = _listed(ports, page)
    except CursorRejected as problem:
        _log.warning(
            "page %s of the listing of %s is not read, nor those after it: %s; the next scan lists them anew",
            page.number, page.kind, problem,
        )  # fmt: skip
        ports.work.amend_scan(lambda before: page_rejected(before, asked.scan, page))
        return report
    if found.following is not None:
        _put_next(ports, queue, asked, page, found.following, now)
    turn = partial(_turn, scan=asked.scan, last=progress.before_at, every_s=every_s)
    small = page.number == 0 and found.following is None
    failed: Exception | None = None
    batches = _batches(found.views)
    while True:
        try:
            batch = next(batches, None)
            if batch is None:
                break
            seen = _seen(ports, batch, now, turn, adaptive=adaptive)
            suspects = _suspects(ports, seen, now, first=progress.first, small=small)
            _hand_on(ports, queue, suspects, now, report, threads)
            save_glances(ports, seen, threads)
            report.scanned += len(batch)
            candidates = [each.candidate for each in seen if each.candidate is not None]
            if alarm_budget_usd and candidates:
                plan_alarms(ports.work, candidates, now, budget_usd=alarm_budget_usd,
                            scanned=progress.completed)  # fmt: skip
        except Exception as error:  # suspects of other batches are handed on all the same
            failed = failed or error
    if failed is not None:
        raise failed
    ports.work.amend_scan(lambda before: page_read(before, asked.scan, page))
    return report


def _listed(ports: Ports, page: OpenPage) -> FleetPage:
    if ports.fleet is None:
        return FleetPage(views=ports.storage.fleet(), following=None)
    return ports.fleet.page(page.kind, page.cursor)


def _put_next(
    ports: Ports, queue: WorkQueue, asked: ScanPage, page: OpenPage, cursor: str, now: datetime
) -> None:
    until = now + PAGE_CLAIM
    ports.work.amend_scan(lambda before: page_listed(before, asked.scan, page, cursor, until))
    queue.put_pages([ScanPage(scan=asked.scan, kind=page.kind, number=page.number + 1)])


def _hand_on(
    ports: Ports, queue: WorkQueue, suspects: Sequence[Suspect], now: datetime, report: PageReport,
    threads: int,
) -> None:  # fmt: skip
    """Make suspects due, and put as many on the queue as it has room for, most starved first."""
    fresh = ports.work.reconciled_after([s.ref for s in suspects], now - FRESH)
    suspects = [s for s in suspects if s.ref.arn not in fresh]
    at_once = sorted((s for s in suspects if s.at <= now), key=lambda s: -s.urgency)
    room = queue.room() if at_once else 0

    def mark(numbered: tuple[int, Suspect]) -> bool:
        number, one = numbered
        wake_at = now + TAKEN if number < room and one.at <= now else one.at
        return ports.state_store.mark_due(
            one.ref, at=one.at, wake_at=wake_at, urgency=one.urgency, why="sweep"
        )

    later = [s for s in suspects if s.at > now]
    marked = on_threads(mark, list(enumerate([*at_once, *later])), threads)
    put = [
        WorkItem(ref=one.ref, trigger="sweep", since=one.at)
        for (number, one), done in marked
        if done and number < room and one.at <= now
    ]
    report.left += max(0, len(at_once) - room)
    queue.put(put)
    report.put += put


def _seen(
    ports: Ports, batch: Sequence[StorageView], now: datetime, turn: Callable[[ResourceRef], bool], *,
    adaptive: bool,
) -> list[Seen]:  # fmt: skip
    """A glance at everything that is not switched off, or at what is due; and what was switched off since the last."""
    policy = ports.policies.current()
    watched = [view for view in batch if _watched(policy, view)]
    off = switched_off(ports, [v for v in batch if not _watched(policy, v)], now, FRESH)
    if adaptive:
        return [*glance_at_due(ports, watched, policy, now, turn), *off]
    glances = ports.metrics.glance(watched, now)
    found = ((view, glances.get(view.volume.ref.resource_id)) for view in watched)
    every = [
        Seen(
            view=view, glance=glance, new=True,
            reconcile=was_not_read(view, glances) or turn(view.volume.ref)
            or needs_attention(view, glance, now, timedelta(hours=1)),
        )
        for view, glance in found
    ]  # fmt: skip
    return [*every, *off]


def _suspects(
    ports: Ports, seen: Sequence[Seen], now: datetime, *, first: bool, small: bool
) -> list[Suspect]:
    """Which resources are due, and from when on; in a first scan all of them, most at risk first."""
    policy = ports.policies.current()
    found: list[Suspect] = []
    quiet: list[Suspect] = []
    for each in seen:
        if each.reconcile or (first and each.new):
            risk = _urgency(policy, each.view, each.glance)
            one = Suspect(ref=each.view.volume.ref, urgency=risk, at=now)
            (found if each.reconcile else quiet).append(one)
    quiet.sort(key=lambda s: -s.urgency)
    return found + [
        Suspect(
            ref=one.ref,
            urgency=0,
            at=now + _first_reconciliation_after(number, len(quiet), small=small),
        )
        for number, one in enumerate(quiet)
    ]


def _first_reconciliation_after(number: int, of: int, *, small: bool) -> timedelta:
    """When a quiet resource is first reconciled: within minutes, in a large fleet within a day."""
    if small:
        return timedelta(minutes=number // FIRST_A_MINUTE)
    return FIRST_DAY * number / of


def _turn(ref: ResourceRef, *, scan: datetime, last: datetime | None, every_s: int) -> bool:
    """Whether the scan that began at `scan` reconciles a volume whatever its load: once a day.

    Its part of the day follows from its name, so that a fleet's reconciliations are spread over the day. A scan
    stands for every part since the `last` one began, however long that took, but for no more than a quarter of a day.
    """
    per_day = max(1, DAY_S // every_s)
    mine = int.from_bytes(sha256(ref.arn.encode()).digest()[:4]) % per_day
    part = int(scan.timestamp() // every_s)
    parts = 1 if last is None else part - int(last.timestamp() // every_s)
    return (part - mine) % per_day < max(1, min(parts, per_day // 4))


def _urgency(policy: Policy | PolicyUnreadable, view: StorageView, glance: Glance | None) -> int:
    """What may be acted on first, then the longest pressed, then the emptiest bucket."""
    enrolled = isinstance(policy, Policy) and limits_for(policy, view.volume).enrolled
    if glance is None:
        return urgency(enrolled=enrolled, pressed_minutes=0)
    pressed = (glance.iops_exceeded_minutes or 0) + (glance.throughput_exceeded_minutes or 0)
    balance = glance.lowest_burst_balance_percent
    return urgency(
        enrolled=enrolled, pressed_minutes=pressed,
        empty_percent=0.0 if balance is None else 100.0 - balance,
    )  # fmt: skip


def _batches(views: Iterable[StorageView]) -> Iterator[list[StorageView]]:
    """Batches of one kind of storage each; what was read before a read failed comes first."""
    batch: list[StorageView] = []
    try:
        for view in views:
            other = bool(batch) and batch[0].volume.ref.kind is not view.volume.ref.kind
            if len(batch) == BATCH or other:
                yield batch
                batch = []
            batch.append(view)
    except Exception as error:
        failure: Exception | None = error
    else:
        failure = None
    if batch:
        yield batch
    if failure is not None:
        raise failure


def _watched(policy: Policy | PolicyUnreadable, view: StorageView) -> bool:
    if isinstance(policy, PolicyUnreadable):
        return True
    return limits_for(policy, view.volume).limits.mode is not Mode.OFF


def needs_attention(
    view: StorageView, glance: Glance | None, now: datetime, fresh: timedelta
) -> bool:
    """Whether to reconcile a volume: thresholds wake the engine, they never decide.

    A modification that started within `fresh` is reason enough: the ledger must hear of it.
    """
    change = view.modification
    if change is not None and change.started_at > now - fresh:
        return True
    return may_run_out_of_space(view, glance) or bool(
        troubles_of(view.volume.configuration, glance)
    )
