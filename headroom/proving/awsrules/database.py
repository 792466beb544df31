"""RDS's rules for one DB instance or Multi-AZ DB cluster, by the clock that the caller passes in.

Source: RDS API 2014-10-31, ModifyDBInstance and ModifyDBCluster; RDS User Guide, "Working with
storage", "Viewing DB instance status", "Amazon RDS event categories and event messages" (checked
2026-11). What a change of storage leads to, and the words it is refused with, are in `database_request`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from headroom.domain.catalog.rds import full_copy
from headroom.domain.resources import Configuration, Modification, ModificationState
from headroom.proving.awsrules import database_request
from headroom.proving.awsrules.autoscaling import FreeSpace, autoscaled_iops, autoscaled_size
from headroom.proving.awsrules.lifecycle import Delays, VolumeLifecycle
from headroom.proving.awsrules.settings import NOTICED, Settings, next_maintenance_window
from headroom.proving.awsrules.volume_request import ModificationRefused

DATABASE_DELAYS = Delays(modifying=timedelta(minutes=5))
"""A change in place: `modifying` for minutes, then `storage-optimization`."""
FULL_COPY_DELAYS = Delays(
    modifying=timedelta(hours=3), effect=timedelta(hours=3), completed=timedelta(hours=6)
)
"""A change that copies all data: `modifying` for hours."""
STORAGE_FIELDS = {
    "StorageType": "volume_type", "AllocatedStorage": "size_gib", "Iops": "iops",
    "StorageThroughput": "throughput_mibps",
}  # fmt: skip
"""Parameters of the storage itself, and what `database_request` calls them."""
CHANGING, CHANGED = "RDS-EVENT-0018", "RDS-EVENT-0017"
SCALING, SCALED = "RDS-EVENT-0217", "RDS-EVENT-0218"
CLASS_CHANGING, CLASS_CHANGED, RESTARTED = "RDS-EVENT-0012", "RDS-EVENT-0014", "RDS-EVENT-0006"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class DatabaseEvent:
    """An event of RDS, by its id."""

    at: datetime
    event_id: str


class DatabaseRules:
    """Storage, settings and status of one database; the instants asked never go back.

    `history` are starts of changes of the storage from before: they count as slots.
    """

    def __init__(
        self,
        storage: Configuration,
        *,
        created_at: datetime,
        settings: Settings,
        state_code: str = "InvalidDBInstanceState",
        delays: Delays = DATABASE_DELAYS,
        copying: Delays = FULL_COPY_DELAYS,
        history: Sequence[datetime] = (),
        max_allocated_gib: int | None = None,
    ) -> None:
        self.lifecycle = VolumeLifecycle(
            storage, created_at=created_at, delays=delays, copying=copying, history=history
        )
        self.settings = settings
        self.max_allocated_gib = max_allocated_gib
        self._copying = copying
        self._state_code = state_code
        self._waiting: dict[str, object] = {}
        self._waiting_since = created_at
        self._space = FreeSpace()
        self._events: list[DatabaseEvent] = []

    def modify(
        self,
        now: datetime,
        *,
        storage: Mapping[str, object],
        others: Mapping[str, object],
        at_once: bool,
    ) -> Modification | None:
        """One call, `storage` under the names of FIELDS; raises ModificationRefused, changing nothing.

        `at_once` also applies all that waits. Returns the change of storage that began, or None: a
        request for the present storage begins none.
        """
        self.apply_due_changes(now)
        self._refuse_at_work(now, storage)
        wanted = {**self._waiting, **storage}
        target = self._target(now, wanted)
        if not at_once:
            self._wait(now, storage, wanted)
            self.settings.ask(others, now)
            return None
        started = None
        if target is not None:
            started = self._start(now, wanted, target, events=(CHANGING, CHANGED))
        self._waiting.clear()
        self.settings.ask(others, now)
        self._apply_settings(now)
        return started

    def scale(self, now: datetime, size_gib: int) -> Modification:
        """Grow as autoscaling does; uses a slot like any change and raises ModificationRefused."""
        here = self._described(now)
        iops = autoscaled_iops(here, size_gib)
        wanted: dict[str, object] = {"AllocatedStorage": size_gib}
        if iops is not None:
            wanted["Iops"] = iops
        target = self._target(now, wanted)
        if target is None:
            raise ModificationRefused(
                database_request.COMBINATION, f"it has {size_gib} GiB already"
            )
        return self._start(now, wanted, target, events=(SCALING, SCALED))

    def free_space(self, now: datetime, free_gib: float, gib_per_hour: float = 0.0) -> None:
        """Update with the free space at the end of a minute: events, `storage-full`, autoscaling."""
        size = self.lifecycle.usable_size_gib(now)
        self._add_events(*((now, each) for each in self._space.see(now, free_gib, size)))
        most = self.max_allocated_gib
        if most is None or not self._space.needs_autoscaling(now) or self._working(now):
            return
        if self.lifecycle.next_modification_at(now) > now:
            return
        to_gib = autoscaled_size(size, most_gib=most, gib_per_hour=gib_per_hour)
        if to_gib is not None:
            self.scale(now, to_gib)

    def status(self, now: datetime) -> str:
        """DBInstanceStatus, or Status of a cluster."""
        busy = self.settings.busy(now)
        if busy is not None:
            return busy
        change = self.lifecycle.modification(now)
        if change is not None and change.in_flight and now >= change.started_at + NOTICED:
            modifying = change.state is ModificationState.MODIFYING
            return "modifying" if modifying else "storage-optimization"
        return "storage-full" if self._space.full else "available"

    def operation(self, now: datetime) -> tuple[str, int] | None:
        """StorageOperationStatus and its percentage; None while RDS works on nothing."""
        change = self.lifecycle.modification(now)
        if change is None or change.state is not ModificationState.OPTIMIZING:
            return None
        return "Optimizing", change.progress_percent

    def pending(self, now: datetime) -> dict[str, object]:
        """PendingModifiedValues: what waits, and what is being changed."""
        found = self.settings.pending(now)
        change = self.lifecycle.modification(now)
        if change is not None and change.state is ModificationState.MODIFYING:
            found |= _difference(change.origin, change.target)
        target = self._waiting_target(now)
        return found if target is None else found | _difference(self._described(now), target)

    def withdraw(self, names: tuple[str, ...]) -> None:
        """Cancel what waits for a window."""
        self.settings.withdraw(names)
        for name in names:
            self._waiting.pop(name, None)

    def apply_due_changes(self, now: datetime) -> None:
        """Apply what waits where its maintenance window has begun."""
        if not self._waiting and not self.settings.pending(now):
            self._waiting_since = now
            return
        window = next_maintenance_window(self.settings.window, self._waiting_since)
        if window > now:
            return
        self._waiting_since = now
        if self.status(now) != "available":
            return
        wanted = dict(self._waiting)
        target = self._waiting_target(now)
        if target is not None and self.lifecycle.next_modification_at(now) <= now:
            self._start(now, wanted, target, events=(CHANGING, CHANGED))
            self._waiting.clear()
        self._apply_settings(now)

    def events_due(self, until: datetime) -> list[DatabaseEvent]:
        """Events due by `until` that were not returned before, in order."""
        due = sorted(each for each in self._events if each.at <= until)
        self._events = [each for each in self._events if each.at > until]
        return due

    def _working(self, now: datetime) -> bool:
        change = self.lifecycle.modification(now)
        return (change is not None and change.in_flight) or self.settings.busy(now) is not None

    def _refuse_at_work(self, now: datetime, storage: Mapping[str, object]) -> None:
        status = self.status(now)
        size = storage.get("AllocatedStorage")
        grows = isinstance(size, int) and size > self._described(now).size_gib
        if status in ("available", "storage-optimization") or (status == "storage-full" and grows):
            return
        raise ModificationRefused(
            self._state_code, f"Database instance is not in available state, but {status}."
        )

    def _target(self, now: datetime, wanted: Mapping[str, object]) -> Configuration | None:
        """The storage that `wanted` leads to; None for the present one."""
        asked = {STORAGE_FIELDS[name]: value for name, value in wanted.items()}
        if not asked:
            return None
        here = self._described(now)
        none: dict[str, object] = dict.fromkeys(STORAGE_FIELDS.values())
        target = database_request.target_of(here, **{**none, **asked})  # type: ignore[arg-type]
        return None if target == here else target

    def _wait(
        self, now: datetime, storage: Mapping[str, object], wanted: Mapping[str, object]
    ) -> None:
        if storage and self._working(now):
            raise ModificationRefused(database_request.COMBINATION, database_request.OPTIMIZING)
        self._waiting = dict(wanted)

    def _waiting_target(self, now: datetime) -> Configuration | None:
        """The storage that waits for a window; None if it is no longer possible."""
        try:
            return self._target(now, self._waiting)
        except ModificationRefused:
            return None

    def _described(self, now: datetime) -> Configuration:
        return self.lifecycle.described(now)

    def _start(
        self, now: datetime, wanted: Mapping[str, object], target: Configuration,
        *, events: tuple[str, str],
    ) -> Modification:  # fmt: skip
        asked = {STORAGE_FIELDS[name]: value for name, value in wanted.items()}
        origin = self._described(now)
        started = self.lifecycle.modify(now, **asked)  # type: ignore[arg-type]
        delays = self._copying if full_copy(origin, target) else self.lifecycle.delays_at(now)
        self._add_events((now, events[0]), (now + delays.modifying, events[1]))
        return started

    def _apply_settings(self, now: datetime) -> None:
        applied = self.settings.flush(now)
        if applied is None or not applied.restarts:
            return
        end = applied.until
        self._add_events((now, CLASS_CHANGING), (end, CLASS_CHANGED), (end, RESTARTED))

    def _add_events(self, *events: tuple[datetime, str]) -> None:
        self._events += [DatabaseEvent(at=at, event_id=each) for at, each in events]


def _difference(origin: Configuration, target: Configuration) -> dict[str, object]:
    """Pending values of a change of storage, by their API names."""
    found: dict[str, object] = {}
    for name, ours in STORAGE_FIELDS.items():
        before, after = getattr(origin, ours), getattr(target, ours)
        if before != after and after is not None:
            found[name] = getattr(after, "value", after)
    return found
