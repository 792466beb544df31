"""A worker: claims resources, reads them together and reconciles each; one that fails holds up none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar, assert_never
from uuid import uuid4

from headroom.application.prefetch import with_batch_reads
from headroom.application.reconcile import reconcile
from headroom.domain.decision import CLOSE_TO_LIMIT, Act, Decision, Escalate
from headroom.domain.resources import Claim as SignalClaim
from headroom.domain.resources import ResourceRef, Signal
from headroom.domain.state import EventOutcome, LedTo, event_record
from headroom.ports import (
    Answered,
    Claim,
    ContributorsUnknown,
    Ports,
    ReadFailed,
    StorageView,
    WorkItem,
)

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


def items_of_event(
    ports: Ports, signals: Sequence[Signal], now: datetime, since: datetime | None = None
) -> tuple[WorkItem, ...]:
    """The items of all signals of one event; where it is not one alone, the event is recorded here.

    The record of an event with one item is written when that is done with. Raises ReadFailed.
    """
    event = signals[0].event
    try:
        items = [item for signal in signals for item in items_of(ports, signal, since)]
    except ReadFailed as error:
        refs = tuple(signal.ref.arn for signal in signals if signal.ref is not None)
        outcome = EventOutcome(led_to=LedTo.UNREADABLE, detail=str(error))
        ports.archive.record_events([event_record(event, refs, outcome, at=now)])
        raise
    except ContributorsUnknown as unknown:
        outcome = EventOutcome(led_to=LedTo.SCAN, detail=str(unknown))
        ports.archive.record_events([event_record(event, (), outcome, at=now)])
        return ()
    if len(items) == 1:
        return (replace(items[0], events=(event,)),)
    outcome = EventOutcome(led_to=LedTo.SPREAD, detail=f"work for {len(items)} resources")
    if not items:
        why = LedTo.MUTED if signals[0].muted else LedTo.IRRELEVANT
        outcome = EventOutcome(led_to=why, detail=signals[0].detail)
    arns = [item.ref.arn for item in items] or [s.ref.arn for s in signals if s.ref is not None]
    ports.archive.record_events([event_record(event, tuple(arns), outcome, at=now)])
    return tuple(items)


def items_of(ports: Ports, signal: Signal, since: datetime | None = None) -> tuple[WorkItem, ...]:
    """An item for each resource that the signal points at, answered by what begins after `since`.

    A muted alarm starts nothing: somebody silenced it on purpose, and the scan still reconciles. An alarm
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
            events=tuple(dict.fromkeys((*before.events, *item.events))),
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
    done: list[tuple[WorkItem, EventOutcome]] = []
    refused = _not_claimable(ports, chunk, now, apart)

    def claimed(item: WorkItem) -> Claim | Answered | Exception:
        return refused.get(item.ref.arn) or _claim(ports, item, holder, now, apart)

    for item, claim in on_threads(claimed, chunk, threads):
        if isinstance(claim, Exception):
            done.append((item, _failed(ports, item, claim, now, report)))
        elif isinstance(claim, Answered):
            report.coalesced += 1
            done.append((item, _coalesced_into(claim.began)))
        elif claim is Claim.TAKEN:
            taken.append(item)
        else:
            report.busy.append(item)
    batch, views = with_batch_reads(ports, [item.ref for item in taken], now)

    def of_instance(beside: Sequence[WorkItem]) -> list[Decision | EventOutcome | Exception]:
        """Volumes of one instance one after the other: they may be one striped set."""
        return [_reconcile(batch, item, now, holder) for item in beside]

    for beside, outcomes in on_threads(of_instance, _by_instance(taken, views), threads):
        if isinstance(outcomes, Exception):
            raise outcomes
        for item, outcome in zip(beside, outcomes, strict=True):
            if isinstance(outcome, Exception):
                done.append((item, _failed(ports, item, outcome, now, report)))
            else:
                report.count(None if isinstance(outcome, EventOutcome) else outcome)
                if item.events:  # else nobody reads its summary
                    done.append((item, _outcome_of(outcome)))
    _record_events(ports, done, now, report)


def _record_events(
    ports: Ports, done: Sequence[tuple[WorkItem, EventOutcome]], now: datetime, report: WorkReport
) -> None:
    """Record what each event led to, together; an item whose events cannot be is delivered again."""
    records = [
        (item, [event_record(event, (item.ref.arn,), outcome, at=now) for event in item.events])
        for item, outcome in done
        if item.events
    ]
    try:
        ports.archive.record_events([record for _, some in records for record in some])
    except Exception as error:
        if len(records) > 1:  # one that cannot be written keeps no other from its record
            for each in done:
                _record_events(ports, [each], now, report)
            return
        report.fail("records of events", error)
        report.unanswered += [item for item, _ in records if item not in report.unanswered]


def _coalesced_into(began: datetime) -> EventOutcome:
    return EventOutcome(led_to=LedTo.COALESCED, which=began.isoformat())


def _outcome_of(found: Decision | EventOutcome) -> EventOutcome:
    if isinstance(found, EventOutcome):
        return found
    return EventOutcome(led_to=LedTo.DECISION, which=found.decision_id, detail=found.summary)


def _not_claimable(
    ports: Ports, items: Sequence[WorkItem], now: datetime, apart: timedelta
) -> Mapping[str, Claim | Answered]:
    """The resources that cannot be claimed, by one read: in a storm, nearly all of them."""
    if len(items) < 2:
        return {}
    try:
        return ports.work.not_claimable(items, now=now, not_after=now - apart)
    except ReadFailed:
        return {}


def _claim(
    ports: Ports, item: WorkItem, holder: str, now: datetime, apart: timedelta
) -> Claim | Answered | Exception:
    try:
        return ports.work.claim_work(
            item, holder=holder, now=now, until=now + CLAIM, not_after=now - apart
        )
    except Exception as error:
        return error


def _reconcile(
    ports: Ports, item: WorkItem, now: datetime, holder: str
) -> Decision | EventOutcome | Exception:
    """Reconcile one resource and end its claim; a process that dies leaves the claim to expire."""
    outcome: Decision | EventOutcome | Exception
    try:
        outcome = reconcile(
            ports, item.ref, now, trigger=item.trigger, must_record=item.must_record
        )
    except Exception as error:  # one resource's trouble must not hide the others'
        outcome = error
    began = None if isinstance(outcome, Exception) else now
    with suppress(Exception):  # the claim then expires by itself
        ports.work.finish_work(item.ref, holder=holder, began=began)
    return outcome


def _failed(
    ports: Ports, item: WorkItem, error: Exception, now: datetime, report: WorkReport
) -> EventOutcome:
    """Count a failure and see that the item is tried again; what its events led to so far."""
    report.fail(item.ref.resource_id, error)
    if item.trigger in ASKED:
        report.unanswered.append(item)
    else:
        with suppress(Exception):  # else the dispatcher's claim expires
            ports.state_store.reconciled(item.ref, at=now, due_at=now + CLOSE_TO_LIMIT)
    return EventOutcome(led_to=LedTo.UNREADABLE, detail=f"{type(error).__name__}: {error}")


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
