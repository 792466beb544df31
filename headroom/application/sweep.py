"""The sweep: every minute what is due, every scan period the whole fleet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from headroom.application.look import NEAR_A_LIMIT, look
from headroom.domain.catalogue import capability
from headroom.domain.decision import Act, Decision, Escalate
from headroom.domain.policy import Mode, Policy, PolicyUnreadable, limits_for
from headroom.domain.resources import ResourceRef
from headroom.ports import Glance, Ports, ReadFailed, StorageView

BATCH = 500
DUE_AT_ONCE = 200
ERRORS_TOLD = 20
RESERVE_S = 20.0
"""Seconds of a function's time kept for finishing what was begun."""
SUSPECT_BALANCE_PERCENT = 90.0
SUSPECT_QUEUE = 32.0


@dataclass(slots=True, kw_only=True)
class _Tally:
    due: int = 0
    scanned: int = 0
    looked: int = 0
    acted: int = 0
    held: int = 0
    escalated: int = 0
    failed: int = 0
    errors: tuple[str, ...] = ()

    def fail(self, what: str, error: Exception) -> None:
        self.failed += 1
        if len(self.errors) < ERRORS_TOLD:
            self.errors += (f"{what}: {type(error).__name__}: {error}",)

    def count(self, decision: Decision | None) -> None:
        self.looked += 1
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
    looked: int
    acted: int
    held: int
    escalated: int
    failed: int
    errors: tuple[str, ...]
    """One line for each resource that could not be looked at, at most 20."""
    oldest_due_s: float
    scan_ran: bool
    complete: bool
    policy_unreadable: str | None


def sweep(
    ports: Ports,
    now: datetime,
    *,
    scan_every_s: int = 900,
    time_left: Callable[[], float] = lambda: float("inf"),
) -> SweepReport:
    """Take what is due, then scan the fleet if it is time; one failure leaves the rest alone."""
    tally = _Tally()
    policy = ports.policies.current()
    due = ports.standings.due(now, DUE_AT_ONCE)
    oldest = max(((now - d.due_at).total_seconds() for d in due), default=0.0)
    complete = _look_at(ports, (d.ref for d in due), now, "due", tally, time_left)
    tally.due = len(due)
    scan = complete and ports.scan.claim_scan(now, scan_every_s)
    if scan:
        recently = {d.ref.arn for d in due}
        complete = _scan(ports, policy, now, recently, tally, time_left)
    return SweepReport(
        due=tally.due, scanned=tally.scanned, looked=tally.looked, acted=tally.acted,
        held=tally.held, escalated=tally.escalated, failed=tally.failed, errors=tally.errors,
        oldest_due_s=oldest, scan_ran=scan, complete=complete,
        policy_unreadable=policy.reason if isinstance(policy, PolicyUnreadable) else None,
    )  # fmt: skip


def _look_at(
    ports: Ports, refs: Iterable[ResourceRef], now: datetime, trigger: str, tally: _Tally,
    time_left: Callable[[], float],
) -> bool:  # fmt: skip
    for ref in refs:
        if time_left() < RESERVE_S:
            return False
        try:
            tally.count(look(ports, ref, now, trigger=trigger))
        except Exception as error:
            # One volume's trouble must not hide the others'; it is tried again in minutes.
            tally.fail(ref.resource_id, error)
            with suppress(Exception):
                ports.standings.looked(ref, at=now, due_at=now + NEAR_A_LIMIT)
    return True


def _scan(
    ports: Ports, policy: Policy | PolicyUnreadable, now: datetime, seen: set[str], tally: _Tally,
    time_left: Callable[[], float],
) -> bool:  # fmt: skip
    """Glance at every volume and look at the suspects, most starved first in each batch."""
    try:
        for batch in _batches(ports.storage.fleet()):
            if time_left() < RESERVE_S:
                return False
            watched = [v for v in batch if _watched(policy, v) and v.volume.ref.arn not in seen]
            glances = ports.metrics.glance(watched, now)
            tally.scanned += len(batch)
            seen_of = {v.volume.ref: glances.get(v.volume.ref.resource_id) for v in watched}
            suspects = [
                v.volume.ref
                for v in watched
                if suspect(v, seen_of[v.volume.ref], now, timedelta(hours=1))
            ]
            suspects.sort(key=lambda ref: _urgency(seen_of[ref]))
            if not _look_at(ports, suspects, now, "sweep", tally, time_left):
                return False
    except ReadFailed as error:
        tally.fail("the fleet", error)
        return False
    return True


def _urgency(glance: Glance | None) -> tuple[int, float]:
    if glance is None:
        return 0, 100.0
    pressed = (glance.iops_exceeded_minutes or 0) + (glance.throughput_exceeded_minutes or 0)
    balance = glance.lowest_burst_balance_percent
    return -pressed, 100.0 if balance is None else balance


def _batches(views: Iterator[StorageView]) -> Iterator[list[StorageView]]:
    while batch := list(islice(views, BATCH)):
        yield batch


def _watched(policy: Policy | PolicyUnreadable, view: StorageView) -> bool:
    if isinstance(policy, PolicyUnreadable):
        return True
    return limits_for(policy, view.volume).limits.mode is not Mode.OFF


def suspect(view: StorageView, glance: Glance | None, now: datetime, fresh: timedelta) -> bool:
    """Whether a volume deserves a full look: thresholds wake the engine, they never decide.

    A modification that started within `fresh` is reason enough: the ledger must hear of it.
    """
    change = view.modification
    if change is not None and change.started_at > now - fresh:
        return True
    if glance is None:
        return False
    if (glance.iops_exceeded_minutes or 0) + (glance.throughput_exceeded_minutes or 0) >= 1:
        return True
    balance = glance.lowest_burst_balance_percent
    if balance is not None and balance < SUSPECT_BALANCE_PERCENT:
        return True
    queue = glance.longest_queue
    # One outstanding operation per 1,000 IOPS is AWS's own advice; far above it, somebody waits.
    expected = max(1.0, capability(view.volume.configuration).sustained_iops / 1000)
    return queue is not None and queue >= max(SUSPECT_QUEUE, 4 * expected)
