"""A harness for the orchestration: one clock, real rules, real ledger in memory, given metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, TypeVar

from headroom.adapters.preconditions import moved_on
from headroom.application import notify_people
from headroom.application.reconcile import reconcile
from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.decision import Decision
from headroom.domain.policy import Policy, PolicyUnreadable
from headroom.domain.reports import DailyDigest
from headroom.domain.resources import (
    Configuration,
    Instance,
    InstanceActivity,
    ResourceRef,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import (
    AlreadyThere,
    Applied,
    CalendarState,
    EventOutcome,
    Notice,
    Outcome,
    Refusal,
    Refused,
    Step,
)
from headroom.ports import (
    Glance,
    GlanceRequest,
    NoticeDetail,
    Ports,
    ReadFailed,
    Reporting,
    ResourceGone,
    StorageView,
)
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle
from headroom.proving.memory import InMemoryLedger
from tests.builders import ACCOUNT, NOW, REGION, activity, instance, instance_activity, policy


@dataclass
class Harness:
    """Storage, metrics, policies, prices and notifier in one object, moved by `now`."""

    now: datetime = NOW
    volumes: dict[str, Volume] = field(default_factory=dict)
    lifecycles: dict[str, VolumeLifecycle] = field(default_factory=dict)
    loads: dict[str, VolumeActivity] = field(default_factory=dict)
    rules: Policy | PolicyUnreadable = field(default_factory=policy)
    heard: list[tuple[str, Step, str]] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    answers: list[Outcome] = field(default_factory=list)
    """Outcomes to give instead of the rules' own, first in first out."""
    pressed: set[str] = field(default_factory=set)
    unmeasured: set[str] = field(default_factory=set)
    """Volumes whose metrics do not answer."""
    glanced_at: list[GlanceRequest] = field(default_factory=list)
    instance: Instance = field(default_factory=instance)
    closed: dict[str, CalendarState] = field(default_factory=dict)
    """Change Calendars that are not open, by name."""
    ledger: InMemoryLedger = field(
        default_factory=lambda: InMemoryLedger(account_id=ACCOUNT, region=REGION)
    )

    def add(self, vol: Volume, *, load: VolumeActivity | None = None) -> ResourceRef:
        key = vol.ref.resource_id
        self.volumes[key] = vol
        self.lifecycles[key] = VolumeLifecycle(vol.configuration, created_at=vol.created_at)
        self.loads[key] = load or starving()
        return vol.ref

    @property
    def ports(self) -> Ports:
        ledger = self.ledger
        return Ports(
            storage=self, metrics=self, ledger=ledger, state_store=ledger, scan=ledger, work=ledger,
            archive=ledger, policies=self, prices=self, calendars=self,
        )  # fmt: skip

    # Storage
    def fleet(self) -> Iterator[StorageView]:
        for vol in self.volumes.values():
            yield replace(self.view(vol.ref), instance=None)

    def view(self, ref: ResourceRef) -> StorageView:
        key = ref.resource_id
        if key in self.unreadable:
            raise ReadFailed(f"{key} did not answer")
        if key not in self.volumes:
            raise ResourceGone(key)
        life = self.lifecycles[key]
        vol = replace(self.volumes[key], configuration=life.described(self.now))
        beside = self._set_of(vol)
        return StorageView(
            volume=vol,
            modification=life.modification(self.now),
            instance=replace(self.instance, volume_ids=beside) if vol.instance_ids else None,
        )

    def _set_of(self, vol: Volume) -> tuple[str, ...]:
        """Volumes of one instance that can be distinguished: those of a set."""
        mine = vol.tag("headroom:group")
        every = [v for v in self.volumes.values() if v.tag("headroom:group") == mine]
        here = [v for v in every if v.instance_ids == vol.instance_ids]
        return tuple(v.ref.resource_id for v in here) if mine else (vol.ref.resource_id,)

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        if instance_id in self.unreadable:
            raise ReadFailed(f"{instance_id} did not answer")
        here = [v for v in self.volumes.values() if instance_id in v.instance_ids]
        return tuple(self.view(vol.ref) for vol in here)

    def apply(
        self, ref: ResourceRef, *, expected: Configuration, seen: datetime | None,
        target: Configuration, decided_on: Volume | None = None,
    ) -> Outcome:  # fmt: skip
        if self.answers:
            return self.answers.pop(0)
        view = self.view(ref)
        if view.volume.configuration == target:
            return AlreadyThere()
        moved = moved_on(
            view.volume, view.modification, expected=expected, seen=seen, target=target,
            decided_on=decided_on,
        )  # fmt: skip
        if moved is not None:
            return moved
        try:
            return Applied(started_at=self.change(ref, target))
        except ModificationRefused as refused:
            kind = (
                Refusal.SLOTS
                if refused.code == "VolumeModificationRateExceeded"
                else Refusal.IN_FLIGHT
            )
            return Refused(refusal=kind, code=refused.code, message=refused.message, retry_at=None)

    def change(self, ref: ResourceRef, target: Configuration) -> datetime:
        """Change the volume as anybody may."""
        return (
            self.lifecycles[ref.resource_id]
            .modify(
                self.now, volume_type=target.volume_type, size_gib=target.size_gib,
                iops=target.iops, throughput_mibps=target.throughput_mibps,
            )
            .started_at
        )  # fmt: skip

    # Metrics
    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        return {
            v.volume.ref.resource_id: Glance(
                iops_exceeded_minutes=5 if v.volume.ref.resource_id in self.pressed else 0,
                throughput_exceeded_minutes=0,
                lowest_burst_balance_percent=None,
                longest_queue=None,
            )
            for v in views
        }

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        self.glanced_at += asked
        queued = {
            name: replace(seen, longest_queue=8.0 if name in self.pressed else 0.1)
            for name, seen in self.glance([one.view for one in asked], now).items()
            if name not in self.unmeasured
        }
        asked_of = {one.view.volume.ref.resource_id: one.metrics for one in asked}
        return {
            name: seen if (metrics := asked_of[name]) is None else seen.only(metrics)
            for name, seen in queued.items()
        }

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        key = view.volume.ref.resource_id
        if key in self.unmeasured:
            raise ReadFailed(f"metrics of {key} did not answer")
        beside = () if view.instance is None else view.instance.volume_ids
        whole = self._sum_of(beside, now) if len(beside) > 1 else None
        return moved(self.loads[key], now), whole

    def _sum_of(self, ids: Sequence[str], now: datetime) -> InstanceActivity:
        loads = [moved(self.loads[key], now) for key in ids]

        def total(reads: str, writes: str) -> list[float]:
            every = [getattr(load, name).values for load in loads for name in (reads, writes)]
            shortest = min(map(len, every))
            return [sum(v[i - shortest] or 0.0 for v in every) for i in range(shortest)]

        both = instance_activity(
            total("read_iops", "write_iops"), total("read_mibps", "write_mibps")
        )
        return moved(both, now, "iops")

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        return None

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        return ()

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        return tuple(self.volumes[key].ref for key in sorted(self.pressed))

    # Policies, Prices, Notifier
    def current(self) -> Policy | PolicyUnreadable:
        return self.rules

    def fresh(self) -> Policy | PolicyUnreadable:
        return self.rules

    def table(self, region: str) -> PriceTable:
        return catalogue_prices(region)

    # Announcer
    @property
    def messages(self) -> list[tuple[str, Step, str]]:
        """What people have heard by now but for what they switched: resource, step and text."""
        ledger: Any = self.ledger
        rules: Any = SimpleNamespace(current=lambda: Policy(version="", messages_per_hour=1_000))
        notify_people(
            Reporting(
                notes=ledger, record_summaries=ledger, ledger=ledger, state_store=ledger,
                switches=ledger, policies=rules, events=ledger, announcer=self, outbox=ledger,
            ),
            self.now,
        )  # fmt: skip
        return self.heard

    def notify(self, detail: NoticeDetail) -> None:
        notice, decision = detail.notice, detail.decision
        if decision is not None:
            name = decision.observation.volume.ref.resource_id
            self.heard.append((name, notice.step, notice.text))

    def summarize(self, notices: Sequence[Notice]) -> None:
        raise AssertionError("there is room for each")

    def report(self, day: DailyDigest) -> None:
        raise AssertionError

    # Calendars
    def seen(self, names: Sequence[str], now: datetime) -> tuple[CalendarState, ...]:
        found = {n: self.closed.get(n, CalendarState(name=n, open=True)) for n in names}
        over = {n for n, c in found.items() if c.changes_at is not None and c.changes_at <= now}
        return tuple(replace(c, open=c.open or n in over) for n, c in found.items())

    # For tests
    def later(self, **delta: float) -> datetime:
        self.now += timedelta(**delta)
        return self.now

    def steps(self, ref: ResourceRef) -> list[str]:
        """Every recorded step of a volume, oldest first."""
        records = list(
            self.ledger.by_resource(
                ref.arn, since=NOW - timedelta(days=400), until=NOW + timedelta(days=400)
            )
        )
        began = {r.decision_id: r.at for r in records if r.sequence == 0}
        ordered = sorted(records, key=lambda r: (r.at, began[r.decision_id], r.sequence))
        return [r.outcome if r.step is Step.DECIDED else r.step.value for r in ordered]


Activity = TypeVar("Activity", VolumeActivity, InstanceActivity)


def moved(load: Activity, now: datetime, first: str = "read_iops") -> Activity:
    """The same activity as if it had just happened."""
    shift = now - getattr(load, first).end

    def move(name: str) -> object:
        series = getattr(load, name)
        return series and replace(series, start=series.start + shift)

    return replace(load, **{name: move(name) for name in load.__dataclass_fields__})  # type: ignore[arg-type]


def starving() -> VolumeActivity:
    """An open load at gp3's 3,000 IOPS, its queue cut off by the device."""
    return activity(
        [1500.0] * 150 + [3000.0] * 30,
        queue=[1.0] * 150 + [1024.0] * 30,
        iops_check=[0.0] * 150 + [1.0] * 30,
    )


def calm() -> VolumeActivity:
    return activity([1500.0] * 180)


def running_free(iops: float = 3_500.0) -> VolumeActivity:
    """More than gp3's 3,000 IOPS without touching a limit: what proves relief."""
    return activity([iops] * 180)


def reconcile_now(
    ports: Ports, ref: ResourceRef, now: datetime, *, trigger: str, must_record: bool = False
) -> Decision | None:
    """Reconcile once: the decision, or None when there was none to make."""
    found = reconcile(ports, ref, now, trigger=trigger, must_record=must_record)
    return None if isinstance(found, EventOutcome) else found
