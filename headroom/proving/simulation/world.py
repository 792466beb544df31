"""A small AWS in memory: volumes with physics and rules, and the metrics that come of them.

Implements the Storage and Metrics ports with the semantics of the real adapters. Time moves only
by `advance`, minute by minute; `now` is the end of the latest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from headroom.domain.catalog.rds import Parameters, parameters
from headroom.domain.resources import (
    Claim,
    Configuration,
    Instance,
    InstanceActivity,
    Kind,
    Modification,
    ModificationState,
    ResourceRef,
    Signal,
    Volume,
    VolumeActivity,
)
from headroom.domain.state import Applied, Outcome
from headroom.ports import Glance, ResourceGone, StorageView
from headroom.proving.awsrules import ModificationRefused, VolumeLifecycle
from headroom.proving.metrics import (
    PublishedVolume,
    VolumeAlarms,
    datapoints,
    instance_datapoints,
    minute_number,
)
from headroom.proving.physics import Attachment, Disk, MinuteFacts, VolumePhysics
from headroom.proving.simulation.storage import (
    SimulatedStorage,
    refused_by_aws,
    signal,
    volume_as_described,
)

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsRefusal:
    """A ModifyVolume call of ours that AWS refused."""

    at: datetime
    code: str
    message: str


@dataclass(slots=True, kw_only=True)
class SimulatedVolume:
    """One volume of the world with everything that moves it.

    `others` are instants at which somebody else makes a change that changes nothing.
    """

    ref: ResourceRef
    lifecycle: VolumeLifecycle
    physics: VolumePhysics
    attachment: Attachment
    tags: tuple[tuple[str, str], ...]
    published: PublishedVolume
    instance_id: str = "i-0a1b2c3d4e5f60718"
    others: tuple[datetime, ...] = ()
    alarms: VolumeAlarms = field(default_factory=VolumeAlarms)
    told: tuple[datetime, ModificationState] | None = None
    disk: Disk | None = None
    """The data on a database's storage; None where nothing is said of free space."""
    instance_class: str = ""

    def volume_ids(self) -> tuple[str, ...]:
        """All volumes of the instance: this one, and one more if other load hangs on it."""
        more = self.attachment.other_iops or self.attachment.other_mibps
        return (self.ref.resource_id, "vol-0fedcba9876543210") if more else (self.ref.resource_id,)


class World(SimulatedStorage):
    """Volumes of one account and Region, and what CloudWatch and EC2 say about them."""

    def __init__(self, volumes: Sequence[SimulatedVolume], *, now: datetime) -> None:
        self.now = now
        self.refusals: list[AwsRefusal] = []
        self.applied: list[Modification] = []
        self.notes: list[str] = []
        self._volumes = {volume.ref.resource_id: volume for volume in volumes}

    def advance(self) -> dict[str, MinuteFacts]:
        """Let one clock minute pass; the facts of each volume by its id."""
        start = self.now
        facts = {name: self._minute(volume, start) for name, volume in self._volumes.items()}
        self.now = start + MINUTE
        return facts

    def signals(self) -> Iterator[Signal]:
        """The events that reach Headroom at `now`: alarms that rose, modifications that moved on."""
        for volume in self._volumes.values():
            change = volume.lifecycle.modification(self.now)
            news = None if change is None else (change.started_at, change.state)
            if news is not None and news != volume.told:
                volume.told = news
                yield self._signal(volume, Claim.MODIFICATION, None, f"modifyVolume {news[1]}")
            for name in volume.alarms.raised(volume.published, self.now):
                yield self._signal(volume, Claim.PRESSURE, f"headroom-{name}", "OK to ALARM")

    def fleet(self) -> Iterator[StorageView]:
        """Every volume, its instance left out."""
        for volume in self._volumes.values():
            yield StorageView(
                volume=self._described(volume),
                modification=volume.lifecycle.modification(self.now),
                instance=None,
            )

    def view(self, ref: ResourceRef) -> StorageView:
        """One volume with its instance; raises ResourceGone."""
        volume = self._volume(ref)
        return StorageView(
            volume=self._described(volume),
            modification=volume.lifecycle.modification(self.now),
            instance=Instance(
                instance_id=volume.instance_id,
                limits=volume.attachment.limits,
                volume_ids=volume.volume_ids(),
            ),
        )

    def attached(self, instance_id: str) -> tuple[StorageView, ...]:
        """Every volume on the instance, with it."""
        here = [v for v in self._volumes.values() if v.instance_id == instance_id]
        return tuple(self.view(volume.ref) for volume in here)

    def glance(self, views: Sequence[StorageView], now: datetime) -> Mapping[str, Glance]:
        """A Glance for every volume by its id."""
        ids = [view.volume.ref.resource_id for view in views]
        return {name: self._volumes[name].published.glance(now) for name in ids}

    def activity(
        self, view: StorageView, now: datetime
    ) -> tuple[VolumeActivity, InstanceActivity | None]:
        """The last 3 hours at one-minute periods, of the volume and of its instance."""
        volume, instance = self._volume(view.volume.ref).published.activity(now)
        return volume, None if view.instance is None else instance

    def history(self, view: StorageView, now: datetime) -> VolumeActivity | None:
        """The last 14 days at five-minute periods; None when nothing was published."""
        return self._volume(view.volume.ref).published.history(now)

    def _minute(self, volume: SimulatedVolume, start: datetime) -> MinuteFacts:
        for instant in volume.others:
            if start <= instant < start + MINUTE:
                self._change_nothing(volume, instant)
        facts = volume.physics.minute(start, volume.lifecycle)
        limits = volume.attachment.limits
        points = datapoints(
            facts,
            volume_id=volume.ref.resource_id,
            instance_id=volume.instance_id,
            configuration=volume.lifecycle.described(start),
            nitro=limits.nitro,
        )
        points += instance_datapoints(
            facts, instance_id=volume.instance_id, limits=limits,
            database=volume.ref.kind is Kind.RDS,
        )  # fmt: skip
        volume.published.put(minute_number(start), points)
        if volume.disk is not None:
            free = volume.disk.minute(start, volume.lifecycle)
            volume.published.put_free(minute_number(start), free)
            volume.disk.autoscale(start + MINUTE, volume.lifecycle)
        return facts

    def _change_nothing(self, volume: SimulatedVolume, instant: datetime) -> None:
        kind = volume.lifecycle.described(instant).volume_type
        try:
            volume.lifecycle.modify(instant, volume_type=kind)
        except ModificationRefused as refused:
            self.notes.append(
                f"AWS refused another program's change at {_text(instant)} ({refused.code})."
            )

    def _modify(self, ref: ResourceRef, found: Configuration, target: Configuration) -> Outcome:
        try:
            change = _changed(self._volume(ref).lifecycle, self.now, found, target)
        except ModificationRefused as refused:
            self.refusals.append(
                AwsRefusal(at=self.now, code=refused.code, message=refused.message)
            )
            return refused_by_aws(refused, database=found.database is not None)
        self.applied.append(change)
        return Applied(started_at=change.started_at)

    def _volume(self, ref: ResourceRef) -> SimulatedVolume:
        try:
            return self._volumes[ref.resource_id]
        except KeyError:
            raise ResourceGone(f"{ref.resource_id} does not exist") from None

    def _described(self, volume: SimulatedVolume) -> Volume:
        name, disk = volume.ref.resource_id, volume.disk
        size = volume.lifecycle.described(self.now).size_gib
        return replace(
            volume_as_described(
                volume.ref, volume.lifecycle, self.now, instance_id=volume.instance_id
            ),
            facts=None if disk is None else disk.facts(name, volume.instance_class, size),
            tags=volume.tags,
        )

    def _signal(
        self, volume: SimulatedVolume, claim: Claim, alarm: str | None, detail: str
    ) -> Signal:
        return signal(volume.ref, claim, alarm, detail, at=self.now, instant=_text(self.now))


def _changed(
    lifecycle: VolumeLifecycle, now: datetime, found: Configuration, target: Configuration
) -> Modification:
    """One ModifyVolume call, or one of RDS with the parameters that RDS is sent."""
    if found.database is None:
        return lifecycle.modify(
            now,
            volume_type=target.volume_type,
            size_gib=target.size_gib if target.size_gib != found.size_gib else None,
            iops=target.iops,
            throughput_mibps=target.throughput_mibps,
        )
    try:
        sent = parameters("database-1", found, target)
    except ValueError as problem:
        raise ModificationRefused("InvalidParameterCombination", str(problem)) from None
    kind = sent.get("StorageType")
    return lifecycle.modify(
        now,
        volume_type=None if kind is None else str(kind),
        size_gib=_number(sent, "AllocatedStorage"),
        iops=_number(sent, "Iops"),
        throughput_mibps=_number(sent, "StorageThroughput"),
    )


def _number(sent: Parameters, name: str) -> int | None:
    return int(sent[name]) if name in sent else None


def _text(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
