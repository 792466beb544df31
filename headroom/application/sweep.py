"""The sweep: every minute what is due, every scan period the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256

from headroom.application.queue import turns
from headroom.application.reconcile import CLOSE_TO_LIMIT, look
from headroom.application.space import may_run_out_of_space
from headroom.domain.catalog.ebs import capability
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import Kind, ResourceRef
from headroom.domain.workload import AT_LIMIT
from headroom.ports import Glance, Ports, ReadFailed, Scan, StorageView

BATCH = 500
DUE_AT_ONCE = 200
MAX_REPORTED_ERRORS = 20
RESERVE_S = 20.0
"""Seconds of a function's time kept for finishing what was begun."""
LAST_S = 3.0
"""Seconds kept for telling what was done."""
LOST_S = 60.0
"""Seconds of a run that looks at databases which fail may take: volumes want the rest."""
SUSPECT_BALANCE_PERCENT = 90.0
SUSPECT_QUEUE = 32.0
SUSPECT_LATENCY_MS = 50.0
"""SSD storage answers within milliseconds; far above that, operations wait for something."""
DAY_S = 86_400


@dataclass(slots=True, kw_only=True)
class _Tally:
    due: int = 0
    scanned: int = 0
    reconciled: int = 0
    acted: int = 0
    held: int = 0
    escalated: int = 0
    failed: int = 0
    errors: tuple[str, ...] = ()
    overdue_s: float = 0.0
    """Seconds that looks at databases took which failed, as where RDS throttles or hangs."""

    def fail(self, what: str, error: Exception) -> None:
        self.failed += 1
        if len(self.errors) < MAX_REPORTED_ERRORS:
            self.errors += (f"{what}: {type(error).__name__}: {error}",)

    def count(self, decision: Decision | None) -> None:
        self.reconciled += 1
        if decision is None:
            return
        if isinstance(decision.answer, Act):
            self.acted += 1
        elif isinstance(decision.answer, Escalate):
            self.escalated += 1
        else:
            self.held += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepReport:
    """What one run of the sweep did; `complete` is False when its time ran out."""

    due: int
    scanned: int
    reconciled: int
    acted: int
    held: int
    escalated: int
    failed: int
    errors: tuple[str, ...]
    """One line for each resource that could not be looked at, at most 20."""
    oldest_due_s: float
    scan_ran: bool
    scan_complete: bool
    """Whether a scan that ran glanced at every volume; False when none ran."""
    complete: bool
    policy_unreadable: str | None
    calendars_unread: tuple[str, ...] = ()
    """Why Change Calendars that the policy names cannot be read; nothing is changed then."""


def sweep(
    ports: Ports,
    now: datetime,
    *,
    scan_every_s: int = 900,
    time_left: Callable[[], float] = lambda: float("inf"),
    clock: Callable[[], datetime] | None = None,
) -> SweepReport:
    """Take what is due, give free places to who waits, then scan the fleet if it is time.

    One failure leaves the rest alone.

    Each look happens at the instant that `clock` then tells; without one, all of them at `now`.
    """
    tally = _Tally()
    clock = clock or (lambda: now)
    policy = ports.policies.current()
    due = ports.state_store.due(now, DUE_AT_ONCE)
    oldest = max(((now - d.due_at).total_seconds() for d in due), default=0.0)
    complete = _reconcile_one(ports, (d.ref for d in due), clock, "due", tally, time_left)
    tally.due = len(due)
    seen = {d.ref.arn for d in due}
    if complete:
        complete = _serve(ports, turns(ports, policy, clock, seen), clock, tally, time_left)
    scan = complete and ports.scan.claim_scan(now, scan_every_s)
    scan_complete = False
    if scan:
        turn = partial(_turn, now=now, every_s=scan_every_s, first=scan is Scan.FIRST)
        suspects, scan_complete = _needing_attention(
            ports, policy, now, seen, tally, time_left, turn
        )
        complete = (
            _reconcile_one(ports, suspects, clock, "sweep", tally, time_left) and scan_complete
        )
    return SweepReport(
        due=tally.due, scanned=tally.scanned, reconciled=tally.reconciled, acted=tally.acted,
        held=tally.held, escalated=tally.escalated, failed=tally.failed, errors=tally.errors,
        oldest_due_s=oldest, scan_ran=bool(scan), scan_complete=scan_complete, complete=complete,
        policy_unreadable=policy.reason if isinstance(policy, PolicyUnreadable) else None,
        calendars_unread=_unreadable_sources(ports, policy, now),
    )  # fmt: skip


def _unreadable_sources(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime
) -> tuple[str, ...]:
    names = () if isinstance(policy, PolicyUnreadable) else policy.calendars
    said = ports.calendars.seen(names, now) if names else ()
    return tuple(one.problem for one in said if one.problem is not None)


def _serve(
    ports: Ports, queued: Iterable[ResourceRef], clock: Callable[[], datetime], tally: _Tally,
    time_left: Callable[[], float],
) -> bool:  # fmt: skip
    """Look at those whose turn it is; a queue that cannot be read is told and tried next time."""
    try:
        return _reconcile_one(ports, queued, clock, "due", tally, time_left)
    except ReadFailed as error:
        tally.fail("the queue", error)
        return True


def _reconcile_one(
    ports: Ports, refs: Iterable[ResourceRef], clock: Callable[[], datetime], trigger: str,
    tally: _Tally, time_left: Callable[[], float],
) -> bool:  # fmt: skip
    """Look at each in turn; what there is no time for is due at once, for the next runs."""
    complete = True
    for ref in refs:
        at = clock()  # a sweep of a large fleet takes minutes, in which volumes get into trouble
        left = time_left()
        if left < RESERVE_S:
            complete = False
            if trigger != "due" and time_left() > LAST_S:
                with suppress(Exception):
                    ports.state_store.reconciled(ref, at=at, due_at=at)
            continue
        try:
            if ref.kind is not Kind.EBS and tally.overdue_s > LOST_S:
                raise ReadFailed(f"passed over, as others took {tally.overdue_s:.0f} s and failed")
            tally.count(look(ports, ref, at, trigger=trigger))
        except Exception as error:
            # One volume's trouble must not hide the others'; it is tried again in minutes.
            tally.fail(ref.resource_id, error)
            if ref.kind is not Kind.EBS:
                tally.overdue_s += left - time_left()
            with suppress(Exception):
                ports.state_store.reconciled(ref, at=at, due_at=at + CLOSE_TO_LIMIT)
    return complete


def _needing_attention(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, seen: set[str], tally: _Tally,
    time_left: Callable[[], float], turn: Callable[[ResourceRef], bool],
) -> tuple[list[ResourceRef], bool]:  # fmt: skip
    """Glance at the whole fleet; the suspects, enrolled and most starved first, and whether
    every volume was glanced at. A batch that cannot be read is told and passed over."""
    found: list[tuple[tuple[bool, int, float], ResourceRef]] = []
    complete = True
    batches = _batches(ports.storage.fleet())
    while time_left() >= RESERVE_S:
        try:
            batch = next(batches, None)
            if batch is None:
                break
            watched = [v for v in batch if _watched(policy, v) and v.volume.ref.arn not in seen]
            glances = ports.metrics.glance(watched, now)
        except Exception as error:  # whatever it is, the volumes glanced at must be looked at
            tally.fail("the fleet", error)
            complete = False
            continue  # a fleet that failed yields nothing more; a batch that did is passed over
        tally.scanned += len(batch)
        for view in watched:
            glance = glances.get(view.volume.ref.resource_id)
            if turn(view.volume.ref) or needs_attention(view, glance, now, timedelta(hours=1)):
                found.append((_urgency(policy, view, glance), view.volume.ref))
    else:
        complete = False
    found.sort(key=lambda each: each[0])
    return [ref for _, ref in found], complete


def _turn(ref: ResourceRef, *, now: datetime, every_s: int, first: bool) -> bool:
    """Whether a volume is looked at in this scan whatever it does: once a day, and in the first.

    Its hour of the day follows from its name, so that a fleet's looks are spread over the day.
    """
    per_day = max(1, DAY_S // every_s)
    mine = int.from_bytes(sha256(ref.arn.encode()).digest()[:4]) % per_day
    return first or int(now.timestamp() // every_s) % per_day == mine


def _urgency(
    policy: Policy | PolicyUnreadable, view: StorageView, glance: Glance | None
) -> tuple[bool, int, float]:
    """Sorts what may be acted on first, then the longest pressed, then the emptiest bucket."""
    watched_only = (
        isinstance(policy, PolicyUnreadable) or not limits_for(policy, view.volume).enrolled
    )
    if glance is None:
        return watched_only, 0, 100.0
    pressed = (glance.iops_exceeded_minutes or 0) + (glance.throughput_exceeded_minutes or 0)
    balance = glance.lowest_burst_balance_percent
    return watched_only, -pressed, 100.0 if balance is None else balance


def _batches(views: Iterator[StorageView]) -> Iterator[list[StorageView]]:
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
    """Whether a volume deserves a full look: thresholds wake the engine, they never decide.

    A modification that started within `fresh` is reason enough: the ledger must hear of it.
    """
    change = view.modification
    if change is not None and change.started_at > now - fresh:
        return True
    if may_run_out_of_space(view, glance):
        return True
    if glance is None:
        return False
    if (glance.iops_exceeded_minutes or 0) + (glance.throughput_exceeded_minutes or 0) >= 1:
        return True
    balance = glance.lowest_burst_balance_percent
    if balance is not None and balance < SUSPECT_BALANCE_PERCENT:
        return True
    can = capability(view.volume.configuration)
    if (glance.peak_iops or 0.0) >= AT_LIMIT * can.burst_iops:
        return True
    if (glance.peak_mibps or 0.0) >= AT_LIMIT * can.burst_mibps:
        return True
    if (glance.slowest_ms or 0.0) >= SUSPECT_LATENCY_MS:
        return True
    queue = glance.longest_queue
    # One outstanding operation per 1,000 IOPS is AWS's own advice; far above it, somebody waits.
    expected = max(1.0, can.sustained_iops / 1000)
    return queue is not None and queue >= max(SUSPECT_QUEUE, 4 * expected)
