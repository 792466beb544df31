"""A simulated account behind the Storage and Metrics ports, with the semantics of the real adapters."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from headroom.domain.resources import (
    Claim,
    Configuration,
    DatabaseFacts,
    Instance,
    InstanceActivity,
    Modification,
    ModificationState,
    ResourceRef,
    Signal,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import AlreadyThere, Applied, Outcome, Refusal, Refused, Stale
from headroom.ports import Glance, GlanceRequest, ResourceGone, StorageView
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle, refusal_of
from headroom.proving.metrics import PublishedVolume
from headroom.proving.physics import Attachment, Disk

INSTANCE_ID = "i-0a1b2c3d4e5f60718"
REFUSALS = {
    "VolumeModificationRateExceeded": Refusal.SLOTS,
    "IncorrectModificationState": Refusal.IN_FLIGHT,
    "UnsupportedOperation": Refusal.UNSUPPORTED,
}
"""Codes with a meaning of their own; every other code means an invalid request."""
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsRefusal:
    """A ModifyVolume call of ours that AWS refused."""

    at: datetime
    code: str
    message: str


@dataclass(slots=True, kw_only=True)
class AccountVolume:
    """One volume of a simulated account: AWS's rules for it, and what CloudWatch has published."""

    ref: ResourceRef
    lifecycle: VolumeLifecycle
    attachment: Attachment
    published: PublishedVolume
    tags: tuple[tuple[str, str], ...] = ()
    instance_id: str = INSTANCE_ID
    reported: tuple[datetime, ModificationState] | None = None
    """Start and state of the modification that the last event reported."""
    disk: Disk | None = None
    """The data on a database's storage; None if free space is not simulated."""
    instance_class: str = ""
    queue_noise: Callable[[int], float] | None = None
    """Noise on the published queue length of a minute, as a share of it."""

    def described(self, now: datetime) -> Volume:
        """What DescribeVolumes reports at `now`."""
        configuration, disk = self.lifecycle.described(now), self.disk
        name, size = self.ref.resource_id, configuration.size_gib
        return described_volume(
            self.ref, configuration, created_at=self.lifecycle.created_at,
            instance_id=self.instance_id, tags=self.tags,
            facts=None if disk is None else disk.facts(name, self.instance_class, size),
        )  # fmt: skip

    def instance(self) -> Instance:
        """The instance with its volumes: this one, and others if the instance has other load."""
        volume_ids: tuple[str, ...] = (self.ref.resource_id,)
        if self.attachment.others is not None:
            volume_ids += self.attachment.others.volume_ids
        elif self.attachment.other_iops or self.attachment.other_mibps:
            volume_ids += ("vol-0fedcba9876543210",)
        return Instance(
            instance_id=self.instance_id, limits=self.attachment.limits, volume_ids=volume_ids
        )

    def modification_event(self, now: datetime) -> Signal | None:
        """The event of a modification that began or changed its state since the last event."""
        change = self.lifecycle.modification(now)
        state = None if change is None else (change.started_at, change.state)
        if state is None or state == self.reported:
            return None
        self.reported = state
        return self.signal(Claim.MODIFICATION, None, f"modifyVolume {state[1]}", now)

    def alarm_event(self, name: str, now: datetime) -> Signal:
        """The event of an alarm that went to ALARM."""
        return self.signal(Claim.PRESSURE, f"headroom-{name}", "OK to ALARM", now)

    def signal(self, claim: Claim, alarm: str | None, detail: str, now: datetime) -> Signal:
        """One event that reaches Headroom."""
        return Signal(
            event_id=f"{self.ref.resource_id}/{alarm or claim.value}/{utc_text(now)}",
            claim=claim, ref=self.ref, alarm_name=alarm, claimed_at=now, muted=False, detail=detail,
        )  # fmt: skip


V = TypeVar("V", bound=AccountVolume)


class SimulatedStorage(ABC, Generic[V]):
    """Storage and Metrics of one account and Region; a subclass says how time passes."""

    def __init__(self, volumes: Sequence[V]) -> None:
        self.refusals: list[AwsRefusal] = []
        self.applied: list[Modification] = []
        """Every change that AWS accepted."""
        self._volumes = {volume.ref.resource_id: volume for volume in volumes}

    @property
    @abstractmethod
    def now(self) -> datetime:
        """The end of the last minute that has passed."""

    def fleet(self) -> Iterator[StorageView]:
        """Every volume, without its instance."""
        return (self._view(volume, None) for volume in self._volumes.values())

    def view(self, ref: ResourceRef) -> StorageView:
        """One volume with its instance; raises ResourceGone."""
        volume = self._volume(ref)
        return self._view(volume, volume.instance())

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Every volume on the instance, with it."""
        here = [v for v in self._volumes.values() if v.instance_id == instance_id]
        return tuple(self._view(volume, volume.instance()) for volume in here)

    def contributors(self, alarm_name: str) -> tuple[ResourceRef, ...]:
        """None: alarms of a simulation name their volume themselves."""
        return ()

    def apply(
        self,
        ref: ResourceRef,
        *,
        expected: Configuration,
        seen: datetime | None,
        target: Configuration,
        decided_on: Volume | None = None,
    ) -> Outcome:
        """Change the volume if it still is as the decision saw it."""
        view = self.view(ref)
        found, change = view.volume.configuration, view.modification
        busy = change is not None and change.in_flight
        if found == target and not busy:
            return AlreadyThere()
        started = None if change is None else change.started_at
        if found != expected or started != seen:
            return Stale(
                expected=expected,
                found=found,
                detail=f"is {found}, last modified {started}; decided on {expected}, {seen}",
            )
        try:
            change = self._modify(self._volume(ref), found, target)
        except ModificationRefused as refused:
            self.refusals.append(
                AwsRefusal(at=self.now, code=refused.code, message=refused.message)
            )
            return refused_by_aws(refused, database=found.database is not None)
        self.applied.append(change)
        return Applied(started_at=change.started_at)

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by its id."""
        ids = [view.volume.ref.resource_id for view in views]
        return {name: self._volumes[name].published.glance(now) for name in ids}

    def glances(self, asked: Sequence[GlanceRequest], now: datetime) -> Mapping[str, Glance]:
        """The same with only the metrics asked for."""
        found: dict[str, Glance] = {}
        for one in asked:
            name = one.view.volume.ref.resource_id
            minutes = int(one.back / timedelta(minutes=1))
            whole = self._volumes[name].published.glance(now, minutes)
            found[name] = whole if one.metrics is None else whole.only(one.metrics)
        return found

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""
        volume, instance = self._volume(view.volume.ref).published.activity(now)
        return volume, None if view.instance is None else instance

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""
        return self._volume(view.volume.ref).published.history(now)

    def older_history(
        self, view: StorageView, now: datetime, *, since: datetime, until: datetime
    ) -> tuple[VolumeActivity, ...]:
        """Hours until 63 days ago, then five minutes of the time between."""
        return self._volume(view.volume.ref).published.older_history(now, since, until)

    @abstractmethod
    def _modify(self, volume: V, found: Configuration, target: Configuration) -> Modification:
        """Call ModifyVolume or ModifyDBInstance; raises ModificationRefused."""

    def _view(self, volume: V, instance: Instance | None) -> StorageView:
        return StorageView(
            volume=volume.described(self.now),
            modification=volume.lifecycle.modification(self.now),
            instance=instance,
        )

    def _volume(self, ref: ResourceRef) -> V:
        try:
            return self._volumes[ref.resource_id]
        except KeyError:
            raise ResourceGone(f"{ref.resource_id} does not exist") from None


def refused_by_aws(refused: ModificationRefused, *, database: bool = False) -> Refused:
    """AWS's refusal as the Storage port reports it."""
    named = INSTANT.search(refused.message)
    meaning = REFUSALS.get(refused.code, Refusal.INVALID)
    return Refused(
        refusal=refusal_of(refused.message) if database else meaning,
        code=refused.code,
        message=refused.message,
        retry_at=None if named is None else datetime.fromisoformat(named.group()),
    )


def described_volume(
    ref: ResourceRef,
    configuration: Configuration,
    *,
    created_at: datetime,
    tags: tuple[tuple[str, str], ...],
    facts: DatabaseFacts | None = None,
    instance_id: str = INSTANCE_ID,
) -> Volume:
    """A volume as DescribeVolumes reports it, attached to one instance and owned by no service."""
    return Volume(
        ref=ref, configuration=configuration, availability_zone=f"{ref.region}a", state="in-use",
        created_at=created_at, instance_ids=(instance_id,), multi_attach=False, managed_by=None,
        on_outpost=False, tags=tags, facts=facts,
    )  # fmt: skip


def utc_text(instant: datetime) -> str:
    """An instant as AWS writes it, to the second."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
