"""Dispatchers and workers: claimed, coalesced, resumed, most starved first, each page once."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from headroom.application import dispatch, read_page, sweep, work
from headroom.application.dispatch import DispatchReport
from headroom.application.prefetch import with_batch_reads
from headroom.application.reconcile import observe
from headroom.application.scan import _turn
from headroom.application.work import TOGETHER, coalesced, items_of
from headroom.domain.resources import (
    Claim,
    InstanceActivity,
    ResourceRef,
    Signal,
    Volume,
    VolumeActivity,
)
from headroom.ports import (
    CursorRejected,
    DueResources,
    FleetPage,
    Glance,
    Ports,
    ReadFailed,
    ScanPage,
    StorageView,
    WorkItem,
)
from tests.application.harness import Harness, calm
from tests.builders import NOW, activity, instance, policy, ref, volume

MINUTE = timedelta(minutes=1)
NEVER = 10**9


class Crash(BaseException):
    """The process is gone: nobody catches it."""


@dataclass
class Queue:
    """A work queue that keeps what was put on it."""

    space: int = 1_000
    items: list[WorkItem] = field(default_factory=list)
    later: list[WorkItem] = field(default_factory=list)
    pages: list[ScanPage] = field(default_factory=list)

    def put(self, items: Sequence[WorkItem], *, delay_s: int = 0) -> None:
        (self.later if delay_s else self.items).extend(items)

    def put_pages(self, pages: Sequence[ScanPage]) -> None:
        self.pages += pages

    def room(self) -> int:
        return self.space

    def taken(self) -> list[WorkItem]:
        found, self.items = self.items, []
        return found


def item(name: str = "vol-1", since: datetime = NOW, trigger: str = "due") -> WorkItem:
    return WorkItem(ref=ref(name), trigger=trigger, since=since)


def fleet_of(harness: Harness, count: int, **changes: object) -> list[ResourceRef]:
    return [harness.add(volume(ref=ref(f"vol-{number:04}"), **changes)) for number in range(count)]


@pytest.fixture
def harness() -> Harness:
    return Harness()


class Watched:
    """Counts the reconciliations that begin, by resource."""

    def __init__(self, harness: Harness) -> None:
        self.began: Counter[str] = Counter()
        view = harness.view

        def counted(of: ResourceRef) -> StorageView:
            self.began[of.resource_id] += 1
            return view(of)

        harness.view = counted  # type: ignore[method-assign]


# --- workers


def test_items_of_one_resource_are_one_and_keep_what_the_most_urgent_asks() -> None:
    asked = replace(item(trigger="alarm"), must_record=True)
    found = coalesced([item(), asked, item(since=NOW + MINUTE, trigger="sweep"), item("vol-2")])
    assert found == [replace(asked, since=NOW + MINUTE), item("vol-2")]


def test_a_message_delivered_twice_late_and_out_of_order_is_one_reconciliation(
    harness: Harness,
) -> None:
    harness.add(volume())
    watched = Watched(harness)
    first = work(harness.ports, [item()], lambda: harness.now)
    assert first.reconciled == 1
    for delay in (timedelta(seconds=1), MINUTE, timedelta(hours=2)):
        again = work(harness.ports, [item(), item(since=NOW - MINUTE)], lambda: NOW + delay)  # noqa: B023
        late = work(harness.ports, [item(since=NOW - MINUTE)], lambda: NOW + delay)  # noqa: B023
        assert (late.reconciled, late.coalesced) == (0, 1)
        assert again.reconciled in (0, 1)
    assert watched.began["vol-1"] <= 3


def test_what_is_claimed_anew_within_a_minute_waits_for_its_end(harness: Harness) -> None:
    harness.add(volume())
    work(harness.ports, [item()], lambda: NOW)
    newer = item(since=NOW + timedelta(seconds=20), trigger="event")
    soon = work(harness.ports, [newer], lambda: NOW + timedelta(seconds=30))
    assert (soon.reconciled, soon.busy) == (0, [newer])
    assert work(harness.ports, soon.busy, lambda: NOW + MINUTE).reconciled == 1


def test_a_resource_is_worked_on_by_one_worker_at_a_time(harness: Harness) -> None:
    """The second worker comes in the middle of the first one's reconciliation."""
    harness.add(volume())
    activity, second = harness.activity, []

    def meanwhile(
        view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        if not second:
            second.append(None)
            second[0] = work(harness.ports, [item(since=NOW)], lambda: NOW + MINUTE)  # type: ignore[call-overload]
        return activity(view, now)

    harness.activity = meanwhile  # type: ignore[method-assign]
    first = work(harness.ports, [item()], lambda: NOW)
    assert (first.reconciled, first.acted) == (1, 1)
    (other,) = second
    assert other is not None
    assert (other.reconciled, len(other.busy)) == (0, 1)
    assert len(harness.lifecycles["vol-1"].starts) == 1


def test_one_that_fails_holds_up_no_other_and_is_due_in_minutes(harness: Harness) -> None:
    bad, *good = fleet_of(harness, 5)
    harness.unreadable.add(bad.resource_id)
    items = [item(one.resource_id) for one in (bad, *good)]
    report = work(harness.ports, items, lambda: NOW, threads=4)
    assert (report.reconciled, report.acted, report.failed) == (4, 4, 1)
    assert bad.resource_id in report.errors[0]
    assert next(iter(harness.ledger.due(NOW + 5 * MINUTE, 10))).ref == bad
    harness.unreadable.clear()
    later = NOW + 5 * MINUTE
    assert work(harness.ports, [item(bad.resource_id, later)], lambda: later).acted == 1


def test_what_an_event_asked_for_and_failed_is_to_be_delivered_again(harness: Harness) -> None:
    harness.add(volume())
    harness.unreadable.add("vol-1")
    asked = item(trigger="alarm")
    report = work(harness.ports, [asked], lambda: NOW)
    assert report.unanswered == [asked]
    harness.unreadable.clear()
    assert work(harness.ports, report.unanswered, lambda: NOW + MINUTE).acted == 1


def test_a_resource_that_hangs_holds_up_no_other_of_its_batch(harness: Harness) -> None:
    hangs, *others = fleet_of(harness, 4)
    done, view = threading.Event(), harness.view
    finished: list[str] = []

    def slow(of: ResourceRef) -> StorageView:
        if of == hangs:
            assert done.wait(30)
        finished.append(of.resource_id)
        if set(finished) >= {one.resource_id for one in others}:
            done.set()
        return view(of)

    harness.view = slow  # type: ignore[method-assign]
    items = [item(one.resource_id) for one in (hangs, *others)]
    assert work(harness.ports, items, lambda: NOW, threads=4).reconciled == 4
    assert done.is_set()


def test_what_there_is_no_time_for_is_not_begun(harness: Harness) -> None:
    fleet_of(harness, 2 * TOGETHER)
    watched, left = Watched(harness), iter([60.0, 19.0])
    items = [item(f"vol-{number:04}") for number in range(2 * TOGETHER)]
    report = work(harness.ports, items, lambda: NOW, time_left=lambda: next(left))
    assert report.reconciled == TOGETHER
    assert report.postponed == items[TOGETHER:]
    assert len(watched.began) == TOGETHER


def test_an_alarm_with_a_hundred_contributors_is_a_hundred_items(harness: Harness) -> None:
    refs = fleet_of(harness, 100)
    harness.pressed = {one.resource_id for one in refs}
    signal = Signal(
        event_id="e", claim=Claim.CHECK_CONTRIBUTORS, ref=None, alarm_name="all", muted=False,
        claimed_at=NOW, detail="",
    )  # fmt: skip
    found = items_of(harness.ports, signal)
    assert [one.ref for one in found] == refs
    assert items_of(harness.ports, replace(signal, muted=True)) == ()


def calls_of(harness: Harness) -> int:
    crashing = Crashing(harness, None)
    sweep(crashing.ports, NOW, scan_every_s=NEVER)
    return crashing.calls


class Crashing:
    """Ports of a process that dies at one of its calls, before or after it took effect."""

    def __init__(self, harness: Harness, at: int | None, *, after: bool = False) -> None:
        self.calls, self._at, self._after = 0, at, after
        ports = harness.ports
        names = ("storage", "metrics", "ledger", "state_store", "scan", "work", "archive")
        self.ports = replace(ports, **{name: self._port(getattr(ports, name)) for name in names})

    def _port(self, real: Any) -> Any:
        crashing = self

        class Port:
            def __getattr__(self, name: str) -> Any:
                return crashing._call(getattr(real, name))

        return Port()

    def _call(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            self.calls += 1
            if self.calls == self._at and not self._after:
                raise Crash
            answer = real(*args, **named)
            if self.calls == self._at:
                raise Crash
            return answer

        return called


def starved() -> Harness:
    harness = Harness()
    harness.add(volume())
    harness.ledger.reconciled(ref("vol-1"), at=NOW - MINUTE, due_at=NOW)
    return harness


@pytest.mark.parametrize("after", [False, True])
def test_a_worker_that_dies_at_any_call_is_resumed_and_changes_the_volume_once(after: bool) -> None:
    count = calls_of(starved())
    assert count > 15
    for at in range(1, count + 1):
        harness = starved()
        with pytest.raises(Crash):
            sweep(Crashing(harness, at, after=after).ports, harness.now, scan_every_s=NEVER)
        for _ in range(45):
            harness.later(minutes=1)
            sweep(harness.ports, harness.now, scan_every_s=NEVER)
            if harness.lifecycles["vol-1"].starts:
                harness.loads["vol-1"] = calm()
        assert len(harness.lifecycles["vol-1"].starts) == 1, f"call {at}"


# --- dispatchers


def test_two_dispatchers_that_read_the_same_put_each_item_once(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in fleet_of(harness, 30):
        harness.ledger.reconciled(one, at=NOW, due_at=NOW)
    same = harness.ledger.due(NOW, 100)
    monkeypatch.setattr(harness.ledger, "due", lambda *_: same)
    one, other = Queue(), Queue()
    first = dispatch(harness.ports, one, NOW, scan_every_s=NEVER)
    second = dispatch(harness.ports, other, NOW, scan_every_s=NEVER, threads=4)
    assert (first.dispatched, second.dispatched) == (30, 0)
    assert {i.ref for i in one.items} == {d.ref for d in same}


def test_entries_that_cannot_be_read_are_named_and_what_else_is_due_is_dispatched(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in fleet_of(harness, 3):
        harness.ledger.reconciled(one, at=NOW, due_at=NOW)
    due = DueResources.of(harness.ledger.due(NOW, 100), [f"arn:{n}" for n in range(20)])
    monkeypatch.setattr(harness.ledger, "due", lambda *_: due)
    report = dispatch(harness.ports, Queue(), NOW, scan_every_s=NEVER)
    assert report.dispatched == 3
    assert not report.complete
    assert report.errors[0] == "what is due: the entry of arn:0 cannot be read"
    assert len(report.errors) == 10


def test_dispatchers_each_minute_over_slow_workers_begin_each_reconciliation_once(
    harness: Harness,
) -> None:
    for one in fleet_of(harness, 30):
        harness.ledger.reconciled(one, at=NOW, due_at=NOW)
    harness.loads = {name: calm() for name in harness.loads}
    watched, queue = Watched(harness), Queue()
    harness.fleet = lambda: iter(())  # type: ignore[method-assign]
    for second in range(0, 180, 10):
        now = NOW + timedelta(seconds=second)
        dispatch(harness.ports, queue, now, scan_every_s=NEVER)
        if second >= 120:
            work(harness.ports, queue.taken(), lambda now=now: now)
    assert set(watched.began.values()) == {1}
    assert len(watched.began) == 30


def test_what_a_stalled_worker_made_due_is_not_answered_by_an_earlier_reconciliation(
    harness: Harness,
) -> None:
    """Its due time lies before a reconciliation that began before it was written."""
    one, queue = harness.add(volume()), Queue()
    work(harness.ports, [item()], lambda: NOW + 5 * MINUTE)
    harness.ledger.reconciled(one, at=NOW, due_at=NOW + MINUTE)
    dispatch(harness.ports, queue, NOW + 7 * MINUTE, scan_every_s=NEVER)
    report = work(harness.ports, queue.taken(), lambda: NOW + 7 * MINUTE)
    assert (report.reconciled, report.coalesced) == (1, 0)


def test_more_than_there_is_room_for_goes_most_starved_first_and_the_rest_later(
    harness: Harness,
) -> None:
    for number, one in enumerate(fleet_of(harness, 150)):
        harness.ledger.reconciled(one, at=NOW, due_at=NOW, urgency=number)
    queue = Queue(space=120)
    report = dispatch(harness.ports, queue, NOW, scan_every_s=NEVER)
    assert (report.due, report.dispatched) == (150, 120)
    urgent = [f"vol-{n:04}" for n in range(149, 41, -1)]
    overdue = [f"vol-{n:04}" for n in range(12)]  # a tenth, that no storm holds up
    assert [i.ref.resource_id for i in queue.items] == [*urgent, *overdue]
    queue.taken()
    dispatch(harness.ports, queue, NOW + MINUTE, scan_every_s=NEVER)
    assert {i.ref.resource_id for i in queue.items} == {f"vol-{n:04}" for n in range(12, 42)}


def test_a_queue_full_of_events_does_not_stop_what_is_due(harness: Harness) -> None:
    for one in fleet_of(harness, 150):
        harness.ledger.reconciled(one, at=NOW, due_at=NOW)
    assert dispatch(harness.ports, Queue(space=0), NOW, scan_every_s=NEVER).dispatched == 100


def test_what_could_not_be_put_on_the_queue_is_due_again(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.add(volume())
    harness.ledger.reconciled(ref(), at=NOW, due_at=NOW)
    queue = Queue()

    def fail(*_: object, **__: object) -> None:
        raise ReadFailed("SendMessageBatch: ServiceUnavailable")

    with monkeypatch.context() as broken:
        broken.setattr(Queue, "put", fail)
        assert not dispatch(harness.ports, queue, NOW, scan_every_s=NEVER).complete
    report = dispatch(harness.ports, queue, NOW + 5 * MINUTE, scan_every_s=NEVER)
    assert (report.complete, report.dispatched) == (True, 1)


# --- scans


@dataclass
class Pages:
    """A fleet in pages of two, read from a harness."""

    harness: Harness
    size: int = 2
    rejects: bool = False
    read: list[str] = field(default_factory=list)
    denied: tuple[tuple[str, str], ...] = ()
    """Kinds and places in their listing that nobody may read."""
    unknown: tuple[tuple[str, str], ...] = ()
    """Kinds and places that AWS does not know any more."""

    def kinds(self) -> tuple[str, ...]:
        bad = (*self.denied, *self.unknown)
        return ("ebs", *(kind for kind, _ in bad if kind != "ebs"))

    def page(self, kind: str, cursor: str) -> FleetPage:
        if (cursor and self.rejects) or (kind, cursor) in self.unknown:
            raise CursorRejected(cursor)
        if (kind, cursor) in self.denied:
            raise ReadFailed("explicit deny in a service control policy")
        self.read.append(cursor)
        first, every = int(cursor or 0), list(self.harness.fleet())
        more = first + self.size < len(every)
        return FleetPage(
            views=every[first : first + self.size],
            following=str(first + self.size) if more else None,
        )

    def views(self, refs: Sequence[ResourceRef]) -> Mapping[str, StorageView]:
        return {one.arn: self.harness.view(one) for one in refs}

    def activities(
        self, views: Sequence[StorageView], now: datetime
    ) -> Mapping[str, tuple[VolumeActivity, InstanceActivity | None]]:
        return {v.volume.ref.arn: self.harness.activity(v, now) for v in views}


def paged(harness: Harness, size: int = 2) -> tuple[Ports, Pages]:
    pages = Pages(harness, size)
    return replace(harness.ports, fleet=pages), pages


def scanned(ports: Ports, queue: Queue, now: datetime, **how: Any) -> None:
    while queue.pages:
        read_page(ports, queue, queue.pages.pop(0), lambda: now, every_s=900, **how)


def test_a_scan_reads_each_page_once_and_names_the_suspects(harness: Harness) -> None:
    refs = fleet_of(harness, 7)
    harness.pressed = {"vol-0001", "vol-0006"}
    ports, pages = paged(harness)
    queue = Queue()
    assert dispatch(ports, queue, NOW).scan_began
    scanned(ports, queue, NOW)
    assert pages.read == ["", "2", "4", "6"]
    assert {i.ref.resource_id for i in queue.items} >= harness.pressed
    assert harness.ledger.scan_progress().completed == NOW
    assert harness.ledger.scan_progress().open == ()
    assert len(refs) == 7


@pytest.mark.parametrize("page", range(4))
def test_a_scan_whose_reader_died_goes_on_at_its_page(harness: Harness, page: int) -> None:
    fleet_of(harness, 8)
    ports, pages = paged(harness)
    queue = Queue()
    dispatch(ports, queue, NOW)
    for _ in range(page):
        read_page(ports, queue, queue.pages.pop(0), lambda: NOW, every_s=900)
    queue.pages.clear()  # taken by a worker that died
    assert dispatch(ports, queue, NOW + 4 * MINUTE).pages == 0, "somebody may be reading it"
    report = dispatch(ports, queue, NOW + 5 * MINUTE)
    assert (report.pages, report.scan_began) == (1, False)
    scanned(ports, queue, NOW + 5 * MINUTE)
    assert pages.read == ["", "2", "4", "6"]
    assert harness.ledger.scan_progress().completed == NOW


def test_a_scan_that_dies_at_any_call_misses_nobody() -> None:
    def begun() -> tuple[Harness, Queue]:
        harness = Harness()
        fleet_of(harness, 3)
        harness.loads = {name: calm() for name in harness.loads}
        harness.pressed = set(harness.volumes)
        queue = Queue()
        dispatch(paged(harness)[0], queue, NOW)
        return harness, queue

    harness, queue = begun()
    whole = Crashing(harness, None)
    pages = Pages(harness)
    scanned(replace(whole.ports, fleet=pages), queue, NOW)
    for at in range(1, whole.calls + 1):
        harness, queue = begun()
        ports = replace(Crashing(harness, at, after=at % 2 == 0).ports, fleet=Pages(harness))
        with pytest.raises(Crash):
            scanned(ports, queue, NOW)
        queue.pages.clear()
        found = {i.ref for i in queue.taken()}
        for minute in range(5, 16, 5):
            now = NOW + minute * MINUTE
            dispatch(paged(harness)[0], queue, now, scan_every_s=3_600)
            scanned(paged(harness)[0], queue, now)
            found |= {i.ref for i in queue.taken()}
        assert {one.resource_id for one in found} == set(harness.volumes), f"call {at}"


def test_a_slow_scan_is_not_begun_again_and_its_age_grows(harness: Harness) -> None:
    """Its second page waits in a busy queue, however often it is put there."""
    fleet_of(harness, 4)
    ports, _ = paged(harness)
    queue = Queue()
    dispatch(ports, queue, NOW)
    read_page(ports, queue, queue.pages.pop(0), lambda: NOW, every_s=900)
    for minutes in range(10, 61, 10):
        report = dispatch(ports, queue, NOW + minutes * MINUTE)
    assert (report.scan_began, report.scan_age_s) == (False, 3_600)
    scanned(ports, queue, NOW + timedelta(hours=1))
    assert dispatch(ports, queue, NOW + timedelta(hours=1, minutes=1)).scan_began


@pytest.mark.parametrize("why", ["denied", "unknown"])
@pytest.mark.parametrize("where", [("rds", ""), ("ebs", "4")])
def test_what_cannot_be_read_hides_nothing_else(
    harness: Harness, where: tuple[str, str], why: str
) -> None:
    """A kind that may not be listed, or a page that fails; the age of the scan says so all the while."""
    fleet_of(harness, 6)
    pages = Pages(harness, **{why: (where,)})  # type: ignore[arg-type]
    ports, queue = replace(harness.ports, fleet=pages), Queue()

    def minute(number: int) -> DispatchReport:
        now = NOW + number * MINUTE
        report = dispatch(ports, queue, now, scan_every_s=300)
        while queue.pages:
            with suppress(ReadFailed):
                read_page(ports, queue, queue.pages.pop(0), lambda: now, every_s=300)
        return report

    reports = [minute(number) for number in range(121)]
    assert pages.read.count("") >= 8, "a quarter of an hour"
    assert pages.read.count("2") == pages.read.count("")
    assert reports[-1].scan_age_s == 7_200
    assert not harness.ledger.scan_progress().first
    pages.denied = pages.unknown = ()
    for number in range(121, 140):
        minute(number)
    age = harness.ledger.scan_progress().age_s(NOW + 140 * MINUTE)
    assert age is not None
    assert age <= 600


def test_a_place_in_the_listing_that_aws_forgot_begins_the_scan_anew(harness: Harness) -> None:
    fleet_of(harness, 6)
    ports, pages = paged(harness)
    queue = Queue()
    dispatch(ports, queue, NOW)
    read_page(ports, queue, queue.pages.pop(0), lambda: NOW, every_s=900)
    pages.rejects = True
    scanned(ports, queue, NOW + MINUTE)
    pages.rejects = False
    assert dispatch(ports, queue, NOW + timedelta(minutes=15)).scan_began
    scanned(ports, queue, NOW + timedelta(minutes=15))
    assert harness.ledger.scan_progress().completed == NOW + timedelta(minutes=15)


def test_the_same_page_read_twice_puts_its_suspects_once(harness: Harness) -> None:
    fleet_of(harness, 2)
    harness.pressed = set(harness.volumes)
    ports, _ = paged(harness)
    queue = Queue()
    dispatch(ports, queue, NOW)
    (page,) = queue.pages
    for _ in range(2):
        read_page(ports, queue, page, lambda: NOW, every_s=900)
    assert Counter(i.ref.resource_id for i in queue.items) == Counter([*harness.volumes])


def test_suspects_beyond_the_room_wait_for_the_dispatcher_the_less_starved_ones(
    harness: Harness,
) -> None:
    fleet_of(harness, 6)
    harness.pressed = set(harness.volumes)

    def glance(views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        return {
            v.volume.ref.resource_id: Glance(
                iops_exceeded_minutes=int(v.volume.ref.resource_id[-1]) + 1,
                throughput_exceeded_minutes=0, lowest_burst_balance_percent=None,
                longest_queue=None,
            )
            for v in views
        }  # fmt: skip

    harness.glance = glance  # type: ignore[method-assign]
    ports, _ = paged(harness, size=10)
    queue = Queue(space=2)
    dispatch(ports, queue, NOW)
    scanned(ports, queue, NOW)
    assert [i.ref.resource_id for i in queue.taken()] == ["vol-0005", "vol-0004"]
    queue.space = 100
    dispatch(ports, queue, NOW + MINUTE, scan_every_s=3_600)
    left = [i.ref.resource_id for i in queue.items]
    assert left == ["vol-0003", "vol-0002", "vol-0001", "vol-0000"]


def test_the_first_scan_of_a_large_fleet_spreads_its_reconciliations_over_a_day(
    harness: Harness,
) -> None:
    fleet_of(harness, 40)
    ports, _ = paged(harness, size=20)
    queue = Queue()
    dispatch(ports, queue, NOW)
    scanned(ports, queue, NOW)
    at_once = len(queue.items)
    due = harness.ledger.due(NOW + timedelta(days=1), 100)
    assert at_once + len({d.ref for d in due if d.due_at > NOW}) == 40
    hours = [(d.due_at - NOW) / timedelta(hours=1) for d in due if d.due_at > NOW]
    assert max(hours) > 20
    assert sum(hour < 12 for hour in hours) in range(15, 25)


def test_the_first_scan_of_a_small_fleet_reconciles_everybody_within_minutes(
    harness: Harness,
) -> None:
    fleet_of(harness, 150)
    ports, _ = paged(harness, size=500)
    queue = Queue()
    dispatch(ports, queue, NOW)
    scanned(ports, queue, NOW)
    assert len(queue.items) >= 100
    assert len(harness.ledger.due(NOW + MINUTE, 500)) == 150 - len(queue.items)


def test_a_second_scan_reconciles_only_suspects(harness: Harness) -> None:
    fleet_of(harness, 30)
    ports, _ = paged(harness, size=500)
    queue = Queue()
    for scan in range(2):
        now = NOW + scan * timedelta(minutes=15)
        dispatch(ports, queue, now)
        scanned(ports, queue, now)
        work(ports, queue.taken(), lambda now=now: now)
    assert len(queue.taken()) == 0


# --- batches


def test_a_batch_read_together_makes_the_same_observations(harness: Harness) -> None:
    refs = fleet_of(harness, 3)
    ports, _ = paged(harness)
    together, views = with_batch_reads(ports, refs, NOW)
    assert set(views) == {one.arn for one in refs}
    for one in refs:
        alone = observe(harness.ports, harness.view(one), NOW, earlier_days=True)
        assert observe(together, together.storage.view(one), NOW, earlier_days=True) == alone


def test_a_view_read_together_is_used_once_and_not_after_its_set_was_read(harness: Harness) -> None:
    one, two, apart = fleet_of(harness, 3)
    harness.volumes["vol-0002"] = replace(harness.volumes["vol-0002"], instance_ids=("i-other",))
    ports, _ = paged(harness)
    together, views = with_batch_reads(ports, [one, two, apart], NOW)
    assert together.storage.view(one) is views[one.arn]
    assert together.storage.view(one) is not views[one.arn]
    together.storage.attached(harness.volumes["vol-0001"].instance_ids[0])
    assert together.storage.view(two) is not views[two.arn]
    assert together.storage.view(apart) is views[apart.arn]


def test_where_a_batch_cannot_be_read_each_is_read_alone(harness: Harness) -> None:
    refs = fleet_of(harness, 3)
    ports, pages = paged(harness)

    def fail(_: object) -> Mapping[str, StorageView]:
        raise ReadFailed("DescribeVolumes: RequestLimitExceeded")

    pages.views = fail  # type: ignore[method-assign,assignment]
    harness.rules = policy()
    items = [item(one.resource_id) for one in refs]
    assert work(ports, items, lambda: NOW).reconciled == 3


@dataclass
class OneInstance(Harness):
    """All volumes are on one instance, and none is of a set."""

    def _set_of(self, vol: Volume) -> tuple[str, ...]:
        return tuple(self.volumes)


@pytest.mark.parametrize("workers", [1, 2])
def test_volumes_that_starve_together_do_not_each_buy_the_rest_of_their_instance(
    workers: int,
) -> None:
    harness = OneInstance(rules=policy(relief_value_usd_per_minute=1.0))
    harness.instance = instance(baseline_iops=12_000, baseline_mibps=600.0, maximum_iops=12_000)
    vols = [harness.add(volume(ref=ref(f"vol-{n}"))) for n in range(3)]
    items = [WorkItem(ref=vol, trigger="alarm", since=NOW, must_record=True) for vol in vols]
    if workers == 1:
        work(harness.ports, items, lambda: harness.now, threads=3)
    else:
        for item in items:
            work(harness.ports, [item], lambda: harness.now)
    for _ in range(10):
        sweep(harness.ports, harness.later(minutes=1))
    acts = [vol for vol in vols if "applied" in harness.steps(vol)]
    assert len(acts) == 1
    assert sum(harness.view(vol).volume.configuration.iops or 0 for vol in vols) <= 12_000
    others = [vol for vol in vols if vol not in acts]
    for vol in others:
        held = harness.ledger.resource_state(vol, harness.now).last_signature
        assert held is not None
        assert held.blocking == ("instance_limit",)
    harness.loads[acts[0].resource_id] = activity([3_300.0] * 180)  # it needed little more
    for _ in range(24):
        sweep(harness.ports, harness.later(minutes=5))
    assert any("applied" in harness.steps(vol) for vol in others)  # once the metrics show the rest


def woken_in_three_days(denied: tuple[tuple[str, str], ...]) -> Counter[str]:
    """How often each of twelve calm volumes is put on the queue, which nobody works off."""
    harness = Harness()
    fleet_of(harness, 12)
    harness.loads = {name: calm() for name in harness.loads}
    ports, queue = replace(harness.ports, fleet=Pages(harness, size=50, denied=denied)), Queue()
    woken: Counter[str] = Counter()
    for quarter in range(3 * 96):
        now = NOW + quarter * timedelta(minutes=15)
        dispatch(ports, queue, now)
        while queue.pages:
            with suppress(ReadFailed):
                read_page(
                    ports, queue, queue.pages.pop(0), partial(lambda at: at, now), every_s=900
                )
        for item in queue.taken():
            woken[item.ref.resource_id] += 1
            harness.ledger.reconciled(item.ref, at=now, due_at=None)
    return woken


def test_a_kind_that_can_never_be_listed_makes_no_volume_due_more_often() -> None:
    """Such a scan is never complete; the next one stands for the time since it, not since the last complete one."""
    usual, denied = woken_in_three_days(()), woken_in_three_days((("rds", ""),))
    assert len(usual) == len(denied) == 12
    assert max(denied.values()) <= max(usual.values()) + 1 <= 6


@pytest.mark.parametrize("every_s", [300, 900, 3_600])
@pytest.mark.parametrize("takes", [1, 2, 3, 7])
def test_each_volume_has_its_turn_once_a_day_however_long_a_scan_takes(
    every_s: int, takes: int
) -> None:
    refs = [ref(f"vol-{number:04}") for number in range(60)]
    turns: Counter[str] = Counter()
    scans = range(0, 3 * 86_400, takes * every_s)
    for last, scan in itertools.pairwise([None, *(NOW + timedelta(seconds=s) for s in scans)]):
        assert scan is not None
        for one in refs:
            turns[one.resource_id] += _turn(one, scan=scan, last=last, every_s=every_s)
    assert set(turns) == {one.resource_id for one in refs}
    assert set(turns.values()) <= {2, 3}  # the last parts of the third day are the next scan's
