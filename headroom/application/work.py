"""A worker: claims resources, reads them together and reconciles each; one that fails holds up none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar, assert_never
from uuid import uuid4

from headroom.application.prefetch import with_batch_reads
from headroom.application.reconcile import CLOSE_TO_LIMIT, look
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.resources import Claim as SignalClaim
from headroom.domain.resources import ResourceRef, Signal
from headroom.ports import Claim, Ports, StorageView, WorkItem

RESERVE_S = 20.0
"""Seconds of a function's time kept for finishing what was begun."""
CLAIM = timedelta(minutes=4)
"""How long a resource is a worker's: longer than a function lives, so that only a dead one's claim
expires."""
TOGETHER = 20
"""Resources read together: their metrics take about 40 MB."""
APART = timedelta(seconds=60)
"""Two reconciliations of a resource begin at least so far apart."""
URGENT_FIRST = ("alarm", "event", "sweep", "due")
ASKED = ("alarm", "event")
"""Triggers of work that nothing but its message remembers."""
MAX_REPORTED_ERRORS = 20
SHOWS_AFTER = timedelta(seconds=5)
"""How long after an event AWS may still answer as before it: a reconciliation that began earlier
does not answer the event."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True, kw_only=True)
class WorkReport:
    """What became of items of work."""

    decisions: list[Decision] = field(default_factory=list)
    reconciled: int = 0
    coalesced: int = 0
    """Answered by a reconciliation that began after what they claim."""
    busy: list[WorkItem] = field(default_factory=list)
    """Somebody else's for now: to be tried again in a minute."""
    postponed: list[WorkItem] = field(default_factory=list)
    """Not begun, as time ran out."""
    unanswered: list[WorkItem] = field(default_factory=list)
    """Failed, and known to nobody else: to be delivered again."""
    failed: int = 0
    errors: tuple[str, ...] = ()

    def fail(self, what: str, error: BaseException) -> None:
        """Count a failure."""
        self.failed += 1
        if len(self.errors) < MAX_REPORTED_ERRORS:
            self.errors += (f"{what}: {type(error).__name__}: {error}",)

    def count(self, decision: Decision | None) -> None:
        """Count a reconciliation."""
        self.reconciled += 1
        if decision is not None:
            self.decisions.append(decision)

    @property
    def acted(self) -> int:
        """Decisions to act."""
        return sum(isinstance(d.answer, Act) for d in self.decisions)

    @property
    def escalated(self) -> int:
        """Decisions to escalate."""
        return sum(isinstance(d.answer, Escalate) for d in self.decisions)


def items_of(ports: Ports, signal: Signal, since: datetime | None = None) -> tuple[WorkItem, ...]:
    """An item for each resource that the signal points at, answered by what begins after `since`.

    A muted alarm wakes nobody: somebody silenced it on purpose, and the scan still looks. An alarm
    that names its contributors is an item for each. Raises ReadFailed when they cannot be read.
    """
    if signal.muted:
        return ()
    refs: tuple[ResourceRef, ...] = () if signal.ref is None else (signal.ref,)
    trigger, asked = "alarm", False
    match signal.claim:
        case SignalClaim.NOTHING:
            return ()
        case SignalClaim.PRESSURE:
            asked = True
        case SignalClaim.CHECK_CONTRIBUTORS:
            alarm = signal.alarm_name
            refs = () if alarm is None else ports.metrics.contributors(alarm)
        case (
            SignalClaim.MODIFICATION | SignalClaim.HINT
        ):  # recorded where a reconciliation finds news
            trigger = "event"
        case _:
            assert_never(signal.claim)
    since = since or signal.claimed_at + SHOWS_AFTER
    return tuple(WorkItem(ref=ref, trigger=trigger, since=since, must_record=asked) for ref in refs)


def coalesced(items: Iterable[WorkItem]) -> list[WorkItem]:
    """One item for each resource: the most urgent trigger, recorded if any of them asks for it."""
    found: dict[str, WorkItem] = {}
    for item in items:
        before = found.get(item.ref.arn, item)
        found[item.ref.arn] = WorkItem(
            ref=item.ref,
            trigger=min(before.trigger, item.trigger, key=URGENT_FIRST.index),
            since=max(before.since, item.since),
            must_record=before.must_record or item.must_record,
        )
    return list(found.values())


def work(
    ports: Ports,
    items: Iterable[WorkItem],
    clock: Callable[[], datetime],
    *,
    time_left: Callable[[], float] = lambda: float("inf"),
    apart: timedelta = APART,
    threads: int = 1,
    together: int = TOGETHER,
    report: WorkReport | None = None,
) -> WorkReport:
    """Reconcile each resource of `items` that is claimed, a few read together at an instant.

    One that fails is due again in minutes or, if an event asked for it, `unanswered`.
    """
    report, wanted = report or WorkReport(), coalesced(items)
    for first in range(0, len(wanted), together):
        chunk = wanted[first : first + together]
        if time_left() < RESERVE_S:
            report.postponed += chunk
            continue
        _chunk(ports, chunk, clock(), report, apart, threads)
    return report


def _chunk(
    ports: Ports, chunk: Sequence[WorkItem], now: datetime, report: WorkReport, apart: timedelta,
    threads: int,
) -> None:  # fmt: skip
    holder = uuid4().hex
    taken: list[WorkItem] = []
    for item, claim in on_threads(lambda i: _claim(ports, i, holder, now, apart), chunk, threads):
        if isinstance(claim, Exception):
            _failed(ports, item, claim, now, report)
        elif claim is Claim.TAKEN:
            taken.append(item)
        elif claim is Claim.ANSWERED:
            report.coalesced += 1
        else:
            report.busy.append(item)
    batch, views = with_batch_reads(ports, [item.ref for item in taken], now)

    def reconcile(beside: Sequence[WorkItem]) -> list[Decision | Exception | None]:
        """Volumes of one instance one after the other: they may be one striped set."""
        return [_reconcile(batch, item, now, holder) for item in beside]

    for beside, outcomes in on_threads(reconcile, _by_instance(taken, views), threads):
        if isinstance(outcomes, Exception):
            raise outcomes
        for item, outcome in zip(beside, outcomes, strict=True):
            if isinstance(outcome, Exception):
                _failed(ports, item, outcome, now, report)
            else:
                report.count(outcome)


def _claim(
    ports: Ports, item: WorkItem, holder: str, now: datetime, apart: timedelta
) -> Claim | Exception:
    try:
        return ports.work.claim_work(
            item, holder=holder, now=now, until=now + CLAIM, not_after=now - apart
        )
    except Exception as error:
        return error


def _reconcile(
    ports: Ports, item: WorkItem, now: datetime, holder: str
) -> Decision | Exception | None:
    """Reconcile one resource and end its claim; a process that dies leaves the claim to expire."""
    outcome: Decision | Exception | None
    try:
        outcome = look(ports, item.ref, now, trigger=item.trigger, must_record=item.must_record)
    except Exception as error:  # one resource's trouble must not hide the others'
        outcome = error
    began = None if isinstance(outcome, Exception) else now
    with suppress(Exception):  # the claim then expires by itself
        ports.work.finish_work(item.ref, holder=holder, began=began)
    return outcome


def _failed(
    ports: Ports, item: WorkItem, error: Exception, now: datetime, report: WorkReport
) -> None:
    report.fail(item.ref.resource_id, error)
    if item.trigger in ASKED:
        report.unanswered.append(item)
        return
    with suppress(Exception):  # else the dispatcher's claim expires
        ports.state_store.reconciled(item.ref, at=now, due_at=now + CLOSE_TO_LIMIT)


def _by_instance(
    items: Sequence[WorkItem], views: Mapping[str, StorageView]
) -> list[list[WorkItem]]:
    found: dict[str, list[WorkItem]] = {}
    for item in items:
        found.setdefault(_instance_of(item.ref, views), []).append(item)
    return list(found.values())


def _instance_of(ref: ResourceRef, views: Mapping[str, StorageView]) -> str:
    view = views.get(ref.arn)
    ids = () if view is None else view.volume.instance_ids
    return ids[0] if ids else ref.arn


def on_threads(do: Callable[[T], R], each: Sequence[T], threads: int) -> list[tuple[T, R]]:
    """Every one with its result, in order; without threads where one is enough."""
    if threads < 2 or len(each) < 2:
        return [(one, do(one)) for one in each]
    with ThreadPoolExecutor(max_workers=min(threads, len(each))) as pool:
        return list(zip(each, pool.map(do, each), strict=True))
