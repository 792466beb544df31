"""What the parts of a running endpoint share; one per process, because moto's backends are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headroom.localaws.clock import Clock
from headroom.localaws.ids import Identifiers
from headroom.localaws.metrics.store import MetricStore

if TYPE_CHECKING:
    from headroom.localaws.alarms.book import AlarmBook
    from headroom.localaws.databases import DatabaseBook
    from headroom.localaws.functions.fleet import FunctionFleet
    from headroom.localaws.metrics.insights import TagsOf
    from headroom.localaws.volumes import VolumeBook
    from headroom.proving.rules import Delays

DEFAULT_ACCOUNT = "123456789012"
DEFAULT_REGION = "us-east-1"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """An account and a Region."""

    account: str = DEFAULT_ACCOUNT
    region: str = DEFAULT_REGION


@dataclass(slots=True, kw_only=True)
class Options:
    """What an endpoint is told when it starts."""

    state_dir: Path
    metric_delay_minutes: float = 2.0
    """How long after its minute a published EBS datapoint becomes readable."""
    delays: Delays | None = None
    """How long volume modifications take; the proving ground's default when None."""
    names_instant: bool = True
    """Whether the refusal of a fifth modification names the instant of the next."""
    cloudtrail: bool = True
    """Whether a trail delivers ModifyVolume calls to EventBridge."""
    seed: int | None = None
    python: str | None = None
    """Interpreter of the functions; this process's own when None."""


@dataclass(slots=True, kw_only=True)
class Cloud:
    """The clock, the identifiers and, for each place, metrics, alarms, volumes and databases."""

    options: Options
    clock: Clock
    ids: Identifiers
    url: str = ""
    metrics: dict[Place, MetricStore] = field(default_factory=dict)
    alarms: dict[Place, AlarmBook] = field(default_factory=dict)
    volumes: dict[Place, VolumeBook] = field(default_factory=dict)
    databases: dict[Place, DatabaseBook] = field(default_factory=dict)
    functions: FunctionFleet | None = None

    def store(self, place: Place) -> MetricStore:
        """The metrics of a place."""
        return self.metrics.setdefault(place, MetricStore())

    def book(self, place: Place) -> AlarmBook:
        """The alarms of a place."""
        present = self.alarms.get(place)
        if present is None:
            from headroom.localaws import bus
            from headroom.localaws.alarms.book import AlarmBook

            present = self.alarms[place] = AlarmBook(
                account=place.account,
                region=place.region,
                store=self.store(place),
                now=self.clock.now,
                emit=bus.alarm_emitter(self, place),
                act=bus.alarm_action(self, place),
                tags=self.tags_of(place),
            )
        return present

    def volume_book(self, place: Place) -> VolumeBook:
        """The volumes of a place and what AWS's rules know of them."""
        present = self.volumes.get(place)
        if present is None:
            from headroom.localaws.volumes import VolumeBook

            present = self.volumes[place] = VolumeBook(self, place)
        return present

    def database_book(self, place: Place) -> DatabaseBook:
        """The databases of a place and what RDS's rules know of them."""
        present = self.databases.get(place)
        if present is None:
            from headroom.localaws.databases import DatabaseBook

            present = self.databases[place] = DatabaseBook(self, place)
        return present

    def tags_of(self, place: Place) -> TagsOf:
        """Resource tags for Metrics Insights: a volume's before an instance's, a database's."""
        from moto.ec2 import ec2_backends

        def tags(namespace: str, dimensions: Mapping[str, str]) -> Mapping[str, str]:
            of_database = self.database_book(place).tags(dimensions)
            if of_database is not None:
                return of_database
            backend = ec2_backends[place.account][place.region]
            for name in ("VolumeId", "InstanceId"):
                if name in dimensions:
                    return dict(backend.tags.get(dimensions[name], {}))
            return {}

        return tags


_current: list[Cloud] = []


def install(cloud: Cloud) -> None:
    """Make `cloud` the one of this process."""
    _current[:] = [cloud]


def current() -> Cloud:
    """The one of this process; raises RuntimeError before a server was made."""
    if not _current:
        raise RuntimeError("No local AWS runs in this process.")
    return _current[0]
