"""A small account in which anything may go wrong: real rules, said metrics, faults on demand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.catalog.ebs import capability
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.resources import (
    Configuration,
    InstanceActivity,
    Modification,
    ModificationState,
    PriceUnknown,
    ResourceRef,
    Series,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import AlreadyThere, Applied, Outcome, Refusal, Refused, Stale, Unknown
from headroom.ports import Glance, ReadFailed, ResourceGone, StorageView
from headroom.proving.awsrules import Delays, ModificationRefused, VolumeLifecycle
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, instance
from tests.domain.earlier import history
from tests.laws.permits import Document

SEEN_MINUTES = 75
"""How far back minute metrics go here; three hours would only be slower."""
LATE_MINUTES = 2
"""CloudWatch's delay."""
DELAYS = Delays(
    modifying=timedelta(minutes=1), effect=timedelta(minutes=6), completed=timedelta(minutes=50)
)
REFUSALS = {
    "denied": (Refusal.DENIED, "UnauthorizedOperation"),
    "throttled": (Refusal.THROTTLED, "RequestLimitExceeded"),
    "slots": (Refusal.SLOTS, "VolumeModificationRateExceeded"),
    "quota": (Refusal.REGION_QUOTA, "VolumeIOPSLimit"),
    "invalid": (Refusal.INVALID, "InvalidParameterValue"),
    "other": (Refusal.OTHER, "InternalError"),
}
PRICES = catalogue_prices(REGION)


def _owner_settings(
    owner: Configuration, before: Configuration, after: Configuration
) -> Configuration:
    """What the owner has set by now: all that is there, less what Headroom added and they left."""

    def number(owners: int | None, was: int | None, now: int | None) -> int | None:
        if was == now or now is None:
            return None if now is None else owners
        added = max(0, (was or 0) - (owners or 0))
        return now - max(0, added - max(0, (was or 0) - now))

    size = number(owner.size_gib, before.size_gib, after.size_gib) or 0
    if before.volume_type is not after.volume_type:
        return after  # numbers of two types cannot be separated: the owner's, at the least
    if (
        owner.volume_type is not after.volume_type
    ):  # as Headroom left it; before, they paid for theirs
        return max(replace(owner, size_gib=size), after, key=PRICES.monthly)
    return replace(
        after, size_gib=size,
        iops=number(owner.iops, before.iops, after.iops),
        throughput_mibps=number(
            owner.throughput_mibps, before.throughput_mibps, after.throughput_mibps
        ),
    )  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Held:
    """A volume: what EC2 reports, what its tags ask for, and what only the world knows."""

    volume: Volume
    life: VolumeLifecycle
    owner: Configuration
    """What people set, without what Headroom added: what price increases count from."""
    asked: Mapping[str, Any] | None
    """What its tags ask for; None when they cannot be understood."""
    loads: list[tuple[datetime, float, float]]
    """From when on, application operations/s, KiB each."""
    days: float = 0.0
    """Days of earlier load at the present one, as CloudWatch has it."""
    on: str = "ample"
    """Its instance: ample, bound or unknown."""
    measured: str = "whole"
    """whole, thin (a minute of eight) or nothing."""
    failed: Modification | None = None
    """The latest modification, if AWS failed it."""
    ours: list[tuple[datetime, Configuration, Configuration]] = field(default_factory=list)
    """Changes by Headroom that AWS took: start, from, to."""
    undone: list[tuple[datetime, Configuration, Configuration]] = field(default_factory=list)
    """Those of them that were rolled back, and the rollbacks."""


@dataclass(slots=True, kw_only=True)
class World:
    """Storage, Metrics, Policies, Prices and Notifier of an account; moved by `now`."""

    now: datetime = NOW
    held: dict[str, Held] = field(default_factory=dict)
    gone: dict[str, Held] = field(default_factory=dict)
    """Volumes that were deleted: their metrics stay."""
    document: Document | None = None
    policy: Policy | PolicyUnreadable = field(
        default_factory=lambda: PolicyUnreadable(reason="there is none")
    )
    ledger: InMemoryLedger = field(default_factory=lambda: InMemoryLedger(ACCOUNT, REGION))
    paused_until: datetime | None = None
    faults: dict[str, int] = field(default_factory=dict)
    """Kind of read and how many of the next ones fail."""
    answers: list[str] = field(default_factory=list)
    """What AWS answers the next ModifyVolume calls instead of doing what they say."""

    # Storage
    def fleet(self) -> Iterator[StorageView]:
        self._maybe_fail("fleet")
        for name in list(self.held):
            yield replace(self._view(name), instance=None)

    def view(self, ref: ResourceRef) -> StorageView:
        self._maybe_fail("view")
        return self._view(ref.resource_id)

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        self._maybe_fail("view")
        return tuple(
            self._view(n) for n, h in self.held.items() if instance_id in h.volume.instance_ids
        )

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        """As adapters/ebs does it: read again first, sent at most once."""
        try:
            view = self._view(ref.resource_id)
        except ResourceGone as gone:
            return _no(Refusal.GONE, str(gone))
        found, change = view.volume.configuration, view.modification
        busy = change is not None and change.in_flight
        if found == target and not busy:
            return AlreadyThere()
        if found != expected or (None if change is None else change.started_at) != seen:
            return Stale(expected=expected, found=found, detail="it moved")
        if busy:
            return _no(Refusal.IN_FLIGHT, "the last modification has not completed")
        answer = self.answers.pop(0) if self.answers else "done"
        if answer in REFUSALS:
            return _no(*REFUSALS[answer])
        if answer == "lost":
            return Unknown(detail="the call timed out and was never taken")
        try:
            started = self._modify(self.held[ref.resource_id], target, fails=answer == "fails")
        except ModificationRefused as refused:
            return _refused(refused)
        self.held[ref.resource_id].ours.append((started, found, target))
        return (
            Unknown(detail="the call timed out after it was taken")
            if answer == "taken"
            else Applied(started_at=started)
        )

    # Metrics
    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        self._maybe_fail("glance")
        found = {}
        for view in views:
            seen, _ = self._activity(view.volume.ref.resource_id, now)
            found[view.volume.ref.resource_id] = Glance(
                iops_exceeded_minutes=int(sum(seen.iops_exceeded.known()[-30:])),
                throughput_exceeded_minutes=int(sum(seen.throughput_exceeded.known()[-30:])),
                lowest_burst_balance_percent=min(
                    seen.burst_balance_percent.known()[-30:], default=None
                ),
                longest_queue=max(seen.queue_length.known()[-30:], default=None),
            )
        return found

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        self._maybe_fail("activity")
        return self._activity(view.volume.ref.resource_id, now)

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        self._maybe_fail("history")
        held = self._measured(view.volume.ref.resource_id)
        if not held.days:
            return None
        iops = held.loads[0][1]
        return _moved(_earlier(round(min(iops, 80_000.0)), held.days), self.now)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        self._maybe_fail("older_history")
        return ()

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        return tuple(held.volume.ref for held in self.held.values())

    # Policies, Prices
    def current(self) -> Policy | PolicyUnreadable:
        return self.policy

    def fresh(self) -> Policy | PolicyUnreadable:
        return self.policy

    def table(self, region: str) -> PriceTable:
        if self._fails("prices"):
            raise PriceUnknown("the price list did not answer")
        return PRICES

    # The truth
    def change(self, name: str, target: Configuration) -> bool:
        """Change a volume as its owner; whether AWS took it."""
        held = self.held[name]
        before = self.billed(name)
        try:
            self._modify(held, target, fails=False)
        except ModificationRefused:
            return False
        held.owner = _owner_settings(held.owner, before, target)
        return True

    def billed(self, name: str) -> Configuration:
        """What is paid for a volume now."""
        held = self.held[name]
        return held.failed.origin if held.failed is not None else held.life.billed(self.now)

    def increase(self, name: str) -> Decimal:
        """By how much Headroom made a volume dearer than its owner left it; never below zero."""
        held = self.held[name]
        more = PRICES.monthly(self.billed(name)) - PRICES.monthly(held.owner)
        return max(more, Decimal(0))

    def _view(self, name: str) -> StorageView:
        held = self.held.get(name)
        if held is None:
            raise ResourceGone(name)
        described = held.life.described(self.now)
        change = held.life.modification(self.now)
        if held.failed is not None:
            described, change = held.failed.origin, held.failed
        machine, can = (
            instance(baseline_iops=400_000, baseline_mibps=10_000.0),
            capability(described),
        )
        if held.on == "bound":  # it sustains no more than the volume itself
            machine = instance(
                baseline_iops=int(can.burst_iops), baseline_mibps=float(can.burst_mibps)
            )
        reported = replace(machine, limits=None) if held.on == "unknown" else machine
        return StorageView(
            volume=replace(held.volume, configuration=described),
            modification=change,
            instance=replace(reported, volume_ids=tuple(self._beside(held)))
            if len(held.volume.instance_ids) == 1
            else None,
        )

    def _beside(self, held: Held) -> list[str]:
        """The volumes of the same instance, itself among them."""
        here = held.volume.instance_ids
        return [name for name, each in self.held.items() if each.volume.instance_ids == here]

    def _modify(self, held: Held, target: Configuration, *, fails: bool) -> datetime:
        before = held.life.described(self.now)
        started = held.life.modify(
            self.now, volume_type=target.volume_type, size_gib=target.size_gib, iops=target.iops,
            throughput_mibps=target.throughput_mibps,
        ).started_at  # fmt: skip
        held.failed = None
        if fails:
            held.life = VolumeLifecycle(
                before, created_at=held.life.created_at, delays=DELAYS, history=held.life.starts
            )
            held.failed = Modification(
                state=ModificationState.FAILED, started_at=started, ended_at=self.now,
                origin=before, target=target, progress_percent=0,
            )  # fmt: skip
        return started

    def _activity(self, name: str, now: datetime) -> tuple[VolumeActivity, InstanceActivity | None]:
        held = self._measured(name)
        end = now.replace(second=0, microsecond=0) - timedelta(minutes=LATE_MINUTES)
        start = end - timedelta(minutes=SEEN_MINUTES)
        rows: list[tuple[float, ...] | None] = []
        queue = 1.0
        for minute in range(SEEN_MINUTES):
            at = start + timedelta(minutes=minute)
            queue = _minute(held, at, rows, queue, thin=held.measured == "thin" and minute % 8 > 0)
        if held.measured == "nothing":
            rows = [None] * SEEN_MINUTES

        def series(column: int) -> Series:
            values = tuple(None if row is None else row[column] for row in rows)
            return Series(start=start, period_s=60, values=values)

        bursts = capability(held.life.described(self.now)).iops_credits > 0
        none = Series(start=start, period_s=60, values=(None,) * SEEN_MINUTES)
        seen = VolumeActivity(
            read_iops=series(0), write_iops=series(0), read_mibps=series(1), write_mibps=series(1),
            queue_length=series(2), latency_ms=series(3), iops_exceeded=series(4),
            throughput_exceeded=series(5), burst_balance_percent=series(6) if bursts else none,
        )  # fmt: skip
        beside = [] if not held.volume.instance_ids else self._beside(held)
        published = len(beside) > 1 and held.on != "unknown"
        return seen, self._together(seen, beside) if published else None

    def _together(self, seen: VolumeActivity, beside: Sequence[str]) -> InstanceActivity:
        """What volumes that are loaded alike do to their instance: so many times the same."""

        def summed(one: Series, other: Series, times: float) -> Series:
            pairs = zip(one.values, other.values, strict=True)
            return replace(one, values=tuple(
                None if a is None or b is None else (a + b) * times for a, b in pairs
            ))  # fmt: skip

        none = replace(seen.read_iops, values=(None,) * len(seen.read_iops.values))
        free = summed(seen.read_iops, seen.write_iops, 0.0)
        return InstanceActivity(
            iops=summed(seen.read_iops, seen.write_iops, len(beside)),
            mibps=summed(seen.read_mibps, seen.write_mibps, len(beside)),
            iops_exceeded=free, throughput_exceeded=free, io_balance_percent=none,
            byte_balance_percent=none,
        )  # fmt: skip

    def _measured(self, name: str) -> Held:
        return self.held.get(name) or self.gone[name]

    def _fails(self, kind: str) -> bool:
        left = self.faults.get(kind, 0)
        self.faults[kind] = max(0, left - 1)
        return left > 0

    def _maybe_fail(self, kind: str) -> None:
        if self._fails(kind):
            raise ReadFailed(f"{kind} did not answer")


def _minute(
    held: Held, at: datetime, rows: list[tuple[float, ...] | None], queue: float, *, thin: bool
) -> float:
    """One minute of a volume's life, and the queue it leaves."""
    _, offered, kib = next(
        load for load in reversed(held.loads) if load[0] <= at or load is held.loads[0]
    )
    can = capability(held.life.effective(at))
    by_bytes = can.burst_mibps * 1024 / kib
    served = min(offered, can.burst_iops, by_bytes)
    full, queue = offered > served * 1.001, queue + 3 if offered > served * 1.001 else 1.0
    balance = 95.0 if offered <= can.sustained_iops else max(2.0, 70.0 - len(rows) * 0.6)
    rows.append(
        None if thin else (
            served / 2, served / 2 * kib / 1024, 900.0 + queue if full else 1.0,
            9.0 if full else 1.0, float(full and served >= can.burst_iops),
            float(full and served < can.burst_iops), balance,
        )
    )  # fmt: skip
    return queue


@cache
def _earlier(iops: int, days: float) -> VolumeActivity:
    return history(lambda _: float(iops), days=days)


def _moved(load: VolumeActivity, now: datetime) -> VolumeActivity:
    end = now.replace(second=0, microsecond=0)
    end -= timedelta(minutes=end.minute % 5)
    shift = end - load.read_iops.end

    def move(name: str) -> Series | None:
        found: Series | None = getattr(load, name)
        return None if found is None else replace(found, start=found.start + shift)

    return VolumeActivity(**{name: move(name) for name in VolumeActivity.__dataclass_fields__})  # type: ignore[arg-type]


def _no(refusal: Refusal, code: str) -> Refused:
    return Refused(refusal=refusal, code=code, message="no", retry_at=None)


def _refused(refused: ModificationRefused) -> Refused:
    kind = {
        "VolumeModificationRateExceeded": Refusal.SLOTS,
        "IncorrectModificationState": Refusal.IN_FLIGHT,
    }.get(refused.code, Refusal.INVALID)
    return Refused(refusal=kind, code=refused.code, message=refused.message, retry_at=None)
