"""A small AWS in memory: volumes with physics and rules, and the metrics they publish.

Time moves only by `advance`, minute by minute; `now` is the end of the latest one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from headroom.domain.catalog.rds import Parameters, parameters
from headroom.domain.resources import Configuration, Kind, Modification, Signal
from headroom.proving.awsrules import ModificationRefused
from headroom.proving.metrics import SLOW_MIN, VolumeAlarms, metric_sums, minute_number
from headroom.proving.physics import MinuteFacts, VolumePhysics
from headroom.proving.simulation.storage import AccountVolume, SimulatedStorage, utc_text

MINUTE = timedelta(minutes=1)


@dataclass(slots=True, kw_only=True)
class SimulatedVolume(AccountVolume):
    """One volume of the world with its physics and alarms.

    At the instants `others` another program makes a change that changes nothing.
    """

    physics: VolumePhysics
    others: tuple[datetime, ...] = ()
    alarms: VolumeAlarms = field(default_factory=VolumeAlarms)
    published_as: Configuration | None = None
    alike: int = 0
    """As what the latest minute was published, and how many minutes before it were like that one."""


class World(SimulatedStorage[SimulatedVolume]):
    """Volumes of one account and Region, simulated minute by minute."""

    def __init__(self, volumes: Sequence[SimulatedVolume], *, now: datetime) -> None:
        super().__init__(volumes)
        self.notes: list[str] = []
        self._now = now

    @property
    def now(self) -> datetime:
        """The end of the last minute that has passed."""
        return self._now

    def advance(self) -> dict[str, MinuteFacts]:
        """Let one clock minute pass; the facts of each volume by its id."""
        start = self._now
        facts = {name: self._minute(volume, start) for name, volume in self._volumes.items()}
        self._now = start + MINUTE
        return facts

    def signals(self) -> Iterator[Signal]:
        """The events that reach Headroom at `now`: changed modifications, raised alarms."""
        now = self._now
        for volume in self._volumes.values():
            event = volume.modification_event(now)
            if event is not None:
                yield event
            for name in volume.alarms.raised(volume.published, now):
                yield volume.alarm_event(name, now)

    def _minute(self, volume: SimulatedVolume, start: datetime) -> MinuteFacts:
        for instant in volume.others:
            if start <= instant < start + MINUTE:
                self._change_nothing(volume, instant)
        facts = volume.physics.minute(start, volume.lifecycle)
        _publish_next(volume, facts)
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
                f"AWS refused another program's change at {utc_text(instant)} ({refused.code})."
            )

    def _modify(
        self, volume: SimulatedVolume, found: Configuration, target: Configuration
    ) -> Modification:
        if found.database is None:
            return volume.lifecycle.change_to(self.now, target)
        try:
            sent = parameters("database-1", found, target)
        except ValueError as problem:
            raise ModificationRefused("InvalidParameterCombination", str(problem)) from None
        kind = sent.get("StorageType")
        return volume.lifecycle.modify(
            self.now,
            volume_type=None if kind is None else str(kind),
            size_gib=_number(sent, "AllocatedStorage"),
            iops=_number(sent, "Iops"),
            throughput_mibps=_number(sent, "StorageThroughput"),
        )


def _publish_next(volume: SimulatedVolume, facts: MinuteFacts) -> None:
    """Publish the next minute; one like all of the five minutes before it costs less."""
    configuration = volume.lifecycle.described(facts.start)
    as_before = volume.physics.repeats and configuration is volume.published_as
    volume.published_as, volume.alike = configuration, volume.alike + 1 if as_before else 0
    if volume.alike > SLOW_MIN and volume.queue_noise is None:
        minute = minute_number(facts.start)
        volume.published.repeat(minute, minute + 1)
    else:
        publish(volume, configuration, facts)


def publish(volume: AccountVolume, configuration: Configuration, facts: MinuteFacts) -> None:
    """Publish one minute of a volume that was described as `configuration`."""
    minute = minute_number(facts.start)
    sums = metric_sums(
        facts, configuration=configuration, limits=volume.attachment.limits,
        database=volume.ref.kind is Kind.RDS,
        queue_noise=0.0 if volume.queue_noise is None else volume.queue_noise(minute),
    )  # fmt: skip
    volume.published.put(minute, sums)


def _number(sent: Parameters, name: str) -> int | None:
    return int(sent[name]) if name in sent else None
